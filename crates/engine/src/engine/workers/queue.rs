//! The queue of the jobs that wait or run, and the order in which their parts get turns.

use std::{
    collections::BTreeMap,
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::job::{Job, TURN_WORK};
use crate::{Error, Result, engine::budget::Reservation};

/// The greatest number of jobs that wait or run. Further ones are refused as overload.
pub const MAX_JOBS: usize = 256;

/// One in this number of places is for jobs of little work alone: they are done soon whatever else
/// waits, so other jobs must not cause their refusal.
pub const SMALL_SHARE: usize = 8;

/// The most candidates that a job of little work has.
pub const LITTLE_WORK: u64 = 4 * TURN_WORK;

/// Every turn of this number goes to the oldest job, whatever work it has left, so that none
/// starves.
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

    /// The ticket of this number; one that was never given out names nothing.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        Ticket(number)
    }
}

#[derive(Default)]
pub struct Queue {
    /// All jobs that wait or run, the oldest first.
    unfinished: BTreeMap<Ticket, Unfinished>,
    tickets: u64,
    pub turns: u64,
    stopped: bool,
}

/// A job and its progress.
struct Unfinished {
    running: Arc<RunningJob>,
    /// The first part that has not had a turn.
    next: usize,
    /// Parts between two turns.
    paused: Vec<usize>,
    /// Parts that are not done.
    undone: usize,
}

pub struct RunningJob {
    pub ticket: Ticket,
    pub job: Box<dyn Job>,
    pub panics: AtomicUsize,
    /// Whether parts were left undone, since the job was abandoned or the threads should end.
    pub is_cut: AtomicBool,
    _memory: Reservation,
}

impl Queue {
    /// The number of jobs that wait or run.
    pub fn len(&self) -> usize {
        self.unfinished.len()
    }

    /// Whether the threads should end.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Refuses a job of this much work if too many others wait or run.
    pub fn check_limit(&self, work: u64) -> Result<()> {
        let most = if work <= LITTLE_WORK {
            MAX_JOBS
        } else {
            MAX_JOBS - MAX_JOBS / SMALL_SHARE
        };
        if self.unfinished.len() < most {
            return Ok(());
        }
        let reason = format!("{most} batch searches are under way; try again");
        Err(Error::Overloaded(reason))
    }

    /// Appends a job, whose memory is reserved.
    pub fn add(&mut self, job: Box<dyn Job>, memory: Reservation) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let running = Arc::new(RunningJob {
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
        self.unfinished.insert(ticket, unfinished);
        ticket
    }

    /// Gives up all jobs, and returns the ones that no thread works on. Later jobs must be refused.
    pub fn stop(&mut self) -> Vec<Arc<RunningJob>> {
        self.stopped = true;
        let tickets: Vec<_> = self.unfinished.keys().copied().collect();
        let cut = |ticket| self.cut(ticket);
        tickets.into_iter().filter_map(cut).collect()
    }

    /// Gives up the parts of a job that have not begun or are between two turns, and makes its
    /// threads stop. Returns the job if it ends at once. Else the last thread that works on it
    /// finishes it.
    pub fn cut(&mut self, ticket: Ticket) -> Option<Arc<RunningJob>> {
        let job = self.unfinished.get_mut(&ticket)?;
        job.running.is_cut.store(true, Ordering::Relaxed);
        let parts = job.running.job.parts();
        let waiting = parts - mem::replace(&mut job.next, parts) + job.paused.len();
        job.paused.clear();
        self.note_done(ticket, waiting)
    }

    /// Notes how a turn ended. Returns the job if it ended with the turn.
    pub fn end_turn(
        &mut self,
        ticket: Ticket,
        part: usize,
        is_done: bool,
    ) -> Option<Arc<RunningJob>> {
        let job = self.unfinished.get_mut(&ticket)?;
        if is_done || job.running.is_cut.load(Ordering::Relaxed) {
            return self.note_done(ticket, 1);
        }
        job.paused.push(part);
        None
    }

    /// Notes that this number of parts need no more turns. Returns the job if no part does.
    fn note_done(&mut self, ticket: Ticket, parts: usize) -> Option<Arc<RunningJob>> {
        let job = self.unfinished.get_mut(&ticket)?;
        job.undone -= parts;
        if job.undone > 0 {
            return None;
        }
        Some(self.unfinished.remove(&ticket)?.running)
    }

    /// Whether a job other than this one waits for a thread.
    pub fn has_other(&self, ticket: Ticket) -> bool {
        let mut jobs = self.unfinished.iter();
        jobs.any(|(&other, job)| other != ticket && job.waits())
    }

    /// The part that has the next turn, if any waits: one of the job with the least work left.
    pub fn next_part(&mut self) -> Option<(Arc<RunningJob>, usize)> {
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

    /// Takes a waiting part. There must be one.
    fn take_part(&mut self) -> usize {
        self.paused.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

impl RunningJob {
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
