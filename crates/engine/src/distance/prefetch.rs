//! Fetching memory ahead of its use.

/// Bytes in a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Starts to bring values into the cache, on processors where that is worth the instructions.
#[inline]
pub fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of_val(values)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86_64, and the address, which is never read, is that of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().byte_add(line).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
