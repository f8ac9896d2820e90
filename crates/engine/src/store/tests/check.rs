//! A check names every damaged place of a folder, and nothing else.

use std::{
    io::{ErrorKind, Write as _},
    path::Path,
};

use super::{
    Step,
    busy::{BusyDisk, Made},
    commit, copy,
    damage::{End, cut_file, groups, log, make_newer, written},
    disk::TestDisk,
    files, new_folder, open, overwrite, restore, state, state_after,
};
use crate::{
    Error, Result,
    store::{
        HeaderPlace, Location,
        io::{Disk, Io},
        log::{
            format::{BLOCK, GroupHeader, PAGE, SegmentHeader},
            manifest,
        },
        tools::{Damage, Event, Report, backup::backup_on, check::check_on},
    },
};

/// The result of a check of a folder.
pub struct Told {
    report: Report,
    pub damages: Vec<Damage>,
    notes: Vec<String>,
}

pub fn check(folder: &Path) -> Result<Told> {
    check_with(&TestDisk::default(), folder)
}

fn check_with(io: &dyn Io, folder: &Path) -> Result<Told> {
    let before = files(folder);
    let (mut damages, mut notes) = (Vec::new(), Vec::new());
    let checked = check_on(io, folder, &mut |event| match event {
        Event::Damage(damage) => damages.push(damage),
        Event::Note(note) => notes.push(note),
        Event::Progress { done, total } => assert!(done <= total),
    });
    assert_eq!(files(folder), before, "a check changes nothing");
    let report = checked?.report;
    assert_eq!(report.damages, damages.len() as u64);
    Ok(Told {
        report,
        damages,
        notes,
    })
}

/// File, offset and sequence of each damage.
fn places(told: &Told) -> Vec<(&str, u64, Option<u64>)> {
    let damages = told.damages.iter();
    damages
        .map(|damage| {
            let name = damage.path.file_name().unwrap().to_str().unwrap();
            (name, damage.offset, damage.sequence)
        })
        .collect()
}

#[test]
fn a_sound_folder_is_summed_up() {
    for end in [End::Closed, End::Proven, End::Killed] {
        let folder = written(end);
        let told = check(folder.path()).unwrap();
        assert_eq!((told.damages, told.notes), (vec![], vec![]), "{end:?}");
        let noops = u64::from(end != End::Killed);
        let groups = groups();
        let records = groups.iter().map(Vec::len).sum::<usize>() as u64 + noops;
        let points = state_after(&groups).len() as u64;
        let report = told.report;
        assert_eq!((report.segments, report.records), (2, records), "{end:?}");
        assert_eq!(report.points, points, "{end:?}");
        assert!((8192..16384).contains(&report.bytes), "{}", report.bytes);
    }
}

#[test]
fn a_folder_without_points_is_sound() {
    let folder = new_folder();
    drop(open(folder.path()).unwrap());
    let told = check(folder.path()).unwrap();
    assert_eq!(told.report, Report::default());
    assert!(
        told.notes[0].contains("nothing is stored"),
        "{:?}",
        told.notes
    );
}

/// Whether a store opens the folder and serves every point that was stored.
fn serves_all(folder: &Path) -> bool {
    let Ok(opened) = open(folder) else {
        return false;
    };
    let segments = opened.store.segments();
    let mut points = opened.points.iter();
    points.all(|point| segments.read(point.location).is_ok())
}

#[test]
fn no_flipped_bit_that_costs_something_goes_unnoticed() {
    for end in [End::Closed, End::Proven, End::Killed] {
        let folder = written(end);
        let sound = files(folder.path());
        let mut noticed = 0;
        for (path, bytes) in &sound {
            let used = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
            for at in (0..used).step_by(3) {
                if at > 100
                    && bytes[at - 8..(at + 8).min(used)]
                        .iter()
                        .all(|&byte| byte == 0)
                {
                    continue;
                }
                overwrite(path, at as u64, &[bytes[at] ^ 1 << (at % 8)]);
                let context = format!("{end:?}: {} byte {at}", path.display());
                let told = check(folder.path());
                let quiet = told.is_ok_and(|told| told.damages.is_empty());
                noticed += usize::from(!quiet);
                assert!(serves_all(folder.path()) || !quiet, "{context}");
                restore(folder.path(), &sound);
            }
        }
        assert!(noticed > 500, "{end:?}: {noticed} noticed");
    }
}

