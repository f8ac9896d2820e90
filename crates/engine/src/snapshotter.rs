//! The thread that writes snapshots: when a part of the index has changed, when it has come to rest
//! after a few changes, and at the end.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{Error, Result, index::Index, store::Snapshots};

/// How often the thread looks whether there is something to do.
const TICK: Duration = Duration::from_secs(1);

/// Fewer changes are linked again in a second or two.
const LEAST_CHANGES: u64 = 20_000;

/// A snapshot is due once there is a change for every so many points: then all snapshots that a
/// growing store ever writes take a few times the bytes of the last.
const POINTS_PER_CHANGE: u64 = 2;

/// Fewer changes than that are saved once nothing has changed for so long.
const REST: Duration = Duration::from_secs(30);

/// After a failure, the next attempt comes no sooner.
const RETRY: Duration = Duration::from_mins(1);

/// Writes snapshots until it is stopped.
pub struct Snapshotter {
    stop: Sender<()>,
    thread: JoinHandle<()>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Snapshotter {
    /// Starts the thread for an index that is as the log and the last snapshot made it.
    pub fn start(index: Arc<Index>, snapshots: Snapshots) -> Result<Snapshotter> {
        let (stop, stopped) = channel();
        let saved = index.changes();
        let failure = Arc::new(Mutex::new(None));
        let mut state = State {
            index,
            snapshots,
            saved,
            seen: saved,
            seen_at: Instant::now(),
            not_before: Instant::now(),
            failure: Arc::clone(&failure),
        };
        let thread = thread::Builder::new()
            .name("snapshot".into())
            .spawn(move || {
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    if state.is_due() {
                        state.save();
                    }
                }
                if state.unsaved() > 0 {
                    state.save();
                }
            })?;
        Ok(Snapshotter {
            stop,
            thread,
            failure,
        })
    }

    /// Why the last attempt to write a snapshot failed, if it did.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Writes the last snapshot. The linking threads have ended.
    pub fn stop(self) {
        drop(self.stop);
        // A panic in the thread was caught and noted there.
        drop(self.thread.join());
    }
}

struct State {
    index: Arc<Index>,
    snapshots: Snapshots,
    /// Changes in the last snapshot.
    saved: u64,
    /// Changes at the last look, and since when there are no more.
    seen: u64,
    seen_at: Instant,
    not_before: Instant,
    failure: Arc<Mutex<Option<String>>>,
}

impl State {
    fn is_due(&mut self) -> bool {
        let (now, changes) = (Instant::now(), self.index.changes());
        if changes != self.seen {
            (self.seen, self.seen_at) = (changes, now);
        }
        let unsaved = self.unsaved();
        let many = LEAST_CHANGES.max(self.index.live() / POINTS_PER_CHANGE);
        let is_at_rest = now - self.seen_at >= REST;
        now >= self.not_before && (unsaved >= many || unsaved > 0 && is_at_rest)
    }

    fn unsaved(&self) -> u64 {
        // A graph that is given up takes its changes with it.
        self.index.changes().saturating_sub(self.saved)
    }

    fn save(&mut self) {
        let changes = self.index.changes();
        let save = || self.index.snapshot(&self.snapshots);
        let result = catch_unwind(AssertUnwindSafe(save));
        let result = result.unwrap_or_else(|_| Err(Error::Internal("a snapshot panicked".into())));
        if result.is_err() {
            self.not_before = Instant::now() + RETRY;
        } else {
            self.saved = changes;
        }
        *lock(&self.failure) = result.err().map(|error| error.to_string());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
