//! Reads a data folder back after any end: what is sound, what is a torn tail, what is damage.
//!
//! [`inspect`] only reads, so a folder that is refused stays as it was found; [`repair`] then
//! clears what an interrupted write left behind.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::{
    LivePoint,
    format::{BLOCK, Flaw, GroupHeader, Op, PAGE, RecordHeader, SegmentHeader},
    group::{self, Depth},
    io::{self, Io, remove_if_there},
    manifest::{self, Entry, Manifest},
    segment::{self, Segment},
};
use crate::Result;

/// What a data folder holds.
pub struct Found {
    /// Nothing if no segment was ever begun.
    pub manifest: Option<Manifest>,
    /// The segments of the manifest, each with its end.
    pub segments: Vec<Segment>,
    pub replay: Replay,
    /// The end of the bytes that an interrupted write left behind the last group.
    torn: Option<u64>,
    /// Files of segments whose creation was interrupted.
    orphans: Vec<PathBuf>,
}

/// The state that the log leads to.
#[derive(Default)]
pub struct Replay {
    live: HashMap<[u8; 16], LivePoint>,
    /// The sequence of the last record; 0 if there is none.
    pub last_sequence: u64,
    /// Offset of the last group in its segment.
    last_group: u64,
    /// Whether the last record is a no-op, so that everything before it is proven.
    pub proven: bool,
}

/// Reads a folder without changing anything in it.
pub fn inspect(io: &dyn Io, folder: &Path) -> Result<Found> {
    let manifest = Manifest::load(io, folder)?;
    let entries = manifest
        .as_ref()
        .map_or(&[][..], |manifest| &manifest.segments);
    let mut orphans = Vec::new();
    for path in io.list(folder)? {
        let Some(number) = segment::number(&path) else {
            continue;
        };
        if entries.iter().all(|entry| entry.number != number) {
            segment::check_orphan(io, &path, manifest.is_none())?;
            orphans.push(path);
        }
    }
    let mut found = Found {
        manifest: None,
        segments: Vec::new(),
        replay: Replay::default(),
        torn: None,
        orphans,
    };
    if let Some(manifest) = manifest {
        found.read_segments(io, folder, &manifest)?;
        found.manifest = Some(manifest);
    }
    Ok(found)
}

/// Clears what an interrupted write left behind and makes durable what was found. Returns a line
/// for the log about each thing done.
pub fn repair(found: &mut Found, io: &dyn Io, folder: &Path) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    remove_if_there(io, &manifest::temporary_path(folder))?;
    for path in found.orphans.drain(..) {
        io.remove(&path)?;
        notes.push(format!(
            "removed {}: its creation was interrupted",
            path.display()
        ));
    }
    let (Some(manifest), Some(last)) = (&found.manifest, found.segments.last()) else {
        io::sync_way_to(io, folder);
        return Ok(notes);
    };
    if let Some(torn) = found.torn.take() {
        last.erase(last.end, torn)?;
        let (path, end, bytes) = (last.path.display(), last.end, torn - last.end);
        notes.push(format!(
            "cut a torn tail of {bytes} bytes at byte {end} of {path}"
        ));
    }
    // What a killed process wrote and renamed may be in memory alone, and is about to be shown.
    // Everything before the last group was durable before that was written.
    if manifest
        .segments
        .last()
        .is_some_and(|entry| entry.end < last.end)
    {
        last.rewrite(found.replay.last_group)?;
    }
    io.sync_folder(folder)?;
    if found.replay.last_sequence == 0 {
        // The first insert was interrupted: nothing pins the dimension yet. The manifest goes
        // first, so that a crash in between leaves an orphan.
        io.remove(&manifest::path(folder))?;
        io.sync_folder(folder)?;
        for segment in found.segments.drain(..) {
            io.remove(&segment.path)?;
        }
        found.manifest = None;
        notes.push("the first insert was interrupted: starting empty".to_owned());
    }
    Ok(notes)
}

impl Found {
    fn read_segments(&mut self, io: &dyn Io, folder: &Path, manifest: &Manifest) -> Result<()> {
        let mut buffer = Vec::new();
        for (index, entry) in manifest.segments.iter().enumerate() {
            let mut segment = Segment::open(io, folder, entry.number)?;
            let header = &segment.header;
            entry
                .check(manifest, header)
                .map_err(|flaw| flaw.refuse(&segment.path))?;
            let sealed = index + 1 < manifest.segments.len();
            let read = if sealed {
                let bytes = segment.load(&mut buffer, 0, entry.end)?;
                self.replay
                    .sealed(header, bytes, entry)
                    .map(|()| (entry.end, None))
            } else {
                let bytes = segment.load(&mut buffer, 0, header.capacity)?;
                self.replay.active(header, bytes, entry)
            };
            (segment.end, self.torn) = read.map_err(|flaw| flaw.refuse(&segment.path))?;
            self.segments.push(segment);
        }
        Ok(())
    }
}

impl Replay {
    /// The state behind the record with this sequence, of which nothing else is known.
    pub fn behind(last_sequence: u64) -> Replay {
        Replay {
            last_sequence,
            ..Replay::default()
        }
    }

