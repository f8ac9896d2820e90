//! The two spaces in which links are chosen: stored points are ranked against each other by their
//! vectors, or by their codes (quantized vectors).

use super::{
    Graph, Neighbor,
    code_error::{CodeError, OF_COARSE_CODES, OF_CODES, SAMPLE},
    ranks::{ByVector, Ranks},
};
use crate::{
    Metric,
    vectors::{
        coarse::{ByCoarse, CoarseQuery},
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

    /// Ranks points against a new one while a walk looks for its neighbours.
    type OfNew<'a>: Ranks
    where
        Self: 'a;

    /// Prepares to rank points against the point in `slot`.
    fn of(&self, slot: u32) -> Self::Of<'_>;

    /// Prepares to walk to the neighbours of the point in `slot`.
    fn of_new<'a>(&'a self, slot: u32, query: &'a mut CoarseQuery) -> Self::OfNew<'a>;

    /// Ranks `candidates`, closest to the point in `slot` first by the ranks of its walk, as
    /// [`of`](Self::of) does, and puts them in that order. False if the ranks of the walk cannot be
    /// trusted.
    fn refine(&self, slot: u32, candidates: &mut [Neighbor]) -> bool;

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

    type OfNew<'a>
        = ByVector<'a, P>
    where
        Self: 'a;

    fn of_new<'a>(&'a self, slot: u32, _: &'a mut CoarseQuery) -> ByVector<'a, P> {
        self.of(slot)
    }

    fn refine(&self, _: u32, _: &mut [Neighbor]) -> bool {
        true
    }

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

    type OfNew<'a>
        = ByCode<'a>
    where
        Self: 'a;

    #[inline]
    fn of(&self, slot: u32) -> ByCode<'_> {
        self.codes.by_slot(self.vectors.metric, slot)
    }

    fn of_new<'a>(&'a self, slot: u32, _: &'a mut CoarseQuery) -> ByCode<'a> {
        self.of(slot)
    }

    fn refine(&self, _: u32, _: &mut [Neighbor]) -> bool {
        true
    }

    fn metric(&self) -> Metric {
        self.vectors.metric
    }

    fn can_tell_apart(&self, slot: u32, candidates: &[Neighbor]) -> bool {
        let error = error_of(candidates, self.vectors.of(slot));
        error.is_small_for(nearest(candidates), OF_CODES)
    }
}

/// As [`InCodes`], but a walk to the neighbours of a new point ranks by coarse codes.
#[derive(Debug)]
pub(super) struct InCoarseCodes<'c, P>(pub InCodes<'c, P>);

impl<P> Clone for InCoarseCodes<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for InCoarseCodes<'_, P> {}

impl<P: Points> Space for InCoarseCodes<'_, P> {
    type Of<'a>
        = ByCode<'a>
    where
        Self: 'a;

    type OfNew<'a>
        = ByCoarse<'a>
    where
        Self: 'a;

    #[inline]
    fn of(&self, slot: u32) -> ByCode<'_> {
        self.0.of(slot)
    }

    fn of_new<'a>(&'a self, slot: u32, query: &'a mut CoarseQuery) -> ByCoarse<'a> {
        let InCodes { codes, vectors } = self.0;
        ByCoarse::new(codes, vectors.metric, vectors.points.vector(slot), query)
    }

    fn refine(&self, slot: u32, candidates: &mut [Neighbor]) -> bool {
        let ranks = self.of(slot);
        let error = error_of(candidates, ranks);
        let is_small = error.is_small_for(nearest(candidates), OF_COARSE_CODES);
        if is_small {
            ranks.fetch_and_rank_all(candidates);
            candidates.sort_unstable();
        }
        is_small
    }

    fn metric(&self) -> Metric {
        self.0.metric()
    }

    fn can_tell_apart(&self, slot: u32, candidates: &[Neighbor]) -> bool {
        self.0.can_tell_apart(slot, candidates)
    }
}

/// The error of the ranks of `candidates`, closest first: the first [`SAMPLE`] of them are ranked again
/// by `ranks`, in a copy.
fn error_of<R: Ranks>(candidates: &[Neighbor], ranks: R) -> CodeError {
    let mut sample = [Neighbor::unranked(0); SAMPLE];
    let some = &candidates[..SAMPLE.min(candidates.len())];
    let sample = &mut sample[..some.len()];
    sample.copy_from_slice(some);
    CodeError::of(sample, ranks)
}

/// About as many of the closest candidates as a point has links. Points farther away may be of another
/// cluster, which any code tells apart.
fn nearest(
    candidates: &[Neighbor],
) -> impl ExactSizeIterator<Item = Neighbor> + DoubleEndedIterator {
    candidates.iter().take(4 * SAMPLE).copied()
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
