//! A metric applied: ranks of stored points against a query or against each other. A rank orders
//! like the distance of its metric and is what the indexes compare; smaller is closer.

use crate::{Metric, distance, points::Points};

/// A query prepared for one metric.
#[derive(Clone, Copy, Debug)]
pub struct Measure<'q> {
    metric: Metric,
    kernel: distance::Kernel,
    query: &'q [f32],
    inverse_norm: f32,
}

impl<'q> Measure<'q> {
    /// Prepares `query`, which must have the length of the stored vectors.
    #[must_use]
    pub fn new(metric: Metric, query: &'q [f32]) -> Self {
        let inverse_norm = if metric == Metric::Cosine {
            distance::inverse_norm(query)
        } else {
            0.0
        };
        Measure {
            metric,
            kernel: kernel(metric),
            query,
            inverse_norm,
        }
    }

    /// Prepares the stored point in `slot` as the query: a graph links a point so.
    #[must_use]
    pub fn of_slot(metric: Metric, points: &'q impl Points, slot: u32) -> Self {
        Measure {
            metric,
            kernel: kernel(metric),
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
        let value = (self.kernel)(self.query, points.vector(slot));
        match self.metric {
            Metric::Cosine => 1.0 - value * self.inverse_norm * points.inverse_norm(slot),
            Metric::Euclidean | Metric::Manhattan | Metric::Hamming => value,
        }
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

fn kernel(metric: Metric) -> distance::Kernel {
    let kernels = distance::kernels();
    match metric {
        Metric::Euclidean => kernels.squared_euclidean,
        Metric::Manhattan => kernels.manhattan,
        Metric::Hamming => kernels.hamming,
        Metric::Cosine => kernels.dot,
    }
}
