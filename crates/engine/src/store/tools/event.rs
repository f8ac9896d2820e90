//! The events that a check, a backup, a restore or a repair reports while it runs.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::{Error, Result, store::log::format::Flaw};

/// An event. The work waits until its handler returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The progress of the work.
    Progress {
        /// The bytes read or copied so far.
        done: u64,
        /// The bytes to read or to copy in all, as far as known.
        total: u64,
    },
    /// Damage was found.
    Damage(Damage),
    /// A note, as a line of text, about something that is no damage.
    Note(String),
}

/// A place in a file where the bytes are not what was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Damage {
    /// The damaged file.
    pub path: PathBuf,
    /// The offset in bytes from the start of the file.
    pub offset: u64,
    /// The sequence of the first record that is lost by it, if that is known.
    pub sequence: Option<u64>,
    /// What is wrong.
    pub reason: String,
}

impl Damage {
    /// Makes damage of a flaw in a file. A version that this code does not know is an error
    /// instead.
    pub(crate) fn of(flaw: Flaw, path: &Path, sequence: Option<u64>) -> Result<Damage> {
        match flaw {
            Flaw::Broken { offset, reason } => Ok(Damage {
                path: path.to_owned(),
                offset,
                sequence,
                reason,
            }),
            newer @ Flaw::Newer { .. } => Err(newer.refuse(path)),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is damaged at byte {}",
            self.path.display(),
            self.offset
        )?;
        if let Some(sequence) = self.sequence {
            write!(f, ", sequence {sequence}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Error {
        Error::Damaged {
            path: damage.path,
            offset: damage.offset,
            reason: damage.reason,
        }
    }
}
