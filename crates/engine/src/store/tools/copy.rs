//! Copies files for a backup or a restore, in pieces.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use crate::store::{
    io::{Io, IoFile, fatal, read_exact, write_all},
    log::format::PAGE,
    snapshot,
};

/// The number of bytes of a file that are in memory at once.
const PIECE_BYTES: usize = 256 * PAGE;

/// Copies the first `end` bytes of a file into a new one of `size` bytes, and returns their
/// checksum. The content of the new file is durable then, but not its name. `step` is called with
/// the number of bytes of each piece.
pub fn copy(
    io: &dyn Io,
    from: &dyn IoFile,
    to: &Path,
    (end, size): (u64, u64),
    step: &mut dyn FnMut(u64),
) -> io::Result<u32> {
    let file = io.create(to)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; PIECE_BYTES];
    let mut at = 0;
    while at < end {
        let length = (end - at).min(PIECE_BYTES as u64);
        let piece = &mut buffer[..length as usize];
        read_exact(from, piece, at)?;
        hasher.update(piece);
        write_all(&*file, piece, at).map_err(|(_, error)| error)?;
        at += length;
        step(length);
    }
    file.set_size(size)?;
    file.sync_all().map_err(fatal)?;
    Ok(hasher.finalize())
}

/// The snapshots in a folder. They can be copied at any time: a snapshot is complete when it
/// appears, and is never changed.
pub fn snapshots(io: &dyn Io, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = io.list(folder)?.into_iter();
    Ok(paths
        .filter(|path| snapshot::number(path).is_some())
        .collect())
}

/// The path in another folder of a file that keeps its name.
pub fn path_in(folder: &Path, path: &Path) -> PathBuf {
    path.file_name()
        .map_or_else(|| folder.to_owned(), |name| folder.join(name))
}

/// Turns the error of a missing file into None.
pub fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
