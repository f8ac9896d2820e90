//! Which tables hold the bytes of a point: fills an engine in a temporary folder, begins one graph
//! after the other, and reads the resident memory after each step. Exits with 1 when a target is
//! missed.
//!
//! `memory [--set POINTSxDIMENSION]... [--short] [--json FILE]`. Only Linux reports what it needs.

mod bytes;
mod fill;
mod set;
mod verdicts;

use std::{env, path::PathBuf, process::ExitCode, thread};

use bytes::CONTENT_BYTES;
use set::Set;
use vectord_bench::{Result, report::Report};
use vectord_engine::Params;

/// Points and dimensions of the sets whose targets are known.
const SETS: [Set; 2] = [
    Set {
        points: 100_000,
        dimension: 128,
    },
    Set {
        points: 50_000,
        dimension: 384,
    },
];

/// Few points, for a trial: what does not grow with the points then has a larger share.
const SHORT_POINTS: usize = 5_000;

fn main() -> Result<ExitCode> {
    let options = Options::parse(env::args().skip(1))?;
    let (mut tables, mut verdicts) = (Vec::new(), Vec::new());
    for &set in &options.sets {
        let memory = fill::measure(set)?;
        memory.print();
        for verdict in verdicts::of(&memory) {
            verdict.print();
            verdicts.push(verdict);
        }
        tables.push(memory.table());
    }
    let report = Report {
        settings: settings()?,
        tables,
        verdicts,
        // With so few points, the targets say little.
        decides: !options.short,
    };
    Ok(report.end(options.json.as_deref())?)
}

fn settings() -> Result<Vec<(&'static str, String)>> {
    let Params { m, ef_construction } = Params::default();
    Ok(vec![
        (
            "graphs",
            format!("M={m}, ef_construction={ef_construction}"),
        ),
        ("threads", thread::available_parallelism()?.to_string()),
        ("contents", format!("{CONTENT_BYTES} bytes a point")),
    ])
}

struct Options {
    sets: Vec<Set>,
    json: Option<PathBuf>,
    short: bool,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let (mut sets, mut json, mut short) = (Vec::new(), None, false);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--short" => short = true,
                "--json" => json = Some(arguments.next().ok_or("--json FILE")?.into()),
                "--set" => sets.push(Set::parse(&arguments.next().unwrap_or_default())?),
                _ => {
                    let usage = "memory [--set POINTSxDIMENSION]... [--short] [--json FILE]";
                    return Err(usage.into());
                }
            }
        }
        if sets.is_empty() {
            sets = SETS.to_vec();
        }
        if short {
            for set in &mut sets {
                set.points = set.points.min(SHORT_POINTS);
            }
        }
        Ok(Options { sets, json, short })
    }
}
