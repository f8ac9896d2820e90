//! A disk that becomes full.

use std::sync::Arc;

use super::{
    SEGMENT_BYTES, Step, StoredPoints, apply, commit,
    damage::log,
    disk::{Files, Loss, TestDisk, after_power_cut},
    new_folder, open, open_on, options, restore, state, state_after, workload,
};
use crate::{
    Error,
    store::{OpenOptions, Store},
};

#[test]
fn a_full_disk_refuses_a_commit_whole_and_writes_resume_when_there_is_space() {
    for space in (0..20_000).step_by(331) {
        let folder = new_folder();
        let disk = TestDisk::default();
        let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
        disk.set_space(Some(space));
        let mut expected = StoredPoints::new();
        let mut refused = Vec::new();
        for group in workload() {
            match commit(&mut opened.store, &group) {
                Ok(_) => apply(&group, &mut expected),
                Err(Error::StorageFull) => refused.push(group),
                // If the first inserts were refused, deletes find an empty store.
                Err(Error::InvalidArgument(_)) if expected.is_empty() => {}
                Err(other) => panic!("space {space}: {other}"),
            }
        }
        assert!(!refused.is_empty(), "space {space}");
        let killed = super::copy(folder.path());
        assert_eq!(
            state(&open(killed.path()).unwrap()),
            expected,
            "killed, space {space}"
        );

        disk.set_space(None);
        for group in refused {
            commit(&mut opened.store, &group).unwrap();
            apply(&group, &mut expected);
        }
        drop(opened);
        assert_eq!(
            state(&open(folder.path()).unwrap()),
            expected,
            "space {space}"
        );
    }
}

#[test]
fn a_refused_group_leaves_no_byte_behind() {
    let folder = new_folder();
    let disk = TestDisk::default();
    let options = OpenOptions {
        segment_bytes: 8 * SEGMENT_BYTES,
        ..options(folder.path())
    };
    let mut opened = Store::open_on(Arc::new(disk.clone()), &options).unwrap();
    // The group is large, so no zeros are written ahead of the next one.
    commit(&mut opened.store, &[Step::Insert(1, vec![1; 20_000])]).unwrap();
    let before = super::files(folder.path());
    for space in [0, 1, 64, 100, 200] {
        disk.set_space(Some(space));
        let refused = commit(&mut opened.store, &[Step::Insert(2, vec![2; 1000])]);
        assert!(matches!(refused, Err(Error::StorageFull)), "space {space}");
        assert_eq!(super::files(folder.path()), before, "space {space}");
    }
}

#[test]
fn small_groups_find_their_place_written() {
    let folder = new_folder();
    let disk = TestDisk::default();
    let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
    let insert = |number| [Step::Insert(number, vec![1; 10])];
    commit(&mut opened.store, &insert(1)).unwrap();
    disk.set_space(Some(0));
    commit(&mut opened.store, &insert(2)).unwrap();
    // A disk without space for zeros ahead may have space for groups.
    drop(opened);
    let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
    commit(&mut opened.store, &insert(3)).unwrap();
    let expected = state_after(&[insert(1), insert(2), insert(3)].map(|group| group.to_vec()));
    drop(opened);
    assert_eq!(state(&open(folder.path()).unwrap()), expected);
}

#[test]
fn a_store_opens_for_reading_on_a_full_disk() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    // The group fills its segment, so that the no-op of the next open needs a new one.
    let group = [Step::Insert(1, vec![1; 4096 - 3 * 64])];
    commit(&mut opened.store, &group).unwrap();
    let expected = super::state_after(&[group.to_vec()]);
    drop(opened);
    let disk = TestDisk::default();
    disk.set_space(Some(0));
    let opened = open_on(Arc::new(disk), folder.path()).unwrap();
    assert_eq!(state(&opened), expected);
    assert!(
        opened.notes.iter().any(|note| note.contains("full")),
        "{:?}",
        opened.notes
    );
}

#[test]
fn deletes_go_on_in_their_reserve_and_inserts_when_there_is_space_for_all() {
    let folder = new_folder();
    let disk = TestDisk::default();
    let options = OpenOptions {
        segment_bytes: 8 * SEGMENT_BYTES,
        ..options(folder.path())
    };
    let mut opened = Store::open_on(Arc::new(disk.clone()), &options).unwrap();
    // The group is large, so no zeros are written ahead of the next one.
    let points: Vec<Step> = (0..20)
        .map(|number| Step::Insert(number, vec![1; 1000]))
        .collect();
    commit(&mut opened.store, &points).unwrap();
    let mut expected = state_after(std::slice::from_ref(&points));
    let insert = [Step::Insert(100, vec![1; 2000])];
    disk.set_space(Some(0));
    assert!(matches!(
        commit(&mut opened.store, &insert),
        Err(Error::StorageFull)
    ));
    for number in 0..15 {
        let delete = [Step::Delete(number)];
        commit(&mut opened.store, &delete).unwrap();
        apply(&delete, &mut expected);
    }
    // Inserts may not use the rest of the reserve for deletes.
    let small = [Step::Insert(101, vec![])];
    assert!(matches!(
        commit(&mut opened.store, &small),
        Err(Error::StorageFull)
    ));
    let killed = super::copy(folder.path());
    assert_eq!(state(&open(killed.path()).unwrap()), expected);
    // They may not use it after a start either.
    drop(opened);
    let mut opened = Store::open_on(Arc::new(disk.clone()), &options).unwrap();
    assert!(matches!(
        commit(&mut opened.store, &small),
        Err(Error::StorageFull)
    ));
    let delete = [Step::Delete(15)];
    commit(&mut opened.store, &delete).unwrap();
    apply(&delete, &mut expected);
    // A little space is taken for the reserve.
    disk.set_space(Some(SEGMENT_BYTES));
    assert!(matches!(
        commit(&mut opened.store, &small),
        Err(Error::StorageFull)
    ));
    disk.set_space(None);
    for group in [&insert[..], &small] {
        commit(&mut opened.store, group).unwrap();
        apply(group, &mut expected);
    }
    opened.store.close().unwrap();
    assert_eq!(state(&open(folder.path()).unwrap()), expected);
}

