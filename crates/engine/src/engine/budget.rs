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
    /// Those of them that deletes by filter have taken.
    deletes: usize,
}

/// The bytes that a request has taken from a budget. Dropping it gives them back.
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
    of_delete: bool,
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
        let for_large = self.for_large();
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
        Ok(self.reservation(&mut used, bytes, false))
    }

    /// Takes `bytes` for a delete by filter, whatever other requests hold, or refuses it with
    /// [`Error::Overloaded`] for what other deletes by filter hold. One is accepted if there is no
    /// other.
    pub fn reserve_for_delete(self: &Arc<Self>, bytes: usize) -> Result<Reservation> {
        let mut used = lock(&self.used);
        let (held, most) = (used.deletes, self.for_large());
        if held > 0 && held.saturating_add(bytes) > most {
            return Err(Error::Overloaded(format!(
                "deletes by filter hold {held} bytes, at most {most} may be held; try again"
            )));
        }
        Ok(self.reservation(&mut used, bytes, true))
    }

    /// Takes `bytes` whatever others hold, for what must be done before anything else can be. The
    /// caller bounds how much of it there is.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Reservation {
        self.reservation(&mut lock(&self.used), bytes, false)
    }

    /// The bytes that large requests may take.
    fn for_large(&self) -> usize {
        self.max_bytes - self.max_bytes / SMALL_SHARE
    }

    fn reservation(
        self: &Arc<Self>,
        used: &mut Used,
        bytes: usize,
        of_delete: bool,
    ) -> Reservation {
        used.add(bytes, of_delete);
        Reservation {
            budget: Arc::clone(self),
            bytes,
            of_delete,
        }
    }
}

impl Reservation {
    /// Changes it to the `bytes` that an accepted request turns out to take, which are never refused:
    /// it could not be done however often it were sent.
    pub fn set(&mut self, bytes: usize) {
        let mut used = lock(&self.budget.used);
        used.remove(self.bytes, self.of_delete);
        used.add(bytes, self.of_delete);
        self.bytes = bytes;
    }
}

impl Used {
    fn add(&mut self, bytes: usize, of_delete: bool) {
        *self.of(bytes) += bytes;
        self.deletes += if of_delete { bytes } else { 0 };
    }

    fn remove(&mut self, bytes: usize, of_delete: bool) {
        *self.of(bytes) -= bytes;
        self.deletes -= if of_delete { bytes } else { 0 };
    }

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
        lock(&self.budget.used).remove(self.bytes, self.of_delete);
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
    fn a_delete_by_filter_is_refused_for_what_others_of_them_hold_and_for_nothing_else() {
        let budget = Budget::new(16 * SMALL_BYTES);
        let others = [budget.reserve(100 * SMALL_BYTES).unwrap(), budget.take(9)];
        let mut first = budget.reserve_for_delete(10 * SMALL_BYTES).unwrap();
        assert!(budget.reserve(SMALL_BYTES + 1).is_err());
        let second = budget.reserve_for_delete(4 * SMALL_BYTES).unwrap();
        let refused = budget.reserve_for_delete(1).map(drop).unwrap_err();
        assert!(refused.to_string().contains("deletes by filter hold"));
        first.set(1);
        assert!(budget.reserve_for_delete(10 * SMALL_BYTES).is_err());
        drop(second);
        drop(budget.reserve_for_delete(10 * SMALL_BYTES).unwrap());
        drop(first);
        drop(budget.reserve_for_delete(100 * SMALL_BYTES).unwrap());
        drop(others);
        assert_eq!(budget.usage().0, 0);
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
