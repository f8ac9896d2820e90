//! What a run is asked for.

use std::{env, path::PathBuf};

use vectord_bench::Result;

use crate::source::Source;

const USAGE: &str = "restart [--points N] [--dimension D | --base FILE --queries FILE] \
                     [--folder PATH] [--rounds N] [--json FILE]";

pub struct Options {
    pub points: usize,
    dimension: Option<usize>,
    /// Arrays of real vectors, in place of synthetic ones.
    files: [Option<PathBuf>; 2],
    /// Where the points are kept for another run.
    pub folder: Option<PathBuf>,
    pub rounds: usize,
    pub json: Option<PathBuf>,
}

impl Options {
    pub fn read() -> Result<Self> {
        let mut options = Options {
            points: 1_000_000,
            dimension: None,
            files: [None, None],
            folder: None,
            rounds: 7,
            json: None,
        };
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let value = arguments.next().ok_or(USAGE)?;
            match argument.as_str() {
                "--points" => options.points = value.parse()?,
                "--dimension" => options.dimension = Some(value.parse()?),
                "--base" => options.files[0] = Some(value.into()),
                "--queries" => options.files[1] = Some(value.into()),
                "--folder" => options.folder = Some(value.into()),
                "--rounds" => options.rounds = value.parse()?,
                "--json" => options.json = Some(value.into()),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }

    pub fn source(&self) -> Result<Source> {
        match (&self.files, self.dimension) {
            ([Some(base), Some(queries)], None) => Source::of_files(base, queries),
            ([None, None], dimension) => Ok(Source::synthetic(dimension.unwrap_or(384))),
            _ => Err(USAGE.into()),
        }
    }
}
