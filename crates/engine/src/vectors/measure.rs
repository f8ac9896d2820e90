//! A metric applied: ranks of stored points against a query or against each other. A rank orders
//! like the distance of its metric and is what the indexes compare; smaller is closer.

use crate::{
    Metric,
    vectors::{
        kernels::{self, Kernels},
        points::Points,
    },
};

/// Below this, `1 - cos` in single precision has lost so many digits that it is computed anew.
const NEARLY_PARALLEL: f32 = 1e-3;

/// A query prepared for one metric.
#[derive(Clone, Copy, Debug)]
pub struct Measure<'q> {
    metric: Metric,
    sum: kernels::Sum,
    query: &'q [f32],
    inverse_norm: f32,
}

impl<'q> Measure<'q> {
    /// Prepares `query`, which must have the length of the stored vectors.
    #[must_use]
    pub fn new(metric: Metric, query: &'q [f32]) -> Self {
        let inverse_norm = if metric == Metric::Cosine {
            kernels::inverse_norm(query)
        } else {
            0.0
        };
        Measure {
            metric,
            sum: sum(metric),
            query,
            inverse_norm,
        }
    }

    /// Prepares the stored point in `slot` as the query: a graph links a point so.
    #[must_use]
    pub fn of_slot(metric: Metric, points: &'q impl Points, slot: u32) -> Self {
        Measure {
            metric,
            sum: sum(metric),
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

    /// The rank of the point in `slot`: squared L2, L1, differing positions, or `1 - cos`.
    #[inline]
    #[must_use]
    pub fn rank(&self, points: &impl Points, slot: u32) -> f32 {
        self.rank_of(points.vector(slot), points.inverse_norm(slot))
    }

    /// The rank of a vector with the inverse norm `inverse_norm`.
    #[inline]
    #[must_use]
    pub fn rank_of(&self, vector: &[f32], inverse_norm: f32) -> f32 {
        self.finish((self.sum.alone)(self.query, vector), vector, inverse_norm)
    }

    /// The rank of a vector as [`Measure::rank_of`] gives it, while the next one is fetched.
    #[inline]
    #[must_use]
    pub fn rank_fetching(&self, vector: &[f32], inverse_norm: f32, next: &[f32]) -> f32 {
        let value = (self.sum.fetching)(self.query, vector, next);
        self.finish(value, vector, inverse_norm)
    }

    /// The ranks of four vectors, each as [`Measure::rank_of`] gives it.
    #[inline]
    #[must_use]
    pub fn ranks_of_four(&self, vectors: &[&[f32]; 4], inverse_norms: &[f32; 4]) -> [f32; 4] {
        let mut ranks = (self.sum.of_four)(self.query, vectors);
        for ((rank, vector), &inverse_norm) in ranks.iter_mut().zip(vectors).zip(inverse_norms) {
            *rank = self.finish(*rank, vector, inverse_norm);
        }
        ranks
    }

    #[inline]
    fn finish(&self, value: f32, vector: &[f32], inverse_norm: f32) -> f32 {
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

    /// `1 - cos` of a vector in nearly the same direction, as half the square of the distance
    /// between the two at length 1: that keeps its relative precision where a difference from 1
    /// has none left.
    #[cold]
    fn small_angle(&self, vector: &[f32], inverse_norm: f32) -> f32 {
        const LANES: usize = 16;
        let scaled = |a: f32, b: f32| {
            let difference = a * self.inverse_norm - b * inverse_norm;
            difference * difference
        };
        let (steps, tail) = self.query.as_chunks::<LANES>();
        let (other_steps, other_tail) = vector.as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for (a, b) in steps.iter().zip(other_steps) {
            for lane in 0..LANES {
                lanes[lane] += scaled(a[lane], b[lane]);
            }
        }
        let rest = tail.iter().zip(other_tail).map(|(&a, &b)| scaled(a, b));
        f32::midpoint(lanes.iter().sum(), rest.sum())
    }

    /// The greatest single-precision rank that a point can have whose true rank is not above that
    /// of a point ranked `rank`. Each kernel keeps at least 16 sums, so a value takes part in
    /// `dimension / 16` roundings and a few more; both ranks may be off, in opposite ways.
    #[must_use]
    pub fn upper_bound(&self, rank: f32) -> f32 {
        let roundings = (self.query.len() / 16 + 8) as f32;
        let slack = 2.0 * roundings * f32::EPSILON;
        match self.metric {
            Metric::Hamming => rank,
            // Below the smallest normal number, roundings are no longer relative.
            Metric::Euclidean | Metric::Manhattan => {
                rank * (1.0 + slack) + roundings * f32::MIN_POSITIVE
            }
            Metric::Cosine => rank + slack,
        }
    }

    /// Whether ranks are free of rounding: counts are.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.metric == Metric::Hamming
    }
}

fn sum(metric: Metric) -> kernels::Sum {
    let kernels = Kernels::widest();
    match metric {
        Metric::Euclidean => kernels.squared_euclidean,
        Metric::Manhattan => kernels.manhattan,
        Metric::Hamming => kernels.hamming,
        Metric::Cosine => kernels.dot,
    }
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
mod tests {
    use super::*;
    use crate::vectors::kernels;

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
