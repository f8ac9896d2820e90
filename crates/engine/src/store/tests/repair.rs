//! A repair saves every point of which the record is what was written, brings back none of which the
//! delete is, and never writes to what it reads.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use proptest::prelude::*;

use super::{
    Point, Step, StoredPoints, commit,
    compaction::compact_all,
    copy,
    crash::{self, cases},
    damage::{End, groups, log, make_newer, written},
    disk::{Call, Files, TestDisk, after_power_cut},
    failing::failing_calls,
    files, new_folder, open, open_on, overwrite, restore, state, state_after, workload,
};
use crate::{
    Error, Result,
    store::{
        io::{Disk, Io},
        lock::Lock,
        log::{
            format::{BLOCK, Op, PAGE, RecordHeader, SegmentHeader},
            manifest::{self, Manifest},
            segment,
            verify::{Found, Verify},
        },
        tools::{Event, RepairReport, repair::repair_on},
        unfinished::marker_path,
    },
};

/// A folder that holds the new one, with the list beside it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(new_folder())
    }

    fn target(&self) -> PathBuf {
        self.0.path().join("new")
    }

    fn losses(&self) -> PathBuf {
        self.0.path().join("new.losses.json")
    }
}

fn run(io: &dyn Io, source: &Path, place: &Place) -> Result<RepairReport> {
    repair_on(io, source, &place.target(), &mut |_| {})
}

/// Repairs a folder, which must stay as it is, and opens what was made.
fn repaired(source: &Path, context: &str) -> (StoredPoints, RepairReport, String) {
    let place = Place::new();
    let before = files(source);
    let disk = TestDisk::default();
    let report = run(&disk, source, &place).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(files(source), before, "{context}: the source is only read");
    let touches = |call: &Call| format!("{call:?}").contains(source.to_str().unwrap());
    assert!(!disk.calls().iter().any(touches), "{context}");
    let opened = open(&place.target()).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(opened.notes, [""; 0], "{context}");
    let found = state(&opened);
    assert_eq!(found.len() as u64, report.points, "{context}");
    let losses = fs_err::read_to_string(place.losses()).unwrap();
    (found, report, losses)
}

/// A record as it was written.
struct Written {
    header: RecordHeader,
    file: PathBuf,
    /// Where its header, vector and payload are.
    parts: [Range<usize>; 3],
}

/// What a sound folder holds.
struct Truth {
    files: Files,
    live: StoredPoints,
    /// What was ever stored under an id.
    stored: BTreeMap<[u8; 16], Vec<Point>>,
    records: Vec<Written>,
}

impl Truth {
    fn of(folder: &Path) -> Truth {
        let files = files(folder);
        let live = state(&open(copy(folder).path()).unwrap());
        let (mut records, mut stored) = (Vec::new(), BTreeMap::<_, Vec<Point>>::new());
        for (path, bytes) in &files {
            if segment::number(path).is_none() {
                continue;
            }
            let header = SegmentHeader::decode(bytes.first_chunk().unwrap()).unwrap();
            let verify = Verify {
                header: &header,
                bytes,
                sealed: false,
                entry: None,
            };
            verify
                .run(&mut |found| {
                    let Found::Record(record, offset) = found else {
                        panic!("a flaw in a sound folder");
                    };
                    let range = |from: u64, length: usize| from as usize..from as usize + length;
                    let vector_bytes = if record.op == Op::Insert { 12 } else { 0 };
                    let vector = range(record.vector_offset, vector_bytes);
                    let payload = range(record.payload_offset, record.payload_length as usize);
                    if record.op == Op::Insert {
                        let values: &[u8] = &bytes[vector.clone()];
                        let values = values
                            .chunks(4)
                            .map(|value| u32::from_le_bytes(value.try_into().unwrap()));
                        let content = bytes[payload.clone()].to_vec();
                        let point = (values.collect(), record.content_type, content);
                        stored.entry(record.id).or_default().push(point);
                    }
                    records.push(Written {
                        header: record.clone(),
                        file: path.clone(),
                        parts: [range(offset, BLOCK), vector, payload],
                    });
                })
                .unwrap();
        }
        Truth {
            files,
            live,
            stored,
            records,
        }
    }

    /// Whether all bytes of a record are where they were.
    fn is_intact(&self, record: &Written, now: &Files) -> bool {
        let (before, now) = (&self.files[&record.file], now.get(&record.file));
        now.is_some_and(|now| {
            let same = |part: &Range<usize>| now.get(part.clone()) == Some(&before[part.clone()]);
            record.parts.iter().all(same)
        })
    }

