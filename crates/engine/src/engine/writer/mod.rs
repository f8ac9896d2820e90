//! The writer: requests from any thread, in one queue, and the thread that makes them durable.

mod group_commit;
mod request;
#[cfg(test)]
pub(super) mod tests;

use std::{
    sync::{
        Arc, Mutex,
        atomic::Ordering,
        mpsc::{Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use group_commit::{GroupCommit, StoreStatus};
pub use request::{Batch, Done};
use request::{Waiting, WriteRequest};

use crate::{
    Error, Result,
    engine::{budget::Budget, stats::Counters},
    index::{Index, PointId},
    store::Store,
    sync::lock,
};

/// How long the engine reports a full disk after the last insert that it refused. A service that is
/// sent no inserts because of the report would otherwise report it for ever.
const FULL_FOR: Duration = Duration::from_mins(1);

/// About the memory that a waiting request takes beside its vectors and contents.
const REQUEST_BYTES: usize = 256;

/// The queue to the writer's thread.
pub struct Writer {
    queue: Mutex<Option<Sender<WriteRequest>>>,
    status: Arc<StoreStatus>,
    thread: Mutex<Option<JoinHandle<()>>>,
    budget: Arc<Budget>,
}

impl Writer {
    /// Starts the thread that owns `store` and keeps `index` in step with it.
    pub fn start(
        store: Store,
        index: Arc<Index>,
        budget: Arc<Budget>,
        counters: Arc<Counters>,
    ) -> Result<Writer> {
        let (sender, receiver) = channel();
        let status = Arc::<StoreStatus>::default();
        let group_commit = GroupCommit::new(store, index, counters, Arc::clone(&status));
        let thread = thread::Builder::new()
            .name("write".into())
            .spawn(move || group_commit.run(&receiver))?;
        Ok(Writer {
            queue: Mutex::new(Some(sender)),
            status,
            thread: Mutex::new(Some(thread)),
            budget,
        })
    }

    /// Enqueues an insert, unless too much is waiting already.
    pub fn insert(&self, batch: Batch, done: Done<()>) {
        let done = Waiting(Some(done));
        match self.budget.reserve(REQUEST_BYTES + batch.bytes()) {
            Ok(memory) => self.send(WriteRequest::Insert {
                batch,
                done,
                memory,
            }),
            Err(error) => done.answer(Err(error)),
        }
    }

    /// Enqueues a delete, unless too much is waiting already; `done` learns whether there was such
    /// a point.
    pub fn delete(&self, id: PointId, done: Done<bool>) {
        let done = Waiting(Some(done));
        match self.budget.reserve(REQUEST_BYTES) {
            Ok(memory) => self.send(WriteRequest::Delete { id, done, memory }),
            Err(error) => done.answer(Err(error)),
        }
    }

    /// Runs `work` on the store between two groups, and waits for its result.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> T + Send + 'static,
    ) -> Result<T> {
        let (done, result) = channel();
        self.send(WriteRequest::Run(Box::new(move |store| {
            // The caller waits until the channel is closed.
            drop(done.send(work(store)));
        })));
        result.recv().map_err(|_| Error::Closed)
    }

    /// Why the store takes no more writes, if it does not.
    pub fn failure(&self) -> Option<String> {
        lock(&self.status.failure).clone()
    }

    /// Whether an insert found the disk full within the last minute, and no later one found space.
    pub fn is_full(&self) -> bool {
        lock(&self.status.full_at).is_some_and(|at| at.elapsed() < FULL_FOR)
    }

    /// How many times the disk had no space for deletes either.
    pub fn refused_deletes(&self) -> u64 {
        self.status.refused_deletes.load(Ordering::Relaxed)
    }

    /// Finishes what is enqueued, then closes the store. Later writes are refused.
    pub fn close(&self) -> Result<()> {
        let queue = lock(&self.queue).take();
        let Some(queue) = queue else { return Ok(()) };
        let (done, closed) = channel();
        queue
            .send(WriteRequest::Close { done })
            .map_err(|_| Error::Closed)?;
        let result = closed.recv().map_err(|_| Error::Closed)?;
        if let Some(thread) = lock(&self.thread).take() {
            // A panic in the thread was caught there and became its answer.
            drop(thread.join());
        }
        result
    }

    fn send(&self, request: WriteRequest) {
        let refused = match &*lock(&self.queue) {
            Some(queue) => queue.send(request).err().map(|unsent| unsent.0),
            None => Some(request),
        };
        if let Some(request) = refused {
            request.refuse(&Error::Closed);
        }
    }
}
