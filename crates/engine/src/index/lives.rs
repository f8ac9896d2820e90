//! The life of the point in each slot: the sequence numbers of its insert and its delete, which
//! decide the [views](super::view::View) that contain it.
//!
//! | State of the slot | Insert | Delete | Who can find it |
//! |---|---|---|---|
//! | unused | 0 | 0 | no reader: its number is not below the number of slots yet |
//! | holds a live point | `s` | 0 | all readers |
//! | holds a deleted point | `s` | `d` | readers by a graph and by number |
//! | free | [`FREE`] | `d` | readers by number, which find no point in it |
//! | is being filled again | `s2` | `d` | readers by number, which find no point in it |
//! | holds a live point again | `s2` | 0 | all readers |
//!
//! A reader finds a slot by the links of a graph, by the id of a live point, or by its number:
//! scans, linking threads and reclaiming go through all slots below the number of slots, or a part
//! of them. Free slots are among these too.
//!
//! A free slot keeps its last delete until the next point is complete. So a reader that finds 0
//! there has found the `Release` store of [`Lives::begin_again`], and with it all data of the new
//! point. If a 0 were stored when the slot is freed, a linking thread could find that 0, then the
//! sequence of the new point, and then the vector or the code of the old one. A slot that is
//! restored without a point begins free for the same reason, by [`Lives::begin_free`]: a snapshot
//! of the graphs names points by slot, and the slots between them that no point takes must not show
//! one either.
//!
//! The writer inserts and deletes ([`Lives::begin`], [`Lives::begin_again`], [`Lives::end`]). A
//! linking thread frees slots ([`Lives::free`]), one thread at a time, and passes them to the
//! writer under the lock of the list of free slots. At a start, several threads restore slots, each
//! its own, before there are readers. [`Lives::has_ended_by`] is for the thread that holds the
//! round of reclaiming. The rest may be called by any thread, with what each asks for.

use crate::{
    Result,
    sync::{
        atomic::{AtomicU64, Ordering},
        table::{Table, bit_of, indexes_of},
    },
    vectors::kernels,
};

/// The words of a slot's life.
const LIFE: usize = 2;
/// The word that holds the sequence of the insert: views taken at it or later contain the point.
const SEQUENCE: usize = 0;
/// The word that holds the sequence of the delete; 0 while the point lives. It is never 0 in a free
/// slot, as the top of this file explains.
const DELETED: usize = 1;

/// Stored instead of the sequence of the insert while a slot is free. It is the greatest sequence,
/// so that no view contains the slot.
const FREE: u64 = u64::MAX;

/// Stored as the sequence of the delete in slots that begin free. Every view is later than that
/// delete or taken at it: there are slots to restore only in a store that has records, and the
/// first record has this sequence.
const BEFORE_ALL: u64 = 1;

/// The lives of points by slot. One thread at a time changes a slot, and any number read it without
/// a lock.
pub struct Lives {
    lives: Table<AtomicU64>,
    /// For each block of 64 slots the last sequence of an insert there, so that what was written
    /// lately is found without a look at all slots.
    newest: Table<AtomicU64>,
}

impl Lives {
    /// Has no slots yet.
    pub fn new() -> Self {
        Lives {
            lives: Table::new(LIFE),
            newest: Table::new(1),
        }
    }

    /// Reserves memory for the slots `0..slots`; `slots` counts the slots there are already too.
    /// The words of a new slot are 0, which looks like a point in every view: nobody may ask about
    /// the slot before [`begin`](Self::begin) or [`begin_free`](Self::begin_free).
    pub fn ensure(&self, slots: usize) -> Result<()> {
        self.newest.ensure(slots.div_ceil(u64::BITS as usize))?;
        self.lives.ensure(slots)
    }

    /// Begins the life of a point in an unused slot. The delete is 0 already, since a slot is
    /// unused only once. `Relaxed` is enough: readers find the slot once the number of slots
    /// includes it, and the arena stores that number with `Release` after this.
    pub fn begin(&self, slot: u32, sequence: u64) {
        self.note_newest(slot, sequence);
        self.of(slot)[SEQUENCE].store(sequence, Ordering::Relaxed);
    }

    /// Begins the life of a point in a free slot. Call this after the code, the id, the places of
    /// the vector and the record, and all else of the point are stored.
    ///
    /// No view older than `sequence` contains it, for these reasons. Readers with views older than
    /// the delete of the slot's last point had ended before the slot was freed. A reader that comes
    /// to the slot by its number and still finds that delete sees a deleted slot. A reader that
    /// finds 0 there has synchronized with the store of this 0, which is the last store for the
    /// point: it finds `sequence`, which is beyond its view. A reader whose view contains
    /// `sequence` has synchronized with its publication, which follows all of these stores.
    pub fn begin_again(&self, slot: u32, sequence: u64) {
        self.note_newest(slot, sequence);
        let life = self.of(slot);
        life[SEQUENCE].store(sequence, Ordering::Relaxed);
        life[DELETED].store(0, Ordering::Release);
    }

    fn note_newest(&self, slot: u32, sequence: u64) {
        let newest = self.newest.get(bit_of(slot).0);
        newest.fetch_max(sequence, Ordering::Relaxed);
    }

