//! A full disk on which every change needs space: on a copy-on-write file system, zeros over a
//! refused group, removing a file and a sync can fail for lack of space too.

use std::sync::Arc;

use super::{
    SEGMENT_BYTES, Step, StoredPoints, apply, commit,
    compaction::compact_all,
    disk::{Files, Loss, TestDisk, Want, after_power_cut},
    files, new_folder, open, open_on, options, restore, state, workload,
};
use crate::{
    Error,
    store::{OpenOptions, Opened, Store},
};

/// The states that a folder may have: the acknowledged writes, with or without a write whose error
/// leaves this open.
struct Allowed(Vec<StoredPoints>);

impl Allowed {
    fn assert(&self, opened: &Opened, context: &str) {
        assert!(self.0.contains(&state(opened)), "{context}");
    }
}

/// Commits the workload, with compaction in between, on a disk without space from some call on.
fn fill(opened: &mut Opened) -> Allowed {
    let mut acknowledged = StoredPoints::new();
    for (number, group) in workload().into_iter().enumerate() {
        match commit(&mut opened.store, &group) {
            Ok(_) => apply(&group, &mut acknowledged),
            Err(Error::StorageFull) => {}
            // If the first inserts were refused, deletes find an empty store.
            Err(Error::InvalidArgument(_)) if acknowledged.is_empty() => {}
            Err(Error::ReadOnly(_)) => {
                let mut with_last = acknowledged.clone();
                apply(&group, &mut with_last);
                let again = commit(&mut opened.store, &group);
                assert!(matches!(again, Err(Error::ReadOnly(_))), "{again:?}");
                return Allowed(vec![acknowledged, with_last]);
            }
            Err(other) => panic!("group {number}: {other}"),
        }
        match if number % 4 == 3 {
            compact_all(&mut opened.store)
        } else {
            Ok(0)
        } {
            Ok(_) | Err(Error::StorageFull | Error::ReadOnly(_) | Error::Io(_)) => {}
            Err(other) => panic!("compaction after group {number}: {other}"),
        }
    }
    Allowed(vec![acknowledged])
}

#[test]
fn where_undoing_finds_no_space_no_refused_write_comes_back_and_no_acknowledged_one_goes() {
    let mut read_only = 0;
    for from in 0.. {
        let mut is_over = true;
        for want in [
            Want::Once,
            Want::Some(3),
            Want::Some(20),
            Want::Often(from as u64),
        ] {
            let context = format!("call {from}, {want:?}");
            let folder = new_folder();
            let disk = TestDisk::default();
            let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
            disk.want_space(from, want);
            let allowed = fill(&mut opened);
            read_only += usize::from(allowed.0.len() > 1);
            is_over &= !disk.has_wanted_space();
            drop(opened);
            for loss in [Loss::Nothing, Loss::Some(from as u64)] {
                let left = after_power_cut(&Files::new(), &disk.calls(), loss);
                restore(folder.path(), &left);
                // Without any space, a start succeeds with all points, or says that space is
                // missing.
                let full = TestDisk::default();
                full.want_space(0, Want::Always);
                match open_on(Arc::new(full), folder.path()) {
                    Ok(opened) => allowed.assert(&opened, &context),
                    Err(error) => assert!(
                        error.to_string().contains("no storage space"),
                        "{context}: {error}"
                    ),
                }
                let mut opened = open(folder.path())
                    .unwrap_or_else(|error| panic!("{context}, {loss:?}: {error}"));
                allowed.assert(&opened, &context);
                commit(&mut opened.store, &[Step::Insert(900, vec![9; 900])]).unwrap();
            }
        }
        if is_over {
            assert!(from > 100, "{from} calls");
            break;
        }
    }
    assert!(
        read_only > 50,
        "{read_only} runs met an error that could not be undone"
    );
}

#[test]
fn a_group_that_is_refused_for_space_leaves_nothing_in_its_segment_or_writing_ends() {
    let large = |number| [Step::Insert(number, vec![1; 20_000])];
    let (mut undone, mut ended) = (0, 0);
    for from in 0.. {
        let folder = new_folder();
        let disk = TestDisk::default();
        let options = OpenOptions {
            segment_bytes: 8 * SEGMENT_BYTES,
            ..options(folder.path())
        };
        let mut opened = Store::open_on(Arc::new(disk.clone()), &options).unwrap();
        commit(&mut opened.store, &large(1)).unwrap();
        let before = files(folder.path());
        // A part of the group finds space, and after `from` further calls a change of existing
        // bytes does not.
        disk.set_space(Some(5000));
        disk.want_space(from, Want::Once);
        match commit(&mut opened.store, &large(2)) {
            Err(Error::StorageFull) => {
                assert_eq!(files(folder.path()), before, "call {from}");
                undone += 1;
            }
            Err(Error::ReadOnly(_)) => ended += 1,
            other => panic!("call {from}: {other:?}"),
        }
        if !disk.has_wanted_space() {
            break;
        }
    }
    // Undone: when the part's own write fails, and in the last run. Ended: when the zeros over the
    // part or their sync fail.
    assert!(undone >= 2 && ended >= 2, "{undone} undone, {ended} ended");
}
