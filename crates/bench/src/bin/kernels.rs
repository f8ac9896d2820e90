//! Compares the kernels of every SIMD level side by side: `cargo run --release --bin kernels`.
//!
//! Prints the nanoseconds of one distance, alone and as one of four, and the speedup over scalar.
//! The levels take turns, so that a busy machine slows all of them alike, and the best turn of each
//! counts.

use std::{hint::black_box, time::Instant};

use vectord_engine::layers::vectors::kernels::{Kernel, KernelOfFour, Kernels, Level, Sum};

const DIMENSIONS: [usize; 4] = [128, 384, 768, 1536];
type Choice = fn(&Kernels) -> Sum;
const METRICS: [(&str, Choice); 4] = [
    ("squared_euclidean", |k| k.squared_euclidean),
    ("manhattan", |k| k.manhattan),
    ("hamming", |k| k.hamming),
    ("dot", |k| k.dot),
];
/// Few enough vectors to stay in the L1 and L2 caches: this measures arithmetic, not memory.
const VECTORS: usize = 32;
const TURNS: usize = 200;

fn main() {
    let levels: Vec<_> = Level::WIDEST_FIRST
        .into_iter()
        .filter_map(|level| Kernels::of(level).map(|kernels| (level, kernels)))
        .collect();
    for dimension in DIMENSIONS {
        let vectors: Vec<Vec<f32>> = (0..=VECTORS).map(|seed| vector(dimension, seed)).collect();
        for (metric, sum) in METRICS {
            let mut best = vec![(f64::INFINITY, f64::INFINITY); levels.len()];
            for _ in 0..TURNS {
                for (best, (_, kernels)) in best.iter_mut().zip(&levels) {
                    let Sum { alone, of_four, .. } = sum(kernels);
                    best.0 = best.0.min(nanoseconds(alone, &vectors));
                    best.1 = best.1.min(nanoseconds_of_four(of_four, &vectors));
                }
            }
            print!("{dimension:>5} {metric:<18}");
            let scalar = best[levels.len() - 1].0;
            for ((level, _), (one, four)) in levels.iter().zip(best) {
                print!("  {level:?} {one:6.1} / {four:6.1} ns");
                print!(" {:5.1}x / {:5.1}x", scalar / one, scalar / four);
            }
            println!();
        }
    }
}

/// The mean time of one distance in one turn: from the first vector to all others.
fn nanoseconds(kernel: Kernel, vectors: &[Vec<f32>]) -> f64 {
    let start = Instant::now();
    for vector in &vectors[1..] {
        black_box(kernel(black_box(&vectors[0]), black_box(vector)));
    }
    start.elapsed().as_secs_f64() * 1e9 / VECTORS as f64
}

fn nanoseconds_of_four(kernel: KernelOfFour, vectors: &[Vec<f32>]) -> f64 {
    let start = Instant::now();
    for four in vectors[1..].as_chunks().0 {
        let [a, b, c, d]: &[Vec<f32>; 4] = four;
        black_box(kernel(black_box(&vectors[0]), black_box(&[a, b, c, d])));
    }
    start.elapsed().as_secs_f64() * 1e9 / VECTORS as f64
}

fn vector(dimension: usize, seed: usize) -> Vec<f32> {
    (0..dimension)
        .map(|i| ((i * 31 + seed * 17) % 97) as f32 / 97.0 - 0.5)
        .collect()
}
