//! The length over which the SIMD kernels read.

/// The length of the shortest slice. Callers pass slices of equal length, which a debug build
/// checks. In a release build the shortest length keeps a mistake from becoming a read past the
/// end.
#[inline]
pub(super) fn common_length(a: &[f32], b: &[&[f32]]) -> usize {
    let length = b.iter().fold(a.len(), |length, b| length.min(b.len()));
    debug_assert!(
        a.len() == length && b.iter().all(|b| b.len() == length),
        "vectors of different dimensions"
    );
    length
}
