//! What searches are worth on data that is hard to index, and what `ef` promises whatever the
//! data: against brute force in double precision.
//!
//! Graphs are walked directly where recall is at stake, because an engine scans where that costs
//! less, and an engine answers where a promise holds of every answer.

mod clusters;
mod drift;
mod ef;
mod engines;
mod extremes;
mod graphs;
mod history;
mod norms;
mod random;
mod sets;
mod shapes;
mod truth;
