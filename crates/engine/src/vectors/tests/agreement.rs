//! Test support: compares the kernels of every level of this processor with the scalar reference.
#![allow(clippy::float_cmp, reason = "sums that are not rounded are equal")]

use proptest::{collection::vec, prelude::*};

use crate::vectors::kernels::{Kernels, Level, Sum};

/// The kernels of every level that this processor can run.
pub fn levels() -> impl Iterator<Item = (Level, &'static Kernels)> {
    let available = |level| Kernels::of(level).map(|kernels| (level, kernels));
    Level::WIDEST_FIRST.into_iter().filter_map(available)
}

/// Two vectors of one length, of values of both signs and many magnitudes.
pub fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    let length = prop_oneof![0..=130usize, Just(383), Just(1000), Just(4096)];
    let value = prop_oneof![
        -1.0..1.0f32,
        -1e6..1e6f32,
        -1e-6..1e-6f32,
        Just(0.0),
        Just(-0.0)
    ];
    length.prop_flat_map(move |length| (vec(value.clone(), length), vec(value.clone(), length)))
}

/// Checks that every level is within the error bound of rounding: whatever the order of the
/// additions, each term of a sum of n is rounded at most n + 2 times, by half of `f32::EPSILON`, in
/// both variants. `terms` is the sum of their magnitudes.
pub fn agree(sum: fn(&Kernels) -> Sum, a: &[f32], b: &[f32], terms: f64) {
    let expected = f64::from((sum(scalar()).alone)(a, b));
    let tolerance = (a.len() + 2) as f64 * f64::from(f32::EPSILON) * terms;
    for (level, kernels) in levels() {
        let found = f64::from((sum(kernels).alone)(a, b));
        let error = (found - expected).abs();
        assert!(
            error <= tolerance,
            "{level:?}, {} values: {found}, not {expected}",
            a.len()
        );
    }
}

/// Checks that all levels are equal on small whole numbers: their sums are never rounded, so that a
/// position that is left out or counted twice shows at any length.
pub fn agree_exactly_on_whole_numbers(sum: fn(&Kernels) -> Sum) {
    const UNEVEN_AND_LARGE: [usize; 8] = [191, 255, 383, 1000, 1537, 4096, 65_535, 65_536];
    const OFFSETS: usize = 17;
    let a = whole_numbers(65_536 + OFFSETS, 0x9e37_79b9);
    let b = whole_numbers(65_536 + OFFSETS, 0x85eb_ca6b);
    for length in (0..=130).chain(UNEVEN_AND_LARGE) {
        for offset in [0, 1, 3, 7, 8, 13, OFFSETS] {
            let (a, b) = (
                &a[offset..offset + length],
                &b[OFFSETS - offset..][..length],
            );
            let expected = (sum(scalar()).alone)(a, b);
            for (level, kernels) in levels() {
                let found = (sum(kernels).alone)(a, b);
                assert_eq!(found, expected, "{level:?}, {length} values from {offset}");
            }
        }
    }
}

/// Checks that the prefetching kernel of every level equals its plain kernel bit for bit, whatever
/// is prefetched.
pub fn fetching_is_as_alone(sum: fn(&Kernels) -> Sum) {
    for length in lengths() {
        let [a, b, next] = [1, 2, 3].map(|seed| fractions(length, seed));
        for (level, kernels) in levels() {
            let expected = (sum(kernels).alone)(&a, &b).to_bits();
            for next in [&*next, &b, &[]] {
                let found = (sum(kernels).fetching)(&a, &b, next).to_bits();
                assert_eq!(found, expected, "{level:?}, {length} values");
            }
        }
    }
}

/// Checks that the kernel of four of every level equals its plain kernel bit for bit, in each of
/// the four places.
pub fn four_are_as_one(sum: fn(&Kernels) -> Sum) {
    for length in lengths() {
        let [a, b @ ..] = [1, 2, 3, 4, 5].map(|seed| fractions(length, seed));
        let b = [&*b[0], &*b[1], &*b[2], &*b[3]];
        for (level, kernels) in levels() {
            let expected = b.map(|b| (sum(kernels).alone)(&a, b).to_bits());
            let found = (sum(kernels).of_four)(&a, &b).map(f32::to_bits);
            assert_eq!(found, expected, "{level:?}, {length} values");
        }
    }
}

/// Checks that 0 and -0 count as equal, in whole steps and in the tail.
pub fn equal_on_zeros_of_either_sign(sum: fn(&Kernels) -> Sum) {
    for length in [1, 3, 15, 17, 64, 127, 129] {
        let (plus, minus) = (vec![0.0; length], vec![-0.0; length]);
        for (level, kernels) in levels() {
            assert_eq!(
                (sum(kernels).alone)(&plus, &minus),
                0.0,
                "{level:?}, {length} values"
            );
        }
    }
}

/// Lengths below, at and above each width of a step, and some longer ones.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=130).chain([191, 384, 1000, 1537])
}

/// Values whose sums are rounded, so that a different order of additions shows.
fn fractions(length: usize, seed: u32) -> Vec<f32> {
    let whole = whole_numbers(length, seed);
    whole.iter().map(|x| x / 7.0 + 1e-3).collect()
}

fn scalar() -> &'static Kernels {
    Kernels::of(Level::Scalar).unwrap()
}

/// Whole numbers from -7 to 7: 65,536 squared differences of them add up to less than 2²⁴.
fn whole_numbers(length: usize, seed: u32) -> Vec<f32> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(seed), next)
        .map(|state| ((state >> 16) % 15) as f32 - 7.0)
        .take(length)
        .collect()
}
