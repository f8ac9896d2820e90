//! One process per data folder.

use std::{
    fs::TryLockError,
    io::{Read, Write},
    path::Path,
};

use fs_err::{File, OpenOptions, os::unix::fs::OpenOptionsExt};

use crate::{Error, Result};

/// An advisory lock on the data folder, held for as long as this value lives. The kernel lets go
/// of it when the process ends, however it ends. The file stays: removing it would let two
/// processes lock two files of one name.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock or says who holds it.
    pub fn acquire(folder: &Path) -> Result<Lock> {
        let path = folder.join("LOCK");
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut file = options.open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The text only helps the reader of the message; an unreadable one changes nothing.
                let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if known { holder.trim() } else { "unknown" }.to_owned();
                return Err(Error::Locked { path, holder });
            }
            Err(TryLockError::Error(error)) => {
                let text = format!("failed to lock {}: {error}", path.display());
                return Err(std::io::Error::new(error.kind(), text).into());
            }
        }
        file.set_len(0)?;
        file.write_all(format!("pid {}\n", std::process::id()).as_bytes())?;
        Ok(Lock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::Lock;
    use crate::Error;

    #[test]
    fn a_second_lock_is_refused_and_names_the_holder_until_the_first_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::acquire(folder.path()).unwrap();
        let Err(Error::Locked { path, holder }) = Lock::acquire(folder.path()) else {
            panic!("expected the folder to be locked");
        };
        assert_eq!(path, folder.path().join("LOCK"));
        assert_eq!(holder, format!("pid {}", std::process::id()));
        drop(first);
        Lock::acquire(folder.path()).unwrap();
    }
}
