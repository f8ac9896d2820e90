//! Vectors and the distances between them: where they are read from, what a metric makes of two of
//! them, and the kernels that compute it.

pub mod kernels;
pub mod measure;
pub mod neighbor;
pub mod points;
pub mod quantize;
