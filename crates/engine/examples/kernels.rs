//! Compares the kernels of every SIMD level side by side: `cargo run --release --example kernels`.
//!
//! Prints nanoseconds for one distance, and how many times faster than scalar that is. The levels
//! take turns, and the best turn of each counts, so that a busy machine slows all of them alike.

use std::{hint::black_box, time::Instant};

use vectord_engine::distance::{Kernel, Kernels, Level};

const DIMENSIONS: [usize; 4] = [128, 384, 768, 1536];
type Choice = fn(&Kernels) -> Kernel;
const METRICS: [(&str, Choice); 4] = [
    ("squared_euclidean", |kernels| kernels.squared_euclidean),
    ("manhattan", |kernels| kernels.manhattan),
    ("hamming", |kernels| kernels.hamming),
    ("dot", |kernels| kernels.dot),
];
/// Few enough that the vectors stay in the nearest caches: this measures arithmetic, not memory.
const VECTORS: usize = 32;
const TURNS: usize = 200;

fn main() {
    let levels: Vec<_> = Level::WIDEST_FIRST
        .into_iter()
        .filter_map(|level| Kernels::of(level).map(|kernels| (level, kernels)))
        .collect();
    for dimension in DIMENSIONS {
        let vectors: Vec<Vec<f32>> = (0..=VECTORS).map(|seed| vector(dimension, seed)).collect();
        for (metric, kernel) in METRICS {
            let mut best = vec![f64::INFINITY; levels.len()];
            for _ in 0..TURNS {
                for (best, (_, kernels)) in best.iter_mut().zip(&levels) {
                    *best = best.min(nanoseconds(kernel(kernels), &vectors));
                }
            }
            print!("{dimension:>5} {metric:<18}");
            let scalar = best[levels.len() - 1];
            for ((level, _), best) in levels.iter().zip(best) {
                print!("  {level:?} {best:7.1} ns {:5.1}x", scalar / best);
            }
            println!();
        }
    }
}

/// The mean time of one distance, over one turn: the first vector against all the others.
fn nanoseconds(kernel: Kernel, vectors: &[Vec<f32>]) -> f64 {
    let start = Instant::now();
    for vector in &vectors[1..] {
        black_box(kernel(black_box(&vectors[0]), black_box(vector)));
    }
    start.elapsed().as_secs_f64() * 1e9 / VECTORS as f64
}

fn vector(dimension: usize, seed: usize) -> Vec<f32> {
    (0..dimension)
        .map(|i| ((i * 31 + seed * 17) % 97) as f32 / 97.0 - 0.5)
        .collect()
}
