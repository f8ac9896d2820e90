//! Test support for the index: records in a log, and an index over them.
#![cfg_attr(
    vectord_shuttle,
    allow(dead_code, reason = "the model checker begins without points")
)]

use std::sync::Arc;

use crate::{
    Metric,
    hnsw::{Params, Scratch},
    index::{
        Index, PointId,
        linking::linker::{Schedule, work},
    },
    store::{DEFAULT_SEGMENT_BYTES, Location, OpenOptions, Segments, Store, Write},
};

/// Writes vectors as records of a log, and returns the log and the place of each. Points are
/// numbered from 1. The folder is removed at once; its mappings stay.
pub fn records(vectors: &[Vec<f32>]) -> (Arc<Segments>, Vec<Location>) {
    records_with_contents(vectors, &[])
}

fn records_with_contents(vectors: &[Vec<f32>], content: &[u8]) -> (Arc<Segments>, Vec<Location>) {
    let folder = tempfile::tempdir().unwrap();
    let dimension = vectors[0].len() as u32;
    let options = OpenOptions {
        path: folder.path().to_owned(),
        dimension: Some(dimension),
        default_dimension: dimension,
        segment_bytes: DEFAULT_SEGMENT_BYTES,
    };
    let mut store = Store::open(&options).unwrap().store;
    let write = |(number, vector)| Write::Insert {
        id: id(number),
        vector,
        content_type: 0,
        content,
        metadata: &[],
        replaced: None,
    };
    let vectors = vectors.iter().map(Vec::as_slice);
    let writes: Vec<Write> = (1..).zip(vectors).map(write).collect();
    let locations = store.commit(&writes).unwrap();
    (store.segments(), locations)
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
    let (segments, locations) = records_with_contents(vectors, content);
    let index = Index::new(segments, vectors[0].len() as u32, Params::default());
    for (number, location) in (1..).zip(locations) {
        index.insert(id(number), location, number as u64).unwrap();
    }
    index.publish(vectors.len() as u64);
    Arc::new(index)
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
