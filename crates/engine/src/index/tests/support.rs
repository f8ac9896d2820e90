//! Test support for the index: records in a log, and an index over them.
#![cfg_attr(
    feature = "shuttle",
    allow(dead_code, reason = "the model checker begins without points")
)]

use std::sync::Arc;

use crate::{
    Metric,
    hnsw::{Params, Scratch},
    index::{
        Index, Linker, PointId,
        columns::DEFAULT_BYTES,
        linking::linker::{Schedule, work},
    },
    store::{DEFAULT_SEGMENT_BYTES, Location, OpenOptions, Segments, Store, Write},
};

/// Writes vectors as records of a log, and returns the log and the place of each. Points are
/// numbered from 1. The folder is removed at once; its mappings stay.
pub fn records(vectors: &[Vec<f32>]) -> (Arc<Segments>, Vec<Location>) {
    records_with_contents(vectors, &[], |_| String::new())
}

fn records_with_contents(
    vectors: &[Vec<f32>],
    content: &[u8],
    metadata: impl Fn(usize) -> String,
) -> (Arc<Segments>, Vec<Location>) {
    let folder = tempfile::tempdir().unwrap();
    let dimension = vectors[0].len() as u32;
    let options = OpenOptions {
        path: folder.path().to_owned(),
        dimension: Some(dimension),
        default_dimension: dimension,
        segment_bytes: DEFAULT_SEGMENT_BYTES,
    };
    let mut store = Store::open(&options).unwrap().store;
    let metadata: Vec<String> = (1..=vectors.len()).map(metadata).collect();
    let points = (1..).zip(vectors.iter().zip(&metadata));
    let write = |(number, (vector, metadata))| Write::Insert {
        id: id(number),
        vector: Vec::as_slice(vector),
        content_type: 0,
        content,
        metadata: String::as_bytes(metadata),
        replaced: None,
    };
    let writes: Vec<Write> = points.map(write).collect();
    let locations = store.commit(&writes).unwrap();
    (store.segments(), locations)
}

/// Random vectors, the same each time.
pub fn vectors(count: usize, dimension: usize) -> Vec<Vec<f32>> {
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let vector = |_| (0..dimension).map(|_| random()).collect();
    (0..count).map(vector).collect()
}

/// Links all points in the graph of Euclidean.
pub fn link_all(index: &Arc<Index>) {
    let graph = index.graph(Metric::Euclidean);
    graph.want();
    let linker = Linker::start(index, 2).unwrap();
    while graph.current().unwrap().tail_len(index.arena.slots()) > 0 {
        std::thread::yield_now();
    }
    linker.stop();
}

/// The id of a point by its number.
pub fn id(number: usize) -> PointId {
    (number as u128).to_be_bytes()
}

/// An index over vectors. The sequence of a point is its number.
pub fn index(vectors: &[Vec<f32>]) -> Arc<Index> {
    index_with_contents(vectors, &[])
}

/// As [`index`], with the same content in each point.
pub fn index_with_contents(vectors: &[Vec<f32>], content: &[u8]) -> Arc<Index> {
    let records = records_with_contents(vectors, content, |_| String::new());
    Arc::new(index_of(records, vectors[0].len() as u32, DEFAULT_BYTES))
}

/// An index over points on a line, whose columns take at most `max_column_bytes`. The metadata of
/// each follow from its number.
pub fn index_with_metadata(
    points: usize,
    max_column_bytes: usize,
    metadata: impl Fn(usize) -> String,
) -> Index {
    let vectors: Vec<Vec<f32>> = (0..points).map(|value| vec![value as f32]).collect();
    index_of_points(&vectors, max_column_bytes, metadata)
}

/// The same over these vectors.
pub fn index_of_points(
    vectors: &[Vec<f32>],
    max_column_bytes: usize,
    metadata: impl Fn(usize) -> String,
) -> Index {
    let records = records_with_contents(vectors, &[], metadata);
    index_of(records, vectors[0].len() as u32, max_column_bytes)
}

fn index_of(
    (segments, locations): (Arc<Segments>, Vec<Location>),
    dimension: u32,
    max_column_bytes: usize,
) -> Index {
    let index = Index::new(segments, dimension, Params::default());
    let index = index.with_column_bytes(max_column_bytes);
    let points = locations.len() as u64;
    for (number, location) in (1..).zip(locations) {
        index.insert(id(number), location, number as u64).unwrap();
    }
    index.publish(points);
    index
}

/// An index over the values 0, 1, 2 and so on. A graph is wanted, but nothing is linked yet.
pub fn line(points: u32) -> Arc<Index> {
    let vectors: Vec<Vec<f32>> = (0..points).map(|value| vec![value as f32]).collect();
    let index = index(&vectors);
    index.want_graph(Metric::Euclidean);
    index
}

/// Does all work that waits for a linking thread.
pub fn work_on(index: &Index) {
    let mut scratch = Scratch::new();
    while work(index, Schedule::Always, &mut scratch) {}
}