#[test]
fn deletes_for_which_their_reserve_is_too_small_are_refused_whole_and_leave_it_to_smaller_ones() {
    let folder = new_folder();
    let disk = TestDisk::default();
    let reserve_bytes = 8 * SEGMENT_BYTES;
    let options = OpenOptions {
        segment_bytes: reserve_bytes,
        ..options(folder.path())
    };
    let mut opened = Store::open_on(Arc::new(disk.clone()), &options).unwrap();
    let points: Vec<Step> = (0..2_000)
        .map(|number| Step::Insert(number, vec![]))
        .collect();
    commit(&mut opened.store, &points).unwrap();
    let mut expected = state_after(&[points]);
    let deletes: Vec<Step> = (0..2_000).map(Step::Delete).collect();
    disk.set_space(Some(20_000));
    for _ in 0..2 {
        let refused = commit(&mut opened.store, &deletes);
        assert!(matches!(refused, Err(Error::StorageFull)), "{refused:?}");
        let killed = super::copy(folder.path());
        assert_eq!(state(&open(killed.path()).unwrap()), expected);
        let reserve = fs_err::metadata(folder.path().join("RESERVE")).unwrap();
        assert_eq!(reserve.len(), reserve_bytes);
    }
    // What was free before is free for inserts.
    let insert = [Step::Insert(2_000, vec![])];
    commit(&mut opened.store, &insert).unwrap();
    apply(&insert, &mut expected);
    // More than the reserve, but not more than is free beside it.
    let (large, others) = deletes.split_at(1_150);
    assert!(large.len() as u64 * 64 > reserve_bytes);
    for group in [large, &others[..50]] {
        commit(&mut opened.store, group).unwrap();
        apply(group, &mut expected);
    }
    drop(opened);
    assert_eq!(state(&open(folder.path()).unwrap()), expected);
}

#[test]
fn a_store_closes_on_a_full_disk_and_the_next_start_finds_all() {
    let folder = new_folder();
    let disk = TestDisk::default();
    let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
    // The group fills its segment, so that the no-op of the end needs a new one.
    let group = [Step::Insert(1, vec![1; 4096 - 3 * 64])];
    commit(&mut opened.store, &group).unwrap();
    disk.set_space(Some(0));
    opened.store.close().unwrap();
    let expected = super::state_after(&[group.to_vec()]);
    assert_eq!(state(&open(folder.path()).unwrap()), expected);
}

#[test]
fn where_no_insert_ever_found_space_a_start_that_is_cut_at_any_call_leaves_a_folder_that_starts_empty()
 {
    let folder = new_folder();
    let disk = TestDisk::default();
    let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
    // Each insert finds space for a new segment, but not for its group.
    for (length, space) in [(20_000, 8_000), (40_000, 6_000)] {
        disk.set_space(Some(space));
        let refused = commit(&mut opened.store, &[Step::Insert(1, vec![1; length])]);
        assert!(matches!(refused, Err(Error::StorageFull)), "{refused:?}");
    }
    drop(opened);
    assert!(
        [1, 2]
            .iter()
            .all(|&number| log(folder.path(), number).exists())
    );
    let before = after_power_cut(&Files::new(), &disk.calls(), Loss::Nothing);

    let disk = TestDisk::default();
    drop(open_on(Arc::new(disk.clone()), folder.path()).unwrap());
    let calls = disk.calls();
    for cut in 0..=calls.len() {
        for loss in [Loss::All, Loss::Nothing]
            .into_iter()
            .chain((0..8).map(Loss::Some))
        {
            restore(
                folder.path(),
                &after_power_cut(&before, &calls[..cut], loss),
            );
            let mut opened =
                open(folder.path()).unwrap_or_else(|error| panic!("cut {cut}, {loss:?}: {error}"));
            assert_eq!(state(&opened), StoredPoints::new());
            commit(&mut opened.store, &[Step::Insert(1, vec![1; 9_000])]).unwrap();
        }
    }
}
