//! The search threads, which answer batches and heavy searches. They have a bounded queue of jobs.
//! Each job consists of parts, which the threads take one by one, so that one batch is spread over
//! all of them. Jobs take turns, the one with the least work left first, so that a small one never
//! waits for a large one to end. Work that cannot be left between two turns keeps its thread, which
//! waits for the next turn, while another thread has this one. It also keeps its view. At most
//! [`PAUSED_VIEWS`] parts of reads that may give way have begun at one time, and as many of writes, so
//! that others get views. Writes go before reads.

use std::{
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    thread::{self, JoinHandle},
    time::Instant,
};

use crate::{Error, Result, engine::budget::Budget, hnsw::Scratch, index::PAUSED_VIEWS};

pub(super) mod job;
mod own_core;
pub(super) mod queue;

pub use job::{Job, Turn};
use own_core::wait_on_core;
pub use queue::Ticket;
use queue::{MAX_JOBS, Queue, RunningJob};

/// The threads and their queue. A fixed number of them have a turn at once.
pub struct Workers {
    pub(super) shared: Arc<Shared>,
    count: usize,
}

pub(super) struct Shared {
    queue: Mutex<Queue>,
    /// Tells a thread that a part may begin, and all of them that they should end.
    part_came: Condvar,
    /// Tells the threads that have given way that one of them may go on.
    turn_came: Condvar,
    /// Taken while the queue is locked, and not the other way round.
    threads: Mutex<Vec<JoinHandle<()>>>,
    pub(super) budget: Arc<Budget>,
}

impl Workers {
    /// Starts threads for `threads` turns at once. Jobs take their memory from `budget`.
    pub fn start(threads: usize, budget: Arc<Budget>) -> Result<Workers> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::new(threads, PAUSED_VIEWS)),
            part_came: Condvar::new(),
            turn_came: Condvar::new(),
            threads: Mutex::default(),
            budget,
        });
        let workers = Workers {
            shared,
            count: threads,
        };
        for _ in 0..threads {
            if let Err(error) = workers.shared.spawn() {
                workers.stop();
                return Err(error.into());
            }
        }
        Ok(workers)
    }

    /// The number of threads that have a turn at once.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.count
    }

    /// The number of searches and reads that wait or run, and the greatest number that may.
    pub fn jobs(&self) -> (usize, usize) {
        (self.shared.lock().count(false), MAX_JOBS)
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
        self.shared.turn_came.notify_all();
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
        self.shared.part_came.notify_all();
        self.shared.turn_came.notify_all();
        for running in ended {
            running.job.finish(Err(Error::Closed));
        }
        let threads = std::mem::take(&mut *self.shared.threads());
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
        if let Err(error) = queue.check_limit(job.as_ref()) {
            return Err((job, error));
        }
        let memory = if job.is_write() {
            // Few beside what was reserved for what it finds.
            self.budget.take(job.bytes())
        } else {
            match self.budget.reserve(job.bytes()) {
                Ok(memory) => memory,
                Err(error) => return Err((job, error)),
            }
        };
        let ticket = queue.add(job, memory);
        self.wake(&queue);
        Ok(ticket)
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of threads that have not ended.
    #[cfg(all(test, not(feature = "shuttle")))]
    pub fn live_threads(&self) -> usize {
        let threads = self.threads();
        threads
            .iter()
            .filter(|thread| !thread.is_finished())
            .count()
    }

    /// Starts a thread.
    fn spawn(self: &Arc<Self>) -> io::Result<()> {
        let mut threads = self.threads();
        threads.retain(|thread| !thread.is_finished());
        let shared = Arc::clone(self);
        let thread = thread::Builder::new()
            .name(format!("search-{}", threads.len()))
            .spawn(move || shared.run())?;
        threads.push(thread);
        Ok(())
    }

    /// Wakes the thread that has the next turn: an idle one for a part, which wakes the next when it
    /// has taken the part, or a thread that has given way.
    fn wake(&self, queue: &Queue) {
        if queue.may_begin() {
            self.part_came.notify_one();
        }
        if queue.has_thread() {
            self.turn_came.notify_all();
        }
    }

    /// The loop of a search thread.
    fn run(self: &Arc<Self>) {
        let mut scratch = Scratch::new();
        let mut core = 0;
        while let Some((running, part)) = self.next_part(&mut core) {
            let has_other = || self.lock().has_other(running.ticket);
            let give_way = || self.give_way(&running);
            let turn = Turn {
                is_cut: &running.is_cut,
                has_other: &has_other,
                give_way: &give_way,
                begun: Cell::new(Instant::now()),
            };
            scratch.end_when(&running.is_cut);
            let work = AssertUnwindSafe(|| running.job.run(part, &mut scratch, &turn));
            let is_done = catch_unwind(work).unwrap_or_else(|_| {
                running.panics.fetch_add(1, Ordering::Relaxed);
                scratch = Scratch::new();
                true
            });
            let mut queue = self.lock();
            let ended = queue.end_turn(running.ticket, part, is_done);
            let stopped = queue.is_stopped();
            self.wake(&queue);
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
    /// part waits, or if there are enough of them without this one. `core` is where the thread waited
    /// last.
    fn next_part(&self, core: &mut usize) -> Option<(Arc<RunningJob>, usize)> {
        let mut queue = self.lock();
        loop {
            if queue.may_begin() {
                let next = queue.next_part();
                self.wake(&queue);
                return next;
            }
            if queue.is_stopped() || queue.has_too_many_threads() {
                return None;
            }
            *core = queue.begin_wait(*core);
            queue = wait_on_core(*core, || self.part_came.wait(queue))
                .unwrap_or_else(PoisonError::into_inner);
            queue.end_wait(*core);
        }
    }

    /// Lets another thread have the turn of this one, which works on this job, until it is the turn of
    /// this one again, or the job is given up. If all threads have work, there is one more from now
    /// on; if the system has none to give, the turn goes on.
    fn give_way(self: &Arc<Self>, running: &RunningJob) {
        if !running.job.gives_way() {
            return;
        }
        let mut queue = self.lock();
        let is_cut = || running.is_cut.load(Ordering::Relaxed);
        let needs_thread = !queue.has_idle_thread() && queue.has_part();
        if is_cut() || needs_thread && self.spawn().is_err() {
            return;
        }
        let thread = queue.give_way(running.job.is_write());
        self.wake(&queue);
        while !queue.may_go_on(thread) && !is_cut() {
            queue = self
                .turn_came
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.go_on(thread);
        self.wake(&queue);
    }
}