    /// Repairs the damaged folder and compares.
    fn check(&self, folder: &Path, context: &str) -> RepairReport {
        let (found, report, _) = repaired(folder, context);
        self.compare(&files(folder), &found, &report, context);
        report
    }

    fn compare(&self, now: &Files, found: &StoredPoints, report: &RepairReport, context: &str) {
        let intact: Vec<&Written> = self
            .records
            .iter()
            .filter(|record| self.is_intact(record, now))
            .collect();
        let deleted: HashSet<(u64, [u8; 16])> = intact
            .iter()
            .filter(|record| record.header.op == Op::Delete)
            .map(|record| (record.header.inserted, record.header.id))
            .collect();
        for record in &intact {
            let RecordHeader { id, sequence, .. } = record.header;
            let lives = record.header.op == Op::Insert && self.live.contains_key(&id);
            let is_deleted = self
                .records
                .iter()
                .any(|other| other.header.inserted == sequence);
            if lives && !is_deleted {
                assert_eq!(
                    found.get(&id),
                    Some(&self.live[&id]),
                    "{context}: {sequence}"
                );
            }
        }
        for (id, point) in found {
            assert!(self.stored[id].contains(point), "{context}: a wrong point");
            let mut inserts = self
                .records
                .iter()
                .filter(|record| (record.header.op, record.header.id) == (Op::Insert, *id));
            let may_live = inserts.any(|record| !deleted.contains(&(record.header.sequence, *id)));
            assert!(may_live, "{context}: a deleted point is back");
        }
        let back = found
            .keys()
            .filter(|id| !self.live.contains_key(*id))
            .count() as u64;
        assert!(back <= report.outdated, "{context}: {back} back");
        let lost = self
            .live
            .keys()
            .filter(|id| !found.contains_key(*id))
            .count() as u64;
        let is_told = lost <= report.lost_points + report.lost_records || report.is_end_lost;
        assert!(is_told, "{context}: {lost} lost, {report:?}");
        assert!(report.damages > 0 || (lost, back) == (0, 0), "{context}");
    }
}

/// Several segments, one of them compacted, with deletes in others than the inserts.
fn workload_folder() -> tempfile::TempDir {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let groups = workload();
    for (number, group) in groups.iter().enumerate() {
        commit(&mut opened.store, group).unwrap();
        if number == 12 {
            assert!(compact_all(&mut opened.store).unwrap() > 0);
        }
    }
    opened.store.close().unwrap();
    folder
}

#[test]
fn a_sound_folder_is_repaired_into_one_that_is_the_same() {
    for folder in [
        written(End::Closed),
        written(End::Killed),
        workload_folder(),
    ] {
        let truth = Truth::of(folder.path());
        let (found, report, losses) = repaired(folder.path(), "sound");
        assert_eq!(found, truth.live);
        let none = (
            report.damages,
            report.lost_points,
            report.lost_records,
            report.outdated,
        );
        assert_eq!((none, report.is_end_lost), ((0, 0, 0, 0), false));
        for part in [
            "\"lostPoints\": []",
            "\"lostSequences\": []",
            "\"damages\": []",
        ] {
            assert!(losses.contains(part), "{losses}");
        }
    }
}

#[test]
fn the_new_folder_goes_on_as_a_store_of_its_own() {
    let (folder, place) = (written(End::Closed), Place::new());
    overwrite(&log(folder.path(), 1), 4096 + 20, &[0xFF]);
    fs_err::write(folder.path().join("keys.json"), "secret").unwrap();
    run(&TestDisk::default(), folder.path(), &place).unwrap();
    let target = place.target();
    let names: Vec<String> = fs_err::read_dir(&target)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name.contains("json") || name.contains("restoring"))
    );
    let load = |folder: &Path| Manifest::load(&Disk, folder).unwrap().unwrap();
    let (old, new) = (load(folder.path()), load(&target));
    assert_ne!(old.store, new.store);
    let mut opened = open(&target).unwrap();
    let mut expected = state(&opened);
    let last = old.segments.last().unwrap().last_sequence;
    assert!(
        opened.last_sequence >= last,
        "no sequence is given out twice"
    );
    for round in 300..340 {
        let group = vec![Step::Insert(round, vec![7; 700]), Step::Delete(1)];
        commit(&mut opened.store, &group).unwrap();
        super::apply(&group, &mut expected);
    }
    compact_all(&mut opened.store).unwrap();
    opened.store.close().unwrap();
    assert_eq!(state(&open(&target).unwrap()), expected);
}

