//! What a search asks for beside its vector.

use crate::{Metric, index::Request};

/// One query of a batch.
#[derive(Clone, Debug)]
pub struct Query {
    /// The similarity.
    pub metric: Metric,
    /// The greatest number of results, at least 1.
    pub limit: usize,
    /// Search breadth.
    pub ef: usize,
}

impl Query {
    /// The candidates that a query of this limit and breadth has among this number of points: its
    /// work, by the rule of `MAX_SEARCH_WORK`.
    #[must_use]
    pub fn candidates(limit: usize, ef: usize, points: usize) -> u64 {
        ef.max(limit.min(points)) as u64
    }

    pub(crate) fn request<'q>(&self, query: &'q [f32]) -> Request<'q> {
        let Query { metric, limit, ef } = *self;
        Request {
            metric,
            query,
            limit,
            ef,
        }
    }
}
