//! The one thread that writes: it drains the queue, commits the requests as one group with one
//! fsync, publishes them and answers everyone who waits. The fsync under way is the window in which
//! the next group gathers.
//!
//! Inserts for which the graphs have no room yet are set aside, and deletes pass them. Nobody can
//! tell: the ids of points not yet acknowledged are known to nobody.

use std::{
    collections::{HashSet, VecDeque},
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    engine::{
        budget::{Budget, Reservation},
        stats::Counters,
    },
    index::{Index, PointId},
    store::{Location, Store, Write},
    sync::lock,
};

/// How long a full disk is told of after the last insert that it refused: who is sent no more
/// inserts because of that would not notice otherwise that there is room again.
const FULL_FOR: Duration = Duration::from_mins(1);

/// While a reserve is given away, inserts are refused for so long before there is looked again: to
/// look whether there is room for it is to fill it, some ten mebibytes each time.
const FULL_PAUSE: Duration = Duration::from_millis(100);

/// The last acknowledged record is proven by a no-op once the writer has been idle this long.
const IDLE: Duration = Duration::from_millis(50);

/// Where the log ends is noted this often under writes without a pause: some syncs each time.
const NOTE_EVERY: Duration = Duration::from_secs(2);

/// While inserts wait for room, the writer looks again after this time.
const ROOM_WAIT: Duration = Duration::from_millis(5);

/// A group takes in further requests up to this size, so that no write waits for a long one.
const GROUP_BYTES: usize = 8 << 20;

/// So many deletes that wait for room are tried together.
const WAITING_TOGETHER: usize = 64;

/// What a waiting request takes beside its vectors and contents, about.
const REQUEST_BYTES: usize = 256;

/// What is called, on the writer's thread, once a write is durable and visible, or has failed.
pub type Done<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// Points to insert together, all or none: one id, content type and content for each vector.
pub struct Batch {
    /// Ids, all fresh.
    pub ids: Vec<PointId>,
    /// The vectors one after the other.
    pub vectors: Vec<f32>,
    /// The number of each content type.
    pub content_types: Vec<u8>,
    /// The contents one after the other.
    pub contents: Vec<u8>,
    /// Where each content ends within `contents`.
    pub content_ends: Vec<usize>,
}

impl Batch {
    /// The vectors' and contents' part of the memory that the batch takes.
    fn bytes(&self) -> usize {
        self.vectors.len() * size_of::<f32>() + self.contents.len()
    }

    fn writes(&self, dimension: usize) -> impl Iterator<Item = Write<'_>> {
        let starts = std::iter::once(0).chain(self.content_ends.iter().copied());
        let contents = starts
            .zip(&self.content_ends)
            .map(|(start, &end)| &self.contents[start..end]);
        let vectors = self.vectors.chunks_exact(dimension);
        self.ids
            .iter()
            .zip(vectors)
            .zip(&self.content_types)
            .zip(contents)
            .map(|(((&id, vector), &content_type), content)| Write::Insert {
                id,
                vector,
                content_type,
                content,
            })
    }
}

/// Who waits for a request, and is answered once, whatever becomes of it.
struct Waiting<T>(Option<Done<T>>);

impl<T> Waiting<T> {
    fn answer(mut self, result: Result<T>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            // A panic got in the way of the answer. Another one here would end the process.
            let answer = || done(Err(again(&panicked())));
            drop(catch_unwind(AssertUnwindSafe(answer)));
        }
    }
}

enum Request {
    Insert {
        batch: Batch,
        done: Waiting<()>,
        memory: Reservation,
    },
    Delete {
        id: PointId,
        done: Waiting<bool>,
        memory: Reservation,
    },
    Run(Work),
    Close {
        done: Sender<Result<()>>,
    },
}

/// What another thread has done to the store between two groups.
type Work = Box<dyn FnOnce(&mut Store) + Send>;

/// What follows a group.
enum Next {
    Run(Work),
    Close(Sender<Result<()>>),
}

impl Request {
    fn refuse(self, error: &Error) {
        match self {
            Request::Insert { done, .. } => done.answer(Err(again(error))),
            Request::Delete { done, .. } => done.answer(Err(again(error))),
            // Whoever waits for the work learns from the end of its channel that it was not done.
            Request::Run(work) => drop(work),
            // Whoever closes has stopped waiting if the channel is gone.
            Request::Close { done } => drop(done.send(Err(again(error)))),
        }
    }
}

