//! A folder that an earlier build wrote, one for each version of the format, opens in every later
//! build: its points, deletes, compacted segments and graphs.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::mpsc::channel,
};

use crate::driver::{copy_of, delete, ends, search, wait_for_graphs, wait_until};
use vectord_engine::{Batch, Engine, Existing, Metric, Options, Params, PointId};

const DIMENSION: usize = 8;
const POINTS: u32 = 240;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

fn options(path: &Path) -> Options {
    Options {
        path: path.into(),
        dimension: None,
        graph: Params {
            m: 4,
            ef_construction: 20,
        },
        warm_metrics: Vec::new(),
        give_back_after: None,
        segment_bytes: 16 << 10,
        max_queued_bytes: 1 << 20,
        max_column_bytes: 256 << 20,
    }
}

fn id(number: u32) -> PointId {
    u128::from(number).to_be_bytes()
}

fn vector(number: u32) -> Vec<f32> {
    (0..DIMENSION as u32)
        .map(|at| (number * (at + 3) % 97) as f32 - 0.5)
        .collect()
}

fn content(number: u32) -> String {
    format!("the content of point {number}")
}

/// The metadata of the points that replace others, which version 1 does not have.
fn metadata(number: u32) -> Vec<u8> {
    vec![b'm'; number as usize % 5]
}

/// The points that were replaced, in the versions from 2 on.
fn is_replaced(version: &str, number: u32) -> bool {
    version != "v1" && number.is_multiple_of(18)
}

/// Of the first points, few stay, so that their segments are worth compacting.
fn stays(number: u32) -> bool {
    number >= 180 || number.is_multiple_of(9)
}

#[test]
fn the_sample_of_each_version_opens_with_all_that_is_in_it() {
    let mut versions = 0;
    for entry in fs::read_dir(samples()).unwrap() {
        let sample = entry.unwrap();
        let version = sample.file_name().into_string().unwrap();
        let folder = copy_of(&sample.path());
        let engine = Engine::open(&options(folder.path())).unwrap();
        assert_eq!(engine.notes(), [""; 0]);
        assert_eq!(engine.dimension() as usize, DIMENSION);
        let [graph] = &engine.status().graphs[..] else {
            panic!("{:?}", engine.status().graphs);
        };
        assert_eq!((graph.metric, graph.caught_up), (Metric::Cosine, true));
        for number in 0..POINTS {
            let point = engine.get(&id(number)).unwrap();
            if stays(number) {
                let point = point.unwrap();
                assert_eq!(point.vector, vector(number));
                assert_eq!(point.content, content(number).into_bytes());
                assert_eq!(u32::from(point.content_type), number % 2);
                let replaced = is_replaced(&version, number);
                let expected = if replaced {
                    metadata(number)
                } else {
                    Vec::new()
                };
                assert_eq!(point.metadata, expected);
            } else {
                assert_eq!(point, None);
            }
        }
        let all = (0..POINTS).filter(|&number| stays(number)).count();
        let found = search(&engine, Metric::Cosine, &vector(200), POINTS as usize, 1);
        assert_eq!(found.len(), all);

        upsert(&engine, 0..1, |_| b"new".to_vec());
        assert!(delete(&engine, id(9)));
        upsert(&engine, POINTS..POINTS + 1, |_| Vec::new());
        engine.close().unwrap();
        let engine = Engine::open(&options(folder.path())).unwrap();
        assert_eq!(engine.status().points, all as u64);
        assert_eq!(engine.get(&id(0)).unwrap().unwrap().metadata, b"new");
        assert_eq!(engine.get(&id(9)).unwrap(), None);
        engine.close().unwrap();
        versions += 1;
    }
    assert_eq!(versions, 2, "a sample for each version of the format");
}

#[test]
#[ignore = "writes the sample of the present version anew, into the folder that SAMPLE names"]
fn write_sample() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(&Options {
        dimension: Some(DIMENSION as u32),
        warm_metrics: vec![Metric::Cosine],
        ..options(folder.path())
    })
    .unwrap();
    // What is there before is deleted with all.
    upsert(&engine, 0..9, |_| Vec::new());
    let (sender, receiver) = channel();
    engine.delete_all(9, Box::new(move |result| sender.send(result).unwrap()));
    receiver.recv().unwrap().unwrap();
    for first in (0..POINTS).step_by(5) {
        upsert(&engine, first..first + 5, |_| Vec::new());
    }
    for number in (0..POINTS).filter(|&number| is_replaced("v2", number)) {
        upsert(&engine, number..number + 1, metadata);
    }
    for number in (0..POINTS).filter(|&number| !stays(number)) {
        assert!(delete(&engine, id(number)));
    }
    wait_for_graphs(&engine);
    wait_until("compaction", || {
        !folder.path().join("00000001.log").exists()
    });
    engine.close().unwrap();
    let target = PathBuf::from(std::env::var("SAMPLE").unwrap());
    fs::create_dir_all(&target).unwrap();
    for name in ["LOCK", "RESERVE", "SPARE"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, target.join(path.file_name().unwrap())).unwrap();
    }
}

fn upsert(engine: &Engine, numbers: Range<u32>, metadata: impl Fn(u32) -> Vec<u8>) {
    let contents: Vec<String> = numbers.clone().map(content).collect();
    let metadata: Vec<_> = numbers.clone().map(metadata).collect();
    let batch = Batch {
        ids: numbers.clone().map(id).collect(),
        vectors: numbers.clone().flat_map(vector).collect(),
        content_types: numbers.map(|number| (number % 2) as u8).collect(),
        content_ends: ends(&contents),
        contents: contents.concat().into_bytes(),
        metadata_ends: ends(&metadata),
        metadata: metadata.concat(),
    };
    let (sender, receiver) = channel();
    let done = Box::new(move |result| sender.send(result).unwrap());
    engine.upsert(batch, Existing::Replace, done);
    receiver.recv().unwrap().unwrap();
}
