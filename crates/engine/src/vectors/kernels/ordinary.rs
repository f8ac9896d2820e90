//! Decides which vectors can be ranked in single precision.

use std::ops::RangeInclusive;

use super::exact;

/// The L2 norms for which no kernel overflows, and for which underflow costs less than rounding.
///
/// For any two vectors whose norms are at most 1e15 (u and v, up to 65,536 dimensions):
/// - the squared distance is at most (2e15)² = 4e30, the inner product at most 1e30, and the L1
///   distance at most √65,536 · 2e15 = 5e17, all far below the largest f32, 3.4e38;
/// - the cosine's product, taken as `(dot · 1/|u|) · 1/|v|`, is at most |v| on its way to 1.
///
/// For norms of at least 1e-12, a product that underflows is off by at most 1.4e-45 / 2, and the
/// sum of 65,536 of them by 5e-41: 5e-17 of |u| · |v|, where f32 itself rounds at 6e-8. The
/// distance of two points is right to √5e-41 = 7e-21, a tenth of what rounding one coordinate of
/// a vector of that norm moves it by.
const NORMS: RangeInclusive<f64> = 1e-12..=1e15;

/// Whether the kernels rank this vector correctly against every other vector for which this holds.
///
/// It holds for a zero vector, and for a norm between 1e-12 and 1e15. All other vectors must be
/// ranked by [`super::distance`].
#[must_use]
pub fn is_ordinary(vector: &[f32]) -> bool {
    let norm = exact::norm(vector);
    norm == 0.0 || NORMS.contains(&norm)
}

#[cfg(test)]
mod tests {
    use super::{super::inverse_norm, is_ordinary};
    use crate::vectors::tests::agreement;

    #[test]
    fn zero_and_everyday_vectors_are_ordinary() {
        assert!(is_ordinary(&[]));
        assert!(is_ordinary(&[0.0, -0.0]));
        assert!(is_ordinary(&[1e-40, 1.0]));
        assert!(is_ordinary(&vec![255.0; 65_536]));
    }

    #[test]
    fn tiny_huge_and_infinite_vectors_are_not() {
        for value in [1e-45, 1e-13, 1.1e15, 3e38, f32::INFINITY, f32::NAN] {
            assert!(!is_ordinary(&[value, 0.0]), "{value}");
        }
        assert!(
            is_ordinary(&[9e14]) && !is_ordinary(&[9e14, 9e14]),
            "the norm counts"
        );
    }

    #[test]
    fn no_kernel_overflows_or_vanishes_at_the_ends_of_the_ordinary_range() {
        for component in [3.9e12_f32, 4e-15] {
            let (a, b) = (vec![component; 65_536], vec![-component; 65_536]);
            assert!(is_ordinary(&a) && is_ordinary(&b));
            for (level, kernels) in agreement::levels() {
                for sum in [kernels.squared_euclidean, kernels.manhattan, kernels.dot] {
                    let value = (sum.alone)(&a, &b);
                    assert!(value.is_normal(), "{level:?}: {value} for {component}");
                }
                let cosine = (kernels.dot.alone)(&a, &b) * inverse_norm(&a) * inverse_norm(&b);
                assert!(
                    (cosine + 1.0).abs() < 1e-3,
                    "{level:?}: {cosine} for {component}"
                );
            }
        }
    }
}
