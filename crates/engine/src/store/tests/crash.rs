//! Power cuts and failing calls at every single I/O call.
//!
//! A case is a number of calls and a loss. The message of a failed case names it:
//! `cut 17, Some(530)`. `VECTORD_POWER_CASE='cut 17, Some(530)' cargo test --lib power_cut` runs
//! only that case; the tests that do not have it fail. In the same way, `VECTORD_FAILING_CALL=17`
//! runs only the case of a message with `call 17`. The random ids and salts of the files differ
//! from run to run, and the loss does not depend on them.

use std::{env, ops::RangeInclusive, path::Path, sync::Arc};

use super::{
    Step, StoredPoints, apply, commit,
    compaction::compact_all,
    disk::{Call, Files, Loss, TestDisk, after_power_cut},
    failing::{failing_calls, is_made_up_for},
    new_folder, open, open_on, restore, state, state_after, workload,
};
use crate::{Error, store::Store};

/// A run of the workload: the calls it made, and after which call each group was acknowledged.
pub struct Run {
    pub calls: Vec<Call>,
    acknowledged: Vec<usize>,
}

/// Commits the workload with a clean stop in the middle and one at the end.
pub fn run(folder: &Path) -> Run {
    let disk = TestDisk::default();
    let groups = workload();
    let mut acknowledged = Vec::new();
    for half in groups.chunks(groups.len().div_ceil(2)) {
        let mut opened = open_on(Arc::new(disk.clone()), folder).unwrap();
        for group in half {
            commit(&mut opened.store, group).unwrap();
            acknowledged.push(disk.call_count());
        }
        assert!(compact_all(&mut opened.store).unwrap() > 0);
        opened.store.close().unwrap();
    }
    Run {
        calls: disk.calls(),
        acknowledged,
    }
}

impl Run {
    /// The states that may be found after a cut behind `calls` calls: everything acknowledged, and
    /// the group in flight whole or absent.
    fn allowed(&self, calls: usize) -> [StoredPoints; 2] {
        let groups = workload();
        let acknowledged = self.acknowledged.iter().filter(|&&at| at <= calls).count();
        let with_next = (acknowledged + 1).min(groups.len());
        [
            state_after(&groups[..acknowledged]),
            state_after(&groups[..with_next]),
        ]
    }
}

/// The number of losses that are tried for a power cut behind each number of calls.
const LOSSES: u64 = 8;

/// The [chosen] cases of a test that cuts the power behind each of these numbers of calls.
pub fn cases(cuts: RangeInclusive<usize>) -> Vec<(usize, Loss)> {
    let cases = cuts.flat_map(|cut| {
        let seeds = (0..LOSSES - 2).map(move |n| Loss::Some(cut as u64 * 31 + n));
        let losses = [Loss::All, Loss::Nothing].into_iter().chain(seeds);
        losses.map(move |loss| (cut, loss))
    });
    chosen(cases.collect())
}

/// The case of `VECTORD_POWER_CASE`, if it is set, or all cases.
pub fn chosen(cases: Vec<(usize, Loss)>) -> Vec<(usize, Loss)> {
    only(cases, env::var("VECTORD_POWER_CASE").ok().as_deref())
}

/// The case with this name, or all cases. A test without any case would always pass, so it fails.
fn only(mut cases: Vec<(usize, Loss)>, name: Option<&str>) -> Vec<(usize, Loss)> {
    if let Some(name) = name {
        cases.retain(|&(cut, loss)| case_of(cut, loss) == name);
        assert!(!cases.is_empty(), "{name:?} names no case of this test");
    }
    cases
}

/// The name of a case in messages.
pub fn case_of(calls: usize, loss: Loss) -> String {
    format!("cut {calls}, {loss:?}")
}

#[test]
fn a_case_that_is_named_is_played_alone() {
    let case = (17, Loss::Some(17 * 31 + 3));
    let cases = vec![(17, Loss::All), case, (18, Loss::All)];
    assert_eq!(only(cases.clone(), Some("cut 17, Some(530)")), [case]);
    assert_eq!(only(cases.clone(), None), cases);
}

#[test]
#[should_panic(expected = "names no case")]
fn a_name_of_no_case_does_not_pass() {
    only(vec![(17, Loss::All)], Some("cut 17, Some(1)"));
}

