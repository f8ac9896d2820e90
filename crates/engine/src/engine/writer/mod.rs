//! The writer: one queue for the write requests of all threads, and the thread that makes them
//! durable and visible.

mod found_ahead;
mod group_commit;
pub mod message;
mod plan;
mod request;

use std::{
    convert::identity,
    sync::{
        Arc, Mutex,
        atomic::Ordering,
        mpsc::{Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use found_ahead::FoundAhead;
use group_commit::{GroupCommit, StoreStatus};
pub use request::{Batch, Done, Existing, Outcome, Update, Upserted};
use request::{Change, ChangeRequest, MessageId, Waiting, WriteRequest};

use vectord_filter::Filter;

use crate::{
    Error, Result,
    engine::{
        budget::{Budget, Reservation},
        stats::Counters,
    },
    index::{Index, Matches, PointId},
    store::{Store, StreamPosition},
    sync::lock,
};

/// The time for which the engine reports a full disk after the last insert that it refused for that
/// reason. Without an end, a service that gets no inserts because of the report would report it for
/// ever.
const FULL_FOR: Duration = Duration::from_mins(1);

/// About the bytes of memory that a waiting request takes besides its vectors and contents.
const REQUEST_BYTES: usize = 256;

/// The handle of the writer's thread.
pub struct Writer {
    /// None once the writer is closed.
    queue: Mutex<Option<Sender<WriteRequest>>>,
    status: Arc<StoreStatus>,
    thread: Mutex<Option<JoinHandle<()>>>,
    budget: Arc<Budget>,
    found_ahead: Arc<FoundAhead>,
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
            found_ahead: Arc::default(),
        })
    }

    /// Enqueues points to be stored.
    pub fn store(&self, batch: Batch, existing: Existing, done: Done<Upserted>) {
        self.change(
            Change::Store(batch, existing),
            |outcome| outcome.counts,
            done,
        );
    }

    /// Enqueues an update of payloads; `done` is called with whether there was such a point, for
    /// each in order.
    pub fn update(&self, updates: Vec<Update>, done: Done<Vec<bool>>) {
        self.change(Change::Update(updates), |outcome| outcome.found, done);
    }

    /// Enqueues a delete of these points; `done` is called with whether there was such a point, for
    /// each in order.
    pub fn delete(&self, ids: Vec<PointId>, done: Done<Vec<bool>>) {
        self.change(Change::Delete(ids), |outcome| outcome.found, done);
    }

    /// Enqueues a delete of the points that pass a filter when the writer comes to it. `found` are
    /// those of a view: the writer asks about those that were written since. They count to the
    /// `memory` of the search for them. `done` is called with the number of the deleted points.
    pub fn delete_matching(
        &self,
        filter: Arc<Filter>,
        found: Matches,
        mut memory: Reservation,
        done: Done<u64>,
    ) {
        let change = Change::DeleteMatching(filter, found);
        memory.set(REQUEST_BYTES + change.bytes());
        let done = waiting(|outcome| outcome.deleted, done);
        self.send_change(change, None, memory, done);
    }

    /// Enqueues a delete of all points. It is refused with [`Error::OtherCount`] if the number of
    /// points is not `expected` when the writer comes to it.
    pub fn delete_all(&self, expected: u64, done: Done<()>) {
        self.change(Change::DeleteAll(expected), drop, done);
    }

    /// A place for the points that a search finds with a filter, which keeps them until the message
    /// comes that deletes them.
    ///
    /// # Errors
    /// [`Error::Overloaded`]: too many are found or looked for already.
    pub fn find_ahead(&self, filter: &Arc<Filter>) -> Result<found_ahead::Place> {
        self.found_ahead.begin(filter, Instant::now())
    }

    /// Gives back what was found with a filter for a message that will not come.
    pub fn give_back_found(&self, filter: &Filter) {
        drop(self.found_ahead.take(filter));
    }

    /// Gives back what was found for messages that have not come in time by `now`.
    pub fn forget_found(&self, now: Instant) {
        self.found_ahead.forget(now);
    }

    /// Enqueues a message of the stream; `done` is called once it is durable and visible.
    pub fn apply(&self, bytes: &[u8], sequence: u64, dimension: usize, done: Done<Outcome>) {
        let mut change = match message::decode(bytes, dimension) {
            Ok(change) => change,
            Err(error) => return done(Err(error)),
        };
        let crc = crc32fast::hash(bytes);
        let message = Some(MessageId { sequence, crc });
        // All messages behind it wait for this one, so that no read may hold the memory that it takes.
        let mut memory = self.budget.take(0);
        if let Change::DeleteMatching(filter, found) = &mut change
            && let Some((kept, held)) = self.found_ahead.take(filter)
        {
            (*found, memory) = (kept, held);
        }
        memory.set(REQUEST_BYTES + change.bytes());
        self.send_change(change, message, memory, waiting(identity, done));
    }

    /// Enqueues a change that the store orders itself; `done` is called with what `take` takes of its
    /// outcome. It is refused with [`Error::Overloaded`] if too many bytes wait already.
    fn change<T: 'static>(&self, change: Change, take: fn(Outcome) -> T, done: Done<T>) {
        let done = waiting(take, done);
        match self.budget.reserve(REQUEST_BYTES + change.bytes()) {
            Ok(memory) => self.send_change(change, None, memory, done),
            Err(error) => done.answer(Err(error)),
        }
    }

    fn send_change(
        &self,
        change: Change,
        message: Option<MessageId>,
        memory: Reservation,
        done: Waiting<Outcome>,
    ) {
        self.send(WriteRequest::Change(Box::new(ChangeRequest {
            change,
            message,
            done,
            memory,
        })));
    }

    /// Runs `work` on the store, on the writer's thread between two groups, and waits for its
    /// result.
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

    /// The failure after which the store takes no more writes, if there was one.
    pub fn failure(&self) -> Option<String> {
        lock(&self.status.failure).clone()
    }

    /// Whether an insert found the disk full within the last minute, and no later one found space.
    pub fn is_full(&self) -> bool {
        lock(&self.status.full_at).is_some_and(|at| at.elapsed() < FULL_FOR)
    }

    /// In a replica, where it is in its stream with all that is durable and visible.
    pub fn position(&self) -> Option<StreamPosition> {
        *lock(&self.status.position)
    }

    /// In a replica, the position beyond which nothing is visible.
    pub fn horizon(&self) -> Option<StreamPosition> {
        *lock(&self.status.horizon)
    }

    /// The number of times that the disk had no space for deletes either.
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

    /// Enqueues a request, or refuses it if the writer is closed.
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

/// Calls `done` with what `take` takes of an outcome.
fn waiting<T: 'static>(take: fn(Outcome) -> T, done: Done<T>) -> Waiting<Outcome> {
    Waiting(Some(Box::new(move |outcome| done(outcome.map(take)))))
}
