//! Coarse codes: vectors quantized to 4 bits a value, by which walks of a graph rank first.
//!
//! A walk ranks hundreds of points and returns ten. What bounds its speed is how many cache lines it
//! reads: at 128 dimensions the coarse code of a point is one line. So a walk goes by coarse codes, and
//! the few closest candidates are ranked again by whole codes, and then by vectors.
//!
//! A coarse code is the upper half of a [code](crate::vectors::quantize). With `w` the differences of
//! the vector from its mean (see there), `h` the upper 4 bits of its values and `h̄` their mean, it is
//! decoded as `ŵ = step * (h - h̄)`. The step is that with which `ŵ` comes closest to `w`. The query is
//! not decoded from 4 bits: it has its own differences `q` from its mean, in 8 bits, whose sum is 0, so
//! that `h̄` takes no part in `ŵ · q`.
//!
//! The estimate of `|w - q|²` is `2 w · ŵ - |w|² + |q|² - 2 ŵ · q`. It is exact for `q = w`, and for
//! other queries it is off by `2 (q - w) · (w - ŵ)`: the error shrinks with the distance, and has the
//! mean 0 if the direction to the query has nothing to do with the rounding.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the instruction set"
)]

use std::sync::atomic::AtomicU64;

use crate::{
    Metric,
    sync::table::{Rows, indexes_of},
    vectors::{
        kernels::{self, ABREAST, Computation, LANES, Simd, nearest, range},
        margin::Margin,
        neighbor::Neighbor,
        outline::{Outline, Parts, inverse_norm},
        quantize::Codes,
    },
};

/// The greatest value of a query.
const TOP: f32 = 127.0;

/// A query as coarse codes are ranked against it. Its memory is used again for the next query.
#[derive(Debug, Default)]
pub struct CoarseQuery(Vec<i8>);

/// Ranks stored points by their coarse codes, against a query.
#[derive(Clone, Copy, Debug)]
pub struct ByCoarse<'a> {
    codes: &'a Codes,
    metric: Metric,
    /// `q`, in units of `scale`.
    values: &'a [i8],
    scale: f32,
    /// `|q|²`.
    spread: f32,
    /// The mean of the query times `√n`.
    mean: f32,
    inverse_norm: f32,
}

impl<'a> ByCoarse<'a> {
    /// Prepares to rank points against the query `vector`, `[dimension]`.
    #[must_use]
    pub fn new(
        codes: &'a Codes,
        metric: Metric,
        vector: &[f32],
        query: &'a mut CoarseQuery,
    ) -> Self {
        let values = &mut query.0;
        values.clear();
        values.resize(codes.values(), 0);
        let Quantized {
            mean,
            spread,
            scale,
            sum,
        } = kernels::compute(Quantization {
            vector,
            values: &mut values[..vector.len()],
        });
        balance(&mut values[..vector.len()], sum);
        let mean = mean * (vector.len() as f32).sqrt();
        ByCoarse {
            codes,
            metric,
            values,
            scale,
            spread,
            mean,
            inverse_norm: inverse_norm(spread, mean),
        }
    }

    /// Prefetches the coarse codes in these slots, which will be ranked soon.
    #[inline(always)]
    pub fn prefetch(&self, slots: impl Iterator<Item = u32>) {
        let halves = self.codes.upper_halves();
        for slot in slots {
            kernels::prefetch(halves.row(slot));
        }
    }

    /// The rank of the point in `slot`: an estimate of the squared L2 distance or of `1 - cos`. It may
    /// be less than 0.
    #[inline]
    #[must_use]
    pub fn rank(&self, slot: u32) -> f32 {
        let mut alone = [Neighbor::unranked(slot)];
        self.rank_all(&mut alone);
        alone[0].rank
    }

    /// Sets the rank of each neighbour.
    #[inline]
    pub fn rank_all(&self, neighbors: &mut [Neighbor]) {
        let ranks = *self;
        kernels::compute(RankAll { ranks, neighbors });
    }

    /// Leaves those of the first `count` points in `slots` in `near` whose ranks are at most `reach`, in
    /// order. A part of a [`Computation`]. Writes to the places in `slots` behind them.
    #[inline(always)]
    pub fn rank_within<S: Simd>(
        &self,
        simd: S,
        slots: &mut Vec<u32>,
        count: usize,
        reach: f32,
        near: &mut Vec<Neighbor>,
    ) {
        near.clear();
        near.reserve(count);
        if slots.len() < count + ABREAST {
            slots.resize(count + ABREAST, 0);
        }
        // The first point stands for missing ones. A fixed number is written by one instruction.
        let filler = [slots[0]; ABREAST];
        slots[count..count + ABREAST].copy_from_slice(&filler);
        let halves = self.codes.upper_halves();
        let mut left = count;
        for some in slots[..count.next_multiple_of(ABREAST)].as_chunks().0 {
            let ranks = self.ranks_of(simd, halves, some);
            let given = u64::MAX >> (u64::BITS - left.min(ABREAST) as u32);
            for place in indexes_of(0, simd.at_most(ranks, reach) & given) {
                let place = place as usize % ABREAST;
                near.push(Neighbor {
                    rank: ranks[place],
                    slot: some[place],
                });
            }
            left = left.saturating_sub(ABREAST);
        }
    }