#[test]
fn a_power_cut_at_any_call_keeps_what_was_acknowledged_and_halves_nothing() {
    let folder = new_folder();
    let run = run(folder.path());
    assert!(run.calls.len() > 80, "{} calls", run.calls.len());
    for (cut, loss) in cases(0..=run.calls.len()) {
        let allowed = run.allowed(cut);
        let case = case_of(cut, loss);
        let left = after_power_cut(&Files::new(), &run.calls[..cut], loss);
        restore(folder.path(), &left);
        let disk = TestDisk::default();
        let opened = open_on(Arc::new(disk.clone()), folder.path())
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        let found = state(&opened);
        assert!(allowed.contains(&found), "{case}");
        drop(opened);
        let recovery = (&left, &disk.calls()[..]);
        check_cuts_in_recovery(folder.path(), recovery, &allowed, &found, &case);
    }
}

/// A second power cut may hit the recovery from the first. The state that a finished recovery
/// showed must stay.
fn check_cuts_in_recovery(
    folder: &Path,
    (before, calls): (&Files, &[Call]),
    allowed: &[StoredPoints; 2],
    shown: &StoredPoints,
    case: &str,
) {
    for cut in 0..=calls.len() {
        for loss in [Loss::All, Loss::Some(cut as u64)] {
            restore(folder, &after_power_cut(before, &calls[..cut], loss));
            let case = format!("{case}, then {}", case_of(cut, loss));
            let opened = open(folder).unwrap_or_else(|error| panic!("{case}: {error}"));
            let found = state(&opened);
            assert!(allowed.contains(&found), "{case}");
            assert!(
                cut < calls.len() || found == *shown,
                "{case}: recovery showed what was not durable"
            );
        }
    }
}

#[test]
fn a_power_cut_while_an_interrupted_first_insert_is_cleared_leaves_a_folder_that_opens() {
    let folder = new_folder();
    let run = run(folder.path());
    let mut cleared = 0;
    for kill in 0..run.acknowledged[0] {
        let left = after_power_cut(&Files::new(), &run.calls[..kill], Loss::Nothing);
        restore(folder.path(), &left);
        let disk = TestDisk::default();
        let opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
        cleared += usize::from(
            opened
                .notes
                .iter()
                .any(|note| note.contains("starting empty")),
        );
        drop(opened);
        let calls = disk.calls();
        for (cut, seed) in (0..=calls.len()).flat_map(|cut| (0..32).map(move |seed| (cut, seed))) {
            let loss = Loss::Some(seed);
            let case = format!("kill {kill}, {}", case_of(cut, loss));
            restore(folder.path(), &after_power_cut(&left, &calls[..cut], loss));
            let opened = open(folder.path()).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert!(opened.points.len() <= 1, "{case}");
        }
    }
    assert!(cleared > 0);
}

#[test]
fn what_is_shown_after_a_kill_stays_when_the_power_goes() {
    let folder = new_folder();
    let run = run(folder.path());
    for kill in 0..=run.calls.len() {
        let calls = &run.calls[..kill];
        restore(
            folder.path(),
            &after_power_cut(&Files::new(), calls, Loss::Nothing),
        );
        check_power_cut_after_recovery(folder.path(), calls, &format!("kill {kill}"));
    }
}

/// The killed process may have left names that exist only in memory. The changes that a recovery
/// makes because of them may reach the disk before the names do.
#[test]
fn a_power_cut_inside_the_recovery_from_a_kill_keeps_what_was_acknowledged() {
    let folder = new_folder();
    let run = run(folder.path());
    for kill in 0..=run.calls.len() {
        let killed = &run.calls[..kill];
        restore(
            folder.path(),
            &after_power_cut(&Files::new(), killed, Loss::Nothing),
        );
        let disk = TestDisk::default();
        drop(open_on(Arc::new(disk.clone()), folder.path()).unwrap());
        let calls = [killed, &disk.calls()].concat();
        for (cut, loss) in cases(kill..=calls.len()) {
            let case = format!("kill {kill}, {}", case_of(cut, loss));
            let left = after_power_cut(&Files::new(), &calls[..cut], loss);
            restore(folder.path(), &left);
            let opened = open(folder.path()).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert!(run.allowed(kill).contains(&state(&opened)), "{case}");
        }
    }
}

