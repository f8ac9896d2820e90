//! Small runs through the unsafe code, for miri (`npm run test:miri`). Slices end where their
//! allocation ends, so that miri reports a read past the end. Threads read as plain memory what
//! another thread wrote, so that miri reports a race.
//!
//! Miri cannot map files: the engine as a whole runs under sanitizers, `npm run test:asan` and `npm
//! run test:tsan`.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]
#![allow(clippy::float_cmp, reason = "sums of small whole numbers are exact")]

use std::{
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
};

use vectord_engine::{
    Metric, Params,
    layers::{
        hnsw::{Graph, Scratch},
        vectors::{
            kernels::{
                self, ABREAST, BLOCK, CoarseCodes, Computation, Halves, InstructionSet, Kernels,
                Level, Simd, Sum,
            },
            measure::Measure,
            points::Points,
            quantize::Codes,
        },
    },
};

/// Pseudo-random numbers, the same in every run.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let next = |state: &u64| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        )
    };
    std::iter::successors(Some(seed), next).map(|state| state.rotate_left(29))
}

/// Whole numbers from -7 to 7, in memory of exactly that length: their sums are never rounded.
fn whole_numbers(length: usize, seed: u64) -> Box<[f32]> {
    let values = noise(seed).map(|word| (word % 15) as f32 - 7.0);
    values.take(length).collect()
}

/// Lengths below, at and above each width that a kernel reads at once.
fn lengths() -> impl Iterator<Item = usize> {
    let longer = [31, 32, 33, 47, 63, 64, 65, 79, 95, 127, 128, 129];
    (0..=18).chain(longer)
}

#[test]
fn what_was_compiled_for_a_level_runs_at_it() {
    if cfg!(all(target_feature = "avx2", target_feature = "fma")) {
        assert!(Kernels::of(Level::Avx2).is_some());
    }
    if cfg!(target_feature = "avx512f") {
        assert!(Kernels::of(Level::Avx512).is_some());
    }
    if cfg!(target_feature = "neon") {
        assert!(Kernels::of(Level::Neon).is_some());
    }
}

#[test]
fn kernels_read_all_of_their_slices_and_nothing_else() {
    const HAMMING: usize = 2;
    let sums = |k: &Kernels| -> [Sum; 4] { [k.squared_euclidean, k.manhattan, k.hamming, k.dot] };
    let scalar = sums(Kernels::of(Level::Scalar).unwrap());
    for level in Level::WIDEST_FIRST {
        let Some(kernels) = Kernels::of(level) else {
            continue;
        };
        for length in lengths() {
            let a = whole_numbers(length, 1);
            let others = [2, 3, 4, 5].map(|seed| whole_numbers(length, seed));
            let b = others.each_ref().map(|other| &**other);
            for (number, (sum, scalar)) in sums(kernels).iter().zip(&scalar).enumerate() {
                // Miri does not support comparisons of 512 bits; the loads are those of the other
                // kernels.
                if cfg!(miri) && level == Level::Avx512 && number == HAMMING {
                    continue;
                }
                let expected = b.map(|b| (scalar.alone)(&a, b));
                let alone = b.map(|b| (sum.alone)(&a, b));
                let fetching = b.map(|b| (sum.fetching)(&a, b, &a));
                let together = (sum.of_four)(&a, &b);
                for found in [alone, fetching, together] {
                    assert_eq!(found, expected, "{level:?}, sum {number}, {length} values");
                }
            }
        }
    }
}

/// The values of words of 4-bit values: those of the lower bits of each byte, then those of the upper.
fn nibbles(words: &[AtomicU64]) -> Vec<i32> {
    let bytes = words
        .iter()
        .flat_map(|word| word.load(Relaxed).to_ne_bytes());
    let bytes: Vec<i32> = bytes.map(i32::from).collect();
    let lower = bytes.iter().map(|byte| byte % 16);
    lower.chain(bytes.iter().map(|byte| byte / 16)).collect()
}

fn half(length: usize, seed: u64) -> Box<[AtomicU64]> {
    noise(seed).map(AtomicU64::new).take(length).collect()
}

struct CodeProducts<'p>(Halves<'p>, [Halves<'p>; 3]);

impl Computation for CodeProducts<'_> {
    type Output = [i32; 3];

    fn compute<S: Simd>(self, simd: S) -> [i32; 3] {
        let mut products = [0; 3];
        simd.code_products(self.0, &self.1, &mut products);
        products
    }
}

struct CoarseProducts<'p>(&'p [i8], CoarseCodes<'p>);

impl Computation for CoarseProducts<'_> {
    type Output = [i32; ABREAST];

    fn compute<S: Simd>(self, simd: S) -> [i32; ABREAST] {
        simd.coarse_products(self.0, &self.1)
    }
}

