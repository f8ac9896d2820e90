//! Decides when a search of layer 0 ends: at a distance from the query, not after the `ef` closest
//! candidates (Al-Jazzazi et al., 2025, arXiv:2505.15636, "Distance Adaptive Beam Search").
//!
//! The rule of the HNSW paper expands the `ef` closest candidates, so an easy query costs as much
//! as a hard one. This rule ends a walk at the first candidate that is `f` times as far away as the
//! `limit`-th closest point found so far. `f` is computed from `ef`. If the data has the intrinsic
//! dimension `D`, the number of points within a distance grows like the distance to the power of
//! `D`. Then the `ef`-th closest point is about `f = (ef / limit)^(1 / D)` times as far away as the
//! `limit`-th, and both rules expand about `ef` candidates. Around a query where the intrinsic
//! dimension is lower than `D`, fewer points lie within that distance, and the walk ends sooner;
//! where it is higher, later.
//!
//! The walk of an insertion ends by the same rule, with the number of links that it looks for as
//! `limit`, but it never expands more than `ef` candidates: there the rule only saves work.

use crate::Metric;

/// The intrinsic dimension `D` for which a walk is expected to expand `ef` candidates. With this
/// value both rules compute about as many ranks on real embeddings.
const DIMENSIONS: f32 = 18.0;

/// Takes the place of [`DIMENSIONS`] in an insertion: the greatest value that costs no recall.
const INSERTION_DIMENSIONS: f32 = 22.0;

/// Bounds how far a walk departs from `ef`: whatever the distances, it expands the `ef / LEEWAY`
/// closest candidates, and its beam keeps the `ef * LEEWAY` closest.
const LEEWAY: usize = 2;

/// When a walk ends. [`Beam::next`](super::beam::Beam::next) applies the rule to the closest
/// candidate that is not expanded yet: it ends the walk if [`least`](Self::least) candidates of the
/// beam are closer and expanded, and [`excludes`](Self::excludes) holds for its rank. A walk also
/// ends once all candidates in the beam are expanded.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopRule {
    /// The zero-based position, closest first, of the candidate in the beam whose distance is the
    /// measure of all others. While the beam holds no more than `place` candidates, the rule
    /// excludes nothing.
    pub place: usize,
    /// How many times the rank of that candidate a rank may be; at least 1.
    factor: f32,
    /// The number of closest candidates that are expanded whatever their distance.
    pub least: usize,
    /// The breadth to give to `Beam::begin`: the greatest number of candidates that the beam keeps,
    /// closest first. The rule itself does not enforce it.
    pub most: usize,
}

impl StopRule {
    /// Excludes nothing: the breadth given to `Beam::begin` alone ends the walk, once all
    /// candidates in the beam are expanded. No beam has a candidate at this `place`, so the infinite `factor`
    /// is never used.
    pub const NONE: StopRule = StopRule {
        place: usize::MAX,
        factor: f32::INFINITY,
        least: usize::MAX,
        most: usize::MAX,
    };

    /// The rule for a search of breadth `ef` for the `limit` closest points under `metric`. `ef` is
    /// at least `limit`.
    pub fn of_search(metric: Metric, ef: usize, limit: usize) -> Self {
        debug_assert!(ef >= limit, "ef is {ef}, below the limit of {limit}");
        Self::of_walk(metric, (ef, ef.saturating_mul(LEEWAY)), limit, DIMENSIONS)
    }

    /// The rule for the walk of breadth `ef` to the neighbours of a new point, which gets `m` links.
    pub fn of_insertion(metric: Metric, ef: usize, m: usize) -> Self {
        Self::of_walk(metric, (ef, ef), m.min(ef), INSERTION_DIMENSIONS)
    }

    /// The rule for a walk of breadth `ef` that keeps at most `most` candidates.
    fn of_walk(metric: Metric, (ef, most): (usize, usize), limit: usize, dimensions: f32) -> Self {
        let limit = limit.max(1);
        let farther = (ef as f32 / limit as f32).powf(dimensions.recip());
        let factor = match metric {
            // Ranks are squares of distances, or half of them.
            Metric::Euclidean | Metric::Cosine => farther * farther,
            // Ranks are distances. With the square of the factor, walks at equal recall compute
            // more ranks.
            Metric::Manhattan => farther,
            // Ranks are counts, which are nearly equal for most points, so a distance does not tell
            // where to stop. This is the rule of the paper: the beam keeps `ef` candidates, and all
            // of them are expanded.
            Metric::Hamming => {
                return StopRule {
                    most: ef,
                    ..Self::NONE
                };
            }
        };
        StopRule {
            place: limit - 1,
            factor,
            least: ef / LEEWAY,
            most,
        }
    }

    /// Whether a candidate of this rank is too far to expand, where `found` is the rank of the
    /// candidate at [`place`](Self::place). Ranks by quantized vectors may be a little below 0, by
    /// rounding. So the factor is applied to the magnitude, which never puts the bound below
    /// `found`.
    pub fn excludes(self, rank: f32, found: f32) -> bool {
        rank > self.reach(found)
    }

    /// The greatest rank that is not too far to expand, see [`excludes`](Self::excludes).
    #[inline]
    pub fn reach(self, found: f32) -> f32 {
        found + (self.factor - 1.0) * found.abs().min(f32::MAX)
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
    fn an_insertion_keeps_no_more_than_its_breadth_and_expands_at_least_half_of_it() {
        let rule = StopRule::of_insertion(Metric::Euclidean, 200, 16);
        assert_eq!((rule.place, rule.least, rule.most), (15, 100, 200));
        assert!(rule.excludes(1.27, 1.0));
        assert!(!rule.excludes(1.25, 1.0));
        let narrow = StopRule::of_insertion(Metric::Euclidean, 4, 16);
        assert_eq!((narrow.place, narrow.most), (3, 4));
        let counts = StopRule::of_insertion(Metric::Hamming, 200, 16);
        assert!(counts.least > 200, "all candidates are expanded");
    }

    #[test]
    fn a_rank_below_zero_still_reaches_upwards() {
        let rule = StopRule::of_search(Metric::Euclidean, 1_000, 1);
        assert!(!rule.excludes(-0.9, -1.0));
        assert!(rule.excludes(1.5, -1.0));
    }
}
