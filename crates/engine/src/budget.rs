//! Memory that waiting and running requests may hold together.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::{Error, Result};

/// Bytes of requests that the engine has taken on, whoever still waits for their answers: a client
/// that goes away leaves its work behind.
pub struct Budget {
    max_bytes: usize,
    used_bytes: AtomicUsize,
}

/// Bytes taken from a budget, given back when this is dropped.
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// A budget of `max_bytes`.
    #[must_use]
    pub fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Budget {
            max_bytes,
            used_bytes: AtomicUsize::new(0),
        })
    }

    /// The bytes that are taken, and how many may be.
    pub fn usage(&self) -> (usize, usize) {
        (self.used_bytes.load(Ordering::Relaxed), self.max_bytes)
    }

    /// Takes `bytes`, or refuses with "overloaded". A request that is larger than the whole budget
    /// is taken on when there is no other.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Reservation> {
        let taken = self
            .used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let total = used.checked_add(bytes)?;
                (used == 0 || total <= self.max_bytes).then_some(total)
            });
        match taken {
            Ok(_) => Ok(Reservation {
                budget: Arc::clone(self),
                bytes,
            }),
            Err(used) => Err(Error::Overloaded(format!(
                "requests of {used} bytes are waiting, at most {} may; try again",
                self.max_bytes
            ))),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget
            .used_bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_until_something_is_given_back() {
        let budget = Budget::new(100);
        let first = budget.reserve(60).unwrap();
        let second = budget.reserve(40).unwrap();
        assert!(matches!(budget.reserve(1), Err(Error::Overloaded(_))));
        drop(first);
        assert!(matches!(budget.reserve(61), Err(Error::Overloaded(_))));
        let third = budget.reserve(60).unwrap();
        drop((second, third));
        assert_eq!(budget.used_bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_request_is_always_taken_on() {
        let budget = Budget::new(100);
        let large = budget.reserve(1_000).unwrap();
        assert!(budget.reserve(1).is_err());
        drop(large);
        assert!(budget.reserve(1).is_ok());
    }
}
