//! How the cost of a search grows with the number of points: time, distance evaluations, build and
//! memory at equal recall, for sets of several sizes from one distribution.
//!
//! `scale [--data FOLDER] [--short] [--long] [--json FILE]`, with `VECTORD_DATA` as the folder if
//! none is named; without a folder it measures only the synthetic sets. `--short` is for a trial,
//! `--long` adds a million points. Exits with 1 when a target is missed.

mod curve;
mod growth;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};
use vectord_bench::{cpu, synthetic};

use curve::RECALL;
use growth::{Judged, Row};
use vectord_bench::{
    Result,
    fill::fill,
    npy::Npy,
    recall,
    report::{Report, Table},
    smaps::Resident,
    synthetic::Family,
    vectors::Vectors,
};
use vectord_engine::{
    Metric, Params,
    layers::{
        hnsw::Graph,
        vectors::{measure::Measure, points::Points},
    },
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

impl Options {
    fn sizes(&self) -> &'static [usize] {
        if self.short { &SHORT_SIZES } else { &SIZES }
    }
}

fn main() -> Result<ExitCode> {
    let options = options()?;
    let settings = settings();
    for (name, value) in &settings {
        println!("{name}: {value}");
    }
    let mut sets = vec![synthetic_sets(&options)?];
    if let Some(folder) = &options.data {
        sets.push(sift(folder, &options)?);
    } else {
        println!("\nno sift: VECTORD_DATA or --data names the folder of sets");
    }
    let (mut tables, mut growths, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
    for set in sets {
        tables.push(set.table);
        growths.extend(set.growth);
        verdicts.extend(set.verdicts);
    }
    let title = "Growth of evaluations".into();
    tables.push(Table {
        title,
        rows: growths,
    });
    let report = Report {
        settings,
        tables,
        verdicts,
        decides: !options.short,
    };
    Ok(report.end(options.json.as_deref())?)
}

fn settings() -> Vec<(&'static str, String)> {
    let Params { m, ef_construction } = Params::default();
    vec![
        ("recall@10", RECALL.to_string()),
        ("metric", format!("{METRIC:?}")),
        (
            "graphs",
            format!("M={m}, ef_construction={ef_construction}"),
        ),
        ("queries", QUERIES.to_string()),
        ("times", "processor time of one thread".into()),
    ]
}

fn synthetic_sets(options: &Options) -> Result<Judged> {
    let family = Family::new(DIMENSION);
    let queries = Vectors::new(DIMENSION, family.queries(QUERIES));
    let long = Some(LONG_SIZE).filter(|_| options.long);
    let sizes: Vec<usize> = options.sizes().iter().copied().chain(long).collect();
    let title = format!(
        "synthetic: {DIMENSION} values, intrinsic dimension {}, {} clusters",
        synthetic::INTRINSIC,
        synthetic::CLUSTERS
    );
    growth::table("synthetic", title, &sizes, |points| {
        measure(Vectors::new(DIMENSION, family.points(0, points)), &queries)
    })
}

fn sift(folder: &Path, options: &Options) -> Result<Judged> {
    let array = Npy::read(&folder.join("sift_base.u8.npy"))?;
    let rows = array.data.len() / array.columns;
    let queries = Vectors::read(&folder.join("sift_query.u8.npy"))?.first(QUERIES);
    let sizes = options.sizes().iter().copied();
    let sizes: Vec<usize> = sizes.filter(|&size| size <= rows).collect();
    let title = format!("sift: the first of {rows} rows of {} values", array.columns);
    growth::table("sift", title, &sizes, |points| {
        measure(
            Vectors::new(array.columns, array.rows(0..points)?),
            &queries,
        )
    })
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

/// Resident anonymous memory, where the system reports it.
fn anonymous() -> Option<u64> {
    let resident = Resident::now(Path::new("/nowhere")).ok()?;
    Some(resident.anonymous)
}
