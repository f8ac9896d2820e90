//! Distance kernels: one file per metric, the scalar reference beside its SIMD twins.
//!
//! Single precision ranks candidates: [`kernels`] gives the fastest twins this processor runs.
//! [`exact`] orders what is left of them in double precision, and alone ranks the vectors that are
//! too small or too large for single precision ([`is_ordinary`]).

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
mod code_product;
mod cosine;
mod euclidean;
pub mod exact;
mod hamming;
mod level;
mod manhattan;
#[cfg(target_arch = "aarch64")]
mod neon;
mod ordinary;
mod prefetch;
#[cfg(test)]
mod twins;

pub use code_product::{CodeProducts, code_products};
pub use cosine::inverse_norm;
pub use level::{Kernel, Kernels, Level, kernels};
pub use ordinary::is_ordinary;
pub use prefetch::prefetch;

/// Two slices cut to the same length. Callers pass equal lengths; the cut keeps a mistake in a
/// release build from reading past the shorter slice.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn same_length<'s>(a: &'s [f32], b: &'s [f32]) -> (&'s [f32], &'s [f32]) {
    debug_assert_eq!(a.len(), b.len(), "vectors of different dimensions");
    let length = a.len().min(b.len());
    (&a[..length], &b[..length])
}
