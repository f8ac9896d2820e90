//! How long a restart takes, and what else a large folder asks for; [`options`] has the flags.
//!
//! It fills a folder with points and builds one graph, unless `--folder` names a folder that has
//! them. Then it opens the folder in three ways, again and again: with its snapshot and all files in
//! the page cache; without a snapshot, so that the graph is built in the background while exact scans
//! answer; and with its snapshot but an empty page cache. Each time it compares the first answer with
//! that before. At the end it searches at several breadths, with recall against the exact scans, and
//! writes while a snapshot is written.

mod folder;
mod options;
mod source;
mod writes;

use std::{fs, process::ExitCode, time::Instant};

use folder::{Answer, Built, Folder, LIMIT, answer, answers};
use options::Options;
use source::Source;
use vectord_bench::{
    Result,
    report::{Bound, Cell, Report, Row, Table, Verdict},
    rounds::Samples,
    smaps::Resident,
};
use vectord_engine::Engine;
use writes::Writes;

/// A start without anything in the cache reads the whole folder each time.
const COLD_ROUNDS: usize = 3;
const EF: usize = 100;
/// The breadths of the searches that are held against exact answers.
const BREADTHS: [usize; 6] = [15, 25, 40, 60, EF, 200];
/// The searches of a batch, which the engine spreads over its threads.
const TOGETHER: usize = 64;
/// Searches right after a start, and as many later: whole batches.
const FIRST: usize = 3 * TOGETHER;
/// Passes over the queries at each breadth, alone and in batches by turns.
const PASSES: usize = 5;
/// Seconds for each million points of 384 dimensions.
const MOST_SECONDS: f64 = 1.0;
/// Milliseconds that a write may take while a snapshot is written.
const MOST_WAIT: f64 = 100.0;
/// With fewer points the constant part of the time counts too much.
const LEAST_POINTS: usize = 100_000;

fn main() -> Result<ExitCode> {
    let options = Options::read()?;
    let source = options.source()?;
    let temporary = tempfile::tempdir()?;
    let path = options.folder.as_deref().unwrap_or(temporary.path());
    fs::create_dir_all(path)?;
    let queries = source.queries(FIRST)?;
    let queries: Vec<&[f32]> = queries.chunks_exact(source.dimension).collect();
    let folder = Folder {
        path,
        dimension: source.dimension,
        queries: &queries,
        before: Resident::now(path)?,
    };
    let built = if folder.snapshots()?.is_empty() {
        folder.fill(&source, options.points)?;
        let built = folder.build()?;
        println!("built in {:.1} s", built.seconds);
        Some(built)
    } else {
        None
    };
    let found = rounds(&folder, &options)?;
    // They change the folder, so they come last.
    let engine = folder.open()?;
    answer(&engine, folder.queries[0], EF)?;
    let [calm, beside] = writes::beside_a_snapshot(&folder, &engine, &source)?;
    engine.close()?;
    let tables = vec![
        starts(&found, built.as_ref(), options.points),
        memory(&found, built.as_ref()),
        searches(&found),
        breadths(&found),
        written(&calm, &beside),
    ];
    for table in &tables {
        println!("{}", table.title);
        for row in &table.rows {
            let cells = row.iter().map(|(name, cell)| format!("{name}: {cell}"));
            println!("  {}", cells.collect::<Vec<_>>().join(", "));
        }
    }
    println!(
        "megabytes read a second with nothing in the cache: {}; first searches / later: {}",
        found.read.cell(0),
        found.slower.cell(2)
    );
    let verdicts = vec![
        Verdict {
            what: "seconds for a million points, snapshot, files cached".into(),
            found: for_a_million(f64::from(found.warm.median()), options.points),
            bound: Bound::AtMost(MOST_SECONDS),
        },
        Verdict {
            what: "milliseconds of the longest write beside a snapshot".into(),
            found: Cell::Number(beside.longest, 1),
            bound: Bound::AtMost(MOST_WAIT),
        },
    ];
    for verdict in &verdicts {
        verdict.print();
    }
    let report = Report {
        settings: settings(&options, &source),
        tables,
        verdicts,
        decides: options.points >= LEAST_POINTS && source.dimension == 384,
    };
    Ok(report.end(options.json.as_deref())?)
}

fn settings(options: &Options, source: &Source) -> Vec<(&'static str, String)> {
    let rounds = options.rounds;
    vec![
        ("points", options.points.to_string()),
        ("vectors", source.name.clone()),
        ("dimension", source.dimension.to_string()),
        (
            "graphs",
            "1, Euclidean, M = 16, ef_construction = 200".into(),
        ),
        (
            "searches",
            format!("{FIRST}, limit {LIMIT}, ef {EF}, one thread"),
        ),
        (
            "rounds",
            format!("the median of {rounds}; of {COLD_ROUNDS} with nothing in the cache"),
        ),
    ]
}