    /// The ranks of some points.
    #[inline(always)]
    fn ranks_of<S: Simd>(
        &self,
        simd: S,
        halves: Rows<AtomicU64>,
        slots: &[u32; ABREAST],
    ) -> [f32; ABREAST] {
        let codes = halves.group(slots);
        let products = simd.coarse_products(self.values, &codes);
        let mut outlines = [0; ABREAST];
        for (place, outline) in outlines.iter_mut().enumerate() {
            *outline = Outline::behind(codes.row(place)).0;
        }
        let [upper, lower] = simd.halves(outlines);
        // The loops go over whole arrays, so that the compiler computes all ranks at once.
        let mut parts = [Parts::default(); ABREAST];
        for place in 0..ABREAST {
            parts[place] = Parts::of([upper[place], lower[place]]);
        }
        let mut ranks = [0.0; ABREAST];
        if self.metric == Metric::Cosine {
            for place in 0..ABREAST {
                ranks[place] = self.cosine(parts[place], products[place]);
            }
        } else {
            for place in 0..ABREAST {
                ranks[place] = self.euclidean(parts[place], products[place]);
            }
        }
        ranks
    }

    /// How far ranks may be off, if coarse codes have the step of that in `slot`. The mean of the
    /// error is 0.
    #[must_use]
    pub fn margin(&self, slot: u32) -> Margin {
        let parts = Outline::behind(self.codes.upper_half(slot)).parts();
        let mut step = parts.step;
        if self.metric == Metric::Cosine {
            // Ranks are half the squared distances between vectors of length 1.
            step *= parts.inverse_norm() * f32::sqrt(0.5);
        }
        Margin::of_steps(&[step], 0)
    }

    #[inline(always)]
    fn euclidean(&self, parts: Parts, product: i32) -> f32 {
        let means = parts.mean - self.mean;
        let own = parts.spread * (1.0 - 2.0 * parts.shortfall);
        own + self.spread - 2.0 * self.inner(parts, product) + means * means
    }

    #[inline(always)]
    fn cosine(&self, parts: Parts, product: i32) -> f32 {
        let inner = self.inner(parts, product) + parts.mean * self.mean;
        let inverse_norm = parts.inverse_norm();
        // What `ŵ · q` lacks of `w · q`, if the query has the direction of the vector.
        let lacking = parts.spread * parts.shortfall * inverse_norm * inverse_norm;
        1.0 - inner * inverse_norm * self.inverse_norm - lacking
    }

    /// `ŵ · q`.
    #[inline(always)]
    fn inner(&self, parts: Parts, product: i32) -> f32 {
        parts.step * self.scale * product as f32
    }
}

/// Ranks points one after the other.
struct RankAll<'r, 'c> {
    ranks: ByCoarse<'c>,
    neighbors: &'r mut [Neighbor],
}

impl Computation for RankAll<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn compute<S: Simd>(self, simd: S) {
        let halves = self.ranks.codes.upper_halves();
        for some in self.neighbors.chunks_mut(ABREAST) {
            let mut slots = [some[0].slot; ABREAST];
            for (slot, neighbor) in slots.iter_mut().zip(&*some) {
                *slot = neighbor.slot;
            }
            let ranks = self.ranks.ranks_of(simd, halves, &slots);
            for (neighbor, rank) in some.iter_mut().zip(ranks) {
                neighbor.rank = rank;
            }
        }
    }
}

/// Quantizes the differences of a vector from its mean into `values`, of equal length.
struct Quantization<'a> {
    vector: &'a [f32],
    values: &'a mut [i8],
}

/// What a [`Quantization`] finds.
struct Quantized {
    mean: f32,
    /// The sum of the squared differences.
    spread: f32,
    /// The width of a quantization step; 0 for a vector of one value.
    scale: f32,
    /// The sum of the quantized values.
    sum: i32,
}

impl Computation for Quantization<'_> {
    type Output = Quantized;

    #[inline(always)]
    #[allow(clippy::manual_clamp, reason = "a clamp would keep NaN")]
    fn compute<S: Simd>(self, _: S) -> Quantized {
        let Quantization { vector, values } = self;
        let mean = sum_of(vector, |value| value) / vector.len() as f32;
        let spread = sum_of(vector, |value| (value - mean) * (value - mean));
        let (lowest, highest) = range(vector);
        let scale = (highest - mean).max(mean - lowest) / TOP;
        let steps = if scale > 0.0 { scale.recip() } else { 0.0 };
        let mut sum = 0;
        for (place, &value) in values.iter_mut().zip(vector) {
            let rounded = nearest(((value - mean) * steps).max(-TOP).min(TOP));
            *place = rounded as i8;
            sum += rounded;
        }
        Quantized {
            mean,
            spread,
            scale,
            sum,
        }
    }
}

