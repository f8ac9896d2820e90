//! What tells a folder into which a backup is being copied from one that holds a log.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::io::Io;
use crate::Result;

/// Where the manifest is until everything that it names is there.
pub fn marker_path(folder: &Path) -> PathBuf {
    folder.join("MANIFEST.restoring")
}

/// Refuses a folder into which a restore was begun and not finished.
pub fn refuse_unfinished(io: &dyn Io, folder: &Path) -> Result<()> {
    if !io.list(folder)?.contains(&marker_path(folder)) {
        return Ok(());
    }
    let folder = folder.display();
    let text = format!("a restore into {folder} was begun and not finished: run it again");
    Err(io::Error::other(text).into())
}
