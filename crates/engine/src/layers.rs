//! Makes the layers below [`Engine`](crate::Engine) public, for benchmarks that measure and tests
//! that check a layer alone. Without the feature `layers` they are private.

/// The HNSW graph.
pub mod hnsw {
    pub use crate::hnsw::{Graph, Params, Scratch};
}

/// Points by slot, and searches over them.
pub mod index {
    pub use crate::index::{Index, Linker, Plan, Prepared, Request};
}

/// The segment log, which holds points on disk.
pub mod store {
    pub use crate::store::{OpenOptions, Store, Write};
}

/// Quantized vectors, ranks and SIMD kernels.
pub mod vectors {
    pub use crate::vectors::{kernels, measure, points, quantize};
}
