//! Which job the workers take next, and what becomes of jobs that panic or are given up.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    engine::{
        budget::Budget,
        workers::{
            Job, Ticket, Turn, Workers,
            job::TURN_POINTS,
            queue::{LITTLE_WORK, MAX_JOBS, SMALL_SHARE},
        },
    },
    hnsw::Scratch,
    index::PAUSED_VIEWS,
};

struct Count {
    parts: usize,
    /// The steps of each part. A step is as much work as a turn.
    steps: usize,
    /// The steps that each part has done.
    done: Vec<AtomicUsize>,
    name: char,
    /// The names of the jobs in the order of their steps.
    log: Arc<Mutex<String>>,
    begun: Arc<AtomicBool>,
    panics_at: Option<usize>,
    /// Blocks every part while it is locked.
    gate: Option<Arc<Mutex<()>>>,
    finished: Sender<(Vec<usize>, Result<()>)>,
}

impl Job for Count {
    fn parts(&self) -> usize {
        self.parts
    }

    fn gives_way(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        100
    }

    fn work_left(&self) -> u64 {
        let steps = self.done.iter().map(|count| count.load(Ordering::Relaxed));
        (self.parts * self.steps - steps.sum::<usize>()) as u64
    }

    fn run(&self, part: usize, _scratch: &mut Scratch, turn: &Turn) -> bool {
        let mut considered = 0;
        while self.done[part].load(Ordering::Relaxed) < self.steps {
            if !turn.goes_on(considered) {
                return false;
            }
            self.begun.store(true, Ordering::Release);
            if let Some(gate) = &self.gate {
                drop(gate.lock());
            }
            self.log.lock().unwrap().push(self.name);
            self.done[part].fetch_add(1, Ordering::Relaxed);
            assert_ne!(self.panics_at, Some(part), "a part that panics on purpose");
            considered += TURN_POINTS;
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

/// The order in which one thread does the steps of jobs, each given by its name, parts, and steps
/// of a part. The first job has begun when the others arrive.
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

/// How long a busy machine may take.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn wait_until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "it does not come to that");
        thread::yield_now();
    }
}

/// A job of one part that cannot be left between two turns. It goes on until it is told to end.
pub(super) struct Endless {
    pub ends: Arc<AtomicBool>,
    /// The number of times that it was asked whether to go on.
    pub steps: Arc<AtomicUsize>,
    /// Whether it is a search, which looks at its scratch alone.
    pub searches: bool,
    pub finished: Sender<(Vec<usize>, Result<()>)>,
}

impl Job for Endless {
    fn parts(&self) -> usize {
        1
    }

    fn gives_way(&self) -> bool {
        true
    }

    fn bytes(&self) -> usize {
        1
    }

    fn work_left(&self) -> u64 {
        u64::MAX
    }

    fn run(&self, _part: usize, scratch: &mut Scratch, turn: &Turn) -> bool {
        let goes_on = || {
            if self.searches {
                scratch.unless_abandoned().is_ok()
            } else {
                turn.goes_on_in_slices()
            }
        };
        while !self.ends.load(Ordering::Acquire) && goes_on() {
            self.steps.fetch_add(1, Ordering::Relaxed);
            thread::yield_now();
        }
        true
    }

