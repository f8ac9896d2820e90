//! The threads that answer batches and heavy searches: a bounded queue of jobs, each a number of
//! parts that the threads take one by one, so that one batch is spread over all of them. Jobs take
//! turns, the one with the least work left first, so that a small one never waits for a large one.

use std::{
    collections::BTreeMap,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use crate::{
    Error, Result,
    engine::budget::{Budget, Reservation},
    hnsw::Scratch,
};

/// Jobs that wait or run at one time: beyond it the answer is "overloaded", at once.
const MAX_JOBS: usize = 256;

/// Of those, one in so many is for jobs of little work alone: they are done soon, whatever else
/// waits, and are not to be refused because of it.
const SMALL_SHARE: usize = 8;

/// Candidates of searches of a job of little work.
const LITTLE_WORK: u64 = 4 * TURN_WORK;

/// Candidates of searches after which a part gives way to other jobs: some milliseconds.
const TURN_WORK: u64 = 4096;

/// Every so many turns the oldest job is next, however much of it is left, so that none starves.
const FAIR_TURN: u64 = 4;

/// Work of several parts, each done once, in one or more turns, on whichever threads.
pub trait Job: Send + Sync {
    /// The number of parts, at least 1.
    fn parts(&self) -> usize;

    /// The work that is left, in candidates of searches.
    fn work_left(&self) -> u64;

    /// Goes on with a part for as long as the turn allows; answers whether the part is done.
    fn run(&self, part: usize, scratch: &mut Scratch, turn: &Turn) -> bool;

    /// The memory that the job and its results take.
    fn bytes(&self) -> usize;

    /// Is called once: after every part is done, or when the job was refused or abandoned or a part
    /// panicked.
    fn finish(&self, outcome: Result<()>);
}

/// Names a job for whoever may abandon it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// All jobs that wait or run, the oldest first.
    unfinished: BTreeMap<Ticket, Unfinished>,
    tickets: u64,
    turns: u64,
    stopped: bool,
}

/// A job and how far it is.
struct Unfinished {
    running: Arc<Running>,
    /// The first part that has had no turn.
    next: usize,
    /// Parts between two turns.
    paused: Vec<usize>,
    /// Parts that are not done.
    undone: usize,
}

struct Running {
    ticket: Ticket,
    job: Box<dyn Job>,
    panics: AtomicUsize,
    /// Whether something was left undone because nobody waits for it or the threads should end.
    is_cut: AtomicBool,
    _memory: Reservation,
}

/// What a thread does of one part before it looks what is next.
pub struct Turn<'a> {
    shared: &'a Shared,
    running: &'a Running,
}