/// Flips bits of each file: one of each byte, all eight where a file begins, and one here and there
/// of long runs.
fn flip_bits(folder: &Path, mut check: impl FnMut(&str)) -> usize {
    let sound = files(folder);
    let mut cases = 0;
    for (path, bytes) in &sound {
        let used = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        for at in 0..(used + BLOCK).min(bytes.len()) {
            let around = &bytes[at.saturating_sub(8)..(at + 8).min(bytes.len())];
            let is_run = around.iter().all(|&byte| byte == bytes[at]);
            if is_run && !at.is_multiple_of(97) {
                continue;
            }
            let bits = if at < 100 { 0..8 } else { at % 8..at % 8 + 1 };
            for bit in bits {
                overwrite(path, at as u64, &[bytes[at] ^ 1 << bit]);
                check(&format!("{} byte {at} bit {bit}", path.display()));
                overwrite(path, at as u64, &[bytes[at]]);
                cases += 1;
            }
        }
    }
    cases
}

#[test]
fn whatever_bit_is_flipped_all_other_points_are_saved() {
    for end in [End::Closed, End::Killed] {
        let folder = written(end);
        let truth = Truth::of(folder.path());
        let unproven = truth.records.len() as u64 - 1;
        let mut losing = 0;
        let cases = flip_bits(folder.path(), |context| {
            let (found, report, _) = repaired(folder.path(), context);
            let now = files(folder.path());
            // A last group that nothing proves is a write that was not acknowledged.
            let is_torn = end == End::Killed
                && report.damages == 0
                && found == state_after(&groups()[..groups().len() - 1]);
            if is_torn {
                let last = truth.records.iter().rev().take(2);
                let is_last_intact = last.clone().all(|record| truth.is_intact(record, &now));
                let header_at = truth.records[unproven as usize - 1].parts[0].start - BLOCK;
                let file = &truth.records[unproven as usize - 1].file;
                let header = header_at..header_at + BLOCK;
                let is_header_flipped = now[file][header.clone()] != truth.files[file][header];
                assert!(!is_last_intact || is_header_flipped, "{context}");
                return;
            }
            truth.compare(&now, &found, &report, context);
            // One flip costs one record, and none where it is in a header of many.
            let lost = truth.live.len().saturating_sub(found.len());
            assert!(lost <= 1, "{context}: {lost} lost");
            losing += lost;
        });
        assert!(
            cases > 2_000 && losing > 50,
            "{cases} cases, {losing} losing"
        );
    }
}

#[test]
fn a_record_is_saved_without_the_headers_that_lead_to_it() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let insert = |number: u32| Step::Insert(number, vec![number as u8; 30]);
    let groups = [
        (0..40).map(insert).collect::<Vec<_>>(),
        vec![Step::Delete(3), insert(50)],
        vec![insert(51)],
    ];
    for group in &groups {
        commit(&mut opened.store, group).unwrap();
    }
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    let sound = files(folder.path());
    let path = log(folder.path(), 1);
    let second = truth.records[40].parts[0].start - BLOCK;
    // Headers of groups, the page of the segment, and both of a group and the page.
    let zeros = [0; PAGE];
    let cases: [&[(u64, usize)]; 5] = [
        &[(PAGE as u64, BLOCK)],
        &[(second as u64, BLOCK)],
        &[(PAGE as u64, BLOCK), (second as u64, BLOCK)],
        &[(0, PAGE)],
        &[(0, 48), (64, 4032)],
    ];
    for case in cases {
        for &(at, length) in case {
            overwrite(&path, at, &zeros[..length]);
        }
        let context = format!("{case:?}");
        let report = truth.check(folder.path(), &context);
        assert_eq!(report.points, truth.live.len() as u64, "{context}");
        restore(folder.path(), &sound);
    }
}

#[test]
fn a_record_without_its_group_is_saved_only_where_its_checksum_matches() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let insert = |number: u32| Step::Insert(number, vec![number as u8; 30]);
    commit(&mut opened.store, &[1, 2, 3].map(insert)).unwrap();
    commit(&mut opened.store, &[Step::Delete(2), insert(4)]).unwrap();
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    let sound = files(folder.path());
    let path = log(folder.path(), 1);
    for group in [&truth.records[..3], &truth.records[3..5]] {
        let group_header = group[0].parts[0].start - BLOCK;
        for record in group {
            for at in record.parts.iter().cloned().flatten() {
                overwrite(&path, group_header as u64, &[0; BLOCK]);
                overwrite(&path, at as u64, &[sound[&path][at] ^ 1 << (at % 8)]);
                let report = truth.check(folder.path(), &format!("byte {at}"));
                assert_eq!(report.lost_records + report.lost_points, 1, "byte {at}");
                restore(folder.path(), &sound);
            }
        }
    }
}

