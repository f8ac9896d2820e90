//! Space becomes free, and compaction neither loses a point nor brings one back.

use std::{collections::HashSet, ops::Range, path::Path, slice, sync::Arc};

use proptest::prelude::*;

use super::{
    SEGMENT_BYTES, Step, StoredPoints, apply, commit, disk::TestDisk, live, new_folder, open,
    options, state,
};
use crate::{
    Error, Result,
    store::{
        LivePoint, Location, OpenOptions, Store, Stretch,
        log::{format::PAGE, segment},
    },
};

/// Compacts a stretch of segments, without concurrent readers.
pub fn compact(store: &mut Store, stretch: Stretch) -> Result<()> {
    let points = live(store);
    compact_with(store, stretch, &points)
}

/// The same, with the list of live points.
fn compact_with(store: &mut Store, stretch: Stretch, live: &[LivePoint]) -> Result<()> {
    let at: HashSet<([u8; 16], Location)> = live
        .iter()
        .map(|point| (point.id, point.location))
        .collect();
    let is_live = |id: &[u8; 16], location| at.contains(&(*id, location));
    let live_in = |segment| {
        let there = at
            .iter()
            .filter(|(_, location)| location.segment == segment);
        there.copied().collect()
    };
    let compacted = stretch.copy(is_live, live_in, || false)?;
    let replacement = store.take_in(compacted, |point| is_live(&point.id, point.from));
    store.replace(slice::from_ref(&replacement))?;
    let replaced: Vec<u32> = replacement.going().collect();
    #[allow(unsafe_code, reason = "nobody reads")]
    // SAFETY: nobody reads.
    unsafe {
        store.drop_segments(&replaced)
    }
}

/// Compacts every stretch that is worth it.
pub fn compact_all(store: &mut Store) -> Result<usize> {
    let mut count = 0;
    loop {
        let stretches = store.stretches(&HashSet::new());
        if stretches.is_empty() {
            return Ok(count);
        }
        count += stretches.len();
        stretches
            .into_iter()
            .try_for_each(|stretch| compact(store, stretch))?;
    }
}

/// Compacts the stretches that there is space for on a full disk.
pub fn compact_tightly(store: &mut Store) -> Result<()> {
    while let Some(stretch) = store.tight_stretch(&HashSet::new())? {
        compact(store, stretch)?;
    }
    store.end_freeing_space()
}

fn log_bytes(folder: &Path) -> u64 {
    let entries = fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap());
    let logs = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
    logs.map(|entry| entry.metadata().unwrap().len()).sum()
}

fn insert(number: u32) -> Step {
    Step::Insert(number, vec![number as u8; 100])
}

#[test]
fn the_space_of_deleted_points_comes_back() {
    // With the small segments of the other tests, half of each segment is its header.
    const BYTES: u64 = 1 << 16;
    let folder = new_folder();
    let options = OpenOptions {
        segment_bytes: BYTES,
        ..options(folder.path())
    };
    let open = || Store::open_on(Arc::new(TestDisk::default()), &options).unwrap();
    let mut opened = open();
    let store = &mut opened.store;
    for round in 0..8 {
        let numbers = round * 200..(round + 1) * 200;
        for number in numbers.clone() {
            commit(store, &[insert(number)]).unwrap();
        }
        // Nine of ten points are deleted.
        let gone = numbers.filter(|number| number % 10 != 0).map(Step::Delete);
        commit(store, &gone.collect::<Vec<_>>()).unwrap();
        compact_all(store).unwrap();
    }
    let live_bytes = 160 * (64 + 64 + 100);
    let found = log_bytes(folder.path());
    assert!(found < 2 * live_bytes + 2 * BYTES, "{found}");
    let everything: Vec<_> = live(store).iter().map(|point| point.id).collect();
    assert_eq!(everything.len(), 160);
    drop(opened);

    let mut opened = open();
    assert_eq!(state(&opened).len(), 160);
    let all = (0..160).map(|number| Step::Delete(number * 10));
    commit(&mut opened.store, &all.collect::<Vec<_>>()).unwrap();
    for number in 2_000..2_100 {
        commit(&mut opened.store, &[insert(number), insert(number + 1_000)]).unwrap();
    }
    compact_all(&mut opened.store).unwrap();
    let live_bytes = 200 * (64 + 64 + 100);
    let found = log_bytes(folder.path());
    assert!(found < 2 * live_bytes + 2 * BYTES, "{found}");
}

