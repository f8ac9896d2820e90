//! One index in the comparison with other libraries, which `bench/peers` runs: `peer
//! vectord|vectord-filtered|hnsw_rs METRIC BASE QUERIES POINTS M EF_CONSTRUCTION`.
//!
//! It reads the first `POINTS` rows of `BASE` and answers with a line of JSON. Then it reads
//! commands, `build THREADS`, `filter BOUND`, `k N` (how many results, 10 at first) and `search EF`
//! (on one thread), and answers each with a line that has, of the first and the last, the seconds
//! of wall time and of processor time.

mod filtered;
mod index;

use std::{env, io, mem, path::Path, time::Instant};

use filtered::Filtered;
use index::Index;
use vectord_bench::{Result, cpu, fill::fill, recall::K, reference::Reference, vectors::Vectors};
use vectord_engine::{
    Metric, Params,
    layers::{
        hnsw::{Graph, Scratch},
        vectors::{measure::Measure, points::Points, quantize::Codes},
    },
};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [index, metric, base, queries, points, m, ef_construction] = &*arguments else {
        return Err("peer INDEX METRIC BASE QUERIES POINTS M EF_CONSTRUCTION".into());
    };
    let metric = metric_of(metric)?;
    let base = Vectors::read(Path::new(base))?.first(points.parse()?);
    let queries = Vectors::read(Path::new(queries))?;
    let params = Params {
        m: m.parse()?,
        ef_construction: ef_construction.parse()?,
    };
    let ranked = match index.as_str() {
        "vectord" | "vectord-filtered" => ranked_by(metric, &base),
        _ => "f32",
    };
    println!(r#"{{"parameters": "M={m}, ef_construction={ef_construction}, {ranked}"}}"#);
    match index.as_str() {
        "vectord" => serve(&queries, &mut Own::new(metric, params, base)),
        "vectord-filtered" => serve(&queries, &mut Filtered::new(metric, base)),
        "hnsw_rs" => serve(&queries, &mut Other::new(metric, params, &base)),
        _ => Err(format!("index {index}: expected vectord, vectord-filtered or hnsw_rs").into()),
    }
}

/// The vectors that vectord ranks.
fn ranked_by(metric: Metric, base: &Vectors) -> &'static str {
    if !Codes::pay(base.vector(0).len()) || !Codes::suit(metric) {
        "f32"
    } else {
        "4-bit codes, rescored by 8 bits and in f32"
    }
}

/// The graph of the service.
struct Own {
    metric: Metric,
    base: Vectors,
    graph: Graph,
    scratch: Scratch,
}

impl Own {
    fn new(metric: Metric, params: Params, base: Vectors) -> Self {
        Own {
            metric,
            base,
            graph: Graph::new(metric, params),
            scratch: Scratch::new(),
        }
    }
}

impl Index for Own {
    /// Makes the codes too: they are a part of the index, in time and in memory.
    fn build(&mut self, threads: u32) -> Result<()> {
        let plain = mem::replace(&mut self.base, Vectors::new(1, Vec::new()));
        self.base = plain.with_codes()?;
        Ok(fill(&self.graph, &self.base, 0..self.base.len(), threads)?)
    }

    fn search(&mut self, query: &[f32], ef: usize, k: usize) -> Result<(Vec<u32>, Option<u64>)> {
        let measure = Measure::new(self.metric, query);
        let scratch = &mut self.scratch;
        let ranks = self
            .graph
            .search(&self.base, &measure, ef, k, |_| true, scratch)?;
        let nearest = scratch.results().iter();
        Ok((nearest.map(|found| found.slot).collect(), Some(ranks)))
    }
}

/// The graph of `hnsw_rs`.
struct Other<'a> {
    points: u32,
    reference: Reference<'a>,
}

impl<'a> Other<'a> {
    fn new(metric: Metric, params: Params, base: &'a Vectors) -> Self {
        Other {
            points: base.len(),
            reference: Reference::new(metric, params, base),
        }
    }
}

impl Index for Other<'_> {
    fn build(&mut self, threads: u32) -> Result<()> {
        Ok(self.reference.fill(0..self.points, threads)?)
    }

    fn search(&mut self, query: &[f32], ef: usize, k: usize) -> Result<(Vec<u32>, Option<u64>)> {
        let (slots, distances) = self.reference.search(query, ef, k);
        Ok((slots, Some(distances)))
    }
}

fn metric_of(name: &str) -> Result<Metric> {
    let mut metrics = Metric::ALL.into_iter();
    metrics
        .find(|metric| format!("{metric:?}") == name)
        .ok_or_else(|| format!("metric {name}: expected one of {:?}", Metric::ALL).into())
}

/// Obeys the commands of standard input until it ends.
fn serve(queries: &Vectors, index: &mut impl Index) -> Result<()> {
    let mut k = K;
    for line in io::stdin().lines() {
        let line = line?;
        let (start, cpu) = (Instant::now(), cpu::seconds());
        let took = || {
            let (seconds, cpu_seconds) = (start.elapsed().as_secs_f64(), cpu::seconds() - cpu);
            format!(r#""seconds": {seconds}, "cpu_seconds": {cpu_seconds}"#)
        };
        match line.split_once(' ') {
            Some(("build", threads)) => {
                index.build(threads.parse()?)?;
                println!("{{{}}}", took());
            }
            Some(("filter", bound)) => {
                index.filter(bound.parse()?)?;
                println!("{{}}");
            }
            Some(("k", count)) => {
                k = count.parse()?;
                println!("{{}}");
            }
            Some(("search", ef)) => {
                let ef = ef.parse()?;
                let mut found = Vec::with_capacity(queries.len() as usize);
                let mut evaluations = Some(0);
                for query in 0..queries.len() {
                    let (slots, distances) = index.search(queries.vector(query), ef, k)?;
                    found.push(slots);
                    evaluations = evaluations.zip(distances).map(|(sum, one)| sum + one);
                }
                let took = took();
                let evaluations = evaluations.map_or("null".into(), |sum: u64| sum.to_string());
                println!(r#"{{{took}, "found": {found:?}, "evaluations": {evaluations}}}"#);
            }
            _ => {
                return Err(
                    format!("command {line:?}: expected build, filter, k or search").into(),
                );
            }
        }
    }
    Ok(())
}