/// Whether a folder can be opened, serves every live point, and has sound headers.
fn is_sound_to_a_start_and_a_scrub(folder: &Path) -> bool {
    if !serves_all(folder) {
        return false;
    }
    let segments = open(folder).unwrap().store.segments();
    let mut is_sound = true;
    let note = |_: &Error| is_sound = false;
    let end = segments.verify_headers(HeaderPlace::FIRST, u64::MAX, || false, note);
    assert_eq!(end, None);
    is_sound
}

#[test]
fn a_start_with_its_scrub_a_check_and_a_backup_agree_about_each_flipped_bit() {
    let folder = written(End::Closed);
    let sound = files(folder.path());
    let (mut refused, mut noted) = (0, 0);
    for (path, bytes) in &sound {
        let last = bytes.iter().rposition(|&byte| byte != 0);
        for at in 0..last.map_or(0, |last| last + 1) {
            let is_run = at >= 8 && bytes[at - 8..=at].iter().all(|&byte| byte == bytes[at]);
            if is_run && !at.is_multiple_of(61) {
                continue;
            }
            overwrite(path, at as u64, &[bytes[at] ^ 1 << (at % 8)]);
            let context = format!("{} byte {at}", path.display());
            let told = check(folder.path());
            let is_well = told.as_ref().is_ok_and(|told| told.damages.is_empty());
            noted += told.map_or(0, |told| told.notes.len());
            let target = new_folder();
            let made = backup_on(&Disk, folder.path(), target.path(), &mut |_| {});
            assert_eq!(made.is_ok(), is_well, "{context}: {made:?}");
            if is_well {
                assert!(serves_all(target.path()), "{context}: the backup");
            }
            let starts = is_sound_to_a_start_and_a_scrub(folder.path());
            assert_eq!(starts, is_well, "{context}");
            refused += usize::from(!is_well);
            restore(folder.path(), &sound);
        }
    }
    // Noted are the vectors of the deleted points, and the content of one of them.
    assert!(refused > 500 && noted > 20, "{refused} and {noted}");
}

#[test]
fn a_scrub_finds_each_header_that_is_damaged_while_its_folder_is_open() {
    let folder = written(End::Closed);
    let opened = open(folder.path()).unwrap();
    let segments = opened.store.segments();
    let mut flaws = 0;
    let mut scrub = || {
        let mut found = Vec::new();
        let note = |flaw: &Error| found.push(flaw.to_string());
        segments.verify_headers(HeaderPlace::FIRST, u64::MAX, || false, note);
        flaws += found.len();
        found
    };
    assert_eq!(scrub(), Vec::<String>::new());
    // The headers of both files, of their groups and of all records, deletes included.
    for number in [1, 2] {
        let path = log(folder.path(), number);
        let bytes = fs_err::read(&path).unwrap();
        let header = SegmentHeader::decode(bytes.first_chunk().unwrap()).unwrap();
        let mut headers: Vec<usize> = (0..PAGE).collect();
        let mut at = PAGE;
        while let Some(group) = GroupHeader::decode(&bytes[at..], header.salt, at as u64) {
            headers.extend(at..at + (group.record_count as usize + 1) * BLOCK);
            at += group.length as usize;
        }
        for at in headers.into_iter().step_by(3) {
            overwrite(&path, at as u64, &[bytes[at] ^ 1 << (at % 8)]);
            let found = scrub();
            assert_eq!(found.len(), 1, "{} byte {at}: {found:?}", path.display());
            overwrite(&path, at as u64, &[bytes[at]]);
        }
    }
    assert!(flaws > 3000, "{flaws}");
}

#[test]
fn what_is_left_of_a_deleted_point_is_damage_only_where_a_start_would_compare_it() {
    for (end, is_damage) in [(End::Closed, false), (End::Killed, true)] {
        let folder = written(end);
        // The content of point 6, in the segment that was active.
        let path = log(folder.path(), 2);
        let bytes = fs_err::read(&path).unwrap();
        let at = bytes.windows(40).position(|window| window == [6; 40]);
        overwrite(&path, at.unwrap() as u64, &[0xFF]);
        let told = check(folder.path()).unwrap();
        assert_eq!(told.damages.len(), usize::from(is_damage), "{end:?}");
        assert_eq!(told.notes.len(), usize::from(!is_damage), "{end:?}");
        assert_eq!(open(folder.path()).is_err(), is_damage, "{end:?}");
    }
}

/// Six segments, with the location of every record by its sequence, from 1.
fn located() -> (tempfile::TempDir, Vec<Location>) {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let mut locations = Vec::new();
    for number in 0..40 {
        let insert = |number| Step::Insert(number, vec![7; 100]);
        let group = [insert(2 * number), insert(2 * number + 1)];
        locations.extend(commit(&mut opened.store, &group).unwrap());
    }
    opened.store.close().unwrap();
    assert_eq!(locations.last().unwrap().segment, 6);
    (folder, locations)
}

