//! Disk space: who may use it when there is little, the reserves for deletes and compaction, and
//! compaction.

pub mod compaction;
pub mod full_disk;
pub mod reserve;
pub mod reserves;
