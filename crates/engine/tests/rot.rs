//! Damage to any file of a data folder: the folder is refused with file and offset, or the damage
//! does no harm. A point is read as it was stored, or not at all.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use crate::aged::{Aged, End, compacted, copy_of, is, open_aged};
use crate::driver::{self, try_search};
use vectord_engine::{Engine, Error, Metric, PointId};

const FLIPS: u64 = 500;

/// The result of opening a damaged folder.
#[derive(Debug)]
enum Outcome {
    /// It was not opened, because of damage at this offset of this file.
    Refused(PathBuf, u64),
    /// It was not opened, because a file has a newer version.
    Newer(String),
    /// It was opened. `unreadable` points could not be read.
    Opened { unreadable: usize, notes: usize },
}

/// Opens a folder and compares all of its contents with the acknowledged writes.
fn outcome(folder: &Path, aged: &Aged, context: &str) -> Outcome {
    let engine = match open_aged(folder) {
        Ok(engine) => engine,
        Err(Error::Damaged { path, offset, .. }) => return Outcome::Refused(path, offset),
        Err(Error::Io(error)) if error.to_string().contains("has format version") => {
            return Outcome::Newer(error.to_string());
        }
        Err(other) => panic!("{context}: {other}"),
    };
    assert_eq!(engine.status().points, aged.model.len() as u64, "{context}");
    let mut unreadable = 0;
    for (id, vector) in &aged.model {
        match engine.get(id) {
            Ok(point) => {
                let point = point.unwrap_or_else(|| panic!("{context}: a point is lost"));
                let stored = driver::content_of(vector).into_bytes();
                assert_eq!(
                    (&point.vector, point.content),
                    (vector, stored),
                    "{context}"
                );
                assert_eq!((point.id, point.content_type), (*id, 1), "{context}");
            }
            Err(Error::Damaged { path, .. }) => {
                assert!(is(&path, "log"), "{context}: {}", path.display());
                unreadable += 1;
            }
            Err(other) => panic!("{context}: {other}"),
        }
    }
    for id in &aged.gone {
        assert_eq!(engine.get(id).unwrap(), None, "{context}: back again");
    }
    check_search(&engine, aged, unreadable > 0, context);
    let notes = engine.notes().len();
    Outcome::Opened { unreadable, notes }
}

/// A search for all points finds each once, or fails if one of them is damaged.
fn check_search(engine: &Engine, aged: &Aged, has_damage: bool, context: &str) {
    let expected: HashSet<PointId> = aged.model.iter().map(|(id, _)| *id).collect();
    for (metric, ef) in [(Metric::Euclidean, 1), (Metric::Euclidean, 5_000)] {
        let found = match try_search(engine, metric, &aged.model[0].1, 5_000, ef) {
            Err(Error::Damaged { .. }) if has_damage => continue,
            found => found.unwrap(),
        };
        assert!(!has_damage, "{context}: a damaged point in an answer");
        assert_eq!(found.len(), expected.len(), "{context}");
        assert_eq!(
            found.into_iter().collect::<HashSet<_>>(),
            expected,
            "{context}"
        );
    }
}

/// Pseudo-random numbers, the same in every run.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A file and a bit of it. All files are equally likely, so that small ones are covered too.
fn place(files: &[(PathBuf, Vec<u8>)], seed: u64) -> (usize, usize) {
    let mut state = seed;
    let file = random(&mut state) as usize % files.len();
    // Every second place is in the written bytes, not in the zeros behind them.
    let bytes = &files[file].1;
    let written = bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0) + 1;
    let length = if seed.is_multiple_of(8) {
        bytes.len()
    } else {
        written
    };
    (file, random(&mut state) as usize % (length * 8))
}

