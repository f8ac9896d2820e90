//! What the threads work on, and for how long before they look for other work.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Result, hnsw::Scratch};

/// Candidates of searches after which a part gives way to other jobs: some milliseconds.
pub const TURN_WORK: u64 = 4096;

/// Work of several parts, each done once, in one or more turns, on whichever threads.
pub trait Job: Send + Sync {
    /// The number of parts, at least 1.
    fn parts(&self) -> usize;

    /// The work that is left, in candidates of searches.
    fn work_left(&self) -> u64;

    /// Goes on with a part for as long as the turn allows. Returns whether the part is done.
    fn run(&self, part: usize, scratch: &mut Scratch, turn: &Turn) -> bool;

    /// The memory that the job and its results take.
    fn bytes(&self) -> usize;

    /// Is called once: after every part is done, or when the job was refused or abandoned or a part
    /// panicked.
    fn finish(&self, outcome: Result<()>);
}

/// The work that a thread does on one part before it looks for the next one.
pub struct Turn<'a> {
    /// Whether the job was given up.
    pub is_cut: &'a AtomicBool,
    /// Whether another job waits for a thread.
    pub has_other: &'a dyn Fn() -> bool,
}

impl Turn<'_> {
    /// Whether to go on after this much work, in candidates. Not if the job was given up, or if the
    /// turn is long enough and another job waits.
    #[must_use]
    pub fn goes_on(&self, work: u64) -> bool {
        let is_over = || work >= TURN_WORK && (self.has_other)();
        !self.is_cut.load(Ordering::Relaxed) && !is_over()
    }
}
