//! Keeps the closest candidates of an exhaustive scan, or of a walk through the graph together with
//! the scan of the points that are not linked yet (the tail).

use std::collections::BinaryHeap;

use crate::{Error, Result};

/// A point with its rank in single precision. The order is by rank; of equal ranks, the point
/// inserted first comes first. No two points have the same sequence number, so that no two are
/// equal.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The rank, smaller for closer, as [`Measure`](crate::vectors::measure::Measure) computes it.
    /// [`rescore`](super::rescore) ranks the candidates again, in double precision, for the final
    /// order. It is never NaN: points and queries that single precision cannot rank do not come
    /// here.
    pub rank: f32,
    /// The point's slot.
    pub slot: u32,
    /// The sequence number of the point's insert.
    pub sequence: u64,
}

/// Keeps the `capacity` closest candidates that were offered; of equal ranks, the point inserted
/// first is the closer one.
pub struct Best {
    heap: BinaryHeap<Candidate>,
    capacity: usize,
    /// The rank of the farthest candidate once there are `capacity` of them, infinity before.
    bound: f32,
}

impl Best {
    /// Has no candidates yet, and will keep at most `capacity`, which is at least 1.
    pub fn new(capacity: usize) -> Result<Self> {
        let mut heap = BinaryHeap::new();
        heap.try_reserve(capacity)
            .map_err(|_| Error::Overloaded(format!("no memory for {capacity} results")))?;
        Ok(Best {
            heap,
            capacity,
            bound: f32::INFINITY,
        })
    }

    /// Whether a candidate of this rank may be among the closest so far. True also of a tie with
    /// the farthest of them, which [`offer`](Self::offer) decides by the sequence numbers.
    ///
    /// No caller has to ask this. It saves looking up the sequence number that `offer` needs:
    /// nearly every point of a scan is rejected here, at the cost of one comparison.
    #[inline]
    #[must_use]
    pub fn admits(&self, rank: f32) -> bool {
        rank <= self.bound
    }

    /// Keeps `candidate` if it is among the closest so far.
    pub fn offer(&mut self, candidate: Candidate) {
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
        if self.is_full()
            && let Some(worst) = self.heap.peek()
        {
            self.bound = worst.rank;
        }
    }

    /// Whether there are `capacity` candidates. If so, others may have been dropped; if not, every
    /// candidate that was offered was kept.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.heap.len() == self.capacity
    }

    /// The candidates kept, closest first.
    #[must_use]
    pub fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank
            .total_cmp(&other.rank)
            .then(self.sequence.cmp(&other.sequence))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// Reserves memory for `count` more results, or answers [`Error::Overloaded`].
pub fn reserve<T>(list: &mut Vec<T>, count: usize) -> Result<()> {
    list.try_reserve(count)
        .map_err(|_| Error::Overloaded(format!("no memory for {count} results")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_are_kept_and_ties_go_to_the_point_inserted_first() {
        let mut best = Best::new(3).unwrap();
        for (slot, (rank, sequence)) in [(5.0, 9), (1.0, 8), (5.0, 2), (7.0, 1), (5.0, 3), (1.0, 4)]
            .into_iter()
            .enumerate()
        {
            let slot = slot as u32;
            if best.admits(rank) {
                best.offer(Candidate {
                    rank,
                    slot,
                    sequence,
                });
            }
        }
        assert!(best.is_full() && best.admits(5.0) && !best.admits(5.1));
        let kept = best.into_sorted();
        let sequences: Vec<u64> = kept.iter().map(|kept| kept.sequence).collect();
        assert_eq!(sequences, [4, 8, 2]);
    }
}
