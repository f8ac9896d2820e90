//! Walks through a segment past its flaws, where recovery stops at the first.

use super::{
    format::{BLOCK, Flaw, GroupHeader, Kind, Op, PAGE, RecordHeader, SegmentHeader, array_at},
    group::{self, Depth},
    manifest::Entry,
    tail,
};
use crate::error::uuid;

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

/// So many points of a lost group are named at most.
const MOST_NAMED: usize = 16;

/// What a walk comes by, in the order of the file.
pub enum Found<'a> {
    /// A record whose checksum matches, with its vector and payload, and the offset of its header.
    Record(&'a RecordHeader, u64),
    /// Such a record where the header of its group is not what was written.
    Stray(&'a RecordHeader, u64),
    /// A record of which vector or payload alone are not what was written.
    Spoilt(&'a RecordHeader, Flaw),
    /// Something else that is not, and the sequence of the first record that it costs.
    Flaw(Flaw, u64),
}

impl Found<'_> {
    /// What is not as it was written, and the sequence of the first record that it costs.
    pub fn flaw(self) -> Option<(Flaw, u64)> {
        match self {
            Found::Record(..) | Found::Stray(..) => None,
            Found::Spoilt(record, flaw) => Some((flaw, record.sequence)),
            Found::Flaw(flaw, sequence) => Some((flaw, sequence)),
        }
    }
}

/// Where a walk ended.
pub struct Extent {
    /// The end of the groups.
    pub end: u64,
    /// The end of the bytes that an interrupted write left behind them, if it did.
    pub torn: Option<u64>,
    /// The sequence of the next record.
    pub next: u64,
    /// Whether its groups are not those that the manifest was written of.
    pub is_other: bool,
}

/// A record that was read, or why it was not.
type Read = Result<RecordHeader, Unread>;

/// Why a record was not read.
struct Unread {
    flaw: Flaw,
    /// Its header, where that is what was written.
    header: Option<RecordHeader>,
}

impl From<Flaw> for Unread {
    fn from(flaw: Flaw) -> Unread {
        Unread { flaw, header: None }
    }
}

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
        let mut is_other = false;
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
                    is_other,
                });
            }
            let Some(group) = group else {
                groups = None;
                let behind = self.next_group(at, dirty);
                let strays = self.strays(at, behind.unwrap_or(dirty), next);
                let flaw = flaw.map(|flaw| flaw.and(&self.lost(behind, next, &strays)));
                tell_flaw(tell, flaw, next);
                for (record, offset) in &strays {
                    tell(Found::Stray(record, *offset));
                }
                match behind {
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
                is_other |= flaw.is_some();
                tell_flaw(tell, flaw, self.header.first_sequence);
            }
            if group.first_sequence < next {
                // What it says again is not what holds.
                continue;
            }
            next = group.first_sequence;
            for (record, header_at) in records.drain(..).zip(headers_of(&group)) {
                match record {
                    Ok(record) => {
                        next = record.sequence;
                        tell(Found::Record(&record, header_at));
                    }
                    Err(Unread {
                        flaw,
                        header: Some(record),
                    }) => {
                        next = record.sequence;
                        tell(Found::Spoilt(&record, flaw));
                    }
                    Err(Unread { flaw, header: None }) => tell(Found::Flaw(flaw, next)),
                }
                next = next.saturating_add(1);
            }
        }
        Ok(Extent {
            end: at,
            torn: None,
            next,
            is_other,
        })
    }

    /// What may be lost from a group that is none up to the next one.
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

    /// The sound records between the header of a group that is none and `until`, whose
    /// sequences are `next` and up. Where nothing of the log is behind, they are those that the
    /// manifest proves: others may never have been acknowledged.
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

    fn rest(&self, at: u64) -> &[u8] {
        self.bytes.get(at as usize..).unwrap_or_default()
    }

    /// Where the groups end at least.
    fn known_end(&self) -> u64 {
        self.entry.map_or(0, |entry| entry.end)
    }

    fn dirty_end(&self) -> u64 {
        if self.sealed {
            return self.bytes.len() as u64;
        }
        tail::dirty_end(self.bytes, PAGE as u64).unwrap_or(PAGE as u64)
    }

    /// Reads a group with all its records; the inner error is that of a header that leads nowhere.
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
            .zip(headers_of(&group))
        {
            records.push(match decode(entry, Depth::Everything) {
                // A version is one only where the headers are what was written.
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
        let unread = records.iter().find_map(|record| record.as_ref().err())?;
        Some(unread.flaw.clone())
    }

    fn next_group(&self, behind: u64, dirty: u64) -> Option<u64> {
        (behind..dirty).step_by(BLOCK).skip(1).find(|&at| {
            let bytes = &self.bytes[at as usize..];
            GroupHeader::decode(bytes, self.header.salt, at).is_some()
        })
    }
}

/// Whose record it may be, by a header that is not what was written.
fn possibly(header: &[u8; BLOCK]) -> String {
    let id = array_at(header, 16);
    if id == [0; 16] {
        return "that of no point, as it seems".to_owned();
    }
    format!("possibly that of point {}", uuid(&id))
}

/// Where the headers of a group's records are.
fn headers_of(group: &GroupHeader) -> impl Iterator<Item = u64> + use<> {
    let first = group.position + BLOCK as u64;
    (first..).step_by(BLOCK).take(group.record_count as usize)
}

fn tell_flaw(tell: &mut dyn FnMut(Found), flaw: Option<Flaw>, sequence: u64) {
    if let Some(flaw) = flaw {
        tell(Found::Flaw(flaw, sequence));
    }
}
