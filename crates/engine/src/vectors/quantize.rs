//! Codes: vectors quantized to 8 bits a value, by which walks of a graph rank.
//!
//! A code has a quarter of the size of its vector, and a processor multiplies four times as many
//! bytes as floats at once. Memory and arithmetic are what bounds the speed of walks. Each vector
//! has its own scale and offset (scalar quantization, as in Aguerrebere et al., 2023,
//! arXiv:2304.04759, who also subtract a learned mean). Nothing is learned, so drift of the data
//! makes no code worse, and the code of a vector does not depend on the time of its insert.
//!
//! A code is kept in two halves. The upper half has the upper 4 bits of each value: it is a
//! [coarse](crate::vectors::coarse) code by itself, half as large, by which a walk ranks first.
//!
//! A rank by code is computed between decoded vectors. A decoded vector has its mean `b / √n` at
//! every one of its `n` positions, and the differences `w` from the mean. So the squared distance
//! is `|w₁ - w₂|² + (b₁ - b₂)²`, which stays precise where the mean is large, and the error of
//! quantization depends on the distance of two vectors rather than on their lengths.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the instruction set"
)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{
    Metric, Result,
    sync::table::{Rows, Table},
    vectors::{
        kernels::{self, BLOCK, Computation, Halves, LANES, Simd, nearest, range},
        margin::Margin,
        neighbor::Neighbor,
        outline::{Outline, inverse_norm},
    },
};

/// The bytes in a word of a half.
const WORD: usize = size_of::<u64>();

/// The words that [`Encoding`] fills at a time.
const WORDS: usize = LANES / WORD;

/// The words of the [`Outline`] behind an upper half.
const OUTLINE_WORDS: usize = 1;

/// The words of the [`Shape`] behind a lower half: four numbers in single precision.
const SHAPE_WORDS: usize = 2;

/// The least dimension for which codes are kept. A vector of fewer fits a cache line or two itself.
const LEAST_DIMENSION: usize = 32;

/// The greatest value of a code. The least is 0.
const TOP: f32 = 255.0;

/// What [`Simd::code_products`] subtracts from each value of one operand.
const MIDDLE: f32 = 128.0;

/// The number of codes that [`ByCode::rank_all`] ranks together.
const TOGETHER: usize = 16;

/// The codes of the points of one store, by slot.
#[derive(Debug)]
pub struct Codes {
    dimension: usize,
    /// [`MIDDLE`] times the square root of the dimension.
    middle: f32,
    /// The upper halves, each with its [`Outline`] behind it.
    upper: Table<AtomicU64>,
    /// The lower halves, each with its [`Shape`] behind it.
    lower: Table<AtomicU64>,
}

/// The code of a query: what [`Codes`] holds of a point. Its memory is used again for the next
/// query.
#[derive(Debug, Default)]
pub struct Code {
    upper: Vec<AtomicU64>,
    lower: Vec<AtomicU64>,
}

/// Ranks stored points by their codes, against the code of a query or of a stored point.
#[derive(Clone, Copy, Debug)]
pub struct ByCode<'a> {
    codes: &'a Codes,
    metric: Metric,
    values: Halves<'a>,
    shape: Shape,
    /// What `sum` of the shape would be if each value were smaller by [`MIDDLE`].
    middle_sum: f32,
    inverse_norm: f32,
}

/// What a code says besides its values from 0 to 255. Each of the `n` values is decoded as
/// `lowest + scale * value`. Together they are `b / √n`, their mean, plus the differences `w`.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// The width of a quantization step; 0 for a vector of one value.
    scale: f32,
    /// `scale * Σ value / √n`.
    sum: f32,
    /// `|w|²`.
    spread: f32,
    /// `b`: the mean of the decoded vector times `√n`.
    mean: f32,
}

