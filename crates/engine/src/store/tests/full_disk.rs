//! Deletes alone free space on a full disk, whatever happens to the disk or the process meanwhile.

use std::{collections::HashSet, path::Path, sync::Arc};

use super::{
    Step, StoredPoints, apply, commit,
    compaction::{compact, compact_tightly},
    crash::cases,
    disk::{Files, TestDisk, after_power_cut},
    failing::failing_calls,
    new_folder, restore, state, state_after,
};
use crate::{
    Error, Result,
    store::{OpenOptions, Opened, Store},
};

/// The groups that a store has acknowledged, and the number of calls before each acknowledgement.
struct History {
    /// The bytes of each point's content.
    content_bytes: usize,
    groups: Vec<Vec<Step>>,
    acknowledged: Vec<usize>,
}

impl History {
    fn new(content_bytes: usize) -> History {
        History {
            content_bytes,
            groups: Vec::new(),
            acknowledged: Vec::new(),
        }
    }

    fn commit(&mut self, store: &mut Store, disk: &TestDisk, group: Vec<Step>) -> Result<()> {
        self.groups.push(group);
        let group = self.groups.last().map(Vec::as_slice).unwrap_or_default();
        match commit(store, group) {
            Ok(_) => self.acknowledged.push(disk.call_count()),
            Err(Error::StorageFull) => {
                self.groups.pop();
                return Err(Error::StorageFull);
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    /// Inserts points until there is no space for more; returns their number.
    fn fill(&mut self, store: &mut Store, disk: &TestDisk, first: u32, batch: u32) -> Result<u32> {
        for at in (0..).step_by(batch as usize) {
            let numbers = first + at..first + at + batch;
            let group =
                numbers.map(|number| Step::Insert(number, vec![number as u8; self.content_bytes]));
            match self.commit(store, disk, group.collect()) {
                Err(Error::StorageFull) => return Ok(at),
                other => other?,
            }
        }
        unreachable!("some disk is full")
    }

    /// Deletes `percent` of the points one by one, and compacts from time to time.
    fn delete(
        &mut self,
        store: &mut Store,
        disk: &TestDisk,
        points: u32,
        percent: u32,
    ) -> Result<()> {
        // A factor without a common divisor with 100 reaches all remainders.
        let gone = (0..points).filter(|number| number * 37 % 100 < percent);
        for (count, number) in (1..).zip(gone) {
            self.commit(store, disk, vec![Step::Delete(number)])?;
            if count % 20 == 0 {
                compact_tightly(store)?;
            }
        }
        Ok(())
    }

    fn state(&self) -> StoredPoints {
        state_after(&self.groups)
    }
}

fn open(disk: &TestDisk, folder: &Path, segment_bytes: u64) -> Result<Opened> {
    let options = OpenOptions {
        segment_bytes,
        ..super::options(folder)
    };
    Store::open_on(Arc::new(disk.clone()), &options)
}

/// Fills a disk, deletes, and must find space for others again; twice.
fn expect_space(disk_bytes: u64, segment_bytes: u64, percent: u32) {
    let folder = new_folder();
    let disk = TestDisk::default();
    disk.set_space(Some(disk_bytes));
    let mut opened = open(&disk, folder.path(), segment_bytes).unwrap();
    let mut history = History::new(20);
    let store = &mut opened.store;
    let count = history.fill(store, &disk, 0, 1).unwrap();
    assert!(u64::from(count) * 256 * 4 > disk_bytes, "{count} points");
    history.delete(store, &disk, count, percent).unwrap();
    compact_tightly(store).unwrap();
    let more = history.fill(store, &disk, count, 1).unwrap();
    assert!(more * 100 > count * percent / 2, "{more} after {count}");

    drop(opened);
    let mut opened = open(&disk, folder.path(), segment_bytes).unwrap();
    assert_eq!(state(&opened), history.state());
    // All remaining points are deleted.
    let store = &mut opened.store;
    let numbers = 0..count + more;
    let is_there = |number: &u32| history.state().contains_key(&super::id(*number));
    let left: Vec<u32> = numbers.filter(is_there).collect();
    for part in left.chunks(20) {
        for &number in part {
            history
                .commit(store, &disk, vec![Step::Delete(number)])
                .unwrap();
        }
        compact_tightly(store).unwrap();
    }
    let others = history.fill(store, &disk, count + more, 1).unwrap();
    assert!(others * 5 > count * 4, "{others} after {count}");
    drop(opened);
    let opened = open(&disk, folder.path(), segment_bytes).unwrap();
    assert_eq!(state(&opened), history.state());
}

#[test]
fn deletes_alone_free_space_where_each_takes_half_as_much_as_a_point() {
    expect_space(512 << 10, 16 << 10, 38);
}

#[test]
fn deletes_alone_free_space_where_all_points_are_in_the_segment_that_is_written() {
    expect_space(384 << 10, 128 << 10, 38);
}

#[test]
fn deletes_go_on_where_too_little_of_any_segment_goes_to_be_worth_a_copy_otherwise() {
    const SEGMENT: u64 = 96 << 10;
    let folder = new_folder();
    let disk = TestDisk::default();
    disk.set_space(Some(5 << 20));
    let mut opened = open(&disk, folder.path(), SEGMENT).unwrap();
    let mut history = History::new(20);
    let store = &mut opened.store;
    let count = history.fill(store, &disk, 0, 50).unwrap();
    // One in ten, spread evenly, and more than fit into the reserve for deletes.
    let gone = (0..count).step_by(10);
    assert!(gone.len() as u64 * 64 > SEGMENT);
    for (at, number) in gone.enumerate() {
        history
            .commit(store, &disk, vec![Step::Delete(number)])
            .unwrap_or_else(|error| panic!("delete {at}: {error}"));
        if at % 100 == 99 {
            compact_tightly(store).unwrap();
        }
    }
    drop(opened);
    let opened = open(&disk, folder.path(), SEGMENT).unwrap();
    assert_eq!(state(&opened), history.state());
}

const DISK_BYTES: u64 = 200 << 10;
const SEGMENT_BYTES: u64 = 16 << 10;

/// The operations from the first delete on.
fn free_space(history: &mut History, store: &mut Store, disk: &TestDisk, count: u32) -> Result<()> {
    history.delete(store, disk, count, 38)?;
    compact_tightly(store)?;
    let more = history.fill(store, disk, count, 5)?;
    assert!(more > 20, "{more} points found space");
    store.prove().or_else(|error| match error {
        Error::StorageFull => Ok(()),
        other => Err(other),
    })
}

/// A disk that has been filled.
fn full_disk(folder: &Path) -> (Opened, TestDisk, History, u32) {
    let disk = TestDisk::default();
    disk.set_space(Some(DISK_BYTES));
    let mut opened = open(&disk, folder, SEGMENT_BYTES).unwrap();
    let mut history = History::new(800);
    let count = history.fill(&mut opened.store, &disk, 0, 5).unwrap();
    (opened, disk, history, count)
}

#[test]
fn a_power_cut_at_any_call_while_space_is_freed_loses_nothing() {
    let folder = new_folder();
    let (mut opened, disk, mut history, count) = full_disk(folder.path());
    let begun = disk.call_count();
    free_space(&mut history, &mut opened.store, &disk, count).unwrap();
    drop(opened);
    let calls = disk.calls();
    assert!(calls.len() > begun + 150, "{} calls", calls.len() - begun);
    for (cut, loss) in cases(begun..=calls.len()) {
        let acknowledged = history.acknowledged.iter().filter(|&&at| at <= cut).count();
        let with_next = (acknowledged + 1).min(history.groups.len());
        let allowed = [acknowledged, with_next].map(|count| state_after(&history.groups[..count]));
        let left = after_power_cut(&Files::new(), &calls[..cut], loss);
        restore(folder.path(), &left);
        let opened = super::open(folder.path())
            .unwrap_or_else(|error| panic!("cut {cut}, {loss:?}: {error}"));
        assert!(allowed.contains(&state(&opened)), "cut {cut}, {loss:?}");
    }
}

#[test]
fn any_call_may_fail_while_space_is_freed_and_nothing_is_lost() {
    for failing in failing_calls() {
        let folder = new_folder();
        let (mut opened, disk, mut history, count) = full_disk(folder.path());
        disk.fail_after(failing);
        let made = free_space(&mut history, &mut opened.store, &disk, count);
        let is_over = disk.fail_no_more();
        drop(opened);
        let acknowledged = history.acknowledged.len();
        let allowed =
            [acknowledged, history.groups.len()].map(|count| state_after(&history.groups[..count]));
        let opened = open(&disk, folder.path(), SEGMENT_BYTES);
        let opened = opened.unwrap_or_else(|error| panic!("call {failing}: {error}"));
        assert!(allowed.contains(&state(&opened)), "call {failing}");
        if is_over {
            made.unwrap();
            assert!(failing > 150, "{failing} calls");
            return;
        }
    }
}

#[test]
fn deletes_leave_compaction_the_space_for_its_copy() {
    let folder = new_folder();
    let (mut opened, disk, mut history, count) = full_disk(folder.path());
    let store = &mut opened.store;
    let mut numbers = 0..count;
    for number in numbers.by_ref().take(count as usize / 5) {
        let delete = vec![Step::Delete(number)];
        history.commit(store, &disk, delete).unwrap();
    }
    let stretch = store.tight_stretch(&HashSet::new()).unwrap();
    let mut delete = |store: &mut Store| {
        let delete = numbers.next().map(Step::Delete);
        history.commit(store, &disk, vec![delete.unwrap()])
    };
    while delete(store).is_ok() {}
    compact(store, stretch.unwrap()).unwrap();
    store.end_freeing_space().unwrap();
    delete(store).unwrap();
    drop(opened);
    let opened = open(&disk, folder.path(), SEGMENT_BYTES).unwrap();
    assert_eq!(state(&opened), history.state());
}

#[test]
fn inserts_leave_what_compaction_has_just_made() {
    let folder = new_folder();
    let (mut opened, disk, mut history, count) = full_disk(folder.path());
    let store = &mut opened.store;
    for number in 0..count / 5 {
        history
            .commit(store, &disk, vec![Step::Delete(number)])
            .unwrap();
    }
    assert!(store.is_short_of_space());
    let stretch = store.tight_stretch(&HashSet::new()).unwrap();
    assert!(stretch.is_some());
    let insert = |number: u32| [Step::Insert(number, vec![])];
    // There is space, but it goes to the reserves.
    disk.set_space(Some(DISK_BYTES));
    assert!(matches!(
        commit(store, &insert(5_000)),
        Err(Error::StorageFull)
    ));
    let delete = [Step::Delete(count - 1)];
    commit(store, &delete).unwrap();
    store.end_freeing_space().unwrap();
    commit(store, &insert(5_001)).unwrap();
    assert!(!store.is_short_of_space());
    let mut expected = history.state();
    apply(&delete, &mut expected);
    apply(&insert(5_001), &mut expected);
    drop(opened);
    let opened = open(&disk, folder.path(), SEGMENT_BYTES).unwrap();
    assert_eq!(state(&opened), expected);
}
