//! Waits for the operations of an engine.

use std::sync::mpsc::{Receiver, channel};

use vectord_engine::{Done, Result};

/// The callback of an operation, and the receiver of its outcome.
pub fn callback<T: Send + 'static>() -> (Done<T>, Receiver<Result<T>>) {
    let (sender, receiver) = channel();
    let done = move |outcome| {
        // Nobody listens any more if another step has failed.
        drop(sender.send(outcome));
    };
    (Box::new(done), receiver)
}
