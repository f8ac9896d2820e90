//! The memory that waiting and running requests may hold together.

use std::sync::{Arc, Mutex};

use crate::{Error, Result, sync::lock};

/// A request of at most this size is small: most inserts of one point, every delete.
const SMALL_BYTES: usize = 64 << 10;

/// `1 / SMALL_SHARE` of the budget is for small requests alone.
const SMALL_SHARE: usize = 8;

/// Counts the bytes of the requests that the engine has accepted and not finished, whether their
/// clients still wait or not. Large requests leave a part of the budget to small ones.
pub struct Budget {
    max_bytes: usize,
    used: Mutex<Used>,
}

/// The bytes that small and large requests have taken.
#[derive(Default)]
struct Used {
    small: usize,
    large: usize,
}

/// The bytes that a request has taken from a budget. Dropping it gives them back.
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
            used: Mutex::default(),
        })
    }

    /// The bytes that are taken, and the bytes of the whole budget.
    pub fn usage(&self) -> (usize, usize) {
        let used = lock(&self.used);
        (used.small + used.large, self.max_bytes)
    }

    /// Takes `bytes` for a request, or refuses it with [`Error::Overloaded`]. Whatever its size, a
    /// request is accepted if there is no other, and a large one if there is no other large one. So
    /// `bytes` may exceed the budget, and the total with them.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Reservation> {
        let mut used = lock(&self.used);
        let for_large = self.max_bytes - self.max_bytes / SMALL_SHARE;
        let total = used.small + used.large;
        let fits = if is_small(bytes) {
            total == 0 || used.small + bytes <= self.max_bytes - used.large.min(for_large)
        } else {
            used.large == 0 || total.saturating_add(bytes) <= for_large
        };
        if !fits {
            return Err(Error::Overloaded(format!(
                "requests of {total} bytes are waiting, at most {} may; try again",
                self.max_bytes
            )));
        }
        *used.of(bytes) += bytes;
        Ok(self.reservation(bytes))
    }

    /// Takes `bytes` whatever others hold, for what must be done before anything else can be. The
    /// caller bounds how much of it there is.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Reservation {
        *lock(&self.used).of(bytes) += bytes;
        self.reservation(bytes)
    }

    fn reservation(self: &Arc<Self>, bytes: usize) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            bytes,
        }
    }
}

impl Reservation {
    /// Changes it to the `bytes` that an accepted request turns out to take, which are never refused:
    /// it could not be done however often it were sent.
    pub fn set(&mut self, bytes: usize) {
        let mut used = lock(&self.budget.used);
        *used.of(self.bytes) -= self.bytes;
        *used.of(bytes) += bytes;
        self.bytes = bytes;
    }
}

impl Used {
    /// The count that a request of this size belongs to.
    fn of(&mut self, bytes: usize) -> &mut usize {
        if is_small(bytes) {
            &mut self.small
        } else {
            &mut self.large
        }
    }
}

fn is_small(bytes: usize) -> bool {
    bytes <= SMALL_BYTES
}

impl Drop for Reservation {
    fn drop(&mut self) {
        *lock(&self.budget.used).of(self.bytes) -= self.bytes;
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
        assert_eq!(budget.usage(), (0, 100));
    }

    #[test]
    fn one_request_is_always_taken_on() {
        let budget = Budget::new(100);
        let large = budget.reserve(1_000).unwrap();
        assert!(budget.reserve(1).is_err());
        drop(large);
        assert!(budget.reserve(1).is_ok());
    }

    #[test]
    fn large_requests_leave_a_part_to_small_ones() {
        let budget = Budget::new(16 * SMALL_BYTES);
        let small = || (0..100).map_while(|_| budget.reserve(SMALL_BYTES).ok());
        // However large the first one is.
        for bytes in [14 * SMALL_BYTES, 100 * SMALL_BYTES] {
            let large = budget.reserve(bytes).unwrap();
            assert!(budget.reserve(SMALL_BYTES + 1).is_err());
            assert_eq!(small().collect::<Vec<_>>().len(), 2);
            drop(large);
            assert_eq!(small().collect::<Vec<_>>().len(), 16);
        }
        let all = small().collect::<Vec<_>>();
        let large = budget.reserve(SMALL_BYTES + 1).unwrap();
        assert!(budget.reserve(SMALL_BYTES + 1).is_err());
        drop((all, large));
        assert_eq!(budget.usage().0, 0);
    }
}
