//! Computes ranks: numbers in single precision that order points like their distance from a query
//! under a metric, smaller for closer. Walks of the graph and scans compare ranks; the final order
//! of a search comes from [`kernels::distance`], in double precision.
//!
//! All vectors have the dimension of the store, and their norms are
//! [ordinary](kernels::is_ordinary): single precision can rank them.

use crate::{
    Metric,
    vectors::{
        kernels::{self, Kernels},
        points::Points,
    },
};

/// A `1 - cos` below this has lost three or more of its seven digits to the subtraction. Then
/// [`Measure::small_angle`] computes it in a way that keeps them.
const NEARLY_PARALLEL: f32 = 1e-3;

/// The number of running sums over which the additions for one rank are spread. It is the fewest
/// that a kernel keeps (the scalar ones, and those of NEON in four registers of four lanes; AVX2
/// keeps 32 and AVX-512 64), and the number that [`Measure::small_angle`] keeps.
const SUMS: usize = 16;

/// A query prepared to be ranked against under one metric.
#[derive(Clone, Copy, Debug)]
pub struct Measure<'q> {
    metric: Metric,
    /// The kernels that compute a rank, or under Cosine the inner product that it is made of.
    kernels: kernels::Sum,
    query: &'q [f32],
    /// `1 / |query|` under Cosine, 0 for a zero vector. Other metrics do not read it.
    inverse_norm: f32,
}

impl<'q> Measure<'q> {
    /// Prepares a query from outside the store. It must have the length of the stored vectors.
    #[must_use]
    pub fn new(metric: Metric, query: &'q [f32]) -> Self {
        let inverse_norm = if metric == Metric::Cosine {
            kernels::inverse_norm(query)
        } else {
            0.0
        };
        Measure {
            metric,
            kernels: sum_of(Kernels::widest(), metric),
            query,
            inverse_norm,
        }
    }

    /// Prepares the vector of a stored point as the query. A graph ranks the candidates for the
    /// links of the point with it.
    #[must_use]
    pub fn of_slot(metric: Metric, points: &'q impl Points, slot: u32) -> Self {
        Measure {
            metric,
            kernels: sum_of(Kernels::widest(), metric),
            query: points.vector(slot),
            inverse_norm: points.inverse_norm(slot),
        }
    }

    /// The metric.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The query.
    #[must_use]
    pub fn query(&self) -> &'q [f32] {
        self.query
    }

    /// The rank of the point in `slot`: its squared L2 distance, its L1 distance, the number of
    /// positions that differ (exact below 2²⁴ positions), or `1 - cos`, which is 1 if either vector
    /// is zero.
    #[inline]
    #[must_use]
    pub fn rank(&self, points: &impl Points, slot: u32) -> f32 {
        self.rank_of(points.vector(slot), points.inverse_norm(slot))
    }

    /// The rank of a vector, which must have the length of the query. `inverse_norm` is `1 /
    /// |vector|`, as [`Points::inverse_norm`] gives it; only Cosine reads it.
    #[inline]
    #[must_use]
    pub fn rank_of(&self, vector: &[f32], inverse_norm: f32) -> f32 {
        let value = (self.kernels.alone)(self.query, vector);
        self.rank_from(value, vector, inverse_norm)
    }

    /// The rank of `vector`, bit for bit as [`Measure::rank_of`] gives it. Meanwhile it prefetches
    /// `next`, the vector that the caller will rank after this one.
    #[inline]
    #[must_use]
    pub fn rank_fetching(&self, vector: &[f32], inverse_norm: f32, next: &[f32]) -> f32 {
        let value = (self.kernels.fetching)(self.query, vector, next);
        self.rank_from(value, vector, inverse_norm)
    }

    /// The ranks of four vectors, each bit for bit as [`Measure::rank_of`] gives it.
    #[inline]
    #[must_use]
    pub fn ranks_of_four(&self, vectors: &[&[f32]; 4], inverse_norms: &[f32; 4]) -> [f32; 4] {
        let mut ranks = (self.kernels.of_four)(self.query, vectors);
        for ((rank, vector), &inverse_norm) in ranks.iter_mut().zip(vectors).zip(inverse_norms) {
            *rank = self.rank_from(*rank, vector, inverse_norm);
        }
        ranks
    }

    /// Converts the result of a kernel to a rank. Under Cosine the result is the inner product;
    /// under every other metric it is the rank already.
    #[inline]
    fn rank_from(&self, value: f32, vector: &[f32], inverse_norm: f32) -> f32 {
        match self.metric {
            Metric::Cosine => {
                let rank = 1.0 - value * self.inverse_norm * inverse_norm;
                if rank < NEARLY_PARALLEL {
                    return self.small_angle(vector, inverse_norm);
                }
                rank
            }
            Metric::Euclidean | Metric::Manhattan | Metric::Hamming => value,
        }
    }

    /// Computes `1 - cos` of two vectors, neither of them zero, in nearly the same direction. For
    /// vectors scaled to length 1 it is half the square of their L2 distance. That keeps the digits
    /// that subtracting a cosine near 1 from 1 would lose.
    #[cold]
    fn small_angle(&self, vector: &[f32], inverse_norm: f32) -> f32 {
        let scaled = |a: f32, b: f32| {
            let difference = a * self.inverse_norm - b * inverse_norm;
            difference * difference
        };
        let (steps, tail) = self.query.as_chunks::<SUMS>();
        let (other_steps, other_tail) = vector.as_chunks::<SUMS>();
        let mut sums = [0.0; SUMS];
        for (a, b) in steps.iter().zip(other_steps) {
            for lane in 0..SUMS {
                sums[lane] += scaled(a[lane], b[lane]);
            }
        }
        let rest = tail.iter().zip(other_tail).map(|(&a, &b)| scaled(a, b));
        // The midpoint of two sums is half of their total.
        f32::midpoint(sums.iter().sum(), rest.sum())
    }

    /// Bounds the error of single precision. Suppose that `rank` is the computed rank of a point.
    /// Any point that is truly as close or closer has a computed rank of at most the result. A scan
    /// gathers all candidates up to it before it compares them in double precision.
    ///
    /// A rank is rounded once in each addition that a position takes part in, `dimension / 16` of
    /// them in one of at least 16 running sums (`SUMS`), and 8 times at most besides: in the terms,
    /// in a last incomplete step, and where the sums are added up. [`f32::EPSILON`] is twice what
    /// one rounding changes. The slack is doubled, since `rank` may be too small and the rank of
    /// the other point too large.
    #[must_use]
    pub fn upper_bound(&self, rank: f32) -> f32 {
        let roundings = (self.query.len() / SUMS + 8) as f32;
        let slack = 2.0 * roundings * f32::EPSILON;
        match self.metric {
            Metric::Hamming => rank,
            // Below the smallest normal number a rounding is not relative: it changes less than
            // that number.
            Metric::Euclidean | Metric::Manhattan => {
                rank * (1.0 + slack) + roundings * f32::MIN_POSITIVE
            }
            // The roundings are relative to the sum of the magnitudes of the products, which is 1
            // at most at length 1, not to the rank.
            Metric::Cosine => rank + slack,
        }
    }

    /// Whether computed ranks are the true ones, without rounding. Only those of Hamming are: they
    /// are counts.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.metric == Metric::Hamming
    }
}

