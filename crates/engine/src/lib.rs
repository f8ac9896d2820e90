//! The engine of vectord: a durable log of points and the indexes that answer nearest-neighbour
//! searches over them. Plain Rust: it knows nothing of N-API, JSON or protobuf.
//!
//! Bottom up: [`vectors`] holds the vectors' codes, their metrics and the SIMD kernels, [`hnsw`] is
//! the HNSW graph, [`store`] the segment log, [`index`] finds points, and [`Engine`] ties them
//! together with the threads that write and search.

mod engine;
mod error;
pub mod hnsw;
pub mod index;
mod metric;
pub mod store;
mod sync;
pub mod vectors;

pub use engine::{
    DimensionSource, Engine, Options, Point, Query, Status,
    stats::{Distribution, Metrics},
    workers::Ticket,
    writer::{Batch, Done},
};
pub use error::{Error, Result, uuid};
pub use index::{Damage, GraphStatus, Hit, PointId};
pub use metric::Metric;
