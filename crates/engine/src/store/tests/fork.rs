//! A folder and a copy of it that both received further writes: their segments have the same ids,
//! and a segment of one must not be accepted in the other.

use std::path::Path;

use super::{
    Step,
    check::check,
    commit, copy, damage,
    damage::{End, log, written},
    files, new_folder, open, state,
};
use crate::store::{io::Disk, log::manifest::Manifest, tools::backup::backup_on};

/// Two stores with the same past, each with the further writes of one course.
fn forks(courses: [&[Vec<Step>]; 2]) -> [tempfile::TempDir; 2] {
    let first = new_folder();
    let mut opened = open(first.path()).unwrap();
    commit(&mut opened.store, &[Step::Insert(1, vec![1; 20])]).unwrap();
    opened.store.close().unwrap();
    let forks = [copy(first.path()), first];
    for (folder, course) in forks.iter().zip(courses) {
        let mut opened = open(folder.path()).unwrap();
        for group in course {
            commit(&mut opened.store, group).unwrap();
        }
        opened.store.close().unwrap();
    }
    forks
}

/// Asserts that a start, a check and a backup refuse the folder because of its first segment.
fn is_refused(folder: &Path) {
    let before = files(folder);
    let (path, offset, reason) = damage(open(folder));
    assert_eq!(path, log(folder, 1));
    assert!(reason.contains("a copy of the folder"), "{reason}");
    let told = &check(folder).unwrap().damages[0];
    assert_eq!((&told.path, told.offset), (&path, offset));
    assert_eq!(told.sequence, Some(1));
    let target = new_folder();
    let backup = backup_on(&Disk, folder, target.path(), &mut |_| {});
    let (path, ..) = damage(backup.map(|_| unreachable!("a backup of two stores")));
    assert_eq!(path, log(folder, 1));
    assert_eq!(files(folder), before);
}

#[test]
fn the_segment_that_a_copy_of_the_store_was_writing_is_refused() {
    let insert = |number: u32, length| vec![Step::Insert(number, vec![number as u8; length])];
    let own = [insert(2, 40), insert(3, 40)];
    let others: [&[Vec<Step>]; 4] = [
        // Groups of the same sizes: both logs end at the same place, with the same no-op.
        &[insert(4, 40), insert(5, 40)],
        // One group differs, the others are equal.
        &[insert(4, 40), insert(3, 40)],
        // No group ends where the manifest says.
        &[insert(4, 240), insert(5, 40)],
        &[insert(4, 2000)],
    ];
    for other in others {
        let [first, second] = forks([&own, other]);
        fs_err::copy(log(second.path(), 1), log(first.path(), 1)).unwrap();
        is_refused(first.path());
    }
}

#[test]
fn a_segment_that_both_sealed_is_refused() {
    let course = |number: u32| {
        let insert = |number: u32, length| vec![Step::Insert(number, vec![number as u8; length])];
        [insert(number, 40), insert(number + 1, 7000)]
    };
    let [first, second] = forks([&course(2), &course(4)]);
    assert!(log(first.path(), 2).exists());
    fs_err::copy(log(second.path(), 1), log(first.path(), 1)).unwrap();
    is_refused(first.path());
}

#[test]
fn a_manifest_that_does_not_know_the_checksum_of_the_groups_is_taken() {
    for end in [End::Closed, End::Killed] {
        let folder = written(end);
        let mut manifest = Manifest::load(&Disk, folder.path()).unwrap().unwrap();
        for entry in &mut manifest.segments {
            entry.groups = 0;
        }
        manifest.save(&Disk, folder.path()).unwrap();
        assert_eq!(check(folder.path()).unwrap().damages, []);
        let opened = open(folder.path()).unwrap();
        let before = state(&opened);
        // From then on, the manifest has the checksum of the active segment.
        opened.store.close().unwrap();
        let manifest = Manifest::load(&Disk, folder.path()).unwrap().unwrap();
        let known: Vec<_> = manifest
            .segments
            .iter()
            .map(|entry| entry.groups != 0)
            .collect();
        assert_eq!(known, [false, true]);
        assert_eq!(state(&open(folder.path()).unwrap()), before);
    }
}