/// The queue to the writer's thread.
pub struct Writer {
    queue: Mutex<Option<Sender<Request>>>,
    failure: Arc<Mutex<Option<String>>>,
    full_at: Arc<Mutex<Option<Instant>>>,
    refused_deletes: Arc<AtomicU64>,
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
        let (failure, full_at) = (Arc::default(), Arc::default());
        let refused_deletes = Arc::<AtomicU64>::default();
        let state = WriterThread {
            store,
            index,
            counters,
            failure: Arc::clone(&failure),
            full_at: Arc::clone(&full_at),
            refused_deletes: Arc::clone(&refused_deletes),
            aside: VecDeque::new(),
            waiting: Vec::new(),
            noted_at: Instant::now(),
            refused_at: None,
        };
        let thread = thread::Builder::new()
            .name("write".into())
            .spawn(move || state.run(&receiver))?;
        Ok(Writer {
            queue: Mutex::new(Some(sender)),
            failure,
            full_at,
            refused_deletes,
            thread: Mutex::new(Some(thread)),
            budget,
        })
    }

    /// Enqueues an insert, unless too much is waiting already.
    pub fn insert(&self, batch: Batch, done: Done<()>) {
        let done = Waiting(Some(done));
        match self.budget.reserve(REQUEST_BYTES + batch.bytes()) {
            Ok(memory) => self.send(Request::Insert {
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
            Ok(memory) => self.send(Request::Delete { id, done, memory }),
            Err(error) => done.answer(Err(error)),
        }
    }

    /// Has `work` done to the store between two groups, and waits for it.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> T + Send + 'static,
    ) -> Result<T> {
        let (done, result) = channel();
        self.send(Request::Run(Box::new(move |store| {
            // Whoever waits is there until the channel is closed.
            drop(done.send(work(store)));
        })));
        result.recv().map_err(|_| Error::Closed)
    }

    /// Why the store takes no more writes, if it does not.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Whether an insert found the disk full a short while ago, and none found room since.
    pub fn is_full(&self) -> bool {
        lock(&self.full_at).is_some_and(|at| at.elapsed() < FULL_FOR)
    }

    /// How many times the disk had no room for deletes either.
    pub fn refused_deletes(&self) -> u64 {
        self.refused_deletes.load(Ordering::Relaxed)
    }

    /// Finishes what is enqueued, then closes the store. Later writes are refused.
    pub fn close(&self) -> Result<()> {
        let queue = lock(&self.queue).take();
        let Some(queue) = queue else { return Ok(()) };
        let (done, closed) = channel();
        queue
            .send(Request::Close { done })
            .map_err(|_| Error::Closed)?;
        let result = closed.recv().map_err(|_| Error::Closed)?;
        if let Some(thread) = lock(&self.thread).take() {
            // A panic in the thread was caught there and became its answer.
            drop(thread.join());
        }
        result
    }

    fn send(&self, request: Request) {
        let refused = match &*lock(&self.queue) {
            Some(queue) => queue.send(request).err().map(|unsent| unsent.0),
            None => Some(request),
        };
        if let Some(request) = refused {
            request.refuse(&Error::Closed);
        }
    }
}

struct WriterThread {
    store: Store,
    index: Arc<Index>,
    counters: Arc<Counters>,
    failure: Arc<Mutex<Option<String>>>,
    /// When an insert last found the disk full, unless one has found room since.
    full_at: Arc<Mutex<Option<Instant>>>,
    /// How many times there was no room for deletes.
    refused_deletes: Arc<AtomicU64>,
    /// Inserts that wait for room, oldest first.
    aside: VecDeque<Request>,
    /// Deletes that wait for room on the disk, oldest first, while compaction makes some.
    waiting: Vec<Request>,
    /// When where the log ends was last noted.
    noted_at: Instant,
    /// When the store last had no room for an insert and its reserves.
    refused_at: Option<Instant>,
}