#[test]
fn products_of_codes_read_the_halves_and_nothing_else() {
    let product = |a: Halves, b: Halves| -> i32 {
        let values = |code: Halves| -> Vec<i32> {
            let halves = nibbles(code.upper).into_iter().zip(nibbles(code.lower));
            halves.map(|(upper, lower)| 16 * upper + lower).collect()
        };
        let pairs = values(a).into_iter().zip(values(b));
        pairs.map(|(a, b)| a * (b - 128)).sum()
    };
    for blocks in 0..9 {
        let length = blocks * BLOCK / size_of::<u64>();
        let halves: [_; 8] = std::array::from_fn(|seed| half(length, seed as u64));
        let code = |index: usize| Halves {
            upper: &halves[2 * index],
            lower: &halves[2 * index + 1],
        };
        let codes = [1, 2, 3].map(code);
        let expected = codes.map(|a| product(a, code(0)));
        for set in InstructionSet::available() {
            let products = set.compute(CodeProducts(code(0), codes));
            assert_eq!(products, expected, "{set:?}, {blocks} blocks");
        }
    }
}

#[test]
fn products_of_coarse_codes_read_the_codes_and_nothing_else() {
    for blocks in 0..9 {
        let query: Vec<i8> = nibbles(&half(2 * blocks * BLOCK / size_of::<u64>(), 9))
            .chunks(2)
            .map(|pair| (pair[0] * 16 + pair[1] - 127).min(127) as i8)
            .collect();
        let codes: [_; ABREAST] =
            std::array::from_fn(|seed| half(blocks * BLOCK / size_of::<u64>(), seed as u64));
        let expected = codes.each_ref().map(|code| -> i32 {
            let values = nibbles(code).into_iter().zip(&query);
            values.map(|(value, &query)| value * i32::from(query)).sum()
        });
        for set in InstructionSet::available() {
            let codes = CoarseCodes::of(codes.each_ref().map(|code| &**code));
            let products = set.compute(CoarseProducts(&query, codes));
            assert_eq!(products, expected, "{set:?}, {blocks} blocks");
        }
    }
}

#[test]
fn codes_of_any_dimension_are_ranked_within_their_rows() {
    for dimension in lengths().filter(|&dimension| dimension > 0) {
        let codes = Codes::new(dimension);
        for slot in 0..3 {
            let vector = whole_numbers(dimension, u64::from(slot));
            codes.store(slot, &vector).unwrap();
        }
        for metric in [Metric::Euclidean, Metric::Cosine] {
            let itself = codes.by_slot(metric, 2).rank(2);
            assert!(
                itself.abs() < 0.05,
                "{metric:?}, {dimension} values: {itself}"
            );
        }
    }
}

/// Vectors whose codes are stored one after the other, while other points are linked and searched.
struct Growing {
    vectors: Vec<Box<[f32]>>,
    codes: Codes,
    published: AtomicU32,
}

impl Points for Growing {
    fn vector(&self, slot: u32) -> &[f32] {
        &self.vectors[slot as usize]
    }

    fn inverse_norm(&self, slot: u32) -> f32 {
        kernels::inverse_norm(self.vector(slot))
    }

    fn codes(&self) -> Option<&Codes> {
        Some(&self.codes)
    }
}

/// Codes are written as atomics and read as plain memory. That is no race as long as no thread
/// learns of a slot before its code is written. The index guarantees this order, and so does this
/// test.
#[test]
fn codes_are_read_by_walks_while_more_points_are_stored_and_linked() {
    const DIMENSION: usize = 32;
    let count = if cfg!(miri) { 12 } else { 2_000 };
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let vectors = (0..count).map(|slot| whole_numbers(DIMENSION, u64::from(slot)));
        let points = Growing {
            vectors: vectors.collect(),
            codes: Codes::new(DIMENSION),
            published: AtomicU32::new(0),
        };
        let graph = Graph::new(
            metric,
            Params {
                m: 2,
                ef_construction: 4,
            },
        );
        let next = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for slot in 0..count {
                    points.codes.store(slot, points.vector(slot)).unwrap();
                    points.published.store(slot + 1, Release);
                }
            });
            for _ in 0..2 {
                scope.spawn(|| link_all(&graph, &points, &next, count));
            }
            scope.spawn(|| {
                for slot in 0.. {
                    let finished = graph.len();
                    let found = search(&graph, &points, slot % count, 5);
                    assert!(found.len() >= finished.min(5) as usize);
                    if finished == count {
                        return;
                    }
                }
            });
        });
        let mut all = search(&graph, &points, 0, count as usize);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..count), "{metric:?}");
    }
}

/// Links published points until all `count` are linked; several threads share `next`.
fn link_all(graph: &Graph, points: &Growing, next: &AtomicU32, count: u32) {
    let mut scratch = Scratch::new();
    loop {
        let slot = next.fetch_add(1, Relaxed);
        if slot >= count {
            return;
        }
        while points.published.load(Acquire) <= slot {
            thread::yield_now();
        }
        graph.insert(points, slot, &mut scratch).unwrap();
    }
}

/// The slots that a search for the vector of `slot` finds.
fn search(graph: &Graph, points: &Growing, slot: u32, limit: usize) -> Vec<u32> {
    let mut scratch = Scratch::new();
    let measure = Measure::new(graph.metric(), points.vector(slot));
    graph
        .search(points, &measure, limit, limit, |_| true, &mut scratch)
        .unwrap();
    let found = scratch.results().iter().map(|neighbor| neighbor.slot);
    found.collect()
}
