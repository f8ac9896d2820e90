//! Bytes that rot in a sealed segment reach nobody.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

#[path = "support/driver.rs"]
mod driver;

use std::{
    fs,
    panic::catch_unwind,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

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

/// A closed folder whose first points lie in a sealed segment; their ids and vectors.
fn sealed() -> (tempfile::TempDir, Vec<PointId>, Vec<Vec<f32>>) {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    let vectors = clustered(POINTS, DIMENSION as usize);
    let ids = insert(&engine, &vectors).unwrap();
    insert(&engine, &clustered(10, DIMENSION as usize)).unwrap();
    engine.close().unwrap();
    (folder, ids, vectors)
}

#[test]
fn a_damaged_vector_or_content_becomes_part_of_no_answer() {
    let (folder, ids, vectors) = sealed();
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
    let (folder, _, vectors) = sealed();
    let sound = open(folder.path(), DIMENSION);
    sound.close().unwrap();
    assert_eq!(sound.status().damage, None);
    flip(folder.path(), content_of(&vectors[40]).as_bytes());
    let engine = open(folder.path(), DIMENSION);
    wait_until("the damage to be found", || {
        engine.status().damage.is_some()
    });
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_disk_cannot_give_back_is_damage_and_ends_no_process() {
    let (folder, ids, vectors) = sealed();
    let engine = open(folder.path(), DIMENSION);

    // As a sector that cannot be read: to touch what is mapped there ends in a signal. The last
    // contents lie there, behind all vectors.
    let log = fs::File::options()
        .write(true)
        .open(folder.path().join("00000001.log"))
        .unwrap();
    log.set_len(log.metadata().unwrap().len() / 2).unwrap();
    let refused = engine.get(ids.last().unwrap());
    let Err(Error::Damaged { path, reason, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(path, folder.path().join("00000001.log"));
    assert!(reason.contains("cannot be read"), "{reason}");
    assert!(engine.status().damage.is_some());
    assert_eq!(
        engine.get(&ids[0]).unwrap().unwrap().vector,
        vectors[0],
        "the rest goes on"
    );
    assert!(delete(&engine, *ids.last().unwrap()));
}

fn log_bytes(folder: &Path) -> u64 {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()))
        .sum()
}

#[test]
fn a_damaged_record_keeps_its_own_segment_from_compaction_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    let vectors = clustered(5 * POINTS, DIMENSION as usize);
    let ids: Vec<PointId> = vectors
        .chunks(POINTS)
        .flat_map(|chunk| insert(&engine, chunk).unwrap())
        .collect();
    engine.close().unwrap();
    flip(folder.path(), bytemuck::cast_slice(&vectors[17]));

    let engine = open(folder.path(), DIMENSION);
    let before = log_bytes(folder.path());
    for id in ids.iter().skip(18) {
        delete(&engine, *id);
    }
    wait_until("the space to come back", || {
        log_bytes(folder.path()) < before / 2
    });
    wait_until("the damage to be told", || engine.status().damage.is_some());
    assert!(folder.path().join("00000001.log").exists());
    assert!(engine.get(&ids[17]).is_err());
    assert_eq!(engine.get(&ids[3]).unwrap().unwrap().vector, vectors[3]);
}

/// Waits until the manifest is another one than before.
fn wait_for_manifest(folder: &Path, before: &[u8]) -> Vec<u8> {
    let path = folder.join("MANIFEST");
    wait_until("the manifest to follow", || {
        fs::read(&path).is_ok_and(|now| now != before)
    });
    fs::read(path).unwrap()
}

#[test]
fn an_older_copy_of_the_file_that_was_being_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    insert(&engine, &clustered(10, DIMENSION as usize)).unwrap();
    let first = fs::read(folder.path().join("MANIFEST")).unwrap();
    let noted = wait_for_manifest(folder.path(), &first);
    let older = fs::read(folder.path().join("00000001.log")).unwrap();
    insert(&engine, &clustered(10, DIMENSION as usize)).unwrap();
    wait_for_manifest(folder.path(), &noted);
    let killed = copy_of(folder.path());

    for stale in [
        older.clone(),
        [&older[..4096], &vec![0; older.len() - 4096]].concat(),
    ] {
        let copy = copy_of(killed.path());
        fs::write(copy.path().join("00000001.log"), stale).unwrap();
        let refused = Engine::open(&options(copy.path(), None)).map(drop);
        let Err(Error::Damaged { path, reason, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(path, copy.path().join("00000001.log"));
        assert!(reason.contains("MANIFEST proves"), "{reason}");
    }
    open(killed.path(), DIMENSION).close().unwrap();
}

#[test]
fn writes_without_a_pause_are_proven_by_the_manifest_too() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    let points = clustered(10, DIMENSION as usize);
    insert(&engine, &points).unwrap();
    let older = fs::read(folder.path().join("00000001.log")).unwrap();
    let first = fs::read(folder.path().join("MANIFEST")).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Several, so that a busy machine does not make a pause either.
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    insert(&engine, &points[..1]).unwrap();
                    thread::sleep(Duration::from_millis(10));
                }
            });
        }
        let followed = catch_unwind(|| drop(wait_for_manifest(folder.path(), &first)));
        is_over.store(true, Ordering::Relaxed);
        followed.unwrap();
    });
    let killed = copy_of(folder.path());
    // Not because another file was begun.
    assert!(!killed.path().join("00000002.log").exists());
    fs::write(killed.path().join("00000001.log"), older).unwrap();
    let refused = Engine::open(&options(killed.path(), None)).map(drop);
    assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
}

#[test]
fn a_log_that_ends_before_a_snapshot_is_refused_and_nothing_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    insert(&engine, &clustered(1_000, DIMENSION as usize)).unwrap();
    begin_graph(&engine, Metric::Euclidean);
    engine.close().unwrap();
    let earlier = copy_of(folder.path());
    let engine = open(folder.path(), DIMENSION);
    insert(&engine, &clustered(1_000, DIMENSION as usize)).unwrap();
    engine.close().unwrap();

    let stale = copy_of(folder.path());
    for name in ["MANIFEST", "00000001.log"] {
        fs::copy(earlier.path().join(name), stale.path().join(name)).unwrap();
    }
    let refused = Engine::open(&options(stale.path(), None)).map(drop);
    let Err(Error::Damaged { path, reason, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(path, stale.path().join("00000001.log"));
    assert!(reason.contains(".snapshot proves"), "{reason}");

    for lost in [&["MANIFEST"][..], &["MANIFEST", "00000001.log"]] {
        let copy = copy_of(folder.path());
        for name in lost {
            fs::remove_file(copy.path().join(name)).unwrap();
        }
        let before = fs::read_dir(copy.path()).unwrap().count();
        let refused = Engine::open(&options(copy.path(), None)).map(drop);
        assert!(
            matches!(refused, Err(Error::Damaged { .. })),
            "{lost:?}: {refused:?}"
        );
        assert_eq!(fs::read_dir(copy.path()).unwrap().count(), before);
    }
}
