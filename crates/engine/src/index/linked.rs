//! A graph that follows the arena: several threads link the slots in order, and the slots that are
//! not linked yet are known, so that a search can rank them besides.

use std::{
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use crate::{
    Metric,
    graph::{Graph, Params},
};

/// Slots that a thread takes at a time: few, so that the tail behind a running insert stays short.
const CHUNK_SLOTS: u32 = 16;

/// A graph counts as caught up once its tail is no longer than this.
const CAUGHT_UP_SLOTS: u32 = 1024;

/// A graph and how far it has followed the arena.
pub struct LinkedGraph {
    /// The graph itself.
    pub graph: Graph,
    /// Deleted slots when the linking began: none of them is in the graph.
    pub dead_before: u64,
    progress: Mutex<Progress>,
    watermark: AtomicU32,
    caught_up: AtomicBool,
}

#[derive(Default)]
struct Progress {
    next: u32,
    under_way: Vec<u32>,
}

impl LinkedGraph {
    /// An empty graph that will follow an arena in which `dead_before` slots are deleted.
    #[must_use]
    pub fn new(metric: Metric, params: Params, dead_before: u64) -> Self {
        LinkedGraph {
            graph: Graph::new(metric, params),
            dead_before,
            progress: Mutex::default(),
            watermark: AtomicU32::new(0),
            caught_up: AtomicBool::new(false),
        }
    }

    /// Takes the next slots to link, of an arena of `len` slots. Whoever takes them links them and
    /// then calls `finish`.
    pub fn claim(&self, len: u32) -> Option<Range<u32>> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let start = progress.next;
        if start >= len {
            return None;
        }
        let end = len.min(start.saturating_add(CHUNK_SLOTS));
        progress.next = end;
        progress.under_way.push(start);
        Some(start..end)
    }

    /// Reports the slots of a claim as linked, in an arena of `len` slots.
    pub fn finish(&self, claim: &Range<u32>, len: u32) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.under_way.retain(|&start| start != claim.start);
        let watermark = progress
            .under_way
            .iter()
            .copied()
            .min()
            .unwrap_or(progress.next);
        self.watermark.store(watermark, Ordering::Release);
        if len - watermark.min(len) <= CAUGHT_UP_SLOTS {
            self.caught_up.store(true, Ordering::Release);
        }
    }

    /// The slots that may not be linked yet, of an arena of `len` slots.
    #[must_use]
    pub fn tail(&self, len: u32) -> Range<u32> {
        self.watermark.load(Ordering::Acquire).min(len)..len
    }

    /// Whether the graph has once been as good as complete: from then on its tail is kept short.
    #[must_use]
    pub fn caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked() -> LinkedGraph {
        LinkedGraph::new(Metric::Euclidean, Params::default(), 0)
    }

    #[test]
    fn the_tail_starts_at_the_oldest_claim_that_is_not_finished() {
        let linked = linked();
        let first = linked.claim(100).unwrap();
        let second = linked.claim(100).unwrap();
        linked.finish(&second, 100);
        assert_eq!(linked.tail(100), 0..100);
        linked.finish(&first, 100);
        assert_eq!(linked.tail(100), second.end..100);
    }

    #[test]
    fn every_slot_is_claimed_once() {
        let linked = linked();
        let mut seen = Vec::new();
        while let Some(claim) = linked.claim(50) {
            seen.extend(claim);
        }
        assert_eq!(seen, (0..50).collect::<Vec<_>>());
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
