//! Every call fails once, including calls that only read. The failure is reported or costs only
//! time, and a later start has everything that was acknowledged.

use std::{env, io::Write as _, ops::RangeInclusive, path::Path, sync::Arc};

use super::{
    Step, StoredPoints, apply, commit,
    compaction::compact_all,
    crash,
    damage::{End, written},
    disk::{Files, Loss, TestDisk, after_power_cut},
    files, new_folder, open, open_on, restore,
    snapshots::{self, content},
    state, workload,
};
use crate::{
    Error, Result,
    store::{
        Store,
        log::segment,
        tools::{Event, check::check_on},
    },
};

/// The calls that fail, one after the other; only that of `VECTORD_FAILING_CALL` if it is set.
pub fn failing_calls() -> RangeInclusive<usize> {
    match env::var("VECTORD_FAILING_CALL") {
        Ok(call) => {
            let call = call.parse().expect("the number of a call");
            call..=call
        }
        Err(_) => 0..=usize::MAX,
    }
}

/// A disk on which the call after `after` others fails.
pub fn failing_disk(after: usize) -> TestDisk {
    let disk = TestDisk::default();
    disk.fail_after(after);
    disk
}

/// Whether the failed call opened a reserve, which the store then creates again.
pub fn is_made_up_for(disk: &TestDisk) -> bool {
    let ends = ["/RESERVE\")", "/SPARE\")"];
    disk.failed().is_some_and(|call| {
        call.starts_with("(\"open\"") && ends.iter().any(|end| call.ends_with(end))
    })
}

pub fn assert_told(error: &Error, context: &str) {
    let text = error.to_string();
    assert!(
        text.contains("the test lets this call fail"),
        "{context}: {text}"
    );
}

/// Opens a folder as it is, and as a power cut after these calls leaves it. Both must have the
/// expected points.
pub fn check_next_starts(
    folder: &Path,
    before: &Files,
    disk: &TestDisk,
    expected: &StoredPoints,
    context: &str,
) {
    let cut = after_power_cut(before, &disk.calls(), Loss::Some(1));
    for left in [files(folder), cut] {
        restore(folder, &left);
        let opened = open(folder).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(state(&opened), *expected, "{context}");
    }
}

#[test]
fn a_start_of_which_a_call_fails_is_refused_or_whole_and_the_next_one_has_everything() {
    let folder = new_folder();
    let run = crash::run(folder.path());
    let mut cases = 0;
    // Leftovers of interruptions: torn tails, segments that no manifest names, a manifest without
    // its name, a first insert that is not complete.
    let cuts = (0..=run.calls.len()).step_by(3);
    let left = cuts.map(|cut| match cut % 2 {
        0 => (cut, Loss::Nothing),
        _ => (cut, Loss::Some(cut as u64)),
    });
    for (cut, loss) in crash::chosen(left.collect()) {
        let left = after_power_cut(&Files::new(), &run.calls[..cut], loss);
        restore(folder.path(), &left);
        let expected = state(&open(folder.path()).unwrap());
        for failing in failing_calls() {
            restore(folder.path(), &left);
            let disk = failing_disk(failing);
            let opened = open_on(Arc::new(disk.clone()), folder.path());
            let is_over = disk.fail_no_more();
            let context = format!("cut {cut}, {loss:?}, call {failing}: {:?}", disk.failed());
            match &opened {
                Err(error) => assert_told(error, &context),
                Ok(opened) => {
                    // Folders above that cannot be synced existed before.
                    let own = format!("SyncFolder({:?})", folder.path());
                    let is_above = |call: String| call.starts_with("SyncFolder") && call != own;
                    let is_well = is_over || is_made_up_for(&disk);
                    assert!(is_well || disk.failed().is_some_and(is_above), "{context}");
                    assert_eq!(state(opened), expected, "{context}");
                }
            }
            drop(opened);
            check_next_starts(folder.path(), &left, &disk, &expected, &context);
            cases += 1;
            if is_over {
                break;
            }
        }
    }
    let is_replay = *failing_calls().end() < usize::MAX;
    assert!(is_replay || cases > 2_000, "{cases} cases");
}

/// The progress of a run.
#[derive(Default)]
struct Progress {
    acknowledged: StoredPoints,
    /// The same with the first group whose commit failed.
    with_failed: Option<StoredPoints>,
    snapshots: u8,
    errors: Vec<Error>,
}

