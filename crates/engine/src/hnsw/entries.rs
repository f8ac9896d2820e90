//! The entry points: the points with the highest layers. A walk begins at the closest of them.
//!
//! In the paper of HNSW (Malkov and Yashunin, arXiv:1603.09320) a walk begins at one point and goes
//! down greedily through all layers. Since points link to near points, such a walk may not get from
//! one cluster to another. Layers are drawn at random, so that the points with the highest layers
//! are a random sample of all points, and very likely include some of every cluster of more than a
//! few per cent. Every walk ranks the same few points, whose vectors stay in the processor's cache.
//! That costs less than the steps through the upper layers that it replaces.
//!
//! [`drawn`] gives each slot a fixed random number, from which its layer follows: the smaller the
//! number, the higher the layer. "Drawn higher" means a smaller number. Because several points
//! share a layer, the sample goes by the number, not by the layer.

use std::sync::PoisonError;

use super::levels::drawn;
use crate::sync::{
    Mutex, MutexGuard,
    atomic::{
        AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

/// The size of the sample. Together with the highest entry point there are 64. It is small under
/// the model checker, so that points replace each other.
const SAMPLE: usize = if cfg!(feature = "shuttle") { 2 } else { 63 };

/// An entry point, and the highest layer that it is linked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryPoint {
    pub slot: u32,
    pub level: u8,
}

impl EntryPoint {
    /// Packs the layer plus one into the upper half, and the slot into the lower one. 0 stands for
    /// no entry point.
    fn pack(self) -> u64 {
        ((u64::from(self.level) + 1) << 32) | u64::from(self.slot)
    }

    fn unpack(packed: u64) -> Option<EntryPoint> {
        let level = (packed >> 32).checked_sub(1)?;
        Some(EntryPoint {
            slot: packed as u32,
            level: level as u8,
        })
    }
}

/// The entry points. After [`Entries::replace_leaving`] none of them is a point that leaves the
/// graph, provided that no such point is offered any more.
#[derive(Debug)]
pub(super) struct Entries {
    /// The point with the highest layer among all that were offered, packed. 0 in an empty
    /// graph.
    highest: AtomicU64,
    /// The points drawn highest among all that were offered, in no order, packed. 0 in a
    /// free place.
    sample: [AtomicU64; SAMPLE],
    /// Only a point whose [`drawn`] number is smaller enters the sample. `u64::MAX` while there is
    /// a free place.
    drawn_below: AtomicU64,
    /// Held while the sample changes.
    changing: Mutex<()>,
}

impl Entries {
    pub fn new() -> Self {
        Entries {
            highest: AtomicU64::new(0),
            sample: [const { AtomicU64::new(0) }; SAMPLE],
            drawn_below: AtomicU64::new(u64::MAX),
            changing: Mutex::new(()),
        }
    }

    /// The highest entry point, unless the graph is empty.
    #[inline]
    pub fn highest(&self) -> Option<EntryPoint> {
        EntryPoint::unpack(self.highest.load(Acquire))
    }

    /// The other entry points, and perhaps the highest again.
    #[inline]
    pub fn sample(&self) -> impl Iterator<Item = EntryPoint> {
        let sample = self.sample.iter();
        sample.filter_map(|place| EntryPoint::unpack(place.load(Acquire)))
    }

    /// Makes the first point of a graph its highest entry point and returns None. For any other
    /// point, changes nothing and returns the highest.
    pub fn claim(&self, new: EntryPoint) -> Option<EntryPoint> {
        let claimed = self
            .highest
            .compare_exchange(0, new.pack(), AcqRel, Acquire);
        claimed.map_or_else(EntryPoint::unpack, |_| None)
    }

    /// Replaces the highest entry point by another or by none, if it is still `current`, and
    /// returns whether it was. The sample stays as it is.
    pub fn replace(&self, current: EntryPoint, new: Option<EntryPoint>) -> bool {
        let new = new.map_or(0, EntryPoint::pack);
        self.highest
            .compare_exchange(current.pack(), new, AcqRel, Acquire)
            .is_ok()
    }

    /// Offers a point, whose links are in place, as an entry point. It becomes the highest one if
    /// its layer is higher, and enters the sample if it was drawn high enough.
    pub fn offer(&self, new: EntryPoint) {
        let mut current = self.highest.load(Acquire);
        while EntryPoint::unpack(current).is_none_or(|highest| highest.level < new.level) {
            match self
                .highest
                .compare_exchange_weak(current, new.pack(), AcqRel, Acquire)
            {
                Ok(_) => break,
                Err(other) => current = other,
            }
        }
        if drawn(new.slot) < self.drawn_below.load(Relaxed) {
            let lock = self.lock();
            self.take(new, &lock);
        }
    }

    /// Replaces the entry points that leave the graph by points that stay. `staying` gives all
    /// points that stay, and no other: it is gone through once for the highest entry point, and
    /// once for the sample. A point that is inserted and offered meanwhile may lose its place to a
    /// leaving point, and `staying` may lack it. Then walks begin at other points, which does no
    /// harm.
    pub fn replace_leaving(
        &self,
        is_leaving: impl Fn(u32) -> bool,
        staying: impl Iterator<Item = EntryPoint> + Clone,
    ) {
        while let Some(highest) = self.highest()
            && is_leaving(highest.slot)
        {
            self.replace(highest, staying.clone().max_by_key(|entry| entry.level));
        }
        let lock = self.lock();
        let mut is_short = false;
        for place in &self.sample {
            if EntryPoint::unpack(place.load(Relaxed)).is_some_and(|entry| is_leaving(entry.slot)) {
                place.store(0, Release);
                is_short = true;
            }
        }
        if is_short {
            self.drawn_below.store(u64::MAX, Relaxed);
            for entry in staying {
                self.take(entry, &lock);
            }
        }
    }

    /// Adds a point to the sample if there is a free place, or instead of the point that was drawn
    /// lowest if that was drawn lower. Does nothing if the point is in the sample. The guard proves
    /// that the lock is held.
    fn take(&self, new: EntryPoint, _changing: &MutexGuard<'_, ()>) {
        let number = |place: &AtomicU64| {
            let entry = EntryPoint::unpack(place.load(Relaxed));
            entry.map_or(u64::MAX, |entry| drawn(entry.slot))
        };
        let is_in = |place: &AtomicU64| place.load(Relaxed) == new.pack();
        if drawn(new.slot) >= self.drawn_below.load(Relaxed) || self.sample.iter().any(is_in) {
            return;
        }
        if let Some(lowest) = self.sample.iter().max_by_key(|place| number(place)) {
            lowest.store(new.pack(), Release);
        }
        let bound = self.sample.iter().map(number).max();
        self.drawn_below.store(bound.unwrap_or(u64::MAX), Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // A panic of `staying` leaves the sample short, and the points offered next fill it.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Layers as the graph draws them, roughly: each has a sixteenth of the points below it.
    fn entry(slot: u32) -> EntryPoint {
        let level = (drawn(slot).leading_zeros() / 4) as u8;
        EntryPoint { slot, level }
    }

    fn slots(entries: &Entries) -> BTreeSet<u32> {
        entries.sample().map(|entry| entry.slot).collect()
    }

    /// Of the slots below `end` that are not `gone`, the ones that were drawn highest.
    fn drawn_highest(end: u32, gone: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let mut all: Vec<u32> = (0..end).filter(|&slot| !gone(slot)).collect();
        all.sort_by_key(|&slot| drawn(slot));
        all.into_iter().take(SAMPLE).collect()
    }

    #[test]
    fn the_first_point_is_claimed_once() {
        let entries = Entries::new();
        assert_eq!(entries.claim(entry(7)), None);
        assert_eq!(entries.claim(entry(8)), Some(entry(7)));
    }

    #[test]
    fn the_sample_is_the_points_drawn_highest() {
        let entries = Entries::new();
        for slot in 0..5_000 {
            entries.offer(entry(slot));
            // A point that is offered again is in the sample once.
            entries.offer(entry(slot));
        }
        let all = drawn_highest(5_000, |_| false);
        assert_eq!(slots(&entries), all);
        assert!(all.contains(&entries.highest().unwrap().slot));
        let top = all.iter().map(|&slot| entry(slot).level).max();
        assert_eq!(entries.highest().map(|entry| entry.level), top);
    }

    #[test]
    fn others_stand_in_for_points_that_leave() {
        let entries = Entries::new();
        (0..5_000).for_each(|slot| entries.offer(entry(slot)));
        let gone = |slot: u32| !slot.is_multiple_of(3);
        let staying = (0..5_000).filter(|&slot| !gone(slot)).map(entry);
        entries.replace_leaving(gone, staying);
        assert_eq!(slots(&entries), drawn_highest(5_000, gone));
        entries.replace_leaving(|_| true, std::iter::empty());
        assert_eq!((entries.highest(), entries.sample().count()), (None, 0));
    }
}
