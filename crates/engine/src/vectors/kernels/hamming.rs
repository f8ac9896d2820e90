//! The number of positions whose values differ, by IEEE equality: 0 equals -0.
//!
//! The count runs in f32 lanes, which hold every whole number up to 2²⁴ exactly.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{
    vaddq_f32, vbicq_u32, vceqq_f32, vdupq_n_f32, vreinterpretq_f32_u32, vreinterpretq_u32_f32,
};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _CMP_NEQ_UQ, _mm256_add_ps, _mm256_and_ps, _mm256_cmp_ps, _mm256_set1_ps, _mm512_cmp_ps_mask,
    _mm512_mask_add_ps, _mm512_set1_ps,
};

/// The reference, in plain Rust.
pub(super) fn scalar(a: &[f32], b: &[f32]) -> f32 {
    super::scalar::fold(a, b, |x, y| f32::from(u8::from(x != y)))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) fn avx512<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    let one = _mm512_set1_ps(1.0);
    super::avx512::fold(a, b, ahead, |count, x, y| {
        let differs = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(x, y);
        _mm512_mask_add_ps(count, differs, count, one)
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) fn avx2<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    let one = _mm256_set1_ps(1.0);
    super::avx2::fold(a, b, ahead, |count, x, y| {
        let differs = _mm256_cmp_ps::<_CMP_NEQ_UQ>(x, y);
        _mm256_add_ps(count, _mm256_and_ps(differs, one))
    })
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
pub(super) fn neon<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    let one = vreinterpretq_u32_f32(vdupq_n_f32(1.0));
    super::neon::fold(a, b, ahead, |count, x, y| {
        let one_where_different = vbicq_u32(one, vceqq_f32(x, y));
        vaddq_f32(count, vreinterpretq_f32_u32(one_where_different))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::vectors::tests::agreement;

    #[test]
    fn what_is_fetched_meanwhile_changes_nothing() {
        agreement::fetching_is_as_alone(|kernels| kernels.hamming);
    }

    #[test]
    fn four_at_once_are_ranked_as_one_alone() {
        agreement::four_are_as_one(|kernels| kernels.hamming);
    }

    #[test]
    fn the_count_is_exact_at_every_length_and_alignment() {
        agreement::agree_exactly_on_whole_numbers(|kernels| kernels.hamming);
    }

    #[test]
    fn zero_and_negative_zero_are_the_same_value() {
        agreement::equal_on_zeros_of_either_sign(|kernels| kernels.hamming);
    }

    #[test]
    fn the_largest_dimension_is_counted_to_the_last_position() {
        let (a, b) = (vec![0.0; 65_536], vec![1.0; 65_536]);
        for (level, kernels) in agreement::levels() {
            assert_eq!((kernels.hamming.alone)(&a, &b), 65_536.0, "{level:?}");
            assert_eq!(
                (kernels.hamming.alone)(&a[1..], &b[1..]),
                65_535.0,
                "{level:?}"
            );
        }
    }

    #[test]
    fn neighbouring_values_differ_down_to_the_smallest_step() {
        let a = [1.0, 1e-45, f32::MIN_POSITIVE, f32::MAX, -1e-45];
        let b = a.map(|value: f32| f32::from_bits(value.to_bits() - 1));
        for (level, kernels) in agreement::levels() {
            assert_eq!((kernels.hamming.alone)(&a, &b), 5.0, "{level:?}");
        }
    }

    proptest! {
        #[test]
        fn every_level_agrees_with_the_scalar_reference(
            (a, mut b) in agreement::pair(),
            same in proptest::collection::vec(any::<bool>(), 300),
        ) {
            for i in (0..b.len()).filter(|&i| same[i % same.len()]) {
                b[i] = a[i];
            }
            agreement::agree(|kernels| kernels.hamming, &a, &b, 0.0);
        }
    }
}
