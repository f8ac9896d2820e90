//! Takes an engine through the steps that allocate memory.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use vectord_engine::{Batch, DEFAULT_SEGMENT_BYTES, Engine, Metric, Options, Params, Query};

use crate::{
    bytes::{CONTENT_BYTES, Memory},
    set::Set,
};
use vectord_bench::{Result, callback::callback, smaps::Resident, synthetic::Family};

/// The points of one insert request.
const BATCH: usize = 1_000;

/// Batches inserted before the first reading, since the allocator adapts to the sizes of the first
/// ones.
const BATCHES_BEFORE: usize = 4;

/// Searches under each metric, so that what searches keep is there too.
const SEARCHES: usize = 200;

/// Values are multiples of 1 over this, so that under Hamming some are equal.
const STEPS_PER_UNIT: f32 = 2.0;

/// How often the progress of linking is read.
const WAIT: Duration = Duration::from_millis(20);

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs_err::remove_dir_all(&self.0) {
            eprintln!("{error}: it is left behind");
        }
    }
}

/// What each step adds to the resident memory.
pub fn measure(set: Set) -> Result<Memory> {
    let folder = std::env::temp_dir().join(format!("vectord-memory-{}", std::process::id()));
    fs_err::create_dir(&folder)?;
    // A mapping is listed by the path without links.
    let folder = Folder(folder.canonicalize()?);
    let params = Params::default();
    let family = Family::new(set.dimension);
    let queries = rounded(family.queries(SEARCHES));

    // What the allocator keeps of points that are being made belongs to who makes them.
    for _ in 0..BATCHES_BEFORE {
        drop(batch(&family, set, 0));
    }
    let before = Resident::now(&folder.0)?;
    let engine = Engine::open(&options(&folder.0, set, params))?;
    insert(&engine, &family, set)?;
    let filled = Resident::now(&folder.0)?.since(before);
    let mut graphs = Vec::new();
    for metric in [
        Metric::Euclidean,
        Metric::Cosine,
        Metric::Manhattan,
        Metric::Hamming,
    ] {
        let before = Resident::now(&folder.0)?;
        link(&engine, metric, &queries, set)?;
        graphs.push((metric, Resident::now(&folder.0)?.since(before)));
    }
    engine.close()?;
    Ok(Memory {
        set,
        params,
        filled,
        graphs,
    })
}

fn options(path: &Path, set: Set, graph: Params) -> Options {
    Options {
        path: path.into(),
        dimension: Some(set.dimension as u32),
        graph,
        warm_metrics: Vec::new(),
        give_back_after: None,
        segment_bytes: DEFAULT_SEGMENT_BYTES,
        max_queued_bytes: 512 << 20,
        max_column_bytes: 256 << 20,
    }
}

fn insert(engine: &Engine, family: &Family, set: Set) -> Result<()> {
    for first in (0..set.points).step_by(BATCH) {
        let (done, outcome) = callback();
        engine.insert(batch(family, set, first), done);
        outcome.recv()??;
    }
    Ok(())
}

/// The batch that begins with this point.
fn batch(family: &Family, set: Set, first: usize) -> Batch {
    let count = BATCH.min(set.points - first);
    let ids = (first..first + count).map(|number| random_id(number as u64));
    Batch {
        ids: ids.collect(),
        vectors: rounded(family.points(first as u64, count)),
        content_types: vec![0; count],
        contents: vec![b'a'; count * CONTENT_BYTES],
        content_ends: (1..=count).map(|number| number * CONTENT_BYTES).collect(),
        ..Batch::default()
    }
}

/// Begins the graph of a metric by a narrow search, for which a walk pays soonest, waits for it, and
/// searches it.
fn link(engine: &Engine, metric: Metric, queries: &[f32], set: Set) -> Result<()> {
    search(engine, metric, &queries[..set.dimension], 1)?;
    loop {
        let status = engine.status();
        let graph = status.graphs.iter().find(|graph| graph.metric == metric);
        let graph = graph.ok_or("a search has begun no graph")?;
        if let Some(failure) = &graph.failure {
            return Err(format!("the graph failed: {failure}").into());
        }
        if graph.linked == graph.slots {
            break;
        }
        thread::sleep(WAIT);
    }
    search(engine, metric, queries, 100)
}

fn search(engine: &Engine, metric: Metric, queries: &[f32], ef: usize) -> Result<()> {
    let query = Query {
        metric,
        limit: ef.min(10),
        ef,
    };
    let count = queries.len() / engine.dimension() as usize;
    let (done, outcome) = callback();
    engine.search_batch(queries.to_vec(), vec![query; count], done);
    outcome.recv()??;
    Ok(())
}

fn rounded(mut values: Vec<f32>) -> Vec<f32> {
    for value in &mut values {
        *value = (*value * STEPS_PER_UNIT).round() / STEPS_PER_UNIT;
    }
    values
}

/// An id as unordered as those of the service.
fn random_id(number: u64) -> [u8; 16] {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let other = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (u128::from(mixed) << 64 | u128::from(other)).to_be_bytes()
}
