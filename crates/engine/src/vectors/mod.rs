//! Vectors and the distances between them: how stored vectors are read ([`points`]), ranked against
//! a query ([`measure`]) and quantized ([`quantize`], [`coarse`]), how far ranks by code may be off
//! ([`margin`]), a point with its rank ([`neighbor`]), and the SIMD kernels that ranks and distances
//! are computed with ([`kernels`]).
//!
//! A rank is a number in single precision, smaller for closer. Ranks order points like their
//! distances, but need not be distances: under Euclidean a rank is the square of one.

pub mod coarse;
pub mod kernels;
pub mod margin;
pub mod measure;
pub mod neighbor;
mod outline;
pub mod points;
pub mod quantize;
#[cfg(test)]
mod tests;