    /// The live points in the order of their sequence.
    pub fn into_points(self) -> Vec<LivePoint> {
        let mut points: Vec<LivePoint> = self.live.into_values().collect();
        points.sort_unstable_by_key(|point| point.sequence);
        points
    }

    /// Replays a sealed segment, of which every byte was durable before it was sealed.
    fn sealed(&mut self, header: &SegmentHeader, bytes: &[u8], entry: &Entry) -> Result<(), Flaw> {
        let (end, flaw) = self.walk(header, bytes, Depth::Headers);
        if let Some(flaw) = flaw {
            return Err(flaw);
        }
        if self.last_sequence != entry.last_sequence {
            let (found, expected) = (self.last_sequence, entry.last_sequence);
            return Err(Flaw::new(
                end,
                format!("ends at sequence {found}, expected {expected}"),
            ));
        }
        Ok(())
    }

    /// Replays the segment that was being written. Returns the end of its groups and, if there is
    /// a torn tail behind them, the end of that.
    pub fn active(
        &mut self,
        header: &SegmentHeader,
        bytes: &[u8],
        entry: &Entry,
    ) -> Result<(u64, Option<u64>), Flaw> {
        let (end, flaw) = self.walk(header, bytes, Depth::Everything);
        let Some(flaw) = flaw else {
            return Ok((end, None));
        };
        let (offset, reason) = match flaw {
            newer @ Flaw::Newer { .. } => return Err(newer),
            Flaw::Broken { offset, reason } => (offset, reason),
        };
        let lost = self.last_sequence + 1;
        let dirty = dirty_end(bytes, end).unwrap_or(end);
        if let Some(proof) = proof(header, &bytes[..dirty as usize], end, lost, entry.end) {
            return Err(Flaw::new(offset, format!("{reason}; {proof}")));
        }
        Ok((end, (dirty > end).then_some(dirty)))
    }

    /// Replays groups from the start of a segment to the end of `bytes` or the first flaw; returns
    /// where the sound groups end.
    fn walk(&mut self, header: &SegmentHeader, bytes: &[u8], depth: Depth) -> (u64, Option<Flaw>) {
        let mut position = PAGE as u64;
        let mut records = Vec::new();
        while position < bytes.len() as u64 {
            let group = match group::decode(header, bytes, position, depth, &mut records) {
                Ok(group) => group,
                Err(flaw) => return (position, Some(flaw)),
            };
            let expected = self.last_sequence + 1;
            if group.first_sequence != expected {
                let found = group.first_sequence;
                let reason = format!("a group with sequence {found}, expected {expected}");
                return (position, Some(Flaw::new(position, reason)));
            }
            self.apply(header.number, position, &records);
            self.last_group = position;
            position += group.length;
        }
        (position, None)
    }

    fn apply(&mut self, segment: u32, position: u64, records: &[RecordHeader]) {
        for (index, record) in records.iter().enumerate() {
            let offset = position + (index as u64 + 1) * BLOCK as u64;
            let (id, sequence) = (record.id, record.sequence);
            match record.op {
                Op::Insert => {
                    let location = record.location(segment, offset);
                    self.live.insert(
                        id,
                        LivePoint {
                            id,
                            sequence,
                            location,
                        },
                    );
                }
                Op::Delete => {
                    self.live.remove(&id);
                }
                Op::Noop => {}
            }
            self.last_sequence = sequence;
            self.proven = record.op == Op::Noop;
        }
    }
}

/// The end of the last block behind `from` that is not all zeros, if there is one.
pub fn dirty_end(bytes: &[u8], from: u64) -> Option<u64> {
    let (blocks, _) = bytes[from as usize..].as_chunks::<BLOCK>();
    let last = blocks.iter().rposition(|block| *block != [0; BLOCK])?;
    Some(from + (last as u64 + 1) * BLOCK as u64)
}

/// What says that the record `lost`, which is missing from byte `end` on, was on disk; nothing if
/// it may never have been. `known_end` is where the groups end at least, by the manifest.
pub fn proof(
    header: &SegmentHeader,
    bytes: &[u8],
    end: u64,
    lost: u64,
    known_end: u64,
) -> Option<String> {
    if end < known_end {
        return Some(format!("MANIFEST proves that sequence {lost} was on disk"));
    }
    let group = later_proof(header, bytes, end, lost)?;
    let (at, proven) = (group.position, group.durable);
    Some(format!(
        "the group at byte {at} proves that sequence {lost} was on disk, as were all up to {proven}"
    ))
}

/// The first group from `from` on whose header says that `sequence` was on disk when it was
/// written. Only bytes that the store itself wrote to this place of this segment can say so.
fn later_proof(
    header: &SegmentHeader,
    bytes: &[u8],
    from: u64,
    sequence: u64,
) -> Option<GroupHeader> {
    (from..bytes.len() as u64)
        .step_by(BLOCK)
        .filter_map(|at| GroupHeader::decode(&bytes[at as usize..], header.salt, at))
        .find(|group| group.durable >= sequence)
}
