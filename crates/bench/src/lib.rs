//! What benchmarks and tests of recall share: sets of vectors, an engine with points, reports, and
//! the independent HNSW that the engine is compared with.

pub mod callback;
pub mod collection;
pub mod cpu;
pub mod criterion;
pub mod fill;
pub mod npy;
pub mod recall;
pub mod reference;
pub mod report;
pub mod rounds;
pub mod smaps;
pub mod synthetic;
pub mod vectors;

/// Any failure: a test or a benchmark only reports it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
