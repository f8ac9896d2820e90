//! L1 distance, `Σ |a - b|`.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{vabdq_f32, vaddq_f32};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm256_add_ps, _mm256_andnot_ps, _mm256_set1_ps, _mm256_sub_ps, _mm512_abs_ps, _mm512_add_ps,
    _mm512_sub_ps,
};

/// The reference, in plain Rust.
pub(super) fn scalar(a: &[f32], b: &[f32]) -> f32 {
    super::scalar::fold(a, b, |x, y| (x - y).abs())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) fn avx512<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    super::avx512::fold(a, b, ahead, |sum, x, y| {
        _mm512_add_ps(sum, _mm512_abs_ps(_mm512_sub_ps(x, y)))
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) fn avx2<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    // Negative zero is the sign bit alone: clearing it gives the absolute value.
    let sign = _mm256_set1_ps(-0.0);
    super::avx2::fold(a, b, ahead, |sum, x, y| {
        _mm256_add_ps(sum, _mm256_andnot_ps(sign, _mm256_sub_ps(x, y)))
    })
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
pub(super) fn neon<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    super::neon::fold(a, b, ahead, |sum, x, y| vaddq_f32(sum, vabdq_f32(x, y)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::distance;
    use crate::Metric;
    use crate::vectors::tests::agreement;

    #[test]
    fn what_is_fetched_meanwhile_changes_nothing() {
        agreement::fetching_is_as_alone(|kernels| kernels.manhattan);
    }

    #[test]
    fn four_at_once_are_ranked_as_one_alone() {
        agreement::four_are_as_one(|kernels| kernels.manhattan);
    }

    #[test]
    fn whole_numbers_give_the_exact_sum_at_every_length_and_alignment() {
        agreement::agree_exactly_on_whole_numbers(|kernels| kernels.manhattan);
    }

    #[test]
    fn zero_and_negative_zero_are_the_same_place() {
        agreement::equal_on_zeros_of_either_sign(|kernels| kernels.manhattan);
    }

    proptest! {
        #[test]
        fn every_level_agrees_with_the_scalar_reference((a, b) in agreement::pair()) {
            let terms = distance(Metric::Manhattan, &a, &b);
            agreement::agree(|kernels| kernels.manhattan, &a, &b, terms);
        }
    }
}
