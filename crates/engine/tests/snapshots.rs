//! Restarts with snapshots: graphs come back unchanged, and an unusable snapshot costs only time.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::driver::*;
use vectord_engine::{Engine, Error, Metric, Options, Params};

const DIMENSION: u32 = 16;
const POINTS: usize = 3_000;

/// A folder with points and the graphs of two metrics, and its points.
struct Before {
    folder: tempfile::TempDir,
    model: Model,
}

impl Before {
    fn new() -> Before {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path(), DIMENSION);
        let vectors = clustered(POINTS, DIMENSION as usize);
        let ids = insert(&engine, &vectors).unwrap();
        let model = ids.into_iter().zip(vectors).collect();
        for metric in [Metric::Euclidean, Metric::Hamming] {
            begin(&engine, metric);
        }
        engine.close().unwrap();
        Before { folder, model }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn open(&self) -> Engine {
        open(self.path(), DIMENSION)
    }
}

/// Makes the engine build the graph of a metric.
fn begin(engine: &Engine, metric: Metric) {
    let query = vec![0.5; DIMENSION as usize];
    wait_until("the graph to begin", || {
        search(engine, metric, &query, 1, 1);
        engine
            .status()
            .graphs
            .iter()
            .any(|graph| graph.metric == metric)
    });
    wait_for_graphs(engine);
}

fn snapshots(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "snapshot")
    });
    paths.sort();
    paths
}

/// The number of points in the graphs of an engine that was just opened, before it links anything:
/// those of a snapshot, or none.
fn linked_at_once(engine: &Engine) -> Vec<(Metric, bool, u32)> {
    let graphs = engine.status().graphs.into_iter();
    graphs
        .map(|graph| (graph.metric, graph.caught_up, graph.linked))
        .collect()
}

fn queries() -> Vec<Vec<f32>> {
    clustered(POINTS + 50, DIMENSION as usize).split_off(POINTS)
}

fn euclidean_recall(engine: &Engine, model: &Model) -> f64 {
    recall(engine, model, Metric::Euclidean, &queries(), 40)
}

fn is_noted(engine: &Engine, what: &str) -> bool {
    engine.notes().iter().any(|note| note.contains(what))
}

#[test]
fn graphs_come_back_without_a_point_linked_again() {
    let before = Before::new();
    let engine = before.open();
    let whole = POINTS as u32;
    assert_eq!(
        linked_at_once(&engine),
        [
            (Metric::Euclidean, true, whole),
            (Metric::Hamming, true, whole)
        ]
    );
    assert_eq!(engine.notes(), [""; 0]);
    assert!(euclidean_recall(&engine, &before.model) > 0.99);
    for (id, vector) in &before.model {
        let stored = engine.get(id).unwrap().unwrap();
        assert_eq!(&stored.vector, vector);
    }
}

#[test]
fn nothing_is_written_where_nothing_has_changed() {
    let before = Before::new();
    let kept = snapshots(before.path());
    before.open().close().unwrap();
    assert_eq!(snapshots(before.path()), kept);
}

#[test]
fn a_graph_that_was_given_back_is_in_no_later_snapshot() {
    let before = Before::new();
    let given_back = |warm_metrics| {
        let options = Options {
            give_back_after: Some(Duration::from_secs(1)),
            warm_metrics,
            ..options(before.path(), Some(DIMENSION))
        };
        let engine = Engine::open(&options).unwrap();
        assert!(!linked_at_once(&engine).is_empty(), "the time begins anew");
        let kept = options.warm_metrics.len();
        wait_until("the graphs to be given back", || {
            engine.status().graphs.len() == kept
        });
        engine.close().unwrap();
        let engine = before.open();
        assert_eq!(engine.status().points, POINTS as u64);
        engine
    };
    let engine = given_back(vec![Metric::Euclidean]);
    let whole = POINTS as u32;
    assert_eq!(linked_at_once(&engine), [(Metric::Euclidean, true, whole)]);
    assert_eq!(engine.notes(), [""; 0]);
    drop(engine);

    let engine = given_back(Vec::new());
    assert_eq!(snapshots(before.path()), [""; 0].map(PathBuf::from));
    assert_eq!(linked_at_once(&engine), []);
    begin(&engine, Metric::Euclidean);
    assert!(euclidean_recall(&engine, &before.model) > 0.99);
    engine.close().unwrap();
    assert_eq!(snapshots(before.path()).len(), 1);
}

