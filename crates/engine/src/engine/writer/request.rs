//! The requests to the writer, and their answers.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::Sender,
};

use crate::{
    Error, Result,
    engine::budget::Reservation,
    index::PointId,
    store::{Store, Write},
};

/// A callback, called once a request is answered. The callback of a write is called once the write
/// is durable and visible, or has failed, on the writer's thread unless it was refused at once.
pub type Done<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// Points to insert together, all or none: one id, content type and content for each vector.
pub struct Batch {
    /// The ids. No point ever had one of them.
    pub ids: Vec<PointId>,
    /// The vectors one after the other.
    pub vectors: Vec<f32>,
    /// The number of each content type.
    pub content_types: Vec<u8>,
    /// The contents one after the other.
    pub contents: Vec<u8>,
    /// For each content the offset in `contents` at which it ends.
    pub content_ends: Vec<usize>,
}

impl Batch {
    /// The bytes of the vectors and the contents.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.vectors.len() * size_of::<f32>() + self.contents.len()
    }

    /// The points as writes, for vectors of this dimension.
    pub fn writes(&self, dimension: usize) -> impl Iterator<Item = Write<'_>> {
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
            WriteRequest::Insert { done, .. } => done.answer(Err(again(error))),
            WriteRequest::Delete { done, .. } => done.answer(Err(again(error))),
            // Dropping the work closes its channel, which tells the caller that it was not done.
            WriteRequest::Run(work) => drop(work),
            // If the channel is closed, the caller has stopped waiting.
            WriteRequest::Close { done } => drop(done.send(Err(again(error)))),
        }
    }
}

/// Answers a group that is durable and visible; `found` says, for each delete in order, whether
/// there was such a point.
pub fn accept(group: Vec<WriteRequest>, found: Vec<bool>) {
    let mut found = found.into_iter();
    for request in group {
        match request {
            WriteRequest::Insert {
                batch,
                done,
                memory,
            } => {
                // The memory is given back first: a client that has its answer may count on it for
                // the next request.
                drop((batch, memory));
                done.answer(Ok(()));
            }
            WriteRequest::Delete { done, memory, .. } => {
                drop(memory);
                done.answer(Ok(found.next() == Some(true)));
            }
            // These are never part of a group.
            WriteRequest::Run(_) | WriteRequest::Close { .. } => {}
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
