//! The command line.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    str::FromStr,
};

use crate::{
    kind::{Kind, SHARES},
    set::NAMES,
};
use vectord_bench::Result;

pub const USAGE: &str = "\
filters [FOLDER] [flags], with VECTORD_DATA as the folder of the sets if none is named

  --set NAME      runs sift or minilm alone
  --points N      takes the first N points of a set, at least 1,000; 100,000 unless said otherwise
  --queries N     takes the first N queries; 200 unless said otherwise
  --kinds a,b     some of random, tag, correlated, anti, alternate
  --shares a,b    some of 99, 50, 10, 1, 0.1, 0.01, in percent of the points; 99 for anti alone
  --ef a,b        the breadths, at least 10; 16,32,64,128 unless said otherwise
  --rounds N      rounds of searches; 3 unless said otherwise
  --changing      measures the recall once more while points are written
  --json FILE     writes what was measured to a file
";

/// The fewest points, so that each share and each cluster has some.
const LEAST_POINTS: usize = 1_000;
/// The fewest candidates of a search that is asked for 10 results.
const LEAST_EF: usize = 10;

pub struct Options {
    /// The folder of the sets.
    pub folder: PathBuf,
    pub sets: Vec<&'static str>,
    /// The most points of a set.
    pub points: usize,
    /// The most queries of a set.
    pub queries: usize,
    pub kinds: Vec<Kind>,
    /// Shares of the points, in percent.
    pub shares: Vec<f64>,
    pub efs: Vec<usize>,
    pub rounds: usize,
    /// Whether the recall is measured once more while points are written.
    pub changing: bool,
    pub json: Option<PathBuf>,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Self> {
        let mut options = Options {
            folder: env::var_os("VECTORD_DATA").unwrap_or_default().into(),
            sets: NAMES.to_vec(),
            points: 100_000,
            queries: 200,
            kinds: Kind::ALL.to_vec(),
            shares: SHARES.to_vec(),
            efs: vec![16, 32, 64, 128],
            rounds: 3,
            changing: false,
            json: None,
        };
        while let Some(argument) = arguments.next() {
            let Some(flag) = argument.to_str().filter(|text| text.starts_with('-')) else {
                options.folder = argument.into();
                continue;
            };
            if flag == "--changing" {
                options.changing = true;
                continue;
            }
            let value = arguments.next().and_then(|value| value.into_string().ok());
            let value =
                value.ok_or_else(|| format!("{flag}: no such flag, or no value\n{USAGE}"))?;
            options.set(flag, &value)?;
        }
        if options.folder == Path::new("") {
            return Err(format!("name the folder of the sets\n{USAGE}").into());
        }
        Ok(options)
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<()> {
        match flag {
            "--set" => self.sets = chosen(flag, value, &NAMES, |name| (*name).to_owned())?,
            "--points" => self.points = number(flag, value, LEAST_POINTS)?,
            "--queries" => self.queries = number(flag, value, 1)?,
            "--kinds" => self.kinds = chosen(flag, value, &Kind::ALL, |kind| kind.name().into())?,
            "--shares" => self.shares = chosen(flag, value, &SHARES, f64::to_string)?,
            "--ef" => {
                let efs = value.split(',').map(|ef| number(flag, ef, LEAST_EF));
                self.efs = efs.collect::<Result<_>>()?;
            }
            "--rounds" => self.rounds = number(flag, value, 1)?,
            "--json" => self.json = Some(value.into()),
            _ => return Err(format!("{flag}: no such flag\n{USAGE}").into()),
        }
        Ok(())
    }

    pub fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("points of a set", format!("at most {}", self.points)),
            ("queries", format!("at most {}", self.queries)),
            ("limit", vectord_bench::recall::K.to_string()),
            ("threads", "1, one query at a time".into()),
            ("times", "processor time of the process".into()),
            (
                "rounds",
                format!(
                    "{}, of which the median, the least and the most",
                    self.rounds
                ),
            ),
        ]
    }
}

/// The items of a list whose names are in a text, with commas between them.
fn chosen<T: Clone>(
    flag: &str,
    text: &str,
    list: &[T],
    name: impl Fn(&T) -> String,
) -> Result<Vec<T>> {
    let find = |wanted: &str| {
        let found = list.iter().find(|item| name(item) == wanted);
        found.cloned().ok_or_else(|| {
            let names: Vec<_> = list.iter().map(&name).collect();
            format!("{flag} {wanted}: expected some of {}", names.join(", ")).into()
        })
    };
    text.split(',').map(find).collect()
}

fn number(flag: &str, text: &str, least: usize) -> Result<usize> {
    let number = usize::from_str(text).ok().filter(|&number| number >= least);
    number.ok_or_else(|| format!("{flag} {text}: expected a number from {least}").into())
}
