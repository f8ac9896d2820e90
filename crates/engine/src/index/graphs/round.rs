//! The state of a round of reclaiming slots (see [`reclaim`](super::super::linking::reclaim)).

use std::sync::{Arc, PoisonError};

use super::linked::LinkedGraph;
use crate::{
    Metric,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The round under way, if there is one, and the counts that decide when the next begins.
#[derive(Default)]
pub(crate) struct Reclaim {
    pub round: Mutex<Round>,
    /// Whether the step of `round` is another than [`Step::Rest`], to be read without the lock.
    pub is_under_way: AtomicBool,
    /// Whether one dead point is enough to begin a round.
    pub is_hurried: AtomicBool,
    /// The number of deleted points whose slots the last round could not free, since a graph still
    /// contains them.
    pub held_back: AtomicU64,
    /// The number of points that searches have passed since the last round began: walked through
    /// without returning them, mostly as they are deleted.
    pub passed: AtomicU64,
}

#[derive(Default)]
pub struct Round {
    pub step: Step,
    /// The slots to free, in ascending order.
    pub dead: Vec<u32>,
    /// The graphs that contain some of these points.
    pub consolidations: Vec<Arc<Consolidation>>,
    /// The number of graphs that had been given up when the last wait began.
    pub given_up: u32,
}

/// The next step of a round. Before some of them, an epoch has to pass (see
/// [`Epochs`](crate::sync::epoch::Epochs)): `epoch`. `at` is the index of a graph in
/// [`Round::consolidations`].
#[derive(Clone, Copy, Debug, Default)]
pub enum Step {
    /// No round is under way.
    #[default]
    Rest,
    /// Once the epoch has passed, mark the dead points as leaving in all graphs.
    Mark { epoch: u64 },
    /// Wait until the epoch has passed.
    WaitToLeave { epoch: u64 },
    /// Take leaving points out of the spanning tree of a graph. `next` is the index of the next
    /// point in [`Consolidation::leaving`].
    LeaveTree { at: usize, next: usize },
    /// Replace links to leaving points in a graph. `next` is the slot of the next row, `under_way`
    /// the number of pieces that threads work on.
    Relink {
        at: usize,
        next: u32,
        under_way: u32,
    },
    /// Once the epoch has passed, erase the points from the graphs and free their slots.
    Free { epoch: u64 },
}

/// The part of a round in one graph.
pub struct Consolidation {
    pub metric: Metric,
    pub linked: Arc<LinkedGraph>,
    /// The points that leave the graph.
    pub leaving: Vec<u32>,
}

impl Reclaim {
    /// Whether a round is under way. Then a linking thread without work looks again soon, since no
    /// signal says that an epoch has passed.
    pub(crate) fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Relaxed)
    }

    /// Sets whether a round begins for a single dead point from now on, or only where it pays.
    pub(crate) fn hurry(&self, is_hurried: bool) {
        self.is_hurried.store(is_hurried, Ordering::Relaxed);
    }

    pub fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
