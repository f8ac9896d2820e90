//! The command line.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::cases::CASES;
use vectord_bench::{Result, recall::K};

const USAGE: &str = "recall [FOLDER] [--set NAME] [--points N] [--reference]";

pub struct Options {
    /// The folder of the sets.
    pub folder: PathBuf,
    /// The only set to run, if one is named.
    pub set: Option<String>,
    /// How many rows of each base to take.
    pub points: Option<usize>,
    /// Whether `hnsw_rs` runs beside the engine's graph.
    pub reference: bool,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Self> {
        let mut options = Options {
            folder: env::var_os("VECTORD_DATA").unwrap_or_default().into(),
            set: None,
            points: None,
            reference: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next().and_then(|value| value.into_string().ok());
                value.ok_or_else(|| format!("{} needs a value: {USAGE}", argument.display()))
            };
            match argument.to_str() {
                Some("--set") => options.set = Some(set(value()?)?),
                Some("--points") => options.points = Some(points(&value()?)?),
                Some("--reference") => options.reference = true,
                Some(other) if other.starts_with('-') => {
                    return Err(format!("unknown option {other}: {USAGE}").into());
                }
                _ => options.folder = argument.into(),
            }
        }
        if options.folder == Path::new("") {
            return Err(
                format!("name the folder of the sets, or set VECTORD_DATA: {USAGE}").into(),
            );
        }
        Ok(options)
    }
}

fn set(name: String) -> Result<String> {
    if CASES.iter().any(|case| case.set == name) {
        return Ok(name);
    }
    let mut sets = CASES.map(|case| case.set).to_vec();
    sets.dedup();
    Err(format!("--set {name}: expected one of {}", sets.join(", ")).into())
}

fn points(text: &str) -> Result<usize> {
    text.parse()
        .ok()
        .filter(|&points| points >= K)
        .ok_or_else(|| format!("--points {text}: expected a number from {K}").into())
}
