//! The queue of the jobs that wait or run, and the order in which their parts get turns.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    iter, mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::job::Job;
use crate::{Error, Result, engine::budget::Reservation};

/// The greatest number of reads that wait or run, and of writes. Further ones are refused as overload.
pub const MAX_JOBS: usize = 256;

/// `1 / SMALL_SHARE` of [`MAX_JOBS`] is for jobs of [little work](LITTLE_WORK) alone: they are done
/// soon whatever else waits, so other jobs must not cause their refusal.
pub const SMALL_SHARE: usize = 8;

/// A job of at most this number of candidates has little work.
pub const LITTLE_WORK: u64 = 16 << 10;

/// One turn in this number goes to the oldest job that waits, whatever work it has left, and another
/// one to a thread that gave way, so that none starves. Among the threads, reads have one turn in this
/// number beside writes.
const FAIR_TURN: u64 = 4;

/// Names a job, so that it can be abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

impl Ticket {
    /// The number of this ticket.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The ticket with this number. If it was never given out, it names no job.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        Ticket(number)
    }
}

/// The jobs that wait or run.
#[derive(Default)]
pub struct Queue {
    /// All jobs that wait or run, the oldest first.
    unfinished: BTreeMap<Ticket, Unfinished>,
    /// The number of tickets that were given out.
    tickets: u64,
    /// The number of turns that were given to parts.
    pub turns: u64,
    /// The number of turns under way.
    under_way: usize,
    /// The greatest number of them.
    at_once: usize,
    /// The numbers of parts that may give way and are under way or have given way: of reads, and of
    /// writes.
    giving_way: [usize; 2],
    /// The greatest number of either. Further ones wait for their first turn, and so hold nothing.
    most_giving_way: usize,
    /// The threads that have given way and wait for a further turn, in the order in which they did,
    /// and whether they work for a write. Each is named by the turn in which it last went on.
    gave_way: VecDeque<(u64, bool)>,
    /// The cores of the threads that wait for a part, each a different one, from 0 on.
    idle: BTreeSet<usize>,
    stopped: bool,
}

/// A job and its progress.
struct Unfinished {
    running: Arc<RunningJob>,
    /// The first part that has not had a turn.
    next: usize,
    /// The parts that wait for a further turn.
    paused: Vec<usize>,
    /// The number of parts that are not done.
    undone: usize,
}

/// A job, shared by the queue and the threads that work on it.
pub struct RunningJob {
    pub ticket: Ticket,
    pub job: Box<dyn Job>,
    /// The number of parts that panicked.
    pub panics: AtomicUsize,
    /// Whether the job was given up, since it was abandoned or the threads should end.
    pub is_cut: Arc<AtomicBool>,
    /// The memory of the job in the budget, until the last holder drops the job.
    _memory: Reservation,
}

impl Queue {
    /// A queue for threads with this number of turns at once. At most `most_giving_way` parts of reads
    /// that may give way have begun at one time, and as many of writes.
    pub fn new(at_once: usize, most_giving_way: usize) -> Queue {
        Queue {
            at_once,
            most_giving_way,
            ..Queue::default()
        }
    }

    /// The number of reads, or of writes, that wait or run.
    pub fn count(&self, of_writes: bool) -> usize {
        let jobs = self.unfinished.values();
        jobs.filter(|job| job.running.job.is_write() == of_writes)
            .count()
    }

    /// Whether the threads should end.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Refuses a job if too many others of its kind wait or run.
    pub fn check_limit(&self, job: &dyn Job) -> Result<()> {
        let is_write = job.is_write();
        let most = if is_write || job.work_left() <= LITTLE_WORK {
            MAX_JOBS
        } else {
            MAX_JOBS - MAX_JOBS / SMALL_SHARE
        };
        if self.count(is_write) < most {
            return Ok(());
        }
        let kind = if is_write {
            "deletes by filter"
        } else {
            "batch searches"
        };
        let reason = format!("{most} {kind} are under way; try again");
        Err(Error::Overloaded(reason))
    }