#[test]
fn each_file_may_be_missing_emptied_cut_or_full_of_zeros() {
    for folder in [written(End::Closed), workload_folder()] {
        let truth = Truth::of(folder.path());
        let segments = || {
            truth
                .files
                .keys()
                .filter(|path| segment::number(path).is_some())
        };
        assert!(segments().count() >= 2);
        for path in segments() {
            let bytes = &truth.files[path];
            for kept in [
                None,
                Some(0),
                Some(100),
                Some(PAGE),
                Some(PAGE + 700),
                Some(bytes.len() - 9),
            ] {
                match kept {
                    None => fs_err::remove_file(path).unwrap(),
                    Some(kept) => fs_err::write(path, &bytes[..kept]).unwrap(),
                }
                let context = format!("{} cut to {kept:?}", path.display());
                truth.check(folder.path(), &context);
                restore(folder.path(), &truth.files);
            }
            fs_err::write(path, vec![0; bytes.len()]).unwrap();
            truth.check(folder.path(), &format!("{} zeros", path.display()));
            restore(folder.path(), &truth.files);
        }
    }
}

#[test]
fn a_manifest_that_is_missing_emptied_or_damaged_costs_no_point() {
    for folder in [written(End::Closed), workload_folder()] {
        let truth = Truth::of(folder.path());
        let path = manifest::path(folder.path());
        for content in [None, Some(&b""[..]), Some(b"VECDMANI"), Some(&[7; 200])] {
            match content {
                None => fs_err::remove_file(&path).unwrap(),
                Some(content) => fs_err::write(&path, content).unwrap(),
            }
            let context = format!("manifest {content:?}");
            let report = truth.check(folder.path(), &context);
            assert_eq!(report.points, truth.live.len() as u64, "{context}");
            assert!(
                report.is_end_lost,
                "{context}: nothing says where the log ends"
            );
            assert_eq!(report.outdated, report.points, "{context}");
            restore(folder.path(), &truth.files);
        }
    }
}

#[test]
fn an_older_manifest_costs_no_point() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let path = manifest::path(folder.path());
    let mut manifests = Vec::new();
    for group in workload() {
        commit(&mut opened.store, &group).unwrap();
        opened.store.note_end().unwrap();
        manifests.push(fs_err::read(&path).unwrap());
    }
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    for (number, manifest) in manifests.iter().enumerate() {
        fs_err::write(&path, manifest).unwrap();
        let report = truth_with_manifest(&truth, folder.path(), &format!("manifest {number}"));
        assert_eq!(report.points, truth.live.len() as u64, "manifest {number}");
    }
}

/// As [`Truth::check`], for a folder in which no file but the manifest is another.
fn truth_with_manifest(truth: &Truth, folder: &Path, context: &str) -> RepairReport {
    let (found, report, _) = repaired(folder, context);
    assert_eq!(found, truth.live, "{context}");
    report
}

#[test]
fn segments_that_were_swapped_or_copied_over_each_other_are_read_for_what_they_are() {
    let folder = workload_folder();
    let truth = Truth::of(folder.path());
    let paths: Vec<&PathBuf> = truth
        .files
        .keys()
        .filter(|path| segment::number(path).is_some())
        .collect();
    let (first, second) = (paths[0], paths[1]);
    fs_err::write(first, &truth.files[second]).unwrap();
    fs_err::write(second, &truth.files[first]).unwrap();
    let (found, report, _) = repaired(folder.path(), "swapped");
    assert_eq!((found, report.lost_records), (truth.live.clone(), 0));
    // The second copy, too, where the first is damaged.
    restore(folder.path(), &truth.files);
    fs_err::write(folder.path().join("00000900.log"), &truth.files[first]).unwrap();
    overwrite(first, PAGE as u64 + 64 + 3, &[0xFF; 9]);
    let (found, report, _) = repaired(folder.path(), "a second copy");
    assert_eq!((found, report.lost_records), (truth.live.clone(), 0));
    assert!(report.damages > 0);
}

