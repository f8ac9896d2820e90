//! The loop that the AVX2 kernels share: loads, four running sums, a masked tail.

use std::arch::x86_64::{
    __m256, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehdup_ps, _mm_movehl_ps, _mm256_add_ps,
    _mm256_castps256_ps128, _mm256_cmpgt_epi32, _mm256_extractf128_ps, _mm256_loadu_ps,
    _mm256_maskload_ps, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_ps,
};

use super::{common_length::common_length, prefetch::prefetch_part};

const LANES: usize = 8;
/// With one sum, each addition would wait for the one before. Four sums keep both arithmetic units
/// busy.
const SUMS: usize = 4;

/// Runs `step(sum, a, b)` over `a` and each of the slices in `b`, 8 values at a time, and adds up
/// the lanes. The result for a slice does not depend on the number of slices.
///
/// Meanwhile it prefetches the vectors `ahead`, over the length of the slices: one cache line per
/// step, so that the prefetches never fill the buffer of outstanding loads.
///
/// Lanes past the end are zero in both slices: for two zeros `step` must add nothing.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn fold<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
    step: impl Fn(__m256, __m256, __m256) -> __m256,
) -> [f32; N] {
    let length = common_length(a, &b);
    let whole = length - length % (SUMS * LANES);

    let mut sums = [[_mm256_setzero_ps(); SUMS]; N];
    for block in (0..whole).step_by(SUMS * LANES) {
        for vector in ahead {
            prefetch_part::<{ SUMS * LANES }>(vector, block);
        }
        for step_in_block in 0..SUMS {
            let at = block + step_in_block * LANES;
            // SAFETY: the step ends within the block, which ends within every slice.
            let x = unsafe { load(a, at) };
            for (sums, b) in sums.iter_mut().zip(b) {
                // SAFETY: as above.
                let y = unsafe { load(b, at) };
                sums[step_in_block] = step(sums[step_in_block], x, y);
            }
        }
    }
    if whole < length {
        for vector in ahead {
            prefetch_part::<{ SUMS * LANES }>(vector, whole);
        }
        for step_of_rest in 0..SUMS {
            let at = whole + step_of_rest * LANES;
            let x = load_part(a, at, length);
            for (sums, b) in sums.iter_mut().zip(b) {
                sums[step_of_rest] = step(sums[step_of_rest], x, load_part(b, at, length));
            }
        }
    }

    let mut folded = [0.0; N];
    for (folded, [s0, s1, s2, s3]) in folded.iter_mut().zip(sums) {
        *folded = sum_of_lanes(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)));
    }
    folded
}

/// Loads 8 values.
///
/// # Safety
/// `values` must have at least 8 values from `at` on.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn load(values: &[f32], at: usize) -> __m256 {
    debug_assert!(at + LANES <= values.len());
    // SAFETY: the caller guarantees that the values exist; the load takes any alignment.
    unsafe { _mm256_loadu_ps(values.as_ptr().add(at)) }
}

/// Loads the values from `at` to `end`, 8 at most, and zeros for the rest.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_part(values: &[f32], at: usize, end: usize) -> __m256 {
    let values = &values[at.min(end)..end];
    #[allow(clippy::cast_possible_wrap, reason = "at most 8")]
    let length = _mm256_set1_epi32(values.len().min(LANES) as i32);
    let mask = _mm256_cmpgt_epi32(length, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    // SAFETY: the mask keeps the load from reading a value past the slice.
    unsafe { _mm256_maskload_ps(values.as_ptr(), mask) }
}

/// Adds up the lanes by halves: 8 to 4, to 2, to 1.
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
