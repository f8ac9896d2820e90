//! The writer's thread, the only one that writes to the store. It drains the queue, commits the
//! requests as a group with one fsync, publishes them to the index, and answers them. The next
//! group gathers in the queue during the fsync.
//!
//! A group holds changes that depend on none before them in it. A change that names an id again, or
//! deletes all points, begins the next group, once the index has what came before. So does one with
//! which the group would plan too many bytes: an update copies what it keeps, which may be far more
//! than its request holds.
//!
//! If a graph lacks too many points ([`Index::accepts_inserts`]), changes that store points are set
//! aside, and deletes overtake them, unless the store is a replica. That is allowed because requests
//! without an answer are concurrent: they may be applied in any order.
//!
//! The requests of a replica are messages of a stream, and have an order: none overtakes another, so
//! that all replicas come to the same points whatever each of them has to wait for. A message that must
//! wait for the graphs, disk space or memory is set aside, and all later ones behind it.

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
    plan::{Planned, plan},
    request::{Change, ChangeRequest, MessageId, Next, Outcome, WriteRequest, panicked},
};
use crate::{
    Error, Result,
    engine::stats::Counters,
    index::Index,
    store::{Location, Segments, Store, StreamPosition, Write},
    sync::lock,
};

/// The longest time that is taken to ask the filter of a delete about the points that were written
/// while it was asked about the others. Nothing else is written meanwhile. A replica takes any time: it
/// must not refuse what another does.
const LONGEST: Duration = Duration::from_secs(1);

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

/// The most bytes that a group of several requests takes in the log, so that the memory of a group is
/// bounded.
const PLANNED_BYTES: u64 = 2 * GROUP_BYTES as u64;

/// The number of deletes that are tried together when they have waited for disk space.
const WAITING_TOGETHER: usize = 64;

/// The state of the store, as other threads read it.
#[derive(Default)]
pub struct StoreStatus {
    /// The failure after which the store takes no more writes, if there was one.
    pub failure: Mutex<Option<String>>,
    /// When an insert last found the disk full, unless a later one found space.
    pub full_at: Mutex<Option<Instant>>,
    /// The number of times that there was no space for deletes, which were refused or, in a replica,
    /// wait.
    pub refused_deletes: AtomicU64,
    /// In a replica, where it is in its stream with all that is durable and visible.
    pub position: Mutex<Option<StreamPosition>>,
    /// In a replica, the position beyond which nothing is visible. It is ahead of `position` while a
    /// group becomes visible.
    pub horizon: Mutex<Option<StreamPosition>>,
}

/// The state of the writer's thread.
pub struct GroupCommit {
    store: Store,
    index: Arc<Index>,
    counters: Arc<Counters>,
    status: Arc<StoreStatus>,
    /// Changes that wait for the graphs or, in a replica, for disk space or memory, oldest first.
    aside: VecDeque<ChangeRequest>,
    /// Deletes that wait for disk space while compaction frees some, oldest first.
    waiting: Vec<ChangeRequest>,
    /// When the manifest last noted the end of the log.
    noted_at: Instant,
    /// When the store last had no space for an insert and had given away its reserves.
    refused_at: Option<Instant>,
    /// When there was last no disk space or memory for a message, unless a later one was stored.
    held_at: Option<Instant>,
}

