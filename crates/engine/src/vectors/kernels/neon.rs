//! The loop that the NEON kernels share: loads, four running sums, a tail padded with zeros.

use std::arch::aarch64::{float32x4_t, vaddq_f32, vaddvq_f32, vdupq_n_f32, vld1q_f32};

use super::{common_length::common_length, prefetch::prefetch_part};

const LANES: usize = 4;
/// With one sum, each addition would wait for the one before. Four sums keep the arithmetic units
/// busy.
const SUMS: usize = 4;

/// Runs `step(sum, a, b)` over `a` and each of the slices in `b`, 4 values at a time, and adds up
/// the lanes. The result for a slice does not depend on the number of slices.
///
/// Meanwhile it prefetches the vectors `ahead`, over the length of the slices: one cache line per
/// step, so that the prefetches never fill the buffer of outstanding loads.
///
/// Lanes past the end are zero in both slices: for two zeros `step` must add nothing.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn fold<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
    step: impl Fn(float32x4_t, float32x4_t, float32x4_t) -> float32x4_t,
) -> [f32; N] {
    let length = common_length(a, &b);
    let whole = length - length % (SUMS * LANES);

    let mut sums = [[vdupq_n_f32(0.0); SUMS]; N];
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
        *folded = vaddvq_f32(vaddq_f32(vaddq_f32(s0, s1), vaddq_f32(s2, s3)));
    }
    folded
}

/// Loads 4 values.
///
/// # Safety
/// `values` must have at least 4 values from `at` on.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(values: &[f32], at: usize) -> float32x4_t {
    debug_assert!(at + LANES <= values.len());
    // SAFETY: the caller guarantees that the values exist; the load takes any alignment.
    unsafe { vld1q_f32(values.as_ptr().add(at)) }
}

/// Loads the values from `at` to `end`, 4 at most, and zeros for the rest.
#[inline]
#[target_feature(enable = "neon")]
fn load_part(values: &[f32], at: usize, end: usize) -> float32x4_t {
    let mut filled = [0.0; LANES];
    for (filled, &value) in filled.iter_mut().zip(&values[at.min(end)..end]) {
        *filled = value;
    }
    // SAFETY: the array holds the 4 values that are read.
    unsafe { load(&filled, 0) }
}
