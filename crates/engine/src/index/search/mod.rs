//! Searches, from the query to ranked ids. A search finds candidates in single precision by the
//! cheaper of two ways, a scan of all points or a walk of a graph. Then it puts them in their final
//! order in double precision, ties by insertion.

mod accepts;
pub mod best;
mod filtered;
mod full_scan;
pub mod plan;
mod prepare;
mod rescore;
mod run;
pub mod scan;
mod walk;
mod within;

use std::sync::Arc;

use plan::{Costs, Plan};
#[cfg(all(test, feature = "shuttle"))]
pub(in crate::index) use walk::Way;
pub use within::Selection;

use super::{PointId, graphs::linked::LinkedGraph, view::View};
use crate::Metric;

/// One neighbour of a query, in the view of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// The slot of the point.
    pub slot: u32,
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
    /// The number of neighbours that are wanted, at least 1. If there are fewer points, the answer
    /// is all of them.
    pub limit: usize,
    /// The breadth of a walk of the graph. At least `limit` is used. The number of points or more
    /// gives the exact answer, by a scan.
    pub ef: usize,
    /// The points among which the neighbours are, in the view of the search; None for all.
    pub within: Option<&'q Selection<'q>>,
}

/// A search whose plan is chosen and whose cost is known, ready to run.
pub struct Prepared<'v, 'q> {
    view: &'v View<'v>,
    request: Request<'q>,
    plan: Plan,
    /// The graph that could answer, if it has caught up, whether the plan is to walk it or not.
    linked: Option<Arc<LinkedGraph>>,
    costs: Costs,
    /// The time to find candidates by a scan, in nanoseconds, like the other two.
    scan_cost: f32,
    /// The time to find candidates by a walk, and by a scan of the points that the graph lacks.
    walk_cost: f32,
    /// The time to put the candidates in their final order.
    final_cost: f32,
}
