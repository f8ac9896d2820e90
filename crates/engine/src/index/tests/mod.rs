//! The index as a whole under a model checker, and what the tests of its modules share.

#[cfg(target_os = "linux")]
#[cfg(not(vectord_shuttle))]
mod arena;
#[cfg(not(vectord_shuttle))]
mod columns;
#[cfg(not(vectord_shuttle))]
mod filtered;
#[cfg(vectord_shuttle)]
mod model;
#[cfg(not(vectord_shuttle))]
mod search;
#[cfg(not(vectord_shuttle))]
mod snapshot;
pub mod support;
