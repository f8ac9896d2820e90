//! The arena holds what the index knows of the point in each slot: the place of its record in the
//! log (which holds the vector), its id, its code, and the sequence numbers of its insert and its
//! delete.

use std::sync::{Arc, PoisonError};

use super::{
    lives::Lives,
    point_id::{PointId, halves},
};
use crate::{
    Error, Result,
    store::{BLOCK, LivePoint, Location, Segments},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU32, AtomicU64, Ordering},
        table::{Table, bit_of},
    },
    vectors::{kernels, points::Points, quantize::Codes},
};

/// The words of an id.
const ID: usize = 2;

/// Stored instead of an inverse norm if single precision cannot rank the vector.
const NEEDS_F64: f32 = f32::NAN;

/// How far a scan asks the system to read ahead, in units of 64 bytes: 8 MiB.
const AHEAD: u32 = (8 << 20) / BLOCK as u32;

/// What to put into a slot when the arena is restored at a start.
#[derive(Debug)]
pub enum Slot<'p> {
    /// No point: the slot is free.
    Free,
    /// A live point.
    Live(&'p LivePoint),
    /// A deleted point that is still in a graph.
    Dead(&'p LivePoint),
    /// The same, but compaction has dropped its record. Its location is that of another point.
    Lost(Box<LivePoint>),
}

impl Slot<'_> {
    /// The point, if there is one.
    pub fn point(&self) -> Option<&LivePoint> {
        match self {
            Slot::Free => None,
            Slot::Live(point) | Slot::Dead(point) => Some(point),
            Slot::Lost(point) => Some(point),
        }
    }
}

/// How far a scan has asked the system to read vectors ahead of it: a segment, and an offset there in
/// units of 64 bytes.
#[derive(Debug, Default)]
pub struct AskedAhead {
    segment: u32,
    end: u32,
}

/// What [`Arena::restore`] has found in some slots.
#[derive(Debug, Default)]
pub struct Restored {
    /// The number of live points.
    pub live: u64,
    /// The slots of points that only double precision can rank.
    pub f64_only: Vec<u32>,
    /// The slots without a point.
    pub free: Vec<u32>,
}

/// Points by slot. One thread at a time changes a slot, and any number of threads read it without a
/// lock.
///
/// A slot is used again once its point is deleted and no reader is left that may know it. A reader
/// pins an epoch before it takes its view, and holds the pin until it has read what it found.
pub struct Arena {
    segments: Arc<Segments>,
    /// By slot, the place of the vector: the segment number in the upper half, the offset in units
    /// of 64 bytes ([`BLOCK`]) in the lower. A walk by vectors reads these all over the table: in a
    /// table of their own, many stay in the cache.
    vectors: Table<AtomicU64>,
    /// By slot, the offset of the record in the upper half, in the same units, and the bits of the
    /// inverse norm of the vector in the lower ([`NEEDS_F64`] for some).
    records: Table<AtomicU64>,
    /// The sequences of insert and delete.
    lives: Lives,
    /// The ids. The records hold them too, but lie far apart and are seldom in memory.
    ids: Table<AtomicU64>,
    /// The codes (quantized vectors), if the dimension is large enough for them.
    codes: Option<Codes>,
    /// Segment and block at which the last pushed vector ends.
    passed: AtomicU64,
    /// The number of slots that were ever in use.
    len: AtomicU32,
    /// The number of points that are not deleted.
    live: AtomicU64,
    /// The last published sequence, which a view that is taken now has.
    visible: AtomicU64,
    /// `live` at the time when `visible` last changed, or less.
    visible_live: AtomicU64,
    /// Free slots, the next one to use last.
    free: Mutex<Vec<u32>>,
    free_len: AtomicU32,
    /// A bit for each slot whose point is settled: every present and later view contains it (see
    /// [`settle`](super::graphs::settle)). A walk asks this of each candidate, and bits are mostly
    /// in the cache, where `lives` are seldom.
    settled: Table<AtomicU64>,
    /// Held while a bit of `settled` changes.
    settling: Mutex<()>,
    /// A bit for each slot whose record is verified: this process wrote it, or has compared it with
    /// its checksum.
    verified: Table<AtomicU64>,
}

