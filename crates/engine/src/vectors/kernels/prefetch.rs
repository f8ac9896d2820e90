//! Prefetches vectors and other rows of tables into the cache.

/// Bytes in a cache line.
const LINE: usize = 64;

/// Prefetches values into the cache on `x86_64`. Does nothing on other processors.
#[inline]
pub fn prefetch<T>(values: &[T]) {
    prefetch_bytes(values.as_ptr().cast(), size_of_val(values));
}

/// Prefetches `COUNT` values from `at` on. There may be fewer: prefetching the memory behind them
/// does no harm.
#[inline]
pub(super) fn prefetch_part<const COUNT: usize>(values: &[f32], at: usize) {
    prefetch_bytes(
        values.as_ptr().wrapping_add(at).cast(),
        COUNT * size_of::<f32>(),
    );
}

#[inline]
fn prefetch_bytes(start: *const i8, bytes: usize) {
    // The first and the last line alone, since many rows have no others, and a loop takes longer to
    // begin.
    line(start);
    line(start.wrapping_add(bytes.saturating_sub(1)));
    let mut at = LINE;
    while at + LINE < bytes {
        line(start.wrapping_add(at));
        at += LINE;
    }
}

#[inline]
fn line(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86_64, and a prefetch may have any address, since nothing is
        // read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
