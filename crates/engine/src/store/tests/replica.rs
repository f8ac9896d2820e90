//! The store of a replica: its position in the stream is as durable as the points.

use std::{path::Path, sync::Arc};

use super::{
    Step, commit, commit_by,
    compaction::compact_all,
    copy,
    crash::{case_of, cases},
    damage::log,
    disk::{Call, Files, TestDisk, after_power_cut},
    files, new_folder, open, open_on, overwrite, restore, state, state_after, workload,
};
use crate::{
    Error, Result,
    store::{
        Store, StreamPosition,
        io::Io,
        tools::{self, Adopted, adopt::adopt_on},
    },
};

/// The positions with no message, with one and so on.
fn position(messages: usize) -> StreamPosition {
    (1..=messages as u32).fold(StreamPosition::default(), StreamPosition::after)
}

/// The workload as messages, with some between that change nothing.
fn messages() -> Vec<Vec<Step>> {
    let pair = |(number, group): (usize, Vec<Step>)| match number % 5 {
        0 => vec![Vec::new(), group],
        _ => vec![group],
    };
    workload().into_iter().enumerate().flat_map(pair).collect()
}

fn apply(store: &mut Store, steps: &[Step], position: StreamPosition) -> Result<()> {
    commit_by(store, steps, |store, writes| store.apply(writes, position)).map(drop)
}

/// Applies the messages, with a stop in the middle. Returns the calls, and after which of them each
/// message was acknowledged.
fn run(folder: &Path) -> (Vec<Call>, Vec<usize>) {
    let disk = TestDisk::default();
    let mut acknowledged = Vec::new();
    let messages = messages();
    for half in messages.chunks(messages.len().div_ceil(2)) {
        let mut opened = open_on(Arc::new(disk.clone()), folder).unwrap();
        for message in half {
            let next = position(acknowledged.len() + 1);
            apply(&mut opened.store, message, next).unwrap();
            assert_eq!(opened.store.position(), Some(next));
            acknowledged.push(disk.call_count());
        }
        assert!(compact_all(&mut opened.store).unwrap() > 0);
        opened.store.close().unwrap();
    }
    (disk.calls(), acknowledged)
}

#[test]
fn after_a_power_cut_at_any_call_the_position_is_that_of_the_points() {
    let folder = new_folder();
    let (calls, acknowledged) = run(folder.path());
    let messages = messages();
    for (cut, loss) in cases(0..=calls.len()) {
        let case = case_of(cut, loss);
        restore(
            folder.path(),
            &after_power_cut(&Files::new(), &calls[..cut], loss),
        );
        let opened = open(folder.path()).unwrap_or_else(|error| panic!("{case}: {error}"));
        let found = opened.store.position();
        let at = found.unwrap_or_default().sequence as usize;
        let least = acknowledged.iter().filter(|&&call| call <= cut).count();
        assert!((least..=least + 1).contains(&at), "{case}: {at}, {least}");
        assert_eq!(found.unwrap_or_default(), position(at), "{case}");
        assert_eq!(state(&opened), state_after(&messages[..at]), "{case}");
    }
}

#[test]
fn a_folder_is_written_by_a_stream_or_by_itself_and_a_restored_one_by_itself() {
    let insert = |number| vec![Step::Insert(number, vec![7; 10])];
    let is_refused = |result: Result<()>| matches!(result, Err(Error::InvalidArgument(_)));
    let replica = new_folder();
    let mut opened = open(replica.path()).unwrap();
    apply(&mut opened.store, &[], position(1)).unwrap();
    apply(&mut opened.store, &insert(1), position(2)).unwrap();
    assert!(is_refused(commit(&mut opened.store, &insert(2)).map(drop)));
    opened.store.close().unwrap();
    let mut opened = open(replica.path()).unwrap();
    assert!(is_refused(commit(&mut opened.store, &insert(2)).map(drop)));
    assert_eq!(opened.store.position(), Some(position(2)));
    // The last group is not in the manifest.
    apply(&mut opened.store, &insert(3), position(3)).unwrap();
    let killed = copy(replica.path());
    drop(opened);

    let restored = new_folder();
    tools::restore(killed.path(), restored.path(), &mut |_| {}).unwrap();
    let mut opened = open(restored.path()).unwrap();
    assert_eq!(opened.store.position(), None);
    assert!(is_refused(apply(&mut opened.store, &[], position(1))));
    commit(&mut opened.store, &insert(4)).unwrap();
    opened.store.close().unwrap();
    assert_eq!(open(restored.path()).unwrap().store.position(), None);
    assert_eq!(
        open(killed.path()).unwrap().store.position(),
        Some(position(3))
    );
}

