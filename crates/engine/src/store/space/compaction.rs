//! Compaction: the records of some sealed segments that are still needed are copied into one new
//! segment. Readers use it from then on, and it replaces the old segments in the manifest. Nothing
//! is overwritten, so a crash at any time leaves the old segments or the new one.
//!
//! A record keeps its sequence. Each segment covers a range of sequences, and its header says up to
//! which sequence deletes were applied when it was written by compaction. From both follows for
//! every tombstone (the record of a delete) whether an insert that it undoes may still be on disk.
//! If not, the tombstone is not needed, and is dropped too. A record that replaces a point is an
//! insert and a tombstone: once its point does not live any more, a delete with its sequence stays
//! of it, as long as that is needed.

use std::{
    collections::{HashMap, HashSet},
    io,
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use crate::{
    Error, Result,
    store::{
        Location, ReadAhead, Segments, Store, Stored, Write,
        io::{Io, fatal, is_full, remove_if_there},
        log::{
            format::{
                BLOCK, Kind, Op, PAGE, RecordHeader, SEGMENT_VERSION, Salt, SegmentHeader, align,
            },
            group::{self, Depth, Layout, Place, Record},
            manifest::{Entry, Manifest},
            segment::{self, Segment},
            usage::{Tombstone, record_bytes},
            verify::{Found, Verify},
            walk::Walk,
        },
        mapping::Mapping,
        random,
    },
};

/// The greatest size of a group of the copy, unless one record is larger.
const GROUP_BYTES: u64 = 1 << 20;

/// A stretch of the log: neighbouring segments that are to be compacted into one.
pub struct Stretch {
    io: Arc<dyn Io>,
    folder: PathBuf,
    segments: Arc<Segments>,
    /// The manifest when the stretch was chosen.
    manifest: Manifest,
    /// The segments that are to be replaced.
    going: Vec<Entry>,
    /// The tombstones in these segments that are needed.
    tombstones: Vec<Tombstone>,
    /// The number of the new segment.
    number: u32,
    /// The copy leaves out points that were deleted up to this sequence.
    through: u64,
}

/// The new segment, complete and durable, and not used yet.
pub struct Compacted {
    segment: Segment,
    mapping: Mapping,
    replacement: Replacement,
    /// The tombstones in the new segment.
    tombstones: Vec<Tombstone>,
    /// The points in the new segment.
    moves: Vec<Move>,
}

/// A new segment, and the segments that it replaces.
pub struct Replacement {
    entry: Entry,
    going: Vec<Entry>,
}

impl Replacement {
    /// The numbers of the segments that are replaced.
    pub fn going(&self) -> impl Iterator<Item = u32> {
        self.going.iter().map(|entry| entry.number)
    }
}

/// The move of a point from an old segment to the new one.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// The point's id.
    pub id: [u8; 16],
    /// The old place, which can still be read.
    pub from: Location,
    /// The new place.
    pub to: Location,
    /// The bytes of its record.
    bytes: u64,
}

/// A record that is to be copied.
struct Needed {
    location: Location,
    header: RecordHeader,
}

impl Store {
    /// Chooses the stretches that are worth compacting. Compaction cannot copy the `uncopyable`
    /// segments.
    pub fn stretches(&mut self, uncopyable: &HashSet<u32>) -> Vec<Stretch> {
        if self.failure.is_some() {
            return Vec::new();
        }
        let places = self
            .usage
            .stretches(&self.manifest, self.usual_segment_bytes(), uncopyable);
        places
            .into_iter()
            .map(|places| self.stretch_of(places))
            .collect()
    }

    /// Makes a stretch of each segment with damaged headers, since a copy has sound ones. If the
    /// segment that is being written is one of them, it is sealed first.
    pub fn damaged_stretches(&mut self, damaged: &HashSet<u32>) -> Result<Vec<Stretch>> {
        if self.failure.is_some() || damaged.is_empty() {
            return Ok(Vec::new());
        }
        let active = self.active.as_ref().map(|active| active.header.number);
        if active.is_some_and(|number| damaged.contains(&number)) {
            self.rotate(0).map_err(|error| self.failed(&error))?;
        }
        let sealed = 0..self.manifest.segments.len().saturating_sub(1);
        let is_damaged = |&at: &usize| damaged.contains(&self.manifest.segments[at].number);
        let places: Vec<_> = sealed.filter(is_damaged).collect();
        let stretches = places.into_iter().map(|at| self.stretch_of(at..at + 1));
        Ok(stretches.collect())
    }