impl Arena {
    /// An arena without points over the segments of a store of this dimension.
    #[must_use]
    pub fn new(segments: Arc<Segments>, dimension: usize) -> Self {
        Arena {
            segments,
            vectors: Table::new(1),
            records: Table::new(1),
            lives: Lives::new(),
            ids: Table::new(ID),
            codes: Codes::pay(dimension).then(|| Codes::new(dimension)),
            passed: AtomicU64::new(0),
            len: AtomicU32::new(0),
            live: AtomicU64::new(0),
            visible: AtomicU64::new(0),
            visible_live: AtomicU64::new(0),
            free: Mutex::default(),
            free_len: AtomicU32::new(0),
            settled: Table::new(1),
            settling: Mutex::default(),
            verified: Table::new(1),
        }
    }

    /// Puts the point `id`, inserted at `sequence` with its record at `location`, into a slot: a
    /// free one if there is any, otherwise a new one. Returns the slot. The point stays hidden
    /// until [`publish`](Self::publish) reaches its sequence. Only the writer calls this.
    pub fn push(&self, id: PointId, location: Location, sequence: u64) -> Result<u32> {
        let vector = self.vector_at(location);
        let words = words_of(location, vector);
        let end = end_of(location, vector);
        self.pass(self.passed.swap(end, Ordering::Relaxed), location);
        let slot = match self.take_free() {
            Some(slot) => {
                self.code(slot, vector)?;
                self.name(slot, id);
                self.place(slot, words);
                self.lives.begin_again(slot, sequence);
                slot
            }
            None => self.append(vector, id, words, sequence)?,
        };
        self.set_verified(slot);
        self.live.fetch_add(1, Ordering::Relaxed);
        Ok(slot)
    }

    fn vector_at(&self, location: Location) -> &[f32] {
        self.segments.vector(location.segment, location.vector)
    }

    /// Asks the system to read the vectors behind the one in `slot`, as far as a scan has not asked
    /// before. A scan that goes from segment to segment asks for nothing.
    pub fn ask_ahead(&self, slot: u32, asked: &mut AskedAhead) {
        let (segment, vector) = unpack(self.vectors.get(slot).load(Ordering::Relaxed));
        if segment != asked.segment {
            *asked = AskedAhead {
                segment,
                end: vector,
            };
        } else if vector.saturating_add(AHEAD / 2) >= asked.end {
            let from = asked.end.max(vector);
            asked.end = from.saturating_add(AHEAD);
            self.segments.ask_ahead(segment, from, asked.end);
        }
    }

    /// Evicts the pages of the log between `passed`, the end of the vector that was read before,
    /// and the vector at `location`, which has just been read. Reading a vector brings its
    /// surroundings into memory, but headers and contents are not needed until a client asks for
    /// them.
    fn pass(&self, passed: u64, location: Location) {
        let (segment, from) = unpack(passed);
        if segment == location.segment {
            self.segments.evict(segment, from, location.vector);
        } else {
            self.segments.evict(segment, from, u32::MAX);
            self.segments.evict(location.segment, 0, location.vector);
        }
    }

    /// Reserves memory for this number of slots at once, which is faster than one by one.
    pub fn reserve(&self, slots: u32) -> Result<()> {
        let slots = slots as usize;
        for table in [&self.vectors, &self.records, &self.ids] {
            table.ensure(slots)?;
        }
        self.lives.ensure(slots)?;
        for bits in [&self.settled, &self.verified] {
            bits.ensure(slots.div_ceil(u64::BITS as usize))?;
        }
        self.codes
            .as_ref()
            .map_or(Ok(()), |codes| codes.reserve(slots))
    }

