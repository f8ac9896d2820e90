//! The loop that the AVX2 kernels share: loads, four running sums, a masked tail.

use std::arch::x86_64::{
    __m256, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehdup_ps, _mm_movehl_ps, _mm256_add_ps,
    _mm256_castps256_ps128, _mm256_cmpgt_epi32, _mm256_extractf128_ps, _mm256_loadu_ps,
    _mm256_maskload_ps, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_ps,
};

use super::same_length;

const LANES: usize = 8;
/// One sum would wait for the previous addition each time; four keep both arithmetic units busy.
const SUMS: usize = 4;

/// Runs `step(sum, a, b)` over two slices, 8 values at a time, and adds up the lanes.
///
/// The lanes past the end read as zero in both slices: `step` must add nothing for two zeros.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn fold(a: &[f32], b: &[f32], step: impl Fn(__m256, __m256, __m256) -> __m256) -> f32 {
    let (a, b) = same_length(a, b);
    let (blocks_a, rest_a) = a.as_chunks::<{ SUMS * LANES }>();
    let (blocks_b, rest_b) = b.as_chunks::<{ SUMS * LANES }>();
    let (steps_a, tail_a) = rest_a.as_chunks::<LANES>();
    let (steps_b, tail_b) = rest_b.as_chunks::<LANES>();

    let mut sums = [_mm256_setzero_ps(); SUMS];
    for (x, y) in blocks_a.iter().zip(blocks_b) {
        add_steps(&mut sums, x.as_chunks().0, y.as_chunks().0, &step);
    }
    add_steps(&mut sums, steps_a, steps_b, &step);
    if !tail_a.is_empty() {
        sums[SUMS - 1] = step(sums[SUMS - 1], load_tail(tail_a), load_tail(tail_b));
    }

    let [s0, s1, s2, s3] = sums;
    sum_of_lanes(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)))
}

/// One step for each sum, as far as there are values.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_steps(
    sums: &mut [__m256; SUMS],
    a: &[[f32; LANES]],
    b: &[[f32; LANES]],
    step: &impl Fn(__m256, __m256, __m256) -> __m256,
) {
    for (sum, (x, y)) in sums.iter_mut().zip(a.iter().zip(b)) {
        *sum = step(*sum, load(x), load(y));
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(values: &[f32; LANES]) -> __m256 {
    // SAFETY: the array holds the 8 values that are read; the load takes any alignment.
    unsafe { _mm256_loadu_ps(values.as_ptr()) }
}

/// Loads fewer than 8 values and fills up with zeros.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_tail(values: &[f32]) -> __m256 {
    debug_assert!(values.len() < LANES);
    #[allow(clippy::cast_possible_wrap, reason = "fewer than 8")]
    let length = _mm256_set1_epi32(values.len() as i32);
    let mask = _mm256_cmpgt_epi32(length, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    // SAFETY: the mask lets the load read no value past the slice.
    unsafe { _mm256_maskload_ps(values.as_ptr(), mask) }
}

/// Halves three times: 8 lanes to 4, to 2, to 1.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sum_of_lanes(lanes: __m256) -> f32 {
    let four = _mm_add_ps(
        _mm256_castps256_ps128(lanes),
        _mm256_extractf128_ps::<1>(lanes),
    );
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}