    /// Appends a job, whose memory is reserved.
    pub fn add(&mut self, job: Box<dyn Job>, memory: Reservation) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let running = Arc::new(RunningJob {
            ticket,
            is_cut: Arc::default(),
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
        self.unfinished.insert(ticket, unfinished);
        ticket
    }

    /// Gives up all jobs, and returns the jobs that no thread works on, to be finished by the
    /// caller, who refuses later jobs.
    pub fn stop(&mut self) -> Vec<Arc<RunningJob>> {
        self.stopped = true;
        let tickets: Vec<_> = self.unfinished.keys().copied().collect();
        let cut = |ticket| self.cut(ticket);
        tickets.into_iter().filter_map(cut).collect()
    }

    /// Gives up a job: the parts that wait for a turn never get one, and the turns under way end
    /// soon. Returns the job if no thread works on it, to be finished by the caller. Otherwise the
    /// last thread that works on it finishes it.
    pub fn cut(&mut self, ticket: Ticket) -> Option<Arc<RunningJob>> {
        let job = self.unfinished.get_mut(&ticket)?;
        job.running.is_cut.store(true, Ordering::Relaxed);
        let parts = job.running.job.parts();
        let waiting = parts - mem::replace(&mut job.next, parts) + job.paused.len();
        job.paused.clear();
        self.note_done(ticket, waiting)
    }

    /// Notes that a turn of a part has ended, and whether the part is done. Returns the job if no
    /// part of it is left, to be finished by the caller.
    pub fn end_turn(
        &mut self,
        ticket: Ticket,
        part: usize,
        is_done: bool,
    ) -> Option<Arc<RunningJob>> {
        self.under_way -= 1;
        let job = self.unfinished.get_mut(&ticket)?;
        if job.running.job.gives_way() {
            self.giving_way[usize::from(job.running.job.is_write())] -= 1;
        }
        if is_done || job.running.is_cut.load(Ordering::Relaxed) {
            return self.note_done(ticket, 1);
        }
        job.paused.push(part);
        None
    }

    /// Notes that this number of parts need no more turns. Removes and returns the job if no part
    /// of it is left.
    fn note_done(&mut self, ticket: Ticket, parts: usize) -> Option<Arc<RunningJob>> {
        let job = self.unfinished.get_mut(&ticket)?;
        job.undone -= parts;
        if job.undone > 0 {
            return None;
        }
        Some(self.unfinished.remove(&ticket)?.running)
    }

    /// Whether a job other than this one waits for a turn.
    pub fn has_other(&self, ticket: Ticket) -> bool {
        let mut jobs = self.unfinished.iter();
        !self.gave_way.is_empty() || jobs.any(|(&other, job)| other != ticket && self.may_take(job))
    }

    /// Whether a part waits for a turn.
    pub fn has_part(&self) -> bool {
        self.unfinished.values().any(|job| self.may_take(job))
    }

    /// Whether a part of the job waits for a turn, and may have one.
    fn may_take(&self, job: &Unfinished) -> bool {
        let begun = self.giving_way[usize::from(job.running.job.is_write())];
        job.waits() && (begun < self.most_giving_way || !job.running.job.gives_way())
    }

    /// Whether the next turn is for a part that waits.
    pub fn may_begin(&self) -> bool {
        let is_for_thread = self.is_turn_of_threads() && !self.gave_way.is_empty();
        self.under_way < self.at_once && self.has_part() && !is_for_thread
    }

    /// Whether a thread waits for a part.
    pub fn has_idle_thread(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Notes that a thread begins to wait for a part. Returns the core to wait on: `last`, where it
    /// waited before, unless another thread waits there now.
    pub fn begin_wait(&mut self, last: usize) -> usize {
        let mut cores = iter::once(last).chain(0..);
        let core = cores
            .find(|core| !self.idle.contains(core))
            .expect("there are more numbers than threads");
        self.idle.insert(core);
        core
    }

    /// Notes that the thread on this core waits no more.
    pub fn end_wait(&mut self, core: usize) {
        self.idle.remove(&core);
    }

    /// Whether more threads wait for a part than there can be turns.
    pub fn has_too_many_threads(&self) -> bool {
        self.idle.len() >= self.at_once
    }

    /// Ends the turn of a thread whose work, maybe for a write, goes on in a further turn. Returns its
    /// name until then.
    pub fn give_way(&mut self, is_write: bool) -> u64 {
        // No two turns have the same number, and a thread has one at a time.
        self.turns += 1;
        self.under_way -= 1;
        self.gave_way.push_back((self.turns, is_write));
        self.turns
    }

    /// Whether the next turn is for this thread, which has given way.
    pub fn may_go_on(&self, thread: u64) -> bool {
        let is_next = self.under_way < self.at_once && self.next_thread() == Some(thread);
        is_next && (self.is_turn_of_threads() || self.idle.is_empty() || !self.has_part())
    }

    /// The thread that goes on before the others that have given way: the first that works for a
    /// write, or, in one turn of [`FAIR_TURN`], the first of all.
    fn next_thread(&self) -> Option<u64> {
        // Not by `turns` alone: where parts wait, threads have only every FAIR_TURNth.
        let is_fair = (self.turns / FAIR_TURN).is_multiple_of(FAIR_TURN);
        let of_write = self.gave_way.iter().find(|thread| thread.1 && !is_fair);
        of_write.or(self.gave_way.front()).map(|thread| thread.0)
    }

    /// Begins the turn of a thread that has given way.
    pub fn go_on(&mut self, thread: u64) {
        self.gave_way.retain(|&(other, _)| other != thread);
        self.under_way += 1;
        self.turns += 1;
    }

    /// Whether a thread has given way and waits for a further turn.
    pub fn has_thread(&self) -> bool {
        !self.gave_way.is_empty()
    }

    fn is_turn_of_threads(&self) -> bool {
        (self.turns + FAIR_TURN / 2).is_multiple_of(FAIR_TURN)
    }

    /// Takes the part that has the next turn, if any waits: a part of a write, or else of the job with
    /// the least work left, or, in one turn of [`FAIR_TURN`], of the oldest.
    pub fn next_part(&mut self) -> Option<(Arc<RunningJob>, usize)> {
        let is_fair = (self.turns + 1).is_multiple_of(FAIR_TURN);
        let mut waiting = self.unfinished.values().filter(|job| self.may_take(job));
        let job = if is_fair {
            waiting.next()
        } else {
            waiting.min_by_key(|job| (!job.running.job.is_write(), job.running.job.work_left()))
        }?;
        let running = Arc::clone(&job.running);
        let part = self.unfinished.get_mut(&running.ticket)?.take_part();
        self.turns += 1;
        self.under_way += 1;
        let begun = &mut self.giving_way[usize::from(running.job.is_write())];
        *begun += usize::from(running.job.gives_way());
        Some((running, part))
    }
}

impl Unfinished {
    /// Whether a part waits for a turn.
    fn waits(&self) -> bool {
        !self.paused.is_empty() || self.next < self.running.job.parts()
    }

    /// Takes a waiting part. There must be one.
    fn take_part(&mut self) -> usize {
        self.paused.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

impl RunningJob {
    /// How the job has ended. `stopped` says whether the threads should end.
    pub fn outcome(&self, stopped: bool) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        engine::{budget::Budget, workers::job::Turn},
        hnsw::Scratch,
    };

    #[test]
    fn no_two_threads_wait_on_the_same_core_and_each_goes_back_to_its_own_if_that_is_free() {
        let mut queue = Queue::new(3, 1);
        assert_eq!([0, 0, 0].map(|last| queue.begin_wait(last)), [0, 1, 2]);
        assert!(queue.has_too_many_threads());
        queue.end_wait(1);
        queue.end_wait(2);
        assert_eq!(queue.begin_wait(2), 2);
        assert_eq!(queue.begin_wait(2), 1, "another thread waits on 2");
        assert!(queue.has_too_many_threads());
    }

    /// A job of one part. The model below keeps its progress.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Kind {
        SmallRead,
        /// It gives way, as does a write.
        Read,
        Write,
    }

    impl Job for Kind {
        fn parts(&self) -> usize {
            1
        }

        fn work_left(&self) -> u64 {
            if self.gives_way() { u64::MAX } else { 1 }
        }

        fn run(&self, _part: usize, _scratch: &mut Scratch, _turn: &Turn) -> bool {
            unreachable!("the model runs no job")
        }

        fn gives_way(&self) -> bool {
            *self != Kind::SmallRead
        }

        fn is_write(&self) -> bool {
            *self == Kind::Write
        }

        fn bytes(&self) -> usize {
            0
        }

        fn finish(&self, _outcome: Result<()>) {}
    }

    /// What a thread of the model is at.
    #[derive(Clone, Copy)]
    enum Thread {
        Idle {
            core: usize,
        },
        /// It waits for a place for its view, and keeps its turn meanwhile.
        Pins(Ticket),
        Reads {
            ticket: Ticket,
            slices: usize,
        },
        GaveWay {
            ticket: Ticket,
            slices: usize,
            name: u64,
        },
    }

    /// Threads that take parts as `Shared::run` does, in any order: each part takes one of `places`
    /// for its view and keeps it until it is done. Returns the most places that were taken by reads
    /// that give way, and by writes, and the number of jobs that no thread can go on with.
    fn play(
        jobs: &[Kind],
        at_once: usize,
        most: usize,
        places: usize,
        seed: u64,
    ) -> ([usize; 2], usize) {
        let mut random = fastrand(seed);
        let mut queue = Queue::new(at_once, most);
        let budget = Budget::new(usize::MAX);
        let mut waiting = jobs.to_vec();
        let mut threads: Vec<_> = (0..at_once)
            .map(|core| Thread::Idle {
                core: queue.begin_wait(core),
            })
            .collect();
        let (mut taken, mut most_taken) = (0, [0; 2]);
        loop {
            for (kind, most) in [Kind::Read, Kind::Write].iter().zip(&mut most_taken) {
                let holds = |thread: &&Thread| match thread {
                    Thread::Reads { ticket, .. } | Thread::GaveWay { ticket, .. } => {
                        let job = &queue.unfinished[ticket].running.job;
                        job.gives_way() && job.is_write() == kind.is_write()
                    }
                    Thread::Idle { .. } | Thread::Pins(_) => false,
                };
                *most = threads.iter().filter(holds).count().max(*most);
            }
            let may_act = |thread: &Thread| match thread {
                Thread::Idle { .. } => queue.may_begin(),
                Thread::Pins(_) => taken < places,
                Thread::Reads { .. } => true,
                Thread::GaveWay { name, .. } => queue.may_go_on(*name),
            };
            let mut able: Vec<usize> = (0..threads.len())
                .filter(|&at| may_act(&threads[at]))
                .collect();
            if !waiting.is_empty() {
                able.push(threads.len());
            }
            if able.is_empty() {
                return (most_taken, queue.unfinished.len());
            }
            let at = able[random() % able.len()];
            if at == threads.len() {
                let job = waiting.pop().unwrap();
                queue.add(Box::new(job), budget.reserve(0).unwrap());
                continue;
            }
            threads[at] = match threads[at] {
                Thread::Idle { core } => {
                    queue.end_wait(core);
                    Thread::Pins(queue.next_part().unwrap().0.ticket)
                }
                Thread::Pins(ticket) => {
                    taken += 1;
                    let gives_way = queue.unfinished[&ticket].running.job.gives_way();
                    let slices = if gives_way { 1 + random() % 4 } else { 1 };
                    Thread::Reads { ticket, slices }
                }
                Thread::Reads { ticket, slices: 1 } => {
                    taken -= 1;
                    queue.end_turn(ticket, 0, true);
                    let core = queue.begin_wait(at);
                    Thread::Idle { core }
                }
                Thread::Reads { ticket, slices } if queue.has_other(ticket) => {
                    if !queue.has_idle_thread() && queue.has_part() {
                        let core = queue.begin_wait(threads.len());
                        threads.push(Thread::Idle { core });
                    }
                    let is_write = queue.unfinished[&ticket].running.job.is_write();
                    let (slices, name) = (slices - 1, queue.give_way(is_write));
                    Thread::GaveWay {
                        ticket,
                        slices,
                        name,
                    }
                }
                Thread::Reads { ticket, slices } => Thread::Reads {
                    ticket,
                    slices: slices - 1,
                },
                Thread::GaveWay {
                    ticket,
                    slices,
                    name,
                } => {
                    queue.go_on(name);
                    Thread::Reads { ticket, slices }
                }
            };
        }
    }

    /// Numbers by xorshift (Marsaglia, 2003, "Xorshift RNGs").
    fn fastrand(seed: u64) -> impl FnMut() -> usize {
        let mut state = seed | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as usize
        }
    }

    proptest! {
        #[test]
        fn reads_that_give_way_leave_places_for_others_and_all_come_to_an_end(
            jobs in prop::collection::vec(
                prop::sample::select(vec![Kind::SmallRead, Kind::Read, Kind::Write]),
                0..60,
            ),
            at_once in 1_usize..4,
            most in 1_usize..6,
            further in 1_usize..60,
            seed in any::<u64>(),
        ) {
            let (most_taken, left) = play(&jobs, at_once, most, 2 * most + further, seed);
            prop_assert_eq!(left, 0);
            prop_assert!(most_taken.iter().all(|&taken| taken <= most));
        }
    }

    #[test]
    fn the_model_meets_the_livelock_where_reads_that_give_way_may_take_all_places() {
        let left = (0..20).map(|seed| play(&[Kind::Read; 60], 2, usize::MAX, 8, seed).1);
        assert!(left.max() > Some(0));
    }

    #[test]
    fn a_write_that_gave_way_has_most_turns_of_threads_and_reads_have_the_others() {
        for parts_wait in [false, true] {
            let mut queue = Queue::new(1, 6);
            let budget = Budget::new(usize::MAX);
            for job in [[Kind::Read; 5].as_slice(), &[Kind::Write]].concat() {
                queue.add(Box::new(job), budget.reserve(0).unwrap());
                queue.next_part().unwrap();
                queue.give_way(job.is_write());
            }
            queue.begin_wait(0);
            let mut turns = [0; 2];
            while turns.iter().sum::<usize>() < 80 {
                if parts_wait && queue.unfinished.len() == 6 {
                    queue.add(Box::new(Kind::SmallRead), budget.reserve(0).unwrap());
                }
                if queue.may_begin() {
                    let ticket = queue.next_part().unwrap().0.ticket;
                    queue.end_turn(ticket, 0, true);
                    continue;
                }
                let mut threads = queue.gave_way.iter();
                let &(thread, is_write) = threads.find(|thread| queue.may_go_on(thread.0)).unwrap();
                queue.go_on(thread);
                turns[usize::from(is_write)] += 1;
                queue.give_way(is_write);
            }
            assert!(turns[0] >= 15 && turns[1] >= 50, "{turns:?}");
        }
    }
}
