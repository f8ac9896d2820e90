//! A start from snapshots during which a call fails.

use std::{path::Path, sync::Arc, thread, time::Duration};

use crate::{
    Metric,
    hnsw::Params,
    index::{Index, Linker},
    store::{
        Opened,
        tests::{
            Step, StoredPoints, apply, commit,
            failing::{assert_told, check_next_starts, failing_calls, failing_disk},
            files, id, new_folder, open, open_on, restore, state,
        },
    },
};

/// A folder with points in a graph, and two snapshots of it.
fn with_graph() -> (tempfile::TempDir, StoredPoints) {
    let folder = new_folder();
    let opened = open(folder.path()).unwrap();
    let (index, mut store) = (index_of(&opened), opened.store);
    let linker = Linker::start(&index, 1).unwrap();
    index.want_graph(Metric::Euclidean);
    let mut expected = StoredPoints::new();
    for start in [0, 30] {
        let group: Vec<Step> = (start..start + 30)
            .map(|number| Step::Insert(number, vec![1; 20]))
            .collect();
        let first = store.last_sequence() + 1;
        let locations = commit(&mut store, &group).unwrap();
        apply(&group, &mut expected);
        for ((number, at), sequence) in (start..).zip(locations).zip(first..) {
            index.insert(id(number), at, sequence).unwrap();
        }
        index.publish(store.last_sequence());
        while !has_all_linked(&index) {
            thread::sleep(Duration::from_millis(1));
        }
        index.snapshot(&store.snapshots()).unwrap();
    }
    linker.stop();
    store.close().unwrap();
    (folder, expected)
}

fn index_of(opened: &Opened) -> Arc<Index> {
    let params = Params {
        m: 8,
        ef_construction: 20,
    };
    let segments = opened.store.segments();
    Arc::new(Index::new(segments, opened.dimension, params))
}

fn has_all_linked(index: &Index) -> bool {
    let graphs = index.graphs();
    !graphs.is_empty() && graphs.iter().all(|graph| graph.linked == graph.slots)
}

fn is_snapshot(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "snapshot")
}

#[test]
fn a_start_that_cannot_read_a_snapshot_says_so_and_has_every_point() {
    let (folder, expected) = with_graph();
    let left = files(folder.path());
    for failing in failing_calls() {
        restore(folder.path(), &left);
        let disk = failing_disk(failing);
        let begun = open_on(Arc::new(disk.clone()), folder.path()).and_then(|opened| {
            let index = index_of(&opened);
            let (live, dead) = (&opened.points, &opened.dead);
            let snapshots = opened.store.snapshots();
            let notes = index.restore(live, dead, opened.last_sequence, &snapshots)?;
            Ok((opened, index, notes))
        });
        let context = format!("call {failing}: {:?}", disk.failed());
        match &begun {
            Err(error) => assert_told(error, &context),
            Ok((opened, index, notes)) => {
                assert_eq!(state(opened), expected, "{context}");
                assert_eq!(index.live(), expected.len() as u64, "{context}");
                // The graph of the last snapshot is complete; that of the one before has half of
                // the points.
                assert!(
                    has_all_linked(index) == notes.is_empty(),
                    "{context}: {notes:?}"
                );
                let told = |note: &String| note.contains("the test lets this call fail");
                assert!(notes.iter().all(told), "{context}: {notes:?}");
            }
        }
        for path in left.keys().filter(|path| is_snapshot(path)) {
            assert!(path.exists(), "{context}: another start can read it");
        }
        drop(begun);
        check_next_starts(folder.path(), &left, &disk, &expected, &context);
        if disk.fail_no_more() {
            assert!(failing > 30, "{failing} calls");
            return;
        }
    }
}
