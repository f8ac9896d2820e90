//! The cost of the planner's choice between scan and walk: it times both for many sizes, dimensions
//! and breadths, and compares the one that the index chooses with the faster one.

use std::{hint::black_box, time::Instant};

use crate::{
    crossover::wait_for_graph,
    points::{Collection, query, rounded},
    settings::LIMIT,
};
use vectord_bench::{
    report::{Bound, Cell, Table, Verdict},
    rounds::Samples,
};
use vectord_engine::{
    Metric, Result,
    layers::{
        hnsw::Scratch,
        index::{Index, Plan, Request},
    },
};

const DIMENSIONS: [u32; 5] = [16, 64, 128, 384, 1536];
const SIZES: [u64; 10] = [
    100, 300, 600, 1_000, 2_000, 4_000, 10_000, 30_000, 60_000, 100_000,
];
const BREADTHS: [usize; 4] = [10, 40, 100, 400];
const QUERIES: usize = 20;
const ROUNDS: usize = 5;

/// Larger collections are left out: beyond some thousand points every breadth is walked.
const MOST_VALUES: u64 = 20_000_000;

/// A choice is bad if it takes more than so many times the time of the faster way.
const BAD: f64 = 1.2;

/// The most percent of choices that may be bad: near the threshold, where the ways take microseconds.
const BOUND: f64 = 3.0;

/// Prints a line for each dimension, metric, number of points and breadth.
pub fn show() -> Result<(Table, Verdict)> {
    let title = format!("The choice between scan and walk, microseconds a query, {LIMIT} results");
    println!("\n{title}");
    println!(
        "{:>5}  {:<9}  {:>7}  {:>5}  {:>10}  {:>10}  {:<6}  {:>6}",
        "dims", "metric", "points", "ef", "scan", "walk", "taken", "loss"
    );
    let mut rows = Vec::new();
    let (mut worst, mut bad) = (1.0_f64, 0);
    for dimension in DIMENSIONS {
        for metric in Metric::ALL {
            let (mut collection, queries) = points_for(metric, dimension)?;
            let linker = collection.linker()?;
            for size in SIZES {
                if size * u64::from(dimension) > MOST_VALUES {
                    break;
                }
                collection.grow_to(size)?;
                wait_for_graph(&collection.index, metric);
                for ef in BREADTHS.into_iter().filter(|&ef| (ef as u64) < size) {
                    let [scan, walk, loss] = losses(&collection.index, metric, &queries, ef)?;
                    let view = collection.index.view();
                    let taken = view.prepare(request(metric, &queries[0], ef)).plan();
                    println!(
                        "{dimension:>5}  {:<9}  {size:>7}  {ef:>5}  {scan:>10.1}  {walk:>10.1}  \
                         {:<6}  {loss:>6.2}",
                        format!("{metric:?}"),
                        format!("{taken:?}"),
                    );
                    worst = worst.max(loss);
                    bad += usize::from(loss > BAD);
                    rows.push(vec![
                        ("dimensions", (dimension as usize).into()),
                        ("metric", Cell::Text(format!("{metric:?}"))),
                        ("points", (size as usize).into()),
                        ("ef", ef.into()),
                        ("scan", Cell::Text(format!("{scan:.1}"))),
                        ("walk", Cell::Text(format!("{walk:.1}"))),
                        ("taken", Cell::Text(format!("{taken:?}"))),
                        ("loss", Cell::Text(format!("{loss:.2}"))),
                    ]);
                }
            }
            linker.stop();
        }
    }
    println!("  at worst {worst:.2} times the faster way");
    let mut found = Samples::new();
    found.add((bad * 100) as f32 / rows.len() as f32);
    let verdict = Verdict {
        what: format!("% of choices slower than {BAD} times the other"),
        found: found.cell(2),
        bound: Bound::AtMost(BOUND),
    };
    Ok((Table { title, rows }, verdict))
}

/// An empty collection and queries, with values suited to the metric.
fn points_for(metric: Metric, dimension: u32) -> Result<(Collection, Vec<Vec<f32>>)> {
    let queries = (0..QUERIES).map(|seed| query(dimension, seed));
    if metric == Metric::Hamming {
        let queries = queries.map(rounded).collect();
        return Ok((Collection::rounded(dimension)?, queries));
    }
    Ok((Collection::new(dimension)?, queries.collect()))
}

/// Microseconds of scan and walk, medians of rounds in turns, and the time of the choice over that
/// of the faster one.
fn losses(index: &Index, metric: Metric, queries: &[Vec<f32>], ef: usize) -> Result<[f64; 3]> {
    let mut scratch = Scratch::new();
    let (mut scans, mut walks) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (plan, times) in [(Plan::Scan, &mut scans), (Plan::Graph, &mut walks)] {
            let start = Instant::now();
            for query in queries {
                let view = index.view();
                let search = view.prepare(request(metric, query, ef)).by(plan);
                black_box(search.run(&mut scratch)?);
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / queries.len() as f64);
        }
    }
    scans.sort_by(f64::total_cmp);
    walks.sort_by(f64::total_cmp);
    let (scan, walk) = (scans[ROUNDS / 2], walks[ROUNDS / 2]);
    let taken = match index
        .view()
        .prepare(request(metric, &queries[0], ef))
        .plan()
    {
        Plan::Graph => walk,
        Plan::Scan | Plan::Exact => scan,
    };
    Ok([scan, walk, taken / scan.min(walk)])
}

fn request(metric: Metric, query: &[f32], ef: usize) -> Request<'_> {
    Request {
        metric,
        query,
        limit: LIMIT,
        ef,
        within: None,
    }
}
