//! A restored folder holds all of the backup, or no store opens it.

use std::path::Path;

use super::{
    StoredPoints,
    busy::BusyDisk,
    crash::cases,
    damage::{End, groups, log, written},
    disk::{Files, Loss, TestDisk, after_power_cut},
    failing::failing_calls,
    files, new_folder, open, overwrite, restore, state, state_after,
};
use crate::{
    Error, Result,
    store::{
        io::Io,
        lock::Lock,
        log::manifest,
        tools::{Event, Report, backup::backup_on, restore::restore_on},
        unfinished::marker_path,
    },
};

fn run(io: &dyn Io, source: &Path, target: &Path) -> Result<Report> {
    restore_on(io, source, target, &mut |_| {})
}

fn backed_up(end: End) -> tempfile::TempDir {
    let (source, backup) = (written(end), new_folder());
    let disk = TestDisk::default();
    backup_on(&disk, source.path(), backup.path(), &mut |_| {}).unwrap();
    backup
}

fn expected() -> StoredPoints {
    state_after(&groups())
}

#[test]
fn a_backup_comes_back_and_stays_as_it_was() {
    for end in [End::Closed, End::Killed] {
        let (backup, folder) = (backed_up(end), new_folder());
        let before = files(backup.path());
        let target = folder.path().join("some").join("where");
        let report = run(&TestDisk::default(), backup.path(), &target).unwrap();
        assert_eq!((report.segments, report.damages), (2, 0));
        let mut opened = open(&target).unwrap();
        assert_eq!(state(&opened), expected());
        super::commit(&mut opened.store, &groups()[2]).unwrap();
        drop(opened);
        assert_eq!(
            files(backup.path()),
            before,
            "the restored store shares no byte"
        );
    }
}

#[test]
fn two_restores_of_one_backup_are_two_stores_with_the_snapshots_of_both() {
    let source = written(End::Closed);
    let store = open(source.path()).unwrap().store;
    let sequence = store.last_sequence();
    let snapshots = store.snapshots();
    snapshots.write(sequence, |_| Ok(())).unwrap();
    drop((store, snapshots));
    let forks = [(); 2].map(|()| {
        let folder = new_folder();
        run(&TestDisk::default(), source.path(), folder.path()).unwrap();
        let mut store = open(folder.path()).unwrap().store;
        let snapshots = store.snapshots();
        let [path] = &snapshots.list().unwrap()[..] else {
            panic!("one snapshot");
        };
        assert_eq!(snapshots.read(path).unwrap().sequence(), sequence);
        super::commit(&mut store, &groups()[2]).unwrap();
        drop((store, snapshots));
        folder
    });
    for name in ["00000002.log", "MANIFEST", "00000001.snapshot"] {
        let [to, from] = [0, 1].map(|index: usize| forks[index].path().join(name));
        let own = fs_err::read(&to).unwrap();
        fs_err::copy(from, &to).unwrap();
        let opened = open(forks[0].path());
        match opened {
            // The snapshot is unusable then.
            Ok(opened) if name.ends_with(".snapshot") => {
                assert!(opened.store.snapshots().read(&to).is_err());
            }
            Err(Error::Damaged { reason, .. }) => {
                assert!(reason.contains("another store"), "{reason}");
            }
            other => panic!("{name}: {:?}", other.map(drop)),
        }
        fs_err::write(&to, own).unwrap();
    }
}

#[test]
fn a_folder_of_a_stopped_service_can_be_restored_from_too() {
    let (source, target) = (written(End::Killed), new_folder());
    fs_err::write(source.path().join("00000003.snapshot"), "derived").unwrap();
    fs_err::write(source.path().join("keys.json"), "secret").unwrap();
    fs_err::write(target.path().join("keys.json"), "other").unwrap();
    overwrite(&log(source.path(), 2), 8192 - 200, &[0xA5; 90]);
    let mut notes = Vec::new();
    let disk = TestDisk::default();
    restore_on(&disk, source.path(), target.path(), &mut |event| {
        if let Event::Note(note) = event {
            notes.push(note);
        }
    })
    .unwrap();
    assert!(notes[0].contains("torn tail"), "{notes:?}");
    let opened = open(target.path()).unwrap();
    assert_eq!(state(&opened), expected());
    assert_eq!(opened.notes, [""; 0], "the torn tail was left behind");
    let read = |name| fs_err::read_to_string(target.path().join(name)).unwrap();
    assert_eq!(
        (read("00000003.snapshot"), read("keys.json")),
        ("derived".into(), "other".into())
    );
}

