//! Computations with one source, compiled for every SIMD level: where loops over arrays of as many
//! values as a level has lanes are all that the compiler needs.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the processor feature"
)]

use super::Level;

/// The values that a loop takes at a time: the lanes of the widest level.
pub const LANES: usize = 16;

/// A number in whose bits the last one counts ones, as in those of all numbers near to it.
const COUNTING: f32 = 12_582_912.0;

/// A computation that gives equal results at every level, as the compiler keeps the order of additions.
pub trait Computation {
    /// What is computed.
    type Output;

    /// Computes it. This and all that it calls in loops must be `#[inline(always)]`: what is not inlined
    /// is not compiled for the level.
    fn compute(self) -> Self::Output;
}

/// The result of a computation, by the widest level that this processor can run.
pub fn compute<C: Computation>(computation: C) -> C::Output {
    match Level::widest() {
        // SAFETY: the processor can run the level.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(computation) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(computation) },
        _ => computation.compute(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<C: Computation>(computation: C) -> C::Output {
    computation.compute()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512<C: Computation>(computation: C) -> C::Output {
    computation.compute()
}

/// The nearest whole number to one between -2²² and 2²². A cast would round towards 0, and would be
/// compiled for one value at a time, as it must look for numbers that are out of range.
#[inline(always)]
#[must_use]
pub fn nearest(value: f32) -> i32 {
    (value + COUNTING).to_bits().cast_signed() - COUNTING.to_bits().cast_signed()
}

/// The least and the greatest of some numbers.
#[inline(always)]
#[must_use]
pub fn range(values: &[f32]) -> (f32, f32) {
    // Unlike `f32::min`, which looks for NaN, one comparison compiles to one instruction.
    let least = extreme(values, f32::INFINITY, |a, b| if b < a { b } else { a });
    let greatest = extreme(values, f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    (least, greatest)
}

/// What `choose` leaves of `start` and all values.
#[inline(always)]
fn extreme(values: &[f32], start: f32, choose: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = choose(lanes[lane], chunk[lane]);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = choose(*lane, value);
    }
    let mut left = LANES / 2;
    while left > 0 {
        for lane in 0..left {
            lanes[lane] = choose(lanes[lane], lanes[lane + left]);
        }
        left /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::{LANES, nearest, range};

    #[test]
    fn a_number_is_rounded_to_the_nearest() {
        for (value, expected) in [(0.4, 0), (0.6, 1), (-0.4, 0), (-0.6, -1), (254.7, 255)] {
            assert_eq!(nearest(value), expected, "{value}");
        }
        assert_eq!(nearest(4_194_303.0), 4_194_303);
        assert_eq!(nearest(-4_194_304.0), -4_194_304);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "they are some of the values")]
    fn the_least_and_the_greatest_value_are_found_wherever_they_are() {
        for count in [1, LANES - 1, LANES, 2 * LANES + 3] {
            for place in 0..count {
                let mut values = vec![1.0; count];
                values[place] = 2.0;
                assert_eq!(range(&values).1, 2.0, "{place} of {count}");
                values[place] = 0.5;
                assert_eq!(range(&values).0, 0.5, "{place} of {count}");
            }
        }
    }
}
