//! The jobs that the search threads work on, and the turns after which a thread looks for other
//! work.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Result, hnsw::Scratch};

/// The number of points that a part considers in its searches before it gives way to other jobs:
/// some milliseconds of work.
pub const TURN_POINTS: u64 = 4096;

/// Work that consists of parts. Each part is done once, in one or more turns, by any threads;
/// several threads may run different parts at once.
pub trait Job: Send + Sync {
    /// The number of parts, at least 1.
    fn parts(&self) -> usize;

    /// The work that is left, in candidates of searches.
    fn work_left(&self) -> u64;

    /// Goes on with a part for as long as the turn allows. Returns whether the part is done.
    fn run(&self, part: usize, scratch: &mut Scratch, turn: &Turn) -> bool;

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
    /// Tells whether another job waits for a thread.
    pub has_other: &'a dyn Fn() -> bool,
}

impl Turn<'_> {
    /// Whether to go on with the turn after this number of points were considered in it. False if
    /// the job was given up, or if the turn has reached [`TURN_POINTS`] and another job waits.
    #[must_use]
    pub fn goes_on(&self, considered: u64) -> bool {
        let is_over = || considered >= TURN_POINTS && (self.has_other)();
        !self.is_cut.load(Ordering::Relaxed) && !is_over()
    }
}
