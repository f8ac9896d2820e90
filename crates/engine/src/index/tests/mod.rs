//! The index as a whole under a model checker, and what the tests of its modules share.

#[cfg(vectord_shuttle)]
mod model;
#[cfg(not(vectord_shuttle))]
mod search;
#[cfg(not(vectord_shuttle))]
mod snapshot;
pub mod support;
