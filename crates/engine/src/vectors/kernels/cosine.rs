//! The two parts of the cosine: the inner product, `Σ a · b`, and the inverse norm, `1 / |v|`.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::vfmaq_f32;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_mm256_fmadd_ps, _mm512_fmadd_ps};

use super::exact;

/// `1 / |v|`, computed in double precision and rounded to single. It is 0 for a zero vector, and
/// never infinite.
///
/// With 0 for a zero vector, the cosine `dot · 1/|a| · 1/|b|` is 0 and its distance from every
/// vector is 1, as the metric demands.
#[must_use]
pub fn inverse_norm(vector: &[f32]) -> f32 {
    let norm = exact::norm(vector);
    if norm == 0.0 {
        0.0
    } else {
        norm.recip().min(f64::from(f32::MAX)) as f32
    }
}

/// The reference, in plain Rust.
pub(super) fn scalar(a: &[f32], b: &[f32]) -> f32 {
    super::scalar::fold(a, b, |x, y| x * y)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) fn avx512<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    super::avx512::fold(a, b, ahead, |sum, x, y| _mm512_fmadd_ps(x, y, sum))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) fn avx2<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    super::avx2::fold(a, b, ahead, |sum, x, y| _mm256_fmadd_ps(x, y, sum))
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
pub(super) fn neon<const N: usize, const M: usize>(
    a: &[f32],
    b: [&[f32]; N],
    ahead: [&[f32]; M],
) -> [f32; N] {
    super::neon::fold(a, b, ahead, |sum, x, y| vfmaq_f32(sum, x, y))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::inverse_norm;
    use crate::vectors::tests::agreement;

    #[test]
    fn what_is_fetched_meanwhile_changes_nothing() {
        agreement::fetching_is_as_alone(|kernels| kernels.dot);
    }

    #[test]
    fn four_at_once_are_ranked_as_one_alone() {
        agreement::four_are_as_one(|kernels| kernels.dot);
    }

    #[test]
    fn whole_numbers_give_the_exact_sum_at_every_length_and_alignment() {
        agreement::agree_exactly_on_whole_numbers(|kernels| kernels.dot);
    }

    #[test]
    fn a_zero_vector_has_the_inverse_norm_zero() {
        assert_eq!(inverse_norm(&[0.0, -0.0, 0.0]), 0.0);
        assert_eq!(inverse_norm(&[]), 0.0);
    }

    #[test]
    fn the_inverse_norm_is_correctly_rounded_where_the_norm_is_a_whole_number() {
        assert_eq!(inverse_norm(&[3.0, 4.0]), 0.2);
        assert_eq!(inverse_norm(&[-2.0; 16]), 0.125);
    }

    #[test]
    fn the_inverse_norm_stays_finite_and_positive_at_the_ends_of_the_range() {
        assert_eq!(inverse_norm(&[1e-45]), f32::MAX);
        assert_eq!(inverse_norm(&[1e-30]), 1e30);
        assert!(inverse_norm(&vec![f32::MAX; 65_536]) > 0.0);
    }

    proptest! {
        #[test]
        fn every_level_agrees_with_the_scalar_reference((a, b) in agreement::pair()) {
            let terms = a.iter().zip(&b).map(|(&x, &y)| (f64::from(x) * f64::from(y)).abs()).sum();
            agreement::agree(|kernels| kernels.dot, &a, &b, terms);
        }
    }
}