/// The measurements of the rounds: seconds for starts, microseconds for searches.
struct Measured {
    warm: Samples,
    /// Without snapshot.
    bare: Samples,
    cold: Samples,
    /// The first searches after a warm start, and the same once more.
    first: Samples,
    later: Samples,
    /// By how much the first ones are slower.
    slower: Samples,
    cold_first: Samples,
    /// Megabytes a second that a cold start reads.
    read: Samples,
    /// Memory after a warm start and searches.
    resident: Resident,
    /// At each of [`BREADTHS`].
    breadths: Vec<AtBreadth>,
}

/// Searches of one breadth.
struct AtBreadth {
    recall: f64,
    /// Microseconds for each search, alone and in batches.
    alone: Samples,
    together: Samples,
    /// How many times as fast batches are.
    speed: Samples,
}

fn rounds(folder: &Folder, options: &Options) -> Result<Measured> {
    let engine = folder.open()?;
    let expected = folder.answers(&engine, EF)?;
    engine.close()?;
    drop(engine);
    let exact = folder.without_snapshots(|| {
        let engine = folder.open()?;
        let exact = folder.answers(&engine, EF)?;
        engine.close()?;
        Ok(exact)
    })?;
    let [warm, bare, cold, first, later, slower, cold_first, read] = [const { Samples::new() }; 8];
    let mut measured = Measured {
        warm,
        bare,
        cold,
        first,
        later,
        slower,
        cold_first,
        read,
        resident: Resident::default(),
        breadths: Vec::new(),
    };
    for round in 0..=options.rounds {
        let (time, engine) = open(folder, &expected[0])?;
        let first = timed(folder, &engine, &expected)?;
        let later = timed(folder, &engine, &expected)?;
        if round == options.rounds {
            measured.resident = folder.resident()?;
            for ef in BREADTHS {
                measured
                    .breadths
                    .push(at_breadth(folder, &engine, ef, &exact)?);
            }
        }
        engine.close()?;
        drop(engine);
        let bare = folder.without_snapshots(|| {
            let start = Instant::now();
            let engine = folder.open()?;
            answer(&engine, folder.queries[0], EF)?;
            let time = start.elapsed().as_secs_f32();
            engine.close()?;
            Ok(time)
        })?;
        // The first round brings everything into the cache.
        if round > 0 {
            measured.warm.add(time);
            measured.bare.add(bare);
            measured.first.add(first);
            measured.later.add(later);
            measured.slower.add(first / later);
        }
    }
    for _ in 0..COLD_ROUNDS {
        let bytes = folder.forget_cache()?;
        let (time, engine) = open(folder, &expected[0])?;
        measured.cold.add(time);
        measured.read.add((bytes / 1e6) as f32 / time);
        measured.cold_first.add(timed(folder, &engine, &expected)?);
        engine.close()?;
    }
    Ok(measured)
}

/// Opens the folder; returns the seconds until the first answer, which is compared.
fn open(folder: &Folder, expected: &Answer) -> Result<(f32, Engine)> {
    let start = Instant::now();
    let engine = folder.open()?;
    let found = answer(&engine, folder.queries[0], EF)?;
    let time = start.elapsed().as_secs_f32();
    compare(&found, expected)?;
    Ok((time, engine))
}

/// Microseconds for each of the searches, whose answers are compared.
fn timed(folder: &Folder, engine: &Engine, expected: &[Answer]) -> Result<f32> {
    let (found, time) = search(folder, engine, EF)?;
    for (found, expected) in found.iter().zip(expected) {
        compare(found, expected)?;
    }
    Ok(time)
}

/// Holds the searches of a breadth against exact answers, and times them alone and in batches.
fn at_breadth(folder: &Folder, engine: &Engine, ef: usize, exact: &[Answer]) -> Result<AtBreadth> {
    let (found, _) = search(folder, engine, ef)?;
    let right = found.iter().zip(exact);
    let right = right.map(|(found, exact)| found.iter().filter(|id| exact.contains(id)).count());
    let right: usize = right.sum();
    let [alone, together, speed] = [const { Samples::new() }; 3];
    let mut measured = AtBreadth {
        recall: right as f64 / (exact.len() * LIMIT) as f64,
        alone,
        together,
        speed,
    };
    for _ in 0..PASSES {
        let (_, alone) = search(folder, engine, ef)?;
        let start = Instant::now();
        for queries in folder.queries.chunks(TOGETHER) {
            answers(engine, queries, ef)?;
        }
        let together = start.elapsed().as_secs_f32() * 1e6 / folder.queries.len() as f32;
        measured.alone.add(alone);
        measured.together.add(together);
        measured.speed.add(alone / together);
    }
    Ok(measured)
}

