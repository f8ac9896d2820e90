//! The loop that the AVX-512 kernels share: loads, four running sums, a masked tail.

use std::arch::x86_64::{
    __m512, _mm512_add_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_reduce_add_ps,
    _mm512_setzero_ps,
};

use super::{common_length::common_length, prefetch::prefetch_part};

const LANES: usize = 16;
/// With one sum, each addition would wait for the one before. Four sums keep both arithmetic units
/// busy.
const SUMS: usize = 4;

/// Runs `step(sum, a, b)` over `a` and each of the slices in `b`, 16 values at a time, and adds up
/// the lanes. The result for a slice does not depend on the number of slices.
///
/// Meanwhile it prefetches the vectors `ahead`, over the length of the slices: one cache line per
/// step, so that the prefetches never fill the buffer of outstanding loads.
///
/// Lanes past the end are zero in both slices: for two zeros `step` must add nothing.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn fold<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
    step: impl Fn(__m512, __m512, __m512) -> __m512,
) -> [f32; N] {
    let length = common_length(a, &b);
    let whole = length - length % (SUMS * LANES);

    let mut sums = [[_mm512_setzero_ps(); SUMS]; N];
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
        *folded = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s0, s1), _mm512_add_ps(s2, s3)));
    }
    folded
}

/// Loads 16 values.
///
/// # Safety
/// `values` must have at least 16 values from `at` on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load(values: &[f32], at: usize) -> __m512 {
    debug_assert!(at + LANES <= values.len());
    // SAFETY: the caller guarantees that the values exist; the load takes any alignment.
    unsafe { _mm512_loadu_ps(values.as_ptr().add(at)) }
}

/// Loads the values from `at` to `end`, 16 at most, and zeros for the rest.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_part(values: &[f32], at: usize, end: usize) -> __m512 {
    let values = &values[at.min(end)..end];
    let mask = (1_u32 << values.len().min(LANES)) - 1;
    // SAFETY: the mask keeps the load from reading a value past the slice.
    unsafe { _mm512_maskz_loadu_ps(mask as u16, values.as_ptr()) }
}
