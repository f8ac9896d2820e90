//! Verifies a whole segment and reports every flaw in it. (A start ends at the first.)

use super::{
    format::{BLOCK, Flaw, GroupHeader, Op, PAGE, RecordHeader, SegmentHeader, array_at},
    group::{self, Depth},
    manifest::Entry,
    tail,
    walk::Walk,
};
use crate::error::uuid;

/// A segment to be verified.
pub struct Verify<'a> {
    pub header: &'a SegmentHeader,
    /// The bytes of the file from its start. For a sealed segment they end where its groups end.
    pub bytes: &'a [u8],
    /// Whether every byte is known to have been on disk.
    pub sealed: bool,
    /// What the manifest says of the segment, if there is a manifest.
    pub entry: Option<&'a Entry>,
}

/// The greatest number of points of a lost group that are named.
const MOST_NAMED: usize = 16;

/// What a walk finds, in the order of the file.
pub enum Found<'a> {
    /// A record whose checksum matches, with its vector and payload, and the offset of its header.
    Record(&'a RecordHeader, u64),
    /// A record like that, but in a group with a damaged header.
    Stray(&'a RecordHeader, u64),
    /// A record in which only the vector or the payload is damaged.
    Spoilt(&'a RecordHeader, Flaw),
    /// Other damage, and the sequence of the first record that is lost by it.
    Flaw(Flaw, u64),
}

impl Found<'_> {
    /// The damage, and the sequence of the first record that is lost by it. None for a sound
    /// record.
    pub fn flaw(self) -> Option<(Flaw, u64)> {
        match self {
            Found::Record(..) | Found::Stray(..) => None,
            Found::Spoilt(record, flaw) => Some((flaw, record.sequence)),
            Found::Flaw(flaw, sequence) => Some((flaw, sequence)),
        }
    }
}

/// How far the groups of a segment reach.
pub struct Extent {
    /// The offset at which the groups end.
    pub end: u64,
    /// The end of the torn tail behind them, if there is one: bytes of a write that was
    /// interrupted.
    pub torn: Option<u64>,
    /// The sequence of the next record.
    pub next: u64,
    /// Whether the groups are not the ones in the manifest.
    pub is_other: bool,
}

/// How a walk goes on behind a flaw.
enum Past {
    /// It goes on at the next group.
    Group {
        /// Whether the groups are not the ones in the manifest.
        is_other: bool,
    },
    /// A torn tail may begin here.
    Torn,
    /// There is no further group.
    Nothing,
}

/// A record that was read, or why it was not.
type Read = Result<RecordHeader, Unread>;

/// The reason why a record was not read.
struct Unread {
    flaw: Flaw,
    /// The header of the record, if it is sound.
    header: Option<RecordHeader>,
}

impl From<Flaw> for Unread {
    fn from(flaw: Flaw) -> Unread {
        Unread { flaw, header: None }
    }
}

impl Verify<'_> {
    /// Verifies everything, and calls `tell` with each record and each flaw. Behind a flaw it goes
    /// on at the next group that is found at a multiple of 64. Bytes that an interrupted write may
    /// have left are no flaw. The only error is a version that this code does not know.
    pub fn run(&self, tell: &mut dyn FnMut(Found)) -> Result<Extent, Flaw> {
        let mut walk = Walk::new(self.header, self.bytes, self.entry);
        let dirty = self.dirty_end();
        let mut records = Vec::new();
        let mut extent = Extent {
            end: 0,
            torn: None,
            next: 0,
            is_other: false,
        };
        while walk.position < dirty.max(self.known_end()) {
            let flaw = match walk.step(Depth::Everything, &mut records) {
                Ok(group) => {
                    for (record, header_at) in records.iter().zip(group.header_offsets()) {
                        tell(Found::Record(record, header_at));
                    }
                    continue;
                }
                Err(flaw) => flaw,
            };
            match self.step_past(&mut walk, flaw, dirty, tell)? {
                Past::Group { is_other } => extent.is_other |= is_other,
                Past::Torn => {
                    extent.torn = (dirty > walk.position).then_some(dirty);
                    break;
                }
                Past::Nothing => break,
            }
        }
        (extent.end, extent.next) = (walk.position, walk.next);
        Ok(extent)
    }

    /// Moves a walk past the group at which it found `flaw`, or, if its header is damaged, to the
    /// next group that is found. Tells which of the records in between are sound and which are not.
    fn step_past(
        &self,
        walk: &mut Walk,
        flaw: Flaw,
        dirty: u64,
        tell: &mut dyn FnMut(Found),
    ) -> Result<Past, Flaw> {
        let (at, next) = (walk.position, walk.next);
        let mut records = Vec::new();
        let (group, first) = match self.read(at, &mut records)? {
            Ok(group) => {
                let first = self.first_flaw(&group, next, &records);
                (Some(group), first)
            }
            Err(flaw) => (None, Some(flaw)),
        };
        if first.is_some() && !self.was_on_disk(at, next, dirty) {
            return Ok(Past::Torn);
        }
        let Some(group) = group else {
            walk.groups = None;
            let behind = self.next_group(at, dirty);
            let strays = self.strays(at, behind.unwrap_or(dirty), next);
            let lost = self.lost(behind, next, &strays);
            tell(Found::Flaw(first.unwrap_or(flaw).and(&lost), next));
            for (record, offset) in &strays {
                tell(Found::Stray(record, *offset));
            }
            walk.position = behind.unwrap_or(at);
            return Ok(behind.map_or(Past::Nothing, |_| Past::Group { is_other: false }));
        };
        let is_read = records.iter().all(Result::is_ok);
        walk.groups = walk.groups_with(&group);
        walk.position += group.length;
        let mut is_other = false;
        if let Err(flaw) = self.header.check_follows(&group, next) {
            walk.groups = None;
            tell(Found::Flaw(first.unwrap_or(flaw), next));
        } else if let (Some(entry), Some(groups)) = (self.entry, walk.groups)
            && let Err(flaw) = entry.check_groups(&group, groups)
        {
            is_other = true;
            tell(Found::Flaw(flaw, self.header.first_sequence));
        } else if is_read {
            tell(Found::Flaw(flaw, next));
        }
        if group.first_sequence < next {
            // The group repeats sequences that were read before, and the first records of them
            // hold.
            return Ok(Past::Group { is_other });
        }
        walk.next = group.first_sequence;
        for (record, header_at) in records.into_iter().zip(group.header_offsets()) {
            match record {
                Ok(record) => {
                    walk.next = record.sequence;
                    tell(Found::Record(&record, header_at));
                }
                Err(Unread {
                    flaw,
                    header: Some(record),
                }) => {
                    walk.next = record.sequence;
                    tell(Found::Spoilt(&record, flaw));
                }
                Err(Unread { flaw, header: None }) => tell(Found::Flaw(flaw, walk.next)),
            }
            walk.next = walk.next.saturating_add(1);
        }
        Ok(Past::Group { is_other })
    }

    /// A text about the records that may be lost between a damaged group header and the next group.
    fn lost(&self, behind: Option<u64>, next: u64, strays: &[(RecordHeader, u64)]) -> String {
        let follows =
            behind.and_then(|at| GroupHeader::decode(self.rest(at), self.header.salt, at));
        let end = follows.map(|group| group.first_sequence);
        let last = end.or(self.entry.map(|entry| entry.last_sequence + 1));
        let last = last.filter(|&end| end > next).map(|end| end - 1);
        let sequences = match last {
            Some(last) => format!("the records with the sequences {next} to {last}"),
            None => format!("the records from sequence {next} on"),
        };
        let ids: Vec<String> = strays
            .iter()
            .filter(|(record, _)| record.op != Op::Noop)
            .take(MOST_NAMED)
            .map(|(record, _)| uuid(&record.id))
            .collect();
        let found = match strays.len() {
            0 => String::new(),
            count => format!(", of which {count} are sound: points {}", ids.join(", ")),
        };
        let more = if strays.len() > ids.len() {
            ", ..."
        } else {
            ""
        };
        format!("it may cost {sequences}{found}{more}")
    }

    /// The sound records between a damaged group header and `until`, with sequences from `next` on.
    /// If no group follows, only records that the manifest proves count: others may never have been
    /// acknowledged.
    fn strays(&self, at: u64, until: u64, next: u64) -> Vec<(RecordHeader, u64)> {
        let follows = GroupHeader::decode(self.rest(until), self.header.salt, until);
        let is_proven = self.sealed || follows.is_some();
        let until = if is_proven {
            until
        } else {
            self.known_end().min(until)
        };
        let end = follows.map_or(u64::MAX, |group| group.first_sequence);
        let mut sequences = next..end;
        let mut strays = Vec::new();
        for offset in (at..until).step_by(BLOCK).skip(1) {
            if let Some(record) = group::decode_stray(self.header, self.bytes, offset, &sequences) {
                sequences.start = record.sequence + 1;
                strays.push((record, offset));
            }
        }
        strays
    }

    /// The bytes from an offset on; none behind the end.
    fn rest(&self, at: u64) -> &[u8] {
        self.bytes.get(at as usize..).unwrap_or_default()
    }

    /// The offset that the groups reach at least, by the manifest.
    fn known_end(&self) -> u64 {
        self.entry.map_or(0, |entry| entry.end)
    }

    /// The end of the last block that was written to.
    fn dirty_end(&self) -> u64 {
        if self.sealed {
            return self.bytes.len() as u64;
        }
        tail::dirty_end(self.bytes, PAGE as u64).unwrap_or(PAGE as u64)
    }

    /// Reads a group with all its records. The outer error is an unknown version, the inner one a
    /// group header that is damaged.
    fn read(&self, at: u64, records: &mut Vec<Read>) -> Result<Result<GroupHeader, Flaw>, Flaw> {
        records.clear();
        let group = match group::decode_header(self.header, self.bytes, at) {
            Ok(group) => group,
            Err(flaw) => return Ok(Err(flaw)),
        };
        let headers = group::verify_headers(self.header, self.bytes, &group);
        let decode =
            |entry, depth| group::decode_record(self.header, self.bytes, &group, entry, depth);
        for (entry, offset) in group
            .record_headers(self.bytes)
            .iter()
            .enumerate()
            .zip(group.header_offsets())
        {
            records.push(match decode(entry, Depth::Everything) {
                // A version counts only if the headers are what was written.
                Err(Flaw::Newer { version, .. }) if headers.is_err() => {
                    let reason = format!("a record of the version {version}");
                    Err(Flaw::new(offset, reason).and(&possibly(entry.1)).into())
                }
                Err(newer @ Flaw::Newer { .. }) => return Err(newer),
                Err(flaw) if headers.is_ok() => Err(Unread {
                    flaw,
                    header: decode(entry, Depth::Headers).ok(),
                }),
                Err(flaw) => Err(flaw.and(&possibly(entry.1)).into()),
                Ok(record) => Ok(record),
            });
        }
        if let (Err(flaw), true) = (headers, records.iter().all(Result::is_ok)) {
            records[0] = Err(flaw.into());
        }
        Ok(Ok(group))
    }

    /// Whether the record `lost`, which is missing from `at` on, is known to have been on disk.
    fn was_on_disk(&self, at: u64, lost: u64, dirty: u64) -> bool {
        let bytes = &self.bytes[..(dirty as usize).min(self.bytes.len())];
        self.sealed || tail::proof(self.header, bytes, at, lost, self.known_end()).is_some()
    }

    /// The flaw at which a start would stop in a group: its sequence does not follow, or the first
    /// record that is not sound.
    fn first_flaw(&self, group: &GroupHeader, next: u64, records: &[Read]) -> Option<Flaw> {
        if let Err(flaw) = self.header.check_follows(group, next) {
            return Some(flaw);
        }
        let unread = records.iter().find_map(|record| record.as_ref().err())?;
        Some(unread.flaw.clone())
    }

    /// The offset of the next group header behind an offset.
    fn next_group(&self, behind: u64, dirty: u64) -> Option<u64> {
        (behind..dirty).step_by(BLOCK).skip(1).find(|&at| {
            let bytes = &self.bytes[at as usize..];
            GroupHeader::decode(bytes, self.header.salt, at).is_some()
        })
    }
}

/// A text about the point that a record may be of, by its header, which is not what was written.
fn possibly(header: &[u8; BLOCK]) -> String {
    let id = array_at(header, 16);
    if id == [0; 16] {
        return "that of no point, as it seems".to_owned();
    }
    format!("possibly that of point {}", uuid(&id))
}
