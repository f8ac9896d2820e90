//! Computes distances in double precision, for the final order of results, and for all vectors that
//! single precision cannot rank ([`super::is_ordinary`] says which).
//!
//! The squares of all finite f32, subnormals included, lie well within f64 (from 2e-90 to 1e77),
//! so nothing here overflows or underflows. The order of the additions is fixed and the same at
//! every SIMD level: equal vectors have equal distances on every processor.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the processor feature"
)]

use crate::Metric;

/// A kernel of [`super::distance`]. The results of all levels are equal bit for bit.
pub type ExactKernel = fn(Metric, &[f32], &[f32]) -> f64;

/// The number of independent running sums, enough for the compiler to vectorize the loop.
const LANES: usize = 8;

/// Above this cosine, `1 - cos` has lost a digit to cancellation, and more of them the closer the
/// cosine is to 1. Then the distance is computed from the sine.
const NEARLY_PARALLEL: f64 = 0.9;

/// The computation of every level. A level with more lanes takes fewer steps.
#[inline(always)]
pub(super) fn scalar(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    match metric {
        Metric::Euclidean => sum(a, b, |x, y| (x - y) * (x - y)),
        Metric::Manhattan => sum(a, b, |x, y| (x - y).abs()),
        Metric::Hamming => sum(a, b, |x, y| f64::from(u8::from(x != y))),
        Metric::Cosine => one_minus_cosine(a, b),
    }
}

/// [`scalar`], compiled for four lanes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn avx2(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    scalar(metric, a, b)
}

/// [`scalar`], compiled for eight lanes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
pub(super) fn avx512(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    scalar(metric, a, b)
}

/// The L2 norm of a vector.
pub(super) fn norm(vector: &[f32]) -> f64 {
    sum(vector, vector, |x, y| x * y).sqrt()
}

/// `1 - cos`; 1 if either vector is zero.
#[inline(always)]
fn one_minus_cosine(a: &[f32], b: &[f32]) -> f64 {
    let [ab, aa, bb] = sums(a, b, |x, y| [x * y, x * x, y * y]);
    if aa == 0.0 || bb == 0.0 {
        return 1.0;
    }
    // For vectors of whole numbers only the last steps round, so that parallel vectors have equal
    // distances.
    let cosine = (ab * ab / (aa * bb)).sqrt().copysign(ab);
    if cosine < NEARLY_PARALLEL {
        return 1.0 - cosine;
    }
    // The rejection of a from b (the part of a that is orthogonal to b), times |b|², has the length
    // |a| |b|² sin. And 1 - cos = sin² / (1 + cos). The sine keeps the order of the smallest
    // angles, and is 0 for parallel vectors.
    let squares = sum(a, b, |x, y| (x * bb - y * ab) * (x * bb - y * ab));
    squares / (aa * bb * bb) / (1.0 + cosine)
}

#[inline(always)]
fn sum(a: &[f32], b: &[f32], term: impl Fn(f64, f64) -> f64) -> f64 {
    let [sum] = sums(a, b, |x, y| [term(x, y)]);
    sum
}