impl Turn<'_> {
    /// Whether to go on after so much work: until nobody wants the job any more, or a while has
    /// passed and another job waits.
    #[must_use]
    pub fn goes_on(&self, work: u64) -> bool {
        let is_over = || work >= TURN_WORK && self.shared.lock().has_other(self.running.ticket);
        !self.running.is_cut.load(Ordering::Relaxed) && !is_over()
    }
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
        let ended = queue.cut(ticket);
        drop(queue);
        if let Some(running) = ended {
            running.job.finish(Err(Error::Abandoned));
        }
    }

    /// Ends the threads, each soon: whoever closes has let its clients finish before, and nobody
    /// waits for the rest. Jobs that are not done are refused, and later ones.
    pub fn stop(&self) {
        let mut queue = self.shared.lock();
        queue.stopped = true;
        let tickets: Vec<_> = queue.unfinished.keys().copied().collect();
        let cut = |ticket| queue.cut(ticket);
        let ended: Vec<_> = tickets.into_iter().filter_map(cut).collect();
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

impl Queue {
    /// Gives up what has not begun of a job, or is between two turns, and has its threads stop.
    /// Answers the job if that was its end: else the last thread that works on it finishes it.
    fn cut(&mut self, ticket: Ticket) -> Option<Arc<Running>> {
        let job = self.unfinished.get_mut(&ticket)?;
        job.running.is_cut.store(true, Ordering::Relaxed);
        let parts = job.running.job.parts();
        let waiting = parts - mem::replace(&mut job.next, parts) + job.paused.len();
        job.paused.clear();
        self.note_done(ticket, waiting)
    }

    /// Notes how a turn ended; answers the job if that was its end.
    fn end_turn(&mut self, ticket: Ticket, part: usize, is_done: bool) -> Option<Arc<Running>> {
        let job = self.unfinished.get_mut(&ticket)?;
        if is_done || job.running.is_cut.load(Ordering::Relaxed) {
            return self.note_done(ticket, 1);
        }
        job.paused.push(part);
        None
    }

    /// Notes that so many parts of a job need no more turns; answers the job if none does.
    fn note_done(&mut self, ticket: Ticket, parts: usize) -> Option<Arc<Running>> {
        let job = self.unfinished.get_mut(&ticket)?;
        job.undone -= parts;
        if job.undone > 0 {
            return None;
        }
        Some(self.unfinished.remove(&ticket)?.running)
    }

    /// Whether a job other than this one waits for a thread.
    fn has_other(&self, ticket: Ticket) -> bool {
        let mut jobs = self.unfinished.iter();
        jobs.any(|(&other, job)| other != ticket && job.waits())
    }

    /// The part that has the next turn, if any waits: of the job with the least work left.
    fn next_part(&mut self) -> Option<(Arc<Running>, usize)> {
        let is_fair = (self.turns + 1).is_multiple_of(FAIR_TURN);
        let mut waiting = self.unfinished.values_mut().filter(|job| job.waits());
        let job = if is_fair {
            waiting.next()
        } else {
            waiting.min_by_key(|job| job.running.job.work_left())
        }?;
        let part = job.take_part();
        let running = Arc::clone(&job.running);
        self.turns += 1;
        Some((running, part))
    }
}

impl Unfinished {
    fn waits(&self) -> bool {
        !self.paused.is_empty() || self.next < self.running.job.parts()
    }

    /// A part that waits, of which there is one.
    fn take_part(&mut self) -> usize {
        self.paused.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
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
        let most = if job.work_left() <= LITTLE_WORK {
            MAX_JOBS
        } else {
            MAX_JOBS - MAX_JOBS / SMALL_SHARE
        };
        if queue.unfinished.len() >= most {
            let reason = format!("{most} batch searches are under way; try again");
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
            panics: AtomicUsize::new(0),
            job,
        });
        let unfinished = Unfinished {
            next: 0,
            paused: Vec::new(),
            undone: running.job.parts(),
            running,
        };
        queue.unfinished.insert(ticket, unfinished);
        drop(queue);
        self.changed.notify_all();
        Ok(ticket)
    }

    fn run(&self) {
        let mut scratch = Scratch::new();
        while let Some((running, part)) = self.next_part() {
            let turn = Turn {
                shared: self,
                running: &running,
            };
            let work = AssertUnwindSafe(|| running.job.run(part, &mut scratch, &turn));
            let is_done = catch_unwind(work).unwrap_or_else(|_| {
                running.panics.fetch_add(1, Ordering::Relaxed);
                scratch = Scratch::new();
                true
            });
            let mut queue = self.lock();
            let ended = queue.end_turn(running.ticket, part, is_done);
            let stopped = queue.stopped;
            drop(queue);
            if let Some(running) = ended {
                // Whoever waits for the job can do no more about a panic in its own callback.
                drop(catch_unwind(AssertUnwindSafe(|| {
                    running.job.finish(running.outcome(stopped));
                })));
            }
        }
    }

    /// The part that has the next turn, as soon as there is one; none once the threads should end.
    fn next_part(&self) -> Option<(Arc<Running>, usize)> {
        let mut queue = self.lock();
        loop {
            if let Some(next) = queue.next_part() {
                return Some(next);
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
        /// What a part takes: a step is as much work as a turn is.
        steps: usize,
        /// Steps of each part.
        done: Vec<AtomicUsize>,
        name: char,
        /// The names of the jobs in the order of their steps.
        log: Arc<Mutex<String>>,
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

        fn work_left(&self) -> u64 {
            let steps = self.done.iter().map(|count| count.load(Ordering::Relaxed));
            (self.parts * self.steps - steps.sum::<usize>()) as u64
        }

        fn run(&self, part: usize, _scratch: &mut Scratch, turn: &Turn) -> bool {
            let mut work = 0;
            while self.done[part].load(Ordering::Relaxed) < self.steps {
                if !turn.goes_on(work) {
                    return false;
                }
                self.begun.store(true, Ordering::Release);
                if let Some(gate) = &self.gate {
                    drop(gate.lock());
                }
                self.log.lock().unwrap().push(self.name);
                self.done[part].fetch_add(1, Ordering::Relaxed);
                assert_ne!(self.panics_at, Some(part), "a part that panics on purpose");
                work += TURN_WORK;
            }
            true
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
            steps: 1,
            name: 'x',
            log: Arc::default(),
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

    /// The order in which one thread does the steps of jobs: the first is under way when the others
    /// come. Of each the name, the parts, and the steps of a part.
    fn order_of(jobs: &[(char, usize, usize)]) -> String {
        let workers = Workers::start(1, Budget::new(usize::MAX)).unwrap();
        let (sender, receiver) = channel();
        let (gate, begun) = (Arc::new(Mutex::new(())), Arc::new(AtomicBool::new(false)));
        let log = Arc::new(Mutex::new(String::new()));
        let held = gate.lock().unwrap();
        for &(name, parts, steps) in jobs {
            workers.submit(Box::new(Count {
                name,
                steps,
                begun: Arc::clone(&begun),
                log: Arc::clone(&log),
                gate: Some(Arc::clone(&gate)),
                ..count(parts, None, sender.clone())
            }));
            while !begun.load(Ordering::Acquire) {
                thread::yield_now();
            }
        }
        drop(held);
        for _ in jobs {
            let (counts, outcome) = receiver.recv().unwrap();
            outcome.unwrap();
            assert!(counts.windows(2).all(|pair| pair[0] == pair[1]));
        }
        log.lock().unwrap().clone()
    }

    #[test]
    fn the_job_with_the_least_work_left_is_next_and_every_fourth_turn_the_oldest() {
        let order = order_of(&[('a', 12, 1), ('b', 6, 1), ('c', 2, 1)]);
        assert_eq!(order, "accabbbabbbaaaaaaaaa");
    }

    #[test]
    fn small_jobs_do_not_starve_a_large_one() {
        let small = [('b', 1, 1); 30];
        let order = order_of(&[&[('a', 4, 1)], small.as_slice()].concat());
        assert_eq!(order, format!("abbabbbaa{}", "b".repeat(25)));
    }

    #[test]
    fn a_part_gives_way_after_its_turn_while_other_jobs_wait_and_goes_on_later() {
        assert_eq!(order_of(&[('a', 1, 5), ('b', 1, 1)]), "abaaaa");
        let order = order_of(&[('a', 2, 4), ('b', 3, 1)]);
        assert_eq!(order, "abbabaaaaaa");
    }

    #[test]
    fn a_part_of_the_only_job_is_done_in_one_turn() {
        let workers = workers(1);
        let (sender, receiver) = channel();
        workers.submit(Box::new(Count {
            steps: 5,
            ..count(2, None, sender)
        }));
        let (counts, outcome) = receiver.recv().unwrap();
        outcome.unwrap();
        assert_eq!(counts, [5, 5]);
        assert_eq!(workers.shared.lock().turns, 2);
    }

    #[test]
    fn a_job_abandoned_between_two_turns_has_no_more_of_them() {
        let workers = Workers::start(0, Budget::new(usize::MAX)).unwrap();
        let (sender, receiver) = channel();
        let ticket = workers.submit(Box::new(count(3, None, sender))).unwrap();
        let mut queue = workers.shared.lock();
        let (_, part) = queue.next_part().unwrap();
        assert!(queue.end_turn(ticket, part, false).is_none());
        drop(queue);
        workers.abandon(ticket);
        let (counts, outcome) = receiver.recv().unwrap();
        assert!(matches!(outcome, Err(Error::Abandoned)));
        assert_eq!(counts, [0; 3]);
        assert!(workers.shared.lock().next_part().is_none());
        assert_eq!(workers.jobs().0, 0);
        assert_eq!(workers.shared.budget.usage().0, 0);
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
    fn the_last_places_are_for_jobs_of_little_work() {
        let workers = Workers::start(1, Budget::new(usize::MAX)).unwrap();
        let (sender, receiver) = channel();
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        let submit = |steps| {
            workers.submit(Box::new(Count {
                steps,
                gate: Some(Arc::clone(&gate)),
                ..count(1, None, sender.clone())
            }))
        };
        let much = LITTLE_WORK as usize + 1;
        let of_much = (0..MAX_JOBS).filter_map(|_| submit(much)).count();
        assert_eq!(of_much, MAX_JOBS / SMALL_SHARE * (SMALL_SHARE - 1));
        let refused = receiver.try_iter().count();
        assert_eq!(refused, MAX_JOBS - of_much);
        let of_little = (0..MAX_JOBS).filter_map(|_| submit(much - 1)).count();
        assert_eq!(of_little, refused);
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
