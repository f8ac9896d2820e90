//! One index as a participant of the comparison with other libraries, which `bench/peers` runs:
//! `peer vectord|hnsw_rs METRIC BASE QUERIES POINTS M EF_CONSTRUCTION`.
//!
//! It reads the first `POINTS` rows of `BASE` and answers with a line of JSON. Then it obeys the
//! lines `build THREADS` and `search EF`, the latter on one thread, and answers each with another.

// What the recall benchmark has already; not all of it is needed here.
#[allow(dead_code)]
#[path = "../recall/reference.rs"]
mod reference;
#[allow(dead_code)]
#[path = "../../tests/support/mod.rs"]
mod support;

use std::{env, io, path::Path, time::Instant};

use reference::Reference;
use support::{Result, fill::fill, recall::K, vectors::Vectors};
use vectord_engine::{
    Metric,
    graph::{Graph, Params, Scratch},
    measure::Measure,
    points::Points,
};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [index, metric, base, queries, points, m, ef_construction] = &*arguments else {
        return Err("peer INDEX METRIC BASE QUERIES POINTS M EF_CONSTRUCTION".into());
    };
    let metric = metric_of(metric)?;
    let base = Vectors::read(Path::new(base))?
        .first(points.parse()?)
        .with_codes()?;
    let queries = Vectors::read(Path::new(queries))?;
    let params = Params {
        m: m.parse()?,
        ef_construction: ef_construction.parse()?,
    };
    println!(r#"{{"parameters": "M={m}, ef_construction={ef_construction}, f32"}}"#);
    match index.as_str() {
        "vectord" => {
            let graph = Graph::new(graph_metric(metric), params);
            let mut scratch = Scratch::new();
            serve(
                &queries,
                |threads| Ok(fill(&graph, &base, 0..base.len(), threads)?),
                |query, ef| {
                    let measure = Measure::new(metric, query);
                    let ranks = graph.search(&base, &measure, ef, K, |_| true, &mut scratch)?;
                    let nearest = scratch.results().iter();
                    Ok((nearest.map(|found| found.slot).collect(), ranks))
                },
            )
        }
        "hnsw_rs" => {
            let reference = Reference::new(metric, params, &base);
            serve(
                &queries,
                |threads| Ok(reference.fill(0..base.len(), threads)?),
                |query, ef| Ok(reference.search(query, ef)),
            )
        }
        _ => Err(format!("index {index}: expected vectord or hnsw_rs").into()),
    }
}

fn metric_of(name: &str) -> Result<Metric> {
    let mut metrics = Metric::ALL.into_iter();
    metrics
        .find(|metric| format!("{metric:?}") == name)
        .ok_or_else(|| format!("metric {name}: expected one of {:?}", Metric::ALL).into())
}

/// The metric of the graph that the service walks under `metric`.
fn graph_metric(metric: Metric) -> Metric {
    match metric {
        Metric::Manhattan => Metric::Euclidean,
        own => own,
    }
}

/// Obeys the commands of standard input until it ends. `search` gives the slots nearest to a query
/// and how many distances it took to find them.
fn serve(
    queries: &Vectors,
    build: impl Fn(u32) -> Result<()>,
    mut search: impl FnMut(&[f32], usize) -> Result<(Vec<u32>, u64)>,
) -> Result<()> {
    for line in io::stdin().lines() {
        let line = line?;
        let start = Instant::now();
        match line.split_once(' ') {
            Some(("build", threads)) => {
                build(threads.parse()?)?;
                println!(r#"{{"seconds": {}}}"#, start.elapsed().as_secs_f64());
            }
            Some(("search", ef)) => {
                let ef = ef.parse()?;
                let mut found = Vec::with_capacity(queries.len() as usize);
                let mut evaluations = 0;
                for query in 0..queries.len() {
                    let (slots, distances) = search(queries.vector(query), ef)?;
                    found.push(slots);
                    evaluations += distances;
                }
                let seconds = start.elapsed().as_secs_f64();
                println!(
                    r#"{{"seconds": {seconds}, "found": {found:?}, "evaluations": {evaluations}}}"#
                );
            }
            _ => return Err(format!("command {line:?}: expected build or search").into()),
        }
    }
    Ok(())
}