impl Codes {
    /// Has no codes yet. They will be of vectors of this dimension.
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        let words = half_words(dimension);
        Codes {
            dimension,
            middle: MIDDLE * (dimension as f32).sqrt(),
            upper: Table::new(words + OUTLINE_WORDS),
            lower: Table::new(words + SHAPE_WORDS),
        }
    }

    /// Whether codes of vectors of this dimension are so much smaller and faster than the vectors
    /// that they should be kept.
    #[must_use]
    pub fn pay(dimension: usize) -> bool {
        dimension >= LEAST_DIMENSION
    }

    /// Whether ranks under `metric` can be computed from codes.
    #[must_use]
    pub fn suit(metric: Metric) -> bool {
        matches!(metric, Metric::Euclidean | Metric::Cosine)
    }

    /// The bytes that the code of a vector of this dimension takes.
    #[cfg(any(test, feature = "layers"))]
    #[must_use]
    pub fn bytes(dimension: usize) -> usize {
        (2 * half_words(dimension) + OUTLINE_WORDS + SHAPE_WORDS) * WORD
    }

    /// Reserves memory for the codes of the slots below `slots`.
    pub fn reserve(&self, slots: usize) -> Result<()> {
        self.upper.ensure(slots)?;
        self.lower.ensure(slots)
    }

    /// Stores the code of the vector in `slot`. One thread at a time calls this, before any other
    /// can know the slot.
    pub fn store(&self, slot: u32, vector: &[f32]) -> Result<()> {
        self.reserve(slot as usize + 1)?;
        encode(vector, self.upper.row(slot), self.lower.row(slot));
        Ok(())
    }

    /// Makes `code` the code of a query.
    pub fn encode(&self, vector: &[f32], code: &mut Code) {
        let words = half_words(self.dimension);
        code.upper
            .resize_with(words + OUTLINE_WORDS, AtomicU64::default);
        code.lower
            .resize_with(words + SHAPE_WORDS, AtomicU64::default);
        encode(vector, &code.upper, &code.lower);
    }

    /// Prepares to rank points against a query, given its code.
    #[must_use]
    pub fn by_code<'a>(&'a self, metric: Metric, code: &'a Code) -> ByCode<'a> {
        self.prepare(metric, &code.upper, &code.lower)
    }

    /// Prepares to rank points against the point in `slot`.
    #[inline]
    #[must_use]
    pub fn by_slot(&self, metric: Metric, slot: u32) -> ByCode<'_> {
        self.prepare(metric, self.upper.row(slot), self.lower.row(slot))
    }

    #[inline]
    fn prepare<'a>(
        &'a self,
        metric: Metric,
        upper: &'a [AtomicU64],
        lower: &'a [AtomicU64],
    ) -> ByCode<'a> {
        let shape = Shape::of(lower);
        let upper = &upper[..half_words(self.dimension)];
        ByCode {
            codes: self,
            metric,
            values: Halves { upper, lower },
            shape,
            middle_sum: shape.sum - self.middle * shape.scale,
            inverse_norm: shape.inverse_norm(),
        }
    }

    /// Both halves of the code in `slot`.
    #[inline]
    fn halves(&self, slot: u32) -> Halves<'_> {
        Halves {
            upper: self.upper.row(slot),
            lower: self.lower.row(slot),
        }
    }

    /// The upper half of the code in `slot`, with its [`Outline`] behind it.
    #[inline]
    pub(super) fn upper_half(&self, slot: u32) -> &[AtomicU64] {
        self.upper.row(slot)
    }

    /// All upper halves, each with its [`Outline`] behind it.
    #[inline]
    pub(super) fn upper_halves(&self) -> Rows<'_, AtomicU64> {
        self.upper.rows()
    }

    /// The number of values in a half, twice: those of the vector, filled up with zeros.
    pub(super) fn values(&self) -> usize {
        2 * half_words(self.dimension) * WORD
    }
}