#[test]
fn the_last_two_are_kept() {
    let before = Before::new();
    let first = snapshots(before.path());
    for round in 0..3 {
        let engine = before.open();
        insert(&engine, &clustered(10 + round, DIMENSION as usize)).unwrap();
        wait_for_graphs(&engine);
        engine.close().unwrap();
    }
    let kept = snapshots(before.path());
    assert_eq!(kept.len(), 2);
    assert!(first.iter().all(|path| !kept.contains(path)));
}

#[test]
fn what_came_and_went_after_the_snapshot_is_made_up_for() {
    let mut before = Before::new();
    let engine = before.open();
    let later = clustered(POINTS + 400, DIMENSION as usize).split_off(POINTS);
    let ids = insert(&engine, &later).unwrap();
    before.model.extend(ids.into_iter().zip(later));
    // Some of the old and of the new points, and more than a round of reclaiming waits for.
    let (gone, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut before.model)
        .into_iter()
        .enumerate()
        .partition(|(index, _)| index % 3 == 0);
    before.model = kept.into_iter().map(|(_, point)| point).collect();
    for (_, (id, _)) in &gone {
        assert!(delete(&engine, *id));
    }
    let killed = copy_of(before.path());
    engine.close().unwrap();

    for folder in [killed.path(), before.path()] {
        let engine = open(folder, DIMENSION);
        assert_eq!(engine.status().points, before.model.len() as u64);
        assert!(!linked_at_once(&engine).is_empty());
        let check = || {
            assert!(euclidean_recall(&engine, &before.model) > 0.98);
            let all = search(&engine, Metric::Hamming, &queries()[0], 10_000, 1);
            assert_eq!(all.len(), before.model.len());
            assert!(
                gone.iter()
                    .all(|(_, (id, _))| engine.get(id).unwrap().is_none())
            );
        };
        check();
        wait_for_graphs(&engine);
        wait_until("slots of deleted points to be given back", || {
            engine.status().dead < 150
        });
        check();
        // The freed slots are used again, and saved and loaded in this state.
        let more = clustered(900, DIMENSION as usize);
        let ids = insert(&engine, &more).unwrap();
        let mut model = before.model.clone();
        model.extend(ids.into_iter().zip(more));
        wait_for_graphs(&engine);
        engine.close().unwrap();
        let engine = open(folder, DIMENSION);
        assert_eq!(engine.notes(), [""; 0]);
        assert!(
            linked_at_once(&engine)
                .iter()
                .all(|&(_, caught_up, _)| caught_up)
        );
        assert!(euclidean_recall(&engine, &model) > 0.98);
    }
}

#[test]
fn inserts_do_not_wait_for_all_that_came_after_a_snapshot() {
    let before = Before::new();
    let kept = fs::read(&snapshots(before.path())[0]).unwrap();
    let engine = before.open();
    for _ in 0..11 {
        insert(&engine, &clustered(2_000, DIMENSION as usize)).unwrap();
    }
    engine.close().unwrap();
    for path in snapshots(before.path()) {
        fs::remove_file(path).unwrap();
    }
    fs::write(before.path().join("00000001.snapshot"), kept).unwrap();
    let engine = before.open();
    assert!(
        linked_at_once(&engine)
            .iter()
            .all(|&(_, caught_up, _)| !caught_up)
    );
    insert(&engine, &clustered(10, DIMENSION as usize)).unwrap();
    wait_for_graphs(&engine);
    assert!(
        linked_at_once(&engine)
            .iter()
            .all(|&(_, caught_up, _)| caught_up)
    );
}

#[test]
fn points_outside_of_graphs_come_back_too() {
    let before = Before::new();
    let engine = before.open();
    // Single precision cannot rank this vector.
    let huge = vec![1e30; DIMENSION as usize];
    let ids = insert(&engine, &[huge.clone(), huge.clone()]).unwrap();
    insert(&engine, &clustered(10, DIMENSION as usize)).unwrap();
    wait_for_graphs(&engine);
    engine.close().unwrap();
    let engine = before.open();
    assert_eq!(engine.status().points, POINTS as u64 + 12);
    assert_eq!(search(&engine, Metric::Euclidean, &huge, 2, 50), ids);
}