#[test]
fn a_segment_of_another_store_or_of_a_copy_that_went_on_is_not_read() {
    let insert = |number: u32| vec![Step::Insert(number, vec![number as u8; 40])];
    let first = new_folder();
    let mut opened = open(first.path()).unwrap();
    commit(&mut opened.store, &insert(1)).unwrap();
    opened.store.close().unwrap();
    let fork = copy(first.path());
    for (folder, numbers) in [(&first, 2..40), (&fork, 40..80)] {
        let mut opened = open(folder.path()).unwrap();
        for number in numbers {
            commit(&mut opened.store, &insert(number)).unwrap();
        }
        opened.store.close().unwrap();
    }
    let stranger = written(End::Closed);
    let truth = Truth::of(first.path());
    for other in [&fork, &stranger] {
        fs_err::copy(log(other.path(), 1), log(first.path(), 1)).unwrap();
        let (found, report, _) = repaired(first.path(), "another's segment");
        // Not what both have in common either: nothing tells it apart.
        assert!(
            found
                .iter()
                .all(|(id, point)| truth.live.get(id) == Some(point))
        );
        assert!(!found.is_empty() && found.len() < truth.live.len());
        assert!(report.damages > 0 && report.lost_records > 0, "{report:?}");
        restore(first.path(), &truth.files);
    }
    // Without a manifest the store is the one that most segments are of.
    fs_err::remove_file(manifest::path(first.path())).unwrap();
    fs_err::copy(log(stranger.path(), 1), log(first.path(), 900)).unwrap();
    assert_eq!(
        truth.check(first.path(), "a stranger").points,
        truth.live.len() as u64
    );
    for path in files(first.path())
        .keys()
        .filter(|path| !path.ends_with("00000900.log"))
    {
        if !path.ends_with("00000001.log") {
            fs_err::remove_file(path).unwrap();
        }
    }
    let refused = run(&TestDisk::default(), first.path(), &Place::new());
    assert!(refused.unwrap_err().to_string().contains("several stores"));
}

#[test]
fn what_compaction_left_out_stays_deleted_where_the_old_segments_are_there_too() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    for group in workload() {
        commit(&mut opened.store, &group).unwrap();
    }
    opened.store.note_end().unwrap();
    let before = files(folder.path());
    assert!(compact_all(&mut opened.store).unwrap() > 0);
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    for (path, bytes) in &before {
        if !path.exists() {
            fs_err::write(path, bytes).unwrap();
        }
    }
    assert_eq!(repaired(folder.path(), "with rests").0, truth.live);
    fs_err::remove_file(manifest::path(folder.path())).unwrap();
    // The deletes that compaction dropped are in no file that a repair may rely on.
    assert_eq!(repaired(folder.path(), "without a manifest").0, truth.live);
}

#[test]
fn what_compaction_left_out_stays_deleted_where_no_delete_of_it_is_left() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let mut segments: Vec<(u32, Vec<u32>)> = Vec::new();
    for number in 0..100 {
        let group = [Step::Insert(number, vec![1; 300])];
        let segment = commit(&mut opened.store, &group).unwrap()[0].segment;
        match segments.last_mut() {
            Some((last, numbers)) if *last == segment => numbers.push(number),
            _ => segments.push((segment, vec![number])),
        }
    }
    // Both ends of each segment stay: what compaction makes of it tells all that lay between.
    for (_, numbers) in &segments {
        for &number in &numbers[1..numbers.len() - 1] {
            commit(&mut opened.store, &[Step::Delete(number)]).unwrap();
        }
    }
    opened.store.note_end().unwrap();
    let before = files(folder.path());
    assert!(compact_all(&mut opened.store).unwrap() > 0);
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    fs_err::remove_file(manifest::path(folder.path())).unwrap();
    let mut rests = 0;
    for (segment, _) in &segments {
        let path = log(folder.path(), *segment);
        if !path.exists() {
            fs_err::write(&path, &before[&path]).unwrap();
            let context = path.display().to_string();
            assert_eq!(repaired(folder.path(), &context).0, truth.live, "{context}");
            fs_err::remove_file(&path).unwrap();
            rests += 1;
        }
    }
    assert!(rests > 3, "{rests} of {} segments", segments.len());
}