    /// The slots below `slots`, in ascending order, whose points were inserted after `sequence`, and
    /// maybe some that are free. A reader finds all such points that its view contains.
    pub fn later_than(&self, sequence: u64, slots: u32) -> impl Iterator<Item = u32> {
        let newest = move |block: &u32| self.newest.get(*block).load(Ordering::Relaxed);
        let blocks = (0..slots.div_ceil(u64::BITS)).filter(move |block| newest(block) > sequence);
        let slots = blocks
            .flat_map(|block| indexes_of(block, u64::MAX))
            .take_while(move |&slot| slot < slots);
        slots.filter(move |&slot| self.sequence(slot) > sequence)
    }

    /// Ends the life of the point in `slot`: views taken at `sequence` or later do not contain it.
    /// `Release`: a reader that finds this delete also finds the insert of the same point, not that
    /// of the slot's previous one, which is earlier and would show the point in older views.
    pub fn end(&self, slot: u32, sequence: u64) {
        self.of(slot)[DELETED].store(sequence, Ordering::Release);
    }

    /// Frees a slot whose point was deleted and is known to no reader any more: no graph and no id
    /// leads to the point, and every reader that may have found it has dropped its pin. Readers by
    /// number still look at the slot, and find no point in it before and after this.
    pub fn free(&self, slot: u32) {
        let life = self.of(slot);
        debug_assert_ne!(
            life[DELETED].load(Ordering::Relaxed),
            0,
            "slot {slot} lives"
        );
        life[SEQUENCE].store(FREE, Ordering::Relaxed);
    }

    /// Makes an unused slot free, like one whose point was deleted.
    pub fn begin_free(&self, slot: u32) {
        self.end(slot, BEFORE_ALL);
        self.free(slot);
    }

    /// Whether a slot is free.
    pub fn is_free(&self, slot: u32) -> bool {
        self.sequence(slot) == FREE
    }

    /// Whether a view taken at the sequence `view` contains the point in `slot`. The caller holds a
    /// [pin](crate::sync::epoch::Pin), taken before it read that sequence (the pin of the view, if
    /// it has one). At a start, while no slot is freed, it needs none.
    ///
    /// A linking thread has a pin but no view: it asks about `u64::MAX - 1`, the view that contains
    /// every live point, visible or not, and no deleted one. It is the last sequence before
    /// [`FREE`], so that the insert of a free slot is beyond it too.
    #[inline]
    pub fn is_visible(&self, slot: u32, view: u64) -> bool {
        let life = self.of(slot);
        let deleted = life[DELETED].load(Ordering::Acquire);
        life[SEQUENCE].load(Ordering::Relaxed) <= view && (deleted == 0 || deleted > view)
    }

    /// Whether the point in `slot` was inserted at `sequence` or before, and is not deleted. Unlike
    /// in [`is_visible`](Self::is_visible), a delete after `sequence` counts too. The answer may be
    /// out of date at once, since the writer may delete the point meanwhile: hence the lock in
    /// [`Arena::settle`](super::arena::Arena::settle).
    pub fn lasts_since(&self, slot: u32, sequence: u64) -> bool {
        let life = self.of(slot);
        // The delete is read first: a reader that finds none because the slot was filled again also
        // finds the sequence of the new point.
        let is_deleted = life[DELETED].load(Ordering::Acquire) != 0;
        !is_deleted && life[SEQUENCE].load(Ordering::Relaxed) <= sequence
    }

    /// Whether the slot's last point was deleted at `sequence` or before, and the slot is not free.
    /// Asked by the linking thread that begins a round of reclaiming. It excludes the other linking
    /// threads, so no slot is freed meanwhile, and this stays true of a slot until that round, or a
    /// later one, frees it.
    pub fn has_ended_by(&self, slot: u32, sequence: u64) -> bool {
        let life = self.of(slot);
        let deleted = life[DELETED].load(Ordering::Acquire);
        // In a slot that is free or just being filled again, the insert is later than the delete.
        let inserted = life[SEQUENCE].load(Ordering::Relaxed);
        inserted < deleted && deleted <= sequence
    }

    /// Whether the slot's last point was deleted. True of a free slot too.
    ///
    /// The writer, which alone deletes points, gets the state of the slot. For linking threads the
    /// answer is a hint, so that `Relaxed` is enough: a link to a deleted point is allowed, since
    /// reclaiming removes it, and settling checks each point again by
    /// [`lasts_since`](Self::lasts_since).
    #[inline]
    pub fn is_gone(&self, slot: u32) -> bool {
        self.of(slot)[DELETED].load(Ordering::Relaxed) != 0
    }

    /// The sequence number of the insert of the point in `slot`; `u64::MAX` if the slot is free.
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
        self.lives.row(slot)
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
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
    fn what_is_inserted_later_is_found_in_new_slots_and_in_those_that_are_used_again() {
        let lives = Lives::new();
        lives.ensure(200).unwrap();
        (0..150).for_each(|slot| lives.begin(slot, u64::from(slot) + 1));
        let later = |sequence, slots| lives.later_than(sequence, slots).collect::<Vec<_>>();
        assert_eq!(later(0, 150).len(), 150);
        assert_eq!(later(147, 150), [147, 148, 149]);
        assert_eq!(later(147, 149), [147, 148]);
        for slot in [3, 70] {
            lives.end(slot, 151);
            lives.free(slot);
        }
        lives.begin_again(70, 152);
        lives.begin(150, 153);
        lives.begin_again(3, 154);
        assert_eq!(later(151, 151), [3, 70, 150]);
        assert_eq!(later(152, 151), [3, 150]);
        assert!(later(154, 151).is_empty());
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