#[test]
fn a_store_where_everything_goes_shrinks_to_next_to_nothing() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    for round in 0..20 {
        let numbers: Range<u32> = round * 100..(round + 1) * 100;
        for number in numbers.clone() {
            commit(&mut opened.store, &[insert(number)]).unwrap();
        }
        for number in numbers {
            commit(&mut opened.store, &[Step::Delete(number)]).unwrap();
        }
        compact_all(&mut opened.store).unwrap();
        let found = log_bytes(folder.path());
        assert!(
            found <= 2 * SEGMENT_BYTES + 2 * PAGE as u64,
            "{found} after {round}"
        );
    }
}

#[test]
fn nothing_is_copied_where_nothing_is_gained() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    for number in 0..300 {
        commit(&mut opened.store, &[insert(number)]).unwrap();
    }
    assert_eq!(compact_all(&mut opened.store).unwrap(), 0);
}

#[test]
fn a_damaged_record_is_not_copied_as_if_it_were_sound() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    for number in 0..100 {
        commit(&mut opened.store, &[insert(number)]).unwrap();
    }
    let point = live(&opened.store)[3];
    let path = crate::store::log::segment::path(folder.path(), point.location.segment);
    let at = u64::from(point.location.vector) * 64;
    super::overwrite(&path, at, &[0x55; 4]);
    let before = log_bytes(folder.path());
    let stretch = opened.store.stretch_of(0..1);
    let Err(Error::Damaged { path: named, .. }) = compact(&mut opened.store, stretch) else {
        panic!("expected damage");
    };
    assert_eq!(named, path);
    assert_eq!(log_bytes(folder.path()), before, "nothing is left behind");
}

/// Ten points in the first segment, half of them deleted in the second, others in the third.
fn deleted_later() -> (tempfile::TempDir, Store, Location) {
    let folder = new_folder();
    let mut store = open(folder.path()).unwrap().store;
    commit(&mut store, &(0..10).map(insert).collect::<Vec<_>>()).unwrap();
    commit(&mut store, &[Step::Insert(50, vec![5; 9000])]).unwrap();
    let deletes: Vec<Step> = (0..5).map(Step::Delete).collect();
    let deletes = commit(&mut store, &deletes).unwrap();
    commit(&mut store, &[Step::Insert(60, vec![6; 9000])]).unwrap();
    let delete = deletes[2];
    let first = live(&store)[0].location.segment;
    assert!(first < delete.segment);
    (folder, store, delete)
}

/// Compacts one segment.
fn compact_one(store: &mut Store, segment: u32, live: &[LivePoint]) -> Result<()> {
    let mut entries = store.manifest.segments.iter();
    let at = entries.position(|entry| entry.number == segment).unwrap();
    let stretch = store.stretch_of(at..at + 1);
    compact_with(store, stretch, live)
}

#[test]
fn a_damaged_delete_stays_as_long_as_it_is_needed_and_brings_no_point_back() {
    // Damaged: the header of the record, that of its group, and both.
    for (is_lost, has_no_group) in [(true, false), (false, true), (true, true)] {
        let (folder, mut store, delete) = deleted_later();
        let before = state(&open(super::copy(folder.path()).path()).unwrap());
        let points = live(&store);
        let path = segment::path(folder.path(), delete.segment);
        let sound = fs_err::read(&path).unwrap();
        let flip = |at: u64| super::overwrite(&path, at, &[!sound[at as usize]]);
        if is_lost {
            flip(delete.offset() + 20);
        }
        if has_no_group {
            flip(delete.offset() - 3 * 64 + 20);
        }
        let copied = compact_one(&mut store, delete.segment, &points);
        if is_lost {
            assert!(matches!(copied, Err(Error::Damaged { .. })), "{copied:?}");
            // Once the records of the deleted points are gone, the delete is not needed.
            let first = store.manifest.segments[0].number;
            compact_one(&mut store, first, &points).unwrap();
            compact_one(&mut store, delete.segment, &points).unwrap();
        } else {
            copied.unwrap();
        }
        assert!(!path.exists());
        drop(store);
        assert_eq!(state(&open(folder.path()).unwrap()), before, "{is_lost}");
    }
}

/// The first of two records that replace a point, one after the other, is compacted without the
/// record of the point and without the second one.
#[test]
fn a_replaced_point_stays_replaced_when_what_replaced_it_is_compacted() {
    let folder = new_folder();
    let mut store = open(folder.path()).unwrap().store;
    let (mut expected, mut replaced) = (StoredPoints::new(), None);
    for number in [50, 60, 70] {
        let changed = if number == 50 {
            insert(3)
        } else {
            Step::Replace(3, vec![number as u8; 20])
        };
        for step in [changed, Step::Insert(number, vec![5; 9000])] {
            let step = slice::from_ref(&step);
            let locations = commit(&mut store, step).unwrap();
            if number == 60 {
                replaced.get_or_insert(locations[0].segment);
            }
            apply(step, &mut expected);
        }
    }
    let points = live(&store);
    compact_one(&mut store, replaced.unwrap(), &points).unwrap();
    drop(store);
    let opened = open(folder.path()).unwrap();
    assert_eq!(opened.points.len(), expected.len(), "an id is there twice");
    assert_eq!(state(&opened), expected);
}