    /// Puts `slots` into the arena from the slot `first` on. They must be
    /// [reserved](Self::reserve), and no reader may know them yet. Those of deleted points count as
    /// deleted at the sequence `deleted`. Several threads may do this at once, each with slots of its
    /// own.
    pub fn restore(&self, first: u32, slots: &[Slot], deleted: u64) -> Result<Restored> {
        let mut restored = Restored::default();
        let mut passed = None;
        for (slot, content) in (first..).zip(slots) {
            let Some(point) = content.point() else {
                self.lives.begin_free(slot);
                restored.free.push(slot);
                continue;
            };
            let vector = self.vector_at(point.location);
            self.code(slot, vector)?;
            self.name(slot, point.id);
            self.place(slot, words_of(point.location, vector));
            if let Some(passed) = passed.replace(end_of(point.location, vector)) {
                self.pass(passed, point.location);
            }
            self.lives.begin(slot, point.sequence);
            if self.needs_f64(slot) {
                restored.f64_only.push(slot);
            }
            if let Slot::Live(_) = content {
                restored.live += 1;
                let (word, bit) = bit_of(slot);
                self.settled.get(word).fetch_or(bit, Ordering::Relaxed);
            } else {
                self.lives.end(slot, deleted);
            }
        }
        Ok(restored)
    }

    /// Ends the restoring: the slots below `len` are in use and hold `live` points.
    pub fn finish_restore(&self, len: u32, live: u64) {
        self.live.store(live, Ordering::Relaxed);
        self.len.store(len, Ordering::Release);
    }

    /// Puts a point into a new slot, and returns it.
    fn append(&self, vector: &[f32], id: PointId, words: [u64; 2], sequence: u64) -> Result<u32> {
        let slot = self.len.load(Ordering::Relaxed);
        for table in [&self.vectors, &self.records, &self.ids] {
            table.ensure(slot as usize + 1)?;
        }
        self.lives.ensure(slot as usize + 1)?;
        for bits in [&self.settled, &self.verified] {
            bits.ensure(bit_of(slot).0 as usize + 1)?;
        }
        self.code(slot, vector)?;
        self.name(slot, id);
        self.place(slot, words);
        self.lives.begin(slot, sequence);
        self.len.store(slot + 1, Ordering::Release);
        Ok(slot)
    }

    /// Stores the places of the vector and the record of a point, and its inverse norm, as
    /// [`words_of`] gives them.
    fn place(&self, slot: u32, [vector, record]: [u64; 2]) {
        self.vectors.get(slot).store(vector, Ordering::Relaxed);
        self.records.get(slot).store(record, Ordering::Relaxed);
    }

    /// Changes the place of the record of the point in `slot`. The same vector can be read at both
    /// places for as long as a reader may know the old one.
    pub fn relocate(&self, slot: u32, location: Location) {
        let (_, norm) = unpack(self.records.get(slot).load(Ordering::Relaxed));
        let record = pack(location.record, norm);
        self.records.get(slot).store(record, Ordering::Relaxed);
        let vector = pack(location.segment, location.vector);
        // A reader that finds the new place finds its segment too.
        self.vectors.get(slot).store(vector, Ordering::Release);
    }

    /// Whether the record of the point in `slot` is verified.
    #[inline]
    pub fn is_verified(&self, slot: u32) -> bool {
        let (word, bit) = bit_of(slot);
        self.verified.get(word).load(Ordering::Relaxed) & bit != 0
    }

    /// Makes no record count as verified, as after a restart.
    #[cfg(test)]
    pub fn clear_verified(&self) {
        for word in 0..=bit_of(self.slots()).0 {
            self.verified.get(word).store(0, Ordering::Relaxed);
        }
    }

    /// Notes that the record of the point in `slot` is verified.
    pub fn set_verified(&self, slot: u32) {
        let (word, bit) = bit_of(slot);
        self.verified.get(word).fetch_or(bit, Ordering::Relaxed);
    }

    /// The slots of points that are not reclaimed yet and have their records in these segments.
    pub fn points_in(&self, segments: &[u32]) -> impl Iterator<Item = u32> {
        (0..self.slots()).filter(|&slot| {
            let (segment, _) = unpack(self.vectors.get(slot).load(Ordering::Relaxed));
            segments.contains(&segment) && !self.lives.is_free(slot)
        })
    }

    /// Stores the id of a point, before any reader can know its slot.
    fn name(&self, slot: u32, id: PointId) {
        for (word, half) in self.ids.row(slot).iter().zip(halves(&id)) {
            word.store(half, Ordering::Relaxed);
        }
    }