impl ByCode<'_> {
    /// Prefetches the code in `slot`, which will be ranked soon.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        let Halves { upper, lower } = self.codes.halves(slot);
        kernels::prefetch(upper);
        kernels::prefetch(lower);
    }

    /// The rank of the point in `slot`: the squared L2 distance or `1 - cos` of the decoded
    /// vectors. Rounding may make it a little less than 0.
    #[inline]
    #[must_use]
    pub fn rank(&self, slot: u32) -> f32 {
        kernels::compute(RankOne { ranks: *self, slot })
    }

    /// How far ranks may be off, if codes have the quantization steps of the code in `slot`.
    #[must_use]
    pub fn margin(&self, slot: u32) -> Margin {
        let shape = Shape::of(self.codes.lower.row(slot));
        let mut steps = [self.shape.scale, shape.scale];
        if self.metric == Metric::Cosine {
            // Ranks are half the squared distances between vectors of length 1.
            steps[0] *= self.inverse_norm * f32::sqrt(0.5);
            steps[1] *= shape.inverse_norm() * f32::sqrt(0.5);
        }
        Margin::of_steps(&steps, self.codes.dimension)
    }

    /// Sets the rank of each neighbour, bit for bit as [`ByCode::rank`] gives it.
    #[inline]
    pub fn rank_all(&self, neighbors: &mut [Neighbor]) {
        let ranks = *self;
        kernels::compute(RankAll { ranks, neighbors });
    }

    #[inline(always)]
    fn cosine(&self, shape: Shape, product: i32) -> f32 {
        let inner = self.inner(shape, product) + shape.mean * self.shape.mean;
        1.0 - inner * shape.inverse_norm() * self.inverse_norm
    }

    #[inline(always)]
    fn euclidean(&self, shape: Shape, product: i32) -> f32 {
        let means = shape.mean - self.shape.mean;
        shape.spread + self.shape.spread - 2.0 * self.inner(shape, product) + means * means
    }

    /// `w₁ · w₂`, from the product that [`Simd::code_products`] gives.
    #[inline(always)]
    fn inner(&self, shape: Shape, product: i32) -> f32 {
        shape.scale * self.shape.scale * product as f32 - shape.sum * self.middle_sum
    }
}

/// Ranks one point.
struct RankOne<'c> {
    ranks: ByCode<'c>,
    slot: u32,
}

impl Computation for RankOne<'_> {
    type Output = f32;

    #[inline(always)]
    fn compute<S: Simd>(self, simd: S) -> f32 {
        let RankOne { ranks, slot } = self;
        let halves = ranks.codes.halves(slot);
        let mut product = [0];
        simd.code_products(ranks.values, &[halves], &mut product);
        if ranks.metric == Metric::Cosine {
            ranks.cosine(Shape::of(halves.lower), product[0])
        } else {
            ranks.euclidean(Shape::of(halves.lower), product[0])
        }
    }
}

/// Ranks points, some of them together.
struct RankAll<'r, 'c> {
    ranks: ByCode<'c>,
    neighbors: &'r mut [Neighbor],
}

impl Computation for RankAll<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn compute<S: Simd>(self, simd: S) {
        let ranks_of = self.ranks;
        for some in self.neighbors.chunks_mut(TOGETHER) {
            let mut halves = [Halves::NONE; TOGETHER];
            for (halves, neighbor) in halves.iter_mut().zip(&*some) {
                *halves = ranks_of.codes.halves(neighbor.slot);
            }
            let halves = &halves[..some.len()];
            let mut products = [0; TOGETHER];
            simd.code_products(ranks_of.values, halves, &mut products);
            let mut shapes = [Shape::default(); TOGETHER];
            for (shape, halves) in shapes.iter_mut().zip(halves) {
                *shape = Shape::of(halves.lower);
            }
            // The loops go over whole arrays, so that the compiler computes several ranks in one
            // instruction.
            let mut ranks = [0.0; TOGETHER];
            if ranks_of.metric == Metric::Cosine {
                for index in 0..TOGETHER {
                    ranks[index] = ranks_of.cosine(shapes[index], products[index]);
                }
            } else {
                for index in 0..TOGETHER {
                    ranks[index] = ranks_of.euclidean(shapes[index], products[index]);
                }
            }
            for (neighbor, rank) in some.iter_mut().zip(ranks) {
                neighbor.rank = rank;
            }
        }
    }
}

impl Shape {
    /// Reads the shape behind a lower half.
    #[inline]
    fn of(lower: &[AtomicU64]) -> Shape {
        let [low, high] = lower.last_chunk().expect("a row ends with its shape");
        let pair = |word: &AtomicU64| {
            let word = word.load(Relaxed);
            [word as u32, (word >> 32) as u32].map(f32::from_bits)
        };
        let ([scale, sum], [spread, mean]) = (pair(low), pair(high));
        Shape {
            scale,
            sum,
            spread,
            mean,
        }
    }

    /// `1 / |v|` of the decoded vector.
    #[inline]
    fn inverse_norm(self) -> f32 {
        inverse_norm(self.spread, self.mean)
    }
}

/// The words of a half, filled up with zeros.
fn half_words(dimension: usize) -> usize {
    dimension.div_ceil(2).next_multiple_of(BLOCK) / WORD
}

