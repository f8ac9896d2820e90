//! The log: how records, groups, segments and the manifest are laid out, written, mapped and read.
//! docs/FORMAT.md describes every byte.

pub mod format;
pub mod group;
pub mod headers;
pub mod manifest;
pub mod read_ahead;
pub mod reader;
pub mod records;
pub mod segment;
pub mod stream;
pub mod tail;
pub mod usage;
pub mod verify;
pub mod walk;
