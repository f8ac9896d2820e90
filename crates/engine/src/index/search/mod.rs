//! A search from query to ranked ids: candidates in single precision by the cheaper of two ways,
//! then the final order in double precision, ties by insertion.

pub mod best;
mod full_scan;
pub mod plan;
mod prepare;
mod rescore;
mod run;
pub mod scan;
#[cfg(test)]
#[cfg(not(vectord_shuttle))]
mod tests;
mod walk;

use std::sync::Arc;

use plan::{Costs, Plan};

use super::{PointId, linking::linked::LinkedGraph, view::View};
use crate::Metric;

/// One neighbour of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The id of the point.
    pub id: PointId,
    /// Its rank under the metric: squared L2, L1, differing positions, or `1 - cos`.
    pub rank: f64,
}

/// What a search asks for. `query` has the index's dimension and finite values.
#[derive(Clone, Copy, Debug)]
pub struct Request<'q> {
    /// The similarity.
    pub metric: Metric,
    /// The vector whose neighbours are wanted.
    pub query: &'q [f32],
    /// How many are wanted, at least 1; all points when there are fewer.
    pub limit: usize,
    /// The breadth of a graph search: at least `limit` is used, and the number of points or more
    /// gives the exact answer.
    pub ef: usize,
}

/// A search that knows its way and what that costs, ready to run.
pub struct Prepared<'v, 'q> {
    view: &'v View<'v>,
    request: Request<'q>,
    plan: Plan,
    /// The graph that could answer, taken or not.
    linked: Option<Arc<LinkedGraph>>,
    costs: Costs,
    /// Nanoseconds.
    scan_cost: f32,
    walk_cost: f32,
    /// Of the final order.
    final_cost: f32,
}
