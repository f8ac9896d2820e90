//! Recovery reads a data folder at a start, however the last process ended. It tells sound data, a
//! torn tail (bytes that an interrupted write has left) and damage apart.
//!
//! [`inspect`] only reads, so a folder that is refused for damage stays as it was found. [`repair`]
//! then clears what an interrupted write left behind.

use std::path::{Path, PathBuf};

use super::{
    LivePoint,
    io::{self, Io, remove_if_there},
    reserve,
    snapshot::{self, LogEnd},
};
use crate::{
    Result,
    store::{
        log::{
            format::{BLOCK, Flaw, GroupHeader, Op, PAGE, RecordHeader, SegmentHeader, align},
            group::Depth,
            manifest::{self, Entry, Manifest},
            segment::{self, Segment},
            stream::StreamPosition,
            tail,
            usage::Tombstone,
            verify::Verify,
            walk::Walk,
        },
        mapping::Mapping,
    },
    sync::parallel,
};

/// A sealed segment is read ahead in pieces of at least this size.
const AHEAD_BYTES: u64 = 1 << 20;

/// What a data folder holds.
pub struct Recovered {
    /// None if no segment was ever begun.
    pub manifest: Option<Manifest>,
    /// The segments that the manifest names, in its order, mapped.
    pub segments: Vec<(Segment, Mapping)>,
    pub replay: Replay,
    /// The end of the torn tail behind the last group, if there is one.
    torn: Option<u64>,
    /// Files of segments whose creation or removal was interrupted.
    unnamed: Vec<PathBuf>,
}

/// The state that follows from the records of the log.
#[derive(Default)]
pub struct Replay {
    /// Every point whose insert is in the log, by ascending sequence.
    points: Vec<LivePoint>,
    /// Every tombstone in the log, and the number of its segment.
    tombstones: Vec<(u32, Tombstone)>,
    /// The sequence of the last record; 0 if there is none.
    pub last_sequence: u64,
    /// In the store of a replica, where it is in its stream.
    pub stream: Option<StreamPosition>,
    /// The offset of the last group in its segment.
    last_group: u64,
    /// Whether the last record is a no-op, so that everything before it is proven.
    pub proven: bool,
}

/// Reads a folder without changing anything in it.
pub fn inspect(io: &dyn Io, folder: &Path) -> Result<Recovered> {
    let manifest = Manifest::load(io, folder)?;
    let mut unnamed = Vec::new();
    for path in segment::unnamed(&io.list(folder)?, manifest.as_ref()) {
        segment::check_unnamed(io, path, manifest.as_ref())?;
        unnamed.push(path.clone());
    }
    let mut found = Recovered {
        manifest: None,
        segments: Vec::new(),
        replay: Replay::default(),
        torn: None,
        unnamed,
    };
    if let Some(manifest) = manifest {
        found.read_segments(io, folder, &manifest)?;
        found.manifest = Some(manifest);
    }
    let end = found.manifest.as_ref().zip(found.segments.last());
    let end = end.map(|(manifest, (segment, _))| LogEnd {
        store: manifest.store,
        sequence: found.replay.last_sequence,
        path: segment.path.clone(),
        offset: segment.end,
    });
    snapshot::check_log(io, folder, end.as_ref())?;
    Ok(found)
}

/// Clears what an interrupted write left behind and makes durable what was found. Returns a line
/// for the log about each thing done.
pub fn repair(found: &mut Recovered, io: &dyn Io, folder: &Path) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    // A killed process may have renamed files without syncing the folder. The names become durable
    // before anything is removed because of them. Otherwise a power cut could lose the renamed
    // MANIFEST, and keep the removal of a segment that the MANIFEST before it names.
    io.sync_folder(folder)?;
    remove_if_there(io, &manifest::temporary_path(folder))?;
    for path in found.unnamed.drain(..) {
        io.remove(&path)?;
        notes.push(format!(
            "removed {}: its creation or removal was interrupted",
            path.display()
        ));
    }
    let (Some(manifest), Some((last, _))) = (&found.manifest, found.segments.last()) else {
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
    // The last group that a killed process wrote may not be durable, and readers are about to see
    // it. Everything before it was durable before it was written.
    if manifest
        .segments
        .last()
        .is_some_and(|entry| entry.end < last.end)
    {
        last.rewrite(found.replay.last_group)?;
    }
    if found.replay.last_sequence == 0 {
        // The first insert was interrupted: nothing pins the dimension yet. The manifest goes
        // first, so that a crash in between leaves an unnamed file.
        io.remove(&manifest::path(folder))?;
        io.sync_folder(folder)?;
        for (segment, _) in found.segments.drain(..) {
            io.remove(&segment.path)?;
        }
        remove_if_there(io, &reserve::path_for_deletes(folder))?;
        remove_if_there(io, &reserve::path_for_compaction(folder))?;
        found.manifest = None;
        notes.push("the first insert was interrupted: starting empty".to_owned());
    }
    Ok(notes)
}

