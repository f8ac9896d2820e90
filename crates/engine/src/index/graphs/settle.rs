//! Settles points. A settled point is in every present and later
//! [`View`](crate::index::view::View), until it is deleted. The [`Arena`] has a bit for it, so that
//! a walk need not compare its sequence number with that of the view.
//!
//! A linked point can be settled once no view from before its insert is left. The linking threads
//! gather linked points, wait until an epoch has passed, and set their bits.

use std::sync::PoisonError;

use crate::{
    index::arena::Arena,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
        epoch::Epochs,
    },
    vectors::points::Points,
};

/// The linked points that are not settled yet.
#[derive(Default)]
pub(crate) struct Settling {
    gathered: Mutex<Gathered>,
    /// Whether there are any, to be read without the lock.
    is_under_way: AtomicBool,
}

#[derive(Default)]
struct Gathered {
    /// Slots that were linked since the wait began, and slots of points that are not published yet.
    fresh: Vec<u32>,
    /// Slots that are settled once `epoch` has passed.
    waiting: Vec<u32>,
    epoch: u64,
    /// The sequence that was visible when the wait began. Every view that is left after the wait
    /// contains all points that were inserted up to it.
    sequence: u64,
}

impl Settling {
    /// Whether points wait to be settled. Then a linking thread without work looks again soon,
    /// since no signal says that an epoch has passed.
    pub(crate) fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Relaxed)
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes slots that were linked, to be settled.
    pub(crate) fn gather(&self, slots: impl Iterator<Item = u32>) {
        let fresh = &mut self.gathered().fresh;
        for slot in slots {
            // Without memory, the points stay unsettled: searches compare their sequences.
            if fresh.try_reserve(1).is_err() {
                return;
            }
            fresh.push(slot);
        }
        self.is_under_way.store(true, Ordering::Relaxed);
    }

    /// Forgets all points that wait. They stay unsettled: searches compare their sequences.
    pub(crate) fn abandon(&self) {
        *self.gathered() = Gathered::default();
        self.is_under_way.store(false, Ordering::Relaxed);
    }

    /// Settles the points whose wait is over, and begins the next wait. Returns whether there was
    /// anything to do.
    pub(crate) fn settle(&self, arena: &Arena, epochs: &Epochs) -> bool {
        if !self.is_under_way() {
            return false;
        }
        let gathered = &mut *self.gathered();
        let has_waited = !gathered.waiting.is_empty();
        if has_waited {
            if !epochs.has_passed(gathered.epoch) {
                return false;
            }
            arena.settle(&gathered.waiting, gathered.sequence);
            gathered.waiting.clear();
        }
        let visible = arena.visible();
        let Gathered { fresh, waiting, .. } = gathered;
        // A point that refills one of these slots is linked and gathered in its turn.
        fresh.retain(|&slot| !arena.is_gone(slot));
        waiting.extend(fresh.extract_if(.., |slot| arena.sequence(*slot) <= visible));
        let is_under_way = !(waiting.is_empty() && fresh.is_empty());
        self.is_under_way.store(is_under_way, Ordering::Relaxed);
        if waiting.is_empty() {
            return has_waited;
        }
        gathered.sequence = visible;
        gathered.epoch = epochs.advance();
        true
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use crate::index::{
        Index,
        tests::support::{id, line, work_on},
    };

    const POINTS: u32 = 10;

    /// The view of 0 contains only what is taken to be in every view.
    fn is_settled(index: &Index, slot: u32) -> bool {
        index.arena.is_visible(slot, 0)
    }

    #[test]
    fn points_settle_once_no_view_is_left_from_before_they_were_linked() {
        let index = line(POINTS);
        let before = index.epochs.pin();
        work_on(&index);
        assert!(!(0..POINTS).any(|slot| is_settled(&index, slot)));
        drop(before);
        work_on(&index);
        assert!((0..POINTS).all(|slot| is_settled(&index, slot)));
        assert!(!index.settling.is_under_way());
    }

    #[test]
    fn a_point_settles_only_after_it_is_published() {
        let index = line(POINTS);
        let next = u64::from(POINTS) + 1;
        let location = index.arena.location(0);
        index.insert(id(next as usize), location, next).unwrap();
        work_on(&index);
        assert!(index.settling.is_under_way());
        assert!(!is_settled(&index, POINTS));
        index.publish(next);
        work_on(&index);
        assert!(is_settled(&index, POINTS));
    }

    #[test]
    fn a_point_that_has_got_the_slot_meanwhile_does_not_settle() {
        let index = line(POINTS);
        let sequence = index.arena.sequence(4);
        index.arena.settle(&[4], sequence - 1);
        assert!(!is_settled(&index, 4));
        index.arena.settle(&[4], sequence);
        assert!(is_settled(&index, 4));
    }

    #[test]
    fn a_settled_point_is_hidden_from_views_after_its_delete() {
        let index = line(POINTS);
        work_on(&index);
        let next = u64::from(POINTS) + 1;
        assert!(index.delete(&id(4), next));
        assert!(index.arena.is_visible(3, next - 1));
        assert!(!index.arena.is_visible(3, next));
        index.publish(next);
        work_on(&index);
        assert!(!is_settled(&index, 3));
    }
}