    /// Stores the code of a vector, before any reader can know its slot.
    fn code(&self, slot: u32, vector: &[f32]) -> Result<()> {
        self.codes
            .as_ref()
            .map_or(Ok(()), |codes| codes.store(slot, vector))
    }

    /// Takes a free slot, if there is one.
    fn take_free(&self) -> Option<u32> {
        if self.free_len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let slot = self.free().pop()?;
        self.free_len.fetch_sub(1, Ordering::Relaxed);
        Some(slot)
    }

    /// The slots, in ascending order, of points that no view taken from now on contains, since they
    /// are deleted, and that are not free.
    pub fn dead(&self) -> Result<Vec<u32>> {
        let visible = self.visible();
        let mut dead = Vec::new();
        for slot in 0..self.slots() {
            if self.lives.has_ended_by(slot, visible) {
                dead.try_reserve(1).map_err(|_| no_memory())?;
                dead.push(slot);
            }
        }
        Ok(dead)
    }

    /// Frees slots of deleted points. No reader may be able to find them any more.
    pub fn free_slots(&self, slots: &[u32]) -> Result<()> {
        let mut free = self.free();
        free.try_reserve(slots.len()).map_err(|_| no_memory())?;
        for &slot in slots.iter().rev() {
            self.lives.free(slot);
            free.push(slot);
        }
        self.free_len
            .fetch_add(slots.len() as u32, Ordering::Relaxed);
        Ok(())
    }

    /// The number of free slots.
    #[must_use]
    pub fn free_len(&self) -> u32 {
        self.free_len.load(Ordering::Relaxed)
    }

