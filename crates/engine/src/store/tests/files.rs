//! A process that cannot open any more files for a while.

use std::sync::Arc;

use super::{
    SEGMENT_BYTES, Step, StoredPoints, apply, commit, copy, disk::TestDisk, new_folder, open,
    open_on, state,
};
use crate::{
    Error, Result,
    store::reserve::{Reserve, path_for_compaction, path_for_deletes},
};

/// Whether an operation succeeded; if not, a later attempt may succeed.
fn is_done<T>(result: Result<T>) -> bool {
    match result {
        Ok(_) => true,
        Err(Error::Overloaded(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn at_whichever_call_no_file_can_be_opened_one_write_is_refused_and_the_next_one_succeeds() {
    let insert = |number: u32, length| vec![Step::Insert(number, vec![number as u8; length])];
    let (mut notes, mut refusals) = ([0; 2], [0; 2]);
    for files in 0..24 {
        let folder = new_folder();
        let disk = TestDisk::default();
        let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
        let store = &mut opened.store;
        let mut expected = StoredPoints::new();
        commit(store, &insert(1, 100)).unwrap();
        apply(&insert(1, 100), &mut expected);
        disk.set_files_left(Some(files));
        // The first group needs no new file; each of the others does.
        let groups = [
            insert(2, 100),
            insert(3, 9_000),
            insert(4, 20_000),
            vec![Step::Delete(1)],
        ];
        let mut refused = Vec::new();
        for group in groups {
            let done = is_done(commit(store, &group));
            refusals[usize::from(done)] += 1;
            if done {
                apply(&group, &mut expected);
            } else {
                refused.push(group);
            }
            notes[usize::from(is_done(store.note_end()))] += 1;
        }
        let killed = copy(folder.path());
        assert_eq!(
            state(&open(killed.path()).unwrap()),
            expected,
            "{files} files"
        );

        disk.set_files_left(None);
        for group in refused {
            commit(store, &group).unwrap();
            apply(&group, &mut expected);
        }
        store.note_end().unwrap();
        let size = |path| fs_err::metadata(path).unwrap().len();
        assert_eq!(size(path_for_deletes(folder.path())), SEGMENT_BYTES);
        assert!(size(path_for_compaction(folder.path())) > SEGMENT_BYTES);
        drop(opened);
        assert_eq!(
            state(&open(folder.path()).unwrap()),
            expected,
            "{files} files"
        );
    }
    assert!(
        refusals.iter().chain(&notes).all(|&count| count > 0),
        "{refusals:?}, {notes:?}"
    );
}

#[test]
fn a_reserve_that_cannot_be_opened_now_stays_as_it_is_and_is_made_later() {
    let folder = new_folder();
    let disk = TestDisk::default();
    let path = folder.path().join("RESERVE");
    let size = || fs_err::metadata(&path).unwrap().len();
    let mut reserve = Reserve::new(path.clone());
    reserve.keep(&disk, 1_000).unwrap();
    disk.set_files_left(Some(0));
    assert!(reserve.keep(&disk, 3_000).is_err());
    assert!(reserve.give_up(&disk).is_err());
    assert_eq!((reserve.is_kept(), size()), (true, 1_000));
    disk.set_files_left(None);
    reserve.keep(&disk, 3_000).unwrap();
    assert_eq!((reserve.is_kept(), size()), (true, 3_000));

    assert!(reserve.give_up(&disk).unwrap());
    disk.set_files_left(Some(0));
    assert!(reserve.is_back(&disk).is_err());
    // Empty, it tells the next start to leave the space to its owner.
    assert_eq!((reserve.is_given(), size()), (true, 0));
    disk.set_files_left(None);
    assert!(reserve.is_back(&disk).unwrap());
    assert_eq!(size(), 3_000);
}
