//! Fetching a vector ahead of its use.

/// Values in a cache line of 64 bytes.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 16;

/// Starts to bring a vector into the cache, on processors where that is worth the instructions.
#[inline]
pub fn prefetch(vector: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in vector.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86_64, and the address, which is never read, is that of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = vector;
}
