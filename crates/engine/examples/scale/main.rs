//! How the cost of a search grows with the number of points: time, distance evaluations, build and
//! memory at equal recall, for sets of several sizes from one distribution.
//!
//! `scale [--data FOLDER] [--short] [--long] [--json FILE]`, with `VECTORD_DATA` as the folder if
//! none is named; without one there are the synthetic sets alone. `--short` is for a try, `--long`
//! adds a million points.

#[path = "../peer/cpu.rs"]
mod cpu;
mod curve;
mod growth;
#[allow(dead_code)]
#[path = "../memory/smaps.rs"]
mod smaps;
// What the recall benchmark has already; not all of it is needed here.
#[allow(dead_code)]
#[path = "../../tests/support/mod.rs"]
mod support;
mod synthetic;

use std::{
    env,
    path::{Path, PathBuf},
};

use curve::{RECALL, Reading};
use smaps::Resident;
use support::{Result, fill::fill, npy::Npy, recall, vectors::Vectors};
use synthetic::Family;
use vectord_engine::{
    Metric,
    graph::{Graph, Params},
    measure::Measure,
    points::Points,
};

const SIZES: [usize; 4] = [10_000, 30_000, 100_000, 200_000];
const SHORT_SIZES: [usize; 3] = [1_000, 3_000, 10_000];
const LONG_SIZE: usize = 1_000_000;
const DIMENSION: usize = 128;
const QUERIES: usize = 500;
const METRIC: Metric = Metric::Euclidean;

#[derive(Default)]
struct Options {
    data: Option<PathBuf>,
    json: Option<PathBuf>,
    short: bool,
    long: bool,
}

/// What one size shows.
struct Row {
    points: usize,
    at: Reading,
    build_cpu: f64,
    /// Anonymous memory that codes and graph take, where the system tells it.
    bytes: Option<u64>,
}

fn main() -> Result<()> {
    let options = options()?;
    let sizes: &[usize] = if options.short { &SHORT_SIZES } else { &SIZES };
    let Params { m, ef_construction } = Params::default();
    println!(
        "recall@10 of {RECALL}, {METRIC:?}, M={m}, ef_construction={ef_construction}, \
         {QUERIES} queries; all times are processor time of one thread"
    );
    let mut tables = Vec::new();

    let family = Family::new(DIMENSION);
    let queries = Vectors::new(DIMENSION, family.queries(QUERIES));
    let long = Some(LONG_SIZE).filter(|_| options.long);
    let title = format!(
        "synthetic: {DIMENSION} values, intrinsic dimension {}, {} clusters",
        synthetic::INTRINSIC,
        synthetic::CLUSTERS
    );
    let sizes_and_long: Vec<usize> = sizes.iter().copied().chain(long).collect();
    tables.push(growth::table(
        "synthetic",
        &title,
        &sizes_and_long,
        |points| measure(Vectors::new(DIMENSION, family.points(0, points)), &queries),
    )?);

    if let Some(folder) = &options.data {
        let array = Npy::read(&folder.join("sift_base.u8.npy"))?;
        let rows = array.data.len() / array.columns;
        let queries = Vectors::read(&folder.join("sift_query.u8.npy"))?.first(QUERIES);
        let sizes: Vec<usize> = sizes.iter().copied().filter(|&size| size <= rows).collect();
        let title = format!("sift: the first of {rows} rows of {} values", array.columns);
        tables.push(growth::table("sift", &title, &sizes, |points| {
            measure(first_rows(&array, points), &queries)
        })?);
    } else {
        println!("\nno sift: VECTORD_DATA or --data names the folder of sets");
    }
    if let Some(path) = &options.json {
        fs_err::write(path, growth::json(&tables))?;
        println!("\nwritten to {}", path.display());
    }
    Ok(())
}

fn options() -> Result<Options> {
    let mut options = Options {
        data: env::var_os("VECTORD_DATA").map(PathBuf::from),
        ..Options::default()
    };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--short" => options.short = true,
            "--long" => options.long = true,
            "--data" => options.data = Some(arguments.next().ok_or("--data FOLDER")?.into()),
            "--json" => options.json = Some(arguments.next().ok_or("--json FILE")?.into()),
            _ => return Err("scale [--data FOLDER] [--short] [--long] [--json FILE]".into()),
        }
    }
    Ok(options)
}

/// The first rows of an array of bytes.
fn first_rows(array: &Npy, rows: usize) -> Vectors {
    let bytes = &array.data[..rows * array.columns];
    let values = bytes.iter().map(|&byte| f32::from(byte)).collect();
    Vectors::new(array.columns, values)
}

/// Builds the graph of a set and searches it.
fn measure(base: Vectors, queries: &Vectors) -> Result<Row> {
    let points = base.len() as usize;
    let bounds: Vec<f32> = (0..queries.len())
        .map(|query| {
            let measure = Measure::new(METRIC, queries.vector(query));
            recall::bound(&base, &measure, 0..base.len())
        })
        .collect();
    let (before, cpu) = (anonymous(), cpu::seconds());
    let base = base.with_codes()?;
    let graph = Graph::new(METRIC, Params::default());
    fill(&graph, &base, 0..base.len(), 1)?;
    let build_cpu = cpu::seconds() - cpu;
    let bytes = anonymous().zip(before);
    Ok(Row {
        points,
        at: curve::at_recall(&graph, &base, queries, &bounds)?,
        build_cpu,
        bytes: bytes.map(|(after, before)| after.saturating_sub(before)),
    })
}

/// Anonymous memory that is resident, where the system tells it.
fn anonymous() -> Option<u64> {
    let resident = Resident::now(Path::new("/nowhere")).ok()?;
    Some(resident.anonymous)
}
