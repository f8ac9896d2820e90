//! The parameters of a search, besides its vector.

use crate::{Metric, index::Request};

/// One query of a batch.
#[derive(Clone, Debug)]
pub struct Query {
    /// The similarity.
    pub metric: Metric,
    /// The greatest number of results, at least 1.
    pub limit: usize,
    /// The breadth of a walk of the graph.
    pub ef: usize,
}

impl Query {
    /// The work of a query of this limit and breadth among this number of points, in candidates, as
    /// the setting `MAX_SEARCH_WORK` counts it.
    #[must_use]
    pub fn candidates(limit: usize, ef: usize, points: usize) -> u64 {
        ef.max(limit.min(points)) as u64
    }

    /// The request to the index for the vector `query`.
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
