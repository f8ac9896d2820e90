//! A repair saves every point whose record is intact, brings back no point whose delete is intact,
//! and never writes to its source.

mod any_harm;
mod interrupted;
mod records;
mod whole_files;

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use proptest::prelude::*;

use super::{
    Point, Step, StoredPoints, apply, commit,
    compaction::compact_all,
    copy,
    crash::{self, cases},
    damage::{End, groups, log, make_newer, written},
    disk::{Call, Files, TestDisk, after_power_cut},
    failing::failing_calls,
    files, id, new_folder, open, open_on, overwrite, restore, state, state_after, workload,
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
            usage::Tombstone,
            verify::{Found, Verify},
        },
        tools::{Event, RepairReport, repair::repair_on},
        unfinished::marker_path,
    },
};

/// A folder for the repaired folder, and the list of losses beside it.
struct Output(tempfile::TempDir);

impl Output {
    fn new() -> Output {
        Output(new_folder())
    }

    fn target(&self) -> PathBuf {
        self.0.path().join("new")
    }

    fn losses(&self) -> PathBuf {
        self.0.path().join("new.losses.json")
    }
}

fn run(io: &dyn Io, source: &Path, output: &Output) -> Result<RepairReport> {
    repair_on(io, source, &output.target(), &mut |_| {})
}

/// Repairs a folder, which must not change, and opens the result.
fn repaired(source: &Path, context: &str) -> (StoredPoints, RepairReport, String) {
    let output = Output::new();
    let before = files(source);
    let disk = TestDisk::default();
    let report = run(&disk, source, &output).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(files(source), before, "{context}: the source is only read");
    let touches = |call: &Call| format!("{call:?}").contains(source.to_str().unwrap());
    assert!(!disk.calls().iter().any(touches), "{context}");
    let opened = open(&output.target()).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(opened.notes, [""; 0], "{context}");
    let found = state(&opened);
    assert_eq!(found.len() as u64, report.points, "{context}");
    let losses = fs_err::read_to_string(output.losses()).unwrap();
    (found, report, losses)
}

/// A record as it was written.
struct Written {
    header: RecordHeader,
    file: PathBuf,
    /// The places of its header, vector and payload.
    parts: [Range<usize>; 3],
}

/// The contents of a sound folder.
struct Truth {
    files: Files,
    live: StoredPoints,
    /// All points that were ever stored, by id.
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
                    let payload = range(record.payload_offset, record.payload_length() as usize);
                    if record.op == Op::Insert {
                        let values: &[u8] = &bytes[vector.clone()];
                        let values = values
                            .chunks(4)
                            .map(|value| u32::from_le_bytes(value.try_into().unwrap()));
                        let (content, metadata) =
                            bytes[payload.clone()].split_at(record.content_length as usize);
                        let point = (
                            values.collect(),
                            record.content_type,
                            content.to_vec(),
                            metadata.to_vec(),
                        );
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

    /// Whether all bytes of a record are unchanged and in their place.
    fn is_intact(&self, record: &Written, now: &Files) -> bool {
        let (before, now) = (&self.files[&record.file], now.get(&record.file));
        now.is_some_and(|now| {
            let same = |part: &Range<usize>| now.get(part.clone()) == Some(&before[part.clone()]);
            record.parts.iter().all(same)
        })
    }

    /// Repairs the damaged folder and compares the result.
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
        let undoes = |record: &Written, sequence: u64| {
            let undone = Tombstone::of(&record.header);
            undone.is_some_and(|undone| (undone.first..=undone.last).contains(&sequence))
        };
        for record in &intact {
            let RecordHeader { id, sequence, .. } = record.header;
            let lives = record.header.op == Op::Insert && self.live.contains_key(&id);
            let is_deleted = self.records.iter().any(|other| undoes(other, sequence));
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
            let may_live = inserts.any(|insert| {
                let sequence = insert.header.sequence;
                !intact.iter().any(|record| undoes(record, sequence))
            });
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

/// Several segments, one of them compacted, with the deletes in other segments than the inserts.
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
    let (folder, output) = (written(End::Closed), Output::new());
    overwrite(&log(folder.path(), 1), 4096 + 20, &[0xFF]);
    fs_err::write(folder.path().join("keys.json"), "secret").unwrap();
    run(&TestDisk::default(), folder.path(), &output).unwrap();
    let target = output.target();
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
        apply(&group, &mut expected);
    }
    compact_all(&mut opened.store).unwrap();
    opened.store.close().unwrap();
    assert_eq!(state(&open(&target).unwrap()), expected);
}

#[test]
fn a_folder_that_cannot_be_repaired_is_refused_and_nothing_is_made() {
    let (source, output) = (written(End::Closed), Output::new());
    let refuse = |source: &Path, output: &Output| {
        let refused = run(&TestDisk::default(), source, output).unwrap_err();
        assert!(!manifest::path(&output.target()).exists());
        assert!(!output.losses().exists());
        refused
    };
    let empty = new_folder();
    let nothing = refuse(empty.path(), &Output::new());
    assert!(
        nothing.to_string().contains("nothing to repair"),
        "{nothing}"
    );
    assert!(matches!(nothing, Error::InvalidArgument(_)));
    let missing = refuse(&empty.path().join("missing"), &Output::new());
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
        refuse(source.path(), &output),
        Error::Locked { .. }
    ));
    assert!(!output.target().exists());
    drop(held);

    for name in ["keys.json", "00000001.log"] {
        let used = Output::new();
        fs_err::create_dir(used.target()).unwrap();
        fs_err::write(used.target().join(name), "mine").unwrap();
        let text = refuse(source.path(), &used).to_string();
        assert!(
            text.contains("is not empty") && text.contains(name),
            "{text}"
        );
    }
    let listed = Output::new();
    fs_err::write(listed.losses(), "mine").unwrap();
    let refused = run(&TestDisk::default(), source.path(), &listed).unwrap_err();
    assert!(refused.to_string().contains("exists already"), "{refused}");
    assert_eq!(fs_err::read(listed.losses()).unwrap(), b"mine");

    fs_err::rename(manifest::path(source.path()), marker_path(source.path())).unwrap();
    let unfinished = refuse(source.path(), &Output::new()).to_string();
    assert!(unfinished.contains("not finished"), "{unfinished}");
}

#[test]
fn progress_is_told_and_never_beyond_its_end() {
    let (source, output) = (workload_folder(), Output::new());
    let mut told = 0;
    repair_on(&Disk, source.path(), &output.target(), &mut |event| {
        if let Event::Progress { done, total } = event {
            assert!(done <= total && total > 0, "{done} of {total}");
            told += 1;
        }
    })
    .unwrap();
    assert!(told >= 5, "{told}");
}

#[test]
fn the_files_of_the_source_keep_their_times_and_it_may_be_open_for_reading() {
    let (source, output) = (written(End::Killed), Output::new());
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
    run(&Disk, source.path(), &output).unwrap();
    assert_eq!(stats(), before);
    let folder_after = fs_err::metadata(source.path()).unwrap().modified().unwrap();
    assert_eq!(folder_after, folder_before);
}
