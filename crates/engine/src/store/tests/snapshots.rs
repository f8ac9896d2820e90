//! Power cuts while snapshots are written.

use std::{
    io::{Read, Write},
    path::Path,
    sync::Arc,
};

use super::{
    commit,
    crash::{case_of, cases},
    disk::{Files, TestDisk, after_power_cut},
    new_folder, open, open_on, restore, workload,
};
use crate::{
    Error,
    store::{Opened, Store, tools},
};

const SNAPSHOTS: u8 = 4;

/// The content of the snapshot with this number, large enough to be torn in many ways.
pub fn content(number: u8) -> Vec<u8> {
    vec![number; 5_000]
}

fn write(store: &Store, number: u8) {
    let sequence = store.last_sequence();
    let written = store
        .snapshots()
        .write(sequence, |out| out.write_all(&content(number)));
    written.unwrap();
}

/// The content of the newest snapshot, verified.
fn newest(store: &Store) -> Option<Vec<u8>> {
    let snapshots = store.snapshots();
    let path = snapshots.list().unwrap().first()?.clone();
    let mut bytes = Vec::new();
    snapshots
        .read(&path)
        .unwrap()
        .read_to_end(&mut bytes)
        .unwrap();
    Some(bytes)
}

/// Opens the leftovers of a cut after these calls, and compares its newest snapshot with the
/// snapshots that were finished by then.
pub fn check(folder: &Path, left: &Files, finished: u8, context: &str) -> Opened {
    restore(folder, left);
    let opened = open(folder).unwrap_or_else(|error| panic!("{context}: {error}"));
    let expected = match finished {
        0 => [None, Some(content(1))],
        finished => [finished, finished + 1].map(|number| Some(content(number))),
    };
    assert!(expected.contains(&newest(&opened.store)), "{context}");
    opened
}

#[test]
fn a_version_that_rotted_is_damage_and_a_later_one_is_refused() {
    let folder = new_folder();
    let mut store = open(folder.path()).unwrap().store;
    commit(&mut store, &workload()[0]).unwrap();
    write(&store, 1);
    let path = store.snapshots().list().unwrap().remove(0);
    let sound = fs_err::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs_err::write(&path, bytes).unwrap();
        store.snapshots().read(&path).err().unwrap()
    };
    let damaged = [&sound[..8], &[3], &sound[9..]].concat();
    let error = refused(&damaged);
    assert!(matches!(error, Error::Damaged { offset: 8, .. }), "{error}");
    let crc = crc32fast::hash(&damaged[..60]).to_le_bytes();
    let error = refused(&[&damaged[..60], &crc, &damaged[64..]].concat());
    assert!(matches!(error, Error::Io(_)), "{error}");
    assert!(error.to_string().contains("format version 3"), "{error}");

    drop(store);
    let checked = tools::check(folder.path(), &mut |_| {}).map(drop);
    assert!(matches!(checked, Err(Error::Io(_))), "{checked:?}");
    let started = open(folder.path()).map(drop);
    assert!(matches!(started, Err(Error::Io(_))), "{started:?}");
}

#[test]
fn an_old_snapshot_that_cannot_be_read_stays_and_stops_nothing() {
    let folder = new_folder();
    let mut store = open(folder.path()).unwrap().store;
    commit(&mut store, &workload()[0]).unwrap();
    // It cannot be read by any user.
    let unreadable = folder.path().join("00000001.snapshot");
    fs_err::create_dir(&unreadable).unwrap();
    (1..=SNAPSHOTS).for_each(|number| write(&store, number));
    let snapshots = store.snapshots();
    assert!(!snapshots.remove(&unreadable).unwrap());
    assert_eq!(snapshots.list().unwrap().len(), 3);
    assert_eq!(snapshots.list().unwrap()[2], unreadable);
    assert_eq!(newest(&store), Some(content(SNAPSHOTS)));
}

#[test]
fn a_power_cut_at_any_call_leaves_the_last_snapshot_whole_or_the_one_before() {
    let folder = new_folder();
    let disk = TestDisk::default();
    let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
    commit(&mut opened.store, &workload()[0]).unwrap();
    let begun = disk.call_count();
    let mut finished = Vec::new();
    for number in 1..=SNAPSHOTS {
        write(&opened.store, number);
        finished.push(disk.call_count());
    }
    drop(opened);
    let calls = disk.calls();
    for (cut, loss) in cases(begun..=calls.len()) {
        let count = finished.iter().filter(|&&at| at <= cut).count() as u8;
        let left = after_power_cut(&Files::new(), &calls[..cut], loss);
        check(folder.path(), &left, count, &case_of(cut, loss));
    }
}
