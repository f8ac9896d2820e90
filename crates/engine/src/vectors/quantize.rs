//! Codes: vectors quantized to 8 bits a value, by which walks of a graph rank.
//!
//! A code has a quarter of the size of its vector, and a processor multiplies four times as many
//! bytes as floats at once. Memory and arithmetic are what bounds the speed of walks. Each vector
//! has its own scale and offset (scalar quantization, as in Aguerrebere et al., 2023,
//! arXiv:2304.04759, who also subtract a learned mean). Nothing is learned, so drift of the data
//! makes no code worse, and the code of a vector does not depend on the time of its insert.
//!
//! A rank by code is computed between decoded vectors. A decoded vector has its mean `b / √n` at
//! every one of its `n` positions, and the differences `w` from the mean. So the squared distance
//! is `|w₁ - w₂|² + (b₁ - b₂)²`, which stays precise where the mean is large, and the error of
//! quantization depends on the distance of two vectors rather than on their lengths.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{
    Metric, Result,
    sync::table::Table,
    vectors::{
        kernels,
        kernels::{CodeProducts, code_products},
        neighbor::Neighbor,
    },
};

/// The bytes in a word of a row. A row holds the values of a code, one byte each, then its
/// [`Shape`].
const WORD: usize = size_of::<u64>();

/// The words of the [`Shape`] at the end of a row: four numbers in single precision.
const SHAPE_WORDS: usize = 2;

/// The least dimension for which codes are kept. A vector of fewer fits a cache line or two itself.
const LEAST_DIMENSION: usize = 32;

/// The greatest value of a code. The least is 0.
const TOP: f32 = 255.0;

/// What [`CodeProducts`] subtracts from each value of one operand.
const MIDDLE: f32 = 128.0;

/// The number of standard deviations that the error of a rank by code hardly ever exceeds.
const DEVIATIONS: f32 = 3.0;

/// The number of codes that [`ByCode::rank_all`] ranks together: about as many as a point has
/// links.
const TOGETHER: usize = 32;

/// The codes of the points of one store, by slot.
#[derive(Debug)]
pub struct Codes {
    dimension: usize,
    /// [`MIDDLE`] times the square root of the dimension.
    middle: f32,
    rows: Table<AtomicU64>,
}

/// The code of a query: a row as [`Codes`] holds them. Its memory is used again for the next query.
#[derive(Debug, Default)]
pub struct Code(Vec<AtomicU64>);

/// Ranks stored points by their codes, against the code of a query or of a stored point.
#[derive(Clone, Copy, Debug)]
pub struct ByCode<'a> {
    codes: &'a Codes,
    products: CodeProducts,
    metric: Metric,
    values: &'a [AtomicU64],
    shape: Shape,
    /// What `sum` of the shape would be if each value were smaller by [`MIDDLE`].
    middle_sum: f32,
    inverse_norm: f32,
}

/// What a row says of a code besides its values from 0 to 255. Each of the `n` values is decoded as
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
        Codes {
            dimension,
            middle: MIDDLE * (dimension as f32).sqrt(),
            rows: Table::new(words(dimension)),
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

    /// Reserves memory for the codes of the slots below `slots`.
    pub fn reserve(&self, slots: usize) -> Result<()> {
        self.rows.ensure(slots)
    }

    /// Stores the code of the vector in `slot`. One thread at a time calls this, before any other
    /// can know the slot.
    pub fn store(&self, slot: u32, vector: &[f32]) -> Result<()> {
        self.rows.ensure(slot as usize + 1)?;
        encode(vector, self.rows.row(slot));
        Ok(())
    }

    /// Makes `code` the code of a query.
    pub fn encode(&self, vector: &[f32], code: &mut Code) {
        code.0
            .resize_with(words(self.dimension), AtomicU64::default);
        encode(vector, &code.0);
    }

    /// Prepares to rank points against a query, given its code.
    #[must_use]
    pub fn by_code<'a>(&'a self, metric: Metric, code: &'a Code) -> ByCode<'a> {
        self.prepare(metric, &code.0)
    }

    /// Prepares to rank points against the point in `slot`.
    #[inline]
    #[must_use]
    pub fn by_slot(&self, metric: Metric, slot: u32) -> ByCode<'_> {
        self.prepare(metric, self.rows.row(slot))
    }

    #[inline]
    fn prepare<'a>(&'a self, metric: Metric, row: &'a [AtomicU64]) -> ByCode<'a> {
        let shape = Shape::of(row);
        ByCode {
            codes: self,
            products: code_products(),
            metric,
            values: &row[..row.len() - SHAPE_WORDS],
            shape,
            middle_sum: shape.sum - self.middle * shape.scale,
            inverse_norm: shape.inverse_norm(),
        }
    }

    /// Prefetches the code in `slot`, which will be ranked soon.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        kernels::prefetch(self.rows.row(slot));
    }
}

