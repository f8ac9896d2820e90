//! The recall benchmark: builds graphs over real sets, searches them and holds recall and effort
//! against targets. Exits with 1 when a target is missed.
//!
//! `cargo run --release -p vectord-engine --example recall -- FOLDER`, or with `VECTORD_DATA` as
//! the folder. The folder holds, as `.npy` files, `<set>_base`, `<set>_query` (`u8` or `f16`) and
//! `<set>_gt_<metric>` (`i32`: the exact nearest rows of the base for each query, closest first).

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::Instant,
};

use vectord_engine::{
    Metric, distance,
    graph::{Graph, Params, Scratch},
    measure::Measure,
    points::Points,
};

/// Any failure: the benchmark only reports it.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const K: usize = 10;
const BUILD_THREADS: u32 = 2;

/// The breadths searched with, and the share of the points each may rank at most.
const BREADTHS: [(usize, f64); 2] = [(100, 0.05), (400, 0.15)];

/// A set, the graph to build over it, and the searches of that graph.
struct Case {
    set: &'static str,
    values: &'static str,
    graph: Metric,
    searches: &'static [(Metric, &'static str)],
    /// The least recall at each breadth. `MinHash` ranks are small integers, full of ties.
    targets: [f64; 2],
}

const CASES: [Case; 4] = [
    Case {
        set: "sift",
        values: "u8",
        graph: Metric::Euclidean,
        searches: &[(Metric::Euclidean, "l2"), (Metric::Manhattan, "l1")],
        targets: [0.95, 0.99],
    },
    Case {
        set: "minilm",
        values: "f16",
        graph: Metric::Euclidean,
        searches: &[(Metric::Euclidean, "l2"), (Metric::Manhattan, "l1")],
        targets: [0.95, 0.99],
    },
    Case {
        set: "minilm",
        values: "f16",
        graph: Metric::Cosine,
        searches: &[(Metric::Cosine, "cosine")],
        targets: [0.95, 0.99],
    },
    Case {
        set: "minhash",
        values: "u8",
        graph: Metric::Hamming,
        searches: &[(Metric::Hamming, "hamming")],
        targets: [0.95, 0.985],
    },
];

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            eprintln!("{missed} targets missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every case and returns how many targets were missed.
fn run() -> Result<usize> {
    let folder = env::args_os()
        .nth(1)
        .or_else(|| env::var_os("VECTORD_DATA"));
    let folder = PathBuf::from(folder.ok_or("name the folder of the sets, or set VECTORD_DATA")?);
    println!(
        "{:8} {:10} {:>7} {:>8} {:>4} {:>9} {:>11} {:>9} {:>9}",
        "set",
        "metric",
        "points",
        "build s",
        "ef",
        "recall@10",
        "ranks/query",
        "of points",
        "us/query"
    );
    let mut missed = 0;
    for case in &CASES {
        let file = |part: &str| folder.join(format!("{}_{part}.npy", case.set));
        let base = Vectors::read(&file(&format!("base.{}", case.values)))?;
        let queries = Vectors::read(&file(&format!("query.{}", case.values)))?;
        let start = Instant::now();
        let graph = build(&base, case.graph)?;
        let build_seconds = start.elapsed().as_secs_f64();
        for &(metric, name) in case.searches {
            let truth = Truth::read(&file(&format!("gt_{name}")))?;
            for ((ef, most_ranks), target) in BREADTHS.into_iter().zip(case.targets) {
                let outcome = search(&graph, &base, &queries, &truth, metric, ef)?;
                let share = outcome.ranks / f64::from(base.len());
                let hit = outcome.recall >= target && share < most_ranks;
                missed += usize::from(!hit);
                println!(
                    "{:8} {:10} {:7} {build_seconds:8.1} {ef:4} {:9.4} {:11.0} {:8.2}% {:9.0}{}",
                    case.set,
                    format!("{metric:?}"),
                    base.len(),
                    outcome.recall,
                    outcome.ranks,
                    100.0 * share,
                    outcome.micros,
                    if hit { "" } else { "  MISSED" },
                );
            }
        }
    }
    Ok(missed)
}

fn build(base: &Vectors, metric: Metric) -> Result<Graph> {
    let graph = Graph::new(metric, Params::default());
    let next = AtomicU32::new(0);
    let work = || -> vectord_engine::Result<()> {
        let mut scratch = Scratch::new();
        loop {
            let slot = next.fetch_add(1, Relaxed);
            if slot >= base.len() {
                return Ok(());
            }
            graph.insert(base, slot, &mut scratch)?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..BUILD_THREADS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a builder panicked"))
    })?;
    Ok(graph)
}

/// What a query costs and brings, on average.
struct Outcome {
    recall: f64,
    ranks: f64,
    micros: f64,
}

fn search(
    graph: &Graph,
    base: &Vectors,
    queries: &Vectors,
    truth: &Truth,
    metric: Metric,
    ef: usize,
) -> Result<Outcome> {
    let mut scratch = Scratch::new();
    let (mut hits, mut ranks, mut seconds) = (0, 0, 0.0);
    for query in 0..queries.len() {
        let measure = Measure::new(metric, queries.vector(query));
        let start = Instant::now();
        ranks += graph.search(base, &measure, ef, |_| true, &mut scratch)?;
        seconds += start.elapsed().as_secs_f64();
        // By distance, not by row: where ranks tie, every row at the true K-th distance is right.
        let bound = measure.rank(base, truth.row(query, K - 1));
        let bound = bound + bound.abs() * 1e-6 + f32::EPSILON;
        hits += scratch
            .results()
            .iter()
            .take(K)
            .filter(|found| found.rank <= bound)
            .count();
    }
    let queries = f64::from(queries.len());
    Ok(Outcome {
        recall: hits as f64 / (queries * K as f64),
        ranks: ranks as f64 / queries,
        micros: seconds * 1e6 / queries,
    })
}

/// Vectors in memory, a slot for each row of the file.
struct Vectors {
    dimension: usize,
    values: Vec<f32>,
    inverse_norms: Vec<f32>,
}

impl Vectors {
    fn read(path: &Path) -> Result<Self> {
        let Npy {
            kind,
            columns: dimension,
            data,
        } = Npy::read(path)?;
        let values: Vec<f32> = match kind.as_str() {
            "|u1" => data.iter().map(|&byte| f32::from(byte)).collect(),
            "<f2" => {
                let (pairs, _) = data.as_chunks();
                pairs
                    .iter()
                    .map(|&pair| half::f16::from_le_bytes(pair).to_f32())
                    .collect()
            }
            _ => {
                return Err(format!("{}: {kind} values, expected u1 or f2", path.display()).into());
            }
        };
        let inverse_norms = values
            .chunks(dimension)
            .map(distance::inverse_norm)
            .collect();
        Ok(Vectors {
            dimension,
            values,
            inverse_norms,
        })
    }

    fn len(&self) -> u32 {
        self.inverse_norms.len() as u32
    }
}

impl Points for Vectors {
    fn vector(&self, slot: u32) -> &[f32] {
        let start = slot as usize * self.dimension;
        &self.values[start..start + self.dimension]
    }

    fn inverse_norm(&self, slot: u32) -> f32 {
        self.inverse_norms[slot as usize]
    }

    fn prefetch(&self, slot: u32) {
        distance::prefetch(self.vector(slot));
    }
}

/// The exact nearest rows of each query.
struct Truth {
    columns: usize,
    rows: Vec<u32>,
}

impl Truth {
    fn read(path: &Path) -> Result<Self> {
        let Npy {
            kind,
            columns,
            data,
        } = Npy::read(path)?;
        if kind != "<i4" {
            return Err(format!("{}: {kind} values, expected i4", path.display()).into());
        }
        let rows = data
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| u32::from_le_bytes(bytes))
            .collect();
        Ok(Truth { columns, rows })
    }

    fn row(&self, query: u32, place: usize) -> u32 {
        self.rows[query as usize * self.columns + place]
    }
}

/// A two-dimensional array file of numpy, version 1 of the format.
struct Npy {
    kind: String,
    columns: usize,
    data: Vec<u8>,
}

impl Npy {
    fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Npy::parse(&bytes).ok_or_else(|| format!("{}: not a 2-d .npy", path.display()).into())
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(b"\x93NUMPY\x01\x00")?;
        let (length, rest) = rest.split_first_chunk()?;
        let (header, data) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        let header = str::from_utf8(header).ok()?;
        let kind = header
            .split_once("'descr': '")?
            .1
            .split('\'')
            .next()?
            .to_owned();
        let shape = header.split_once("'shape': (")?.1.split(')').next()?;
        let columns = shape.split_once(',')?.1.trim().parse().ok()?;
        Some(Npy {
            kind,
            columns,
            data: data.to_vec(),
        })
    }
}