#[test]
fn points_before_a_lost_range_are_saved_and_counted_as_possibly_outdated() {
    let folder = written(End::Closed);
    let truth = Truth::of(folder.path());
    // The delete of the second point, which is the first record of the second group.
    let delete = &truth.records[2];
    assert_eq!((delete.header.op, delete.header.sequence), (Op::Delete, 3));
    overwrite(&delete.file, delete.parts[0].start as u64 + 9, &[0x55; 3]);
    let (found, report, losses) = repaired(folder.path(), "a lost delete");
    assert!(
        found.contains_key(&super::id(2)),
        "nothing says that it was deleted"
    );
    assert_eq!(
        (report.outdated, report.lost_records, report.lost_points),
        (2, 1, 0)
    );
    assert!(losses.contains(r#"{"from": 3, "to": 3}"#), "{losses}");
    let newest = r#""possiblyOutdated": {"count": 2, "below": 3, "newest": "02000000-a5a5-"#;
    assert!(losses.contains(newest), "{losses}");
}

#[test]
fn a_point_of_which_the_content_is_lost_is_named_by_its_id() {
    let folder = written(End::Closed);
    let truth = Truth::of(folder.path());
    let record = &truth.records[0];
    overwrite(&record.file, record.parts[2].start as u64 + 3, &[0x55]);
    let (_, report, losses) = repaired(folder.path(), "a lost content");
    assert_eq!(
        (report.lost_points, report.lost_records, report.outdated),
        (1, 0, 0)
    );
    let named = r#"{"id": "01000000-a5a5-a5a5-a5a5-a5a5a5a5a5a5", "sequence": 1, "#;
    assert!(losses.contains(named), "{losses}");
    // Not where it was deleted anyway.
    restore(folder.path(), &truth.files);
    overwrite(
        &truth.records[1].file,
        truth.records[1].parts[1].start as u64,
        &[0x55],
    );
    let (_, report, _) = repaired(folder.path(), "a lost dead vector");
    assert_eq!(
        (report.damages, report.lost_points, report.lost_records),
        (1, 0, 0)
    );
}

#[test]
fn an_older_record_of_an_id_does_not_come_back_where_the_newer_is_lost() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let groups = [
        vec![Step::Insert(1, vec![1; 20])],
        vec![Step::Delete(1)],
        vec![Step::Insert(1, vec![2; 20])],
        vec![Step::Insert(2, vec![3; 20])],
    ];
    for group in &groups {
        commit(&mut opened.store, group).unwrap();
    }
    opened.store.close().unwrap();
    let truth = Truth::of(folder.path());
    let damage = |record: usize, part: usize| {
        let record = &truth.records[record];
        overwrite(
            &record.file,
            record.parts[part].start as u64 + 9,
            &[0x55; 2],
        );
    };
    // The delete is lost: the newer record proves it.
    damage(1, 0);
    assert_eq!(repaired(folder.path(), "the delete").0, truth.live);
    // The content of the newer one, too.
    damage(2, 2);
    let (found, report, _) = repaired(folder.path(), "the delete and the newer");
    assert_eq!((found.len(), report.lost_points), (1, 1));
}

#[test]
fn a_folder_that_a_crash_left_is_repaired_into_what_a_start_finds() {
    let folder = new_folder();
    let run_of = crash::run(folder.path());
    let mut compared = 0;
    for (cut, loss) in cases(0..=run_of.calls.len()).into_iter().step_by(3) {
        let left = after_power_cut(&Files::new(), &run_of.calls[..cut], loss);
        restore(folder.path(), &left);
        let opened = copy(folder.path());
        let opened = open(opened.path()).unwrap();
        let (expected, last) = (state(&opened), opened.last_sequence);
        if last == 0
            || !left
                .keys()
                .any(|path| path == &manifest::path(folder.path()))
        {
            continue;
        }
        let context = format!("cut {cut}, {loss:?}");
        let (found, report, _) = repaired(folder.path(), &context);
        assert_eq!((found, report.damages), (expected, 0), "{context}");
        compared += 1;
    }
    assert!(compared > 100, "{compared} compared");
}

#[test]
fn a_folder_that_cannot_be_repaired_is_refused_and_nothing_is_made() {
    let (source, place) = (written(End::Closed), Place::new());
    let refuse = |source: &Path, place: &Place| {
        let refused = run(&TestDisk::default(), source, place).unwrap_err();
        assert!(!manifest::path(&place.target()).exists());
        assert!(!place.losses().exists());
        refused
    };
    let empty = new_folder();
    let nothing = refuse(empty.path(), &Place::new());
    assert!(
        nothing.to_string().contains("nothing to repair"),
        "{nothing}"
    );
    assert!(matches!(nothing, Error::InvalidArgument(_)));
    let missing = refuse(&empty.path().join("missing"), &Place::new());
    assert!(matches!(missing, Error::Io(_)), "{missing}");

    let inside = repair_on(
        &Disk,
        source.path(),
        &source.path().join("new"),
        &mut |_| {},
    );
    assert!(
        inside
            .unwrap_err()
            .to_string()
            .contains("which is to be repaired")
    );

    let held = Lock::acquire(source.path()).unwrap();
    assert!(matches!(
        refuse(source.path(), &place),
        Error::Locked { .. }
    ));
    assert!(!place.target().exists());
    drop(held);

    for name in ["keys.json", "00000001.log"] {
        let used = Place::new();
        fs_err::create_dir(used.target()).unwrap();
        fs_err::write(used.target().join(name), "mine").unwrap();
        let text = refuse(source.path(), &used).to_string();
        assert!(
            text.contains("is not empty") && text.contains(name),
            "{text}"
        );
    }
    let listed = Place::new();
    fs_err::write(listed.losses(), "mine").unwrap();
    let refused = run(&TestDisk::default(), source.path(), &listed).unwrap_err();
    assert!(refused.to_string().contains("exists already"), "{refused}");
    assert_eq!(fs_err::read(listed.losses()).unwrap(), b"mine");

    fs_err::rename(manifest::path(source.path()), marker_path(source.path())).unwrap();
    let unfinished = refuse(source.path(), &Place::new()).to_string();
    assert!(unfinished.contains("not finished"), "{unfinished}");
}

#[test]
fn segments_that_are_all_lost_or_newer_are_damage_or_refused() {
    let source = written(End::Closed);
    let sound = files(source.path());
    for number in [1, 2] {
        fs_err::write(log(source.path(), number), "").unwrap();
    }
    let refused = run(&TestDisk::default(), source.path(), &Place::new());
    assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
    restore(source.path(), &sound);
    make_newer(&log(source.path(), 1));
    let refused = run(&TestDisk::default(), source.path(), &Place::new()).unwrap_err();
    assert!(refused.to_string().contains("format version"), "{refused}");
}

#[test]
fn progress_is_told_and_never_beyond_its_end() {
    let (source, place) = (workload_folder(), Place::new());
    let mut told = 0;
    repair_on(&Disk, source.path(), &place.target(), &mut |event| {
        if let Event::Progress { done, total } = event {
            assert!(done <= total && total > 0, "{done} of {total}");
            told += 1;
        }
    })
    .unwrap();
    assert!(told >= 5, "{told}");
}

/// Opens the folder that an interrupted repair left, if a store opens it, or repairs again.
fn check_left(source: &Path, place: &Place, expected: &StoredPoints, context: &str) {
    let target = place.target();
    if manifest::path(&target).exists() {
        assert!(
            place.losses().exists(),
            "{context}: nothing says what was lost"
        );
        assert_eq!(state(&open(&target).unwrap()), *expected, "{context}");
        return;
    }
    if marker_path(&target).exists() {
        let refused = open(&target).map(drop).unwrap_err().to_string();
        assert!(refused.contains("a repair into"), "{context}: {refused}");
    } else {
        assert!(!place.losses().exists(), "{context}");
    }
    run(&TestDisk::default(), source, place).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(state(&open(&target).unwrap()), *expected, "{context}");
}

fn damaged() -> (tempfile::TempDir, StoredPoints) {
    let source = written(End::Closed);
    overwrite(&log(source.path(), 1), PAGE as u64 + 20, &[0xFF; 9]);
    let (expected, ..) = repaired(source.path(), "damaged");
    (source, expected)
}

#[test]
fn after_a_power_cut_at_any_call_a_repair_can_be_run_again_and_nothing_opens_with_less() {
    let (source, expected) = damaged();
    let place = Place::new();
    let disk = TestDisk::default();
    run(&disk, source.path(), &place).unwrap();
    let calls = disk.calls();
    let target = place.target();
    assert!(calls.len() > 20, "{} calls", calls.len());
    for (cut, loss) in cases(0..=calls.len()) {
        let left = after_power_cut(&Files::new(), &calls[..cut], loss);
        let (in_target, beside): (Files, Files) = left
            .into_iter()
            .partition(|(path, _)| path.starts_with(&target));
        restore(&target, &in_target);
        drop(fs_err::remove_file(place.losses()));
        for (path, bytes) in beside {
            fs_err::write(path, bytes).unwrap();
        }
        check_left(
            source.path(),
            &place,
            &expected,
            &format!("cut {cut}, {loss:?}"),
        );
    }
}

#[test]
fn a_failed_call_is_told_or_costs_only_what_is_listed_and_a_second_run_completes() {
    let (source, expected) = damaged();
    for failing in failing_calls() {
        let place = Place::new();
        let disk = TestDisk::default();
        disk.fail_after(failing);
        let mut told = Vec::new();
        let done = repair_on(&disk, source.path(), &place.target(), &mut |event| {
            if let Event::Damage(damage) = event {
                told.push(damage.reason);
            }
        });
        let context = format!("call {failing}: {:?}", disk.failed());
        let is_named = told
            .iter()
            .any(|reason| reason.contains("lets this call fail"));
        match done {
            Ok(_) if !is_named => check_left(source.path(), &place, &expected, &context),
            Ok(report) => assert!(report.damages > 0, "{context}"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("lets this call fail"), "{context}: {text}");
                check_left(source.path(), &place, &expected, &context);
            }
        }
        if disk.fail_no_more() {
            assert!(failing > 50, "{failing} calls");
            return;
        }
    }
}

