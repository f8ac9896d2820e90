//! The entry points. A walk begins at the closest of them. They are the points with the highest
//! layers.
//!
//! In the paper a walk begins at one point and goes down greedily through all layers. Since points
//! link to near points, such a walk may not get from one cluster to another. A sample of all points
//! has some in every cluster that is not small. Every walk ranks the same few points, which stay in
//! the cache. That costs less than the steps through the layers that it replaces.

use std::sync::PoisonError;

use super::levels::drawn;
use crate::sync::{
    Mutex, MutexGuard,
    atomic::{
        AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

/// The size of the sample. Few under the model, so that points replace each other.
const SAMPLE: usize = if cfg!(vectord_shuttle) { 2 } else { 63 };

/// An entry point, and its highest layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub slot: u32,
    pub level: u8,
}

impl Entry {
    fn pack(self) -> u64 {
        ((u64::from(self.level) + 1) << 32) | u64::from(self.slot)
    }

    fn unpack(packed: u64) -> Option<Entry> {
        let level = (packed >> 32).checked_sub(1)?;
        Some(Entry {
            slot: packed as u32,
            level: level as u8,
        })
    }
}

/// The entry points. From [`Entries::replace_leaving`] on, no leaving point is one of them.
#[derive(Debug)]
pub(super) struct Entries {
    /// The highest point of the graph, packed; 0 in an empty graph.
    highest: AtomicU64,
    /// The sample: the points that were drawn highest, in no order, packed; 0 in a free place.
    sample: [AtomicU64; SAMPLE],
    /// The bound below which a point must be drawn to enter the sample.
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
    pub fn highest(&self) -> Option<Entry> {
        Entry::unpack(self.highest.load(Acquire))
    }

    /// The other entry points, and perhaps the highest again.
    #[inline]
    pub fn sample(&self) -> impl Iterator<Item = Entry> {
        let sample = self.sample.iter();
        sample.filter_map(|place| Entry::unpack(place.load(Acquire)))
    }

    /// Makes the first point of a graph its highest entry point. For any other point, returns the
    /// highest.
    pub fn claim(&self, new: Entry) -> Option<Entry> {
        let claimed = self
            .highest
            .compare_exchange(0, new.pack(), AcqRel, Acquire);
        claimed.map_or_else(Entry::unpack, |_| None)
    }

    /// Replaces the highest entry point by another or by none, if it is still `present`.
    pub fn replace(&self, present: Entry, new: Option<Entry>) -> bool {
        let new = new.map_or(0, Entry::pack);
        self.highest
            .compare_exchange(present.pack(), new, AcqRel, Acquire)
            .is_ok()
    }

    /// Makes a linked point an entry point, if it is high enough.
    pub fn offer(&self, new: Entry) {
        let mut present = self.highest.load(Acquire);
        while Entry::unpack(present).is_none_or(|highest| highest.level < new.level) {
            match self
                .highest
                .compare_exchange_weak(present, new.pack(), AcqRel, Acquire)
            {
                Ok(_) => break,
                Err(other) => present = other,
            }
        }
        if drawn(new.slot) < self.drawn_below.load(Relaxed) {
            let lock = self.lock();
            self.take(new, &lock);
        }
    }

    /// Replaces leaving entry points by points that stay.
    pub fn replace_leaving(
        &self,
        is_leaving: impl Fn(u32) -> bool,
        staying: impl Iterator<Item = Entry> + Clone,
    ) {
        while let Some(highest) = self.highest()
            && is_leaving(highest.slot)
        {
            self.replace(highest, staying.clone().max_by_key(|entry| entry.level));
        }
        let lock = self.lock();
        let mut is_short = false;
        for place in &self.sample {
            if Entry::unpack(place.load(Relaxed)).is_some_and(|entry| is_leaving(entry.slot)) {
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

    /// Adds a point to the sample, if there is a free place or the point was drawn higher than
    /// another.
    fn take(&self, new: Entry, _changing: &MutexGuard<'_, ()>) {
        let height = |place: &AtomicU64| {
            let entry = Entry::unpack(place.load(Relaxed));
            entry.map_or(u64::MAX, |entry| drawn(entry.slot))
        };
        let is_in = |place: &AtomicU64| place.load(Relaxed) == new.pack();
        if drawn(new.slot) >= self.drawn_below.load(Relaxed) || self.sample.iter().any(is_in) {
            return;
        }
        if let Some(lowest) = self.sample.iter().max_by_key(|place| height(place)) {
            lowest.store(new.pack(), Release);
        }
        let lowest = self.sample.iter().map(height).max();
        self.drawn_below.store(lowest.unwrap_or(u64::MAX), Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // No state behind the lock can be left half-changed by a panic.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn entry(slot: u32) -> Entry {
        let level = (drawn(slot).leading_zeros() / 4) as u8;
        Entry { slot, level }
    }

    fn slots(entries: &Entries) -> BTreeSet<u32> {
        entries.sample().map(|entry| entry.slot).collect()
    }

    /// The slots below `end` that were drawn highest, of those that are not `gone`.
    fn highest(end: u32, gone: impl Fn(u32) -> bool) -> BTreeSet<u32> {
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
    fn walks_begin_at_the_points_drawn_highest() {
        let entries = Entries::new();
        for slot in 0..5_000 {
            entries.offer(entry(slot));
            entries.offer(entry(slot));
        }
        let all = highest(5_000, |_| false);
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
        assert_eq!(slots(&entries), highest(5_000, gone));
        entries.replace_leaving(|_| true, std::iter::empty());
        assert_eq!((entries.highest(), entries.sample().count()), (None, 0));
    }
}