    /// The stretch of the segments at these places in the manifest. The last segment must not be
    /// one of them.
    pub(crate) fn stretch_of(&mut self, places: Range<usize>) -> Stretch {
        let going = self.manifest.segments[places].to_vec();
        let tombstones = going
            .iter()
            .flat_map(|entry| self.usage.tombstones(entry.number));
        let is_needed = |tombstone: &&Tombstone| self.manifest.needs(tombstone, &going);
        let tombstones = tombstones.filter(is_needed).copied().collect();
        let number = self.manifest.next_number;
        self.manifest.next_number += 1;
        Stretch {
            io: Arc::clone(&self.io),
            folder: self.folder.clone(),
            segments: Arc::clone(&self.segments),
            tombstones,
            going,
            manifest: self.manifest.clone(),
            number,
            through: self.last_sequence,
        }
    }

    /// Makes a compacted segment readable. `relocate` makes readers find a point at its new place,
    /// and returns whether the point lives. The manifest still names the old segments: after a
    /// crash they are used, and the new one is removed.
    pub fn take_in(
        &mut self,
        compacted: Compacted,
        mut relocate: impl FnMut(&Move) -> bool,
    ) -> Replacement {
        let Compacted {
            segment,
            mapping,
            replacement,
            tombstones,
            moves,
        } = compacted;
        self.segments.add(&segment, mapping);
        let moved = moves.iter().filter(|point| relocate(point));
        let live_bytes = moved.map(|point| point.bytes).sum();
        let usage = self.usage.of(replacement.entry.number);
        (usage.live_bytes, usage.tombstones) = (live_bytes, tombstones);
        replacement
    }

    /// Makes the manifest name new segments instead of old ones. The old ones can be read until
    /// they are [dropped](Store::drop_segments). On a full disk nothing is changed.
    pub fn replace(&mut self, replacements: &[Replacement]) -> Result<()> {
        self.check_writable()?;
        let mut manifest = self.manifest.clone();
        for Replacement { entry, going } in replacements {
            manifest.replace(going, entry.clone());
        }
        manifest
            .save(&*self.io, &self.folder)
            .map_err(|error| self.failed(&error))?;
        self.manifest = manifest;
        for number in replacements.iter().flat_map(Replacement::going) {
            self.usage.remove(number);
        }
        Ok(())
    }

    /// Unmaps segments that were replaced and removes their files.
    ///
    /// # Safety
    /// No thread has, or can get, a reference to bytes of these segments.
    #[allow(unsafe_code, reason = "the caller knows who reads the segments")]
    pub unsafe fn drop_segments(&mut self, numbers: &[u32]) -> Result<()> {
        for &number in numbers {
            // SAFETY: as the caller promises.
            unsafe { self.segments.remove(number) };
            remove_if_there(&*self.io, &segment::path(&self.folder, number))?;
        }
        Ok(())
    }
}

impl Manifest {
    /// Replaces neighbouring entries by one.
    fn replace(&mut self, going: &[Entry], entry: Entry) {
        let is_going = |entry: &Entry| going.iter().any(|going| going.number == entry.number);
        let first = self.segments.iter().position(is_going).unwrap_or(0);
        self.segments.retain(|entry| !is_going(entry));
        self.segments.insert(first, entry);
    }
}

