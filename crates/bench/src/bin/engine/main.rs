//! What a search through the engine costs beside a walk of the bare graph:
//! `engine FOLDER [--points N] [--json FILE]`.
//!
//! The bare graph ranks vectors in memory and returns slots, as `peer` does in its comparison with
//! other libraries. The engine reads its vectors from the mapped log, leaves out points that are
//! deleted or not yet visible, chooses between walk and scan, orders the answer in double precision
//! and looks up the ids. Both search the same points at the same breadth on one thread; they take
//! turns, and processor time is measured.

use std::{
    env,
    hint::black_box,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    thread,
    time::Duration,
};
use vectord_bench::cpu;

use vectord_bench::{
    Result,
    fill::fill,
    report::{Bound, Cell, Report, Row, Table, Verdict},
    rounds::Samples,
    vectors::Vectors,
};
use vectord_engine::{
    DEFAULT_SEGMENT_BYTES, Metric, Params,
    layers::{
        hnsw::{Graph, Scratch},
        index::{Index, Linker, Request},
        store::{OpenOptions, Store, Write},
        vectors::{measure::Measure, points::Points},
    },
};

const SETS: [(&str, &str, Metric); 4] = [
    ("sift", "u8", Metric::Euclidean),
    ("sift", "u8", Metric::Manhattan),
    ("minilm", "f16", Metric::Cosine),
    ("minhash", "u8", Metric::Hamming),
];
/// The most points of a set.
const POINTS: usize = 100_000;
/// About recall 0.95 and 0.99 on the first set, and the default.
const BREADTHS: [usize; 3] = [24, 40, 100];
const LIMIT: usize = 10;
const ROUNDS: usize = 7;
/// The most that a search of the engine may cost, in walks of the bare graph.
const MOST_RATIO: f64 = 1.5;
/// The points of one insert request.
const BATCH: usize = 1_000;

struct Options {
    folder: PathBuf,
    points: usize,
    json: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let options = options()?;
    let (mut rows, mut verdicts) = (Vec::new(), Vec::new());
    for (name, values, metric) in SETS {
        let read = |part: &str| {
            let file = format!("{name}_{part}.{values}.npy");
            Vectors::read(&options.folder.join(file))
        };
        let base = read("base")?.first(options.points);
        for (ef, row) in compare(name, metric, base, &read("query")?)? {
            let (_, ratio) = row.last().ok_or("a row has columns")?;
            verdicts.push(Verdict {
                what: format!("{name}, {metric:?}, ef {ef}: engine / bare"),
                found: ratio.clone(),
                bound: Bound::AtMost(MOST_RATIO),
            });
            rows.push(row);
        }
    }
    for verdict in &verdicts {
        verdict.print();
    }
    let settings = vec![
        ("points of a set", format!("at most {}", options.points)),
        ("limit", LIMIT.to_string()),
        ("threads", "1".into()),
        (
            "rounds",
            format!("{ROUNDS} interleaved, of which the median, the least and the most"),
        ),
    ];
    let report = Report {
        settings,
        tables: vec![Table {
            title: "A search through the engine beside a walk of the bare graph".into(),
            rows,
        }],
        verdicts,
        decides: true,
    };
    Ok(report.end(options.json.as_deref())?)
}

fn options() -> Result<Options> {
    let usage = "engine FOLDER [--points N] [--json FILE]";
    let mut arguments = env::args().skip(1);
    let mut options = Options {
        folder: arguments.next().ok_or(usage)?.into(),
        points: POINTS,
        json: None,
    };
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(usage)?;
        match argument.as_str() {
            "--points" => options.points = value.parse()?,
            "--json" => options.json = Some(value.into()),
            _ => return Err(usage.into()),
        }
    }
    Ok(options)
}

/// Measures both on one set, at each breadth.
fn compare(
    name: &'static str,
    metric: Metric,
    base: Vectors,
    queries: &Vectors,
) -> Result<Vec<(usize, Row)>> {
    let folder = tempfile::tempdir()?;
    let index = engine(folder.path(), metric, &base)?;
    let base = base.with_codes()?;
    let graph = Graph::new(metric, Params::default());
    fill(&graph, &base, 0..base.len(), 1)?;
    let mut scratch = Scratch::new();
    let mut rows = Vec::new();
    for ef in BREADTHS {
        let [mut alone, mut whole, mut ratio] = [const { Samples::new() }; 3];
        for round in 0..=ROUNDS {
            let start = cpu::seconds();
            for query in (0..queries.len()).map(|query| queries.vector(query)) {
                let measure = Measure::new(metric, query);
                graph.search(&base, &measure, ef, LIMIT, |_| true, &mut scratch)?;
                black_box(scratch.results());
            }
            let between = cpu::seconds();
            for query in (0..queries.len()).map(|query| queries.vector(query)) {
                let request = Request {
                    metric,
                    query,
                    limit: LIMIT,
                    ef,
                    within: None,
                };
                black_box(index.view().prepare(request).run(&mut scratch)?);
            }
            let end = cpu::seconds();
            // The first round brings caches and costs up.
            if round > 0 {
                let microseconds = 1e6 / f64::from(queries.len());
                alone.add(((between - start) * microseconds) as f32);
                whole.add(((end - between) * microseconds) as f32);
                ratio.add(((end - between) / (between - start)) as f32);
            }
        }
        let row: Row = vec![
            ("set", name.into()),
            ("metric", Cell::Text(format!("{metric:?}"))),
            ("points", (base.len() as usize).into()),
            ("ef", ef.into()),
            ("bare graph us", alone.cell(1)),
            ("engine us", whole.cell(1)),
            ("engine / bare", ratio.cell(2)),
        ];
        let cells = row.iter().map(|(name, cell)| format!("{name} {cell}"));
        println!("{}", cells.collect::<Vec<_>>().join(", "));
        rows.push((ef, row));
    }
    Ok(rows)
}

/// An index over a log with the vectors, all of them linked.
fn engine(folder: &Path, metric: Metric, base: &Vectors) -> Result<Arc<Index>> {
    let dimension = base.vector(0).len() as u32;
    let options = OpenOptions {
        path: folder.to_owned(),
        dimension: Some(dimension),
        default_dimension: dimension,
        segment_bytes: DEFAULT_SEGMENT_BYTES,
    };
    let mut store = Store::open(&options)?.store;
    let index = Arc::new(Index::new(store.segments(), dimension, Params::default()));
    let id = |slot: u32| u128::from(slot).to_be_bytes();
    for first in (0..base.len()).step_by(BATCH) {
        let slots = first..base.len().min(first + BATCH as u32);
        let writes = slots.clone().map(|slot| Write::Insert {
            id: id(slot),
            vector: base.vector(slot),
            content_type: 0,
            content: &[],
            metadata: &[],
            replaced: None,
        });
        let locations = store.commit(&writes.collect::<Vec<_>>())?;
        for (slot, location) in slots.clone().zip(locations) {
            index.insert(id(slot), location, u64::from(slot) + 1)?;
        }
        index.publish(slots.end.into());
    }
    index.want_graph(metric);
    let linker = Linker::start(&index, 2)?;
    while index
        .graphs()
        .iter()
        .any(|graph| graph.linked < graph.slots)
    {
        thread::sleep(Duration::from_millis(20));
    }
    // The threads note in the end what all searches see.
    thread::sleep(Duration::from_millis(500));
    linker.stop();
    Ok(index)
}
