//! The engine of vectord: a durable log of points and the indexes that answer nearest-neighbour
//! searches over them. Plain Rust: it knows nothing of N-API, JSON or protobuf.
//!
//! Bottom up: [`vectors`] holds the vectors' codes, their metrics and the SIMD kernels, [`hnsw`] is
//! the HNSW graph, [`store`] the segment log, [`index`] finds points, and [`Engine`] ties them
//! together with the threads that write and search.

mod batch;
mod budget;
mod engine;
mod error;
pub mod hnsw;
pub mod index;
mod metric;
mod metrics;
pub mod store;
mod sync;
mod upkeep;
pub mod vectors;
mod workers;
mod writer;

pub use engine::{DimensionSource, Engine, Options, Point, Query, Status};
pub use error::{Error, Result, uuid};
pub use index::{Damage, GraphStatus, Hit, PointId};
pub use metric::Metric;
pub use metrics::{Distribution, Metrics};
pub use workers::Ticket;
pub use writer::{Batch, Done};