fn flip_everywhere(end: End) {
    let aged = Aged::new(end);
    let files = aged.files();
    assert!(!compacted(aged.folder.path()).is_empty());
    assert!(files.iter().any(|(path, _)| is(path, "snapshot")));
    let (mut refused, mut unreadable, mut noted, mut harmless) = (0, 0, 0, 0);
    for seed in 0..FLIPS {
        let (file, bit) = place(&files, seed);
        let (path, bytes) = &files[file];
        let name = path.file_name().unwrap();
        let context = format!("{end:?}, seed {seed}: bit {bit} of {}", name.display());
        let folder = copy_of(aged.folder.path());
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(folder.path().join(name), bytes).unwrap();
        match outcome(folder.path(), &aged, &context) {
            Outcome::Refused(found, offset) => {
                assert_eq!(found.file_name(), Some(name), "{context}");
                assert!(offset <= bit as u64 / 8, "{context}: named byte {offset}");
                refused += 1;
            }
            Outcome::Newer(text) => {
                assert!(text.contains(name.to_str().unwrap()), "{context}: {text}");
                refused += 1;
            }
            Outcome::Opened {
                unreadable: 0,
                notes: 0,
            } => harmless += 1,
            Outcome::Opened { unreadable: 0, .. } => noted += 1,
            Outcome::Opened {
                unreadable: count, ..
            } => {
                assert_eq!(count, 1, "{context}");
                unreadable += 1;
            }
        }
    }
    println!(
        "{end:?}: {refused} refused, {unreadable} with an unreadable point, {noted} with a line in \
         the log, {harmless} without harm"
    );
    assert!(
        refused > 100 && unreadable > 20 && noted > 50,
        "each kind is reached"
    );
}

#[test]
fn a_flipped_bit_anywhere_in_the_folder_of_a_closed_store_is_refused_or_harmless() {
    flip_everywhere(End::Closed);
}

#[test]
fn a_flipped_bit_anywhere_in_the_folder_of_a_killed_store_is_refused_or_harmless() {
    flip_everywhere(End::Killed);
}

/// Changes a folder, and expects that its log or manifest is refused. If all changed files are
/// snapshots, the folder may also open without them.
fn expect_noticed(aged: &Aged, changed: &[&Path], context: &str, change: impl FnOnce(&Path)) {
    let folder = copy_of(aged.folder.path());
    change(folder.path());
    let only_snapshots = changed.iter().all(|path| is(path, "snapshot"));
    match outcome(folder.path(), aged, context) {
        Outcome::Refused(path, _) => {
            assert!(!only_snapshots, "{context}: refused {}", path.display());
            assert!(path.starts_with(folder.path()), "{context}");
        }
        Outcome::Newer(text) => panic!("{context}: {text}"),
        Outcome::Opened { unreadable, .. } => {
            assert!(only_snapshots && unreadable == 0, "{context}: not noticed");
        }
    }
}

#[test]
fn a_file_that_is_missing_emptied_or_cut_is_noticed() {
    for end in [End::Closed, End::Killed] {
        let aged = Aged::new(end);
        for (path, bytes) in aged.files() {
            let name = path.file_name().unwrap();
            let length = bytes.len();
            let lengths = [0, 1, 40, 4095, 4096, length / 2, length - 64, length - 1];
            for length in lengths.into_iter().filter(|&kept| kept < length) {
                let context = format!("{end:?}, {} cut to {length}", name.display());
                expect_noticed(&aged, &[&path], &context, |folder| {
                    fs::write(folder.join(name), &bytes[..length]).unwrap();
                });
            }
            let context = format!("{end:?}, {} is missing", name.display());
            expect_noticed(&aged, &[&path], &context, |folder| {
                fs::remove_file(folder.join(name)).unwrap();
            });
            let context = format!("{end:?}, {} is all zeros", name.display());
            expect_noticed(&aged, &[&path], &context, |folder| {
                fs::write(folder.join(name), vec![0; length]).unwrap();
            });
        }
    }
}

#[test]
fn two_files_that_are_swapped_are_noticed() {
    let aged = Aged::new(End::Closed);
    let files = aged.files();
    for (index, (one, _)) in files.iter().enumerate() {
        for (other, _) in &files[index + 1..] {
            let names = [one, other].map(|path| path.file_name().unwrap());
            let context = format!("{names:?} swapped");
            expect_noticed(&aged, &[one, other], &context, |folder| {
                let [one, other] = names.map(|name| folder.join(name));
                let between = folder.join("between");
                fs::rename(&one, &between).unwrap();
                fs::rename(&other, &one).unwrap();
                fs::rename(&between, &other).unwrap();
            });
        }
    }
}
