//! Where the ranks of a walk come from: the vectors themselves, or their codes.

use super::{
    Neighbor,
    doubt::{Error, SAMPLE},
};
use crate::{
    Metric,
    vectors::{
        measure::Measure,
        points::Points,
        quantize::{ByCode, Codes},
    },
};

/// Ranks of stored points against one query.
pub(super) trait Ranks: Copy {
    /// Candidates that a walk expands together, like the beam of `DiskANN` (Subramanya et al., 2019):
    /// more take a few ranks more, and less time for each where what ranking reads is fetched
    /// faster for many than for few.
    const ABREAST: usize;

    /// The rank of the point in `slot`; one that is not a number counts as infinitely far.
    fn rank(&self, slot: u32) -> f32;

    /// Starts to bring what [`Ranks::rank`] reads into the cache.
    fn prefetch(&self, slot: u32);

    /// Starts to bring what ranking these neighbours reads into the cache.
    #[inline]
    fn prefetch_all(&self, neighbors: &[Neighbor]) {
        for neighbor in neighbors {
            self.prefetch(neighbor.slot);
        }
    }

    /// Sets the rank of each neighbour, after what ranking them reads was fetched for all of them.
    #[inline]
    fn fetch_and_rank_all(&self, neighbors: &mut [Neighbor]) {
        self.prefetch_all(neighbors);
        self.rank_all(neighbors);
    }

    /// Sets the rank of each neighbour; what ranking them reads should be on its way.
    #[inline]
    fn rank_all(&self, neighbors: &mut [Neighbor]) {
        for neighbor in neighbors {
            neighbor.rank = self.rank(neighbor.slot);
        }
    }
}

/// Ranks of stored points against each other.
pub(super) trait Space: Copy {
    /// Ranks against one of the points.
    type Of<'a>: Ranks
    where
        Self: 'a;

    /// Ranks against the point in `slot`.
    fn of(&self, slot: u32) -> Self::Of<'_>;

    /// The metric of the ranks.
    fn metric(&self) -> Metric;

    /// Whether the order of candidates, closest to the point in `slot` first, can be trusted.
    fn can_tell_apart(&self, slot: u32, candidates: &[Neighbor]) -> bool;
}

/// By vectors.
#[derive(Debug)]
pub(super) struct Vectors<'p, P> {
    pub points: &'p P,
    pub metric: Metric,
}

impl<P> Clone for Vectors<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Vectors<'_, P> {}

impl<P: Points> Space for Vectors<'_, P> {
    type Of<'a>
        = ByVector<'a, P>
    where
        Self: 'a;

    #[inline]
    fn of(&self, slot: u32) -> ByVector<'_, P> {
        ByVector {
            points: self.points,
            measure: Measure::of_slot(self.metric, self.points, slot),
        }
    }

    fn metric(&self) -> Metric {
        self.metric
    }

    fn can_tell_apart(&self, _: u32, _: &[Neighbor]) -> bool {
        true
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

/// By codes.
#[derive(Debug)]
pub(super) struct InCodes<'c, P> {
    pub codes: &'c Codes,
    pub vectors: Vectors<'c, P>,
}

impl<P> Clone for InCodes<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for InCodes<'_, P> {}

impl<P: Points> Space for InCodes<'_, P> {
    type Of<'a>
        = ByCode<'a>
    where
        Self: 'a;

    #[inline]
    fn of(&self, slot: u32) -> ByCode<'_> {
        self.codes.by_slot(self.vectors.metric, slot)
    }

    fn metric(&self) -> Metric {
        self.vectors.metric
    }

    fn can_tell_apart(&self, slot: u32, candidates: &[Neighbor]) -> bool {
        let mut sample = [Neighbor::unranked(0); SAMPLE];
        let some = &candidates[..SAMPLE.min(candidates.len())];
        let sample = &mut sample[..some.len()];
        sample.copy_from_slice(some);
        // As many as get links, about. Those farther away may be of another cluster.
        let nearest = candidates.iter().take(4 * SAMPLE).copied();
        Error::of(sample, self.vectors.of(slot)).is_small_for(nearest)
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
