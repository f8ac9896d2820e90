//! Disk space: who gets it when there is little, what is kept for those who give some back, and how
//! the space of deleted points comes back.

pub mod compaction;
pub mod full_disk;
pub mod reserve;
