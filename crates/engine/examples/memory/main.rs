//! Where the bytes of a point are: fills an engine in a temporary folder, begins one graph after the
//! other, and reads what is resident after each step. Exits with 1 when a target is missed.
//!
//! `memory [--set POINTSxDIMENSION]... [--short] [--json FILE]`. Linux alone tells what is needed.

mod bytes;
mod fill;
mod smaps;
// What the benchmarks share; not all of it is needed here.
#[allow(dead_code)]
#[path = "../../tests/support/mod.rs"]
mod support;
#[path = "../scale/synthetic.rs"]
mod synthetic;
mod verdicts;

use std::{env, path::PathBuf, process::ExitCode};

use bytes::Memory;
use support::Result;

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

/// Few points, for a try: what does not grow with them weighs the more.
const SHORT_POINTS: usize = 5_000;

/// How many points of how many values.
#[derive(Clone, Copy)]
struct Set {
    points: usize,
    dimension: usize,
}

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

/// Returns how many targets were missed.
fn run() -> Result<usize> {
    let options = Options::parse(env::args().skip(1))?;
    let mut measured = Vec::new();
    for &set in &options.sets {
        let memory = fill::measure(set)?;
        memory.print();
        let verdicts = verdicts::of(&memory);
        verdicts::print(&verdicts);
        measured.push((memory, verdicts));
    }
    if let Some(path) = &options.json {
        let sets: Vec<String> = measured
            .iter()
            .map(|(memory, verdicts)| format!(" {}", json(memory, verdicts)))
            .collect();
        fs_err::write(path, format!("[\n{}\n]\n", sets.join(",\n")))?;
        println!("\nwritten to {}", path.display());
    }
    if options.short {
        println!("with so few points, the targets say little and decide nothing");
        return Ok(0);
    }
    let all = measured.iter().flat_map(|(_, verdicts)| verdicts);
    Ok(all.filter(|verdict| !verdict.met()).count())
}

fn json(memory: &Memory, verdicts: &[verdicts::Verdict]) -> String {
    let verdicts: Vec<String> = verdicts.iter().map(verdicts::Verdict::json).collect();
    format!(
        "{{{}, \"verdicts\": [{}]}}",
        memory.json(),
        verdicts.join(", ")
    )
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

impl Set {
    fn parse(text: &str) -> Result<Self> {
        let numbers = text.split_once('x');
        let parsed = numbers.and_then(|(points, dimension)| {
            Some(Set {
                points: points.parse().ok()?,
                dimension: dimension.parse().ok()?,
            })
        });
        parsed
            .filter(|set| set.points > 0 && set.dimension > 0)
            .ok_or_else(|| format!("--set {text}: expected POINTSxDIMENSION as 100000x128").into())
    }
}
