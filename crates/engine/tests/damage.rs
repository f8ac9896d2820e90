//! Rotten bytes in a sealed segment are never returned to a reader.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    fs,
    os::unix::fs::FileExt,
    panic::catch_unwind,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::driver::*;
use vectord_engine::{
    Engine, Error, Metric, PointId,
    tools::{self, Event},
    uuid,
};

const DIMENSION: u32 = 16;
const POINTS: usize = 6_000;

/// Flips a bit at the place of these bytes in the first segment.
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

/// A closed folder whose first points are in a sealed segment; their ids and vectors.
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
    let told = engine.status().damage.unwrap();
    assert_eq!(told.places.len(), 2);
    assert!(told.places[0].contains("00000001.log"), "{told:?}");
    assert_eq!(told.points, [ids[vector], ids[content]]);
    assert_eq!((told.damaged_points, told.damaged_headers), (2, 0));
    for (place, id) in told.places.iter().zip(&told.points) {
        let named = format!(": point {}", uuid(id));
        assert!(place.ends_with(&named), "{place}");
    }
    for (id, vector) in ids.iter().zip(&vectors).skip(100).take(100) {
        assert_eq!(nearest(&engine, vector).unwrap(), [*id]);
        assert_eq!(&engine.get(id).unwrap().unwrap().vector, vector);
    }
    assert!(
        delete(&engine, ids[vector]),
        "a damaged point can be deleted"
    );
    assert!(nearest(&engine, &vectors[vector]).is_ok());
    assert_eq!(engine.status().damage.unwrap().points, [ids[content]]);
    assert!(delete(&engine, ids[content]));
    assert_eq!(engine.status().damage, None, "it is in no answer any more");
}

/// Flips a bit at the place of these bytes in a segment that may be mapped.
fn flip_in_place(path: &Path, id: &PointId, within: usize) {
    let log = fs::read(path).unwrap();
    let has_id = |block: &[u8]| block[16..32] == *id;
    let block = log.chunks_exact(64).position(has_id);
    let at = block.unwrap() * 64 + 16 + within;
    let file = fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&[log[at] ^ 4], at as u64).unwrap();
}

/// The result of a check and a backup of a folder: places of damage, and notes.
fn checked(folder: &Path) -> (u64, Vec<String>) {
    let mut notes = Vec::new();
    let mut tell = |event| {
        if let Event::Note(note) = event {
            notes.push(note);
        }
    };
    let report = tools::check(folder, &mut tell).unwrap();
    let target = tempfile::tempdir().unwrap();
    let made = tools::backup(folder, target.path(), &mut |_| {});
    assert_eq!(made.is_err(), report.damages > 0, "{made:?}, {report:?}");
    (report.damages, notes)
}

#[test]
fn a_delete_of_a_damaged_point_heals_and_compaction_removes_the_rest() {
    let (folder, ids, vectors) = sealed();
    flip(folder.path(), content_of(&vectors[40]).as_bytes());
    assert_eq!(checked(folder.path()), (1, vec![]));
    let engine = open(folder.path(), DIMENSION);
    wait_until("the damage to be found", || {
        engine.status().damage.is_some()
    });
    assert_eq!(engine.status().damage.unwrap().points, [ids[40]]);
    assert!(delete(&engine, ids[40]));
    assert_eq!(engine.status().damage, None);
    engine.close().unwrap();
    let (damages, notes) = checked(folder.path());
    assert_eq!((damages, notes.len()), (0, 1));
    assert!(notes[0].contains(&uuid(&ids[40])), "{notes:?}");
    assert!(notes[0].contains("compaction drops it"), "{notes:?}");

    let engine = open(folder.path(), DIMENSION);
    for id in ids.iter().skip(1_000).step_by(2) {
        assert!(delete(&engine, *id));
    }
    wait_until("compaction", || {
        !folder.path().join("00000001.log").exists()
    });
    assert_eq!(engine.status().damage, None);
    assert_eq!(engine.get(&ids[40]).unwrap(), None);
    assert_eq!(engine.get(&ids[41]).unwrap().unwrap().vector, vectors[41]);
    engine.close().unwrap();
    assert_eq!(checked(folder.path()), (0, vec![]));
}