    fn finish(&self, outcome: Result<()>) {
        self.finished.send((vec![], outcome)).unwrap();
    }
}

/// Submits jobs that cannot be left, and waits until each has begun.
fn submit_endless(
    workers: &Workers,
    count: usize,
    ends: &Arc<AtomicBool>,
    finished: &Sender<(Vec<usize>, Result<()>)>,
) -> Vec<Ticket> {
    let submit = |_| {
        let steps = Arc::new(AtomicUsize::new(0));
        let ticket = workers.submit(Box::new(Endless {
            ends: Arc::clone(ends),
            steps: Arc::clone(&steps),
            searches: false,
            finished: finished.clone(),
        }));
        wait_until(|| steps.load(Ordering::Relaxed) > 0);
        ticket.unwrap()
    };
    (0..count).map(submit).collect()
}

#[test]
fn jobs_that_cannot_be_left_give_way_to_others_however_many_they_are() {
    for threads in [1, 2] {
        let workers = Workers::start(threads, Budget::new(usize::MAX)).unwrap();
        let (of_endless, ended) = channel();
        let (sender, receiver) = channel();
        let ends = Arc::default();
        submit_endless(&workers, 20, &ends, &of_endless);
        for _ in 0..10 {
            workers.submit(Box::new(count(5, None, sender.clone())));
        }
        for _ in 0..10 {
            receiver.recv_timeout(PATIENCE).unwrap().1.unwrap();
        }
        assert!(ended.try_recv().is_err());
        ends.store(true, Ordering::Release);
        for _ in 0..20 {
            ended.recv_timeout(PATIENCE).unwrap().1.unwrap();
        }
        assert_eq!(workers.jobs().0, 0);
        // Those that are not needed any more end by themselves.
        wait_until(|| workers.shared.live_threads() <= threads);
        workers.stop();
    }
}

#[test]
fn only_so_many_jobs_that_give_way_have_begun_and_others_are_done_beside_them() {
    let workers = Workers::start(2, Budget::new(usize::MAX)).unwrap();
    let (of_endless, ended) = channel();
    let (sender, receiver) = channel();
    let ends = Arc::default();
    let all: Vec<Arc<AtomicUsize>> = (0..MAX_JOBS / 2).map(|_| Arc::default()).collect();
    for steps in &all {
        workers.submit(Box::new(Endless {
            ends: Arc::clone(&ends),
            steps: Arc::clone(steps),
            searches: false,
            finished: of_endless.clone(),
        }));
    }
    let begun = || {
        let steps = all.iter().map(|steps| steps.load(Ordering::Relaxed));
        steps.filter(|&steps| steps > 0).count()
    };
    wait_until(|| begun() == PAUSED_VIEWS);
    for _ in 0..10 {
        workers.submit(Box::new(count(5, None, sender.clone())));
    }
    for _ in 0..10 {
        receiver.recv_timeout(PATIENCE).unwrap().1.unwrap();
    }
    assert_eq!(begun(), PAUSED_VIEWS);
    ends.store(true, Ordering::Release);
    for _ in &all {
        ended.recv_timeout(PATIENCE).unwrap().1.unwrap();
    }
    workers.stop();
}

#[test]
fn jobs_that_have_given_way_take_turns_among_themselves() {
    let workers = workers(1);
    let (sender, receiver) = channel();
    let ends = Arc::default();
    let all: Vec<Arc<AtomicUsize>> = (0..5).map(|_| Arc::default()).collect();
    for steps in &all {
        workers.submit(Box::new(Endless {
            ends: Arc::clone(&ends),
            steps: Arc::clone(steps),
            searches: false,
            finished: sender.clone(),
        }));
    }
    let counts = || all.iter().map(|steps| steps.load(Ordering::Relaxed));
    wait_until(|| counts().min() > Some(0));
    let before: Vec<usize> = counts().collect();
    wait_until(|| counts().zip(&before).all(|(now, &before)| now > before));
    ends.store(true, Ordering::Release);
    for _ in &all {
        receiver.recv_timeout(PATIENCE).unwrap().1.unwrap();
    }
    workers.stop();
}

#[test]
fn a_job_that_has_given_way_can_be_abandoned_and_stopped() {
    let workers = workers(1);
    let (sender, receiver) = channel();
    let tickets = submit_endless(&workers, 6, &Arc::default(), &sender);
    for &ticket in &tickets[..3] {
        workers.abandon(ticket);
        let (_, outcome) = receiver.recv_timeout(PATIENCE).unwrap();
        assert!(matches!(outcome, Err(Error::Abandoned)));
    }
    workers.stop();
    for _ in 3..6 {
        let (_, outcome) = receiver.recv_timeout(PATIENCE).unwrap();
        assert!(matches!(outcome, Err(Error::Closed)));
    }
    assert_eq!(workers.shared.budget.usage().0, 0);
}

#[test]
fn a_search_under_way_learns_that_it_is_abandoned_and_frees_its_thread() {
    let workers = workers(1);
    let (sender, receiver) = channel();
    for _ in 0..2 {
        let steps = Arc::new(AtomicUsize::new(0));
        let ticket = workers.submit(Box::new(Endless {
            ends: Arc::default(),
            steps: Arc::clone(&steps),
            searches: true,
            finished: sender.clone(),
        }));
        wait_until(|| steps.load(Ordering::Relaxed) > 0);
        workers.abandon(ticket.unwrap());
        let (_, outcome) = receiver.recv_timeout(PATIENCE).unwrap();
        assert!(matches!(outcome, Err(Error::Abandoned)));
    }
    workers.submit(Box::new(count(1, None, sender)));
    receiver.recv_timeout(PATIENCE).unwrap().1.unwrap();
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
        while !workers.shared.lock().is_stopped() {
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
    // Tickets of jobs that have ended, and one that was never given to a job.
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