impl Progress {
    /// Commits the workload, with all upkeep in between, whatever fails.
    fn run(&mut self, store: &mut Store) {
        for (number, group) in workload().iter().enumerate() {
            self.commit(store, group);
            if number % 4 == 3 {
                self.note(store.note_end());
                self.snapshot(store);
            }
            if number % 5 == 4 {
                self.note(compact_all(store));
            }
        }
    }

    fn commit(&mut self, store: &mut Store, group: &[Step]) {
        let mut next = self.acknowledged.clone();
        apply(group, &mut next);
        let committed = commit(store, group);
        if committed.is_ok() {
            self.acknowledged = next;
        } else {
            self.with_failed.get_or_insert(next);
        }
        self.note(committed);
    }

    fn snapshot(&mut self, store: &Store) {
        if store.last_sequence() == 0 {
            // No point is in a graph.
            return;
        }
        let bytes = content(self.snapshots + 1);
        let (sequence, snapshots) = (store.last_sequence(), store.snapshots());
        let written = snapshots.write(sequence, |out| out.write_all(&bytes));
        self.snapshots += u8::from(written.is_ok());
        self.note(written);
    }

    fn note<T>(&mut self, result: Result<T>) {
        self.errors.extend(result.err());
    }
}

#[test]
fn a_commit_a_compaction_or_a_snapshot_of_which_a_call_fails_loses_nothing_and_tells() {
    for failing in failing_calls() {
        let folder = new_folder();
        let disk = TestDisk::default();
        let mut store = open_on(Arc::new(disk.clone()), folder.path())
            .unwrap()
            .store;
        disk.fail_after(failing);
        let mut progress = Progress::default();
        progress.run(&mut store);
        let is_over = disk.fail_no_more();
        let context = format!("call {failing}: {:?}", disk.failed());
        let Progress {
            acknowledged,
            with_failed,
            snapshots,
            errors,
        } = progress;
        let is_read_only = store.check_writable().is_err();
        // A snapshot is whole whether or not an older one is removed behind it.
        let is_removal = |call: String| !call.starts_with("Rename") && call.contains(".snapshot\"");
        let is_well = is_over || is_made_up_for(&disk) || disk.failed().is_some_and(is_removal);
        assert_eq!(errors.is_empty(), is_well, "{context}");
        if let Some(error) = errors.first() {
            assert_told(error, &context);
            let first_is = matches!(error, Error::ReadOnly(_));
            assert_eq!(first_is, is_read_only, "{context}: {error}");
            assert!(is_read_only || errors.len() == 1, "{context}: {errors:?}");
        }
        drop(store);
        let allowed = [Some(&acknowledged), with_failed.as_ref()];
        let cut = after_power_cut(&Files::new(), &disk.calls(), Loss::All);
        for left in [files(folder.path()), cut] {
            let opened = snapshots::check(folder.path(), &left, snapshots, &context);
            assert!(allowed.contains(&Some(&state(&opened))), "{context}");
        }
        if is_over {
            assert!(failing > 300, "{failing} calls");
            return;
        }
    }
}

#[test]
fn a_check_of_which_a_call_fails_tells_it_or_has_verified_everything() {
    let folder = written(End::Killed);
    let opened = open(folder.path()).unwrap();
    let (sequence, snapshots) = (opened.last_sequence, opened.store.snapshots());
    snapshots
        .write(sequence, |out| out.write_all(&content(1)))
        .unwrap();
    drop((opened, snapshots));
    // A segment whose creation was interrupted.
    fs_err::write(segment::path(folder.path(), 3), "").unwrap();
    let before = files(folder.path());
    let sound = check_on(&TestDisk::default(), folder.path(), &mut |_| {}).unwrap();
    for failing in failing_calls() {
        let disk = failing_disk(failing);
        let mut told = Vec::new();
        let checked = check_on(&disk, folder.path(), &mut |event| {
            if let Event::Damage(damage) = event {
                told.push(damage.reason);
            }
        });
        let context = format!("call {failing}: {:?}", disk.failed());
        match checked {
            Err(error) => assert_told(&error, &context),
            Ok(checked) if told.is_empty() => assert_eq!(checked.report, sound.report, "{context}"),
            Ok(checked) => {
                assert!(checked.first_damage.is_some(), "{context}");
                assert!(
                    told[0].contains("the test lets this call fail"),
                    "{context}: {told:?}"
                );
            }
        }
        assert_eq!(files(folder.path()), before, "{context}");
        if disk.fail_no_more() {
            assert!(failing > 15, "{failing} calls");
            return;
        }
    }
}
