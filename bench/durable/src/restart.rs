//! From the start of a process to its first right answers, over folders with the same points.

use std::{
    env,
    io::{self, BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{Advice, fadvise};
use tempfile::TempDir;
use vectord_engine::{Engine, Metric};

use crate::{
    Result,
    nearest::{LIMIT, Nearest},
    points::{BATCH, CONTENT, DIMENSION, Id, Rows, query},
    start::{Kind, ids_line, point_line},
    stores::{Form, SCANNED, options},
};
use vectord_bench::synthetic::Family;

/// A walk through a graph may miss a few of the nearest; if it misses more, something is wrong.
const LEAST_FOUND: usize = LIMIT / 2;

/// How often linking is looked at.
const WAIT: Duration = Duration::from_millis(20);

/// Where the files are when a process starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// In the page cache.
    Cached,
    /// On the disk alone.
    Cold,
}

impl Files {
    pub fn name(self) -> &'static str {
        match self {
            Files::Cached => "in the page cache",
            Files::Cold => "on the disk alone",
        }
    }
}

/// Seconds that a process took.
#[derive(Clone, Copy)]
pub struct Times {
    /// From its start to the point.
    pub get: f64,
    /// From its start to the nearest points.
    pub search: f64,
    /// For the nearest points of another query.
    pub next_search: f64,
    /// The share of the nearest points that both searches have found.
    pub recall: f64,
}

/// A folder of each kind with the same points, and what is true of them.
pub struct Bench {
    vectord: TempDir,
    sqlite: TempDir,
    points: u64,
    family: Family,
    /// The ids of the nearest points for each query.
    nearest: Vec<Vec<Id>>,
}

impl Bench {
    /// Fills folders below `parent`. There are two queries for each of the rounds.
    pub fn fill(points: u64, rounds: usize, parent: &Path) -> Result<Self> {
        let family = Family::new(DIMENSION);
        let queries: Vec<_> = (0..2 * rounds)
            .map(|number| query(&family, number))
            .collect();
        let mut nearest: Vec<_> = queries.iter().map(|query| Nearest::of(query)).collect();
        let folders = [tempfile::tempdir_in(parent)?, tempfile::tempdir_in(parent)?];
        let forms = [Form::Vectord, Form::Sqlite(SCANNED)];
        let stores = [
            forms[0].open(folders[0].path())?,
            forms[1].open(folders[1].path())?,
        ];
        for first in (0..points).step_by(BATCH) {
            let vectors = family.points(first, BATCH.min((points - first) as usize));
            let rows = Rows {
                first,
                vectors: &vectors,
            };
            for store in &stores {
                store.client()?.insert(rows)?;
            }
            for (id, vector) in rows.iter() {
                for one in &mut nearest {
                    one.see(vector, || id);
                }
            }
        }
        for store in stores {
            store.close()?;
        }
        let [vectord, sqlite] = folders;
        link(vectord.path())?;
        let nearest = nearest.into_iter().map(Nearest::names).collect();
        Ok(Bench {
            vectord,
            sqlite,
            points,
            family,
            nearest,
        })
    }

    /// Starts a process on a folder, and compares what it answers. Each round asks for others.
    pub fn start(&self, kind: Kind, files: Files, round: usize) -> Result<Times> {
        match files {
            // A system may take what no process holds out of its cache at any time.
            Files::Cached => fill_cache(self.folder(kind))?,
            Files::Cold => forget_cache(self.folder(kind))?,
        }
        // Elsewhere each time, by steps of a prime.
        let point = (round as u64 + 1) * 104_729 % self.points;
        let queries = [2 * round, 2 * round + 1];
        let start = Instant::now();
        let mut child = Command::new(env::current_exe()?)
            .arg("--start")
            .arg(kind.name())
            .arg(self.folder(kind))
            .arg(point.to_string())
            .args(queries.map(|query| query.to_string()))
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("a child without output")?;
        let mut lines = Vec::new();
        for line in BufReader::new(output).lines() {
            lines.push((line?, start.elapsed().as_secs_f64()));
        }
        if !child.wait()?.success() {
            return Err("a started process has failed".into());
        }
        let [(got, get), (first, search), (next, after)] = lines.as_slice() else {
            return Err("a started process has answered too little".into());
        };
        self.compare_point(got, point)?;
        let found = [(first, queries[0]), (next, queries[1])];
        let found = found.map(|(line, query)| self.count_found(line, kind, query));
        let [first, next] = found;
        Ok(Times {
            get: *get,
            search: *search,
            next_search: after - search,
            recall: (first? + next?) as f64 / (2 * LIMIT) as f64,
        })
    }

    fn folder(&self, kind: Kind) -> &Path {
        match kind {
            Kind::Vectord => self.vectord.path(),
            Kind::Sqlite => self.sqlite.path(),
        }
    }

    fn compare_point(&self, found: &str, number: u64) -> Result<()> {
        let expected = point_line(&(self.family.points(number, 1), CONTENT.to_owned()));
        if found == expected {
            return Ok(());
        }
        Err(format!("point {number} is {found}, expected {expected}").into())
    }

    /// How many of the nearest points of a query are found.
    fn count_found(&self, found: &str, kind: Kind, query: usize) -> Result<usize> {
        let expected = ids_line(&self.nearest[query]);
        let count = expected.split(' ').filter(|id| found.contains(id)).count();
        let least = match kind {
            Kind::Vectord => LEAST_FOUND,
            // It ranks all.
            Kind::Sqlite => LIMIT,
        };
        if count >= least {
            return Ok(count);
        }
        Err(format!("{}: {found} are nearest, expected {expected}", kind.name()).into())
    }
}

/// Builds the graph, which the last snapshot then holds.
fn link(folder: &Path) -> Result<()> {
    let engine = Engine::open(&options(folder, vec![Metric::Euclidean]))?;
    while engine
        .status()
        .graphs
        .iter()
        .any(|graph| graph.linked < graph.slots)
    {
        thread::sleep(WAIT);
    }
    Ok(engine.close()?)
}

/// Brings the files of a folder into the page cache.
fn fill_cache(folder: &Path) -> Result<()> {
    for entry in fs_err::read_dir(folder)? {
        io::copy(&mut fs_err::File::open(entry?.path())?, &mut io::sink())?;
    }
    Ok(())
}

/// Takes the files of a folder out of the page cache.
fn forget_cache(folder: &Path) -> Result<()> {
    for entry in fs_err::read_dir(folder)? {
        let file = fs_err::File::open(entry?.path())?;
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}
