//! How far a search walks: it ends at a distance, not after a number of candidates (Al-Jazzazi et
//! al., 2025, arXiv:2505.15636, "Distance Adaptive Beam Search").
//!
//! A walk that ends after the `ef` closest candidates takes as long for an easy query as for a hard
//! one. Around a query in `D` dimensions the number of points grows like the distance to the power
//! of `D`, so the `ef`-th closest is `(ef / limit)^(1 / D)` times as far as the `limit`-th. Walking
//! up to there is as much work as `ef` candidates where the data has `D` dimensions, less where it
//! has fewer, and more where neighbours are harder to tell apart. [`DIMENSIONS`] is where both
//! rules take as many ranks on real embeddings.

use crate::Metric;

/// The number of dimensions of the data for which a walk is expected to end after `ef` candidates.
const DIMENSIONS: f32 = 18.0;

/// Whatever their distances, a walk expands at least `ef` divided by this number of candidates, and
/// at most `ef` times this number.
const LEEWAY: usize = 2;

/// The distance at which a search ends, from the distances of its candidates.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopRule {
    /// The place in order of the candidate that everything is compared with.
    pub place: usize,
    /// How many times as far away, in ranks, a candidate may be.
    factor: f32,
    /// Candidates to walk through without regard to their distance.
    pub least: usize,
    /// Candidates to keep, however close they are.
    pub most: usize,
}

impl StopRule {
    /// Everything.
    pub const ALL: StopRule = StopRule {
        place: usize::MAX,
        factor: f32::INFINITY,
        least: usize::MAX,
        most: usize::MAX,
    };

    /// As far as a search of breadth `ef` for the `limit` closest walks under `metric`.
    pub fn of_search(metric: Metric, ef: usize, limit: usize) -> Self {
        let limit = limit.max(1);
        let farther = (ef as f32 / limit as f32).powf(DIMENSIONS.recip());
        let factor = match metric {
            // Ranks are squares of distances.
            Metric::Euclidean | Metric::Cosine => farther * farther,
            // Ranks are distances: of the square, walks at equal recall take more ranks.
            Metric::Manhattan => farther,
            // Counts of positions lie so close together that they say nothing of this.
            Metric::Hamming => {
                return StopRule {
                    most: ef,
                    ..Self::ALL
                };
            }
        };
        StopRule {
            place: limit - 1,
            factor,
            least: ef / LEEWAY,
            most: ef.saturating_mul(LEEWAY),
        }
    }

    /// Whether `rank` is too far if that of the candidate in `place` is `found`. By codes a rank
    /// may be a little below 0.
    pub fn excludes(self, rank: f32, found: f32) -> bool {
        rank > found + (self.factor - 1.0) * found.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_for_all_that_it_may_hold_goes_no_farther_than_the_last() {
        let rule = StopRule::of_search(Metric::Euclidean, 10, 10);
        assert_eq!((rule.place, rule.least), (9, 5));
        assert!(rule.excludes(2.1, 2.0));
        assert!(!rule.excludes(2.0, 2.0));
    }

    #[test]
    fn a_greater_breadth_reaches_farther_and_farther_in_squares_than_in_distances() {
        let factor = |metric, ef| StopRule::of_search(metric, ef, 10).factor;
        assert!(factor(Metric::Cosine, 400) > factor(Metric::Cosine, 100));
        assert!(factor(Metric::Cosine, 100) > factor(Metric::Manhattan, 100));
    }

    #[test]
    fn a_rank_below_zero_still_reaches_upwards() {
        let rule = StopRule::of_search(Metric::Euclidean, 1_000, 1);
        assert!(!rule.excludes(-0.9, -1.0));
        assert!(rule.excludes(1.5, -1.0));
    }
}
