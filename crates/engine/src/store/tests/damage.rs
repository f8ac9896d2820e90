//! Damage is refused or named, never served; a torn tail is cut.

use std::path::{Path, PathBuf};

use super::{
    Step, StoredPoints, commit, copy, damage, files, id, new_folder, open, overwrite, restore,
    state, state_after,
};
use crate::{
    Error,
    store::{
        Write,
        io::Disk,
        log::{
            format::{BLOCK, Kind, PAGE, SEGMENT_VERSION, Salt, SegmentHeader},
            group::{self, Layout, Place, Record},
            manifest::{self, Manifest},
            segment,
        },
        recovery,
    },
};

/// Three groups that fill one segment, and two in the next.
pub fn groups() -> Vec<Vec<Step>> {
    let insert = |number: u32, length| Step::Insert(number, vec![number as u8; length]);
    vec![
        vec![insert(1, 20), insert(2, 0)],
        vec![Step::Delete(2), insert(3, 1500)],
        vec![insert(4, 1700)],
        vec![insert(5, 300), insert(6, 40)],
        vec![insert(7, 5), Step::Delete(6)],
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Closed,
    Proven,
    Killed,
}

/// A folder that holds the groups.
pub fn written(end: End) -> tempfile::TempDir {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    for group in groups() {
        commit(&mut opened.store, &group).unwrap();
    }
    match end {
        End::Closed => opened.store.close().unwrap(),
        End::Proven => opened.store.prove().unwrap(),
        End::Killed => {}
    }
    folder
}

pub fn log(folder: &Path, number: u32) -> PathBuf {
    segment::path(folder, number)
}

/// Opens a changed folder. Returns true if it was refused. Otherwise every point is there, and
/// right or named as damaged; only the unproven tail may be missing.
fn refused(folder: &Path, end: End, context: &str) -> bool {
    let before = files(folder);
    let opened = match open(folder) {
        Err(Error::Damaged { .. }) => {
            assert_eq!(
                files(folder),
                before,
                "{context}: a refusal changes nothing"
            );
            return true;
        }
        Err(Error::Io(error)) if error.to_string().contains("format version") => return true,
        Err(other) => panic!("{context}: {other}"),
        Ok(opened) => opened,
    };
    let full = state_after(&groups());
    let without_last = state_after(&groups()[..groups().len() - 1]);
    let segments = opened.store.segments();
    let mut found = StoredPoints::new();
    for point in &opened.points {
        match segments.read(point.location) {
            Err(Error::Damaged { .. }) => {
                found.insert(point.id, full[&point.id].clone());
            }
            Err(other) => panic!("{context}: {other}"),
            Ok(stored) => {
                let vector = stored.vector.iter().map(|value| value.to_bits()).collect();
                found.insert(
                    point.id,
                    (
                        vector,
                        stored.content_type,
                        stored.content.to_vec(),
                        stored.metadata.to_vec(),
                    ),
                );
            }
        }
    }
    let cut = opened.notes.iter().any(|note| note.contains("torn tail"));
    let tail_lost = end == End::Killed && cut && found == without_last;
    assert!(found == full || tail_lost, "{context}");
    false
}

/// Flips bits of every file and returns how many flips were refused.
fn flip_bits(end: End) -> (usize, usize) {
    let folder = written(end);
    let sound = files(folder.path());
    let (mut cases, mut refusals) = (0, 0);
    for (path, bytes) in &sound {
        let used = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        let used = if used == PAGE {
            used
        } else {
            (used + 2 * BLOCK).min(bytes.len())
        };
        for at in 0..used {
            // Every bit where bytes differ, and a bit here and there in long runs of equal bytes.
            let run = bytes[at.saturating_sub(8)..(at + 8).min(bytes.len())]
                .iter()
                .all(|&byte| byte == bytes[at]);
            if run && !at.is_multiple_of(29) {
                continue;
            }
            for bit in 0..8 {
                overwrite(path, at as u64, &[bytes[at] ^ 1 << bit]);
                let context = format!("{end:?}: {} byte {at} bit {bit}", path.display());
                cases += 1;
                if refused(folder.path(), end, &context) {
                    refusals += 1;
                    overwrite(path, at as u64, &[bytes[at]]);
                } else {
                    restore(folder.path(), &sound);
                }
            }
        }
        restore(folder.path(), &sound);
    }
    (cases, refusals)
}

#[test]
fn no_flipped_bit_of_a_closed_store_goes_unnoticed_where_it_matters() {
    let (cases, refusals) = flip_bits(End::Closed);
    assert!(
        cases > 5000 && refusals > cases / 2,
        "{refusals} of {cases} refused"
    );
}

#[test]
fn no_flipped_bit_of_a_killed_store_loses_more_than_the_unproven_last_group() {
    let (cases, refusals) = flip_bits(End::Killed);
    assert!(
        cases > 5000 && refusals > cases / 3,
        "{refusals} of {cases} refused"
    );
}

#[test]
fn no_flipped_bit_loses_a_proven_record_of_a_killed_store() {
    let (cases, refusals) = flip_bits(End::Proven);
    assert!(
        cases > 5000 && refusals > cases / 3,
        "{refusals} of {cases} refused"
    );
}

/// Changes one file of a closed store and expects a refusal that names it.
fn refuses(name: &str, change: impl Fn(&Path)) -> (u64, String) {
    let folder = written(End::Closed);
    change(folder.path());
    let before = files(folder.path());
    let (path, offset, reason) = damage(open(folder.path()));
    assert_eq!(path, folder.path().join(name), "{reason}");
    assert_eq!(files(folder.path()), before, "a refusal changes nothing");
    (offset, reason)
}

pub fn cut_file(path: &Path, length: u64) {
    fs_err::OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(length)
        .unwrap();
}

#[test]
fn a_missing_emptied_or_truncated_file_is_refused() {
    for name in ["00000001.log", "00000002.log"] {
        refuses(name, |folder| {
            fs_err::remove_file(folder.join(name)).unwrap();
        });
        for length in [0, 100, 4096, 5000, 8128] {
            let (offset, reason) = refuses(name, |folder| cut_file(&folder.join(name), length));
            assert_eq!(offset, length, "{reason}");
        }
        // Emptied, but with the right size.
        refuses(name, |folder| {
            fs_err::write(folder.join(name), vec![0; 8192]).unwrap();
        });
        refuses(name, |folder| {
            let mut bytes = fs_err::read(folder.join(name)).unwrap();
            bytes[PAGE..].fill(0);
            fs_err::write(folder.join(name), bytes).unwrap();
        });
    }
    for length in [0, 10, 44, 100] {
        refuses("MANIFEST", |folder| {
            cut_file(&folder.join("MANIFEST"), length);
        });
    }
    let missing = |folder: &Path| fs_err::remove_file(manifest::path(folder)).unwrap();
    let folder = written(End::Closed);
    missing(folder.path());
    let (path, _, reason) = damage(open(folder.path()));
    assert_eq!(path.extension().unwrap(), "log");
    assert!(reason.contains("MANIFEST is missing"), "{reason}");
}

#[test]
fn a_swapped_foreign_or_stale_file_is_refused() {
    refuses("00000001.log", |folder| {
        let other = folder.join("other");
        fs_err::rename(log(folder, 1), &other).unwrap();
        fs_err::rename(log(folder, 2), log(folder, 1)).unwrap();
        fs_err::rename(&other, log(folder, 2)).unwrap();
    });
    let foreign = written(End::Closed);
    for number in [1, 2] {
        let from = log(foreign.path(), number);
        let name = from.file_name().unwrap().to_str().unwrap();
        let (_, reason) = refuses(name, |folder| {
            fs_err::copy(&from, folder.join(name)).unwrap();
        });
        assert!(reason.contains("another store"), "{reason}");
    }
    refuses("00000001.log", |folder| {
        fs_err::copy(manifest::path(foreign.path()), manifest::path(folder)).unwrap();
    });
}

#[test]
fn files_from_an_earlier_day_of_the_same_store_are_refused() {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let groups = groups();
    commit(&mut opened.store, &groups[0]).unwrap();
    let early = copy(folder.path());
    commit(&mut opened.store, &groups[1]).unwrap();
    commit(&mut opened.store, &groups[2]).unwrap();
    commit(&mut opened.store, &groups[3]).unwrap();
    drop(opened);

    let stale_log = copy(folder.path());
    fs_err::copy(log(early.path(), 1), log(stale_log.path(), 1)).unwrap();
    assert_eq!(damage(open(stale_log.path())).0, log(stale_log.path(), 1));
    let stale_manifest = copy(folder.path());
    fs_err::copy(
        manifest::path(early.path()),
        manifest::path(stale_manifest.path()),
    )
    .unwrap();
    let (path, _, reason) = damage(open(stale_manifest.path()));
    assert_eq!(path, log(stale_manifest.path(), 2));
    assert!(reason.contains("MANIFEST does not name it"), "{reason}");
}

#[test]
fn a_manifest_that_ends_a_sealed_segment_too_soon_is_refused() {
    let folder = written(End::Closed);
    let mut manifest = Manifest::load(&Disk, folder.path()).unwrap().unwrap();
    manifest.segments[0].end = PAGE as u64;
    manifest.save(&Disk, folder.path()).unwrap();
    let (path, offset, reason) = damage(open(folder.path()));
    assert_eq!((path, offset), (log(folder.path(), 1), PAGE as u64));
    assert!(
        reason.contains("ends at sequence 0, expected 5"),
        "{reason}"
    );
}

#[test]
fn a_segment_from_another_course_of_the_same_store_is_refused() {
    let first = new_folder();
    let mut opened = open(first.path()).unwrap();
    commit(&mut opened.store, &groups()[0]).unwrap();
    opened.store.close().unwrap();
    let second = copy(first.path());
    // From here on each folder has a second segment of its own, with the same records.
    for folder in [&first, &second] {
        let mut opened = open(folder.path()).unwrap();
        commit(&mut opened.store, &[Step::Insert(70, vec![7; 9000])]).unwrap();
        assert!(log(folder.path(), 2).exists());
    }
    fs_err::copy(log(second.path(), 2), log(first.path(), 2)).unwrap();
    let (path, _, reason) = damage(open(first.path()));
    assert_eq!(path, log(first.path(), 2));
    assert!(
        reason.contains("not the segment that MANIFEST names"),
        "{reason}"
    );
}

#[test]
fn a_segment_whose_creation_was_interrupted_is_removed_and_a_strange_file_is_not() {
    let folder = written(End::Closed);
    let mut header = fs_err::read(log(folder.path(), 2)).unwrap();
    header.truncate(PAGE);
    for content in [
        vec![],
        vec![0; 300],
        header.clone(),
        [header, vec![0; 4096]].concat(),
    ] {
        fs_err::write(log(folder.path(), 3), content).unwrap();
        let opened = open(folder.path()).unwrap();
        assert!(
            opened.notes[0].contains("interrupted"),
            "{:?}",
            opened.notes
        );
        assert!(!log(folder.path(), 3).exists());
        assert_eq!(state(&opened), state_after(&groups()));
    }
    fs_err::write(folder.path().join("20240101.log"), "somebody's notes").unwrap();
    let (path, ..) = damage(open(folder.path()));
    assert!(path.exists());
}

/// A store of one segment whose last group starts at the returned offset.
fn killed_with_last_group(contents: &[Vec<u8>]) -> (tempfile::TempDir, u64) {
    let folder = new_folder();
    let mut opened = open(folder.path()).unwrap();
    let mut last = 0;
    for (number, content) in contents.iter().enumerate() {
        last = opened
            .store
            .active
            .as_ref()
            .map_or(PAGE as u64, |active| active.end);
        commit(
            &mut opened.store,
            &[Step::Insert(number as u32, content.clone())],
        )
        .unwrap();
    }
    (folder, last)
}

#[test]
fn a_torn_tail_is_cut_with_a_note_and_the_store_goes_on() {
    let contents = [vec![1; 50], vec![2; 600]];
    let groups: Vec<_> = (0..2)
        .map(|n| vec![Step::Insert(n, contents[n as usize].clone())])
        .collect();
    for torn in (0..768).step_by(64) {
        let (folder, last) = killed_with_last_group(&contents);
        let path = log(folder.path(), 1);
        // The sector at `torn` never reached the disk.
        overwrite(&path, last + torn, &[0; 64]);
        // Recovery cuts to the end of the file, however long the next write is: it may be shorter.
        let cut = copy(folder.path());
        let mut found = recovery::inspect(&Disk, cut.path()).unwrap();
        recovery::repair(&mut found, &Disk, cut.path()).unwrap();
        let left = fs_err::read(log(cut.path(), 1)).unwrap();
        let is_zero = left.iter().skip(last as usize).all(|&byte| byte == 0);
        assert!(is_zero, "block at {torn}");
        let mut opened = open(folder.path()).unwrap();
        assert_eq!(state(&opened), state_after(&groups[..1]), "block at {torn}");
        let note = &opened.notes[0];
        assert!(
            note.contains(&format!("at byte {last} of {}", path.display())),
            "{note}"
        );
        drop(opened);
        opened = open(folder.path()).unwrap();
        assert!(opened.notes.is_empty(), "cut once: {:?}", opened.notes);
        commit(&mut opened.store, &groups[1]).unwrap();
        drop(opened);
        assert_eq!(state(&open(folder.path()).unwrap()), state_after(&groups));
    }
}

#[test]
fn a_lost_sector_before_a_later_group_is_damage() {
    let contents = [vec![1; 50], vec![2; 600], vec![3; 70]];
    let (folder, last) = killed_with_last_group(&contents);
    let path = log(folder.path(), 1);
    let sound = fs_err::read(&path).unwrap();
    for block in (PAGE as u64..last).step_by(BLOCK) {
        overwrite(&path, block, &[0; 64]);
        let (named, offset, reason) = damage(open(folder.path()));
        assert_eq!(named, path);
        assert!(offset <= block, "{offset}: {reason}");
        assert!(reason.contains("proves that sequence"), "{reason}");
        fs_err::write(&path, &sound).unwrap();
    }
    open(folder.path()).unwrap();
}

/// The bytes of a group as somebody without the salt would write them.
fn forged_group(salt: Salt, position: u64) -> Vec<u8> {
    let segment = SegmentHeader {
        version: SEGMENT_VERSION,
        number: 1,
        store: [0; 16],
        id: [0; 16],
        salt,
        dimension: super::DIMENSION as u32,
        kind: Kind::Log,
        first_sequence: 1,
        capacity: 8192,
    };
    let write = Write::Insert {
        id: id(666),
        vector: &[6.0; 3],
        content_type: 0,
        content: b"evil",
        metadata: &[],
        replaced: None,
    };
    let records = [Record::new(&write, 3)];
    let place = Place {
        segment: &segment,
        position,
        durable: 1000,
        stream: None,
    };
    let mut group = Vec::new();
    group::encode(&mut group, &records, Layout::of(&records).unwrap(), place).unwrap();
    group
}

#[test]
fn the_bytes_of_a_group_inside_a_payload_prove_nothing() {
    // A group's first payload starts behind its header, one record header and one vector.
    const PAYLOAD: u64 = 3 * BLOCK as u64;
    let other = written(End::Closed);
    let from_other_segment = fs_err::read(log(other.path(), 1)).unwrap()[PAGE..PAGE + 384].to_vec();
    let first = PAGE as u64;
    let forgeries = |own: &[u8], salt: Salt, at: u64| {
        vec![
            from_other_segment.clone(),
            own[PAGE..PAGE + 320].to_vec(),
            forged_group(Salt([0; 16]), at),
            // The start of the salt starts every group; no byte of a group holds the rest.
            forged_group(
                Salt(std::array::from_fn(
                    |at| if at < 8 { salt.0[at] } else { 0 },
                )),
                at,
            ),
            // The right salt and the wrong position: a client that reads its own points back learns
            // less than this.
            forged_group(salt, at + 64),
            forged_group(salt, first),
        ]
    };
    for kind in 0..6 {
        let folder = new_folder();
        let mut opened = open(folder.path()).unwrap();
        let groups = [
            vec![Step::Insert(1, vec![9; 90])],
            vec![Step::Insert(2, vec![8; 9])],
        ];
        commit(&mut opened.store, &groups[0]).unwrap();
        commit(&mut opened.store, &groups[1]).unwrap();
        let active = opened.store.active.as_ref().unwrap();
        let (path, end, salt) = (active.path.clone(), active.end, active.header.salt);
        let forged = forgeries(&fs_err::read(&path).unwrap(), salt, end + PAYLOAD);
        commit(&mut opened.store, &[Step::Insert(3, forged[kind].clone())]).unwrap();
        drop(opened);
        let written = fs_err::read(&path).unwrap();
        let payload = (end + PAYLOAD) as usize;
        assert_eq!(
            written[payload..payload + forged[kind].len()],
            forged[kind],
            "kind {kind}"
        );
        overwrite(&path, end, &[0; 64]);
        let opened = open(folder.path()).unwrap();
        assert_eq!(state(&opened), state_after(&groups), "kind {kind}");
        assert!(opened.notes[0].contains("torn tail"), "{:?}", opened.notes);
    }
}

#[test]
fn a_group_with_the_right_salt_and_place_does_prove() {
    // The counterpart of the test above: its forged group counts at this place of the log.
    let (folder, last) = killed_with_last_group(&[vec![1; 9], vec![2; 900]]);
    let path = log(folder.path(), 1);
    let page = fs_err::read(&path).unwrap();
    let salt = SegmentHeader::decode(page.first_chunk().unwrap())
        .unwrap()
        .salt;
    overwrite(&path, last + 192, &forged_group(salt, last + 192));
    let (_, offset, reason) = damage(open(folder.path()));
    assert_eq!(offset, last + 64, "{reason}");
    assert!(reason.contains(&format!("byte {}", last + 192)), "{reason}");
}

/// Changes a file's version to 2 and recomputes its checksum.
pub(super) fn make_newer(path: &Path) {
    overwrite(path, 8, &[3]);
    let bytes = fs_err::read(path).unwrap();
    // The checksum of a segment is in its first page.
    let end = if path.ends_with("MANIFEST") {
        bytes.len()
    } else {
        PAGE
    };
    let crc = crc32fast::hash(&bytes[..end - 4]);
    overwrite(path, end as u64 - 4, &crc.to_le_bytes());
}

#[test]
fn a_newer_format_is_refused_by_its_version() {
    for name in ["MANIFEST", "00000001.log"] {
        let folder = written(End::Closed);
        let path = folder.path().join(name);
        overwrite(&path, 8, &[3]);
        let (_, offset, reason) = damage(open(folder.path()));
        assert_eq!(offset, 8, "a bit alone has rotted: {reason}");
        make_newer(&path);
        let error = open(folder.path()).err().unwrap();
        assert!(matches!(error, Error::Io(_)), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains("has format version 3"),
            "{text}"
        );
    }
}

#[test]
fn a_damaged_record_of_a_sealed_segment_is_named_by_read_and_spares_the_others() {
    let folder = written(End::Closed);
    let at = open(folder.path()).unwrap().points[1].location;
    overwrite(
        &log(folder.path(), at.segment),
        u64::from(at.vector) * 64,
        &[0xFF],
    );
    let opened = open(folder.path()).unwrap();
    let segments = opened.store.segments();
    for point in &opened.points {
        match segments.read(point.location) {
            Ok(_) => assert_ne!(point.location, at),
            Err(Error::Damaged {
                path,
                offset,
                reason,
            }) => {
                assert_eq!(point.location, at);
                assert_eq!(
                    (path, offset),
                    (log(folder.path(), 1), u64::from(at.record) * 64)
                );
                assert!(
                    reason.contains(&format!("sequence {}", point.sequence)),
                    "{reason}"
                );
            }
            Err(other) => panic!("{other}"),
        }
    }
}
