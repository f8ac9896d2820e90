//! The two spaces in which links are chosen: stored points are ranked against each other by their
//! vectors, or by their codes (quantized vectors).

use super::{
    Graph, Neighbor,
    ranks::{ByVector, Ranks},
};
use crate::{
    Metric,
    hnsw::code_error::{CodeError, SAMPLE},
    vectors::{
        measure::Measure,
        points::Points,
        quantize::{ByCode, Codes},
    },
};

/// Ranks stored points against each other.
pub(super) trait Space: Copy {
    /// Ranks points against a fixed one.
    type Of<'a>: Ranks
    where
        Self: 'a;

    /// Prepares to rank points against the point in `slot`.
    fn of(&self, slot: u32) -> Self::Of<'_>;

    /// The metric of the ranks.
    fn metric(&self) -> Metric;

    /// Whether the order of `candidates`, closest to the point in `slot` first, can be trusted. If
    /// not, links have to be chosen by vectors.
    fn can_tell_apart(&self, slot: u32, candidates: &[Neighbor]) -> bool;
}

/// Ranks by vectors.
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

/// Ranks by codes, and estimates their errors by the vectors.
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
        // About as many as a point has links. Points farther away may be of another cluster, which
        // any code tells apart.
        let nearest = candidates.iter().take(4 * SAMPLE).copied();
        CodeError::of(sample, self.vectors.of(slot)).is_small_for(nearest)
    }
}

impl Graph {
    /// The space of the vectors, in which every rank is exact.
    pub(super) fn vectors<'p, P: Points>(&self, points: &'p P) -> Vectors<'p, P> {
        Vectors {
            points,
            metric: self.metric,
        }
    }

    /// The codes of the points, if ranks under this metric can be told from them.
    pub(super) fn codes<'p>(&self, points: &'p impl Points) -> Option<&'p Codes> {
        points.codes().filter(|_| Codes::suit(self.metric))
    }
}
