//! Keeps the graphs up to date: the linking threads insert new points into them and take deleted
//! ones out, while searches and the writer go on.

pub mod activity;
pub mod linked;
pub mod linker;
pub mod metric_graph;
pub mod reclaim;
pub mod round;
pub mod settle;
pub mod signal;