impl Stretch {
    /// Copies the needed records, each verified, into a new segment: points for which `is_live`
    /// holds, and deletes of points whose records stay in other segments. Gives up with
    /// [`Error::Closed`] once `is_stopped` holds. Whatever fails, only the new file is touched.
    /// `live_in` lists the live points in a segment, and is called for segments with damaged
    /// headers.
    pub fn copy(
        self,
        is_live: impl Fn(&[u8; 16], Location) -> bool,
        live_in: impl Fn(u32) -> Vec<([u8; 16], Location)>,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Compacted> {
        let path = segment::path(&self.folder, self.number);
        let copied = self.try_copy(is_live, live_in, is_stopped);
        if copied.is_err() {
            // If this fails, the next start removes the file.
            drop(remove_if_there(&*self.io, &path));
        }
        copied
    }

    fn try_copy(
        &self,
        is_live: impl Fn(&[u8; 16], Location) -> bool,
        live_in: impl Fn(u32) -> Vec<([u8; 16], Location)>,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Compacted> {
        let needed = self.needed(is_live, live_in)?;
        let dimension = self.segments.dimension();
        let sizes = needed.iter().map(|Needed { header, .. }| match header.op {
            Op::Insert => (record_bytes(dimension, 0), header.payload_length()),
            Op::Delete | Op::DeleteAll | Op::Noop => (BLOCK as u64, 0),
        });
        let groups = group_sizes(sizes);
        let length: u64 = groups.iter().map(|&(_, length)| length).sum();
        let header = SegmentHeader {
            version: SEGMENT_VERSION,
            number: self.number,
            store: self.manifest.store,
            id: random()?,
            salt: Salt(random()?),
            dimension,
            kind: Kind::Compacted {
                through: self.through,
            },
            first_sequence: self.going[0].first_sequence,
            capacity: PAGE as u64 + length,
        };
        let stop = |error: io::Error| {
            if is_full(&error) {
                Error::StorageFull
            } else {
                Error::Io(error)
            }
        };
        let mut segment = Segment::create(&*self.io, &self.folder, header).map_err(stop)?;
        let (mut moves, mut tombstones) = (Vec::new(), Vec::new());
        let mut rest = &needed[..];
        let mut buffer = Vec::new();
        for (count, _) in groups {
            if is_stopped() {
                return Err(Error::Closed);
            }
            let group = rest.split_off(..count).unwrap_or_default();
            let locations = self
                .write(&mut segment, group, &mut buffer)
                .map_err(|error| match error {
                    Error::Io(error) => stop(error),
                    other => other,
                })?;
            for (needed, to) in group.iter().zip(locations) {
                if needed.header.op == Op::Insert {
                    moves.push(Move {
                        id: needed.header.id,
                        from: needed.location,
                        to,
                        bytes: record_bytes(dimension, needed.header.payload_length()),
                    });
                }
                tombstones.extend(Tombstone::of(&needed.header));
            }
        }
        segment.sync().map_err(fatal)?;
        let last = self.going.last().map_or(0, |entry| entry.last_sequence);
        let entry = Entry {
            end: segment.end,
            last_sequence: last,
            ..Entry::of(&segment.header)
        };
        Ok(Compacted {
            mapping: segment.map()?,
            segment,
            replacement: Replacement {
                entry,
                going: self.going.clone(),
            },
            tombstones,
            moves,
        })
    }

    /// The records of the stretch that are to be copied, in order.
    fn needed(
        &self,
        is_live: impl Fn(&[u8; 16], Location) -> bool,
        live_in: impl Fn(u32) -> Vec<([u8; 16], Location)>,
    ) -> Result<Vec<Needed>> {
        let keep = |mut header: RecordHeader, location| {
            let tombstone = Tombstone::of(&header);
            let undoes = tombstone.is_some_and(|one| self.manifest.needs(&one, &self.going));
            if header.op == Op::Insert {
                if is_live(&header.id, location) {
                    header.undone = if undoes { header.undone } else { 0 };
                    return Some(header);
                }
                header.op = Op::Delete;
            }
            undoes.then_some(header)
        };
        let mut needed = Vec::new();
        for entry in &self.going {
            let before = needed.len();
            let Err(damage) = self.walk(entry, keep, &mut needed) else {
                continue;
            };
            needed.truncate(before);
            let mut missing: HashMap<Location, [u8; 16]> = live_in(entry.number)
                .into_iter()
                .map(|(id, location)| (location, id))
                .collect();
            let is_ours = self.salvage(entry, keep, &mut needed)?;
            for found in &needed[before..] {
                missing.remove(&found.location);
            }
            // Points that were deleted meanwhile are not needed.
            let is_whole = !missing.iter().any(|(at, id)| is_live(id, *at));
            if !is_ours || !is_whole || !self.has_deletes(&needed, entry) {
                return Err(damage);
            }
        }
        Ok(needed)
    }

    /// Adds what `keep` makes of the records of a segment, found by its headers.
    fn walk(
        &self,
        entry: &Entry,
        keep: impl Fn(RecordHeader, Location) -> Option<RecordHeader>,
        needed: &mut Vec<Needed>,
    ) -> Result<()> {
        let mut records = Vec::new();
        let (header, bytes, path) = self.segments.whole(entry.number)?;
        let mut walk = Walk::new(header, bytes, Some(entry));
        while walk.position < entry.end {
            let group = walk
                .step(Depth::Headers, &mut records)
                .map_err(|flaw| flaw.refuse(path))?;
            for (record, offset) in records.drain(..).zip(group.header_offsets()) {
                let location = record.location(entry.number, offset);
                let kept = keep(record, location);
                needed.extend(kept.map(|header| Needed { location, header }));
            }
        }
        Ok(())
    }

    /// Does what [`walk`](Self::walk) does for a segment with a damaged header: adds what `keep`
    /// makes of the records that are sound. False if its groups are not the ones in the manifest.
    fn salvage(
        &self,
        entry: &Entry,
        keep: impl Fn(RecordHeader, Location) -> Option<RecordHeader>,
        needed: &mut Vec<Needed>,
    ) -> Result<bool> {
        let (header, bytes, path) = self.segments.whole(entry.number)?;
        let verify = Verify {
            header,
            bytes: &bytes[..entry.end as usize],
            sealed: true,
            entry: Some(entry),
        };
        let verified = verify.run(&mut |found| {
            if let Found::Record(record, offset) | Found::Stray(record, offset) = found {
                let location = record.location(entry.number, offset);
                let kept = keep(record.clone(), location);
                needed.extend(kept.map(|header| Needed { location, header }));
            }
        });
        let extent = verified.map_err(|flaw| flaw.refuse(path))?;
        Ok(!extent.is_other)
    }

    /// Whether all needed tombstones of a segment are among `needed`. Without one of them, a deleted
    /// point would be back after the next start.
    fn has_deletes(&self, needed: &[Needed], entry: &Entry) -> bool {
        let found: HashSet<u64> = needed.iter().map(|one| one.header.sequence).collect();
        let stretch = entry.first_sequence..=entry.last_sequence;
        let wanted = self.tombstones.iter().map(|delete| delete.deleted);
        wanted
            .filter(|deleted| stretch.contains(deleted))
            .all(|deleted| found.contains(&deleted))
    }

    /// Writes a group of records into the new segment, and returns where each of them is.
    fn write(
        &self,
        segment: &mut Segment,
        group: &[Needed],
        buffer: &mut Vec<u8>,
    ) -> Result<Vec<Location>> {
        let mut ahead = ReadAhead::default();
        let records = group.iter().map(|needed| self.record(needed, &mut ahead));
        let records = records.collect::<Result<Vec<_>>>()?;
        let place = Place {
            segment: &segment.header,
            position: segment.end,
            durable: 0,
            stream: None,
        };
        let locations = group::encode(buffer, &records, Layout::of(&records)?, place)?;
        segment.write(buffer)?;
        Ok(locations)
    }

    /// Reads and verifies a record that is to be copied.
    fn record(&self, needed: &Needed, ahead: &mut ReadAhead) -> Result<Record<'_>> {
        let Needed { location, header } = needed;
        let undone = Stored {
            inserted: header.undone,
            location: *location,
        };
        let write = match header.op {
            Op::Insert => {
                let stored = self.segments.read_by(*location, ahead)?;
                Write::Insert {
                    id: stored.id,
                    vector: stored.vector,
                    content_type: stored.content_type,
                    content: stored.content,
                    metadata: stored.metadata,
                    replaced: (header.undone > 0).then_some(undone),
                }
            }
            Op::DeleteAll => Write::DeleteAll,
            Op::Delete | Op::Noop => Write::Delete {
                id: header.id,
                stored: undone,
            },
        };
        Ok(Record::new(&write, header.sequence))
    }
}

/// Divides records into groups, and returns for each group the number of its records and its length
/// in bytes. `records` gives for each record the bytes of header and vector, and those of the
/// payload.
pub fn group_sizes(records: impl Iterator<Item = (u64, u64)>) -> Vec<(usize, u64)> {
    let mut groups = Vec::new();
    let (mut count, mut bytes, mut payloads) = (0, BLOCK as u64, 0);
    for (record, payload) in records {
        if count > 0 && bytes + payloads + record + payload > GROUP_BYTES {
            groups.push((count, align(bytes + payloads)));
            (count, bytes, payloads) = (0, BLOCK as u64, 0);
        }
        count += 1;
        bytes += record;
        payloads += payload;
    }
    if count > 0 {
        groups.push((count, align(bytes + payloads)));
    }
    groups
}
