//! The threads that answer batches and heavy searches: a bounded queue of jobs, each a number of
//! parts that the threads take one by one, so that one batch is spread over all of them.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use crate::{
    Error, Result,
    budget::{Budget, Reservation},
    graph::Scratch,
};

/// Jobs that wait or run at one time: beyond it the answer is "overloaded", at once.
const MAX_JOBS: usize = 256;

/// Work of several parts, each done once, on whichever thread.
pub trait Job: Send + Sync {
    /// The number of parts, at least 1.
    fn parts(&self) -> usize;

    /// Does one part.
    fn run(&self, part: usize, scratch: &mut Scratch);

    /// The memory that the job and its results take.
    fn bytes(&self) -> usize;

    /// Is called once: after every part is done, or when the job was refused or a part panicked.
    fn finish(&self, outcome: Result<()>);
}

/// A fixed number of threads and their queue.
pub struct Workers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    count: usize,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    budget: Arc<Budget>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Arc<Running>>,
    /// Jobs that wait or run.
    count: usize,
    stopped: bool,
}

struct Running {
    job: Box<dyn Job>,
    next: AtomicUsize,
    unfinished: AtomicUsize,
    panics: AtomicUsize,
    /// Whether a part was left undone because the threads should end.
    is_cut: AtomicBool,
    _memory: Reservation,
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

    /// How many threads work.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.count
    }

    /// How many jobs wait or run, and how many may.
    pub fn jobs(&self) -> (usize, usize) {
        (self.shared.lock().count, MAX_JOBS)
    }

    /// Enqueues a job, or finishes it at once with the reason why not.
    pub fn submit(&self, job: Box<dyn Job>) {
        if let Err((job, reason)) = self.shared.enqueue(job) {
            job.finish(Err(reason));
        }
    }

    /// Ends the threads, each after the part it is at: whoever closes has let its clients finish
    /// before, and nobody waits for the rest. Jobs that are not done are refused, and later ones.
    pub fn stop(&self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic in a part was caught and reported to its job.
            drop(thread.join());
        }
    }
}

