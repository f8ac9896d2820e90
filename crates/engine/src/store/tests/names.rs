//! What is in a data folder under names that it should not have, or that it should not be.

use std::path::Path;

use super::{
    damage,
    damage::{End, groups, log, written},
    new_folder, open, state, state_after,
};
use crate::{
    Error, Result,
    store::{Event, Opened, check, manifest},
};

fn refusal(opened: Result<Opened>) -> String {
    match opened {
        Err(Error::Io(error)) => error.to_string(),
        Err(other) => panic!("expected another refusal: {other}"),
        Ok(_) => panic!("expected a refusal"),
    }
}

#[test]
fn a_folder_that_is_named_like_a_file_of_ours_is_refused_by_its_path() {
    for name in [
        "LOCK",
        "MANIFEST",
        "RESERVE",
        "00000002.log",
        "00000009.log",
        "00000001.snapshot",
    ] {
        let folder = written(End::Closed);
        let path = folder.path().join(name);
        if path.exists() {
            fs_err::remove_file(&path).unwrap();
        }
        fs_err::create_dir(&path).unwrap();
        let text = refusal(open(folder.path()));
        assert!(
            text.starts_with(&format!("{} is a folder", path.display())),
            "{text}"
        );
        let checked = check::check(folder.path(), &mut |_| {});
        let text = checked.unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("{} is a folder", path.display())),
            "{text}"
        );
    }
}

#[test]
fn a_folder_of_somebody_else_is_refused_and_nothing_is_made_in_it() {
    let folder = new_folder();
    let path = folder.path().join("thesis.txt");
    fs_err::write(&path, "all of it").unwrap();
    let checked = check::check(folder.path(), &mut |_| {});
    for text in [
        refusal(open(folder.path())),
        checked.unwrap_err().to_string(),
    ] {
        assert!(text.contains(&path.display().to_string()), "{text}");
        assert!(text.contains("needs a folder of its own"), "{text}");
    }
    let names = fs_err::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 1);
}

#[test]
fn keys_and_what_systems_put_anywhere_do_not_make_a_folder_somebody_elses() {
    let folder = new_folder();
    for name in ["LOCK", "keys.json", ".DS_Store"] {
        fs_err::write(folder.path().join(name), name).unwrap();
    }
    fs_err::create_dir(folder.path().join("lost+found")).unwrap();
    open(folder.path()).unwrap();
    let folder = written(End::Closed);
    fs_err::write(folder.path().join("thesis.txt"), "mine").unwrap();
    assert_eq!(state(&open(folder.path()).unwrap()), state_after(&groups()));
}

/// The notes and damaged places of a check.
fn checked(folder: &Path) -> (usize, u64) {
    let mut notes = 0;
    let report = check::check(folder, &mut |event| {
        notes += usize::from(matches!(event, Event::Note(_)));
    });
    (notes, report.unwrap().damages)
}

#[test]
fn a_check_and_a_start_judge_a_segment_of_zeros_without_a_manifest_alike() {
    let folder = new_folder();
    let first = log(folder.path(), 1);
    fs_err::write(&first, [0; 8192]).unwrap();
    assert_eq!(checked(folder.path()), (1, 0));
    let opened = open(folder.path()).unwrap();
    assert_eq!(opened.notes.len(), 1);
    drop(opened);
    assert!(!first.exists());

    let folder = new_folder();
    fs_err::write(log(folder.path(), 2), [0; 8192]).unwrap();
    let (_, damages) = checked(folder.path());
    assert!(damages > 0);
    let (path, ..) = damage(open(folder.path()));
    assert_eq!(path, manifest::path(folder.path()));
}

#[test]
fn a_manifest_larger_than_any_is_refused_before_it_is_read() {
    let folder = written(End::Closed);
    let path = manifest::path(folder.path());
    let file = fs_err::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(8 << 30).unwrap();
    let (named, offset, reason) = damage(open(folder.path()));
    assert_eq!((named, offset), (path, 64 << 20));
    assert!(reason.contains("expected at most"), "{reason}");
}