impl Recovered {
    fn read_segments(&mut self, io: &dyn Io, folder: &Path, manifest: &Manifest) -> Result<()> {
        self.replay.stream = manifest.stream;
        for entry in &manifest.segments {
            let opened = Segment::open(io, folder, entry.number);
            let segment = opened.map_err(|error| entry.name_records(error))?;
            entry
                .check(manifest, &segment.header)
                .map_err(|flaw| flaw.refuse(&segment.path))?;
            let mapping = segment.map()?;
            self.segments.push((segment, mapping));
        }
        let Some((active, sealed)) = manifest.segments.split_last() else {
            return Ok(());
        };
        let sealed: Vec<_> = self.segments.iter().zip(sealed).collect();
        let walked = parallel::map(&sealed, |((segment, mapping), entry)| {
            read_sealed(segment, mapping, entry)
        });
        for walked in walked {
            self.replay.apply(walked?);
        }
        for ((segment, _), entry) in self.segments.iter_mut().zip(&manifest.segments) {
            segment.end = entry.end;
        }
        if let Some((segment, mapping)) = self.segments.last_mut() {
            let mut buffer = Vec::new();
            let bytes = segment.load(&mut buffer, 0, segment.header.capacity)?;
            let (walked, torn) = read_active(&segment.header, bytes, active)
                .map_err(|flaw| flaw.refuse(&segment.path))?;
            (segment.end, segment.groups) = (walked.end, walked.groups);
            mapping.publish(walked.end);
            self.torn = torn;
            self.replay.apply(walked);
        }
        Ok(())
    }
}

impl Replay {
    /// Returns the live points, the deleted points whose records still exist, both by ascending
    /// sequence, and every tombstone with the number of its segment.
    pub fn into_points(self) -> (Vec<LivePoint>, Vec<LivePoint>, Vec<(u32, Tombstone)>) {
        let Replay {
            points, tombstones, ..
        } = self;
        if tombstones.is_empty() {
            return (points, Vec::new(), tombstones);
        }
        let (of_one, of_many): (Vec<_>, Vec<_>) = tombstones
            .iter()
            .map(|(_, tombstone)| *tombstone)
            .partition(|tombstone| tombstone.first == tombstone.last);
        // Those of many delete all that was before them.
        let all_before = of_many.iter().map(|tombstone| tombstone.last).max();
        let mut undone: Vec<u64> = of_one.iter().map(|tombstone| tombstone.last).collect();
        undone.sort_unstable();
        let mut undone = undone.into_iter().peekable();
        let (live, dead) = points.into_iter().partition(|point| {
            while undone.next_if(|&undone| undone < point.sequence).is_some() {}
            undone.peek() != Some(&point.sequence)
                && all_before.is_none_or(|last| point.sequence > last)
        });
        (live, dead, tombstones)
    }

    fn apply(&mut self, walked: Walked) {
        if self.points.is_empty() {
            self.points = walked.points;
        } else {
            self.points.extend(walked.points);
        }
        let numbered = |tombstone| (walked.number, tombstone);
        self.tombstones
            .extend(walked.tombstones.into_iter().map(numbered));
        if let Some(last) = walked.last {
            self.last_group = last.group;
            self.proven = last.op == Op::Noop;
        }
        self.last_sequence = walked.last_sequence;
        // In a store that orders its writes itself, a position is left from before it was restored.
        if self.stream.is_some() && walked.stream.is_some() {
            self.stream = walked.stream;
        }
    }
}

/// The content of the groups of one segment.
pub struct Walked {
    /// The number of the segment.
    number: u32,
    points: Vec<LivePoint>,
    tombstones: Vec<Tombstone>,
    /// The sequence of the last record, or the one before the first in a segment without records.
    pub last_sequence: u64,
    /// The offset at which the sound groups end.
    pub end: u64,
    /// The checksum of the headers of the sound groups.
    groups: u32,
    /// The position in the stream with the last group behind the end that the manifest knows.
    stream: Option<StreamPosition>,
    last: Option<LastRecord>,
}

/// The last record of a segment.
struct LastRecord {
    op: Op,
    /// The offset of its group.
    group: u64,
}

/// Reads the headers of a sealed segment, in place. Every byte of it was durable before it was
/// sealed, so anything that does not match is damage.
fn read_sealed(segment: &Segment, mapping: &Mapping, entry: &Entry) -> Result<Walked> {
    let damaged = |flaw: Flaw| flaw.refuse(&segment.path);
    mapping.publish(entry.end);
    let bytes = mapping.bytes(0, entry.end);
    let bytes = bytes.expect("published above");
    let mut ready = PAGE as u64;
    let (mut walked, flaw) = read_groups(&segment.header, entry, bytes, |from, to| {
        if to <= ready {
            return Ok(());
        }
        let from = from.max(ready);
        ready = to.max(from + AHEAD_BYTES).min(entry.end);
        if mapping.read_ahead(from, ready) {
            return Ok(());
        }
        // The file is read again by calls: a sector that cannot be read is an error then, and a
        // signal in mapped memory.
        segment.load(&mut Vec::new(), from, ready).map(drop)
    })?;
    if let Some(flaw) = flaw {
        let flaw = match segment.load(&mut Vec::new(), 0, entry.end) {
            Ok(bytes) => {
                let header = &segment.header;
                let verify = Verify {
                    header,
                    bytes,
                    sealed: true,
                    entry: Some(entry),
                };
                explain(flaw, &verify)
            }
            Err(_) => flaw,
        };
        return Err(damaged(flaw));
    }
    let checked = entry.check_end(walked.end, walked.last_sequence, true);
    checked.map_err(damaged)?;
    walked.last_sequence = entry.last_sequence;
    Ok(walked)
}

