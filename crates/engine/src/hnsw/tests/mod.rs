//! The graph as a whole, and what tests check of one.

#[cfg(not(feature = "shuttle"))]
mod graph;
mod support;