/// Adds up `terms(a, b)`: position `i` in lane `i % LANES`, and the lanes in pairs at the end.
#[inline(always)]
fn sums<const N: usize>(a: &[f32], b: &[f32], terms: impl Fn(f64, f64) -> [f64; N]) -> [f64; N] {
    debug_assert_eq!(a.len(), b.len(), "vectors of different dimensions");
    let length = a.len().min(b.len());
    let (steps_a, tail_a) = a[..length].as_chunks::<LANES>();
    let (steps_b, tail_b) = b[..length].as_chunks::<LANES>();

    let mut lanes = [[0.0; LANES]; N];
    for (x, y) in steps_a.iter().zip(steps_b) {
        for lane in 0..LANES {
            let terms = terms(f64::from(x[lane]), f64::from(y[lane]));
            for (lanes, term) in lanes.iter_mut().zip(terms) {
                lanes[lane] += term;
            }
        }
    }
    for (lane, (&x, &y)) in tail_a.iter().zip(tail_b).enumerate() {
        let terms = terms(f64::from(x), f64::from(y));
        for (lanes, term) in lanes.iter_mut().zip(terms) {
            lanes[lane] += term;
        }
    }
    lanes.map(|[s0, s1, s2, s3, s4, s5, s6, s7]| ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7)))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::vectors::kernels::{Kernels, Level, distance};

    /// Two vectors of one length, of any finite values.
    fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        let value = prop_oneof![
            -1.0..1.0f32,
            any::<u32>()
                .prop_map(f32::from_bits)
                .prop_filter("finite", |value| value.is_finite()),
        ];
        (1..=130usize)
            .prop_flat_map(move |length| (vec(value.clone(), length), vec(value.clone(), length)))
    }

    fn naive(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
        let pairs = || a.iter().zip(b).map(|(&x, &y)| (f64::from(x), f64::from(y)));
        match metric {
            Metric::Euclidean => pairs().map(|(x, y)| (x - y).powi(2)).sum(),
            Metric::Manhattan => pairs().map(|(x, y)| (x - y).abs()).sum(),
            Metric::Hamming => pairs().filter(|(x, y)| x != y).count() as f64,
            Metric::Cosine => {
                let norm = |v: &[f32]| v.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
                let (norm_a, norm_b) = (norm(a), norm(b));
                if norm_a == 0.0 || norm_b == 0.0 {
                    return 1.0;
                }
                1.0 - pairs()
                    .map(|(x, y)| (x / norm_a) * (y / norm_b))
                    .sum::<f64>()
            }
        }
    }

    proptest! {
        #[test]
        fn every_metric_agrees_with_the_naive_loop((a, b) in pair()) {
            for metric in Metric::ALL {
                let (found, expected) = (distance(metric, &a, &b), naive(metric, &a, &b));
                let scale = if metric == Metric::Cosine { 1.0 } else { expected };
                prop_assert!((found - expected).abs() <= 1e-13 * scale, "{metric:?}: {found}");
            }
        }

        #[test]
        fn every_level_gives_the_same_to_the_last_bit((a, b) in pair()) {
            for level in Level::WIDEST_FIRST {
                let Some(kernels) = Kernels::of(level) else { continue };
                for metric in Metric::ALL {
                    let found = (kernels.exact)(metric, &a, &b);
                    let expected = scalar(metric, &a, &b);
                    prop_assert_eq!(found.to_bits(), expected.to_bits(), "{:?}", level);
                }
            }
        }

        #[test]
        fn distances_are_symmetric((a, b) in pair()) {
            for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Hamming] {
                prop_assert_eq!(distance(metric, &a, &b), distance(metric, &b, &a));
            }
            let there = distance(Metric::Cosine, &a, &b);
            prop_assert!((there - distance(Metric::Cosine, &b, &a)).abs() <= 1e-15);
        }

        #[test]
        fn a_vector_is_at_distance_zero_from_itself((a, _) in pair()) {
            prop_assume!(norm(&a) > 0.0);
            for metric in Metric::ALL {
                prop_assert_eq!(distance(metric, &a, &a), 0.0);
            }
        }
    }

    #[test]
    fn large_odd_dimensions_are_summed_to_the_last_position() {
        for length in [383, 1000, 4096, 65_535, 65_536] {
            let (a, b) = (vec![1.0; length], vec![-2.0; length]);
            let rank = |metric| distance(metric, &a, &b);
            assert_eq!(rank(Metric::Euclidean), 9.0 * length as f64);
            assert_eq!(rank(Metric::Manhattan), 3.0 * length as f64);
            assert_eq!(rank(Metric::Hamming), length as f64);
            assert_eq!(rank(Metric::Cosine), 2.0);
        }
    }

    #[test]
    fn a_zero_vector_is_at_cosine_distance_one_from_everything() {
        let zero = [0.0, -0.0];
        for other in [[1.0, 2.0], [1e-45, 0.0], [f32::MAX, f32::MAX], [0.0, 0.0]] {
            assert_eq!(distance(Metric::Cosine, &zero, &other), 1.0);
            assert_eq!(distance(Metric::Cosine, &other, &zero), 1.0);
        }
    }

    #[test]
    fn zero_and_negative_zero_are_the_same_value() {
        for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Hamming] {
            assert_eq!(
                distance(metric, &[0.0, 1.0], &[-0.0, 1.0]),
                0.0,
                "{metric:?}"
            );
        }
    }

    #[test]
    fn subnormal_vectors_keep_their_distances() {
        let step = f64::from(f32::from_bits(1));
        let [a, b] = [[1, 3], [2, 3]].map(|bits| bits.map(f32::from_bits));
        assert_eq!(distance(Metric::Euclidean, &a, &b), step * step);
        assert_eq!(distance(Metric::Manhattan, &a, &b), step);
        assert_eq!(distance(Metric::Hamming, &a, &b), 1.0);
        let cosine: f64 = 11.0 / (10.0f64 * 13.0).sqrt();
        assert!((distance(Metric::Cosine, &a, &b) - (1.0 - cosine)).abs() < 1e-15);
    }

    #[test]
    fn the_largest_vectors_neither_overflow_nor_lose_their_angle() {
        // The largest power of two: its sums are exact.
        let large = 2.0_f32.powi(127);
        let (a, b) = (vec![large; 65_536], vec![-large; 65_536]);
        assert_eq!(distance(Metric::Euclidean, &a, &b), 2.0_f64.powi(16 + 256));
        assert_eq!(distance(Metric::Manhattan, &a, &b), 2.0_f64.powi(16 + 128));
        assert_eq!(distance(Metric::Cosine, &a, &b), 2.0);
        assert_eq!(distance(Metric::Cosine, &a, &a), 0.0);
        assert_eq!(distance(Metric::Cosine, &a, &vec![1e-45; 65_536]), 0.0);

        let largest = vec![f32::MAX; 65_536];
        for metric in Metric::ALL {
            let rank = distance(metric, &largest, &b);
            assert!(rank.is_finite() && rank > 0.0, "{metric:?}: {rank}");
        }
        assert_eq!(distance(Metric::Cosine, &largest, &largest), 0.0);
    }

    #[test]
    fn scaled_copies_of_a_point_tie_under_cosine() {
        let query = [1.0, 3.0, -2.0];
        let point = [2.0, 1.0, 5.0];
        let rank = |scale: f32| distance(Metric::Cosine, &query, &point.map(|x| x * scale));
        for scale in [2.0, 3.0, 7.0, 10.0] {
            assert_eq!(rank(scale), rank(1.0), "{scale} times the point");
            let scaled_query = query.map(|x| x * scale);
            assert_eq!(distance(Metric::Cosine, &query, &scaled_query), 0.0);
        }
    }

    #[test]
    fn angles_too_small_for_one_minus_cosine_keep_their_order() {
        let ranks = [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.4, 0.5, 0.6]
            .map(|tilt| distance(Metric::Cosine, &[1.0, 0.0], &[1.0, tilt]));
        assert!(ranks.is_sorted_by(|near, far| near < far), "{ranks:?}");
        assert!(
            (ranks[1] / 0.5e-30 - 1.0).abs() < 1e-6,
            "1 - cos of 1e-15 is half its square"
        );
    }
}
