//! How fast the exact scan reads, beside a plain read of the same bytes: `bench/scan.sh [flags]`.
//!
//! For each dimension a store is filled with more vectors than any cache holds. Then, in turns: a
//! plain pass over the mapped vectors that only adds them up, a scan for one query under each
//! metric, and a scan for 32 queries together. Shown is the median of the rounds, with the least
//! and the most; the ratios are taken within a round. Everything runs on one thread.

mod crossover;
mod points;
mod rounds;

use std::{env, hint::black_box, time::Instant};

use points::Collection;
use rounds::Samples;
use vectord_engine::{
    Error, Metric, Result,
    graph::Scratch,
    index::{Index, Prepared, Request},
    points::Points,
};

const DIMENSIONS: [u32; 3] = [128, 384, 1536];
const ROUNDS: usize = 7;
const TILE: usize = 32;
const LIMIT: usize = 10;

fn main() -> Result<()> {
    let mut megabytes = 512;
    let mut with_crossover = true;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (
            argument.as_str(),
            arguments.next().and_then(|value| value.parse().ok()),
        ) {
            ("--mib", Some(value)) => megabytes = value,
            ("--crossover", Some(0)) => with_crossover = false,
            _ => {
                return Err(Error::InvalidArgument(
                    "scan [--mib N] [--crossover 0]".into(),
                ));
            }
        }
    }
    println!("{megabytes} MiB of vectors, one thread; median (least-most) of {ROUNDS} rounds");
    println!(
        "{:>5}  {:<9}  {:>20}  {:>20}  {:>16}  {:>16}",
        "dims", "metric", "plain read GB/s", "scan GB/s", "scan / read", "32 together"
    );
    for dimension in DIMENSIONS {
        let count = (megabytes << 20) / (dimension as usize * 4);
        let collection = Collection::filled(dimension, count)?;
        measure(&collection.index, dimension, count as u32)?;
    }
    if with_crossover {
        crossover::show()?;
    }
    Ok(())
}

/// Prints one line for each metric.
fn measure(index: &Index, dimension: u32, count: u32) -> Result<()> {
    let queries: Vec<Vec<f32>> = (0..TILE)
        .map(|seed| points::query(dimension, seed))
        .collect();
    // Looked up beforehand: a plain read has nothing else to do.
    let vectors: Vec<&[f32]> = (0..count).map(|slot| index.arena().vector(slot)).collect();
    let gigabytes = count as f32 * dimension as f32 * 4.0 / 1e9;
    for metric in Metric::ALL {
        let [mut reads, mut scans, mut ratios, mut together] = [const { Samples::new() }; 4];
        for round in 0..=ROUNDS {
            // The faster of two: what the memory gives, not what it gave just then.
            let read = read_seconds(&vectors).min(read_seconds(&vectors));
            let alone = scan_seconds(index, metric, &queries[round % TILE..][..1])?
                .min(scan_seconds(index, metric, &queries[round % TILE..][..1])?);
            let tile = scan_seconds(index, metric, &queries)? / TILE as f32;
            // The first round brings pages and clock up.
            if round > 0 {
                reads.add(gigabytes / read);
                scans.add(gigabytes / alone);
                ratios.add(read / alone);
                together.add(alone / tile);
            }
        }
        println!(
            "{dimension:>5}  {:<9}  {:>20}  {:>20}  {:>16}  {:>16}",
            format!("{metric:?}"),
            reads.show(1),
            scans.show(1),
            ratios.show(2),
            together.show(1)
        );
    }
    Ok(())
}

/// Adds up the vectors where they lie, as 64-bit words, and does nothing else.
fn read_seconds(vectors: &[&[f32]]) -> f32 {
    let start = Instant::now();
    let mut sums = [0_u64; 64];
    for vector in vectors {
        for chunk in vector.as_chunks::<128>().0 {
            for (sum, pair) in sums.iter_mut().zip(chunk.as_chunks::<2>().0) {
                let low = u64::from(pair[0].to_bits());
                *sum = sum.wrapping_add(low | u64::from(pair[1].to_bits()) << 32);
            }
        }
    }
    black_box(sums);
    start.elapsed().as_secs_f32()
}

fn scan_seconds(index: &Index, metric: Metric, queries: &[Vec<f32>]) -> Result<f32> {
    let mut scratch = Scratch::new();
    let view = index.view();
    let start = Instant::now();
    let mut searches = Vec::new();
    for query in queries {
        // A breadth of all points asks for the exact answer.
        searches.push(view.prepare(Request {
            metric,
            query,
            limit: LIMIT,
            ef: usize::MAX,
        }));
    }
    black_box(Prepared::run_together(searches, &mut scratch)?);
    Ok(start.elapsed().as_secs_f32())
}
