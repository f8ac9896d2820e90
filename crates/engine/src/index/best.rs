//! The closest candidates seen so far.

use std::collections::BinaryHeap;

use crate::{Error, Result, graph::Neighbor};

/// Keeps the `capacity` closest neighbours that were offered, ties by slot: slots are given out in
/// the order of insertion.
pub struct Best {
    heap: BinaryHeap<Neighbor>,
    capacity: usize,
}

impl Best {
    /// Room for `capacity` neighbours, which is at least 1.
    pub fn new(capacity: usize) -> Result<Self> {
        let mut heap = BinaryHeap::new();
        heap.try_reserve(capacity)
            .map_err(|_| Error::Overloaded(format!("no memory for {capacity} results")))?;
        Ok(Best { heap, capacity })
    }

    /// Takes `candidate` in if it is among the closest so far.
    #[inline]
    pub fn offer(&mut self, candidate: Neighbor) {
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }

    /// Whether there is no room left: candidates may have been turned away.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.heap.len() == self.capacity
    }

    /// The neighbours kept, closest first.
    #[must_use]
    pub fn into_sorted(self) -> Vec<Neighbor> {
        self.heap.into_sorted_vec()
    }
}
