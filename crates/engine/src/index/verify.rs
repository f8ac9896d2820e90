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
    pub fn scrub(&self, first: u32, slots: u32) -> u32 {
        let end = first.saturating_add(slots).min(self.arena.slots());
        let _pin = self.epochs.pin();
        for slot in first..end {
            match self.compare_in_place(slot) {
                Some(Ok(())) => self.arena.set_verified(slot),
                Some(Err(error)) => self.note_damage(&error),
                None => {}
            }
        }
        if end < self.arena.slots() { end } else { 0 }
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

    fn note_damage(&self, error: &Error) {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        damage.get_or_insert_with(|| error.to_string());
    }
}
