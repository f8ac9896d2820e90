//! The engine of vectord: a durable log of points and the indexes that answer nearest-neighbour
//! searches over them. Plain Rust: it knows nothing of N-API, JSON or protobuf.
//!
//! The modules from the bottom up: `vectors` ranks vectors, quantizes them and holds the SIMD
//! kernels, `hnsw` is the HNSW graph, `store` is the segment log, `index` finds points, and
//! [`Engine`] ties them together with the threads that write and search. The [`tools`] work on data
//! folders without an engine.

mod engine;
mod error;
mod hnsw;
mod index;
#[cfg(feature = "layers")]
pub mod layers;
mod metric;
mod store;
mod sync;
mod vectors;

pub use engine::{
    DimensionSource, Engine, Found, Gathered, Hit, Options, Page, PageRequest, Point, Query,
    Status, Want,
    batch::Asked,
    stats::{Distribution, Metrics},
    workers::Ticket,
    writer::{Batch, Done, Existing, Outcome, Update, Upserted, message::Message},
};
pub use error::{Error, Result, uuid};
pub use hnsw::Params;
pub use index::{ColumnStatus, Direction, GraphStatus, Include, KnownDamage, PointId, Records};
pub use metric::Metric;
pub use store::{DEFAULT_SEGMENT_BYTES, StreamPosition, tools};
