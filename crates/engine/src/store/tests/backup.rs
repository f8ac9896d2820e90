//! A backup holds every write that was acknowledged before it, whatever goes on meanwhile, or it is
//! no backup.

use std::{
    io::ErrorKind,
    path::Path,
    sync::{Arc, Mutex},
};

use super::{
    Step, StoredPoints,
    busy::{BusyDisk, Made},
    commit,
    compaction::compact_all,
    crash::cases,
    damage::{End, groups, log, written},
    disk::{TestDisk, after_power_cut},
    failing::failing_calls,
    files, new_folder, open, open_on, overwrite, restore, state, state_after, workload,
};
use crate::{
    Error, Result,
    store::{
        Store,
        io::Io,
        log::manifest,
        tools::{BackupReport, Event, backup::backup_on, restore::restore_on},
    },
};

fn backup(io: &dyn Io, source: &Path, target: &Path) -> Result<BackupReport> {
    backup_on(io, source, target, &mut |_| {})
}

/// The contents of a folder, once it is opened.
fn opened(folder: &Path) -> StoredPoints {
    state(&open(folder).unwrap())
}

/// A store that is written to while a backup runs.
struct Writing {
    store: Store,
    groups: Vec<Vec<Step>>,
}

impl Writing {
    fn commit(&mut self) {
        let number = self.groups.len() as u32;
        let group = match number % 7 {
            6 => vec![Step::Delete(number - 3)],
            5 => vec![Step::Insert(number, vec![5; 3000])],
            _ => vec![Step::Insert(number, vec![3; number as usize % 300])],
        };
        self.commit_group(group);
    }

    fn commit_group(&mut self, group: Vec<Step>) {
        commit(&mut self.store, &group).unwrap();
        self.groups.push(group);
    }

    /// Commits a group that needs a new segment.
    fn rotate(&mut self) {
        let number = self.groups.len() as u32;
        self.commit_group(vec![Step::Insert(number, vec![9; 9000])]);
    }

    /// Deletes all points and compacts, so that all segments but the last are replaced.
    fn replace_segments(&mut self) {
        let points = 0..self.groups.len() as u32;
        self.commit_group(points.map(Step::Delete).collect());
        self.rotate();
        assert!(compact_all(&mut self.store).unwrap() > 0);
    }
}

fn writing(folder: &Path, groups: usize) -> Arc<Mutex<Writing>> {
    let mut writing = Writing {
        store: open(folder).unwrap().store,
        groups: Vec::new(),
    };
    (0..groups).for_each(|_| writing.commit());
    Arc::new(Mutex::new(writing))
}

/// Whether a backup holds the first groups, at least `least` of them, and nothing of the others.
fn holds(target: &Path, least: usize, writing: &Mutex<Writing>) -> bool {
    let groups = &writing.lock().unwrap().groups;
    let found = opened(target);
    (least..=groups.len()).any(|held| found == state_after(&groups[..held]))
}

#[test]
fn a_backup_of_a_store_at_rest_is_that_store() {
    for end in [End::Closed, End::Proven, End::Killed] {
        let (source, target) = (written(end), new_folder());
        let before = files(source.path());
        let report = backup(&TestDisk::default(), source.path(), target.path()).unwrap();
        assert_eq!((report.segments, report.linked), (2, 1));
        assert_eq!(files(source.path()), before);
        assert_eq!(opened(target.path()), state_after(&groups()), "{end:?}");
        assert_eq!(
            files(source.path()),
            before,
            "opening the backup changed its source"
        );
    }
}