#[test]
fn a_segment_with_a_damaged_header_is_copied_if_all_that_lives_is_sound() {
    let folder = new_folder();
    let mut store = open(folder.path()).unwrap().store;
    commit(&mut store, &(0..10).map(insert).collect::<Vec<_>>()).unwrap();
    commit(&mut store, &[Step::Insert(50, vec![5; 9000])]).unwrap();
    let points = live(&store);
    let point = points[3];
    let path = segment::path(folder.path(), 1);
    let sound = fs_err::read(&path).unwrap();
    let flip = |at: u64| super::overwrite(&path, at, &[!sound[at as usize]]);
    let put_back = |at: u64| super::overwrite(&path, at, &[sound[at as usize]]);

    // Damaged: the header of the record of a live point, then its vector and the header of its
    // group.
    let record = point.location.offset();
    flip(record + 30);
    assert!(compact_one(&mut store, 1, &points).is_err());
    put_back(record + 30);
    flip(PAGE as u64 + 40);
    flip(u64::from(point.location.vector) * 64);
    assert!(compact_one(&mut store, 1, &points).is_err());
    put_back(u64::from(point.location.vector) * 64);
    assert!(path.exists());

    // If only the header of its group is damaged, the segment can be copied.
    compact_one(&mut store, 1, &points).unwrap();
    assert!(!path.exists());
    drop(store);
    assert_eq!(state(&open(folder.path()).unwrap()).len(), 11);
}

#[derive(Clone, Debug)]
enum Move {
    Insert(u8),
    Delete(usize),
    Replace(usize),
    DeleteAll,
    /// Compacts neighbouring segments, whether it pays or not: from the first share of all sealed
    /// segments to the second.
    Compact(u8, u8),
    Reopen,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        6 => (1_u8..12).prop_map(Move::Insert),
        4 => any::<usize>().prop_map(Move::Delete),
        4 => any::<usize>().prop_map(Move::Replace),
        1 => Just(Move::DeleteAll),
        4 => (any::<u8>(), any::<u8>()).prop_map(|(from, to)| Move::Compact(from, to)),
        1 => Just(Move::Reopen),
    ];
    proptest::collection::vec(one, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_compacted_the_points_stay_the_same(moves in moves()) {
        let folder = new_folder();
        let mut opened = open(folder.path()).unwrap();
        let (mut expected, mut there) = (StoredPoints::new(), Vec::new());
        let mut next = 0;
        for one in moves {
            match one {
                Move::Insert(count) => {
                    let numbers = next..next + u32::from(count);
                    next = numbers.end;
                    there.extend(numbers.clone());
                    let steps: Vec<Step> = numbers.map(insert).collect();
                    commit(&mut opened.store, &steps).unwrap();
                    apply(&steps, &mut expected);
                }
                Move::Delete(index) if !there.is_empty() => {
                    let steps = [Step::Delete(there.swap_remove(index % there.len()))];
                    commit(&mut opened.store, &steps).unwrap();
                    apply(&steps, &mut expected);
                }
                Move::Replace(index) if !there.is_empty() => {
                    let number = there[index % there.len()];
                    let steps = [Step::Replace(number, vec![index as u8; 150])];
                    commit(&mut opened.store, &steps).unwrap();
                    apply(&steps, &mut expected);
                }
                Move::DeleteAll if next > 0 => {
                    there.clear();
                    commit(&mut opened.store, &[Step::DeleteAll]).unwrap();
                    expected.clear();
                }
                Move::Delete(_) | Move::Replace(_) | Move::DeleteAll => {}
                Move::Compact(from, to) => {
                    let sealed = opened.store.manifest.segments.len().saturating_sub(1);
                    let place = |share: u8| usize::from(share) * sealed / 256;
                    let (from, to) = (place(from.min(to)), place(from.max(to)) + 1);
                    if sealed > 0 {
                        let stretch = opened.store.stretch_of(from..to);
                        compact(&mut opened.store, stretch).unwrap();
                    }
                }
                Move::Reopen => {
                    drop(opened);
                    opened = open(folder.path()).unwrap();
                }
            }
        }
        drop(opened);
        let opened = open(folder.path()).unwrap();
        prop_assert_eq!(opened.points.len(), expected.len(), "an id is there twice");
        prop_assert_eq!(state(&opened), expected);
        prop_assert!(opened.notes.is_empty());
    }
}