/// Writes the code of a vector into both halves, the outline behind the upper one and the shape behind
/// the lower one.
fn encode(vector: &[f32], upper: &[AtomicU64], lower: &[AtomicU64]) {
    kernels::compute(Encoding {
        vector,
        upper,
        lower,
    });
}

struct Encoding<'a> {
    vector: &'a [f32],
    upper: &'a [AtomicU64],
    lower: &'a [AtomicU64],
}

impl Computation for Encoding<'_> {
    type Output = ();

    #[inline(always)]
    fn compute<S: Simd>(self, _: S) {
        let Encoding {
            vector,
            upper,
            lower,
        } = self;
        let (upper, outline) = upper.split_at(upper.len() - OUTLINE_WORDS);
        let (lowest, highest) = range(vector);
        let scale = (highest - lowest) / TOP;
        let steps = if scale > 0.0 { scale.recip() } else { 0.0 };

        let (first, second) = vector.split_at(vector.len().min(upper.len() * WORD));
        let rows = (upper.as_chunks::<WORDS>().0.iter()).zip(lower.as_chunks::<WORDS>().0);
        let mut sums = Sums::default();
        for (index, (upper, lower)) in rows.enumerate() {
            let first = quantize(some_of(first, index, lowest), lowest, steps);
            let second = quantize(some_of(second, index, lowest), lowest, steps);
            sums.add(first);
            sums.add(second);
            let mut bytes = [[0; LANES]; 2];
            for lane in 0..LANES {
                let (first, second) = (first[lane], second[lane]);
                bytes[0][lane] = (first >> 4 | second & !15) as u8;
                bytes[1][lane] = (first & 15 | second << 4) as u8;
            }
            store(upper, bytes[0]);
            store(lower, bytes[1]);
        }

        let n = vector.len() as f64;
        let [sum, squares] = [total(sums.values), total(sums.squares)];
        let scale = f64::from(scale);
        let shape = [
            scale,
            scale * sum / n.sqrt(),
            scale * scale * (squares - sum * sum / n),
            (f64::from(lowest) + scale * sum / n) * n.sqrt(),
        ];
        let words = &lower[lower.len() - SHAPE_WORDS..];
        for (word, pair) in words.iter().zip(shape.as_chunks::<2>().0) {
            let [low, high] = pair.map(|part| u64::from((part as f32).to_bits()));
            word.store(low | high << 32, Relaxed);
        }
        let [_, _, spread, mean] = shape;
        let upper_sum = total(sums.upper);
        let own = Outline::new(
            scale,
            spread,
            mean,
            total(sums.upper_squares) - upper_sum * upper_sum / n,
            total(sums.products) - upper_sum * sum / n,
        );
        own.store(&outline[0]);
    }
}

/// The values from `index * LANES` on. What is missing becomes `lowest`, whose code is 0.
#[inline(always)]
fn some_of(vector: &[f32], index: usize, lowest: f32) -> [f32; LANES] {
    let rest = vector.get(index * LANES..).unwrap_or_default();
    if let Some(some) = rest.first_chunk() {
        return *some;
    }
    let mut some = [lowest; LANES];
    some[..rest.len()].copy_from_slice(rest);
    some
}

/// The codes of some values, from 0 to 255.
#[inline(always)]
#[allow(clippy::cast_sign_loss, reason = "no code is negative")]
#[allow(clippy::manual_clamp, reason = "a clamp would keep NaN")]
fn quantize(some: [f32; LANES], lowest: f32, steps: f32) -> [u32; LANES] {
    let mut values = [0; LANES];
    for lane in 0..LANES {
        let step = (some[lane] - lowest) * steps;
        // This order makes NaN 0.
        values[lane] = nearest(step.max(0.0).min(TOP)) as u32;
    }
    values
}

/// Stores bytes in words.
#[inline(always)]
fn store(words: &[AtomicU64; WORDS], bytes: [u8; LANES]) {
    for (word, &bytes) in words.iter().zip(bytes.as_chunks().0) {
        word.store(u64::from_ne_bytes(bytes), Relaxed);
    }
}

/// Sums over the values of a code, each spread over several running sums, so that the compiler adds
/// several values in one instruction. None overflows at 65,536 values.
#[derive(Default)]
struct Sums {
    values: [u32; LANES],
    squares: [u32; LANES],
    /// Of the upper 4 bits.
    upper: [u32; LANES],
    upper_squares: [u32; LANES],
    /// Of each value with its own upper 4 bits.
    products: [u32; LANES],
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, values: [u32; LANES]) {
        for (index, value) in values.into_iter().enumerate() {
            let upper = value >> 4;
            self.values[index] += value;
            self.squares[index] += value * value;
            self.upper[index] += upper;
            self.upper_squares[index] += upper * upper;
            self.products[index] += value * upper;
        }
    }
}

