//! How fast the exact scan reads, beside a plain read of the same bytes:
//! `scan [--mib N] [--crossover 0] [--choice 0] [--json FILE]`. Exits with 1 when the target is missed.
//!
//! For each dimension it fills a store with more vectors than any cache holds. Then it takes turns:
//! plain passes over the vectors that only add them up, a scan for one query after each of them,
//! and a scan for 32 queries together. Of each round the fastest plain pass and the fastest scan
//! count. It prints the median of the rounds, with the least and the most. Ratios are taken within
//! a round. Everything runs on one thread.

mod broad;
mod case;
mod choice;
mod crossover;
mod points;
mod reads;
mod settings;

use std::{env, hint::black_box, path::PathBuf, process::ExitCode, time::Instant};

use case::Case;
use points::Collection;
use reads::Reads;
use settings::{LIMIT, ROUNDS};
use vectord_bench::report::{Report, Table};
use vectord_engine::{
    Error, Metric, Result,
    layers::{
        hnsw::Scratch,
        index::{Index, Prepared, Request},
        vectors::points::Points,
    },
};

const DIMENSIONS: [u32; 3] = [128, 384, 1536];
const TILE: usize = 32;

/// Fewer vectors may stay in a cache, so that neither way would read memory.
const LEAST_MIB: usize = 256;

struct Options {
    mib: usize,
    with_crossover: bool,
    with_choice: bool,
    json: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let options = options()?;
    let mib = options.mib;
    println!("{mib} MiB of vectors, one thread; median (least-most) of {ROUNDS} rounds");
    Case::heading();
    let mut cases = Vec::new();
    for dimension in DIMENSIONS {
        let count = (mib << 20) / (dimension as usize * 4);
        let collection = Collection::filled(dimension, count)?;
        cases.extend(measure(&collection.index, dimension, count as u32)?);
    }
    println!();
    let verdicts: Vec<_> = cases.iter().map(Case::verdict).collect();
    for verdict in &verdicts {
        verdict.print();
    }
    let mut tables = vec![Table {
        title: "Scan beside a plain read".into(),
        rows: cases.iter().map(Case::row).collect(),
    }];
    if options.with_crossover {
        tables.push(crossover::show()?);
    }
    let mut verdicts = verdicts;
    if options.with_choice {
        let (table, verdict) = choice::show()?;
        verdict.print();
        tables.push(table);
        verdicts.push(verdict);
        tables.push(broad::show()?);
    }
    let report = Report {
        settings: settings(mib),
        tables,
        verdicts,
        decides: mib >= LEAST_MIB,
    };
    Ok(report.end(options.json.as_deref())?)
}

fn options() -> Result<Options> {
    let mut options = Options {
        mib: 512,
        with_crossover: true,
        with_choice: true,
        json: None,
    };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next();
        let number = value.as_ref().and_then(|value| value.parse().ok());
        match (argument.as_str(), number, value) {
            ("--mib", Some(mib), _) => options.mib = mib,
            ("--crossover", Some(0), _) => options.with_crossover = false,
            ("--choice", Some(0), _) => options.with_choice = false,
            ("--json", _, Some(file)) => options.json = Some(file.into()),
            _ => {
                let usage = "scan [--mib N] [--crossover 0] [--choice 0] [--json FILE]";
                return Err(Error::InvalidArgument(usage.into()));
            }
        }
    }
    Ok(options)
}

fn settings(mib: usize) -> Vec<(&'static str, String)> {
    let rounds = format!("{ROUNDS} interleaved, of which the median, the least and the most");
    let plain = "the fastest of several ways to add up the vectors, in the log and in huge pages";
    vec![
        ("vectors", format!("{mib} MiB of each dimension")),
        ("threads", "1".into()),
        ("rounds", rounds),
        ("plain read", plain.into()),
        (
            "32 together / one",
            "ranks a second of 32 queries together over those of one".into(),
        ),
    ]
}

/// Measures the scan under each metric.
fn measure(index: &Index, dimension: u32, count: u32) -> Result<Vec<Case>> {
    let queries: Vec<Vec<f32>> = (0..TILE)
        .map(|seed| points::query(dimension, seed))
        .collect();
    // Looked up beforehand: a plain read has nothing else to do.
    let reads = Reads::new((0..count).map(|slot| index.arena().vector(slot)).collect())?;
    let gigabytes = count as f32 * dimension as f32 * 4.0 / 1e9;
    let mut cases = Vec::new();
    for metric in Metric::ALL {
        let mut case = Case::new(dimension, metric);
        for round in 0..=ROUNDS {
            let [mut read, mut alone] = [f32::INFINITY; 2];
            for seconds in reads.passes() {
                read = read.min(seconds);
                let query = &queries[round % TILE..][..1];
                alone = alone.min(scan_seconds(index, metric, query)?);
            }
            let tile = scan_seconds(index, metric, &queries)? / TILE as f32;
            // The first round brings pages and clock up.
            if round > 0 {
                case.read.add(gigabytes / read);
                case.scan.add(gigabytes / alone);
                case.ratio.add(read / alone);
                case.together.add(alone / tile);
            }
        }
        case.print();
        cases.push(case);
    }
    Ok(cases)
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
            within: None,
        }));
    }
    black_box(Prepared::run_together(searches, &mut scratch, |_| true)?);
    Ok(start.elapsed().as_secs_f32())
}
