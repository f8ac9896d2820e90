//! What the recall test and the recall benchmark share.

pub mod fill;
pub mod npy;
pub mod recall;
pub mod vectors;

/// Any failure: a test or a benchmark only reports it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
