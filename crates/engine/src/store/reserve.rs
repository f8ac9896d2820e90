//! Space kept for deletes: on a full disk, who could not delete could not make room either.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::io::{Io, is_full, remove_if_there, write_all};

/// The usual size of the reserve. A delete takes 128 bytes at most, and less where several are
/// committed together.
const BYTES: u64 = 16 << 20;

/// Written at a time.
static PIECE: [u8; 1 << 16] = [0; 1 << 16];

/// The path of the reserve.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("RESERVE")
}

/// A file of zeros that is emptied when a delete finds no space: the next start, too, shall leave to
/// deletes what is left of it.
pub struct Reserve {
    path: PathBuf,
    bytes: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is there.
    Kept,
    /// There was never room for it.
    Missing,
    /// Deletes have got its space.
    Used,
}

impl Reserve {
    /// The reserve of a folder whose segments have this size, not looked at yet.
    pub fn new(folder: &Path, segment_bytes: u64) -> Self {
        Reserve {
            path: path(folder),
            bytes: BYTES.min(segment_bytes / 4),
            state: State::Missing,
        }
    }

    /// Makes the reserve if it is not there. A disk without room for it is no error.
    pub fn keep(&mut self, io: &dyn Io) -> io::Result<()> {
        if self.state == State::Missing {
            if self.size(io)? == Some(0) {
                self.state = State::Used;
            }
            self.make(io)?;
        }
        Ok(())
    }

    /// Gives the space to deletes, if there is any to give.
    pub fn give_up(&mut self, io: &dyn Io) -> io::Result<bool> {
        if self.state != State::Kept {
            return Ok(false);
        }
        remove_if_there(io, &self.path)?;
        self.state = State::Used;
        self.leave_empty(io)?;
        Ok(true)
    }

    /// Takes space again that deletes have got; false while there is too little. Until then,
    /// inserts would take what deletes may need.
    pub fn is_back(&mut self, io: &dyn Io) -> io::Result<bool> {
        if self.state == State::Used {
            self.make(io)?;
        }
        Ok(self.state != State::Used)
    }

    fn make(&mut self, io: &dyn Io) -> io::Result<()> {
        if self.size(io)? != Some(self.bytes) {
            remove_if_there(io, &self.path)?;
            if let Err(error) = self.write(io) {
                remove_if_there(io, &self.path)?;
                return match self.state {
                    _ if !is_full(&error) => Err(error),
                    State::Used => self.leave_empty(io),
                    State::Kept | State::Missing => Ok(()),
                };
            }
        }
        self.state = State::Kept;
        Ok(())
    }

    fn leave_empty(&self, io: &dyn Io) -> io::Result<()> {
        match io.create(&self.path) {
            Err(error) if !is_full(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Its size; none if it is missing or cannot be opened, and is to be made anew.
    fn size(&self, io: &dyn Io) -> io::Result<Option<u64>> {
        let file = io.open(&self.path).ok();
        file.map(|file| file.size()).transpose()
    }

    /// Written, not only set to its size: that alone would take no space.
    fn write(&self, io: &dyn Io) -> io::Result<()> {
        let file = io.create(&self.path)?;
        let mut at = 0;
        while at < self.bytes {
            let length = (self.bytes - at).min(PIECE.len() as u64);
            write_all(&*file, &PIECE[..length as usize], at).map_err(|(_, error)| error)?;
            at += length;
        }
        file.sync_all()
    }
}
