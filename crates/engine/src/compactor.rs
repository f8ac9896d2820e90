//! The thread that gives the space of deleted points back, a stretch of segments at a time.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    index::Index,
    store::{Store, Stretch},
    writer::Writer,
};

/// How often the thread looks whether there is something to do.
const TICK: Duration = Duration::from_secs(1);

/// After a failure, the next attempt comes no sooner.
const RETRY: Duration = Duration::from_mins(1);

/// How often it looks whether the segments that were replaced are still read.
const WAIT: Duration = Duration::from_millis(10);

/// Compacts until it is stopped.
pub struct Compactor {
    stop: Sender<()>,
    is_stopped: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Compactor {
    /// Starts the thread.
    pub fn start(index: Arc<Index>, writer: Arc<Writer>) -> Result<Compactor> {
        let (stop, stopped) = channel();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let failure = Arc::new(Mutex::new(None));
        let state = State {
            index,
            writer,
            is_stopped: Arc::clone(&is_stopped),
        };
        let failed = Arc::clone(&failure);
        let thread = thread::Builder::new()
            .name("compact".into())
            .spawn(move || {
                let mut not_before = Instant::now();
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    if Instant::now() < not_before {
                        continue;
                    }
                    let result = catch_unwind(AssertUnwindSafe(|| state.compact_all()));
                    let result = result
                        .unwrap_or_else(|_| Err(Error::Internal("compaction panicked".into())));
                    if result.is_err() {
                        not_before = Instant::now() + RETRY;
                    }
                    *lock(&failed) = result.err().map(|error| error.to_string());
                }
            })?;
        Ok(Compactor {
            stop,
            is_stopped,
            thread,
            failure,
        })
    }

    /// Why the last attempt failed, if it did.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Ends the thread, in the midst of its work if need be.
    pub fn stop(self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        drop(self.stop);
        // A panic in the thread was caught and noted there.
        drop(self.thread.join());
    }
}

struct State {
    index: Arc<Index>,
    writer: Arc<Writer>,
    is_stopped: Arc<AtomicBool>,
}

impl State {
    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn compact_all(&self) -> Result<()> {
        while !self.is_stopped()
            && let Some(stretch) = self.writer.run(Store::stretch)?
        {
            match self.compact(stretch) {
                Err(Error::Closed) => break,
                other => other?,
            }
        }
        Ok(())
    }

    fn compact(&self, stretch: Stretch) -> Result<()> {
        let is_live = |id: &_, location| self.index.is_at(id, location);
        let compacted = stretch.copy(is_live, || self.is_stopped())?;
        let index = Arc::clone(&self.index);
        let replaced = self.writer.run(move |store| {
            store.replace(compacted, |point| {
                index.relocate(&point.id, point.from, point.to)
            })
        })??;
        // Deleted points that are still in a graph have their vectors there.
        while !self.index.clear(&replaced) {
            if self.is_stopped() {
                return Err(Error::Closed);
            }
            thread::sleep(WAIT);
        }
        let epoch = self.index.epochs().advance();
        while !self.index.epochs().has_passed(epoch) {
            if self.is_stopped() {
                return Err(Error::Closed);
            }
            thread::sleep(WAIT);
        }
        #[allow(unsafe_code, reason = "here it is known who reads the segments")]
        self.writer.run(move |store| {
            // SAFETY: no slot leads to the segments any more, and all who had found one that did
            // have gone: each holds a pin while it reads. The writer itself reads nothing of them,
            // and this is its thread; the thread that compacts is done with them.
            unsafe { store.drop_segments(&replaced) }
        })?
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
