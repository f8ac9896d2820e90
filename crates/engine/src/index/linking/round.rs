//! The state of a round of reclaiming (see `reclaim`).

use std::sync::{Arc, PoisonError};

use super::linked::LinkedGraph;
use crate::{
    Metric,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The round under way, if there is one, and what decides when the next begins.
#[derive(Default)]
pub(crate) struct Reclaim {
    pub(super) round: Mutex<Round>,
    pub(super) is_under_way: AtomicBool,
    /// Whether one dead point is enough to begin a round.
    pub(super) is_hurried: AtomicBool,
    /// Deleted points whose slots the last round could not free.
    pub(super) held_back: AtomicU64,
    /// Dead points that searches have passed since the last round began.
    pub(super) passed: AtomicU64,
}

#[derive(Default)]
pub(super) struct Round {
    pub(super) step: Step,
    /// The slots to free, in ascending order.
    pub(super) dead: Vec<u32>,
    pub(super) consolidations: Vec<Arc<Consolidation>>,
    /// The number of graphs that had been given up when the last wait began.
    pub(super) given_up: u32,
}

/// Each step that begins with a wait holds the epoch that has to pass. `at` is the place of a
/// graph in [`Round::consolidations`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Step {
    #[default]
    Rest,
    Mark {
        epoch: u64,
    },
    WaitToLeave {
        epoch: u64,
    },
    /// `next` is the place of the next point in [`Consolidation::leaving`].
    LeaveTree {
        at: usize,
        next: usize,
    },
    /// `next` is the slot of the next row, `under_way` the number of pieces that threads work on.
    Relink {
        at: usize,
        next: u32,
        under_way: u32,
    },
    Free {
        epoch: u64,
    },
}

/// What a round does to one graph.
pub(super) struct Consolidation {
    pub(super) metric: Metric,
    pub(super) linked: Arc<LinkedGraph>,
    pub(super) leaving: Vec<u32>,
}

impl Reclaim {
    /// Whether a round is under way: some of its steps wait for no signal.
    pub(crate) fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Relaxed)
    }

    /// Whether a round begins for a single dead point from now on, or only where it pays.
    pub(crate) fn hurry(&self, is_hurried: bool) {
        self.is_hurried.store(is_hurried, Ordering::Relaxed);
    }

    pub(super) fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
