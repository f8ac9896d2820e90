//! One process per data folder.

use std::{
    fs::TryLockError,
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
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
        if let Err(error) = file.try_lock() {
            // Whom a shared lock does not disturb has one, and has left the text as it was.
            let shared =
                matches!(error, TryLockError::WouldBlock) && file.try_lock_shared().is_ok();
            if shared {
                let holder = "vectord check or restore".to_owned();
                return Err(Error::Locked { path, holder });
            }
            return Err(refusal(error, &mut file, path));
        }
        file.set_len(0)?;
        file.write_all(format!("pid {}\n", std::process::id()).as_bytes())?;
        Ok(Lock { _file: file })
    }

    /// Keeps every process that would write from opening the folder, and changes nothing in it.
    /// Nothing where no process ever opened it.
    pub fn share(folder: &Path) -> Result<Option<Lock>> {
        let path = folder.join("LOCK");
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(error) => Err(refusal(error, &mut file, path)),
        }
    }
}

/// Says who holds the lock, or why it cannot be taken.
fn refusal(error: TryLockError, file: &mut File, path: PathBuf) -> Error {
    match error {
        TryLockError::WouldBlock => {
            let mut holder = String::new();
            // The text only helps the reader of the message; an unreadable one changes nothing.
            let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
            let holder = if known { holder.trim() } else { "unknown" }.to_owned();
            Error::Locked { path, holder }
        }
        TryLockError::Error(error) => {
            let text = format!("failed to lock {}: {error}", path.display());
            io::Error::new(error.kind(), text).into()
        }
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

    #[test]
    fn a_shared_lock_keeps_writers_out_and_not_other_readers() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Lock::share(folder.path()).unwrap().is_none());
        assert!(!folder.path().join("LOCK").exists());
        let writer = Lock::acquire(folder.path()).unwrap();
        let Err(Error::Locked { holder, .. }) = Lock::share(folder.path()) else {
            panic!("expected the folder to be locked");
        };
        assert_eq!(holder, format!("pid {}", std::process::id()));
        drop(writer);
        let readers = [(); 2].map(|()| Lock::share(folder.path()).unwrap().unwrap());
        let Err(Error::Locked { holder, .. }) = Lock::acquire(folder.path()) else {
            panic!("expected the folder to be locked");
        };
        assert_eq!(holder, "vectord check or restore");
        drop(readers);
        Lock::acquire(folder.path()).unwrap();
    }
}
