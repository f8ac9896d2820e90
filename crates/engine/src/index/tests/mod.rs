//! The index as a whole under a model checker, and what the tests of its modules share.

#[cfg(target_os = "linux")]
#[cfg(not(feature = "shuttle"))]
mod arena;
#[cfg(not(feature = "shuttle"))]
mod columns;
#[cfg(not(feature = "shuttle"))]
mod filtered;
#[cfg(not(feature = "shuttle"))]
mod give_back;
#[cfg(feature = "shuttle")]
mod model;
#[cfg(not(feature = "shuttle"))]
mod search;
#[cfg(not(feature = "shuttle"))]
mod snapshot;
pub mod support;