#[test]
fn a_damaged_source_is_refused_whole_and_nothing_is_copied() {
    let (backup, target) = (backed_up(End::Closed), new_folder());
    let path = log(backup.path(), 1);
    overwrite(&path, 4096 + 64 + 8, &[0xFF; 4]);
    overwrite(&log(backup.path(), 2), 4096 + 64 + 8, &[0xFF; 4]);
    let mut told = Vec::new();
    let disk = TestDisk::default();
    let refused = restore_on(&disk, backup.path(), target.path(), &mut |event| {
        if let Event::Damage(damage) = event {
            told.push(damage.path);
        }
    });
    let Err(Error::Damaged {
        path: named,
        offset,
        ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!((named, offset), (path.clone(), 4096 + 64));
    assert_eq!(told, [path, log(backup.path(), 2)]);
    assert!(files(target.path()).is_empty());
    assert_eq!(disk.call_count(), 0);
}

#[test]
fn a_segment_that_changes_between_its_verification_and_its_copy_fails_a_restore() {
    let (backup, target) = (backed_up(End::Closed), new_folder());
    let (from, to) = (log(backup.path(), 1), log(target.path(), 1));
    let changing = BusyDisk::changing(from.clone(), to);
    let found = run(&changing, backup.path(), target.path());
    let Err(Error::Damaged { path, reason, .. }) = found else {
        panic!("{found:?}");
    };
    assert_eq!(path, from);
    assert!(reason.contains("otherwise than when it was verified"));
    assert!(open(target.path()).is_err());
}

#[test]
fn a_folder_that_is_used_is_refused() {
    let backup = backed_up(End::Closed);
    let refuse = |target: &Path| run(&TestDisk::default(), backup.path(), target).unwrap_err();
    let stored = written(End::Closed);
    let before = files(stored.path());
    assert!(matches!(refuse(stored.path()), Error::InvalidArgument(_)));
    assert_eq!(files(stored.path()), before);

    let strange = new_folder();
    fs_err::write(strange.path().join("notes.txt"), "mine").unwrap();
    assert!(refuse(strange.path()).to_string().contains("notes.txt"));

    let locked = new_folder();
    let _lock = Lock::acquire(locked.path()).unwrap();
    assert!(matches!(refuse(locked.path()), Error::Locked { .. }));

    let (empty, target) = (new_folder(), new_folder());
    let refused = run(&TestDisk::default(), empty.path(), target.path());
    assert!(
        matches!(refused, Err(Error::InvalidArgument(_))),
        "{refused:?}"
    );
}

/// Opens the leftovers of a power cut, if a store accepts them, and restores again if not. Both
/// must lead to all points.
fn check_left(left: &Files, backup: &Path, target: &Path, context: &str) -> TestDisk {
    let disk = TestDisk::default();
    restore(target, left);
    if left.contains_key(&manifest::path(target)) {
        assert_eq!(state(&open(target).unwrap()), expected(), "{context}");
        return disk;
    }
    // Nothing was begun, or no store opens the folder.
    let refused = open(target).err().map(|error| error.to_string());
    let begun = left.contains_key(&marker_path(target));
    assert_eq!(refused.is_some(), begun, "{context}: {refused:?}");
    if begun {
        assert_eq!(files(target), *left, "{context}");
    } else {
        let names: Vec<_> = left.keys().collect();
        let first = manifest::temporary_path(target);
        assert!(names.iter().all(|&name| *name == first), "{context}");
        restore(target, left);
    }
    run(&disk, backup, target).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(state(&open(target).unwrap()), expected(), "{context}");
    disk
}

#[test]
fn after_a_power_cut_at_any_call_a_restore_can_be_run_again_and_nothing_opens_with_less() {
    let (backup, target) = (backed_up(End::Killed), new_folder());
    fs_err::write(backup.path().join("00000003.snapshot"), [7; 2000]).unwrap();
    let disk = TestDisk::default();
    run(&disk, backup.path(), target.path()).unwrap();
    let calls = disk.calls();
    assert!(calls.len() > 15, "{} calls", calls.len());
    for (cut, loss) in cases(0..=calls.len()) {
        let left = after_power_cut(&Files::new(), &calls[..cut], loss);
        assert!(cut < calls.len() || left.contains_key(&manifest::path(target.path())));
        let context = format!("cut {cut}, {loss:?}");
        let again = check_left(&left, backup.path(), target.path(), &context).calls();
        // The power may fail during the second run, too.
        for cut in (0..=again.len()).step_by(2) {
            let begun = left.contains_key(&marker_path(target.path()));
            let left = after_power_cut(&left, &again[..cut], Loss::Some(cut as u64));
            let is_closed = left.contains_key(&marker_path(target.path()))
                || left.contains_key(&manifest::path(target.path()));
            assert!(
                is_closed || !begun,
                "{context}, {cut}: it would pass for a new folder"
            );
            check_left(
                &left,
                backup.path(),
                target.path(),
                &format!("{context}, {cut}"),
            );
        }
    }
}

#[test]
fn a_failed_call_leaves_a_folder_that_no_store_opens_and_a_second_run_completes() {
    let backup = backed_up(End::Closed);
    for failing in failing_calls() {
        let target = new_folder();
        let disk = TestDisk::default();
        disk.fail_after(failing);
        if run(&disk, backup.path(), target.path()).is_ok() {
            assert_eq!(state(&open(target.path()).unwrap()), expected());
            if disk.fail_no_more() {
                assert!(failing > 40, "{failing} calls");
                return;
            }
            // Failures of two kinds of calls are tolerated: syncing the folders above, and asking
            // for the total size of the source.
            continue;
        }
        let left = files(target.path());
        check_left(
            &left,
            backup.path(),
            target.path(),
            &format!("call {failing}"),
        );
    }
}
