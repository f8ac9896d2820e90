//! The ranks of a walk: by vectors or by codes.

use super::Neighbor;
use crate::vectors::{measure::Measure, points::Points, quantize::ByCode};

/// Ranks of stored points against one query.
pub(super) trait Ranks: Copy {
    /// Candidates that a walk expands together, like the beam of `DiskANN` (Subramanya et al., 2019):
    /// more take a few ranks more, and less time for each where what ranking reads is fetched
    /// faster for many than for few.
    const ABREAST: usize;

    /// The rank of the point in `slot`. NaN counts as infinitely far.
    fn rank(&self, slot: u32) -> f32;

    /// Prefetches what [`Ranks::rank`] reads.
    fn prefetch(&self, slot: u32);

    /// Prefetches what ranking these neighbours reads.
    #[inline]
    fn prefetch_all(&self, neighbors: &[Neighbor]) {
        for neighbor in neighbors {
            self.prefetch(neighbor.slot);
        }
    }

    /// Prefetches what ranking the neighbours reads, then sets the rank of each.
    #[inline]
    fn fetch_and_rank_all(&self, neighbors: &mut [Neighbor]) {
        self.prefetch_all(neighbors);
        self.rank_all(neighbors);
    }

    /// Sets the rank of each neighbour. What this reads should be prefetched.
    #[inline]
    fn rank_all(&self, neighbors: &mut [Neighbor]) {
        for neighbor in neighbors {
            neighbor.rank = self.rank(neighbor.slot);
        }
    }
}

/// Ranks by vectors against one of them.
#[derive(Debug)]
pub(super) struct ByVector<'a, P> {
    pub points: &'a P,
    pub measure: Measure<'a>,
}

impl<P> Clone for ByVector<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for ByVector<'_, P> {}

impl<P: Points> Ranks for ByVector<'_, P> {
    const ABREAST: usize = 1;

    #[inline]
    fn rank(&self, slot: u32) -> f32 {
        self.measure.rank(self.points, slot).min(f32::INFINITY)
    }

    #[inline]
    fn prefetch(&self, slot: u32) {
        self.points.prefetch(slot);
    }
}

impl Ranks for ByCode<'_> {
    const ABREAST: usize = 3;

    #[inline]
    fn rank(&self, slot: u32) -> f32 {
        ByCode::rank(self, slot)
    }

    #[inline]
    fn rank_all(&self, neighbors: &mut [Neighbor]) {
        ByCode::rank_all(self, neighbors);
    }

    #[inline]
    fn prefetch(&self, slot: u32) {
        ByCode::prefetch(self, slot);
    }
}
