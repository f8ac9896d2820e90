//! The graph as a whole, and what tests check of one.

#[cfg(not(vectord_shuttle))]
mod graph;
mod support;
