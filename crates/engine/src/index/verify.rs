//! Comparing records with their checksums before they count.
//!
//! At the start, of most records only the headers are: their vectors are ranked as they are found.
//! But no point becomes part of an answer before all of its record is known to be what was written.
//! That is found out once for each record; besides, all are gone through in the background.

use std::sync::PoisonError;

use super::Index;
use crate::{
    Error, Result,
    store::{Location, StoredPoint},
};

/// Records whose headers and contents are let go together: those of a batch lie side by side.
const PASSED_TOGETHER: usize = 16_384;

impl Index {
    /// Makes sure that the record of the point in `slot` is what was written. A pin is held, and the
    /// slot holds a point that is visible under it.
    pub(super) fn verify(&self, slot: u32) -> Result<()> {
        if self.arena.is_verified(slot) {
            return Ok(());
        }
        // Read without a lock, the place may be half old and half new, if the point is just moved.
        if self.compare(slot).is_err() {
            // One deleted meanwhile is not moved any more.
            self.compare_in_place(slot)
                .unwrap_or_else(|| self.compare(slot))
                .inspect_err(|error| self.note_damage(error))?;
        }
        self.arena.set_verified(slot);
        Ok(())
    }

    /// Compares the records of the live points in up to `slots` slots from `first` on with their
    /// checksums, whatever is known of them; returns where to go on, 0 after the last. What is
    /// found is [noted](Index::damage).
    ///
    /// To read a record brings its header and its content into memory, which hardly anybody asks
    /// for: they are let go again.
    pub fn scrub(&self, first: u32, slots: u32) -> u32 {
        let end = first.saturating_add(slots).min(self.arena.slots());
        let _pin = self.epochs.pin();
        let mut read = Vec::new();
        for slot in first..end {
            read.extend(self.scrub_slot(slot));
            if read.len() == PASSED_TOGETHER || slot + 1 == end {
                self.arena.segments().let_go_beside_vectors(&read);
                read.clear();
            }
        }
        if end < self.arena.slots() { end } else { 0 }
    }

    /// Compares the record of the point in `slot`, if one lives there, and says where it is.
    fn scrub_slot(&self, slot: u32) -> Option<Location> {
        let id = self.arena.id(slot);
        let compare = |slot| (self.arena.location(slot), self.compare(slot));
        let (location, compared) = self.ids.get(&id, &self.arena, compare)?;
        match compared {
            Ok(()) => self.arena.set_verified(slot),
            Err(error) => self.note_damage(&error),
        }
        Some(location)
    }

    /// Compares the record of the point in `slot` with its checksum.
    fn compare(&self, slot: u32) -> Result<()> {
        let read = self.arena.segments().read(self.arena.location(slot));
        read.map(drop)
    }

    /// The same while the point is not moved; nothing if it does not live.
    fn compare_in_place(&self, slot: u32) -> Option<Result<()>> {
        let id = self.arena.id(slot);
        self.ids.get(&id, &self.arena, |slot| self.compare(slot))
    }

    /// Reads the record at `location` and notes damage that is found in it.
    pub fn read<T>(&self, location: Location, take: impl FnOnce(StoredPoint) -> T) -> Result<T> {
        let read = self.arena.segments().read(location);
        read.map(take).inspect_err(|error| self.note_damage(error))
    }

    /// The first damage found since the start, if there was any.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        let damage = self.damage.lock();
        damage.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes damage, of which the first is kept.
    pub fn note_damage(&self, error: &Error) {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        damage.get_or_insert_with(|| error.to_string());
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", not(vectord_shuttle)))]
mod tests {
    use crate::{
        index::testing::{self, id},
        memory::resident,
        store::Location,
    };

    const POINTS: usize = 1_000;
    const DIMENSION: usize = 64;
    const CONTENT_BYTES: usize = 500;
    const PAGE: usize = 4096;

    #[test]
    fn the_search_for_damage_leaves_vectors_in_memory_and_nothing_else() {
        let vectors = vec![vec![1.0; DIMENSION]; POINTS];
        let index = testing::index_with_contents(&vectors, &[7; CONTENT_BYTES]);
        let segments = index.arena().segments();
        let location = |number| index.find(&id(number)).unwrap().1;
        let (first, last) = (location(1), location(POINTS));
        let vector_of = |at: Location| segments.vector(at.segment, at.vector).as_ptr_range();
        let content_of = |at| segments.read(at).unwrap().content.as_ptr_range();
        let vectors = vector_of(first).start.addr()..vector_of(last).end.addr();
        let contents = content_of(first).start.addr()..content_of(last).end.addr();
        assert_eq!(contents.len(), POINTS * CONTENT_BYTES);
        let headers = vectors.start - POINTS * 64..vectors.start;

        segments.let_go(first.segment, 0, u32::MAX);
        assert!(resident(&vectors) + resident(&contents) <= 2 * PAGE);
        assert_eq!(index.scrub(0, u32::MAX), 0);
        assert_eq!(index.damage(), None);
        assert!(resident(&vectors) >= vectors.len());
        for part in [headers, contents] {
            assert!(resident(&part) <= 4 * PAGE, "{} bytes", resident(&part));
        }
    }
}
