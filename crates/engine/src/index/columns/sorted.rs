//! The slots of a column in the order of their words, so that the few that pass a test are found
//! without a look at all.
//!
//! Slots are sorted in one go. Those that get another word later are noted, and those that are added
//! later lie behind the end: a reader looks at both besides. Once they are many, all are sorted again.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use vectord_filter::Span;

use crate::sync::{
    atomic::{AtomicU32, AtomicU64, Ordering},
    table::{bit_of, indexes_of},
};

/// The word of every so many slots is kept: words between two of them are looked for in all slots
/// between.
const FENCE: usize = 16;

/// The slots are sorted again once others are more than this and a part of them.
const LEAST_LATER: usize = 1024;
const PART_LATER: usize = 8;

/// The slots below an end, by their words when they were sorted.
pub struct Sorted {
    end: u32,
    order: OnceLock<Order>,
    /// A bit for each slot that may have got another word since.
    changed: Vec<AtomicU64>,
    /// The number of these bits.
    changes: AtomicU32,
}

struct Order {
    slots: Vec<u32>,
    /// The words of the slots at the places 0, [`FENCE`], and so on.
    fences: Vec<u64>,
}

/// The slots in some spans of words.
pub struct Found {
    sorted: Arc<Sorted>,
    /// Where slots are in the order whose words were in the spans, and known to pass.
    sure: Vec<Range<usize>>,
    /// Where others may be.
    unsure: Vec<Range<usize>>,
}

impl Sorted {
    /// The slots below `end`, which are not sorted yet. Changes are noted from now on.
    pub fn begin(end: u32) -> Self {
        let words = end.div_ceil(u64::BITS);
        Sorted {
            end,
            order: OnceLock::new(),
            changed: (0..words).map(|_| AtomicU64::new(0)).collect(),
            changes: AtomicU32::new(0),
        }
    }

    /// Sorts the slots by their words.
    pub fn sort(&self, word: impl Fn(u32) -> u64) {
        let mut pairs: Vec<(u64, u32)> = (0..self.end).map(|slot| (word(slot), slot)).collect();
        pairs.sort_unstable();
        self.order.get_or_init(|| Order {
            slots: pairs.iter().map(|&(_, slot)| slot).collect(),
            fences: pairs.iter().step_by(FENCE).map(|&(word, _)| word).collect(),
        });
    }

    /// Notes that a slot got another word. One from the end on needs no note.
    pub fn note_changed(&self, slot: u32) {
        let (word, bit) = bit_of(slot);
        if slot < self.end
            && self.changed[word as usize].fetch_or(bit, Ordering::Relaxed) & bit == 0
        {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the slots are sorted.
    pub fn is_sorted(&self) -> bool {
        self.order.get().is_some()
    }

    /// Whether so much has come later that the slots should be sorted again.
    pub fn is_old(&self, slots: u32) -> bool {
        let later = slots.saturating_sub(self.end) as usize + self.changes();
        later > LEAST_LATER + self.end as usize / PART_LATER
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        let order = self.order.get();
        self.changed.capacity() * size_of::<u64>()
            + order.map_or(0, |order| {
                order.slots.capacity() * size_of::<u32>()
                    + order.fences.capacity() * size_of::<u64>()
            })
    }

    /// The slots with words in these spans. None if they are not sorted yet.
    pub fn find(self: &Arc<Self>, spans: &[Span]) -> Option<Found> {
        let order = self.order.get()?;
        let mut found = Found {
            sorted: Arc::clone(self),
            sure: Vec::new(),
            unsure: Vec::new(),
        };
        for &span in spans {
            let (all, inner) = order.places(span);
            if span.is_known && inner.start < inner.end {
                found.unsure.push(all.start..inner.start);
                found.unsure.push(inner.end..all.end);
                found.sure.push(inner);
            } else {
                found.unsure.push(all);
            }
        }
        Some(found)
    }

    fn changes(&self) -> usize {
        self.changes.load(Ordering::Relaxed) as usize
    }

    fn changed(&self) -> impl Iterator<Item = u32> {
        let changed = match self.changes() {
            0 => &[],
            _ => &*self.changed,
        };
        let words = (0..).zip(changed);
        words.flat_map(|(word, bits)| indexes_of(word, bits.load(Ordering::Relaxed)))
    }
}

impl Order {
    /// The places from the fence before the first word of a span to the one behind the last, and
    /// those between the first fence and the last that are in the span.
    fn places(&self, Span { from, to, .. }: Span) -> (Range<usize>, Range<usize>) {
        let first = self.fences.partition_point(|&word| word < from);
        let behind = self.fences.partition_point(|&word| word <= to);
        let place = |fence: usize| (fence * FENCE).min(self.slots.len());
        let all = place(first.saturating_sub(1))..place(behind);
        let inner = place(first)..(behind * FENCE).saturating_sub(FENCE - 1);
        (all, inner)
    }
}

impl Found {
    /// Slots from this one on are not among those that were sorted.
    pub fn end(&self) -> u32 {
        self.sorted.end
    }

    /// The number of slots, or more.
    pub fn count(&self) -> usize {
        let places = self.sure.iter().chain(&self.unsure);
        places.map(Range::len).sum::<usize>() + self.sorted.changes()
    }

    /// The slots below the end whose words pass, unless they are among the [unsure](Self::unsure).
    pub fn sure(&self) -> impl Iterator<Item = u32> {
        self.at(&self.sure)
    }

    /// The other slots below the end whose words may pass.
    pub fn unsure(&self) -> impl Iterator<Item = u32> {
        self.at(&self.unsure).chain(self.sorted.changed())
    }

    fn at(&self, places: &[Range<usize>]) -> impl Iterator<Item = u32> {
        let order = self.sorted.order.get();
        let slots = order.map_or(&[][..], |order| &order.slots);
        let runs = places.iter().flat_map(|places| &slots[places.clone()]);
        runs.copied()
    }
}