#[test]
fn a_damaged_point_that_is_deleted_holds_its_segment_no_longer() {
    let (folder, ids, vectors) = sealed();
    flip(folder.path(), content_of(&vectors[40]).as_bytes());
    let engine = open(folder.path(), DIMENSION);
    let first = folder.path().join("00000001.log");
    for id in ids.iter().skip(1_000) {
        assert!(delete(&engine, *id));
    }
    let has_tried = || {
        let damage = engine.status().damage;
        damage.is_some_and(|damage| damage.points == [ids[40]])
    };
    wait_until("the damage to be met", has_tried);
    assert!(engine.get(&ids[40]).is_err());
    assert!(first.exists(), "a live point is lost");
    assert!(delete(&engine, ids[40]));
    wait_until("compaction", || !first.exists());
    // A copy that met the record before the delete notes its place without a point. This entry goes
    // with the segment, whose file is removed first.
    wait_until("the damage to be dropped", || {
        engine.status().damage.is_none()
    });
    assert_eq!(engine.get(&ids[41]).unwrap().unwrap().vector, vectors[41]);
}

#[test]
fn a_damaged_header_is_healed_once_its_point_is_deleted() {
    let (folder, ids, vectors) = sealed();
    let engine = open(folder.path(), DIMENSION);
    let first = folder.path().join("00000001.log");
    flip_in_place(&first, &ids[17], 15);
    let refused = engine.get(&ids[17]).unwrap_err().to_string();
    assert!(refused.contains(&uuid(&ids[17])), "{refused}");
    let headers = || {
        let damage = engine.status().damage;
        damage.map(|damage| (damage.damaged_points, damage.damaged_headers))
    };
    wait_until("the header to be found", || headers() == Some((1, 1)));
    assert!(first.exists());
    let killed = copy_of(folder.path());
    assert!(Engine::open(&options(killed.path(), None)).is_err());

    assert!(delete(&engine, ids[17]));
    wait_until("a sound copy", || headers().is_none());
    assert!(!first.exists());
    for (id, vector) in ids.iter().zip(&vectors).skip(18).take(100) {
        assert_eq!(&engine.get(id).unwrap().unwrap().vector, vector);
    }
    engine.close().unwrap();
    assert_eq!(checked(folder.path()), (0, vec![]));
    let engine = open(folder.path(), DIMENSION);
    assert_eq!(engine.get(&ids[17]).unwrap(), None, "back again");
    assert_eq!(engine.status().points, POINTS as u64 + 10 - 1);
}

#[test]
fn a_damaged_header_in_the_segment_being_written_is_healed_too() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    let vectors = clustered(100, DIMENSION as usize);
    let ids = insert(&engine, &vectors).unwrap();
    let first = folder.path().join("00000001.log");
    flip_in_place(&first, &ids[17], 15);
    engine.get(&ids[17]).unwrap_err();
    wait_until("the header to be found", || {
        let damage = engine.status().damage;
        damage.is_some_and(|damage| damage.damaged_headers == 1)
    });
    assert!(delete(&engine, ids[17]));
    wait_until("a sound copy", || engine.status().damage.is_none());
    assert!(!first.exists());
    let more = insert(&engine, &clustered(10, DIMENSION as usize)).unwrap();
    engine.close().unwrap();
    assert_eq!(checked(folder.path()), (0, vec![]));
    let engine = open(folder.path(), DIMENSION);
    assert_eq!(engine.status().points, 100 - 1 + 10);
    assert_eq!(engine.get(&ids[17]).unwrap(), None, "back again");
    assert_eq!(engine.get(&ids[99]).unwrap().unwrap().vector, vectors[99]);
    assert!(engine.get(&more[9]).unwrap().is_some());
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

    // This acts like an unreadable sector: touching the mapping there ends in a signal. The cut
    // part holds the last contents, which are behind all vectors.
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

/// Waits until the manifest has changed.
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
        // Several threads, so that there is no pause on a busy machine either.
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
    // The manifest was not written because of a new segment.
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
