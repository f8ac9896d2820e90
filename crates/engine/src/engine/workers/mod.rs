//! The search threads, which answer batches and heavy searches. They have a bounded queue of jobs.
//! Each job consists of parts, which the threads take one by one, so that one batch is spread over
//! all of them. Jobs take turns, the one with the least work left first, so that a small one never
//! waits for a large one to end.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    thread::{self, JoinHandle},
};

use crate::{Error, Result, engine::budget::Budget, hnsw::Scratch};

pub(super) mod job;
pub(super) mod queue;

pub use job::{Job, Turn};
pub use queue::Ticket;
use queue::{MAX_JOBS, Queue, RunningJob};

/// A fixed number of threads and their queue.
pub struct Workers {
    pub(super) shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    count: usize,
}

pub(super) struct Shared {
    queue: Mutex<Queue>,
    /// Signals that a job was added, or that the threads should end.
    changed: Condvar,
    pub(super) budget: Arc<Budget>,
}

impl Workers {
    /// Starts `threads` threads, whose jobs take their memory from `budget`.
    pub fn start(threads: usize, budget: Arc<Budget>) -> Result<Workers> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            budget,
        });
        let spawn = |number| {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name(format!("search-{number}"))
                .spawn(move || shared.run())
        };
        let started = (0..threads).map(spawn).collect::<std::io::Result<_>>()?;
        Ok(Workers {
            shared,
            threads: Mutex::new(started),
            count: threads,
        })
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.count
    }

    /// The number of jobs that wait or run, and the greatest number that may.
    pub fn jobs(&self) -> (usize, usize) {
        (self.shared.lock().len(), MAX_JOBS)
    }

    /// Enqueues a job. If it is refused, finishes it at once with the reason, and returns None.
    pub fn submit(&self, job: Box<dyn Job>) -> Option<Ticket> {
        match self.shared.enqueue(job) {
            Ok(ticket) => Some(ticket),
            Err((job, reason)) => {
                job.finish(Err(reason));
                None
            }
        }
    }

    /// Gives up a job that nobody waits for any more: parts that have not begun never will, and
    /// parts under way end soon. Its place in the queue is free once the last of them has ended.
    /// Does nothing if the job has ended.
    pub fn abandon(&self, ticket: Ticket) {
        let mut queue = self.shared.lock();
        let ended = queue.cut(ticket);
        drop(queue);
        if let Some(running) = ended {
            running.job.finish(Err(Error::Abandoned));
        }
    }

    /// Ends the threads and waits for them. Jobs that are not done are given up, and later ones are
    /// refused, so the caller lets its clients finish before.
    pub fn stop(&self) {
        let mut queue = self.shared.lock();
        let ended = queue.stop();
        drop(queue);
        self.shared.changed.notify_all();
        for running in ended {
            running.job.finish(Err(Error::Closed));
        }
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic in a part was caught and reported to its job.
            drop(thread.join());
        }
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job to the queue, or gives it back with the reason why it is refused.
    fn enqueue(&self, job: Box<dyn Job>) -> std::result::Result<Ticket, (Box<dyn Job>, Error)> {
        let mut queue = self.lock();
        if queue.is_stopped() {
            return Err((job, Error::Closed));
        }
        if let Err(error) = queue.check_limit(job.work_left()) {
            return Err((job, error));
        }
        let memory = match self.budget.reserve(job.bytes()) {
            Ok(memory) => memory,
            Err(error) => return Err((job, error)),
        };
        let ticket = queue.add(job, memory);
        drop(queue);
        self.changed.notify_all();
        Ok(ticket)
    }

    /// The loop of a search thread.
    fn run(&self) {
        let mut scratch = Scratch::new();
        while let Some((running, part)) = self.next_part() {
            let has_other = || self.lock().has_other(running.ticket);
            let turn = Turn {
                is_cut: &running.is_cut,
                has_other: &has_other,
            };
            let work = AssertUnwindSafe(|| running.job.run(part, &mut scratch, &turn));
            let is_done = catch_unwind(work).unwrap_or_else(|_| {
                running.panics.fetch_add(1, Ordering::Relaxed);
                scratch = Scratch::new();
                true
            });
            let mut queue = self.lock();
            let ended = queue.end_turn(running.ticket, part, is_done);
            let stopped = queue.is_stopped();
            drop(queue);
            if let Some(running) = ended {
                // A panic in the callback of the job must not end the thread.
                drop(catch_unwind(AssertUnwindSafe(|| {
                    running.job.finish(running.outcome(stopped));
                })));
            }
        }
    }

    /// Waits for a part that needs a turn, and takes it. None once the threads should end and no
    /// part waits.
    fn next_part(&self) -> Option<(Arc<RunningJob>, usize)> {
        let mut queue = self.lock();
        loop {
            if let Some(next) = queue.next_part() {
                return Some(next);
            }
            if queue.is_stopped() {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
