//! The layers below [`Engine`](crate::Engine), for the benchmarks and tests that measure or check one
//! of them alone: the feature `layers`. Without it they are private.

/// The graph.
pub mod hnsw {
    pub use crate::hnsw::{Graph, Params, Scratch};
}

/// Points by slot, and searches over them.
pub mod index {
    pub use crate::index::{Index, Linker, Plan, Prepared, Request};
}

/// The segment log.
pub mod store {
    pub use crate::store::{OpenOptions, Store, Write};
}

/// Codes, metrics and kernels.
pub mod vectors {
    pub use crate::vectors::{kernels, measure, points, quantize};
}
