//! The reports of a check, a backup, a restore or a repair while it runs.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::{Error, Result, store::log::format::Flaw};

/// A report. The work waits until it is handled.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The progress of the work.
    Progress {
        /// Bytes read or copied so far.
        done: u64,
        /// Bytes to read or to copy, as far as known.
        total: u64,
    },
    /// Damage.
    Damage(Damage),
    /// A note about something that is no damage.
    Note(String),
}

/// A place that is not what was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Damage {
    /// The damaged file.
    pub path: PathBuf,
    /// Offset in bytes from the start of the file.
    pub offset: u64,
    /// The sequence of the first record that it costs, where that is known.
    pub sequence: Option<u64>,
    /// What is wrong.
    pub reason: String,
}

impl Damage {
    /// A flaw of a file as damage. The error is a version that is not known.
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