/// The backup of a replica that was killed with this many messages in its log.
fn backed_up(messages: &[Vec<Step>]) -> tempfile::TempDir {
    let (source, target) = (new_folder(), new_folder());
    let mut opened = open(source.path()).unwrap();
    for (at, steps) in messages.iter().enumerate() {
        apply(&mut opened.store, steps, position(at + 1)).unwrap();
    }
    let snapshots = opened.store.snapshots();
    let written = snapshots.write(opened.store.last_sequence(), |_| Ok(()));
    written.unwrap();
    let killed = copy(source.path());
    tools::backup(killed.path(), target.path(), &mut |_| {}).unwrap();
    target
}

fn adopt(io: &dyn Io, folder: &Path) -> Result<Adopted> {
    adopt_on(io, folder, &mut |_| {})
}

#[test]
fn an_adopted_backup_goes_on_in_the_stream_as_another_store() {
    let messages = messages();
    let backup = backed_up(&messages);
    let adopted = [(); 2].map(|()| {
        let folder = copy(backup.path());
        let Adopted { store, report } = adopt(&TestDisk::default(), folder.path()).unwrap();
        assert_eq!(report.damages, 0);
        let mut opened = open(folder.path()).unwrap();
        assert_eq!(opened.store_id, store);
        assert_eq!(opened.store.position(), Some(position(messages.len())));
        assert_eq!(state(&opened), state_after(&messages));
        let snapshots = opened.store.snapshots();
        let [path] = &snapshots.list().unwrap()[..] else {
            panic!("one snapshot");
        };
        snapshots.read(path).unwrap();
        apply(&mut opened.store, &[], position(messages.len() + 1)).unwrap();
        store
    });
    let source = open(backup.path()).unwrap().store_id;
    assert!(adopted[0] != adopted[1] && !adopted.contains(&source));
}

#[test]
fn what_is_damaged_or_no_replica_is_not_adopted_and_stays_as_it_was() {
    let damaged = backed_up(&messages());
    overwrite(&log(damaged.path(), 1), 4096 + 64 + 8, &[0xFF; 4]);
    let single = new_folder();
    let mut opened = open(single.path()).unwrap();
    commit(&mut opened.store, &[Step::Insert(1, vec![7; 10])]).unwrap();
    opened.store.close().unwrap();
    for (folder, is_expected) in [
        (
            damaged,
            (|error| matches!(error, Error::Damaged { .. })) as fn(&Error) -> bool,
        ),
        (single, |error| matches!(error, Error::InvalidArgument(_))),
    ] {
        let before = files(folder.path());
        let refused = adopt(&TestDisk::default(), folder.path()).unwrap_err();
        assert!(is_expected(&refused), "{refused}");
        assert_eq!(files(folder.path()), before);
    }
}

#[test]
fn a_backup_that_shares_files_with_another_folder_is_not_adopted_and_both_stay_as_they_were() {
    let (source, linked) = (backed_up(&messages()), new_folder());
    tools::backup(source.path(), linked.path(), &mut |_| {}).unwrap();
    let both = || [source.path(), linked.path()].map(files);
    let before = both();
    let refused = adopt(&TestDisk::default(), linked.path()).unwrap_err();
    assert!(refused.to_string().contains("hard links"), "{refused}");
    assert_eq!(both(), before);
    let copied = copy(linked.path());
    adopt(&TestDisk::default(), copied.path()).unwrap();
}

#[test]
fn after_a_power_cut_at_any_call_a_backup_is_adopted_whole_or_not_at_all() {
    let messages = messages();
    let backup = backed_up(&messages);
    let before = files(backup.path());
    let disk = TestDisk::default();
    let source = open(copy(backup.path()).path()).unwrap().store_id;
    adopt(&disk, backup.path()).unwrap();
    let calls = disk.calls();
    let mut found = [0; 3];
    for (cut, loss) in cases(0..=calls.len()) {
        let case = case_of(cut, loss);
        restore(
            backup.path(),
            &after_power_cut(&before, &calls[..cut], loss),
        );
        let place = match open(backup.path()) {
            Ok(opened) => {
                assert_eq!(state(&opened), state_after(&messages), "{case}");
                assert_eq!(
                    opened.store.position(),
                    Some(position(messages.len())),
                    "{case}"
                );
                usize::from(opened.store_id != source)
            }
            Err(error) => {
                assert!(
                    error.to_string().contains("not finished"),
                    "{case}: {error}"
                );
                2
            }
        };
        found[place] += 1;
    }
    assert!(found.iter().all(|&cases| cases > 0), "{found:?}");
}
