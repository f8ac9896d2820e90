//! The lock of a data folder, which only one process may have open.

use std::{
    fs::TryLockError,
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use fs_err::{File, OpenOptions, os::unix::fs::OpenOptionsExt};

use super::io::open_file;
use crate::{Error, Result};

/// An advisory lock on the data folder, held as long as this value lives. The kernel releases it
/// when the process ends, for whatever reason. The file stays: if it were removed, two processes
/// could lock two files of one name. In case a user removes it nevertheless, the folder itself is
/// locked too, if its file system can.
pub struct Lock {
    _file: Option<File>,
    _folder: Option<File>,
}

/// What an error says of holders of a shared lock, which write no text.
const READERS: &str = "vectord check or restore";

impl Lock {
    /// Takes the lock, or fails with an error that names the holder.
    pub fn acquire(folder: &Path) -> Result<Lock> {
        let path = folder.join("LOCK");
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut file = open_file(&options, &path)?;
        if let Err(error) = file.try_lock() {
            // If a shared lock can be taken, the holders have shared locks, and the text is that of
            // an earlier holder.
            let shared =
                matches!(error, TryLockError::WouldBlock) && file.try_lock_shared().is_ok();
            if shared {
                let holder = READERS.to_owned();
                return Err(Error::Locked { path, holder });
            }
            return Err(refusal(error, &mut file, path));
        }
        let folder = lock_folder(folder, &path, File::try_lock)?;
        file.set_len(0)?;
        file.write_all(format!("pid {}\n", std::process::id()).as_bytes())?;
        Ok(Lock {
            _file: Some(file),
            _folder: folder,
        })
    }

    /// Takes a shared lock: no process can open the folder for writing meanwhile. Changes nothing
    /// in the folder.
    pub fn share(folder: &Path) -> Result<Lock> {
        let path = folder.join("LOCK");
        let file = match open_file(OpenOptions::new().read(true), &path) {
            // No process ever opened the folder, or a user has removed the file.
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            other => {
                let mut file = other?;
                if let Err(error) = file.try_lock_shared() {
                    return Err(refusal(error, &mut file, path));
                }
                Some(file)
            }
        };
        Ok(Lock {
            _folder: lock_folder(folder, &path, File::try_lock_shared)?,
            _file: file,
        })
    }
}

/// Locks the folder itself. None if its file system can lock only files.
fn lock_folder(
    folder: &Path,
    path: &Path,
    try_lock: fn(&File) -> Result<(), TryLockError>,
) -> Result<Option<File>> {
    let Ok(opened) = File::open(folder) else {
        return Ok(None);
    };
    match try_lock(&opened) {
        Ok(()) => Ok(Some(opened)),
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            let holder = if opened.try_lock_shared().is_ok() {
                READERS.to_owned()
            } else {
                "one that runs on though this file was removed or replaced".to_owned()
            };
            let path = path.to_owned();
            Err(Error::Locked { path, holder })
        }
    }
}

/// The error that names the holder of the lock, or the reason why it cannot be taken.
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
    fn a_folder_whose_lock_file_was_removed_or_replaced_stays_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let held = Lock::acquire(folder.path()).unwrap();
        for _ in 0..2 {
            fs_err::remove_file(&path).unwrap();
            let Err(Error::Locked { holder, .. }) = Lock::share(folder.path()) else {
                panic!("expected the folder to be locked");
            };
            assert!(holder.contains("removed or replaced"), "{holder}");
            // Which makes another file.
            let Err(Error::Locked { path: named, .. }) = Lock::acquire(folder.path()) else {
                panic!("expected the folder to be locked");
            };
            assert_eq!(named, path);
        }
        drop(held);
        Lock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn a_shared_lock_keeps_writers_out_and_not_other_readers() {
        let folder = tempfile::tempdir().unwrap();
        drop(Lock::share(folder.path()).unwrap());
        assert!(!folder.path().join("LOCK").exists());
        let writer = Lock::acquire(folder.path()).unwrap();
        let Err(Error::Locked { holder, .. }) = Lock::share(folder.path()) else {
            panic!("expected the folder to be locked");
        };
        assert_eq!(holder, format!("pid {}", std::process::id()));
        drop(writer);
        let readers = [(); 2].map(|()| Lock::share(folder.path()).unwrap());
        let Err(Error::Locked { holder, .. }) = Lock::acquire(folder.path()) else {
            panic!("expected the folder to be locked");
        };
        assert_eq!(holder, "vectord check or restore");
        drop(readers);
        Lock::acquire(folder.path()).unwrap();
    }
}
