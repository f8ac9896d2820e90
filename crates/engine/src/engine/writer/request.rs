//! The requests to the writer, and their answers.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc::Sender},
};

use vectord_filter::Filter;

use crate::{
    Error, Result,
    engine::budget::Reservation,
    index::{Matches, PointId},
    store::{Store, StreamPosition},
};

/// A callback, called once a request is answered. The callback of a write is called once the write
/// is durable and visible, or has failed, on the writer's thread unless it was refused at once.
pub type Done<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// Points to store together, all or none: one id, content type and content for each vector.
#[derive(Default)]
pub struct Batch {
    /// The ids, each once.
    pub ids: Vec<PointId>,
    /// The vectors one after the other.
    pub vectors: Vec<f32>,
    /// The number of each content type.
    pub content_types: Vec<u8>,
    /// The contents one after the other.
    pub contents: Vec<u8>,
    /// For each content the offset in `contents` at which it ends.
    pub content_ends: Vec<usize>,
    /// The metadata one after the other, as the service encodes them.
    pub metadata: Vec<u8>,
    /// For each point the offset in `metadata` at which its metadata ends. Empty if none has any.
    pub metadata_ends: Vec<usize>,
}

impl Batch {
    /// The bytes of the vectors and the payloads.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.vectors[..]) + self.contents.len() + self.metadata.len()
    }
}

/// What is done with a point whose id another point has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// There is none: the ids were drawn at random, and are not looked up.
    Impossible,
    /// The new point replaces it.
    Replace,
    /// It stays, and the new point is not stored.
    Keep,
}

/// What became of the points of a [`Batch`]. The three numbers add up to all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upserted {
    /// The number of points that were stored with a new id.
    pub stored: usize,
    /// The number of points that replaced another.
    pub replaced: usize,
    /// The number of points that were not stored, since there was one with their id.
    pub kept: usize,
}

/// The new payload of a point. What is not given stays as it is.
#[derive(Clone, Debug)]
pub struct Update {
    /// The id of the point.
    pub id: PointId,
    /// The number of the content type.
    pub content_type: Option<u8>,
    /// The content.
    pub content: Option<Vec<u8>>,
    /// The metadata, as the service encodes them; empty for none.
    pub metadata: Option<Vec<u8>>,
}

/// The callback of a request, which is called exactly once: at the latest when it is dropped, as
/// after a panic of the writer.
pub struct Waiting<T>(pub Option<Done<T>>);

impl<T> Waiting<T> {
    /// Calls the callback.
    pub fn answer(mut self, result: Result<T>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            // A panic has prevented the answer. Another panic here would end the process.
            let answer = || done(Err(again(&panicked())));
            drop(catch_unwind(AssertUnwindSafe(answer)));
        }
    }
}

/// A request in the queue of the writer.
pub enum WriteRequest {
    Change(Box<ChangeRequest>),
    Run(Work),
    Close { done: Sender<Result<()>> },
}

/// A change of the points, durable and visible in whole or not at all.
pub struct ChangeRequest {
    pub change: Change,
    /// Which message of the stream it is; None where the store orders its writes itself.
    pub message: Option<MessageId>,
    pub done: Waiting<Outcome>,
    pub memory: Reservation,
}

/// A message of the stream that orders the writes of a replica.
#[derive(Clone, Copy, Debug)]
pub struct MessageId {
    /// Its sequence in the stream, from 1 without gaps.
    pub sequence: u64,
    /// The CRC-32 of its bytes.
    pub crc: u32,
}

/// What a change does.
pub enum Change {
    /// Stores points.
    Store(Batch, Existing),
    /// Changes the payloads of points.
    Update(Vec<Update>),
    /// Deletes the points with these ids, each once in the list.
    Delete(Vec<PointId>),
    /// Deletes the points that pass this filter; a search has found those of an earlier view.
    DeleteMatching(Arc<Filter>, Matches),
    /// Deletes all points if there are as many as this.
    DeleteAll(u64),
}

