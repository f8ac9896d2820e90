//! The writes of a commit, and the places at which points are found again.

use super::format::BLOCK;

/// A point in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePoint {
    /// The point's id.
    pub id: [u8; 16],
    /// The sequence number of its insertion.
    pub sequence: u64,
    /// Where its record is.
    pub location: Location,
    /// The length of the content of its payload, in bytes.
    pub payload_bytes: u32,
}

/// The place of a record. Offsets count blocks of 64 bytes from the start of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The segment's number, from 1.
    pub segment: u32,
    /// The offset of the record's header.
    pub record: u32,
    /// The offset of the vector; 0 for a delete.
    pub vector: u32,
}

impl Location {
    /// The offset of the record's header in bytes.
    pub(crate) fn offset(self) -> u64 {
        u64::from(self.record) * BLOCK as u64
    }
}

/// One write of a commit.
#[derive(Clone, Copy, Debug)]
pub enum Write<'a> {
    /// Stores a point.
    Insert {
        /// A new id.
        id: [u8; 16],
        /// As many values as the store's dimension.
        vector: &'a [f32],
        /// The number of the content type.
        content_type: u8,
        /// The content of the payload.
        content: &'a [u8],
    },
    /// Deletes a point.
    Delete {
        /// Its id.
        id: [u8; 16],
        /// The sequence of its insert.
        inserted: u64,
        /// Where its record is.
        location: Location,
    },
}
