//! An engine used like a list of points, for tests that compare it with one.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses some of this, and the lint spares test functions, not their helpers"
)]

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io::ErrorKind,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

use vectord_engine::{
    Asked, Batch, Done, Engine, Error, Metric, Options, Params, PointId, Query, Want,
    layers::vectors::kernels,
};
use vectord_filter::Filter;

pub const SEGMENT_BYTES: u64 = 1 << 20;

pub fn options(path: &Path, dimension: Option<u32>) -> Options {
    Options {
        path: path.into(),
        dimension,
        graph: Params {
            m: 16,
            ef_construction: 100,
        },
        warm_metrics: Vec::new(),
        give_back_after: None,
        segment_bytes: SEGMENT_BYTES,
        max_queued_bytes: 64 << 20,
        max_column_bytes: 256 << 20,
    }
}

pub fn open(path: &Path, dimension: u32) -> Engine {
    Engine::open(&options(path, Some(dimension))).unwrap()
}

/// Ids in the order in which they are requested.
pub fn next_id() -> PointId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, Ordering::Relaxed)).to_be_bytes()
}

pub fn batch(vectors: &[Vec<f32>]) -> Batch {
    let contents: Vec<String> = vectors.iter().map(|vector| content_of(vector)).collect();
    Batch {
        ids: vectors.iter().map(|_| next_id()).collect(),
        vectors: vectors.concat(),
        content_types: vec![1; vectors.len()],
        content_ends: ends(&contents),
        contents: contents.concat().into_bytes(),
        ..Batch::default()
    }
}

/// The offsets at which parts end that lie one after the other.
pub fn ends(parts: &[impl AsRef<[u8]>]) -> Vec<usize> {
    let ends = parts.iter().scan(0, |end, part| {
        *end += part.as_ref().len();
        Some(*end)
    });
    ends.collect()
}

pub fn content_of(vector: &[f32]) -> String {
    format!("{vector:?}")
}

pub fn insert(engine: &Engine, vectors: &[Vec<f32>]) -> Result<Vec<PointId>, Error> {
    let (sender, receiver) = channel();
    let batch = batch(vectors);
    let ids = batch.ids.clone();
    engine.insert(
        batch,
        Box::new(move |outcome| sender.send(outcome).unwrap()),
    );
    receiver.recv().unwrap().map(|()| ids)
}

pub fn delete(engine: &Engine, id: PointId) -> bool {
    let (sender, receiver) = channel();
    engine.delete(id, Box::new(move |outcome| sender.send(outcome).unwrap()));
    receiver.recv().unwrap().unwrap()
}

/// Makes the engine begin the graph of a metric, by a search of the least breadth: a walk pays off
/// for it first.
pub fn begin_graph(engine: &Engine, metric: Metric) {
    let query = vec![0.5; engine.dimension() as usize];
    search(engine, metric, &query, 1, 1);
    wait_for_graphs(engine);
}

/// Calls the engine and waits for its answer.
pub fn answer<T: Send + 'static, R>(call: impl FnOnce(Done<T>) -> R) -> Result<T, Error> {
    let (sender, receiver) = channel();
    call(Box::new(move |result| sender.send(result).unwrap()));
    receiver.recv().unwrap()
}

/// Searches as a batch does, which never declines.
pub fn search(
    engine: &Engine,
    metric: Metric,
    vector: &[f32],
    limit: usize,
    ef: usize,
) -> Vec<PointId> {
    try_search(engine, metric, vector, limit, ef).unwrap()
}

/// Searches as a batch does, among the points that pass a filter.
pub fn find(
    engine: &Engine,
    metric: Metric,
    vector: &[f32],
    limit: usize,
    ef: usize,
    filter: Option<Arc<Filter>>,
) -> Vec<PointId> {
    let asked = Asked {
        vectors: vector.to_vec(),
        queries: vec![Query { metric, limit, ef }],
        wants: vec![Want {
            filter,
            ..Want::default()
        }],
        max_bytes: usize::MAX,
    };
    let found = answer(|done| engine.find_batch(asked, done)).unwrap();
    found[0].hits.iter().map(|hit| hit.id).collect()
}

/// The same as [`search`], but returns the error of a failed search.
pub fn try_search(
    engine: &Engine,
    metric: Metric,
    vector: &[f32],
    limit: usize,
    ef: usize,
) -> Result<Vec<PointId>, Error> {
    let (sender, receiver) = channel();
    engine.search_batch(
        vector.to_vec(),
        vec![Query { metric, limit, ef }],
        Box::new(move |outcome| sender.send(outcome).unwrap()),
    );
    let answers = receiver.recv().unwrap()?;
    Ok(answers[0].iter().map(|hit| hit.id).collect())
}

/// A copy of a folder as a kill of the process would leave it: of one moment, so it begins anew where
/// a file goes or comes meanwhile.
pub fn copy_of(folder: &Path) -> tempfile::TempDir {
    loop {
        let copy = tempfile::tempdir().unwrap();
        let names = names_in(folder);
        let is_whole = names.iter().all(|name| {
            match std::fs::copy(folder.join(name), copy.path().join(name)) {
                Ok(_) => true,
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                Err(error) => panic!("{error}"),
            }
        });
        if is_whole && names_in(folder) == names {
            return copy;
        }
    }
}

fn names_in(folder: &Path) -> BTreeSet<OsString> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect()
}

pub type Model = Vec<(PointId, Vec<f32>)>;

pub fn brute_force(model: &Model, metric: Metric, query: &[f32], limit: usize) -> Vec<PointId> {
    let mut ranked: Vec<(f64, usize)> = model
        .iter()
        .enumerate()
        .map(|(index, (_, vector))| (kernels::distance(metric, query, vector), index))
        .collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked
        .iter()
        .take(limit)
        .map(|&(_, index)| model[index].0)
        .collect()
}

/// Points around a few centres, reproducible.
pub fn clustered(count: usize, dimension: usize) -> Vec<Vec<f32>> {
    let mut state = 7_u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 24) as f32
    };
    let centres: Vec<Vec<f32>> = (0..20)
        .map(|_| (0..dimension).map(|_| random() * 4.0).collect())
        .collect();
    (0..count)
        .map(|index| {
            centres[index % centres.len()]
                .iter()
                .map(|x| x + random())
                .collect()
        })
        .collect()
}

pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(
            begin.elapsed() < Duration::from_mins(2),
            "{what} takes too long"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

pub fn wait_for_graphs(engine: &Engine) {
    wait_until("linking", || {
        let graphs = engine.status().graphs;
        !graphs.is_empty() && graphs.iter().all(|graph| graph.linked == graph.slots)
    });
}

pub fn recall(
    engine: &Engine,
    model: &Model,
    metric: Metric,
    queries: &[Vec<f32>],
    ef: usize,
) -> f64 {
    let mut found = 0;
    for query in queries {
        let expected = brute_force(model, metric, query, 10);
        let got = search(engine, metric, query, 10, ef);
        assert_eq!(got.len(), 10);
        found += expected.iter().filter(|id| got.contains(id)).count();
    }
    found as f64 / (queries.len() * 10) as f64
}
