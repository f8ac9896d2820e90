//! Verifies records: compares them with their checksums.
//!
//! A start verifies only the headers of most records, and searches rank vectors as they are. But a
//! point becomes part of an answer only after its whole record was verified, once in the life of
//! the process. In the background, all records are verified again and again.

use super::{Index, PointId};
use crate::{
    Error, Result,
    store::{HeaderPlace, Location, ReadAhead, StoredPoint},
};

/// The number of records whose headers and contents are evicted from memory together. The records
/// of a batch lie side by side, so that this takes few calls.
const PASSED_TOGETHER: usize = 16_384;

/// What a slot counts in the budget of a [`scrub`](Index::scrub) besides its record: the bytes that
/// could be read in the time that it takes.
const SLOT_BYTES: u64 = 64;

/// How far a [`scrub`](Index::scrub) has come.
#[derive(Clone, Copy, Debug)]
pub struct Scrubbed {
    /// The next slot; 0 after the last.
    pub next: u32,
    /// The number of records that were verified.
    pub records: usize,
    /// The bytes that were read, and [`SLOT_BYTES`] for each slot.
    pub bytes: u64,
}

impl Index {
    /// Verifies the record of the point in `slot`, unless that was done before in this process. The
    /// caller holds a pin, and the point is visible in its view. Damage is [noted](Index::damage)
    /// and returned.
    pub(super) fn verify(&self, slot: u32) -> Result<()> {
        if self.arena.is_verified(slot) {
            return Ok(());
        }
        // Without a lock, the place may be half old and half new, if compaction is just moving the
        // point.
        if self.compare(slot).is_err() {
            // A point that was deleted meanwhile is not moved any more.
            self.compare_in_place(slot)
                .unwrap_or_else(|| self.compare(slot))
                .map_err(|error| {
                    let location = self.arena.location(slot);
                    self.name(self.arena.id(slot), location, error)
                })?;
        }
        self.arena.set_verified(slot);
        Ok(())
    }

    /// Verifies the records of the live points in the slots from `first` on, again if they were
    /// verified before, until they take `bytes`, or `is_stopped` holds between two. Damage is
    /// [noted](Index::damage).
    ///
    /// Reading a record brings its header and its content into memory, which are seldom needed:
    /// they are evicted again.
    pub fn scrub(&self, first: u32, bytes: u64, is_stopped: impl Fn() -> bool) -> Scrubbed {
        let slots = self.arena.slots();
        let _pin = self.epochs.pin();
        let mut done = Scrubbed {
            next: first,
            records: 0,
            bytes: 0,
        };
        let mut read = Vec::new();
        while done.next < slots && done.bytes < bytes && !is_stopped() {
            if let Some((location, length)) = self.scrub_slot(done.next) {
                read.push(location);
                done.records += 1;
                done.bytes += length;
            }
            done.next += 1;
            // A slot without a point takes time too.
            done.bytes += SLOT_BYTES;
            if read.len() == PASSED_TOGETHER {
                self.arena.segments().let_go_beside_vectors(&read);
                read.clear();
            }
        }
        self.arena.segments().let_go_beside_vectors(&read);
        if done.next >= slots {
            done.next = 0;
        }
        done
    }

    /// Verifies the record of the point in `slot`, if it lives, and returns its place and its
    /// bytes.
    fn scrub_slot(&self, slot: u32) -> Option<(Location, u64)> {
        let id = self.arena.id(slot);
        let compare =
            |found| (found == slot).then(|| (self.arena.location(slot), self.compare(slot)));
        let (location, compared) = self.ids.get(&id, &self.arena, compare)??;
        match compared {
            Ok(()) => self.arena.set_verified(slot),
            Err(error) => drop(self.name(id, location, error)),
        }
        Some((location, self.arena.segments().bytes_of(location)))
    }

    /// Compares the record of the point in `slot` with its checksum.
    fn compare(&self, slot: u32) -> Result<()> {
        let read = self.arena.segments().read(self.arena.location(slot));
        read.map(drop)
    }

    /// Compares the record of the point in `slot` with its checksum while compaction cannot move
    /// it. None if the point does not live.
    fn compare_in_place(&self, slot: u32) -> Option<Result<()>> {
        let id = self.arena.id(slot);
        let compare = |found| (found == slot).then(|| self.compare(slot));
        self.ids.get(&id, &self.arena, compare)?
    }