#[test]
fn keys_lock_and_strange_files_are_not_taken_and_snapshots_are() {
    let (source, target) = (written(End::Closed), new_folder());
    for name in [
        "keys.json",
        "LOCK",
        "notes.txt",
        "00000007.snapshot",
        "7.snapshot",
        "00000008.snapshot.tmp",
    ] {
        fs_err::write(source.path().join(name), name).unwrap();
    }
    backup(&TestDisk::default(), source.path(), target.path()).unwrap();
    let names: Vec<_> = fs_err::read_dir(target.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.contains(&"00000007.snapshot".to_owned()), "{names:?}");
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn a_manifest_that_is_older_than_the_rest_is_no_manifest_to_back_up_by() {
    let source = new_folder();
    let mut store = open(source.path()).unwrap().store;
    let groups = groups();
    commit(&mut store, &groups[0]).unwrap();
    let early = files(source.path());
    for group in &groups[1..] {
        commit(&mut store, group).unwrap();
    }
    let sequence = store.last_sequence();
    let snapshots = store.snapshots();
    snapshots.write(sequence, |_| Ok(())).unwrap();
    drop((store, snapshots));

    let path = manifest::path(source.path());
    fs_err::write(&path, &early[&path]).unwrap();
    let refuse = |named: &Path, why: &str| {
        let target = new_folder();
        let refused = backup(&TestDisk::default(), source.path(), target.path());
        let Err(Error::Damaged { path, reason, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(path, named);
        assert!(reason.contains(why), "{reason}");
        assert!(files(target.path()).is_empty());
    };
    refuse(&log(source.path(), 2), "MANIFEST does not name it");
    fs_err::remove_file(log(source.path(), 2)).unwrap();
    refuse(&log(source.path(), 1), ".snapshot proves");
}

#[test]
fn what_was_acknowledged_before_a_backup_is_in_it_though_commits_and_rotation_go_on() {
    for start in 0..60 {
        let (source, target) = (new_folder(), new_folder());
        let writing = writing(source.path(), 1 + start);
        let writer = Arc::clone(&writing);
        let mut calls = 0;
        let busy = BusyDisk::new(move |_| {
            calls += 1;
            if calls < 200 {
                writer.lock().unwrap().commit();
            }
            Ok(())
        });
        backup(&busy, source.path(), target.path()).unwrap();
        assert!(holds(target.path(), start + 1, &writing), "start {start}");
        assert!(writing.lock().unwrap().groups.len() > start + 40);
    }
}

/// A disk that calls `act` before every call, with or without hard links.
fn busy_with(linked: bool, mut act: impl FnMut() + Send + 'static) -> BusyDisk {
    let mut busy = BusyDisk::new(move |made| {
        act();
        match made {
            Made::Link(_) if !linked => Err(ErrorKind::CrossesDevices.into()),
            _ => Ok(()),
        }
    });
    busy.piece = usize::MAX;
    busy
}

#[test]
fn a_backup_comes_to_its_end_though_the_log_goes_on_in_another_segment_before_every_call() {
    for linked in [true, false] {
        let (source, target) = (new_folder(), new_folder());
        let writing = writing(source.path(), 30);
        let writer = Arc::clone(&writing);
        let busy = busy_with(linked, move || writer.lock().unwrap().rotate());
        backup(&busy, source.path(), target.path()).unwrap();
        assert!(writing.lock().unwrap().groups.len() > 60);
        assert!(holds(target.path(), 30, &writing), "linked: {linked}");
    }
}

#[test]
fn segments_that_compaction_removes_while_a_backup_is_made_are_in_it() {
    for linked in [true, false] {
        let (source, target) = (new_folder(), new_folder());
        let writing = writing(source.path(), 30);
        let writer = Arc::clone(&writing);
        let mut busy = BusyDisk::new(move |made| match made {
            Made::Link(_) if !linked => Err(ErrorKind::CrossesDevices.into()),
            // The backup has linked or opened all of its segments by now.
            Made::Create(_) => {
                writer.lock().unwrap().replace_segments();
                Ok(())
            }
            _ => Ok(()),
        });
        busy.piece = usize::MAX;
        let report = backup(&busy, source.path(), target.path()).unwrap();
        assert!(report.segments > 2);
        assert!(!log(source.path(), 1).exists());
        assert!(holds(target.path(), 30, &writing), "linked: {linked}");
    }
}

#[test]
fn groups_that_are_written_behind_and_before_the_reader_are_no_damage() {
    let (source, target) = (new_folder(), new_folder());
    let writing = writing(source.path(), 2);
    let end = writing.lock().unwrap().store.active.as_ref().unwrap().end;
    let writer = Arc::clone(&writing);
    let mut reads = 0;
    let mut busy = BusyDisk::new(move |made| {
        reads += usize::from(matches!(made, Made::ReadAt(_)));
        // The reader has read the page of the header and the bytes behind it. Now one group is
        // written at the place that was just read, and another behind it, which proves the first.
        if reads == 3 {
            let mut writer = writer.lock().unwrap();
            for length in [1000, 10] {
                let group = vec![Step::Insert(100 + length, vec![1; length as usize])];
                commit(&mut writer.store, &group).unwrap();
                writer.groups.push(group);
            }
        }
        Ok(())
    });
    busy.piece = end as usize + 128;
    backup(&busy, source.path(), target.path()).unwrap();
    assert_eq!(
        opened(target.path()),
        state_after(&writing.lock().unwrap().groups)
    );
}

#[test]
fn a_segment_that_cannot_be_linked_is_copied() {
    let (source, target) = (written(End::Closed), new_folder());
    let busy = BusyDisk::new(|made| match made {
        Made::Link(_) => Err(ErrorKind::CrossesDevices.into()),
        _ => Ok(()),
    });
    let report = backup(&busy, source.path(), target.path()).unwrap();
    assert_eq!((report.segments, report.linked), (2, 0));
    let before = files(source.path());
    overwrite(&log(target.path(), 1), 5000, &[0xFF]);
    assert_eq!(files(source.path()), before, "the copy shares nothing");
    overwrite(
        &log(target.path(), 1),
        5000,
        &before[&log(source.path(), 1)][5000..5001],
    );
    assert_eq!(opened(target.path()), state_after(&groups()));
}

/// A disk on which compaction replaces all segments when the first of them is about to be linked,
/// `times` times.
fn replacing(writing: &Arc<Mutex<Writing>>, times: usize) -> BusyDisk {
    let writer = Arc::clone(writing);
    let mut left = times;
    let mut busy = BusyDisk::new(move |made| {
        if let Made::Link(from) = made
            && left > 0
        {
            left -= 1;
            writer.lock().unwrap().replace_segments();
            assert!(!from.exists());
        }
        Ok(())
    });
    busy.piece = usize::MAX;
    busy
}

#[test]
fn a_backup_starts_over_when_segments_were_replaced_before_they_could_be_linked() {
    let (source, target) = (new_folder(), new_folder());
    let writing = writing(source.path(), 30);
    let busy = replacing(&writing, 3);
    backup(&busy, source.path(), target.path()).unwrap();
    let expected = state_after(&writing.lock().unwrap().groups);
    assert!(opened(target.path()) == expected);
}

#[test]
fn a_backup_that_gives_up_because_segments_are_replaced_again_and_again_tells_of_no_damage() {
    let (source, target) = (new_folder(), new_folder());
    let writing = writing(source.path(), 30);
    let busy = replacing(&writing, usize::MAX);
    let found = backup(&busy, source.path(), target.path());
    let Err(Error::Io(error)) = found else {
        panic!("{found:?}");
    };
    assert!(error.to_string().contains("try again"), "{error}");
    assert!(files(target.path()).is_empty());
}

#[test]
fn a_segment_that_is_gone_is_damage_though_manifests_go_on() {
    for linked in [true, false] {
        let (source, target) = (new_folder(), new_folder());
        let writing = writing(source.path(), 30);
        fs_err::remove_file(log(source.path(), 2)).unwrap();
        let busy = busy_with(linked, move || writing.lock().unwrap().rotate());
        let found = backup(&busy, source.path(), target.path());
        let Err(Error::Damaged { path, reason, .. }) = found else {
            panic!("{found:?}");
        };
        assert_eq!(path, log(source.path(), 2));
        assert_eq!(reason, "the file is missing");
        assert!(files(target.path()).is_empty());
    }
}

#[test]
fn a_segment_that_is_gone_under_the_same_manifest_is_damage_and_nothing_stays() {
    let (source, target) = (written(End::Closed), new_folder());
    fs_err::remove_file(log(source.path(), 1)).unwrap();
    let found = backup(&TestDisk::default(), source.path(), target.path());
    assert!(matches!(found, Err(Error::Damaged { .. })), "{found:?}");
    assert!(files(target.path()).is_empty());
}

#[test]
fn damage_in_the_active_segment_fails_a_backup_and_a_torn_tail_does_not() {
    let (source, target) = (written(End::Proven), new_folder());
    let path = log(source.path(), 2);
    let sound = files(source.path());
    // The checksum of the group, which differs in each run.
    overwrite(&path, 4096 + 64, &[!sound[&path][4096 + 64]]);
    let found = backup(&TestDisk::default(), source.path(), target.path());
    let Err(Error::Damaged {
        path: named,
        offset,
        ..
    }) = found
    else {
        panic!("{found:?}");
    };
    assert_eq!((named, offset), (path.clone(), 4096));
    assert!(files(target.path()).is_empty());
    restore(source.path(), &sound);

    let end = sound[&path].iter().rposition(|&byte| byte != 0).unwrap() as u64;
    overwrite(&path, end.next_multiple_of(64) + 64, &[0xA5; 100]);
    backup(&TestDisk::default(), source.path(), target.path()).unwrap();
    assert_eq!(opened(target.path()), state_after(&groups()));
}

#[test]
fn damage_in_a_sealed_segment_fails_a_backup_which_tells_every_place() {
    let (source, target) = (written(End::Closed), new_folder());
    let mut opened = open(source.path()).unwrap();
    let points = super::live(&opened.store);
    let sealed = points.iter().filter(|point| point.location.segment == 1);
    let victims: Vec<_> = sealed.take(2).copied().collect();
    assert_eq!(victims.len(), 2);
    opened.store.prove().unwrap();
    drop(opened);
    for point in &victims {
        let at = u64::from(point.location.vector) * 64;
        overwrite(&log(source.path(), 1), at, &[0x55; 4]);
    }
    for linked in [true, false] {
        let busy = BusyDisk::new(move |made| match made {
            Made::Link(_) if !linked => Err(ErrorKind::CrossesDevices.into()),
            _ => Ok(()),
        });
        let mut told = Vec::new();
        let found = backup_on(&busy, source.path(), target.path(), &mut |event| {
            if let Event::Damage(damage) = event {
                told.push((damage.path, damage.offset, damage.sequence));
            }
        });
        let expected = victims.iter().map(|point| {
            let at = u64::from(point.location.record) * 64;
            (log(source.path(), 1), at, Some(point.sequence))
        });
        assert_eq!(told, expected.collect::<Vec<_>>());
        assert!(matches!(found, Err(Error::Damaged { .. })), "{found:?}");
        assert!(files(target.path()).is_empty());
    }
}

#[test]
fn a_segment_that_changes_between_its_verification_and_its_copy_fails_a_backup() {
    let (source, target) = (written(End::Closed), new_folder());
    let (from, to) = (log(source.path(), 1), log(target.path(), 1));
    let changing = BusyDisk::changing(from.clone(), to);
    let found = backup(&changing, source.path(), target.path());
    let Err(Error::Damaged { path, reason, .. }) = found else {
        panic!("{found:?}");
    };
    assert_eq!(path, from);
    assert!(reason.contains("otherwise than when it was verified"));
    assert!(files(target.path()).is_empty());
}

#[test]
fn a_target_inside_the_source_is_refused_whatever_its_name() {
    let source = written(End::Closed);
    let (before, elsewhere) = (files(source.path()), new_folder());
    let link = elsewhere.path().join("link");
    fs_err::os::unix::fs::symlink(source.path(), &link).unwrap();
    let deep = Path::new("new").join("backup");
    for target in [
        source.path().to_owned(),
        source.path().join("new"),
        source.path().join(&deep),
        link.join(&deep),
        source
            .path()
            .join("..")
            .join(source.path().file_name().unwrap())
            .join("new"),
    ] {
        let refused = backup(&TestDisk::default(), source.path(), &target);
        let Err(Error::InvalidArgument(text)) = refused else {
            panic!("{}: {refused:?}", target.display());
        };
        assert!(text.contains("to be backed up"), "{text}");
        assert_eq!(files(source.path()), before);
    }
}

#[test]
fn a_target_that_holds_something_and_a_source_that_holds_nothing_are_refused() {
    let (source, target) = (written(End::Closed), new_folder());
    fs_err::write(target.path().join("mine"), "mine").unwrap();
    let refused = backup(&TestDisk::default(), source.path(), target.path());
    assert!(
        matches!(refused, Err(Error::InvalidArgument(_))),
        "{refused:?}"
    );
    assert_eq!(files(target.path()).len(), 1);

    let (empty, target) = (new_folder(), new_folder());
    drop(open(empty.path()).unwrap());
    let refused = backup(&TestDisk::default(), empty.path(), target.path());
    assert!(
        matches!(refused, Err(Error::InvalidArgument(_))),
        "{refused:?}"
    );
    let missing = backup(
        &TestDisk::default(),
        &empty.path().join("no"),
        target.path(),
    );
    assert!(matches!(missing, Err(Error::Io(_))), "{missing:?}");
    assert!(files(target.path()).is_empty());

    fs_err::remove_file(manifest::path(source.path())).unwrap();
    let refused = backup(&TestDisk::default(), source.path(), target.path());
    assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
}

/// A source of several segments whose process was killed.
fn killed() -> (tempfile::TempDir, StoredPoints) {
    let source = new_folder();
    let mut opened = open_on(Arc::new(TestDisk::default()), source.path()).unwrap();
    for group in workload() {
        commit(&mut opened.store, &group).unwrap();
    }
    (source, state_after(&workload()))
}

#[test]
fn after_a_power_cut_at_any_call_a_backup_is_whole_or_none() {
    let linking = TestDisk::default();
    expect_whole_or_none(&linking);
    let copying = TestDisk::default();
    copying.refuse_links();
    expect_whole_or_none(&copying);
}

fn expect_whole_or_none(disk: &TestDisk) {
    let ((source, expected), target) = (killed(), new_folder());
    let before = files(source.path());
    backup(disk, source.path(), target.path()).unwrap();
    let calls = disk.calls();
    assert!(calls.len() > 15, "{} calls", calls.len());
    let restored = new_folder();
    for (cut, loss) in cases(0..=calls.len()) {
        let mut left = after_power_cut(&before, &calls[..cut], loss);
        let of_source = left.extract_if(.., |path, _| path.starts_with(source.path()));
        assert_eq!(of_source.collect::<super::disk::Files>(), before);
        restore(target.path(), &left);
        if left.contains_key(&manifest::path(target.path())) {
            assert_eq!(opened(target.path()), expected, "cut {cut}, {loss:?}");
            continue;
        }
        assert!(
            cut < calls.len(),
            "a backup that was made is gone: {loss:?}"
        );
        let disk = TestDisk::default();
        let refused = restore_on(&disk, target.path(), restored.path(), &mut |_| {});
        assert!(
            matches!(refused, Err(Error::InvalidArgument(_))),
            "cut {cut}"
        );
    }
}

#[test]
fn a_failed_call_fails_the_backup_and_leaves_nothing_or_was_made_up_for() {
    let (source, expected) = killed();
    let mut failures = 0;
    for failing in failing_calls() {
        let target = new_folder();
        let disk = TestDisk::default();
        disk.fail_after(failing);
        let made = backup(&disk, source.path(), target.path());
        let finished = disk.fail_no_more();
        if made.is_ok() {
            assert_eq!(opened(target.path()), expected, "call {failing}");
        } else {
            failures += 1;
            assert!(files(target.path()).is_empty(), "call {failing}");
        }
        if finished {
            assert!(failures > 25, "{failures} failures");
            return;
        }
    }
}
