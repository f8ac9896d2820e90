//! Graphs that follow the points: threads link what is new and take out what is deleted, behind the
//! back of readers and writer.

pub mod activity;
pub mod linked;
pub mod linker;
pub mod metric_graph;
pub mod reclaim;
pub mod round;
pub mod settle;
pub mod signal;
