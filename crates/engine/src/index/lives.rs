//! The life of the point in each slot: the sequence numbers of its insert and its delete, which
//! decide the views that contain it.

use crate::{
    Result,
    sync::{
        atomic::{AtomicU64, Ordering},
        table::Table,
    },
    vectors::kernels,
};

/// The words of a slot's life.
const LIFE: usize = 2;
/// The word that holds the sequence of the insert: views taken at it or later contain the point.
const SEQUENCE: usize = 0;
/// The word that holds the sequence of the delete; 0 while the point lives. It is never 0 in a free
/// slot: a reader that found such a 0 would not have synchronized with the point that comes into
/// the slot next.
const DELETED: usize = 1;

/// Stored instead of the sequence of the insert while a slot is free: no view contains it.
const FREE: u64 = u64::MAX;

/// Stored as the sequence of the delete in slots that begin free: every view knows that delete.
const BEFORE_ALL: u64 = 1;

/// The lives of points by slot, written by one thread and read by any number without a lock.
pub struct Lives(Table<AtomicU64>);

impl Lives {
    /// Has no slots yet.
    pub fn new() -> Self {
        Lives(Table::new(LIFE))
    }

    /// Reserves memory for this number of slots, which hold no points yet.
    pub fn ensure(&self, slots: usize) -> Result<()> {
        self.0.ensure(slots)
    }

    /// Begins the life of a point in a slot that no reader knows yet.
    pub fn begin(&self, slot: u32, sequence: u64) {
        self.of(slot)[SEQUENCE].store(sequence, Ordering::Relaxed);
    }

    /// Begins the life of a point in a free slot.
    ///
    /// No view older than `sequence` contains it, for these reasons. Readers with views older than
    /// the delete of the slot's last point had ended before the slot was freed. A reader that still
    /// finds that delete sees a deleted slot. A reader that finds 0 there has synchronized with the
    /// store of this 0, which is the last store for the point: it finds `sequence`, which is beyond
    /// its view. A reader whose view contains `sequence` has synchronized with its publication,
    /// which follows all of these stores.
    pub fn begin_again(&self, slot: u32, sequence: u64) {
        let life = self.of(slot);
        life[SEQUENCE].store(sequence, Ordering::Relaxed);
        life[DELETED].store(0, Ordering::Release);
    }

    /// Ends the life of the point in `slot`: views taken at `sequence` or later do not contain it.
    pub fn end(&self, slot: u32, sequence: u64) {
        self.of(slot)[DELETED].store(sequence, Ordering::Release);
    }

    /// Frees a slot whose point was deleted and that no reader can find any more.
    pub fn free(&self, slot: u32) {
        let life = self.of(slot);
        debug_assert_ne!(
            life[DELETED].load(Ordering::Relaxed),
            0,
            "slot {slot} lives"
        );
        life[SEQUENCE].store(FREE, Ordering::Relaxed);
    }

    /// Makes a slot that no reader knows yet free, like one whose point was deleted.
    pub fn begin_free(&self, slot: u32) {
        self.end(slot, BEFORE_ALL);
        self.free(slot);
    }

    /// Whether a slot is free.
    pub fn is_free(&self, slot: u32) -> bool {
        self.sequence(slot) == FREE
    }

    /// Whether a view taken at `sequence`, whose pin is held, contains the point in `slot`.
    #[inline]
    pub fn is_visible(&self, slot: u32, sequence: u64) -> bool {
        let life = self.of(slot);
        let deleted = life[DELETED].load(Ordering::Acquire);
        life[SEQUENCE].load(Ordering::Relaxed) <= sequence && (deleted == 0 || deleted > sequence)
    }

    /// Whether the point in `slot` was inserted at `sequence` or before, and is not deleted.
    pub fn lasts_since(&self, slot: u32, sequence: u64) -> bool {
        let life = self.of(slot);
        // The delete is read first: a reader that finds none because the slot was filled again also
        // finds the sequence of the new point.
        let is_deleted = life[DELETED].load(Ordering::Acquire) != 0;
        !is_deleted && life[SEQUENCE].load(Ordering::Relaxed) <= sequence
    }

    /// Whether the slot's last point was deleted at `sequence` or before, and the slot is not free.
    pub fn has_ended_by(&self, slot: u32, sequence: u64) -> bool {
        let life = self.of(slot);
        let deleted = life[DELETED].load(Ordering::Acquire);
        // In a slot that is free or just being filled again, the insert is later than the delete.
        let inserted = life[SEQUENCE].load(Ordering::Relaxed);
        inserted < deleted && deleted <= sequence
    }

    /// Whether the slot's last point was deleted. True of a free slot too.
    #[inline]
    pub fn is_gone(&self, slot: u32) -> bool {
        self.of(slot)[DELETED].load(Ordering::Relaxed) != 0
    }

    /// The sequence number that inserted the point in `slot`.
    pub fn sequence(&self, slot: u32) -> u64 {
        self.of(slot)[SEQUENCE].load(Ordering::Relaxed)
    }

    /// Prefetches the life of the point in `slot`.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        kernels::prefetch(self.of(slot));
    }

    /// The words of a slot: [`SEQUENCE`] and [`DELETED`].
    #[inline]
    fn of(&self, slot: u32) -> &[AtomicU64] {
        self.0.row(slot)
    }
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
mod tests {
    use std::thread;

    use super::*;
    use crate::{Metric, vectors::quantize::Codes};

    const DIMENSION: usize = 32;
    const SLOTS: u32 = 8;

    /// A linking thread has no view: it asks only whether the slot has a point. The code of a point
    /// is written as atomics and read as plain memory. If the thread finds the point before it has
    /// synchronized with the writer, it reads an old code, and miri reports a race.
    fn check_filling(begin: fn(&Lives, u32)) {
        let lives = Lives::new();
        let codes = Codes::new(DIMENSION);
        lives.ensure(SLOTS as usize).unwrap();
        codes.reserve(SLOTS as usize).unwrap();
        (0..SLOTS).for_each(|slot| begin(&lives, slot));
        thread::scope(|scope| {
            scope.spawn(|| {
                for slot in 0..SLOTS {
                    codes.store(slot, &[1.0; DIMENSION]).unwrap();
                    lives.begin_again(slot, 9);
                }
            });
            for slot in 0..SLOTS {
                while !lives.is_visible(slot, u64::MAX - 1) {
                    thread::yield_now();
                }
                let itself = codes.by_slot(Metric::Euclidean, slot).rank(slot);
                assert!(itself.abs() < 0.05, "{itself}");
                assert_eq!(lives.sequence(slot), 9);
            }
        });
    }

    #[test]
    fn a_slot_that_was_freed_shows_no_point_while_it_is_filled() {
        check_filling(|lives, slot| {
            lives.begin(slot, 7);
            lives.end(slot, 8);
            lives.free(slot);
        });
    }

    #[test]
    fn a_slot_restored_as_free_shows_no_point_while_it_is_filled() {
        check_filling(Lives::begin_free);
    }
}
