//! Walks through the groups of a segment. Starts, checks, backups, repairs and compaction use it. A
//! walk ends at the first flaw; [`verify`](super::verify) goes on behind flaws.

use super::{
    format::{Flaw, GroupHeader, PAGE, RecordHeader, SegmentHeader},
    group::{self, Depth},
    manifest::Entry,
};

/// A walk, which reads the groups of a segment one after the other.
pub struct Walk<'a> {
    header: &'a SegmentHeader,
    /// The file from its start.
    bytes: &'a [u8],
    /// What the manifest says of the segment, if there is one.
    entry: Option<&'a Entry>,
    /// The offset of the next group.
    pub position: u64,
    /// The sequence of the next record, or less in a compacted segment, which leaves some out.
    pub next: u64,
    /// The checksum of the headers of all groups before `position`; None if a header is not known.
    pub groups: Option<u32>,
}

impl<'a> Walk<'a> {
    /// A walk from the first group on.
    pub fn new(header: &'a SegmentHeader, bytes: &'a [u8], entry: Option<&'a Entry>) -> Self {
        Walk {
            header,
            bytes,
            entry,
            position: PAGE as u64,
            next: header.first_sequence,
            groups: Some(0),
        }
    }

    /// Reads the next group and moves behind it; the headers of its records replace what is in
    /// `records`. After an error the walk is where it was.
    ///
    /// # Errors
    /// The first flaw of the group: bytes that are not as they were written, a sequence that does
    /// not follow, or groups other than the manifest's.
    pub fn step(
        &mut self,
        depth: Depth,
        records: &mut Vec<RecordHeader>,
    ) -> Result<GroupHeader, Flaw> {
        let group = group::decode(self.header, self.bytes, self.position, depth, records)?;
        self.header.check_follows(&group, self.next)?;
        let groups = self.groups_with(&group);
        if let (Some(entry), Some(groups)) = (self.entry, groups) {
            entry.check_groups(&group, groups)?;
        }
        let last = records.last().map_or(self.next, |record| record.sequence);
        self.groups = groups;
        self.next = last.saturating_add(1);
        self.position += group.length;
        Ok(group)
    }

    /// The checksum of the headers of all groups up to `group`, which is the next one.
    pub fn groups_with(&self, group: &GroupHeader) -> Option<u32> {
        let bytes = &self.bytes[group.position as usize..];
        let add = |before| GroupHeader::add_to_checksum(before, bytes);
        self.groups.map(add)
    }
}
