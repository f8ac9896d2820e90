//! The loop that the AVX-512 kernels share: loads, four running sums, a masked tail.

use std::arch::x86_64::{
    __m512, _mm512_add_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_reduce_add_ps,
    _mm512_setzero_ps,
};

use super::same_length;

const LANES: usize = 16;
/// One sum would wait for the previous addition each time; four keep both arithmetic units busy.
const SUMS: usize = 4;

/// Runs `step(sum, a, b)` over two slices, 16 values at a time, and adds up the lanes.
///
/// The lanes past the end read as zero in both slices: `step` must add nothing for two zeros.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn fold(a: &[f32], b: &[f32], step: impl Fn(__m512, __m512, __m512) -> __m512) -> f32 {
    let (a, b) = same_length(a, b);
    let (blocks_a, rest_a) = a.as_chunks::<{ SUMS * LANES }>();
    let (blocks_b, rest_b) = b.as_chunks::<{ SUMS * LANES }>();
    let (steps_a, tail_a) = rest_a.as_chunks::<LANES>();
    let (steps_b, tail_b) = rest_b.as_chunks::<LANES>();

    let mut sums = [_mm512_setzero_ps(); SUMS];
    for (x, y) in blocks_a.iter().zip(blocks_b) {
        add_steps(&mut sums, x.as_chunks().0, y.as_chunks().0, &step);
    }
    add_steps(&mut sums, steps_a, steps_b, &step);
    if !tail_a.is_empty() {
        sums[SUMS - 1] = step(sums[SUMS - 1], load_tail(tail_a), load_tail(tail_b));
    }

    let [s0, s1, s2, s3] = sums;
    _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s0, s1), _mm512_add_ps(s2, s3)))
}

/// One step for each sum, as far as there are values.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_steps(
    sums: &mut [__m512; SUMS],
    a: &[[f32; LANES]],
    b: &[[f32; LANES]],
    step: &impl Fn(__m512, __m512, __m512) -> __m512,
) {
    for (sum, (x, y)) in sums.iter_mut().zip(a.iter().zip(b)) {
        *sum = step(*sum, load(x), load(y));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(values: &[f32; LANES]) -> __m512 {
    // SAFETY: the array holds the 16 values that are read; the load takes any alignment.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}

/// Loads fewer than 16 values and fills up with zeros.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_tail(values: &[f32]) -> __m512 {
    debug_assert!(values.len() < LANES);
    let mask = (1 << (values.len() % LANES)) - 1;
    // SAFETY: the mask lets the load read no value past the slice.
    unsafe { _mm512_maskz_loadu_ps(mask, values.as_ptr()) }
}