impl WriterThread {
    fn run(mut self, queue: &Receiver<Request>) {
        let closing = loop {
            match catch_unwind(AssertUnwindSafe(|| self.take_turn(queue))) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(closing)) => break closing,
                Err(_) => self.note(&panicked()),
            }
        };
        if let Some(done) = closing {
            let closed = self.store.close();
            let failed = lock(&self.failure).clone().map(Error::ReadOnly);
            // Whoever closes has stopped waiting if the channel is gone.
            drop(done.send(failed.map_or(closed, Err)));
        }
    }

    /// Answers a group, and does what follows it. Breaks where no more can come, with whoever
    /// closes, if anybody does.
    fn take_turn(&mut self, queue: &Receiver<Request>) -> ControlFlow<Option<Sender<Result<()>>>> {
        let Some(first) = self.next(queue) else {
            self.finish();
            return ControlFlow::Break(None);
        };
        let (group, next) = self.gather(first, queue);
        self.answer(group);
        self.note_groups_if_due();
        match next {
            None => {}
            Some(Next::Run(work)) => {
                // A panic ends the channel of whoever waits.
                if catch_unwind(AssertUnwindSafe(|| work(&mut self.store))).is_err() {
                    self.note(&panicked());
                }
                self.answer_waiting();
            }
            Some(Next::Close(done)) => {
                self.finish();
                return ControlFlow::Break(Some(done));
            }
        }
        ControlFlow::Continue(())
    }

    /// The request to begin the next group with: the oldest set aside once there is room, else what
    /// comes next. None once nothing can come any more.
    fn next(&mut self, queue: &Receiver<Request>) -> Option<Request> {
        loop {
            if !self.aside.is_empty() && self.index.accepts_inserts() {
                return self.aside.pop_front();
            }
            let wait = if self.aside.is_empty() {
                IDLE
            } else {
                ROOM_WAIT
            };
            match queue.recv_timeout(wait) {
                Ok(request) => return Some(request),
                Err(RecvTimeoutError::Timeout) if self.aside.is_empty() => {
                    self.prove();
                    return queue.recv().ok();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Takes what waits into the group that `first` begins, up to a request that is not to write or
    /// until the group is large enough; what there is no room for is set aside.
    fn gather(
        &mut self,
        first: Request,
        queue: &Receiver<Request>,
    ) -> (Vec<Request>, Option<Next>) {
        let accepts_inserts = self.index.accepts_inserts();
        let mut group = Vec::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                Request::Run(work) => return (group, Some(Next::Run(work))),
                Request::Close { done } => return (group, Some(Next::Close(done))),
                Request::Insert { .. } if !accepts_inserts => self.aside.push_back(request),
                Request::Insert { ref batch, .. } => {
                    bytes += batch.bytes();
                    group.push(request);
                }
                Request::Delete { .. } => group.push(request),
            }
            next = if bytes < GROUP_BYTES {
                let aside = if accepts_inserts {
                    self.aside.pop_front()
                } else {
                    None
                };
                aside.or_else(|| queue.try_recv().ok())
            } else {
                None
            };
        }
        (group, None)
    }

    /// Tries deletes again that wait for room: it may have been made by now, or nobody makes any.
    fn answer_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        while !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(WAITING_TOGETHER));
            self.answer(std::mem::replace(&mut waiting, rest));
        }
    }

    /// Writes what is set aside: at the end nobody waits for the graphs any more, and nobody makes
    /// room.
    fn finish(&mut self) {
        for request in self.waiting.drain(..) {
            request.refuse(&Error::StorageFull);
        }
        while let Some(request) = self.aside.pop_front() {
            self.answer(vec![request]);
        }
    }

    fn prove(&mut self) {
        if lock(&self.failure).is_some() {
            return;
        }
        self.noted_at = Instant::now();
        if let Err(error) = self.store.note_end() {
            self.note(&error);
        }
    }

    /// What is noted cannot be lost unseen, or put back by an older copy, however long writes go on.
    fn note_groups_if_due(&mut self) {
        if self.noted_at.elapsed() < NOTE_EVERY || lock(&self.failure).is_some() {
            return;
        }
        self.noted_at = Instant::now();
        if let Err(error) = self.store.note_groups() {
            self.note(&error);
        }
    }

    fn answer(&mut self, group: Vec<Request>) {
        if group.is_empty() {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.commit(&group)))
            .unwrap_or_else(|_| Err(panicked()));
        if matches!(result, Err(Error::StorageFull)) {
            let is_insert = |request: &Request| matches!(request, Request::Insert { .. });
            let (inserts, deletes): (Vec<_>, Vec<_>) = group.into_iter().partition(is_insert);
            let refuse = |request: Request| request.refuse(&Error::StorageFull);
            if inserts.is_empty() {
                if self.store.is_freeing_space() {
                    self.waiting.extend(deletes);
                    return;
                }
                self.refused_deletes.fetch_add(1, Ordering::Relaxed);
                return deletes.into_iter().for_each(refuse);
            }
            *lock(&self.full_at) = Some(Instant::now());
            inserts.into_iter().for_each(refuse);
            // There is space reserved for deletes alone.
            return self.answer(deletes);
        }
        if let Err(error) = &result {
            self.note(error);
        }
        match result {
            Ok(found) => accept(group, found),
            Err(error) => group.into_iter().for_each(|request| request.refuse(&error)),
        }
    }

    /// Makes the requests durable as one group and then visible. Answers, for each delete in order,
    /// whether it found its point.
    fn commit(&mut self, group: &[Request]) -> Result<Vec<bool>> {
        if let Some(reason) = lock(&self.failure).clone() {
            return Err(Error::ReadOnly(reason));
        }
        let mut writes = Vec::new();
        let mut found = Vec::new();
        let mut deleted = HashSet::new();
        for request in group {
            match request {
                Request::Insert { batch, .. } => {
                    writes.extend(batch.writes(self.index.dimension()));
                }
                Request::Delete { id, .. } => {
                    let point = self.index.find(id).filter(|_| deleted.insert(id));
                    found.push(point.is_some());
                    if let Some((inserted, location)) = point {
                        writes.push(Write::Delete {
                            id: *id,
                            inserted,
                            location,
                        });
                    }
                }
                Request::Run(_) | Request::Close { .. } => {}
            }
        }
        if !writes.is_empty() {
            let begun_at = Instant::now();
            let is_insert = |write: &Write| matches!(write, Write::Insert { .. });
            let locations = if writes.iter().any(is_insert) {
                self.commit_inserts(&writes)?
            } else {
                self.store.commit(&writes)?
            };
            self.publish(&writes, &locations)?;
            self.counters.add_group(writes.len(), begun_at.elapsed());
        }
        Ok(found)
    }

    fn commit_inserts(&mut self, writes: &[Write]) -> Result<Vec<Location>> {
        if self.refused_at.is_some_and(|at| at.elapsed() < FULL_PAUSE) {
            return Err(Error::StorageFull);
        }
        let committed = self.store.commit(writes);
        let is_full = matches!(committed, Err(Error::StorageFull));
        self.refused_at = (is_full && self.store.has_given_reserves()).then(Instant::now);
        let locations = committed?;
        *lock(&self.full_at) = None;
        Ok(locations)
    }

    fn publish(&self, writes: &[Write], locations: &[Location]) -> Result<()> {
        let last = self.store.last_sequence();
        let first = last + 1 - writes.len() as u64;
        for ((write, &location), sequence) in writes.iter().zip(locations).zip(first..) {
            match write {
                Write::Insert { id, .. } => self.index.insert(*id, location, sequence)?,
                Write::Delete { id, .. } => {
                    self.index.delete(id, sequence);
                }
            }
        }
        self.index.publish(last);
        Ok(())
    }

    /// Notes an error after which nothing can be written: some the store outlives.
    fn note(&self, error: &Error) {
        if !matches!(error, Error::StorageFull | Error::Overloaded(_)) {
            let mut failure = lock(&self.failure);
            failure.get_or_insert_with(|| error.to_string());
        }
    }
}

/// Answers a group that is durable and visible; `found` says, for each delete in order, whether
/// there was such a point.
fn accept(group: Vec<Request>, found: Vec<bool>) {
    let mut found = found.into_iter();
    for request in group {
        match request {
            Request::Insert {
                batch,
                done,
                memory,
            } => {
                // Given back first: who has its answer may count on the room for its next request.
                drop((batch, memory));
                done.answer(Ok(()));
            }
            Request::Delete { done, memory, .. } => {
                drop(memory);
                done.answer(Ok(found.next() == Some(true)));
            }
            // Neither is ever part of a group.
            Request::Run(_) | Request::Close { .. } => {}
        }
    }
}

fn panicked() -> Error {
    Error::Internal("the writer panicked".into())
}

/// The same failure for another of those who wait for a group.
fn again(error: &Error) -> Error {
    match error {
        Error::StorageFull => Error::StorageFull,
        Error::Closed => Error::Closed,
        Error::ReadOnly(reason) => Error::ReadOnly(reason.clone()),
        Error::Overloaded(reason) => Error::Overloaded(reason.clone()),
        other => Error::ReadOnly(other.to_string()),
    }
}