#[test]
fn a_full_disk_ends_a_repair_which_completes_once_there_is_room() {
    let (source, expected) = damaged();
    let mut refused = 0;
    for space in (0..20_000).step_by(700) {
        let place = Place::new();
        let disk = TestDisk::default();
        disk.set_space(Some(space));
        match run(&disk, source.path(), &place) {
            Err(Error::Io(_) | Error::StorageFull) => refused += 1,
            other => drop(other.unwrap()),
        }
        check_left(source.path(), &place, &expected, &format!("{space} bytes"));
    }
    assert!(refused > 5, "{refused} refused");
}

#[test]
fn the_files_of_the_source_keep_their_times_and_it_may_be_open_for_reading() {
    let (source, place) = (written(End::Killed), Place::new());
    drop(open_on(Arc::new(Disk), source.path()).unwrap());
    overwrite(&log(source.path(), 1), PAGE as u64 + 20, &[0xFF; 9]);
    let stats = || -> BTreeMap<_, _> {
        let entries = fs_err::read_dir(source.path()).unwrap();
        entries
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let data = entry.metadata().unwrap();
                (entry.path(), (data.modified().unwrap(), data.len()))
            })
            .collect()
    };
    let before = stats();
    let folder_before = fs_err::metadata(source.path()).unwrap().modified().unwrap();
    let _shared = Lock::share(source.path()).unwrap();
    run(&Disk, source.path(), &place).unwrap();
    assert_eq!(stats(), before);
    let folder_after = fs_err::metadata(source.path()).unwrap().modified().unwrap();
    assert_eq!(folder_after, folder_before);
}