/// The kernels for a metric.
fn sum_of(kernels: &Kernels, metric: Metric) -> kernels::Sum {
    match metric {
        Metric::Euclidean => kernels.squared_euclidean,
        Metric::Manhattan => kernels.manhattan,
        Metric::Hamming => kernels.hamming,
        Metric::Cosine => kernels.dot,
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use crate::vectors::{kernels, tests::agreement};

    /// Two vectors equally far from the query, which is returned first. The first one begins with a
    /// term that is so large that single precision loses each of the others that is added to it, one
    /// by one. The second one ends with this term.
    fn equally_far(metric: Metric, dimension: usize) -> [Vec<f32>; 3] {
        let (query, large) = match metric {
            Metric::Manhattan => (0.0, 16_777_216.0),
            Metric::Euclidean => (0.0, 4_096.0),
            // The products are as for Euclidean.
            _ => (-1.0, 4_096.0),
        };
        let last = dimension - 1;
        let [mut first, mut second] = [vec![1.0; dimension], vec![1.0; dimension]];
        [first[0], first[last], second[0], second[last]] = [large, 0.0, 0.0, large];
        let mut query = vec![query; dimension];
        query[0] *= large;
        query[last] *= large;
        [query, first, second]
    }

    #[test]
    fn the_bound_holds_at_every_level_in_the_worst_case_of_rounding() {
        for (level, kernels) in agreement::levels() {
            for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
                for dimension in [20, 1_000, 65_536] {
                    let [query, first, second] = equally_far(metric, dimension);
                    let measure = Measure {
                        kernels: sum_of(kernels, metric),
                        ..Measure::new(metric, &query)
                    };
                    let [first, second] = [first, second]
                        .map(|vector| measure.rank_of(&vector, kernels::inverse_norm(&vector)));
                    let context = format!("{level:?}, {metric:?}, {dimension} values");
                    assert!(second <= measure.upper_bound(first), "{context}");
                    assert!(first <= measure.upper_bound(second), "{context}");
                }
            }
        }
    }

    #[test]
    fn small_angles_keep_their_digits_under_cosine() {
        for dimension in [2, 40] {
            let query: Vec<f32> = (0..dimension).map(|i| 3.0 + i as f32).collect();
            for turn in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5_f32] {
                let mut vector = query.clone();
                vector[0] += turn;
                let measure = Measure::new(Metric::Cosine, &query);
                let found = f64::from(measure.rank_of(&vector, kernels::inverse_norm(&vector)));
                let expected = kernels::distance(Metric::Cosine, &query, &vector);
                let error = (found - expected).abs() / expected;
                assert!(error < 0.05, "turned by {turn}: {found}, not {expected}");
            }
        }
    }
}