    /// Compares the headers of the log from `from` on with their checksums, as
    /// [`Segments::verify_headers`](crate::store::Segments::verify_headers) does.
    pub fn scrub_headers(
        &self,
        from: HeaderPlace,
        bytes: u64,
        is_stopped: impl Fn() -> bool,
    ) -> Option<HeaderPlace> {
        let _pin = self.epochs.pin();
        let note = |error: &Error| self.note_damage(error, None);
        let segments = self.arena.segments();
        segments.verify_headers(from, bytes, is_stopped, note)
    }

    /// Reads the record of the point `id` at `location` and notes damage that is found in it.
    pub fn read<T>(
        &self,
        id: &PointId,
        location: Location,
        take: impl FnOnce(StoredPoint) -> T,
    ) -> Result<T> {
        self.read_by(id, location, &mut ReadAhead::default(), take)
    }

    /// The same of a reader that reads many points.
    pub fn read_by<T>(
        &self,
        id: &PointId,
        location: Location,
        ahead: &mut ReadAhead,
        take: impl FnOnce(StoredPoint) -> T,
    ) -> Result<T> {
        let read = self.arena.segments().read_by(location, ahead).map(take);
        read.map_err(|error| self.name(*id, location, error))
    }

    /// Notes damage of the record of a point at `location`, and returns the error with the id of the point.
    pub(crate) fn name(&self, id: PointId, location: Location, error: Error) -> Error {
        let error = error.about(&id);
        self.note_damage(&error, Some((id, location)));
        error
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", not(feature = "shuttle")))]
mod tests {
    use std::{cell::Cell, sync::Arc};

    use crate::{
        index::{
            Index,
            tests::support::{self, id},
        },
        store::Location,
        sync::memory::resident,
    };

    const POINTS: usize = 1_000;
    const DIMENSION: usize = 64;
    const CONTENT_BYTES: usize = 500;
    const PAGE: usize = 4096;

    #[test]
    fn the_search_for_damage_leaves_vectors_in_memory_and_nothing_else() {
        let vectors = vec![vec![1.0; DIMENSION]; POINTS];
        let index = support::index_with_contents(&vectors, &[7; CONTENT_BYTES]);
        let segments = index.arena.segments();
        let location = |number| index.find(&id(number)).unwrap().location;
        let (first, last) = (location(1), location(POINTS));
        let vector_of = |at: Location| segments.vector(at.segment, at.vector).as_ptr_range();
        let content_of = |at| segments.read(at).unwrap().content.as_ptr_range();
        let vectors = vector_of(first).start.addr()..vector_of(last).end.addr();
        let contents = content_of(first).start.addr()..content_of(last).end.addr();
        assert_eq!(contents.len(), POINTS * CONTENT_BYTES);
        let headers = vectors.start - POINTS * 64..vectors.start;

        segments.evict(first.segment, 0, u32::MAX);
        assert!(resident(&vectors) + resident(&contents) <= 2 * PAGE);
        assert_eq!(index.scrub(0, u64::MAX, || false).next, 0);
        assert_eq!(index.damage(), None);
        assert!(resident(&vectors) >= vectors.len());
        for part in [headers, contents] {
            assert!(resident(&part) <= 4 * PAGE, "{} bytes", resident(&part));
        }
    }

    const LARGE: usize = 1 << 20;

    fn large() -> Arc<Index> {
        support::index_with_contents(&vec![vec![1.0; DIMENSION]; 12], &vec![7; LARGE])
    }

    #[test]
    fn a_step_reads_what_it_may_and_one_record_at_most() {
        let index = large();
        let (bound, mut next, mut records) = (3 * LARGE as u64, 0, 0);
        loop {
            let step = index.scrub(next, bound, || false);
            assert!(step.records > 0 && step.records <= 4, "{step:?}");
            assert!(step.bytes < bound + LARGE as u64 + PAGE as u64, "{step:?}");
            records += step.records;
            next = step.next;
            if next == 0 {
                break;
            }
        }
        assert_eq!(records, 12, "all are read, and each once");
        assert_eq!(index.damage(), None);
    }

    #[test]
    fn a_stop_ends_a_step_between_two_records() {
        let index = large();
        let asked = Cell::new(0);
        let is_stopped = || asked.replace(asked.get() + 1) == 2;
        let step = index.scrub(0, u64::MAX, is_stopped);
        assert_eq!((step.records, step.next), (2, 2));
        assert_eq!(index.scrub(0, u64::MAX, || true).records, 0);
    }

    #[test]
    fn a_step_ends_among_slots_without_points_too() {
        let index = support::index(&vec![vec![1.0; DIMENSION]; POINTS]);
        for number in 1..=POINTS {
            index.delete(&id(number), (POINTS + number) as u64);
        }
        let step = index.scrub(0, PAGE as u64, || false);
        assert_eq!((step.records, step.next), (0, 64));
    }
}
