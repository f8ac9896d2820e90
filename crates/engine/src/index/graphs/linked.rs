//! A graph and its progress through the slots of the [`Arena`](crate::index::Arena). Several
//! threads link the slots, in the order in which the writer fills them. The slots that are not
//! linked yet, the tail, are known at any time, so that a search can walk the graph and scan the
//! tail.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::PoisonError,
};

use crate::{
    Metric, Result,
    hnsw::{Graph, Params},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
        table::{Table, bit_of, indexes_of},
    },
};

/// Inserts wait while a graph that has caught up has a longer tail than this, since every search
/// ranks the points in the tail one by one.
pub const MAX_TAIL_SLOTS: u32 = 20_000;

/// The number of slots that a thread claims at a time: few, so that the tail stays short.
const CHUNK_SLOTS: u32 = 16;

/// A graph has caught up once its tail has at most this number of slots.
const CAUGHT_UP_SLOTS: u32 = 1024;

/// A graph and its progress through the arena. A slot that was claimed before and then gets another
/// point, as its own was deleted, is called refilled: the graph has to link it once more.
pub struct LinkedGraph {
    /// The graph itself.
    pub graph: Graph,
    progress: Mutex<Progress>,
    /// All slots below are linked, except refilled ones.
    watermark: AtomicU32,
    /// A bit for each slot that was refilled and is not linked. Searches read them without a lock.
    marks: Table<AtomicU64>,
    /// How many times slots were refilled and are not linked since.
    refilled: AtomicU32,
    /// See [`LinkedGraph::caught_up`].
    caught_up: AtomicBool,
}

#[derive(Default)]
struct Progress {
    /// The first slot that no thread has claimed.
    next: u32,
    /// The first slots of the claims that are not finished, refilled slots aside.
    under_way: Vec<u32>,
    /// Of these, the claims that were given back.
    given_back: Vec<Range<u32>>,
    /// Refilled slots below `next` that no thread has claimed, the oldest first.
    refilled: VecDeque<u32>,
    /// For each refilled slot, claimed or not, how many times it was refilled and is not linked
    /// since.
    marked: HashMap<u32, u32>,
}

/// The progress of a graph while no thread links, as a snapshot holds it.
#[derive(Clone, Copy, Debug)]
pub struct Progressed {
    /// The first slot that is not linked. Refilled slots below it may not be linked either.
    pub next: u32,
    /// Whether the graph has caught up, see [`LinkedGraph::caught_up`].
    pub caught_up: bool,
}

/// Slots that a thread has claimed to link.
pub enum Claim {
    /// The next slots in order.
    Next(Range<u32>),
    /// Refilled slots.
    Refilled(Vec<u32>),
}

impl Claim {
    /// The slots.
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        let (next, refilled) = match self {
            Claim::Next(slots) => (slots.clone(), &[][..]),
            Claim::Refilled(slots) => (0..0, &slots[..]),
        };
        next.chain(refilled.iter().copied())
    }
}

/// The tail: the slots that may not be linked yet. A search ranks their points one by one.
#[derive(Debug, Default)]
pub struct Tail {
    /// The slots from the watermark on.
    pub next: Range<u32>,
    /// Refilled slots, in ascending order. They may lie in `next` too.
    pub refilled: Vec<u32>,
}

impl Tail {
    /// Whether a slot is in the tail.
    pub fn contains(&self, slot: u32) -> bool {
        self.next.contains(&slot) || self.refilled.binary_search(&slot).is_ok()
    }

    /// The slots, perhaps one of them twice.
    #[cfg(all(test, not(feature = "shuttle")))]
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        self.next.clone().chain(self.refilled.iter().copied())
    }
}

impl LinkedGraph {
    /// An empty graph that will follow an arena.
    #[must_use]
    pub fn new(metric: Metric, params: Params) -> Self {
        let progressed = Progressed {
            next: 0,
            caught_up: false,
        };
        LinkedGraph::restored(Graph::new(metric, params), progressed)
    }

    /// A graph from a snapshot, over an arena that is restored with the same slots.
    #[must_use]
    pub fn restored(graph: Graph, progressed: Progressed) -> Self {
        let Progressed { next, caught_up } = progressed;
        let progress = Progress {
            next,
            ..Progress::default()
        };
        LinkedGraph {
            graph,
            progress: Mutex::new(progress),
            watermark: AtomicU32::new(next),
            marks: Table::sparse(1),
            refilled: AtomicU32::new(0),
            caught_up: AtomicBool::new(caught_up),
        }
    }

