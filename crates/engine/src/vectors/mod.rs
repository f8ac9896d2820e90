//! Vectors and the distances between them: how stored vectors are read ([`points`]), ranked against
//! a query ([`measure`]), and quantized ([`quantize`]), and the SIMD kernels for it ([`kernels`]).

pub mod kernels;
pub mod measure;
pub mod neighbor;
pub mod points;
pub mod quantize;
#[cfg(test)]
mod tests;
