//! Broad walks beside scans, and the time at which the plan puts each: the time of a walk grows faster
//! than its breadth, since each insertion into its beam moves a part of that.

use std::{hint::black_box, time::Instant};

use crate::{
    crossover::wait_for_graph,
    points::{Collection, query},
    settings::LIMIT,
};
use vectord_bench::report::{Cell, Table};
use vectord_engine::{
    Metric, Result,
    layers::{
        hnsw::Scratch,
        index::{Index, Plan, Request},
    },
};

const DIMENSION: u32 = 16;
const POINTS: u64 = 200_000;
const BREADTHS: [usize; 6] = [300, 1_000, 3_000, 10_000, 30_000, 100_000];
const ROUNDS: usize = 3;

/// Prints a line for each breadth, with few results and with as many as the breadth.
pub fn show() -> Result<Table> {
    let title = format!("Broad walks, milliseconds a query, {POINTS} points of {DIMENSION} values");
    println!("\n{title}");
    println!(
        "{:<9}  {:>7}  {:>7}  {:>8}  {:>8}  {:>8}  {:>8}  taken",
        "metric", "limit", "ef", "scan", "planned", "walk", "planned"
    );
    let mut rows = Vec::new();
    let mut collection = Collection::new(DIMENSION)?;
    collection.grow_to(POINTS)?;
    let linker = collection.linker()?;
    for metric in [Metric::Euclidean, Metric::Manhattan] {
        wait_for_graph(&collection.index, metric);
        for limit in [LIMIT, usize::MAX] {
            for ef in BREADTHS {
                let limit = limit.min(ef);
                let [scan, walk] = [Plan::Scan, Plan::Graph]
                    .map(|plan| milliseconds(&collection.index, metric, (ef, limit), plan));
                let ([scan, scan_planned], [walk, walk_planned]) = (scan?, walk?);
                let view = collection.index.view();
                let vector = query(DIMENSION, 0);
                let taken = view.prepare(request(metric, &vector, (ef, limit))).plan();
                println!(
                    "{:<9}  {limit:>7}  {ef:>7}  {scan:>8.2}  {scan_planned:>8.2}  {walk:>8.2}  \
                     {walk_planned:>8.2}  {taken:?}",
                    format!("{metric:?}"),
                );
                let cell = |time: f64| Cell::Text(format!("{time:.2}"));
                rows.push(vec![
                    ("metric", Cell::Text(format!("{metric:?}"))),
                    ("limit", limit.into()),
                    ("ef", ef.into()),
                    ("scan", cell(scan)),
                    ("scan, planned", cell(scan_planned)),
                    ("walk", cell(walk)),
                    ("walk, planned", cell(walk_planned)),
                    ("taken", Cell::Text(format!("{taken:?}"))),
                ]);
            }
        }
    }
    linker.stop();
    Ok(Table { title, rows })
}

/// The least time of some queries by a plan, and the time that the plan puts them at.
fn milliseconds(
    index: &Index,
    metric: Metric,
    breadths: (usize, usize),
    plan: Plan,
) -> Result<[f64; 2]> {
    let mut scratch = Scratch::new();
    let view = index.view();
    let (mut least, mut planned) = (f64::INFINITY, 0.0);
    for seed in 0..ROUNDS {
        let vector = query(DIMENSION, seed);
        let search = view.prepare(request(metric, &vector, breadths)).by(plan);
        planned = search.cost().as_secs_f64() * 1e3;
        let start = Instant::now();
        black_box(search.run(&mut scratch)?);
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok([least, planned])
}

fn request(metric: Metric, query: &[f32], (ef, limit): (usize, usize)) -> Request<'_> {
    Request {
        metric,
        query,
        limit,
        ef,
        within: None,
    }
}