impl ByCode<'_> {
    /// Prefetches the code in `slot`, which will be ranked soon.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        self.codes.prefetch(slot);
    }

    /// The rank of the point in `slot`: the squared L2 distance or `1 - cos` of the decoded
    /// vectors. Rounding may make it a little less than 0.
    #[inline]
    #[must_use]
    pub fn rank(&self, slot: u32) -> f32 {
        let row = self.codes.rows.row(slot);
        let mut product = [0];
        (self.products)(self.values, &[row], &mut product);
        if self.metric == Metric::Cosine {
            self.cosine(Shape::of(row), product[0])
        } else {
            self.euclidean(Shape::of(row), product[0])
        }
    }

    /// A bound for the error of a rank by code, for a point whose rank by vector is `rank`: the
    /// rank by code hardly ever exceeds that by more. The code of the point is taken to have the
    /// quantization steps of the code in `slot`. Quantization moves each value by up to half a
    /// step, every amount as likely as another. From this follow the mean and the standard
    /// deviation of the error; the bound is the mean and three standard deviations.
    #[must_use]
    pub fn margin(&self, slot: u32, rank: f32) -> f32 {
        let shape = Shape::of(self.codes.rows.row(slot));
        let mut steps = [self.shape.scale, shape.scale];
        if self.metric == Metric::Cosine {
            // Ranks are half the squared distances between vectors of length 1.
            steps[0] *= self.inverse_norm * f32::sqrt(0.5);
            steps[1] *= shape.inverse_norm() * f32::sqrt(0.5);
        }
        let variance = (steps[0] * steps[0] + steps[1] * steps[1]) / 12.0;
        let deviation = 2.0 * (rank.max(0.0) * variance).sqrt();
        self.codes.dimension as f32 * variance + DEVIATIONS * deviation
    }

    /// Sets the rank of each neighbour, bit for bit as [`ByCode::rank`] gives it.
    #[inline]
    pub fn rank_all(&self, neighbors: &mut [Neighbor]) {
        for some in neighbors.chunks_mut(TOGETHER) {
            let mut rows = [[].as_slice(); TOGETHER];
            for (row, neighbor) in rows.iter_mut().zip(&*some) {
                *row = self.codes.rows.row(neighbor.slot);
            }
            let rows = &rows[..some.len()];
            let mut products = [0; TOGETHER];
            (self.products)(self.values, rows, &mut products);
            let mut shapes = [Shape::default(); TOGETHER];
            for (shape, row) in shapes.iter_mut().zip(rows) {
                *shape = Shape::of(row);
            }
            // The loops go over whole arrays, so that the compiler computes several ranks in one
            // instruction.
            let mut ranks = [0.0; TOGETHER];
            if self.metric == Metric::Cosine {
                for index in 0..TOGETHER {
                    ranks[index] = self.cosine(shapes[index], products[index]);
                }
            } else {
                for index in 0..TOGETHER {
                    ranks[index] = self.euclidean(shapes[index], products[index]);
                }
            }
            for (neighbor, rank) in some.iter_mut().zip(ranks) {
                neighbor.rank = rank;
            }
        }
    }

    #[inline]
    fn cosine(&self, shape: Shape, product: i32) -> f32 {
        let inner = self.inner(shape, product) + shape.mean * self.shape.mean;
        1.0 - inner * shape.inverse_norm() * self.inverse_norm
    }

    #[inline]
    fn euclidean(&self, shape: Shape, product: i32) -> f32 {
        let means = shape.mean - self.shape.mean;
        shape.spread + self.shape.spread - 2.0 * self.inner(shape, product) + means * means
    }

    /// `w₁ · w₂`, from the product that [`CodeProducts`] gives.
    #[inline]
    fn inner(&self, shape: Shape, product: i32) -> f32 {
        shape.scale * self.shape.scale * product as f32 - shape.sum * self.middle_sum
    }
}

impl Shape {
    /// Reads the shape at the end of a row.
    #[inline]
    fn of(row: &[AtomicU64]) -> Shape {
        let [low, high] = row.last_chunk().expect("a row ends with its shape");
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

    /// `1 / |v|` of the decoded vector. It is finite for a zero vector too, whose inner products
    /// are all 0.
    #[inline]
    fn inverse_norm(self) -> f32 {
        let square = self.spread + self.mean * self.mean;
        1.0 / square.max(f32::MIN_POSITIVE).sqrt()
    }
}

/// The words of a row: the values, filled up with zeros, then the shape.
fn words(dimension: usize) -> usize {
    dimension.div_ceil(WORD).next_multiple_of(2) + SHAPE_WORDS
}

/// Writes the code of a vector into a row.
#[allow(
    clippy::cast_sign_loss,
    reason = "steps from the lowest value are not negative"
)]
fn encode(vector: &[f32], row: &[AtomicU64]) {
    let lowest = vector.iter().copied().fold(f32::INFINITY, f32::min);
    let highest = vector.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scale = (highest - lowest) / TOP;
    let steps = if scale > 0.0 { scale.recip() } else { 0.0 };

    let (mut sum, mut squares) = (0_u64, 0_u64);
    let (values, shape) = row.split_at(row.len() - SHAPE_WORDS);
    let mut chunks = vector.chunks(WORD);
    for word in values {
        let mut bytes = [0; WORD];
        for (byte, value) in bytes.iter_mut().zip(chunks.next().unwrap_or_default()) {
            // The cast rounds down, stays within 0 to 255, and makes NaN 0.
            *byte = ((value - lowest) * steps + 0.5) as u8;
            sum += u64::from(*byte);
            squares += u64::from(*byte) * u64::from(*byte);
        }
        word.store(u64::from_ne_bytes(bytes), Relaxed);
    }

    let (n, sum, squares) = (vector.len() as f64, sum as f64, squares as f64);
    let scale_64 = f64::from(scale);
    let parts = [
        scale_64,
        scale_64 * sum / n.sqrt(),
        scale_64 * scale_64 * (squares - sum * sum / n),
        (f64::from(lowest) + scale_64 * sum / n) * n.sqrt(),
    ];
    for (word, pair) in shape.iter().zip(parts.as_chunks::<2>().0) {
        let [low, high] = pair.map(|part| u64::from((part as f32).to_bits()));
        word.store(low | high << 32, Relaxed);
    }
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
