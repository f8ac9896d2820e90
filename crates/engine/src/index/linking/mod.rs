//! Keeps the graphs up to date: the linking threads insert new points into them and take deleted
//! ones out, while searches and the writer go on.

pub mod linker;
pub mod reclaim;