impl GroupCommit {
    /// The state of a thread that owns `store` and keeps `index` in step with it.
    pub fn new(
        store: Store,
        index: Arc<Index>,
        counters: Arc<Counters>,
        status: Arc<StoreStatus>,
    ) -> Self {
        *lock(&status.position) = store.position();
        *lock(&status.horizon) = store.position();
        GroupCommit {
            store,
            index,
            counters,
            status,
            aside: VecDeque::new(),
            waiting: Vec::new(),
            noted_at: Instant::now(),
            refused_at: None,
            held_at: None,
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
        let Ok(first) = self.next(queue) else {
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

    /// Waits for the next request of the queue, which begins a group. None if what is set aside
    /// begins it, since there is room again. An error once the queue is closed.
    fn next(&mut self, queue: &Receiver<WriteRequest>) -> Result<Option<WriteRequest>> {
        loop {
            if !self.aside.is_empty() && self.has_room() {
                return Ok(None);
            }
            let wait = if self.aside.is_empty() {
                IDLE
            } else {
                BACKPRESSURE_WAIT
            };
            match queue.recv_timeout(wait) {
                Ok(request) => return Ok(Some(request)),
                Err(RecvTimeoutError::Timeout) if self.aside.is_empty() => {
                    self.prove();
                    return queue.recv().map(Some).map_err(|_| Error::Closed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Closed),
            }
        }
    }

    /// Whether points can be stored now, as far as is known before it is tried.
    fn has_room(&self) -> bool {
        self.index.accepts_inserts() && self.held_at.is_none_or(|at| at.elapsed() >= FULL_PAUSE)
    }

    /// Gathers changes, from those set aside and `first` on, until the queue is empty, a request is no
    /// change, or the changes are large enough. Changes for which there is no room are set aside.
    fn gather(
        &mut self,
        first: Option<WriteRequest>,
        queue: &Receiver<WriteRequest>,
    ) -> (Vec<ChangeRequest>, Option<Next>) {
        let has_room = self.has_room();
        let mut group = Vec::new();
        let mut bytes = 0;
        let mut next = first;
        loop {
            while has_room
                && bytes < GROUP_BYTES
                && let Some(request) = self.aside.pop_front()
            {
                bytes += request.change.bytes();
                group.push(request);
            }
            match next {
                None => {}
                Some(WriteRequest::Run(work)) => return (group, Some(Next::Run(work))),
                Some(WriteRequest::Close { done }) => return (group, Some(Next::Close(done))),
                Some(WriteRequest::Change(request)) if self.has_to_wait(&request, has_room) => {
                    self.aside.push_back(*request);
                }
                Some(WriteRequest::Change(request)) => {
                    bytes += request.change.bytes();
                    group.push(*request);
                }
            }
            if bytes >= GROUP_BYTES {
                return (group, None);
            }
            next = queue.try_recv().ok();
            if next.is_none() {
                return (group, None);
            }
        }
    }

    /// Whether a change is set aside: because it stores points and there is no room, or because it is a
    /// message and an earlier one waits.
    fn has_to_wait(&self, request: &ChangeRequest, has_room: bool) -> bool {
        let waits_behind = request.message.is_some() && !self.aside.is_empty();
        waits_behind || (request.change.stores() && !has_room)
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

    /// Answers what still waits, at the end. Changes that wait for the graphs are written: nothing
    /// waits for these any more. Deletes that wait for space are refused, as no compaction frees any.
    /// Messages are refused, too: they stay in their stream.
    fn finish(&mut self) {
        for request in self.waiting.drain(..) {
            request.refuse(&Error::StorageFull);
        }
        while let Some(request) = self.aside.pop_front() {
            if request.message.is_some() {
                request.refuse(&Error::Closed);
            } else {
                self.answer_all(vec![request]);
            }
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

    /// Commits changes, divided into groups, and answers them. Messages for which there is no space
    /// are set aside, with all behind them.
    fn answer_all(&mut self, mut changes: Vec<ChangeRequest>) {
        while !changes.is_empty() {
            let mut named = HashSet::new();
            let depends = |request: &ChangeRequest| !request.change.is_independent(&mut named);
            let count = changes.iter().position(depends).unwrap_or(changes.len());
            let rest = changes.split_off(count.max(1));
            let mut waiting = self.answer(std::mem::replace(&mut changes, rest));
            if !waiting.is_empty() {
                self.held_at = Some(Instant::now());
                waiting.append(&mut changes);
                waiting.extend(self.aside.drain(..));
                self.aside = waiting.into();
            }
        }
    }

    /// Commits changes, in as many groups as their size takes, and answers their requests. On a full
    /// disk the changes that store points are refused, and the deletes are tried again without them;
    /// messages wait instead. Returns the messages that have to wait.
    fn answer(&mut self, mut group: Vec<ChangeRequest>) -> Vec<ChangeRequest> {
        while !group.is_empty() {
            let result = catch_unwind(AssertUnwindSafe(|| self.commit(&group)))
                .unwrap_or_else(|_| Err(panicked()));
            let is_full = matches!(result, Err(Error::StorageFull));
            let is_replica = group.iter().any(|request| request.message.is_some());
            match result {
                Err(Error::StorageFull | Error::Overloaded(_)) if is_replica => {
                    return self.hold(group, is_full);
                }
                Err(Error::StorageFull) => self.refuse_inserts(std::mem::take(&mut group)),
                Err(error) => {
                    self.note(&error);
                    for request in group.drain(..) {
                        request.refuse(&error);
                    }
                }
                Ok(outcomes) => {
                    self.held_at = None;
                    let rest = group.split_off(outcomes.len());
                    for (request, outcome) in group.into_iter().zip(outcomes) {
                        request.answer(outcome);
                    }
                    group = rest;
                }
            }
        }
        Vec::new()
    }

    /// Answers a group for which the disk has no space: refuses the changes that store points, and
    /// tries the deletes again without them. Deletes alone wait for compaction, if that frees space.
    fn refuse_inserts(&mut self, group: Vec<ChangeRequest>) {
        let stores = |request: &ChangeRequest| request.change.stores();
        let (inserts, deletes): (Vec<_>, Vec<_>) = group.into_iter().partition(stores);
        let refuse = |request: ChangeRequest| request.refuse(&Error::StorageFull);
        if !inserts.is_empty() {
            *lock(&self.status.full_at) = Some(Instant::now());
            inserts.into_iter().for_each(refuse);
            // The store keeps a reserve of space for deletes.
            self.answer_all(deletes);
        } else if self.store.is_freeing_space() {
            self.waiting.extend(deletes);
        } else {
            self.status.refused_deletes.fetch_add(1, Ordering::Relaxed);
            deletes.into_iter().for_each(refuse);
        }
    }

    /// What becomes of a group of messages for which there is no space, or no memory, now: the deletes
    /// before the first message that stores points are tried alone. Returns the messages that wait.
    fn hold(&mut self, mut group: Vec<ChangeRequest>, is_full: bool) -> Vec<ChangeRequest> {
        let Some(first) = group.iter().position(|request| request.change.stores()) else {
            if is_full && !self.store.is_freeing_space() {
                self.status.refused_deletes.fetch_add(1, Ordering::Relaxed);
            }
            return group;
        };
        if is_full {
            *lock(&self.status.full_at) = Some(Instant::now());
        }
        let rest = group.split_off(first);
        let mut waiting = if group.is_empty() {
            group
        } else {
            self.answer(group)
        };
        waiting.extend(rest);
        waiting
    }

    /// Makes the first requests, as many as have room, durable as one group and then visible, and
    /// returns the outcome of each. A request that cannot be done is left out, with the error as its
    /// outcome.
    fn commit(&mut self, group: &[ChangeRequest]) -> Result<Vec<Result<Outcome>>> {
        if let Some(reason) = lock(&self.status.failure).clone() {
            return Err(Error::ReadOnly(reason));
        }
        let segments = self.store.segments();
        let mut position = self.store.position().unwrap_or_default();
        let before = position;
        let (mut writes, mut bytes) = (Vec::new(), 0);
        let mut outcomes = Vec::with_capacity(group.len());
        for request in group {
            if let Err(error) = self.store.check_origin(request.message.is_some()) {
                outcomes.push(Err(error));
                continue;
            }
            let planned = match request.message {
                None => self.plan(&request.change, &segments, LONGEST),
                Some(MessageId { sequence, .. }) if sequence != position.sequence + 1 => {
                    Err(out_of_order(sequence, position))
                }
                Some(MessageId { crc, .. }) => {
                    let (mut planned, bytes) = self.plan_message(&request.change, &segments)?;
                    planned.outcome.position = position.after(crc);
                    Ok((planned, bytes))
                }
            };
            let more = planned.as_ref().map_or(0, |&(_, bytes)| bytes);
            if bytes > 0 && bytes + more > PLANNED_BYTES {
                break;
            }
            bytes += more;
            outcomes.push(planned.map(|(planned, _)| {
                if request.message.is_some() {
                    position = planned.outcome.position;
                }
                writes.extend(planned.writes);
                planned.outcome
            }));
        }
        let position = (position != before).then_some(position);
        if !writes.is_empty() || position.is_some() {
            let begun_at = Instant::now();
            let locations = if writes.iter().any(Write::is_insert) {
                self.store_inserts(&writes, position)?
            } else {
                self.store(&writes, position)?
            };
            if position.is_some() {
                *lock(&self.status.horizon) = position;
            }
            self.publish(&writes, &locations)?;
            self.counters.add_group(writes.len(), begun_at.elapsed());
        }
        if position.is_some() {
            *lock(&self.status.position) = position;
        }
        Ok(outcomes)
    }

    /// Plans a change, see [`plan`], and refuses alone what the store would refuse with its whole
    /// group. Returns about how many bytes the change takes in the log as well.
    fn plan<'a>(
        &self,
        change: &'a Change,
        segments: &'a Segments,
        longest: Duration,
    ) -> Result<(Planned<'a>, u64)> {
        let planned = plan(change, &self.index, segments, longest)?;
        let bytes = self.store.check(&planned.writes)?;
        Ok((planned, bytes))
    }

    /// Plans a message. A refusal is an outcome: every replica refuses the same message. An error is a
    /// failure of this replica alone, which must not go on with the next message.
    fn plan_message<'a>(
        &self,
        change: &'a Change,
        segments: &'a Segments,
    ) -> Result<(Planned<'a>, u64)> {
        let planned = self.plan(change, segments, Duration::MAX);
        let is_damaged = || {
            self.index
                .damage()
                .is_some_and(|damage| damage.damaged_points > 0)
        };
        if matches!(change, Change::DeleteMatching(..)) && is_damaged() {
            let reason = "a record is damaged: whether its point passes a filter is not known";
            return Err(Error::ReadOnly(reason.to_owned()));
        }
        match planned {
            Err(error @ (Error::InvalidArgument(_) | Error::OtherCount { .. })) => {
                let outcome = Outcome {
                    refused: Some(error),
                    ..Outcome::default()
                };
                let writes = Vec::new();
                Ok((Planned { writes, outcome }, 0))
            }
            planned => planned,
        }
    }

    /// Makes writes durable, in a replica with its position in the stream.
    fn store(
        &mut self,
        writes: &[Write],
        position: Option<StreamPosition>,
    ) -> Result<Vec<Location>> {
        match position {
            Some(position) => self.store.apply(writes, position),
            None => self.store.commit(writes),
        }
    }

    /// Makes writes durable that contain inserts, unless the disk was full a moment ago.
    fn store_inserts(
        &mut self,
        writes: &[Write],
        position: Option<StreamPosition>,
    ) -> Result<Vec<Location>> {
        if self.refused_at.is_some_and(|at| at.elapsed() < FULL_PAUSE) {
            return Err(Error::StorageFull);
        }
        let committed = self.store(writes, position);
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

fn out_of_order(sequence: u64, position: StreamPosition) -> Error {
    let expected = position.sequence + 1;
    Error::InvalidArgument(format!(
        "message {sequence} of the stream, expected {expected}"
    ))
}
