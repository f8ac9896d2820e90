//! Bytes that rot in a sealed segment reach nobody.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

#[path = "support/driver.rs"]
mod driver;

use std::{fs, path::Path};

use driver::*;
use vectord_engine::{Engine, Error, Metric, PointId};

const DIMENSION: u32 = 16;
const POINTS: usize = 6_000;

/// Flips a bit where these bytes are in the first segment.
fn flip(folder: &Path, bytes: &[u8]) {
    let path = folder.join("00000001.log");
    let mut log = fs::read(&path).unwrap();
    let at = log.windows(bytes.len()).position(|window| window == bytes);
    log[at.unwrap() + bytes.len() / 2] ^= 4;
    fs::write(path, log).unwrap();
}

fn nearest(engine: &Engine, vector: &[f32]) -> Result<Vec<PointId>, Error> {
    try_search(engine, Metric::Euclidean, vector, 1, 20)
}

#[test]
fn a_damaged_vector_or_content_becomes_part_of_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    let vectors = clustered(POINTS, DIMENSION as usize);
    let ids = insert(&engine, &vectors).unwrap();
    // Behind a sealed segment.
    insert(&engine, &clustered(10, DIMENSION as usize)).unwrap();
    engine.close().unwrap();
    let (vector, content) = (17, 3_000);
    flip(folder.path(), bytemuck::cast_slice(&vectors[vector]));
    flip(folder.path(), content_of(&vectors[content]).as_bytes());

    let engine = open(folder.path(), DIMENSION);
    for damaged in [vector, content] {
        let refused = engine.get(&ids[damaged]);
        let Err(Error::Damaged { path, reason, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(path, folder.path().join("00000001.log"));
        let sequence = format!("sequence {} ", damaged + 1);
        assert!(reason.contains(&sequence), "{reason}");
        let refused = nearest(&engine, &vectors[damaged]);
        assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
    }
    assert!(engine.status().damage.unwrap().contains("00000001.log"));
    for (id, vector) in ids.iter().zip(&vectors).skip(100).take(100) {
        assert_eq!(nearest(&engine, vector).unwrap(), [*id]);
        assert_eq!(&engine.get(id).unwrap().unwrap().vector, vector);
    }
    assert!(
        delete(&engine, ids[vector]),
        "a damaged point can be deleted"
    );
    assert!(nearest(&engine, &vectors[vector]).is_ok());
}

#[test]
fn damage_is_found_though_nobody_asks() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    let vectors = clustered(POINTS, DIMENSION as usize);
    insert(&engine, &vectors).unwrap();
    insert(&engine, &clustered(10, DIMENSION as usize)).unwrap();
    engine.close().unwrap();
    let sound = open(folder.path(), DIMENSION);
    sound.close().unwrap();
    assert_eq!(sound.status().damage, None);
    flip(folder.path(), content_of(&vectors[40]).as_bytes());
    let engine = open(folder.path(), DIMENSION);
    wait_until("the damage to be found", || {
        engine.status().damage.is_some()
    });
}