#[inline(always)]
fn total(sums: [u32; LANES]) -> f64 {
    sums.into_iter().map(u64::from).sum::<u64>() as f64
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "vectors of one value are coded exactly")]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::vectors::kernels;

    /// The rank of `b` against `a`, which is the query.
    fn rank(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
        let codes = Codes::new(a.len());
        codes.store(0, b).unwrap();
        let mut code = Code::default();
        codes.encode(a, &mut code);
        let by_code = codes.by_code(metric, &code);
        let mut neighbors = [Neighbor { rank: 0.0, slot: 0 }; 40];
        by_code.rank_all(&mut neighbors);
        let alone = by_code.rank(0);
        assert!(
            neighbors
                .iter()
                .all(|one| one.rank.to_bits() == alone.to_bits())
        );
        codes.store(1, a).unwrap();
        let stored = codes.by_slot(metric, 1).rank(0);
        assert_eq!(
            stored.to_bits(),
            alone.to_bits(),
            "a stored point is no other query"
        );
        alone
    }

    /// How far a decoded vector may be from the vector: half a step at each position.
    fn most_error(vector: &[f32]) -> f64 {
        let highest = vector.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let lowest = vector.iter().copied().fold(f32::INFINITY, f32::min);
        f64::from(highest - lowest) / 255.0 / 2.0 * (vector.len() as f64).sqrt()
    }

    fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        let value = prop_oneof![-1.0..1.0_f32, 3.0..4.0_f32, Just(0.0)];
        (1..200_usize).prop_flat_map(move |n| (vec(value.clone(), n), vec(value.clone(), n)))
    }

    proptest! {
        #[test]
        fn a_euclidean_rank_is_off_by_no_more_than_both_codes_are((a, b) in pair()) {
            let found = f64::from(rank(Metric::Euclidean, &a, &b).max(0.0)).sqrt();
            let expected = kernels::distance(Metric::Euclidean, &a, &b).sqrt();
            let error = most_error(&a) + most_error(&b) + 1e-2;
            prop_assert!((found - expected).abs() <= error, "{found}, not {expected}");
        }

        #[test]
        fn a_cosine_rank_is_off_by_no_more_than_both_codes_turn_their_vectors((a, b) in pair()) {
            let norm = |v: &[f32]| v.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
            prop_assume!(norm(&a) > 0.1 && norm(&b) > 0.1);
            let found = f64::from(rank(Metric::Cosine, &a, &b));
            let expected = kernels::distance(Metric::Cosine, &a, &b);
            let error = 2.0 * (most_error(&a) / norm(&a) + most_error(&b) / norm(&b)) + 1e-4;
            prop_assert!((found - expected).abs() <= error, "{found}, not {expected}");
        }
    }

    #[test]
    fn a_huge_offset_does_not_swallow_small_differences() {
        let wave = |shift: usize| -> Vec<f32> {
            (0..64)
                .map(|i| 1e4 + ((i * 7 + shift) % 16) as f32 / 16.0)
                .collect()
        };
        let expected = kernels::distance(Metric::Euclidean, &wave(0), &wave(3)) as f32;
        let found = rank(Metric::Euclidean, &wave(0), &wave(3));
        assert!(
            (found - expected).abs() < 0.05 * expected,
            "{found}, not {expected}"
        );
    }

    #[test]
    fn a_vector_of_one_value_is_coded_exactly() {
        assert_eq!(rank(Metric::Euclidean, &[1.5; 4], &[2.5; 4]), 4.0);
        assert_eq!(rank(Metric::Cosine, &[1.5; 4], &[2.5; 4]), 0.0);
    }

    #[test]
    fn a_vector_without_a_direction_is_at_cosine_distance_1() {
        let other: Vec<f32> = (0..40).map(|i| i as f32).collect();
        assert_eq!(rank(Metric::Cosine, &[0.0; 40], &other), 1.0);
        assert_eq!(rank(Metric::Cosine, &other, &[0.0; 40]), 1.0);
    }
}
