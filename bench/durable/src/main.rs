//! Durable inserts and restarts of vectord's engine beside a hand-rolled use of SQLite, in turns:
//! `durable [--short] [--json FILE]`. Exits with 1 when a target is missed.
//!
//! Folders are made in the folder for temporary files, which `TMPDIR` names.

mod disk;
mod inserts;
mod nearest;
mod points;
mod restart;
mod start;
mod stores;
mod tables;

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use disk::FileSystem;
use inserts::{Extent, Load, Run, WARM_UP};
use points::{BATCH, CONTENT, DIMENSION, POINT_BYTES};
use restart::{Bench, Files, Times};
use start::Kind;
use stores::{Form, settings};
use vectord_bench::{
    report::{Report, Verdict},
    synthetic::Family,
};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "durable [--short] [--json FILE]";

/// How much is done.
struct Plan {
    extent: Extent,
    /// Of inserts.
    rounds: usize,
    /// Of restarts, with the files in the page cache and without.
    restarts: [(Files, usize); 2],
    /// Points of the folders that are opened.
    sizes: &'static [u64],
}

const WHOLE: Plan = Plan {
    extent: Extent {
        time: Duration::from_millis(500),
        batches: 100,
    },
    rounds: 15,
    restarts: [(Files::Cached, 5), (Files::Cold, 3)],
    sizes: &[100_000, 1_000_000],
};

/// For a try; what a folder takes once weighs too much.
const SHORT: Plan = Plan {
    extent: Extent {
        time: Duration::from_millis(200),
        batches: 10,
    },
    rounds: 2,
    restarts: [(Files::Cached, 2), (Files::Cold, 1)],
    sizes: &[10_000],
};

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, kind, folder, point, query, next] = arguments.as_slice()
        && flag == "--start"
    {
        let kind = Kind::of(kind).ok_or(USAGE)?;
        let queries = [query.parse()?, next.parse()?];
        start::answer(kind, Path::new(folder), point.parse()?, queries)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (mut short, mut json) = (false, None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--short" => short = true,
            "--json" => json = Some(PathBuf::from(arguments.next().ok_or(USAGE)?)),
            _ => return Err(USAGE.into()),
        }
    }
    let plan = if short { &SHORT } else { &WHOLE };
    let parent = env::temp_dir();
    let file_system = FileSystem::of(&parent)?;
    let inserts = inserts(plan, &parent)?;
    let (of_inserts, verdicts) = (tables::inserts(&inserts), tables::verdicts(&inserts));
    // What is known is shown: filling the folders takes its time.
    tables::print(&of_inserts);
    verdicts.iter().for_each(Verdict::print);
    let restarts = tables::restarts(&restarts(plan, &parent)?);
    tables::print(&restarts);
    let report = Report {
        settings: described(plan, &file_system),
        tables: vec![of_inserts, restarts],
        verdicts,
        // Where a sync waits for no disk, nothing is durable.
        decides: !short && file_system.is_on_disk(),
    };
    Ok(report.end(json.as_deref())?)
}

/// What each round of a load found, for each form.
struct Inserts {
    load: Load,
    forms: Vec<(Form, Vec<Run>)>,
}

/// The forms take turns, in the opposite order in every other round.
fn inserts(plan: &Plan, parent: &Path) -> Result<Vec<Inserts>> {
    let pool = Family::new(DIMENSION).points(0, BATCH);
    let mut all = Vec::from(Load::ALL.map(|load| {
        Inserts {
            load,
            forms: load
                .forms()
                .iter()
                .map(|&form| (form, Vec::new()))
                .collect(),
        }
    }));
    for round in 0..plan.rounds {
        println!("inserts, round {} of {}", round + 1, plan.rounds);
        for Inserts { load, forms } in &mut all {
            for (form, runs) in turn(forms, round) {
                runs.push(inserts::run(*load, *form, plan.extent, &pool, parent)?);
            }
        }
    }
    Ok(all)
}

/// What the starts found on folders of one size.
struct Restarts {
    points: u64,
    starts: Vec<(Kind, Files, Vec<Times>)>,
}

fn restarts(plan: &Plan, parent: &Path) -> Result<Vec<Restarts>> {
    plan.sizes
        .iter()
        .map(|&points| restarts_at(points, plan, parent))
        .collect()
}

fn restarts_at(points: u64, plan: &Plan, parent: &Path) -> Result<Restarts> {
    let rounds = plan.restarts.iter().map(|(_, rounds)| rounds);
    println!("filling folders with {points} points");
    let bench = Bench::fill(points, rounds.copied().max().unwrap_or(1), parent)?;
    let mut all = Vec::new();
    for (files, rounds) in plan.restarts {
        println!("restarts, files {}", files.name());
        let mut starts = Kind::ALL.map(|kind| (kind, files, Vec::new()));
        for round in 0..rounds {
            for (kind, files, times) in turn(&mut starts, round) {
                times.push(bench.start(*kind, *files, round)?);
            }
        }
        all.extend(starts);
    }
    Ok(Restarts {
        points,
        starts: all,
    })
}

/// In order, or the other way round in every other round.
fn turn<T>(items: &mut [T], round: usize) -> Box<dyn Iterator<Item = &mut T> + '_> {
    if round.is_multiple_of(2) {
        Box::new(items.iter_mut())
    } else {
        Box::new(items.iter_mut().rev())
    }
}

fn described(plan: &Plan, file_system: &FileSystem) -> Vec<(&'static str, String)> {
    let Extent { time, batches } = plan.extent;
    let [(_, cached), (_, cold)] = plan.restarts;
    vec![
        ("file system", file_system.name().to_owned()),
        ("SQLite", settings()),
        (
            "points",
            format!(
                "{DIMENSION} values, a content of {} bytes, an id of version 4: {POINT_BYTES} bytes",
                CONTENT.len()
            ),
        ),
        (
            "inserts",
            format!(
                "{} rounds of {} s of single inserts and of {batches} batches, each in a fresh \
                 folder with {} points",
                plan.rounds,
                time.as_secs_f32(),
                WARM_UP * BATCH
            ),
        ),
        (
            "restarts",
            format!("{cached} rounds with the files in the page cache, {cold} without"),
        ),
    ]
}
