//! The threads that answer batches and heavy searches: a bounded queue of jobs, each a number of
//! parts that the threads take one by one, so that one batch is spread over all of them.

use std::{
    collections::{HashMap, VecDeque},
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

    /// Does one part, or as much of it as was done when nobody wanted it any more.
    fn run(&self, part: usize, scratch: &mut Scratch, is_cut: &AtomicBool);

    /// The memory that the job and its results take.
    fn bytes(&self) -> usize;

    /// Is called once: after every part is done, or when the job was refused or abandoned or a part
    /// panicked.
    fn finish(&self, outcome: Result<()>);
}

/// Names a job for whoever may abandon it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

impl Ticket {
    /// The number of this ticket.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The ticket of this number; one that was never given out names nothing.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        Ticket(number)
    }
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
    /// Jobs of which a part has not been begun, the oldest first.
    waiting: VecDeque<Arc<Running>>,
    /// All jobs that wait or run.
    unfinished: HashMap<Ticket, Arc<Running>>,
    tickets: u64,
    stopped: bool,
}

struct Running {
    ticket: Ticket,
    job: Box<dyn Job>,
    /// The part that is begun next; changes only under the lock of the queue.
    next: AtomicUsize,
    unfinished: AtomicUsize,
    panics: AtomicUsize,
    /// Whether something was left undone because nobody waits for it or the threads should end.
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
        (self.shared.lock().unfinished.len(), MAX_JOBS)
    }

    /// Enqueues a job, or finishes it at once with the reason why not.
    pub fn submit(&self, job: Box<dyn Job>) -> Option<Ticket> {
        match self.shared.enqueue(job) {
            Ok(ticket) => Some(ticket),
            Err((job, reason)) => {
                job.finish(Err(reason));
                None
            }
        }
    }

    /// Gives up a job that nobody waits for any more. What has not begun never will, and its place
    /// in the queue is free; what is under way ends soon. Nothing, where the job has ended.
    pub fn abandon(&self, ticket: Ticket) {
        let mut queue = self.shared.lock();
        let Some(running) = queue.unfinished.get(&ticket).map(Arc::clone) else {
            return;
        };
        let has_ended = queue.cut(&running);
        drop(queue);
        if has_ended {
            running.job.finish(Err(Error::Abandoned));
        }
    }

    /// Ends the threads, each soon: whoever closes has let its clients finish before, and nobody
    /// waits for the rest. Jobs that are not done are refused, and later ones.
    pub fn stop(&self) {
        let mut queue = self.shared.lock();
        queue.stopped = true;
        let mut unfinished: Vec<_> = queue.unfinished.values().map(Arc::clone).collect();
        unfinished.retain(|running| queue.cut(running));
        drop(queue);
        self.shared.changed.notify_all();
        for running in unfinished {
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

impl Queue {
    /// Takes a job out of those that wait and has its threads stop. Answers whether that was its
    /// end: else the last thread that works on it finishes it.
    fn cut(&mut self, running: &Arc<Running>) -> bool {
        running.is_cut.store(true, Ordering::Relaxed);
        let parts = running.job.parts();
        let left = parts - running.next.swap(parts, Ordering::Relaxed);
        if left == 0 {
            return false;
        }
        self.waiting
            .retain(|waiting| waiting.ticket != running.ticket);
        self.count_done(running, left)
    }

    /// Notes that so many parts of a job are done; answers whether the job is.
    fn count_done(&mut self, running: &Running, parts: usize) -> bool {
        let is_done = running.unfinished.fetch_sub(parts, Ordering::AcqRel) == parts;
        if is_done {
            self.unfinished.remove(&running.ticket);
        }
        is_done
    }
}

impl Running {
    fn outcome(&self, stopped: bool) -> Result<()> {
        if self.panics.load(Ordering::Relaxed) > 0 {
            Err(Error::Internal("a search panicked".into()))
        } else if !self.is_cut.load(Ordering::Relaxed) {
            Ok(())
        } else if stopped {
            Err(Error::Closed)
        } else {
            Err(Error::Abandoned)
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(&self, job: Box<dyn Job>) -> std::result::Result<Ticket, (Box<dyn Job>, Error)> {
        let mut queue = self.lock();
        if queue.stopped {
            return Err((job, Error::Closed));
        }
        if queue.unfinished.len() >= MAX_JOBS {
            let reason = format!("{MAX_JOBS} batch searches are under way; try again");
            return Err((job, Error::Overloaded(reason)));
        }
        let memory = match self.budget.reserve(job.bytes()) {
            Ok(memory) => memory,
            Err(error) => return Err((job, error)),
        };
        queue.tickets += 1;
        let ticket = Ticket(queue.tickets);
        let running = Arc::new(Running {
            ticket,
            is_cut: AtomicBool::new(false),
            _memory: memory,
            next: AtomicUsize::new(0),
            unfinished: AtomicUsize::new(job.parts()),
            panics: AtomicUsize::new(0),
            job,
        });
        queue.unfinished.insert(ticket, Arc::clone(&running));
        queue.waiting.push_back(running);
        drop(queue);
        self.changed.notify_all();
        Ok(ticket)
    }

    fn run(&self) {
        let mut scratch = Scratch::new();
        while let Some((running, part)) = self.next_part() {
            let work = AssertUnwindSafe(|| running.job.run(part, &mut scratch, &running.is_cut));
            if catch_unwind(work).is_err() {
                running.panics.fetch_add(1, Ordering::Relaxed);
                scratch = Scratch::new();
            }
            let mut queue = self.lock();
            let is_done = queue.count_done(&running, 1);
            let stopped = queue.stopped;
            drop(queue);
            if is_done {
                // Whoever waits for the job can do no more about a panic in its own callback.
                drop(catch_unwind(AssertUnwindSafe(|| {
                    running.job.finish(running.outcome(stopped));
                })));
            }
        }
    }

    /// The next part of the oldest job that has one left; none once the threads should end.
    fn next_part(&self) -> Option<(Arc<Running>, usize)> {
        let mut queue = self.lock();
        loop {
            if let Some(running) = queue.waiting.front() {
                let running = Arc::clone(running);
                let part = running.next.fetch_add(1, Ordering::Relaxed);
                if part + 1 >= running.job.parts() {
                    queue.waiting.pop_front();
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
        begun: Arc<AtomicBool>,
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

        fn run(&self, part: usize, _scratch: &mut Scratch, _is_cut: &AtomicBool) {
            self.begun.store(true, Ordering::Release);
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
            begun: Arc::default(),
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
    fn an_abandoned_job_is_not_begun_and_one_under_way_stops_after_its_part() {
        let workers = workers(1);
        let (sender, receiver) = channel();
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        let begun = Arc::new(AtomicBool::new(false));
        let submit = |parts| {
            workers.submit(Box::new(Count {
                gate: Some(Arc::clone(&gate)),
                begun: Arc::clone(&begun),
                ..count(parts, None, sender.clone())
            }))
        };
        let [under_way, waiting, wanted] = [3, 4, 5].map(|parts| submit(parts).unwrap());
        while !begun.load(Ordering::Acquire) {
            thread::yield_now();
        }

        workers.abandon(waiting);
        let (counts, outcome) = receiver.try_recv().unwrap();
        assert!(matches!(outcome, Err(Error::Abandoned)));
        assert_eq!(counts, vec![0; 4]);
        assert_eq!(workers.jobs().0, 2);
        assert_eq!(workers.shared.budget.usage().0, 200);

        workers.abandon(under_way);
        assert!(receiver.try_recv().is_err());
        drop(held);
        let (counts, outcome) = receiver.recv().unwrap();
        assert!(matches!(outcome, Err(Error::Abandoned)));
        assert_eq!(counts, [1, 0, 0]);

        let (counts, outcome) = receiver.recv().unwrap();
        outcome.unwrap();
        assert_eq!(counts, vec![1; 5]);
        assert_eq!(workers.jobs().0, 0);
        // Jobs that have ended, and one that never was.
        for ticket in [waiting, wanted, Ticket::of_number(u64::MAX)] {
            workers.abandon(ticket);
        }
        workers.stop();
        assert!(receiver.try_recv().is_err());
        assert_eq!(workers.shared.budget.usage().0, 0);
    }

    #[test]
    fn more_jobs_than_the_queue_holds_are_refused_until_one_is_abandoned() {
        let workers = Workers::start(1, Budget::new(usize::MAX)).unwrap();
        let (sender, receiver) = channel();
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        let submit = || {
            workers.submit(Box::new(Count {
                gate: Some(Arc::clone(&gate)),
                ..count(1, None, sender.clone())
            }))
        };
        let tickets: Vec<_> = (0..MAX_JOBS).map(|_| submit().unwrap()).collect();
        assert_eq!(submit(), None);
        let (_, outcome) = receiver.try_recv().unwrap();
        assert!(matches!(outcome, Err(Error::Overloaded(_))));
        workers.abandon(tickets[MAX_JOBS - 1]);
        assert!(submit().is_some());
        drop(held);
        workers.stop();
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
