//! Walks through a segment past its flaws, where recovery stops at the first.

use super::{
    format::{BLOCK, Flaw, GroupHeader, Kind, PAGE, RecordHeader, SegmentHeader},
    group::{self, Depth},
    manifest::Entry,
    recovery,
};

/// A segment to be walked through.
pub struct Scan<'a> {
    pub header: &'a SegmentHeader,
    /// The file from its start: of a sealed segment up to the end of its groups.
    pub bytes: &'a [u8],
    /// Whether every byte is known to have been on disk.
    pub sealed: bool,
    /// What the manifest says of it, if there is one.
    pub entry: Option<&'a Entry>,
}

/// What a walk comes by, in the order of the file.
pub enum Found<'a> {
    /// A record whose checksum matches, with its vector and payload.
    Record(&'a RecordHeader),
    /// Something that is not what was written, and the sequence of the first record that it costs.
    Flaw(Flaw, u64),
}

/// Where a walk ended.
pub struct Extent {
    /// The end of the groups.
    pub end: u64,
    /// The end of the bytes that an interrupted write left behind them, if it did.
    pub torn: Option<u64>,
    /// The sequence of the next record.
    pub next: u64,
}

/// A record that was read, or why it was not.
type Read = Result<RecordHeader, Flaw>;

impl Scan<'_> {
    /// Verifies everything and tells each record and each flaw. Behind a flaw the walk goes on at
    /// the next group that is found at a multiple of 64. Bytes that an interrupted write may have
    /// left are no flaw. The error is a version that is not known.
    pub fn run(&self, tell: &mut dyn FnMut(Found)) -> Result<Extent, Flaw> {
        let (mut at, mut next) = (PAGE as u64, self.header.first_sequence);
        let dirty = self.dirty_end();
        let mut records = Vec::new();
        // The checksum of the headers of all groups so far, as long as none is amiss.
        let mut groups = Some(0);
        while at < dirty.max(self.known_end()) {
            let (group, flaw) = match self.read(at, &mut records)? {
                Ok(group) => {
                    let flaw = self.first_flaw(&group, next, &records);
                    groups = groups.map(|before| {
                        GroupHeader::add_to_checksum(before, &self.bytes[at as usize..])
                    });
                    (Some(group), flaw)
                }
                Err(flaw) => (None, Some(flaw)),
            };
            if flaw.is_some() && !self.was_on_disk(at, next, dirty) {
                let torn = (dirty > at).then_some(dirty);
                return Ok(Extent {
                    end: at,
                    torn,
                    next,
                });
            }
            let Some(group) = group else {
                groups = None;
                tell_flaw(tell, flaw, next);
                match self.next_group(at, dirty) {
                    Some(found) => at = found,
                    None => break,
                }
                continue;
            };
            at += group.length;
            if !self.follows(&group, next) {
                groups = None;
                tell_flaw(tell, flaw, next);
            }
            if let (Some(entry), Some(groups)) = (self.entry, groups) {
                let flaw = entry.check_groups(&group, groups).err();
                tell_flaw(tell, flaw, self.header.first_sequence);
            }
            if group.first_sequence < next {
                // What it says again is not what holds.
                continue;
            }
            next = group.first_sequence;
            for record in records.drain(..) {
                match record {
                    Ok(record) => {
                        next = record.sequence;
                        tell(Found::Record(&record));
                    }
                    Err(flaw) => tell(Found::Flaw(flaw, next)),
                }
                next = next.saturating_add(1);
            }
        }
        Ok(Extent {
            end: at,
            torn: None,
            next,
        })
    }

    /// Where the groups end at least.
    fn known_end(&self) -> u64 {
        self.entry.map_or(0, |entry| entry.end)
    }

    fn dirty_end(&self) -> u64 {
        if self.sealed {
            return self.bytes.len() as u64;
        }
        recovery::dirty_end(self.bytes, PAGE as u64).unwrap_or(PAGE as u64)
    }

    /// Reads a group with all its records; the inner error is that of a header that leads nowhere.
    fn read(&self, at: u64, records: &mut Vec<Read>) -> Result<Result<GroupHeader, Flaw>, Flaw> {
        records.clear();
        let group = match group::decode_header(self.header, self.bytes, at) {
            Ok(group) => group,
            Err(flaw) => return Ok(Err(flaw)),
        };
        let headers = group::verify_headers(self.header, self.bytes, &group);
        for entry in group.record_headers(self.bytes).iter().enumerate() {
            let read =
                group::decode_record(self.header, self.bytes, &group, entry, Depth::Everything);
            records.push(match read {
                // A version is one only where the headers are what was written.
                Err(Flaw::Newer { version, .. }) if headers.is_err() => {
                    let offset = at + (entry.0 as u64 + 1) * BLOCK as u64;
                    Err(Flaw::new(
                        offset,
                        format!("a record of the version {version}"),
                    ))
                }
                Err(newer @ Flaw::Newer { .. }) => return Err(newer),
                other => other,
            });
        }
        if let (Err(flaw), true) = (headers, records.iter().all(Result::is_ok)) {
            records[0] = Err(flaw);
        }
        Ok(Ok(group))
    }

    /// Whether the record `lost`, which is missing from `at` on, is known to have been on disk.
    fn was_on_disk(&self, at: u64, lost: u64, dirty: u64) -> bool {
        let bytes = &self.bytes[..(dirty as usize).min(self.bytes.len())];
        self.sealed || recovery::proof(self.header, bytes, at, lost, self.known_end()).is_some()
    }

    /// Whether a group is what may come where the record `next` is the next.
    fn follows(&self, group: &GroupHeader, next: u64) -> bool {
        match self.header.kind {
            Kind::Log => group.first_sequence == next,
            Kind::Compacted { .. } => group.first_sequence >= next,
        }
    }

    /// What recovery would stop at in a group: its sequence, or the first record that is not sound.
    fn first_flaw(&self, group: &GroupHeader, next: u64, records: &[Read]) -> Option<Flaw> {
        let found = group.first_sequence;
        if !self.follows(group, next) {
            let reason = if found > next {
                format!("a group with sequence {found}, expected {next}: those between are missing")
            } else {
                format!("a group with sequence {found}, expected {next}")
            };
            return Some(Flaw::new(group.position, reason));
        }
        let flawed = records.iter().find_map(|record| record.as_ref().err())?;
        Some(flawed.clone())
    }

    fn next_group(&self, behind: u64, dirty: u64) -> Option<u64> {
        (behind..dirty).step_by(BLOCK).skip(1).find(|&at| {
            let bytes = &self.bytes[at as usize..];
            GroupHeader::decode(bytes, self.header.salt, at).is_some()
        })
    }
}

fn tell_flaw(tell: &mut dyn FnMut(Found), flaw: Option<Flaw>, sequence: u64) {
    if let Some(flaw) = flaw {
        tell(Found::Flaw(flaw, sequence));
    }
}
