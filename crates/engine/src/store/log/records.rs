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
    /// The length of its content and its metadata, in bytes.
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
        /// The id, which no point has but the replaced one.
        id: [u8; 16],
        /// As many values as the store's dimension.
        vector: &'a [f32],
        /// The number of the content type.
        content_type: u8,
        /// The content of the payload.
        content: &'a [u8],
        /// The metadata of the payload, as the service encodes it; empty if there is none.
        metadata: &'a [u8],
        /// The point with the same id that it replaces, if there is one.
        replaced: Option<Stored>,
    },
    /// Deletes a point.
    Delete {
        /// Its id.
        id: [u8; 16],
        /// The point.
        stored: Stored,
    },
    /// Deletes all points.
    DeleteAll,
}

/// A point that a write undoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The sequence of its insert.
    pub inserted: u64,
    /// Where its record is.
    pub location: Location,
}

impl Write<'_> {
    /// Whether it stores a point.
    #[must_use]
    pub fn is_insert(&self) -> bool {
        matches!(self, Write::Insert { .. })
    }
}