/// Recovers from the contents of the page cache after these calls, then cuts the power.
fn check_power_cut_after_recovery(folder: &Path, calls: &[Call], context: &str) {
    let disk = TestDisk::default();
    let mut opened = open_on(Arc::new(disk.clone()), folder).unwrap();
    let mut shown = state(&opened);
    let recovered = [calls, &disk.calls()].concat();
    let next = [Step::Insert(1000, vec![])];
    commit(&mut opened.store, &next).unwrap();
    drop(opened);
    let continued = [calls, &disk.calls()].concat();
    for (calls, group) in [(recovered, &[][..]), (continued, &next)] {
        apply(group, &mut shown);
        for loss in [Loss::All, Loss::Some(calls.len() as u64)] {
            restore(folder, &after_power_cut(&Files::new(), &calls, loss));
            let opened = open(folder).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(state(&opened), shown, "{context}, {loss:?}");
        }
    }
}

#[test]
fn a_store_goes_on_after_a_power_cut() {
    let folder = new_folder();
    let run = run(folder.path());
    // Points that were never stored before, since an id is assigned only once.
    let other = |step: &Step| match step {
        Step::Insert(number, content) => Step::Insert(number + 2000, content.clone()),
        Step::Replace(number, content) => Step::Replace(number + 2000, content.clone()),
        Step::Delete(number) => Step::Delete(number + 2000),
        Step::DeleteAll => Step::DeleteAll,
    };
    let groups: Vec<Vec<Step>> = workload()
        .iter()
        .map(|group| group.iter().map(other).collect())
        .collect();
    for cut in (0..=run.calls.len()).step_by(3) {
        let left = after_power_cut(&Files::new(), &run.calls[..cut], Loss::Some(cut as u64));
        restore(folder.path(), &left);
        let mut opened = open(folder.path()).unwrap();
        let mut expected = state(&opened);
        for group in &groups {
            commit(&mut opened.store, group).unwrap();
            apply(group, &mut expected);
        }
        drop(opened);
        assert_eq!(state(&open(folder.path()).unwrap()), expected, "cut {cut}");
    }
}

/// Commits the workload. An error comes with the number of groups that were acknowledged before it.
fn commit_until_failure(store: &mut Store) -> Result<(), (usize, Error)> {
    for (index, group) in workload().iter().enumerate() {
        commit(store, group).map_err(|error| (index, error))?;
    }
    Ok(())
}

#[test]
fn a_failed_call_ends_all_writing_until_the_store_is_opened_again() {
    let groups = workload();
    for failing in failing_calls() {
        let folder = new_folder();
        let disk = TestDisk::default();
        let mut opened = open_on(Arc::new(disk.clone()), folder.path()).unwrap();
        disk.fail_after(failing);
        let Err((acknowledged, error)) = commit_until_failure(&mut opened.store) else {
            if disk.fail_no_more() {
                assert!(failing > 60, "{failing} calls");
                return;
            }
            assert!(is_made_up_for(&disk), "{:?}", disk.failed());
            continue;
        };
        assert!(
            matches!(error, Error::ReadOnly(_)),
            "call {failing}: {error}"
        );
        assert!(
            error.to_string().contains("the test lets this call fail"),
            "{error}"
        );
        let again = commit(&mut opened.store, &groups[0]).unwrap_err();
        assert!(
            matches!(again, Error::ReadOnly(_)),
            "call {failing}: {again}"
        );
        assert!(matches!(opened.store.prove(), Err(Error::ReadOnly(_))));
        assert!(matches!(opened.store.close(), Err(Error::ReadOnly(_))));
        let killed = super::files(folder.path());
        let found = state(&open(folder.path()).unwrap());
        let allowed = [&groups[..acknowledged], &groups[..=acknowledged]].map(state_after);
        assert!(allowed.contains(&found), "call {failing}");
        restore(folder.path(), &killed);
        let context = format!("failed call {failing}");
        check_power_cut_after_recovery(folder.path(), &disk.calls(), &context);
    }
}
