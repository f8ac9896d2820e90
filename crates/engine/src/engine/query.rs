//! The parameters of a search, besides its vector.

use crate::{
    Metric,
    index::{Request, Selection},
    vectors::kernels,
};

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
    /// The candidates of a query of this limit and breadth among this number of points, whatever
    /// its vector, as the setting `MAX_SEARCH_WORK` counts them.
    #[must_use]
    pub fn candidates(limit: usize, ef: usize, points: usize) -> u64 {
        ef.max(limit.min(points)) as u64
    }

    /// The work of this query, by which batches take turns: its candidates, or all points if only
    /// double precision can rank its vector.
    pub(crate) fn work(&self, vector: &[f32], points: usize) -> u64 {
        let limit = if kernels::is_ordinary(vector) {
            self.limit
        } else {
            usize::MAX
        };
        Query::candidates(limit, self.ef, points)
    }

    /// The request to the index for the vector `query`, among the points `within`.
    pub(crate) fn request<'q>(
        &self,
        query: &'q [f32],
        within: Option<&'q Selection<'q>>,
    ) -> Request<'q> {
        let Query { metric, limit, ef } = *self;
        Request {
            metric,
            query,
            limit,
            ef,
            within,
        }
    }
}