/// The sum of what `term` makes of each value, in several running sums, which the compiler adds to in
/// one instruction.
#[inline(always)]
fn sum_of(vector: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = vector.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += term(value);
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|&value| term(value)).sum::<f32>()
}

/// Makes the sum of the values 0, by moving as few of them as it takes by 1.
fn balance(values: &mut [i8], mut sum: i32) {
    let step = sum.signum();
    for value in values {
        if sum == 0 {
            return;
        }
        let moved = i32::from(*value) - step;
        if moved.abs() <= TOP as i32 {
            *value = moved as i8;
            sum -= step;
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "some ranks are exact")]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::vectors::kernels;

    /// The rank of `b` against `a`, which is the query.
    fn rank(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
        let codes = Codes::new(a.len());
        codes.store(0, b).unwrap();
        let mut query = CoarseQuery::default();
        let ranks = ByCoarse::new(&codes, metric, a, &mut query);
        let mut neighbors = [Neighbor::unranked(0); 2 * ABREAST + 3];
        ranks.rank_all(&mut neighbors);
        let alone = ranks.rank(0);
        let all = neighbors.iter().map(|one| one.rank.to_bits());
        assert!(all.clone().all(|rank| rank == alone.to_bits()));
        alone
    }

    /// How far the decoded vector may be from the vector: a value of a coarse code stands for 16
    /// values of a code.
    fn most_error(vector: &[f32]) -> f64 {
        let highest = vector.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let lowest = vector.iter().copied().fold(f32::INFINITY, f32::min);
        f64::from(highest - lowest) * (16.0 / 255.0) * (vector.len() as f64).sqrt()
    }

    fn norm(vector: &[f32]) -> f64 {
        vector.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt()
    }

    /// What the rounding of an outline and of a query adds to the error of a rank.
    fn rounding(a: &[f32], b: &[f32]) -> f64 {
        0.01 * (norm(a) + norm(b)).powi(2)
    }

    fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        let value = prop_oneof![-1.0..1.0_f32, 3.0..4.0_f32, Just(0.0)];
        (2..200_usize).prop_flat_map(move |n| (vec(value.clone(), n), vec(value.clone(), n)))
    }

    proptest! {
        #[test]
        fn a_euclidean_rank_is_off_by_the_distance_times_the_rounding((a, b) in pair()) {
            let found = f64::from(rank(Metric::Euclidean, &a, &b));
            let expected = kernels::distance(Metric::Euclidean, &a, &b);
            let error = 2.0 * expected.sqrt() * most_error(&b) + rounding(&a, &b);
            prop_assert!((found - expected).abs() <= error, "{found}, not {expected}");
        }

        #[test]
        fn a_cosine_rank_is_off_by_the_angle_times_the_rounding((a, b) in pair()) {
            prop_assume!(norm(&a) > 0.1 && norm(&b) > 0.1);
            let found = f64::from(rank(Metric::Cosine, &a, &b));
            let expected = kernels::distance(Metric::Cosine, &a, &b);
            let turned = 2.0 * (2.0 * expected).sqrt() * most_error(&b) / norm(&b);
            prop_assert!((found - expected).abs() <= turned + 0.02, "{found}, not {expected}");
        }

        #[test]
        fn a_vector_is_next_to_itself(a in vec(-1.0..1.0_f32, 40..200)) {
            let found = rank(Metric::Euclidean, &a, &a);
            prop_assert!(f64::from(found.abs()) <= 0.01 * norm(&a).powi(2), "{found}");
            let found = rank(Metric::Cosine, &a, &a);
            prop_assert!(found.abs() <= 0.01, "{found}");
        }

        #[test]
        fn a_query_is_balanced(values in vec(-127..=127_i8, 1..200)) {
            let mut balanced = values.clone();
            let sum = values.iter().map(|&value| i32::from(value)).sum();
            balance(&mut balanced, sum);
            let moved = values.iter().zip(&balanced);
            prop_assert!(moved.clone().all(|(a, b)| (i32::from(*a) - i32::from(*b)).abs() <= 1));
            // As far as values can be moved at all.
            let sum_now: i32 = balanced.iter().map(|&value| i32::from(value)).sum();
            prop_assert!(sum_now == 0 || moved.filter(|(a, b)| a == b).all(|(a, _)| a.abs() == 127));
        }
    }

    #[test]
    fn a_vector_of_one_value_is_coded_exactly() {
        assert_eq!(rank(Metric::Euclidean, &[1.5; 4], &[2.5; 4]), 4.0);
        assert_eq!(rank(Metric::Cosine, &[1.5; 4], &[2.5; 4]), 0.0);
    }

    #[test]
    fn a_vector_without_a_direction_is_at_cosine_distance_1() {
        let other: Vec<f32> = (0..40).map(|i| i as f32).collect();
        assert_eq!(rank(Metric::Cosine, &other, &[0.0; 40]), 1.0);
        let found = rank(Metric::Cosine, &[0.0; 40], &other);
        assert!((found - 1.0).abs() < 0.01, "{found}");
    }
}
