//! The errors of ranks by code (by quantized vectors), and when they are too large for the order of
//! such ranks to mean anything. The same is asked of coarse codes, which are held against whole
//! codes in place of vectors.

use super::{Neighbor, ranks::Ranks};

/// The least number of candidates that are ranked both by code and by vector to estimate the
/// errors.
pub(super) const SAMPLE: usize = 8;

/// The number of candidates that are ranked together.
const TOGETHER: usize = 16;

/// What a sample of candidates, ranked both by code and by vector, says about the errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeError {
    /// The rank by code less the rank by vector. Only the span matters for the order: a difference
    /// that all candidates share changes none.
    pub differences: Bounds,
    /// The ranks of the sample by vector.
    ranks: Bounds,
}

/// The least and the greatest of some numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    least: f32,
    pub most: f32,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        least: f32::INFINITY,
        most: f32::NEG_INFINITY,
    };

    fn include(&mut self, number: f32) {
        self.least = self.least.min(number);
        self.most = self.most.max(number);
    }

    /// The width of the range; negative infinity if it is empty.
    pub fn span(self) -> f32 {
        self.most - self.least
    }
}

impl CodeError {
    /// Replaces the rank of each candidate, by code, with its rank by vector, and compares the two.
    pub fn of<R: Ranks>(candidates: &mut [Neighbor], by_vector: R) -> Self {
        by_vector.prefetch_all(candidates);
        let (mut differences, mut ranks) = (Bounds::NONE, Bounds::NONE);
        for some in candidates.chunks_mut(TOGETHER) {
            let mut by_code = [0.0; TOGETHER];
            for (by_code, candidate) in by_code.iter_mut().zip(&*some) {
                *by_code = candidate.rank;
            }
            by_vector.rank_all(some);
            for (by_code, candidate) in by_code.into_iter().zip(some) {
                differences.include(by_code - candidate.rank);
                ranks.include(candidate.rank);
            }
        }
        CodeError { differences, ranks }
    }

    /// The rank by code up to which a candidate may be closer by vector than `last`: as far beyond
    /// that as the sample is off, or as `margin`, what the codes are hardly ever off by more.
    pub fn bound(self, last: Neighbor, margin: f32) -> f32 {
        let seen = self.differences.most + self.differences.span();
        last.rank + seen.max(margin)
    }

    /// Whether the errors are so small that the order of `candidates`, closest first by code, means
    /// anything. They are if both the ranks of the candidates by code and the ranks of the sample
    /// by vector spread more widely than the differences, as many times as `needed` says. So few
    /// candidates as [`SAMPLE`] are always trusted.
    pub fn is_small_for(
        self,
        candidates: impl ExactSizeIterator<Item = Neighbor> + DoubleEndedIterator,
        needed: LeastSpread,
    ) -> bool {
        let count = candidates.len();
        let mut ranks = candidates.map(|candidate| candidate.rank);
        let (Some(first), Some(last)) = (ranks.next(), ranks.next_back()) else {
            return true;
        };
        count <= SAMPLE
            || self.differences.span() <= (last - first) / needed.by_code
                && self.differences.span() <= self.ranks.span() / needed.by_vector
    }
}

/// How many times as widely as their errors ranks must spread.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastSpread {
    by_code: f32,
    by_vector: f32,
}

/// Of ranks by whole codes.
pub(super) const OF_CODES: LeastSpread = LeastSpread {
    by_code: LEAST_SPREAD,
    by_vector: LEAST_SPREAD_BY_VECTOR,
};

/// Of ranks by coarse codes, whose order only has to lead to the right candidates.
pub(super) const OF_COARSE_CODES: LeastSpread = LeastSpread {
    by_code: 2.0,
    by_vector: 1.5,
};

/// The ranks of the closest candidates by code must spread this many times as widely as their
/// errors. On real sets they do, except in one or two of 500 searches of the least breadth. With
/// half this factor, 3 % of the neighbours within tight clusters were lost: the sample holds the
/// candidates whose codes make them look too close, so it shows errors smaller than they are.
const LEAST_SPREAD: f32 = 8.0;

/// The ranks of the sample by vector must spread this many times as widely as their errors. Where
/// one step of the codes is larger than the differences between near points, these have equal
/// codes. Then the ranks by code jump from this cluster to the rest, so they do spread, but say
/// nothing of the order within the cluster. Without this check, tight clusters lost 2 % of the
/// neighbours at any breadth. On real sets all but one in 10,000 samples pass it.
const LEAST_SPREAD_BY_VECTOR: f32 = 2.0;