#[test]
fn a_damaged_snapshot_costs_a_rebuild_and_never_a_point() {
    let before = Before::new();
    let [newest] = &snapshots(before.path())[..] else {
        panic!("one snapshot, that of the end");
    };
    let sound = fs::read(newest).unwrap();
    let places = (0..64).map(|number| number * (sound.len() - 1) / 63);
    let mut broken: Vec<Vec<u8>> = places
        .chain([8, 9, 11])
        .map(|place| {
            let mut bytes = sound.clone();
            bytes[place] ^= 1 << (place % 8);
            bytes
        })
        .collect();
    broken.extend(
        [0, 1, 63, 64, 70, 80, sound.len() / 2, sound.len() - 1]
            .map(|length| sound[..length].to_vec()),
    );
    broken.push([&sound[..], &[0]].concat());
    // The magic number and the id of the store: without them nothing says that the file is ours.
    let names = |bytes: &[u8]| Some((bytes.get(..8)?.to_vec(), bytes.get(16..32)?.to_vec()));
    for (number, bytes) in broken.iter().enumerate() {
        let folder = copy_of(before.path());
        let path = folder.path().join(newest.file_name().unwrap());
        fs::write(&path, bytes).unwrap();
        let engine = open(folder.path(), DIMENSION);
        let is_ours = names(bytes) == names(&sound);
        let note = if is_ours {
            "removed a snapshot"
        } else {
            "did not use a snapshot"
        };
        assert!(is_noted(&engine, note), "case {number}");
        assert_eq!(linked_at_once(&engine), []);
        assert_eq!(engine.status().points, POINTS as u64);
        assert_eq!(path.exists(), !is_ours, "case {number}");
    }
}

#[test]
fn the_snapshot_before_stands_in_for_a_damaged_one() {
    let before = Before::new();
    let engine = before.open();
    insert(&engine, &clustered(200, DIMENSION as usize)).unwrap();
    wait_for_graphs(&engine);
    engine.close().unwrap();
    let kept = snapshots(before.path());
    let [_, newest] = &kept[..] else {
        panic!("two snapshots, found {}", kept.len());
    };
    let mut bytes = fs::read(newest).unwrap();
    bytes[5_000] ^= 1;
    fs::write(newest, bytes).unwrap();
    let engine = before.open();
    assert!(is_noted(&engine, "removed a snapshot"));
    assert!(
        linked_at_once(&engine)
            .iter()
            .all(|&(_, _, linked)| linked >= POINTS as u32)
    );
    wait_for_graphs(&engine);
    assert!(euclidean_recall(&engine, &before.model) > 0.9);
}

#[test]
fn a_snapshot_of_another_store_another_time_or_other_parameters_is_not_taken() {
    let before = Before::new();
    let own = &snapshots(before.path())[0];

    let other = Before::new();
    let path = &snapshots(other.path())[0];
    fs::copy(own, path).unwrap();
    let engine = other.open();
    assert!(is_noted(&engine, "another store"));
    assert_eq!(linked_at_once(&engine), []);

    // The folder in its earlier state, with a later snapshot.
    let earlier = copy_of(before.path());
    let engine = before.open();
    insert(&engine, &clustered(50, DIMENSION as usize)).unwrap();
    wait_for_graphs(&engine);
    engine.close().unwrap();
    let later = snapshots(before.path()).pop().unwrap();
    let strange = earlier.path().join(later.file_name().unwrap());
    fs::copy(&later, &strange).unwrap();
    let refused = Engine::open(&options(earlier.path(), None)).map(drop);
    let Err(Error::Damaged { reason, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("proves that"), "{reason}");
    fs::remove_file(strange).unwrap();
    let engine = open(earlier.path(), DIMENSION);
    assert!(
        !linked_at_once(&engine).is_empty(),
        "the one before stands in"
    );
    // From here on the two folders have different points under the same sequences.
    insert(&engine, &clustered(80, DIMENSION as usize)).unwrap();
    engine.close().unwrap();
    for path in snapshots(earlier.path()) {
        fs::remove_file(path).unwrap();
    }
    fs::copy(&later, earlier.path().join(later.file_name().unwrap())).unwrap();
    let engine = open(earlier.path(), DIMENSION);
    assert!(is_noted(&engine, "is another"), "{:?}", engine.notes());
    assert_eq!(linked_at_once(&engine), []);
    engine.close().unwrap();

    let other_graph = Params {
        m: 8,
        ef_construction: 100,
    };
    let changed = Options {
        graph: other_graph,
        ..options(before.path(), None)
    };
    let engine = Engine::open(&changed).unwrap();
    assert!(is_noted(&engine, "built with HNSW_M "));
    assert_eq!(linked_at_once(&engine), []);
}
