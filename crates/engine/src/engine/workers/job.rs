//! The jobs that the search threads work on, and the turns after which a thread looks for other
//! work.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::{Result, hnsw::Scratch};

/// The number of points that a part considers in its searches before it gives way to other jobs:
/// some milliseconds of work.
pub const TURN_POINTS: u64 = 4096;

/// How long work that cannot be left between two turns goes on before it gives way to other jobs.
pub const SLICE: Duration = Duration::from_millis(10);

/// Work that consists of parts. Each part is done once, in one or more turns, by any threads;
/// several threads may run different parts at once.
pub trait Job: Send + Sync {
    /// The number of parts, at least 1.
    fn parts(&self) -> usize;

    /// The work that is left, in candidates of searches.
    fn work_left(&self) -> u64;

    /// Goes on with a part for as long as the turn allows. Returns whether the part is done.
    fn run(&self, part: usize, scratch: &mut Scratch, turn: &Turn) -> bool;

    /// Whether a part may give way within a turn, as [`Turn::goes_on_in_slices`] has it. A part that
    /// has given way keeps its thread and its view while others work. The queue therefore limits how
    /// many such parts have begun.
    fn gives_way(&self) -> bool;

    /// Whether a write waits for the job: then no number of reads delays it for long, or has it
    /// refused.
    fn is_write(&self) -> bool {
        false
    }

    /// The bytes of memory that the job and its results take.
    fn bytes(&self) -> usize;

    /// Delivers the results, or the reason why there are none. Called once: after every part is
    /// done, or when the job was refused or abandoned or a part panicked.
    fn finish(&self, outcome: Result<()>);
}

/// One turn of a part: what a job asks to know when to end it.
pub struct Turn<'a> {
    /// Whether the job was given up.
    pub is_cut: &'a AtomicBool,
    /// Tells whether another job waits for a turn.
    pub has_other: &'a dyn Fn() -> bool,
    /// Lets another thread have this turn, and waits for a further one.
    pub give_way: &'a dyn Fn(),
    /// When the turn, or its last slice, began.
    pub begun: Cell<Instant>,
}

impl Turn<'_> {
    /// Whether to go on with the turn after this number of points were considered in it. False if
    /// the job was given up, or if the turn has reached [`TURN_POINTS`] and another job waits.
    #[must_use]
    pub fn goes_on(&self, considered: u64) -> bool {
        let is_over = || considered >= TURN_POINTS && (self.has_other)();
        !self.is_cut() && !is_over()
    }

    /// Whether to go on with work that cannot be left between two turns, such as a filter that is
    /// asked about all points. False if the job was given up. Where the work has gone on for
    /// [`SLICE`] and another job waits, its thread gives way first, if the job
    /// [gives way](Job::gives_way), and comes back here for its next turn. The caller holds no lock
    /// that other jobs take.
    #[must_use]
    pub fn goes_on_in_slices(&self) -> bool {
        if self.begun.get().elapsed() >= SLICE {
            if (self.has_other)() {
                (self.give_way)();
            }
            self.begun.set(Instant::now());
        }
        !self.is_cut()
    }

    fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }
}