/// What a change has done.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What became of the points to be stored.
    pub counts: Upserted,
    /// For each id of an update or a delete in order, whether there was such a point.
    pub found: Vec<bool>,
    /// How many points have passed the filter of a delete.
    pub deleted: u64,
    /// In a replica, where it is in its stream with the change.
    pub position: StreamPosition,
    /// In a replica, why nothing was changed: every replica refuses it for the same reason.
    pub refused: Option<Error>,
}

/// Work of another thread on the store, done between two groups.
pub type Work = Box<dyn FnOnce(&mut Store) + Send>;

/// The request that ends a group, as it is no write, and is done after it.
pub enum Next {
    Run(Work),
    Close(Sender<Result<()>>),
}

impl WriteRequest {
    /// Answers the request with a copy of `error`.
    pub fn refuse(self, error: &Error) {
        match self {
            WriteRequest::Change(request) => request.refuse(error),
            // Dropping the work closes its channel, which tells the caller that it was not done.
            WriteRequest::Run(work) => drop(work),
            // If the channel is closed, the caller has stopped waiting.
            WriteRequest::Close { done } => drop(done.send(Err(again(error)))),
        }
    }
}

impl ChangeRequest {
    /// Answers the request with a copy of `error`.
    pub fn refuse(self, error: &Error) {
        self.answer(Err(again(error)));
    }

    /// Answers the request.
    pub fn answer(self, result: Result<Outcome>) {
        let ChangeRequest {
            change,
            done,
            memory,
            ..
        } = self;
        // The memory is given back first: a client that has its answer may count on it for the next
        // request.
        drop((change, memory));
        done.answer(result);
    }
}

/// What the plan of a delete, its record and its place in the group of the log take.
const DELETE_BYTES: usize = 256;

impl Change {
    /// The bytes of its vectors, payloads and ids, and of what a delete of many points makes of them.
    pub fn bytes(&self) -> usize {
        match self {
            Change::Store(batch, _) => batch.bytes(),
            Change::Update(updates) => {
                let payload = |update: &Update| {
                    let of = |part: &Option<Vec<u8>>| part.as_ref().map_or(0, Vec::len);
                    size_of::<Update>() + of(&update.content) + of(&update.metadata)
                };
                updates.iter().map(payload).sum()
            }
            Change::Delete(ids) => size_of_val(&ids[..]),
            Change::DeleteMatching(_, found) => found.bytes() + found.len() * DELETE_BYTES,
            Change::DeleteAll(_) => 0,
        }
    }

    /// Whether it stores points, and needs the space for them.
    pub fn stores(&self) -> bool {
        matches!(self, Change::Store(..) | Change::Update(_))
    }

    /// Whether it depends on none of the ids that requests before it have `named`, to which it adds
    /// its own. Ids that were drawn for new points are known to nobody yet, and are left out.
    pub fn is_independent(&self, named: &mut HashSet<PointId>) -> bool {
        let mut is_new = |id: &PointId| named.insert(*id);
        match self {
            Change::Store(_, Existing::Impossible) => true,
            Change::Store(batch, _) => batch.ids.iter().all(is_new),
            Change::Update(updates) => updates.iter().all(|update| is_new(&update.id)),
            Change::Delete(ids) => ids.iter().all(is_new),
            Change::DeleteMatching(..) | Change::DeleteAll(_) => false,
        }
    }
}

/// The error of requests that a panic of the writer has left without an answer.
pub fn panicked() -> Error {
    Error::Internal("the writer panicked".into())
}

/// A copy of an error, for another request of the same group. Errors that cannot be copied become
/// [`Error::ReadOnly`]: after them the store takes no more writes.
pub fn again(error: &Error) -> Error {
    match error {
        Error::StorageFull => Error::StorageFull,
        Error::Closed => Error::Closed,
        Error::ReadOnly(reason) => Error::ReadOnly(reason.clone()),
        Error::Overloaded(reason) => Error::Overloaded(reason.clone()),
        other => Error::ReadOnly(other.to_string()),
    }
}
