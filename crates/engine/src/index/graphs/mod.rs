//! The graphs over the points of an index, and what its threads share to keep them: how far each
//! graph is linked, which points leave it or settle, and when the linking threads work.

pub mod activity;
pub mod linked;
pub mod metric_graph;
pub mod round;
pub mod settle;
pub mod signal;