    fn free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the point in `slot`: no view taken at `sequence` or later contains it. The slot is
    /// not free yet. Only the writer calls this, once for a point.
    pub fn delete(&self, slot: u32, sequence: u64) {
        self.lives.end(slot, sequence);
        let (word, bit) = bit_of(slot);
        let settling = self.settling();
        self.settled.get(word).fetch_and(!bit, Ordering::Relaxed);
        drop(settling);
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Settles the points in these slots that were inserted at `sequence` or before and are not
    /// deleted. The caller knows that every present and later view contains them.
    ///
    /// The lock excludes deletes between the check of the life and the change of the bit. A later
    /// delete clears the bit before it is published.
    pub fn settle(&self, slots: &[u32], sequence: u64) {
        let _settling = self.settling();
        for &slot in slots {
            if self.lives.lasts_since(slot, sequence) {
                let (word, bit) = bit_of(slot);
                self.settled.get(word).fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    fn settling(&self) -> MutexGuard<'_, ()> {
        self.settling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all inserts and deletes up to `sequence` visible to views taken from now on. Only the
    /// writer calls this.
    pub fn publish(&self, sequence: u64) {
        let (before, live) = (self.visible_live.load(Ordering::Relaxed), self.live());
        // Between the stores a reader finds the smaller of the old and the new number.
        self.visible_live.store(live.min(before), Ordering::Relaxed);
        self.visible.store(sequence, Ordering::Release);
        self.visible_live.store(live, Ordering::Release);
    }

    /// The sequence of a view that is taken now.
    #[must_use]
    pub fn visible(&self) -> u64 {
        self.visible.load(Ordering::Acquire)
    }

    /// The number of slots that were ever in use.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// The number of points that are not deleted, as the writer counts them, which may be ahead of
    /// what is visible.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    /// The sequence of a view that is taken now, and the number of its points, which may be too
    /// small for a moment, but never too large.
    #[must_use]
    pub fn visible_points(&self) -> (u64, u64) {
        loop {
            let sequence = self.visible();
            let live = self.visible_live.load(Ordering::Acquire);
            // A reader that finds the number of a later sequence finds that sequence too.
            if self.visible() == sequence {
                return (sequence, live);
            }
        }
    }

    /// Whether a view taken at `sequence`, whose pin is held, contains the point in `slot`.
    #[inline]
    #[must_use]
    pub fn is_visible(&self, slot: u32, sequence: u64) -> bool {
        self.is_settled(slot) || self.lives.is_visible(slot, sequence)
    }

    /// Whether every present and later view contains the point in `slot`.
    #[inline]
    fn is_settled(&self, slot: u32) -> bool {
        let (word, bit) = bit_of(slot);
        self.settled.get(word).load(Ordering::Relaxed) & bit != 0
    }

    /// The slots of a block of 64 whose points are settled: a bit for each.
    #[inline]
    #[must_use]
    pub fn settled_block(&self, block: u32) -> u64 {
        self.settled.get(block).load(Ordering::Relaxed)
    }

    /// Whether only double precision can rank the vector in `slot`.
    #[inline]
    #[must_use]
    pub fn needs_f64(&self, slot: u32) -> bool {
        self.inverse_norm(slot).is_nan()
    }

    /// The vector in `slot` and its inverse norm, if a view taken at `sequence` contains the point
    /// and single precision can rank it. A scan asks this of every slot.
    #[inline]
    #[must_use]
    pub fn ordinary(&self, slot: u32, sequence: u64) -> Option<(&[f32], f32)> {
        if !self.is_visible(slot, sequence) {
            return None;
        }
        let inverse_norm = self.inverse_norm(slot);
        if inverse_norm.is_nan() {
            return None;
        }
        Some((self.vector(slot), inverse_norm))
    }

    /// The id of the point in `slot`.
    #[must_use]
    pub fn id(&self, slot: u32) -> PointId {
        let words = self.ids.row(slot);
        bytemuck::cast([0, 1].map(|half: usize| words[half].load(Ordering::Relaxed)))
    }

    /// Prefetches the id and the sequences of the point in `slot`, which an answer needs beside its
    /// vector.
    #[inline]
    pub fn prefetch_hit(&self, slot: u32) {
        self.lives.prefetch(slot);
        kernels::prefetch(self.ids.row(slot));
    }

    /// The sequence number of the insert of the point in `slot`.
    #[must_use]
    pub fn sequence(&self, slot: u32) -> u64 {
        self.lives.sequence(slot)
    }

    /// The slots below `slots` as [`Lives::later_than`] finds them.
    pub fn later_than(&self, sequence: u64, slots: u32) -> impl Iterator<Item = u32> {
        self.lives.later_than(sequence, slots)
    }

    /// Where the record of the point in `slot` lies.
    #[must_use]
    pub fn location(&self, slot: u32) -> Location {
        let (segment, vector) = unpack(self.vectors.get(slot).load(Ordering::Relaxed));
        let (record, _) = unpack(self.records.get(slot).load(Ordering::Relaxed));
        Location {
            segment,
            record,
            vector,
        }
    }

    /// The segments that hold the records.
    #[must_use]
    pub fn segments(&self) -> &Segments {
        &self.segments
    }
}

impl Points for Arena {
    #[inline]
    fn vector(&self, slot: u32) -> &[f32] {
        let (segment, vector) = unpack(self.vectors.get(slot).load(Ordering::Acquire));
        self.segments.vector(segment, vector)
    }

    fn codes(&self) -> Option<&Codes> {
        self.codes.as_ref()
    }

    #[inline]
    fn prefetch(&self, slot: u32) {
        kernels::prefetch(self.vector(slot));
    }

    #[inline]
    fn is_gone(&self, slot: u32) -> bool {
        !self.is_settled(slot) && self.lives.is_gone(slot)
    }

    #[inline]
    fn inverse_norm(&self, slot: u32) -> f32 {
        f32::from_bits(unpack(self.records.get(slot).load(Ordering::Relaxed)).1)
    }
}

fn no_memory() -> Error {
    Error::Internal("no memory for a list of slots".into())
}

/// Segment and block at which a vector ends.
fn end_of(location: Location, vector: &[f32]) -> u64 {
    let blocks = size_of_val(vector).div_ceil(BLOCK) as u32;
    pack(location.segment, location.vector + blocks)
}

/// The words of a point in the tables `vectors` and `records`.
fn words_of(location: Location, vector: &[f32]) -> [u64; 2] {
    let norm = if kernels::is_ordinary(vector) {
        kernels::inverse_norm(vector)
    } else {
        NEEDS_F64
    };
    [
        pack(location.segment, location.vector),
        pack(location.record, norm.to_bits()),
    ]
}

fn pack(upper: u32, lower: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}