/// The answers, and the microseconds for each.
fn search(folder: &Folder, engine: &Engine, ef: usize) -> Result<(Vec<Answer>, f32)> {
    let start = Instant::now();
    let found = folder.queries.iter().map(|query| answer(engine, query, ef));
    let found = found.collect::<Result<Vec<_>>>()?;
    let time = start.elapsed().as_secs_f32();
    Ok((found, time * 1e6 / folder.queries.len() as f32))
}

/// Walks that begin elsewhere may find another tenth point; the nearest must be the same.
fn compare(found: &Answer, expected: &Answer) -> Result<()> {
    let shared = expected.iter().filter(|id| found.contains(id)).count();
    if found.first() == expected.first() && shared * 10 >= expected.len() * 8 {
        return Ok(());
    }
    Err(format!("{found:?}, expected {expected:?}").into())
}

fn for_a_million(seconds: f64, points: usize) -> Cell {
    Cell::Number(seconds * 1e6 / points as f64, 2)
}

fn starts(found: &Measured, built: Option<&Built>, points: usize) -> Table {
    let start = |how: &'static str, seconds: Cell, median: f64| -> Row {
        vec![
            ("start", how.into()),
            ("seconds to the first answer", seconds),
            ("for a million points", for_a_million(median, points)),
        ]
    };
    let measured = [
        ("snapshot, files in the cache", &found.warm),
        ("no snapshot, files in the cache, exact scan", &found.bare),
        ("snapshot, nothing in the cache", &found.cold),
    ];
    let rows = measured.map(|(how, samples)| start(how, samples.cell(2), samples.median().into()));
    let anew = built.map(|built| {
        let seconds = Cell::Number(built.seconds, 1);
        start("graph built anew", seconds, built.seconds)
    });
    Table {
        title: "From the start to the first answer, which is right".into(),
        rows: rows.into_iter().chain(anew).collect(),
    }
}

fn memory(found: &Measured, built: Option<&Built>) -> Table {
    let mib = |bytes: u64| Cell::Number(bytes as f64 / f64::from(1 << 20), 0);
    let row = |when: &'static str, resident: Resident| -> Row {
        vec![
            ("when", when.into()),
            ("MiB of no file", mib(resident.anonymous)),
            ("MiB of the folder's files", mib(resident.files)),
        ]
    };
    let built = built.map(|built| row("the graph is built", built.resident));
    let started = row("started, files in the cache", found.resident);
    Table {
        title: "Resident memory".into(),
        rows: built.into_iter().chain([started]).collect(),
    }
}

fn searches(found: &Measured) -> Table {
    let measured = [
        ("later, in the same process", &found.later),
        ("the first after a start, files in the cache", &found.first),
        (
            "the first after a start with nothing in the cache",
            &found.cold_first,
        ),
    ];
    let row = |(when, samples): (&'static str, &Samples)| -> Row {
        vec![
            ("searches", when.into()),
            ("microseconds each", samples.cell(0)),
        ]
    };
    Table {
        title: "Searches after a start".into(),
        rows: measured.map(row).into(),
    }
}

fn breadths(found: &Measured) -> Table {
    let row = |(ef, measured): (usize, &AtBreadth)| -> Row {
        vec![
            ("ef", ef.into()),
            ("recall@10", Cell::Number(measured.recall, 3)),
            ("microseconds each, alone", measured.alone.cell(0)),
            ("in batches of 64", measured.together.cell(0)),
            ("batches / alone", measured.speed.cell(2)),
        ]
    };
    Table {
        title: "Searches held against exact scans".into(),
        rows: BREADTHS.into_iter().zip(&found.breadths).map(row).collect(),
    }
}

fn written(calm: &Writes, beside: &Writes) -> Table {
    let row = |when: &'static str, writes: &Writes| -> Row {
        vec![
            ("single inserts", when.into()),
            ("number", writes.count.into()),
            ("median ms", Cell::Number(writes.median, 1)),
            ("longest ms", Cell::Number(writes.longest, 1)),
        ]
    };
    Table {
        title: "Writes, one every 2 ms".into(),
        rows: vec![
            row("in calm", calm),
            row("while a snapshot is written", beside),
        ],
    }
}
