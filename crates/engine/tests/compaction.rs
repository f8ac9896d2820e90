//! The space of deleted points becomes free while points are read, written and searched for.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    fs,
    io::ErrorKind,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use crate::driver::*;
use vectord_engine::{Engine, Metric};

const DIMENSION: u32 = 16;
const POINTS: usize = 12_000;
/// One point in this number stays.
const STAYS: usize = 4;

fn log_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let logs = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
    logs.map(|entry| match entry.metadata() {
        // Compaction has removed it meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        file => file.unwrap().len(),
    })
    .sum()
}

/// The bytes that the points take on disk, without the headers of their groups.
fn live_bytes(model: &Model) -> u64 {
    let contents = model
        .iter()
        .map(|(_, vector)| content_of(vector).len() as u64);
    contents.map(|content| 64 + 64 + content).sum()
}

fn wait_for_space(engine: &Engine, folder: &Path, model: &Model) {
    let bound = 2 * live_bytes(model) + 2 * SEGMENT_BYTES;
    wait_until("space to come back", || {
        assert_eq!(engine.status().upkeep_failure, None);
        log_bytes(folder) < bound
    });
}

fn check(when: &str, engine: &Engine, model: &Model) {
    for (id, vector) in model {
        let point = engine.get(id).unwrap().unwrap();
        assert_eq!(&point.vector, vector);
        assert_eq!(point.content, content_of(vector).into_bytes());
    }
    let all = search(engine, Metric::Manhattan, &model[0].1, usize::MAX >> 32, 1);
    assert_eq!(all.len(), model.len());
    let queries = clustered(POINTS + 30, DIMENSION as usize).split_off(POINTS);
    let recall = recall(engine, model, Metric::Euclidean, &queries, 60);
    assert!(recall > 0.97, "{recall} {when}");
}

#[test]
fn space_comes_back_under_readers_and_a_snapshot_from_before_still_serves() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    let vectors = clustered(POINTS, DIMENSION as usize);
    let ids = insert(&engine, &vectors).unwrap();
    begin_graph(&engine, Metric::Euclidean);
    engine.close().unwrap();

    let engine = open(folder.path(), DIMENSION);
    let points = ids.into_iter().zip(vectors).enumerate();
    let (stay, go): (Vec<_>, Vec<_>) = points.partition(|(index, _)| index % STAYS == 0);
    let mut model: Model = stay.into_iter().map(|(_, point)| point).collect();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for start in 0..2 {
            let (engine, model, is_done) = (&engine, &model, &is_done);
            scope.spawn(move || {
                for (id, vector) in model.iter().skip(start).step_by(2).cycle() {
                    if is_done.load(Relaxed) {
                        break;
                    }
                    let point = engine.get(id).unwrap().unwrap();
                    assert_eq!(&point.vector, vector);
                    let nearest = search(engine, Metric::Euclidean, vector, 1, 20);
                    assert_eq!(nearest, [*id]);
                }
            });
        }
        for (_, (id, _)) in &go {
            assert!(delete(&engine, *id));
        }
        wait_for_space(&engine, folder.path(), &model);
        is_done.store(true, Relaxed);
    });
    let metrics = engine.metrics();
    assert!(metrics.compactions > 0 && metrics.snapshots > 0);
    check("after compaction", &engine, &model);
    let killed = copy_of(folder.path());
    engine.close().unwrap();

    for folder in [killed.path(), folder.path()] {
        let engine = open(folder, DIMENSION);
        let kept = engine.notes().iter().all(|note| !note.contains("snapshot"));
        assert!(kept, "{:?}", engine.notes());
        assert!(!engine.status().graphs.is_empty());
        assert_eq!(engine.status().points, model.len() as u64);
        check("at a restart", &engine, &model);
        assert!(
            go.iter()
                .all(|(_, (id, _))| engine.get(id).unwrap().is_none())
        );
        wait_for_graphs(&engine);
        check("once all is linked", &engine, &model);
        engine.close().unwrap();
    }

    // All points are deleted, and others are inserted.
    let engine = open(folder.path(), DIMENSION);
    for (id, _) in model.drain(..) {
        assert!(delete(&engine, id));
    }
    let vectors = clustered(2_000, DIMENSION as usize);
    let ids = insert(&engine, &vectors).unwrap();
    model.extend(ids.into_iter().zip(vectors));
    wait_for_graphs(&engine);
    check("after others came", &engine, &model);
    wait_for_space(&engine, folder.path(), &model);
    engine.close().unwrap();
    check(
        "at the last restart",
        &open(folder.path(), DIMENSION),
        &model,
    );
}

#[test]
fn a_deleted_point_whose_copies_live_holds_no_segment() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), DIMENSION);
    // The first hundred points, many times over: the first of several duplicates stays in the graph
    // because of the others.
    let kinds = clustered(100, DIMENSION as usize);
    let vectors: Vec<Vec<f32>> = kinds.iter().cloned().cycle().take(POINTS).collect();
    let ids = insert(&engine, &vectors).unwrap();
    begin_graph(&engine, Metric::Euclidean);
    let mut model: Model = ids.into_iter().zip(vectors).collect();
    let stay = model.split_off(POINTS - POINTS / STAYS);
    for (id, _) in &model {
        assert!(delete(&engine, *id));
    }
    wait_for_space(&engine, folder.path(), &stay);
    let found = search(&engine, Metric::Euclidean, &kinds[0], POINTS, 1);
    assert_eq!(found.len(), stay.len());
    engine.close().unwrap();
    let engine = open(folder.path(), DIMENSION);
    assert_eq!(engine.notes(), [""; 0]);
    let found = search(
        &engine,
        Metric::Euclidean,
        &kinds[0],
        POINTS / STAYS / 100,
        50,
    );
    let exact = brute_force(&stay, Metric::Euclidean, &kinds[0], POINTS / STAYS / 100);
    assert_eq!(found.len(), exact.len());
    assert!(exact.iter().all(|id| found.contains(id)));
}
