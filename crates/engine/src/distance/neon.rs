//! The loop that the NEON kernels share: loads, four running sums, a tail filled up with zeros.

use std::arch::aarch64::{float32x4_t, vaddq_f32, vaddvq_f32, vdupq_n_f32, vld1q_f32};

use super::same_length;

const LANES: usize = 4;
/// One sum would wait for the previous addition each time; four keep the arithmetic units busy.
const SUMS: usize = 4;

/// Runs `step(sum, a, b)` over two slices, 4 values at a time, and adds up the lanes.
///
/// The lanes past the end read as zero in both slices: `step` must add nothing for two zeros.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn fold(
    a: &[f32],
    b: &[f32],
    step: impl Fn(float32x4_t, float32x4_t, float32x4_t) -> float32x4_t,
) -> f32 {
    let (a, b) = same_length(a, b);
    let (blocks_a, rest_a) = a.as_chunks::<{ SUMS * LANES }>();
    let (blocks_b, rest_b) = b.as_chunks::<{ SUMS * LANES }>();
    let (steps_a, tail_a) = rest_a.as_chunks::<LANES>();
    let (steps_b, tail_b) = rest_b.as_chunks::<LANES>();

    let mut sums = [vdupq_n_f32(0.0); SUMS];
    for (x, y) in blocks_a.iter().zip(blocks_b) {
        add_steps(&mut sums, x.as_chunks().0, y.as_chunks().0, &step);
    }
    add_steps(&mut sums, steps_a, steps_b, &step);
    if !tail_a.is_empty() {
        sums[SUMS - 1] = step(sums[SUMS - 1], load_tail(tail_a), load_tail(tail_b));
    }

    let [s0, s1, s2, s3] = sums;
    vaddvq_f32(vaddq_f32(vaddq_f32(s0, s1), vaddq_f32(s2, s3)))
}

/// One step for each sum, as far as there are values.
#[inline]
#[target_feature(enable = "neon")]
fn add_steps(
    sums: &mut [float32x4_t; SUMS],
    a: &[[f32; LANES]],
    b: &[[f32; LANES]],
    step: &impl Fn(float32x4_t, float32x4_t, float32x4_t) -> float32x4_t,
) {
    for (sum, (x, y)) in sums.iter_mut().zip(a.iter().zip(b)) {
        *sum = step(*sum, load(x), load(y));
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn load(values: &[f32; LANES]) -> float32x4_t {
    // SAFETY: the array holds the 4 values that are read; the load takes any alignment.
    unsafe { vld1q_f32(values.as_ptr()) }
}

/// Loads fewer than 4 values and fills up with zeros.
#[inline]
#[target_feature(enable = "neon")]
fn load_tail(values: &[f32]) -> float32x4_t {
    let mut filled = [0.0; LANES];
    filled[..values.len()].copy_from_slice(values);
    load(&filled)
}
