//! The number of points from which a walk through the graph beats a scan, at recall 0.99 and at the
//! default breadth, and which of the two the index chooses there.

use std::{
    collections::HashSet,
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use crate::{
    points::{Collection, query},
    settings::{LIMIT, ROUNDS},
};
use vectord_bench::{
    report::{Cell, Row, Table},
    rounds::Samples,
};
use vectord_engine::{
    Metric, PointId, Result,
    layers::{
        hnsw::Scratch,
        index::{Index, Plan, Request},
    },
};

const DIMENSIONS: [u32; 2] = [128, 384];
const SIZES: [u64; 7] = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
const BREADTHS: [usize; 8] = [10, 14, 20, 28, 40, 57, 80, 114];
const DEFAULT_BREADTH: usize = 100;
const QUERIES: usize = 200;
const RECALL: f32 = 0.99;

/// Prints a line for each dimension and number of points, under the Euclidean metric.
pub fn show() -> Result<Table> {
    let title = format!("Scan and walk, microseconds a query, Euclidean, {LIMIT} results");
    println!("\n{title}");
    let mut rows = Vec::new();
    println!(
        "{:>5}  {:>7}  {:>16}  {:>22}  {:>16}  taken at {DEFAULT_BREADTH}",
        "dims", "points", "scan", "walk at recall 0.99", "walk at 100"
    );
    for dimension in DIMENSIONS {
        let queries: Vec<Vec<f32>> = (0..QUERIES).map(|seed| query(dimension, seed)).collect();
        let mut collection = Collection::new(dimension)?;
        let linker = collection.linker()?;
        for size in SIZES {
            collection.grow_to(size)?;
            wait_for_graph(&collection.index, Metric::Euclidean);
            rows.push(show_size(&collection.index, size, &queries)?);
        }
        linker.stop();
    }
    Ok(Table { title, rows })
}

fn show_size(index: &Index, size: u64, queries: &[Vec<f32>]) -> Result<Row> {
    let exact: Vec<_> = ids_of(index, queries, Plan::Scan, DEFAULT_BREADTH)?;
    let mut breadth = None;
    for ef in BREADTHS.into_iter().filter(|&ef| (ef as u64) < size) {
        let found = ids_of(index, queries, Plan::Graph, ef)?;
        let hits = exact.iter().zip(&found);
        let hits: usize = hits
            .map(|(exact, found)| exact.intersection(found).count())
            .sum();
        if hits as f32 >= RECALL * (queries.len() * LIMIT) as f32 {
            breadth = Some(ef);
            break;
        }
    }
    let [mut scan, mut walk, mut wide] = [const { Samples::new() }; 3];
    for _ in 0..ROUNDS {
        scan.add(microseconds(index, queries, Plan::Scan, DEFAULT_BREADTH)?);
        if let Some(ef) = breadth {
            walk.add(microseconds(index, queries, Plan::Graph, ef)?);
        }
        wide.add(microseconds(index, queries, Plan::Graph, DEFAULT_BREADTH)?);
    }
    let view = index.view();
    let taken = view.prepare(request(&queries[0], DEFAULT_BREADTH)).plan();
    let at_recall = breadth.map_or("not reached".into(), |_| walk.cell(0));
    let ef = breadth.map_or("".into(), Cell::from);
    println!(
        "{:>5}  {size:>7}  {:>16}  {:>22}  {:>16}  {taken:?}",
        index.dimension(),
        scan.cell(0),
        format!("{at_recall} ef {ef}"),
        wide.cell(0),
    );
    Ok(vec![
        ("dimensions", index.dimension().into()),
        ("points", (size as usize).into()),
        ("scan", scan.cell(0)),
        ("walk at recall 0.99", at_recall),
        ("its ef", ef),
        ("walk at ef 100", wide.cell(0)),
        ("taken at ef 100", Cell::Text(format!("{taken:?}"))),
    ])
}

fn request(query: &[f32], ef: usize) -> Request<'_> {
    Request {
        metric: Metric::Euclidean,
        query,
        limit: LIMIT,
        ef,
        within: None,
    }
}

fn ids_of(
    index: &Index,
    queries: &[Vec<f32>],
    plan: Plan,
    ef: usize,
) -> Result<Vec<HashSet<PointId>>> {
    let mut scratch = Scratch::new();
    let mut answers = Vec::new();
    let view = index.view();
    for query in queries {
        let hits = view
            .prepare(request(query, ef))
            .by(plan)
            .run(&mut scratch)?;
        answers.push(hits.iter().map(|hit| hit.id).collect());
    }
    Ok(answers)
}

fn microseconds(index: &Index, queries: &[Vec<f32>], plan: Plan, ef: usize) -> Result<f32> {
    let start = Instant::now();
    black_box(ids_of(index, queries, plan, ef)?);
    Ok(start.elapsed().as_secs_f32() * 1e6 / queries.len() as f32)
}

/// Begins the graph, and waits until it is complete.
pub fn wait_for_graph(index: &Index, metric: Metric) {
    index.want_graph(metric);
    let is_complete = || {
        let mut graphs = index.graphs().into_iter();
        graphs.any(|graph| graph.metric == metric && graph.linked == graph.slots)
    };
    while !is_complete() {
        thread::sleep(Duration::from_millis(5));
    }
}
