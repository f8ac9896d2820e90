//! The one error type of the engine. Its [`Error::code`] is stable: the server maps it to a
//! status, so a code is never renamed or given another meaning.

use std::{io, path::PathBuf};

/// The result of every fallible function of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, in words that name what was found and what was expected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller asked for something that cannot be; nothing was changed.
    #[error("{0}")]
    InvalidArgument(String),

    /// A value of a vector is NaN or infinite; nothing was changed.
    #[error("value {position} of the vector is {value}, expected a finite number")]
    NotFinite {
        /// Index of the vector within its batch.
        item: usize,
        /// Index of the value within its vector.
        position: usize,
        /// The value found.
        value: f32,
    },

    /// The points that the data folder holds or held have another dimension than the one asked for.
    #[error(
        "the first point stored in {path} had {remembered} dimensions, which it keeps even if no \
         point is left, but DIMENSION is {configured}: unset DIMENSION, or set DATA_PATH to another \
         folder",
        path = path.display()
    )]
    DimensionMismatch {
        /// The data folder.
        path: PathBuf,
        /// The dimension of the stored points.
        remembered: u32,
        /// The dimension in the configuration.
        configured: u32,
    },

    /// There are not as many points as the caller who deletes all of them thinks; nothing was
    /// changed.
    #[error("there are {points} points, expected {expected}")]
    OtherCount {
        /// The number of points.
        points: u64,
        /// The number that was given.
        expected: u64,
    },

    /// There is no point whose neighbours are asked for.
    #[error("like is {id}, which is the id of no point", id = uuid(id))]
    NoSuchPoint {
        /// Index of the query within its batch.
        item: usize,
        /// The id.
        id: [u8; 16],
    },

    /// Another process has the data folder open.
    #[error("{path} is in use by another process ({holder})", path = path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// What the lock file says of its holder.
        holder: String,
    },

    /// Bytes on disk are not what was written. Nothing was changed.
    #[error("{path} is damaged at byte {offset}: {reason}", path = path.display())]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// Offset in bytes from the start of the file.
        offset: u64,
        /// What is wrong, with the sequence number where one is known.
        reason: String,
    },

    /// The disk is full: the write was undone, reads go on.
    #[error("no space left on the disk that holds the data folder")]
    StorageFull,

    /// An earlier write could not be made durable: the store takes no more writes.
    #[error("the store is read-only since an earlier failure: {0}")]
    ReadOnly(String),

    /// The engine is closed or closing.
    #[error("the engine is closed")]
    Closed,

    /// The caller does not wait for the answer any more.
    #[error("the search was abandoned")]
    Abandoned,

    /// More work is waiting than the engine takes on.
    #[error("{0}")]
    Overloaded(String),

    /// The answer would be larger than it may be.
    #[error("the answer takes more than {max_bytes} bytes")]
    AnswerTooLarge {
        /// The most that it may take.
        max_bytes: usize,
    },

    /// A call to the operating system failed; the text names the file.
    #[error(transparent)]
    Io(#[from] io::Error),

    /// A fault of the engine itself.
    #[error("internal fault: {0}")]
    Internal(String),
}

/// The error of a file whose content is not what it must be.
pub fn invalid_data(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Writes an id as a UUID.
#[must_use]
pub fn uuid(id: &[u8; 16]) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(*id));
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &hex[part]);
    parts.join("-")
}

impl Error {
    /// Adds to damage the id of the point whose record is damaged. Other errors stay as they are.
    #[must_use]
    pub(crate) fn about(self, id: &[u8; 16]) -> Error {
        match self {
            Error::Damaged {
                path,
                offset,
                reason,
            } => Error::Damaged {
                path,
                offset,
                reason: format!("{reason}: point {}", uuid(id)),
            },
            other => other,
        }
    }

    /// The stable name of this kind of error, as the binding reports it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::InvalidArgument(_) => "INVALID_ARGUMENT",
            Error::NotFinite { .. } => "NOT_FINITE",
            Error::DimensionMismatch { .. } => "DIMENSION_MISMATCH",
            Error::OtherCount { .. } => "OTHER_COUNT",
            Error::NoSuchPoint { .. } => "NO_SUCH_POINT",
            Error::Locked { .. } => "LOCKED",
            Error::Damaged { .. } => "DAMAGED",
            Error::StorageFull => "STORAGE_FULL",
            Error::ReadOnly(_) => "READ_ONLY",
            Error::Closed => "CLOSED",
            Error::Abandoned => "ABANDONED",
            Error::Overloaded(_) => "OVERLOADED",
            Error::AnswerTooLarge { .. } => "ANSWER_TOO_LARGE",
            Error::Io(_) => "IO",
            Error::Internal(_) => "INTERNAL",
        }
    }
}