impl Running {
    fn outcome(&self) -> Result<()> {
        if self.panics.load(Ordering::Relaxed) > 0 {
            Err(Error::Internal("a search panicked".into()))
        } else if self.is_cut.load(Ordering::Relaxed) {
            Err(Error::Closed)
        } else {
            Ok(())
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(&self, job: Box<dyn Job>) -> std::result::Result<(), (Box<dyn Job>, Error)> {
        let mut queue = self.lock();
        if queue.stopped {
            return Err((job, Error::Closed));
        }
        if queue.count >= MAX_JOBS {
            let reason = format!("{MAX_JOBS} batch searches are under way; try again");
            return Err((job, Error::Overloaded(reason)));
        }
        let memory = match self.budget.reserve(job.bytes()) {
            Ok(memory) => memory,
            Err(error) => return Err((job, error)),
        };
        queue.count += 1;
        queue.jobs.push_back(Arc::new(Running {
            is_cut: AtomicBool::new(false),
            _memory: memory,
            next: AtomicUsize::new(0),
            unfinished: AtomicUsize::new(job.parts()),
            panics: AtomicUsize::new(0),
            job,
        }));
        drop(queue);
        self.changed.notify_all();
        Ok(())
    }

    fn run(&self) {
        let mut scratch = Scratch::new();
        while let Some((running, part)) = self.next_part() {
            if self.lock().stopped {
                running.is_cut.store(true, Ordering::Relaxed);
            } else {
                let work = AssertUnwindSafe(|| running.job.run(part, &mut scratch));
                if catch_unwind(work).is_err() {
                    running.panics.fetch_add(1, Ordering::Relaxed);
                    scratch = Scratch::new();
                }
            }
            if running.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.lock().count -= 1;
                // Whoever waits for the job can do no more about a panic in its own callback.
                drop(catch_unwind(AssertUnwindSafe(|| {
                    running.job.finish(running.outcome());
                })));
            }
        }
    }

    /// The next part of the oldest job that has one left; none once the threads should end.
    fn next_part(&self) -> Option<(Arc<Running>, usize)> {
        let mut queue = self.lock();
        loop {
            if let Some(running) = queue.jobs.front() {
                let running = Arc::clone(running);
                let part = running.next.fetch_add(1, Ordering::Relaxed);
                if part + 1 >= running.job.parts() {
                    queue.jobs.pop_front();
                }
                return Some((running, part));
            }
            if queue.stopped {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    struct Count {
        parts: usize,
        done: Vec<AtomicUsize>,
        panics_at: Option<usize>,
        /// Holds every part up while it is locked.
        gate: Option<Arc<Mutex<()>>>,
        finished: Sender<(Vec<usize>, Result<()>)>,
    }

    impl Job for Count {
        fn parts(&self) -> usize {
            self.parts
        }

        fn bytes(&self) -> usize {
            100
        }

        fn run(&self, part: usize, _scratch: &mut Scratch) {
            if let Some(gate) = &self.gate {
                drop(gate.lock());
            }
            self.done[part].fetch_add(1, Ordering::Relaxed);
            assert_ne!(self.panics_at, Some(part), "a part that panics on purpose");
        }

        fn finish(&self, outcome: Result<()>) {
            let counts = self
                .done
                .iter()
                .map(|count| count.load(Ordering::Relaxed))
                .collect();
            self.finished.send((counts, outcome)).unwrap();
        }
    }

    fn count(
        parts: usize,
        panics_at: Option<usize>,
        finished: Sender<(Vec<usize>, Result<()>)>,
    ) -> Count {
        Count {
            parts,
            done: (0..parts).map(|_| AtomicUsize::new(0)).collect(),
            panics_at,
            gate: None,
            finished,
        }
    }

    #[test]
    fn every_part_is_done_once_before_the_job_finishes() {
        let workers = Workers::start(3, Budget::new(usize::MAX)).unwrap();
        let (sender, receiver) = channel();
        for _ in 0..20 {
            workers.submit(Box::new(count(50, None, sender.clone())));
        }
        for _ in 0..20 {
            let (counts, outcome) = receiver.recv().unwrap();
            outcome.unwrap();
            assert_eq!(counts, vec![1; 50]);
        }
    }

    #[test]
    fn a_panic_is_reported_and_the_threads_live_on() {
        let workers = workers(1);
        let (sender, receiver) = channel();
        workers.submit(Box::new(count(3, Some(1), sender.clone())));
        let (counts, outcome) = receiver.recv().unwrap();
        assert_eq!(counts, vec![1; 3]);
        assert!(matches!(outcome, Err(Error::Internal(_))));
        workers.submit(Box::new(count(1, None, sender)));
        assert!(receiver.recv().unwrap().1.is_ok());
    }

    #[test]
    fn stopping_refuses_what_is_not_done_and_what_comes_later() {
        let workers = workers(1);
        let (sender, receiver) = channel();
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        for _ in 0..5 {
            let gate = Some(Arc::clone(&gate));
            workers.submit(Box::new(Count {
                gate,
                ..count(10, None, sender.clone())
            }));
        }
        thread::scope(|scope| {
            let stop = scope.spawn(|| workers.stop());
            while !workers.shared.lock().stopped {
                thread::yield_now();
            }
            drop(held);
            stop.join().unwrap();
        });
        let refused = |(_, outcome): &(_, Result<()>)| matches!(outcome, Err(Error::Closed));
        assert_eq!(receiver.try_iter().filter(refused).count(), 5);
        workers.submit(Box::new(count(1, None, sender)));
        assert!(refused(&receiver.try_recv().unwrap()));
    }

    #[test]
    fn jobs_beyond_the_budget_are_refused_at_once() {
        let workers = workers(1);
        let (sender, receiver) = channel();
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        for _ in 0..11 {
            let gate = Some(Arc::clone(&gate));
            workers.submit(Box::new(Count {
                gate,
                ..count(1, None, sender.clone())
            }));
        }
        assert!(matches!(
            receiver.recv().unwrap().1,
            Err(Error::Overloaded(_))
        ));
        drop(held);
        for _ in 0..10 {
            assert!(receiver.recv().unwrap().1.is_ok());
        }
    }

    fn workers(threads: usize) -> Workers {
        Workers::start(threads, Budget::new(1_000)).unwrap()
    }
}
