//! The data folder of a run: filled, opened and searched.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use vectord_bench::{Result, callback::callback, smaps::Resident};
use vectord_engine::{Batch, DEFAULT_SEGMENT_BYTES, Engine, Hit, Metric, Options, Params, Query};

use crate::source::Source;

/// The points that a search asks for.
pub const LIMIT: usize = 10;
/// The points of one insert request.
const BATCH: usize = 1_000;
const CONTENT: &[u8] = b"a content of some bytes";

/// The ids of an answer.
pub type Answer = Vec<[u8; 16]>;

pub struct Folder<'a> {
    pub path: &'a Path,
    pub dimension: usize,
    pub queries: &'a [&'a [f32]],
    /// The memory that the program took before.
    pub before: Resident,
}

/// What building a graph took.
pub struct Built {
    pub seconds: f64,
    pub resident: Resident,
}

impl Folder<'_> {
    fn options(&self, warm_metrics: Vec<Metric>) -> Options {
        Options {
            path: self.path.to_owned(),
            dimension: u32::try_from(self.dimension).ok(),
            graph: Params::default(),
            warm_metrics,
            give_back_after: None,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            max_queued_bytes: 1 << 30,
            max_column_bytes: 256 << 20,
        }
    }

    pub fn open(&self) -> Result<Engine> {
        Ok(Engine::open(&self.options(Vec::new()))?)
    }

    /// Inserts points of `source`, without a graph.
    pub fn fill(&self, source: &Source, points: usize) -> Result<()> {
        let engine = self.open()?;
        for first in (0..points).step_by(BATCH) {
            let count = BATCH.min(points - first);
            insert(&engine, first, source.points(first, count)?, count)?;
        }
        Ok(engine.close()?)
    }

    /// Builds the graph of the points in the folder.
    pub fn build(&self) -> Result<Built> {
        let start = Instant::now();
        let engine = Engine::open(&self.options(vec![Metric::Euclidean]))?;
        let is_behind = || {
            let graphs = engine.status().graphs;
            graphs.iter().any(|graph| graph.linked < graph.slots)
        };
        while is_behind() {
            thread::sleep(Duration::from_millis(20));
        }
        let seconds = start.elapsed().as_secs_f64();
        let resident = self.resident()?;
        engine.close()?;
        Ok(Built { seconds, resident })
    }

    /// The memory that the engine takes now.
    pub fn resident(&self) -> Result<Resident> {
        Ok(Resident::now(self.path)?.since(self.before))
    }

    /// The answer to each query. Without a graph, exact scans give it, for all queries together.
    pub fn answers(&self, engine: &Engine, ef: usize) -> Result<Vec<Answer>> {
        answers(engine, self.queries, ef)
    }

    /// Does `act` while there are no snapshots, and none of what it leaves of them stays.
    pub fn without_snapshots<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let aside = tempfile::tempdir_in(self.path.parent().ok_or("a folder has a parent")?)?;
        let mut moved = Vec::new();
        for path in self.snapshots()? {
            let name = path.file_name().ok_or("a file has a name")?;
            let to = aside.path().join(name);
            fs::rename(&path, &to)?;
            moved.push((path, to));
        }
        let found = act()?;
        for path in self.snapshots()? {
            fs::remove_file(path)?;
        }
        for (path, from) in moved {
            fs::rename(from, path)?;
        }
        Ok(found)
    }

    pub fn snapshots(&self) -> Result<Vec<PathBuf>> {
        let mut files = self.files()?;
        files.retain(|path| path.extension().is_some_and(|end| end == "snapshot"));
        Ok(files)
    }

    /// Takes the files out of the page cache; returns how many bytes of them are in use.
    pub fn forget_cache(&self) -> Result<f64> {
        let mut bytes = 0.0;
        for path in self.files()? {
            let file = fs::File::open(&path)?;
            file.sync_all()?;
            #[cfg(target_os = "linux")]
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
            bytes += std::os::unix::fs::MetadataExt::blocks(&file.metadata()?) as f64 * 512.0;
        }
        Ok(bytes)
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.path)?;
        Ok(entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?)
    }
}

/// Inserts points whose numbers begin at `first`, and waits until they are durable.
pub fn insert(engine: &Engine, first: usize, vectors: Vec<f32>, count: usize) -> Result<()> {
    let numbers = first as u128..(first + count) as u128;
    let (done, outcome) = callback();
    let batch = Batch {
        ids: numbers.map(id).collect(),
        vectors,
        content_types: vec![1; count],
        contents: CONTENT.repeat(count),
        content_ends: (1..=count).map(|point| point * CONTENT.len()).collect(),
        ..Batch::default()
    };
    engine.insert(batch, done);
    Ok(outcome.recv()??)
}

/// Ids as random as those of the service.
fn id(number: u128) -> [u8; 16] {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    (mixed ^ (mixed >> 67)).to_be_bytes()
}

fn query(ef: usize) -> Query {
    Query {
        metric: Metric::Euclidean,
        limit: LIMIT,
        ef,
    }
}

/// The answer of one search, on the calling thread if that can be.
pub fn answer(engine: &Engine, vector: &[f32], ef: usize) -> Result<Answer> {
    if let Some(hits) = engine.search(vector, &query(ef))? {
        return Ok(ids(hits));
    }
    Ok(answers(engine, &[vector], ef)?.concat())
}

/// The answers to several queries, on other threads.
pub fn answers(engine: &Engine, queries: &[&[f32]], ef: usize) -> Result<Vec<Answer>> {
    let (vectors, queries) = (queries.concat(), vec![query(ef); queries.len()]);
    let (done, outcome) = callback();
    engine.search_batch(vectors, queries, done);
    Ok(outcome.recv()??.into_iter().map(ids).collect())
}

fn ids(hits: Vec<Hit>) -> Answer {
    hits.into_iter().map(|hit| hit.id).collect()
}
