//! Knows the names of the files of a data folder, and refuses folders that hold other things.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    io::{Io, refuse_no_file},
    snapshot,
};
use crate::{Error, Result, store::log::segment};

/// The names of the files of a data folder, except numbered ones: segments and snapshots.
const OURS: [&str; 7] = [
    "LOCK",
    "MANIFEST",
    "MANIFEST.tmp",
    "MANIFEST.restoring",
    "RESERVE",
    "SPARE",
    "SNAPSHOT.tmp",
];

/// Refuses a folder in which something other than a file has the name of one of our files.
pub fn refuse_no_files(io: &dyn Io, folder: &Path) -> Result<()> {
    let paths = io.list(folder)?;
    let mut ours = paths.iter().filter(|path| is_ours(path));
    Ok(ours.try_for_each(|path| refuse_no_file(path))?)
}

/// Refuses a folder that holds no log but other files: its path was probably given by mistake.
/// Keys, which may exist before the first point, and files that operating systems put into any
/// folder are allowed.
pub fn refuse_foreign(io: &dyn Io, folder: &Path) -> Result<()> {
    let paths = io.list(folder)?;
    let is_log = |path: &PathBuf| path.ends_with("MANIFEST") || segment::number(path).is_some();
    if paths.iter().any(is_log) {
        return Ok(());
    }
    match paths.iter().find(|path| !is_ours(path) && !is_spared(path)) {
        None => Ok(()),
        Some(path) => Err(refusal(format!(
            "{} holds no points, but {}, which is not of vectord: it needs a folder of its own",
            folder.display(),
            path.display()
        ))),
    }
}

/// Whether a file has the name of one of our files.
fn is_ours(path: &Path) -> bool {
    OURS.iter().any(|name| path.ends_with(name))
        || segment::number(path).is_some()
        || snapshot::number(path).is_some()
}

/// Whether a file is allowed beside ours.
fn is_spared(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name == "lost+found" || name.contains(".json")
}

fn refusal(text: String) -> Error {
    io::Error::other(text).into()
}
