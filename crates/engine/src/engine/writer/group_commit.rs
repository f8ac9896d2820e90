//! The writer's thread, the only one that writes to the store. It drains the queue, commits the
//! requests as one group with one fsync, publishes them to the index, and answers them. The next
//! group gathers in the queue during the fsync.
//!
//! A group holds changes that depend on none before them in it. A change that names an id again, or
//! deletes all points, begins the next group, once the index has what came before.
//!
//! If a graph lacks too many points ([`Index::accepts_inserts`]), changes that store points are set
//! aside, and deletes overtake them. Requests that all still wait for
//! their answers have no order among them.

use std::{
    collections::{HashSet, VecDeque},
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use super::{
    plan::plan,
    request::{ChangeRequest, Next, Outcome, WriteRequest, panicked},
};
use crate::{
    Error, Result,
    engine::stats::Counters,
    index::Index,
    store::{Location, Store, Write},
    sync::lock,
};

/// While the store uses a reserve of disk space, inserts are refused for this time before the store
/// looks for space again: it does so by filling the reserve, which writes some ten mebibytes.
const FULL_PAUSE: Duration = Duration::from_millis(100);

/// Once the writer has been idle for this time, it writes a no-op record behind the last
/// acknowledged one, if that has none yet ([`Store::note_end`]).
const IDLE: Duration = Duration::from_millis(50);

/// The time between two notes of the end of the log in the manifest, under writes without a pause.
/// Each note takes some syncs.
const NOTE_EVERY: Duration = Duration::from_secs(2);

/// While inserts wait for the graphs, the writer asks them again after this time.
const BACKPRESSURE_WAIT: Duration = Duration::from_millis(5);

/// A group takes no further requests once it has this size, so that small writes do not wait long
/// for large ones.
const GROUP_BYTES: usize = 8 << 20;

/// The number of deletes that are tried together when they have waited for disk space.
const WAITING_TOGETHER: usize = 64;

/// The state of the store, as other threads read it.
#[derive(Default)]
pub struct StoreStatus {
    /// The failure after which the store takes no more writes, if there was one.
    pub failure: Mutex<Option<String>>,
    /// When an insert last found the disk full, unless a later one found space.
    pub full_at: Mutex<Option<Instant>>,
    /// The number of times that there was no space for deletes.
    pub refused_deletes: AtomicU64,
}

/// The state of the writer's thread.
pub struct GroupCommit {
    store: Store,
    index: Arc<Index>,
    counters: Arc<Counters>,
    status: Arc<StoreStatus>,
    /// Changes that store points and wait for the graphs, oldest first.
    aside: VecDeque<ChangeRequest>,
    /// Deletes that wait for disk space while compaction frees some, oldest first.
    waiting: Vec<ChangeRequest>,
    /// When the manifest last noted the end of the log.
    noted_at: Instant,
    /// When the store last had no space for an insert and had given away its reserves.
    refused_at: Option<Instant>,
}

impl GroupCommit {
    /// The state of a thread that owns `store` and keeps `index` in step with it.
    pub fn new(
        store: Store,
        index: Arc<Index>,
        counters: Arc<Counters>,
        status: Arc<StoreStatus>,
    ) -> Self {
        GroupCommit {
            store,
            index,
            counters,
            status,
            aside: VecDeque::new(),
            waiting: Vec::new(),
            noted_at: Instant::now(),
            refused_at: None,
        }
    }

    /// Answers requests until the queue ends.
    pub fn run(mut self, queue: &Receiver<WriteRequest>) {
        let closing = loop {
            match catch_unwind(AssertUnwindSafe(|| self.take_turn(queue))) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(closing)) => break closing,
                Err(_) => self.note(&panicked()),
            }
        };
        if let Some(done) = closing {
            let closed = self.store.close();
            let failed = lock(&self.status.failure).clone().map(Error::ReadOnly);
            // If the channel is closed, the caller has stopped waiting.
            drop(done.send(failed.map_or(closed, Err)));
        }
    }

    /// Answers a group and does what follows it. Breaks if no more requests can come, with the
    /// channel of the caller that closes, if there is one.
    fn take_turn(
        &mut self,
        queue: &Receiver<WriteRequest>,
    ) -> ControlFlow<Option<Sender<Result<()>>>> {
        let Some(first) = self.next(queue) else {
            self.finish();
            return ControlFlow::Break(None);
        };
        let (changes, next) = self.gather(first, queue);
        self.answer_all(changes);
        self.note_groups_if_due();
        match next {
            None => {}
            Some(Next::Run(work)) => {
                // A panic closes the channel of the caller.
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

    /// The request that begins the next group: the oldest one set aside once the graphs accept
    /// inserts, else the next of the queue. None once the queue is closed.
    fn next(&mut self, queue: &Receiver<WriteRequest>) -> Option<WriteRequest> {
        loop {
            if !self.aside.is_empty() && self.index.accepts_inserts() {
                return self.aside.pop_front().map(WriteRequest::Change);
            }
            let wait = if self.aside.is_empty() {
                IDLE
            } else {
                BACKPRESSURE_WAIT
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

    /// Gathers changes, from `first` on, until the queue is empty, a request is no change, or the
    /// changes are large enough. Changes that the graphs do not accept are set aside.
    fn gather(
        &mut self,
        first: WriteRequest,
        queue: &Receiver<WriteRequest>,
    ) -> (Vec<ChangeRequest>, Option<Next>) {
        let accepts_inserts = self.index.accepts_inserts();
        let mut group = Vec::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                WriteRequest::Run(work) => return (group, Some(Next::Run(work))),
                WriteRequest::Close { done } => return (group, Some(Next::Close(done))),
                WriteRequest::Change(request) if request.change.stores() && !accepts_inserts => {
                    self.aside.push_back(request);
                }
                WriteRequest::Change(request) => {
                    bytes += request.change.bytes();
                    group.push(request);
                }
            }
            next = if bytes < GROUP_BYTES {
                let aside = if accepts_inserts {
                    self.aside.pop_front()
                } else {
                    None
                };
                let aside = aside.map(WriteRequest::Change);
                aside.or_else(|| queue.try_recv().ok())
            } else {
                None
            };
        }
        (group, None)
    }

    /// Tries the deletes again that wait for disk space: there may be some now, or compaction has
    /// ended.
    fn answer_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        while !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(WAITING_TOGETHER));
            self.answer_all(std::mem::replace(&mut waiting, rest));
        }
    }

    /// Writes what is set aside, at the end: no request waits for the graphs any more, and no
    /// compaction frees space.
    fn finish(&mut self) {
        for request in self.waiting.drain(..) {
            request.refuse(&Error::StorageFull);
        }
        while let Some(request) = self.aside.pop_front() {
            self.answer_all(vec![request]);
        }
    }

    /// Secures the end of the log while the writer is idle, see [`IDLE`].
    fn prove(&mut self) {
        if lock(&self.status.failure).is_some() {
            return;
        }
        self.noted_at = Instant::now();
        if let Err(error) = self.store.note_end() {
            self.note(&error);
        }
    }

    /// Notes the end of the log in the manifest if it is time: the loss of a group before it, or an
    /// older copy in its place, is then noticed at the next start.
    fn note_groups_if_due(&mut self) {
        if self.noted_at.elapsed() < NOTE_EVERY || lock(&self.status.failure).is_some() {
            return;
        }
        self.noted_at = Instant::now();
        if let Err(error) = self.store.note_groups() {
            self.note(&error);
        }
    }

    /// Commits changes, divided into groups, and answers them.
    fn answer_all(&mut self, mut changes: Vec<ChangeRequest>) {
        while !changes.is_empty() {
            let mut named = HashSet::new();
            let depends = |request: &ChangeRequest| !request.change.is_independent(&mut named);
            let count = changes.iter().position(depends).unwrap_or(changes.len());
            let rest = changes.split_off(count.max(1));
            self.answer(std::mem::replace(&mut changes, rest));
        }
    }

    /// Commits a group and answers its requests. On a full disk the changes that store points are
    /// refused, and the deletes are tried again without them.
    fn answer(&mut self, group: Vec<ChangeRequest>) {
        let result = catch_unwind(AssertUnwindSafe(|| self.commit(&group)))
            .unwrap_or_else(|_| Err(panicked()));
        if matches!(result, Err(Error::StorageFull)) {
            let stores = |request: &ChangeRequest| request.change.stores();
            let (inserts, deletes): (Vec<_>, Vec<_>) = group.into_iter().partition(stores);
            let refuse = |request: ChangeRequest| request.refuse(&Error::StorageFull);
            if inserts.is_empty() {
                if self.store.is_freeing_space() {
                    self.waiting.extend(deletes);
                    return;
                }
                self.status.refused_deletes.fetch_add(1, Ordering::Relaxed);
                return deletes.into_iter().for_each(refuse);
            }
            *lock(&self.status.full_at) = Some(Instant::now());
            inserts.into_iter().for_each(refuse);
            // The store keeps a reserve of space for deletes.
            return self.answer_all(deletes);
        }
        if let Err(error) = &result {
            self.note(error);
        }
        match result {
            Ok(outcomes) => {
                for (request, outcome) in group.into_iter().zip(outcomes) {
                    request.answer(outcome);
                }
            }
            Err(error) => group.into_iter().for_each(|request| request.refuse(&error)),
        }
    }

    /// Makes the requests durable as one group and then visible, and returns the outcome of each. A
    /// request that cannot be done is left out, with the error as its outcome.
    fn commit(&mut self, group: &[ChangeRequest]) -> Result<Vec<Result<Outcome>>> {
        if let Some(reason) = lock(&self.status.failure).clone() {
            return Err(Error::ReadOnly(reason));
        }
        let segments = self.store.segments();
        let mut writes = Vec::new();
        let mut outcomes = Vec::with_capacity(group.len());
        for request in group {
            outcomes.push(
                plan(&request.change, &self.index, &segments).map(|planned| {
                    writes.extend(planned.writes);
                    planned.outcome
                }),
            );
        }
        if !writes.is_empty() {
            let begun_at = Instant::now();
            let locations = if writes.iter().any(Write::is_insert) {
                self.commit_inserts(&writes)?
            } else {
                self.store.commit(&writes)?
            };
            self.publish(&writes, &locations)?;
            self.counters.add_group(writes.len(), begun_at.elapsed());
        }
        Ok(outcomes)
    }

    /// Commits writes that contain inserts, unless the disk was full a moment ago.
    fn commit_inserts(&mut self, writes: &[Write]) -> Result<Vec<Location>> {
        if self.refused_at.is_some_and(|at| at.elapsed() < FULL_PAUSE) {
            return Err(Error::StorageFull);
        }
        let committed = self.store.commit(writes);
        let is_full = matches!(committed, Err(Error::StorageFull));
        self.refused_at = (is_full && self.store.has_given_reserves()).then(Instant::now);
        let locations = committed?;
        *lock(&self.status.full_at) = None;
        Ok(locations)
    }

    /// Applies writes that are durable to the index, and makes them visible.
    fn publish(&self, writes: &[Write], locations: &[Location]) -> Result<()> {
        let last = self.store.last_sequence();
        let first = last + 1 - writes.len() as u64;
        for ((write, &location), sequence) in writes.iter().zip(locations).zip(first..) {
            match write {
                Write::Insert {
                    id, replaced: None, ..
                } => self.index.insert(*id, location, sequence)?,
                Write::Insert { id, .. } => self.index.replace(*id, location, sequence)?,
                Write::Delete { id, .. } => {
                    self.index.delete(id, sequence);
                }
                Write::DeleteAll => {
                    self.index.delete_all(sequence);
                }
            }
        }
        self.index.publish(last);
        Ok(())
    }

    /// Notes an error after which the store takes no more writes: any but a full disk and overload.
    fn note(&self, error: &Error) {
        if !matches!(error, Error::StorageFull | Error::Overloaded(_)) {
            let mut failure = lock(&self.status.failure);
            failure.get_or_insert_with(|| error.to_string());
        }
    }
}
