//! What the tests of the kernels share.

pub mod agreement;