/// One thing that happens to a folder.
#[derive(Clone, Debug)]
enum Harm {
    Flip(usize, usize),
    Zeros(usize, usize, usize),
    Cut(usize, usize),
    Remove(usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let (file, at) = (0..100_usize, any::<usize>());
    prop_oneof![
        6 => (file.clone(), at).prop_map(|(file, at)| Harm::Flip(file, at)),
        3 => (file.clone(), at, 1..600_usize)
            .prop_map(|(file, at, length)| Harm::Zeros(file, at, length)),
        1 => (file.clone(), at).prop_map(|(file, at)| Harm::Cut(file, at)),
        1 => file.prop_map(Harm::Remove),
    ]
}

impl Harm {
    fn happen(&self, files: &mut Files) {
        let (Harm::Flip(file, _) | Harm::Zeros(file, ..) | Harm::Cut(file, _) | Harm::Remove(file)) =
            *self;
        let paths: Vec<PathBuf> = files.keys().cloned().collect();
        let Some(path) = paths.get(file % paths.len().max(1)) else {
            return;
        };
        let bytes = files.get_mut(path).unwrap();
        let used = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        let used = used.max(1).min(bytes.len());
        if used == 0 {
            return;
        }
        match *self {
            Harm::Flip(_, at) => bytes[at / 8 % used] ^= 1 << (at % 8),
            Harm::Zeros(_, at, length) => {
                let at = at % used;
                let end = (at + length).min(used);
                bytes[at..end].fill(0);
            }
            Harm::Cut(_, at) => bytes.truncate(at % used),
            Harm::Remove(_) => drop(files.remove(path)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_to_several_places_nothing_is_wrong_and_all_that_is_sound_is_saved(
        harms in proptest::collection::vec(harm(), 1..6),
        is_workload in any::<bool>(),
    ) {
        let folder = if is_workload { workload_folder() } else { written(End::Closed) };
        let truth = Truth::of(folder.path());
        let mut now = truth.files.clone();
        for harm in &harms {
            harm.happen(&mut now);
        }
        restore(folder.path(), &now);
        let place = Place::new();
        let context = format!("{harms:?}");
        match run(&TestDisk::default(), folder.path(), &place) {
            Ok(report) => {
                let found = state(&open(&place.target()).unwrap());
                // A page and the header of the first group that are both lost take the segment along.
                let readable: Files = now
                    .iter()
                    .filter(|(path, bytes)| has_headers(&truth.files[*path], bytes))
                    .map(|(path, bytes)| (path.clone(), bytes.clone()))
                    .collect();
                truth.compare(&readable, &found, &report, &context);
            }
            // A version that rots together with something else is that of a later vectord.
            Err(error) if error.to_string().contains("has format version") => {}
            Err(error) => {
                let is_lost = matches!(error, Error::Damaged { .. } | Error::InvalidArgument(_));
                prop_assert!(is_lost, "{context}: {error}");
                let mut logs = now.iter().filter(|(path, _)| segment::number(path).is_some());
                prop_assert!(
                    logs.all(|(path, bytes)| !has_headers(&truth.files[path], bytes)),
                    "{context}: {error}"
                );
            }
        }
    }
}

/// Whether the page of a segment is as it was.
fn has_headers(before: &[u8], now: &[u8]) -> bool {
    now.len() >= PAGE && before[..PAGE] == now[..PAGE]
}