/// Reads the segment that was being written. Also returns the end of the torn tail behind its
/// groups, if there is one.
pub fn read_active(
    header: &SegmentHeader,
    bytes: &[u8],
    entry: &Entry,
) -> Result<(Walked, Option<u64>), Flaw> {
    let read = read_groups(header, entry, bytes, |_, _| Ok(()));
    let (walked, flaw) = read.expect("the bytes are in memory");
    let Some(flaw) = flaw else {
        return Ok((walked, None));
    };
    let (offset, reason) = match flaw {
        newer @ Flaw::Newer { .. } => return Err(newer),
        Flaw::Broken { offset, reason } => (offset, reason),
    };
    let (end, lost) = (walked.end, walked.last_sequence + 1);
    let dirty = tail::dirty_end(bytes, end).unwrap_or(end);
    if let Some(proof) = tail::proof(header, &bytes[..dirty as usize], end, lost, entry.end) {
        let verify = Verify {
            header,
            bytes,
            sealed: false,
            entry: Some(entry),
        };
        return Err(explain(Flaw::new(offset, reason), &verify).and(&proof));
    }
    Ok((walked, (dirty > end).then_some(dirty)))
}

/// Adds to a flaw which records may be lost by it.
fn explain(flaw: Flaw, verify: &Verify) -> Flaw {
    let mut first = None;
    let verified = verify.run(&mut |found| {
        let found = found.flaw().map(|(flaw, _)| flaw);
        first = first.take().or(found);
    });
    match (verified, flaw, first) {
        (Ok(_), Flaw::Broken { offset, reason }, Some(Flaw::Broken { reason: told, .. })) => {
            let is_more = !told.starts_with(&reason);
            let before = if is_more {
                reason + "; "
            } else {
                String::new()
            };
            Flaw::new(offset, before + &told)
        }
        (_, flaw, _) => flaw,
    }
}

/// Reads the groups of a segment up to the end of `bytes` or to the first flaw. Up to the end that
/// the manifest knows, every byte was durable, so only headers are verified, and records when they
/// are read. Behind it, whole groups are verified. `read_ahead` is called with each range before it
/// is read, vectors included, which are read next.
fn read_groups(
    header: &SegmentHeader,
    entry: &Entry,
    bytes: &[u8],
    mut read_ahead: impl FnMut(u64, u64) -> Result<()>,
) -> Result<(Walked, Option<Flaw>)> {
    let mut walked = Walked {
        number: header.number,
        points: Vec::new(),
        tombstones: Vec::new(),
        last_sequence: header.first_sequence - 1,
        end: PAGE as u64,
        groups: 0,
        stream: None,
        last: None,
    };
    let mut walk = Walk::new(header, bytes, Some(entry));
    let mut records = Vec::new();
    let vector_bytes = align(u64::from(header.dimension) * 4);
    while walk.position < bytes.len() as u64 {
        let position = walk.position;
        read_ahead(position, position + BLOCK as u64)?;
        let group = GroupHeader::decode(&bytes[position as usize..], header.salt, position);
        let count = group.map_or(0, |group| u64::from(group.record_count));
        read_ahead(
            position,
            position.saturating_add(count * (BLOCK as u64 + vector_bytes)),
        )?;
        let depth = if position < entry.end {
            Depth::Headers
        } else {
            Depth::Everything
        };
        match walk.step(depth, &mut records) {
            Ok(group) => {
                walked.add(&group, &records);
                if position >= entry.end {
                    walked.stream = group.stream;
                }
            }
            Err(flaw) => return Ok((walked, Some(flaw))),
        }
        (walked.end, walked.groups) = (walk.position, walk.groups.unwrap_or(0));
    }
    Ok((walked, None))
}

impl Walked {
    fn add(&mut self, group: &GroupHeader, records: &[RecordHeader]) {
        for (record, offset) in records.iter().zip(group.header_offsets()) {
            if record.op == Op::Insert {
                self.points.push(LivePoint {
                    id: record.id,
                    sequence: record.sequence,
                    location: record.location(self.number, offset),
                    // A payload of more bytes is never written.
                    payload_bytes: record.payload_length() as u32,
                });
            }
            self.tombstones.extend(Tombstone::of(record));
            self.last_sequence = record.sequence;
            self.last = Some(LastRecord {
                op: record.op,
                group: group.position,
            });
        }
    }
}
