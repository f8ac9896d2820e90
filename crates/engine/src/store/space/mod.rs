//! Disk space: compaction, and who may use what is left of a full disk.

pub mod compaction;
pub mod full_disk;
