//! Entries of a data folder with wrong names or of the wrong kind.

use std::{
    ffi::CString,
    os::unix::{ffi::OsStrExt, net::UnixListener},
    path::{Path, PathBuf},
};

use super::{
    damage,
    damage::{End, groups, log, written},
    new_folder, open, overwrite, state, state_after,
};
use crate::{
    Error, Result,
    store::{
        Opened,
        io::{Disk, Io},
        log::{format::PAGE, manifest},
        tools::{Event, backup, check, restore},
    },
};

fn refusal(opened: Result<Opened>) -> String {
    match opened {
        Err(Error::Io(error)) => error.to_string(),
        Err(other) => panic!("expected another refusal: {other}"),
        Ok(_) => panic!("expected a refusal"),
    }
}

/// Creates something that is not a file, under a path where a file may be.
type Make = fn(&Path);

/// The kinds of such entries, and the functions that create them.
fn no_files() -> [(&'static str, Make); 4] {
    [
        ("folder", |path| fs_err::create_dir(path).unwrap()),
        ("FIFO", |path| {
            let path = CString::new(path.as_os_str().as_bytes()).unwrap();
            // A program like mkfifo would, while it starts, inherit the locks of other tests.
            #[allow(unsafe_code, reason = "rustix has it on Linux alone")]
            // SAFETY: the path ends with a zero and outlives the call.
            let failed = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
            assert_eq!(failed, 0);
        }),
        ("socket", |path| drop(UnixListener::bind(path).unwrap())),
        ("device", |path| {
            fs_err::os::unix::fs::symlink("/dev/zero", path).unwrap();
        }),
    ]
}

#[test]
fn what_is_no_file_and_is_named_like_one_of_ours_is_refused_by_its_path_before_it_is_opened() {
    for name in [
        "LOCK",
        "MANIFEST",
        "RESERVE",
        "00000002.log",
        "00000009.log",
        "00000001.snapshot",
    ] {
        for (kind, make) in no_files() {
            let (folder, target) = (written(End::Closed), new_folder());
            let path = folder.path().join(name);
            if path.exists() {
                fs_err::remove_file(&path).unwrap();
            }
            make(&path);
            let checked = check::check(folder.path(), &mut |_| {});
            let backed_up = backup::backup(folder.path(), target.path(), &mut |_| {});
            let restored = restore::restore(folder.path(), target.path(), &mut |_| {});
            for text in [
                refusal(open(folder.path())),
                checked.unwrap_err().to_string(),
                backed_up.unwrap_err().to_string(),
                restored.unwrap_err().to_string(),
            ] {
                let expected = format!("{} is a {kind}", path.display());
                assert!(text.starts_with(&expected), "{text}");
            }
        }
    }
}

#[test]
fn nothing_but_a_file_is_opened() {
    for (kind, make) in no_files() {
        let folder = new_folder();
        let path = folder.path().join("00000001.log");
        make(&path);
        for refused in [
            Disk.open(&path).map(drop),
            Disk.open_read(&path).map(drop),
            Disk.read(&path).map(drop),
        ] {
            let text = refused.unwrap_err().to_string();
            let expected = format!("{} is a {kind}", path.display());
            assert!(text.starts_with(&expected), "{text}");
        }
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

/// A file with the name of a segment that no manifest names, larger than any memory.
fn huge(folder: &Path) -> PathBuf {
    let path = log(folder, 99);
    let file = fs_err::File::create(&path).unwrap();
    file.set_len(1 << 42).unwrap();
    path
}

#[test]
fn a_huge_file_of_zeros_that_is_named_like_a_segment_is_the_rest_of_a_creation() {
    let folder = written(End::Closed);
    let path = huge(folder.path());
    assert_eq!(checked(folder.path()), (1, 0));
    let opened = open(folder.path()).unwrap();
    assert!(
        opened.notes[0].contains("00000099.log"),
        "{:?}",
        opened.notes
    );
    assert_eq!(state(&opened), state_after(&groups()));
    assert!(!path.exists());
}

#[test]
fn a_huge_file_that_is_named_like_a_segment_and_holds_something_is_refused_by_where_it_does() {
    let page = PAGE as u64;
    for at in [7, page, page + 12_345, 9 << 20] {
        let folder = written(End::Closed);
        let path = huge(folder.path());
        overwrite(&path, at, &[1]);
        let expected = if at < page { 0 } else { at };
        let (named, offset, _) = damage(open(folder.path()));
        assert_eq!((named, offset), (path.clone(), expected));
        let mut told = Vec::new();
        let report = check::check(folder.path(), &mut |event| {
            if let Event::Damage(damage) = event {
                told.push((damage.path, damage.offset));
            }
        });
        assert_eq!(told, [(path, expected)]);
        assert_eq!(report.unwrap().damages, 1);
    }
}
