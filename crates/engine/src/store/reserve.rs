//! Reserves of disk space for deletes and for compaction: on a full disk both need space before
//! they can free any.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::io::{Io, IoFile, is_full, is_out_of_files, remove_if_there, write_all};

/// The greatest size of the reserve for deletes. A delete takes 128 bytes at most, and less if
/// several are committed together.
const BYTES_FOR_DELETES: u64 = 16 << 20;

/// The zeros that are written at a time.
static PIECE: [u8; 1 << 16] = [0; 1 << 16];

/// The path of the reserve for deletes.
pub fn path_for_deletes(folder: &Path) -> PathBuf {
    folder.join("RESERVE")
}

/// The path of the reserve for compaction.
pub fn path_for_compaction(folder: &Path) -> PathBuf {
    folder.join("SPARE")
}

/// The size of the reserve for deletes, given the greatest usual size of a segment.
pub fn bytes_for_deletes(segment_bytes: u64) -> u64 {
    BYTES_FOR_DELETES.min(segment_bytes)
}

/// A file of zeros that is emptied when its space is needed: then the space is given to the user of
/// the reserve, deletes or compaction. The empty file stays until it can be filled again. It tells
/// the next start, too, that the space is given away.
pub struct Reserve {
    path: PathBuf,
    bytes: u64,
    space: ReserveState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReserveState {
    /// The file is full.
    Kept,
    /// There was never space for the file.
    Missing,
    /// The file is empty, and its space is given away; about `left` bytes of it are not used yet.
    Given { left: u64 },
}

impl Reserve {
    /// A reserve whose file was not looked at yet.
    pub fn new(path: PathBuf) -> Self {
        Reserve {
            path,
            bytes: 0,
            space: ReserveState::Missing,
        }
    }

    /// Fills the reserve up to this size, unless its space is given away. If the disk has no space
    /// for it, that is no error.
    pub fn keep(&mut self, io: &dyn Io, bytes: u64) -> io::Result<()> {
        if self.is_given() || self.space == ReserveState::Kept && self.bytes == bytes {
            return Ok(());
        }
        self.make(io, bytes)
    }

    /// Gives the space away. False if there is none to give.
    pub fn give_up(&mut self, io: &dyn Io) -> io::Result<bool> {
        if self.space != ReserveState::Kept {
            return Ok(false);
        }
        match io.open(&self.path) {
            Ok(file) => file.set_size(0)?,
            // A user has removed the file, and its space is free. A new empty file notes that the
            // reserve is to be filled again.
            Err(error) if error.kind() == ErrorKind::NotFound => match io.create(&self.path) {
                Err(error) if !is_full(&error) => return Err(error),
                _ => {}
            },
            Err(error) => return Err(error),
        }
        self.space = ReserveState::Given { left: self.bytes };
        Ok(true)
    }

    /// Takes the space again that was given away; false while there is too little. Until then,
    /// inserts would take what deletes and compaction may need.
    pub fn is_back(&mut self, io: &dyn Io) -> io::Result<bool> {
        if self.is_given() {
            self.make(io, self.bytes)?;
        }
        Ok(!self.is_given())
    }

    /// Notes that this number of bytes was written to the disk.
    pub fn spend(&mut self, bytes: u64) {
        if let ReserveState::Given { left } = &mut self.space {
            *left = left.saturating_sub(bytes);
        }
    }

    /// Whether this number of bytes is left of the space that was given away.
    pub fn has(&self, bytes: u64) -> bool {
        matches!(self.space, ReserveState::Given { left } if left >= bytes)
    }

    /// Whether less than half is left of the space that was given away.
    pub fn is_low(&self) -> bool {
        matches!(self.space, ReserveState::Given { left } if left < self.bytes / 2)
    }

    /// Whether this number of bytes is reserved now.
    pub fn holds(&self, bytes: u64) -> bool {
        self.is_kept() && bytes <= self.bytes
    }

    /// Whether the space is reserved now.
    pub fn is_kept(&self) -> bool {
        self.space == ReserveState::Kept
    }

    /// Whether the space is given away.
    pub fn is_given(&self) -> bool {
        matches!(self.space, ReserveState::Given { .. })
    }

    /// Fills the file as far as there is space, and notes the state that follows.
    fn make(&mut self, io: &dyn Io, bytes: u64) -> io::Result<()> {
        let (file, is_new) = match io.open(&self.path) {
            Ok(file) => (file, false),
            Err(error) if is_out_of_files(&error) => return Err(error),
            // Missing, or one that cannot be opened.
            Err(_) => match remove_if_there(io, &self.path).and_then(|()| io.create(&self.path)) {
                Err(error) if is_full(&error) => return Ok(()),
                created => (created?, true),
            },
        };
        self.bytes = bytes;
        let before = file.size()?;
        if before == 0 && !is_new {
            // As a start finds it.
            self.space = ReserveState::Given { left: 0 };
        }
        match fill(&*file, before, bytes) {
            Ok(()) => self.space = ReserveState::Kept,
            Err((written, error)) if is_full(&error) => {
                file.set_size(before)?;
                if self.is_given() {
                    self.space = ReserveState::Given { left: written };
                } else if is_new {
                    remove_if_there(io, &self.path)?;
                } else {
                    (self.bytes, self.space) = (before, ReserveState::Kept);
                }
            }
            Err((_, error)) => return Err(error),
        }
        Ok(())
    }
}

/// Gives a file its size. What is added is written: the size alone would take no space. An error
/// carries the number of bytes that were written.
fn fill(file: &dyn IoFile, before: u64, bytes: u64) -> Result<(), (u64, io::Error)> {
    if before == bytes {
        return Ok(());
    }
    if before > bytes {
        file.set_size(bytes).map_err(|error| (0, error))?;
    }
    let mut at = before;
    while at < bytes {
        let length = (bytes - at).min(PIECE.len() as u64);
        write_all(file, &PIECE[..length as usize], at)
            .map_err(|(written, error)| (at + written - before, error))?;
        at += length;
    }
    file.sync_all().map_err(|error| (0, error))
}