impl Location {
    fn vector_offset(self) -> u64 {
        u64::from(self.vector) * BLOCK as u64
    }
}

#[test]
fn each_bad_record_and_each_lost_group_is_named_with_its_place() {
    let (folder, at) = located();
    let of = |sequence: usize| at[sequence - 1];
    let path = |sequence| log(folder.path(), of(sequence).segment);
    // A vector in the first segment, a payload, and a record's header.
    overwrite(&path(1), of(1).vector_offset() + 3, &[0xFF]);
    overwrite(&path(4), of(4).vector_offset() + 64 + 100, &[0xFF]);
    overwrite(&path(6), of(6).offset() + 20, &[0xFF]);
    // The header of a group in the second segment, and one in the last.
    assert_eq!(of(21).segment, 2);
    overwrite(&path(21), of(21).offset() - 64, &[0; 8]);
    assert_eq!(of(71).segment, 6);
    overwrite(&path(71), of(71).offset() - 64, &[0; 8]);
    let told = check(folder.path()).unwrap();
    let expected = [
        ("00000001.log", of(1).offset(), Some(1)),
        ("00000001.log", of(4).offset(), Some(4)),
        ("00000001.log", of(6).offset(), Some(6)),
        ("00000002.log", of(21).offset() - 64, Some(21)),
        ("00000002.log", of(23).offset() - 64, Some(21)),
        ("00000006.log", of(71).offset() - 64, Some(71)),
        ("00000006.log", of(73).offset() - 64, Some(71)),
    ];
    assert_eq!(places(&told), expected);
    assert!(
        told.damages[4].reason.contains("missing"),
        "{}",
        told.damages[4]
    );
    // All other records were read: 80 points and a no-op, less the 7 named ones.
    assert_eq!((told.report.records, told.report.points), (81 - 7, 80 - 7));
}

#[test]
fn a_last_group_that_is_lost_is_damage_where_something_proves_it() {
    let (folder, at) = located();
    let last = at[79];
    let path = log(folder.path(), last.segment);
    // The checksum of the group, which differs in each run.
    let sound = fs_err::read(&path).unwrap()[last.offset() as usize];
    overwrite(&path, last.offset(), &[!sound]);
    let told = check(folder.path()).unwrap();
    assert_eq!(places(&told), [("00000006.log", last.offset(), Some(80))]);
}

#[test]
fn a_torn_tail_is_a_note() {
    let folder = written(End::Killed);
    let sound = check(folder.path()).unwrap().report;
    let path = log(folder.path(), 2);
    let bytes = fs_err::read(&path).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap() as u64;
    overwrite(&path, end, &[0xFF]);
    let told = check(folder.path()).unwrap();
    assert_eq!(told.damages, []);
    assert!(told.notes[0].contains("a torn tail of"), "{:?}", told.notes);
    assert!(told.report.records < sound.records);
}

#[test]
fn a_snapshot_that_is_damaged_or_cannot_be_read_is_a_note() {
    let folder = written(End::Closed);
    let store = open(folder.path()).unwrap().store;
    let (sequence, snapshots) = (store.last_sequence(), store.snapshots());
    let content = vec![7; 3000];
    snapshots
        .write(sequence, |out| out.write_all(&content))
        .unwrap();
    drop((store, snapshots));
    let path = folder.path().join("00000001.snapshot");
    let sound = fs_err::read(&path).unwrap();
    assert_eq!(check(folder.path()).unwrap().notes, [""; 0]);

    let noted = |told: Told| {
        assert_eq!(told.damages, []);
        let [note] = &told.notes[..] else {
            panic!("{:?}", told.notes);
        };
        assert!(note.contains("00000001.snapshot"), "{note}");
        assert!(note.contains("loses nothing"), "{note}");
    };
    // The store's id, the header's checksum, a frame's header, its content.
    for at in [20, 61, 66, 500, sound.len() - 1] {
        overwrite(&path, at as u64, &[!sound[at]]);
        noted(check(folder.path()).unwrap());
        overwrite(&path, at as u64, &[sound[at]]);
    }
    cut_file(&path, 1000);
    noted(check(folder.path()).unwrap());
    fs_err::write(&path, &sound).unwrap();

    let unreadable = BusyDisk::new(|made| match made {
        Made::OpenRead(path) if path.ends_with("00000001.snapshot") => {
            Err(ErrorKind::PermissionDenied.into())
        }
        _ => Ok(()),
    });
    let told = check_with(&unreadable, folder.path()).unwrap();
    assert_eq!((told.damages, told.notes.len()), (vec![], 1));
}

