//! Distance kernels: one file per metric, the scalar reference beside its SIMD variants.
//!
//! Candidates are ranked in single precision: [`Kernels::widest`] gives the fastest variants that
//! this processor can run. The best candidates are put in their final order in double precision
//! (see [`exact`]), which also ranks the vectors that are too small or too large for single
//! precision (see [`is_ordinary`]).

#![allow(
    unsafe_code,
    reason = "SIMD loads, and calls that need a processor feature"
)]
#![allow(
    clippy::float_cmp,
    reason = "Hamming asks for IEEE equality, zero norms are exactly 0"
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod coarse_product;
mod code_product;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod common_length;
mod compiled;
mod cosine;
mod euclidean;
mod exact;
mod hamming;
mod level;
mod manhattan;
#[cfg(target_arch = "aarch64")]
mod neon;
mod ordinary;
mod passing;
mod prefetch;
mod scalar;

pub use coarse_product::{ABREAST, CoarseCodes};
pub use code_product::{BLOCK, Halves};
#[cfg(any(test, feature = "layers"))]
pub use compiled::InstructionSet;
pub use compiled::{Computation, LANES, Simd, compute, nearest, range};
pub use cosine::inverse_norm;
#[cfg(any(test, feature = "layers"))]
pub use level::{Kernel, KernelOfFour};
pub use level::{Kernels, Level, Sum};
pub use ordinary::is_ordinary;
pub use passing::{PassingOf, passing_of};
pub use prefetch::prefetch;

/// The distance of `b` from `a`, both `[dimension]`, or a number that orders in the same way.
///
/// Euclidean: the squared L2 distance. Manhattan: the L1 distance. Hamming: the number of
/// positions that differ. Cosine: `1 - cos`, between 0 and 2, and 1 where a vector is zero.
#[must_use]
pub fn distance(metric: crate::Metric, a: &[f32], b: &[f32]) -> f64 {
    (Kernels::widest().exact)(metric, a, b)
}