    /// The progress of the graph. No thread may link meanwhile.
    #[must_use]
    pub fn progressed(&self) -> Progressed {
        let progress = self.progress();
        let given_back = progress.given_back.iter().map(|slots| slots.start);
        Progressed {
            next: given_back.fold(progress.next, u32::min),
            caught_up: self.caught_up(),
        }
    }

    /// About the memory in bytes that the graph takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.graph.bytes(self.progress().next)
    }

    /// Makes the graph count as not caught up until its tail is short again.
    pub fn fall_behind(&self) {
        self.caught_up.store(false, Ordering::Release);
    }

    /// Notes that a slot holds a new point. A slot that was claimed before is queued to be linked
    /// once more; all others are claimed in their order. Only the writer calls this, before it
    /// publishes the point.
    pub fn follow(&self, slot: u32) -> Result<()> {
        let mut progress = self.progress();
        if slot < progress.next {
            let (word, bit) = bit_of(slot);
            self.marks.ensure(word as usize + 1)?;
            self.marks.get(word).fetch_or(bit, Ordering::Release);
            self.refilled.fetch_add(1, Ordering::Release);
            *progress.marked.entry(slot).or_default() += 1;
            progress.refilled.push_back(slot);
        }
        Ok(())
    }

    /// Claims the next slots to link, of an arena of `len` slots; None if there are none. The
    /// caller links them and then calls [`finish`](Self::finish), or [`give_back`](Self::give_back)
    /// if it cannot.
    pub fn claim(&self, len: u32) -> Option<Claim> {
        let mut progress = self.progress();
        if let Some(slots) = progress.given_back.pop() {
            return Some(Claim::Next(slots));
        }
        if !progress.refilled.is_empty() {
            let count = progress.refilled.len().min(CHUNK_SLOTS as usize);
            return Some(Claim::Refilled(progress.refilled.drain(..count).collect()));
        }
        let start = progress.next;
        if start >= len {
            return None;
        }
        let end = len.min(start.saturating_add(CHUNK_SLOTS));
        progress.next = end;
        progress.under_way.push(start);
        Some(Claim::Next(start..end))
    }

    /// Takes a claim back of which some slots are not linked. Any thread may claim it again.
    pub fn give_back(&self, claim: Claim) {
        let mut progress = self.progress();
        match claim {
            Claim::Next(slots) => progress.given_back.push(slots),
            Claim::Refilled(slots) => progress.refilled.extend(slots),
        }
    }

    /// Notes that the slots of a claim are linked, in an arena of `len` slots.
    pub fn finish(&self, claim: &Claim, len: u32) {
        let mut progress = self.progress();
        match claim {
            Claim::Next(slots) => {
                progress.under_way.retain(|&start| start != slots.start);
                let oldest = progress.under_way.iter().copied().min();
                let watermark = oldest.unwrap_or(progress.next);
                self.watermark.store(watermark, Ordering::Release);
            }
            Claim::Refilled(slots) => {
                for slot in slots {
                    let Some(times) = progress.marked.get_mut(slot) else {
                        continue;
                    };
                    *times -= 1;
                    if *times == 0 {
                        progress.marked.remove(slot);
                        let (word, bit) = bit_of(*slot);
                        self.marks.get(word).fetch_and(!bit, Ordering::Release);
                    }
                }
                self.refilled
                    .fetch_sub(slots.len() as u32, Ordering::Release);
            }
        }
        drop(progress);
        if self.tail_len(len) <= CAUGHT_UP_SLOTS {
            self.caught_up.store(true, Ordering::Release);
        }
    }

    /// The slots that may not be linked yet, of an arena of `len` slots. A search takes them before
    /// its walk: a point that is linked meanwhile is then found twice rather than missed.
    #[must_use]
    pub fn tail(&self, len: u32) -> Tail {
        Tail {
            refilled: self.refilled(len),
            next: self.watermark.load(Ordering::Acquire).min(len)..len,
        }
    }

    /// The refilled slots that are not linked, in ascending order, of an arena of `len` slots.
    fn refilled(&self, len: u32) -> Vec<u32> {
        let mut slots = Vec::new();
        if self.refilled.load(Ordering::Acquire) == 0 {
            return slots;
        }
        let words = (self.marks.capacity() as u32).min(len.div_ceil(u64::BITS));
        for word in 0..words {
            let bits = self.marks.get(word).load(Ordering::Acquire);
            slots.extend(indexes_of(word, bits));
        }
        slots
    }

    /// The number of slots in the tail, or a little more, of an arena of `len` slots.
    #[must_use]
    pub fn tail_len(&self, len: u32) -> u32 {
        let next = len - self.watermark.load(Ordering::Acquire).min(len);
        next.saturating_add(self.refilled.load(Ordering::Acquire))
    }

    /// Whether the graph has caught up with the arena. Searches use it from then on, and inserts
    /// wait while its tail is long.
    #[must_use]
    pub fn caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    fn linked() -> LinkedGraph {
        LinkedGraph::new(Metric::Euclidean, Params::default())
    }

    fn slots(tail: &Tail) -> Vec<u32> {
        tail.slots().collect()
    }

    #[test]
    fn the_tail_starts_at_the_oldest_claim_that_is_not_finished() {
        let linked = linked();
        let first = linked.claim(100).unwrap();
        let second = linked.claim(100).unwrap();
        linked.finish(&second, 100);
        assert!(linked.tail(100).slots().eq(0..100));
        linked.finish(&first, 100);
        assert!(linked.tail(100).slots().eq(2 * CHUNK_SLOTS..100));
        assert_eq!(linked.tail_len(100), 100 - 2 * CHUNK_SLOTS);
    }

    #[test]
    fn a_claim_that_is_given_back_stays_in_the_tail_until_it_is_claimed_again_and_linked() {
        let linked = linked();
        let first = linked.claim(40).unwrap();
        let second = linked.claim(40).unwrap();
        linked.give_back(first);
        linked.finish(&second, 40);
        assert_eq!(linked.progressed().next, 0, "as a snapshot would have it");
        assert!(linked.tail(40).slots().eq(0..40));
        let again = linked.claim(40).unwrap();
        assert!(again.slots().eq(0..CHUNK_SLOTS));
        linked.finish(&again, 40);
        assert!(linked.tail(40).slots().eq(2 * CHUNK_SLOTS..40));

        linked.follow(3).unwrap();
        let refilled = linked.claim(40).unwrap();
        linked.give_back(refilled);
        assert!(linked.tail(40).contains(3));
        assert!(linked.claim(40).unwrap().slots().eq([3]));
    }

    #[test]
    fn every_slot_is_claimed_once() {
        let linked = linked();
        let mut seen = Vec::new();
        while let Some(claim) = linked.claim(50) {
            seen.extend(claim.slots());
        }
        assert_eq!(seen, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn a_slot_that_is_used_again_is_in_the_tail_until_it_is_linked() {
        let linked = linked();
        let first = linked.claim(20).unwrap();
        linked.finish(&first, 20);
        linked.follow(3).unwrap();
        linked.follow(18).unwrap();
        assert_eq!(slots(&linked.tail(20)), [16, 17, 18, 19, 3]);
        assert_eq!(linked.tail_len(20), 5);
        let again = linked.claim(20).unwrap();
        assert!(again.slots().eq([3]), "18 has its turn still to come");
        assert!(linked.tail(20).slots().any(|slot| slot == 3));
        linked.finish(&again, 20);
        assert_eq!(slots(&linked.tail(20)), [16, 17, 18, 19]);
    }

    #[test]
    fn a_slot_that_is_used_again_twice_stays_in_the_tail_until_both_are_done() {
        let linked = linked();
        let all = linked.claim(8).unwrap();
        linked.finish(&all, 8);
        linked.follow(5).unwrap();
        let one = linked.claim(8).unwrap();
        linked.follow(5).unwrap();
        let other = linked.claim(8).unwrap();
        linked.finish(&other, 8);
        assert_eq!(slots(&linked.tail(8)), [5]);
        linked.finish(&one, 8);
        assert_eq!(linked.tail_len(8), 0);
    }

    #[test]
    fn a_graph_whose_tail_is_short_has_caught_up() {
        let linked = linked();
        assert!(!linked.caught_up());
        let claim = linked.claim(5).unwrap();
        linked.finish(&claim, 5);
        assert!(linked.caught_up());
    }
}