#[test]
fn files_that_are_missing_cut_foreign_or_swapped_are_named_and_the_others_read() {
    let sound = check(written(End::Closed).path()).unwrap().report;
    let changed = |change: &dyn Fn(&Path)| {
        let folder = written(End::Closed);
        change(folder.path());
        assert!(open(copy(folder.path()).path()).is_err());
        check(folder.path()).unwrap()
    };

    let told = changed(&|folder| fs_err::remove_file(log(folder, 1)).unwrap());
    assert_eq!(places(&told), [("00000001.log", 0, Some(1))]);
    assert_eq!(told.report.segments, 1);

    let told = changed(&|folder| cut_file(&log(folder, 1), 100));
    assert_eq!(places(&told), [("00000001.log", 100, Some(1))]);

    // The size, the group that is cut, and the end that is not reached.
    let told = changed(&|folder| cut_file(&log(folder, 1), PAGE as u64 + 640));
    let offsets: Vec<_> = told.damages.iter().map(|damage| damage.offset).collect();
    assert_eq!(offsets[0], PAGE as u64 + 640);
    assert_eq!(told.report.segments, 2);
    assert!(told.report.records > 0 && told.report.records < sound.records);

    let told = changed(&|folder| {
        let foreign = written(End::Closed);
        fs_err::copy(log(foreign.path(), 2), log(folder, 2)).unwrap();
    });
    assert_eq!(told.damages.len(), 1);
    assert!(told.damages[0].reason.contains("another store"));

    let told = changed(&|folder| {
        fs_err::copy(log(folder, 2), log(folder, 9)).unwrap();
    });
    assert_eq!(places(&told)[0].0, "00000009.log");
    assert_eq!(
        told.report,
        Report {
            damages: 1,
            ..sound.clone()
        }
    );

    let told = changed(&|folder| fs_err::remove_file(manifest::path(folder)).unwrap());
    assert_eq!(told.damages.len(), 2);
    assert!(told.damages[0].reason.contains("MANIFEST is missing"));
    assert_eq!(told.report.records, sound.records);

    let told = changed(&|folder| overwrite(&manifest::path(folder), 30, &[1, 2, 3]));
    assert_eq!(places(&told), [("MANIFEST", 0, None)]);
    assert_eq!(told.report.records, sound.records);
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_of_the_segment_read() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    // The group needs a segment of its own, of several pages.
    let insert = |number| Step::Insert(number, vec![7; 3000]);
    commit(&mut opened.store, &(0..4).map(insert).collect::<Vec<_>>()).unwrap();
    opened.store.close().unwrap();
    let page = 3 * PAGE as u64;
    let disk = BusyDisk::new(move |made| match made {
        // A read from the page before that reaches into this page fails as well.
        Made::ReadAt(offset) if (page - 319..page + PAGE as u64).contains(&offset) => {
            Err(ErrorKind::Other.into())
        }
        _ => Ok(()),
    });
    let told = check_with(&disk, folder.path()).unwrap();
    let unreadable: Vec<_> = told
        .damages
        .iter()
        .filter(|damage| damage.reason.contains("read"))
        .collect();
    assert_eq!(unreadable[0].offset, page - PAGE as u64);
    assert_eq!(unreadable[1].offset, page);
    assert_eq!(unreadable.len(), 2);
    assert!(told.report.records > 0, "{:?}", told.damages);
}

#[test]
fn the_rest_of_an_interrupted_creation_is_a_note() {
    let folder = written(End::Closed);
    fs_err::write(log(folder.path(), 3), [0; 300]).unwrap();
    let told = check(folder.path()).unwrap();
    assert_eq!(told.damages, []);
    assert!(
        told.notes[0].contains("interrupted creation"),
        "{:?}",
        told.notes
    );
    assert_eq!(state(&open(folder.path()).unwrap()), state_after(&groups()));
}

#[test]
fn a_newer_format_is_no_damage() {
    for name in ["MANIFEST", "00000002.log"] {
        let folder = written(End::Closed);
        make_newer(&folder.path().join(name));
        let error = check(folder.path()).err().unwrap();
        assert!(matches!(error, Error::Io(_)), "{error}");
        assert!(
            error.to_string().contains("has format version 3"),
            "{error}"
        );
    }
}
