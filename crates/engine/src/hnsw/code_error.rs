//! The errors of ranks by code, and when such ranks cannot be trusted.

use super::{Neighbor, ranks::Ranks};

/// The number of candidates that are ranked both ways to estimate the errors.
pub(super) const SAMPLE: usize = 8;

/// The outcome of ranking a sample both ways.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeError {
    /// The differences of ranks by code and by vector. A difference that all candidates share
    /// changes no order.
    pub differences: Bounds,
    /// Ranks by vector.
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

    pub fn span(self) -> f32 {
        self.most - self.least
    }
}

impl CodeError {
    /// Replaces the ranks of candidates by code with those by vector, and compares them.
    pub fn of<R: Ranks>(candidates: &mut [Neighbor], by_vector: R) -> Self {
        by_vector.prefetch_all(candidates);
        let (mut differences, mut ranks) = (Bounds::NONE, Bounds::NONE);
        for candidate in candidates {
            let by_code = candidate.rank;
            candidate.rank = by_vector.rank(candidate.slot);
            differences.include(by_code - candidate.rank);
            ranks.include(candidate.rank);
        }
        CodeError { differences, ranks }
    }

    /// Whether the order of candidates, closest first by code, means anything. It does if both the
    /// ranks of the candidates by code and the ranks of the sample by vector spread much more
    /// widely than the differences.
    pub fn is_small_for(
        self,
        candidates: impl ExactSizeIterator<Item = Neighbor> + DoubleEndedIterator,
    ) -> bool {
        let count = candidates.len();
        let mut ranks = candidates.map(|candidate| candidate.rank);
        let (Some(first), Some(last)) = (ranks.next(), ranks.next_back()) else {
            return true;
        };
        count <= SAMPLE
            || self.differences.span() <= (last - first) / LEAST_SPREAD
                && self.differences.span() <= self.ranks.span() / LEAST_SPREAD_BY_VECTOR
    }
}

/// Ranks by code of the closest candidates must spread this many times as widely as their errors.
/// On real sets they do but for one or two of 500 searches of the least breadth; half as many lost
/// 3 % of the neighbours within tight clusters, as the candidates sampled are those whose codes
/// flatter them.
const LEAST_SPREAD: f32 = 8.0;

/// The same for the ranks of a sample by vector. Where the steps of the codes are larger than what
/// tells points apart, the closest by code have equal codes: ranks by code jump from those to the
/// rest, and say nothing of their order. Without this, tight clusters lost 2 % of the neighbours
/// at any breadth; on real sets it is true of all but one in 10,000 samples.
const LEAST_SPREAD_BY_VECTOR: f32 = 2.0;
