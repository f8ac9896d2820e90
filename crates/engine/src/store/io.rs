//! The traits through which the store calls the operating system. They are implemented by the real
//! disk, and in tests by a simulated one that loses what was not synced.

use std::{
    io::{self, ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use fs_err::os::unix::fs::{FileExt, OpenOptionsExt};

use crate::{Error, store::mapping::Mapping};

/// The calls on names in a folder.
pub trait Io: Send + Sync {
    /// Creates a file that must not exist yet, open for reading and writing.
    fn create(&self, path: &Path) -> io::Result<Box<dyn IoFile>>;
    /// Opens an existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn IoFile>>;
    /// Opens an existing file for reading and syncing.
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn IoFile>>;
    /// Gives a file a second name on its file system, which must not exist yet.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// The whole content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// The paths of everything in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
    /// Renames a file, replacing any file of the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Opens a folder, before a change in it that is to be synced.
    fn open_folder(&self, folder: &Path) -> io::Result<Box<dyn IoFolder>>;

    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.open_folder(folder)?.sync()
    }
}

/// The call on an open folder.
pub trait IoFolder {
    /// Makes its names durable: what was created, renamed and removed in it.
    fn sync(&self) -> io::Result<()>;
}

/// The calls on an open file.
pub trait IoFile: Send + Sync {
    /// Its size in bytes.
    fn size(&self) -> io::Result<u64>;
    /// Reads at an offset; may read less than asked.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at an offset; may write less than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Sets the size; what is added reads as zeros and takes no space yet.
    fn set_size(&self, size: u64) -> io::Result<()>;
    /// Makes the content durable, with the metadata that reading it back needs.
    fn sync_data(&self) -> io::Result<()>;
    /// Makes the content and all metadata durable.
    fn sync_all(&self) -> io::Result<()>;
    /// Maps the whole file for reading.
    fn map(&self) -> io::Result<Mapping>;
}

/// The real disk.
pub struct Disk;

impl Io for Disk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        let mut options = fs_err::OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        Ok(Box::new(DiskFile(options.open(path)?)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        let mut options = fs_err::OpenOptions::new();
        Ok(Box::new(DiskFile(open_file(
            options.read(true).write(true),
            path,
        )?)))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        let mut options = fs_err::OpenOptions::new();
        Ok(Box::new(DiskFile(open_file(options.read(true), path)?)))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs_err::hard_link(from, to)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut options = fs_err::OpenOptions::new();
        open_file(options.read(true), path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs_err::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs_err::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs_err::remove_file(path)
    }

    fn open_folder(&self, folder: &Path) -> io::Result<Box<dyn IoFolder>> {
        let folder = fs_err::File::open(folder)?;
        Ok(Box::new(DiskFolder { folder }))
    }
}

struct DiskFolder {
    folder: fs_err::File,
}

impl IoFolder for DiskFolder {
    fn sync(&self) -> io::Result<()> {
        synced(&self.folder, self.folder.sync_all())
    }
}

struct DiskFile(fs_err::File);

impl IoFile for DiskFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.set_len(size)
    }

    fn sync_data(&self) -> io::Result<()> {
        synced(&self.0, self.0.sync_data())
    }

    fn sync_all(&self) -> io::Result<()> {
        synced(&self.0, self.0.sync_all())
    }

    fn map(&self) -> io::Result<Mapping> {
        Mapping::new(self.0.file())
    }
}

/// Opens a file. Anything but a file is refused first: opening a FIFO would wait for its other end.
pub fn open_file(options: &fs_err::OpenOptions, path: &Path) -> io::Result<fs_err::File> {
    refuse_no_file(path)?;
    options.open(path)
}

/// Refuses a path at which there is something other than a file. If it cannot be examined, it
/// passes: opening it gives the reason.
pub fn refuse_no_file(path: &Path) -> io::Result<()> {
    let Ok(found) = std::fs::metadata(path) else {
        return Ok(());
    };
    let found = found.file_type();
    let kind = match found {
        _ if found.is_file() => return Ok(()),
        _ if found.is_dir() => "folder",
        _ if found.is_fifo() => "FIFO",
        _ if found.is_socket() => "socket",
        _ => "device",
    };
    let path = path.display();
    let text =
        format!("{path} is a {kind}, where a file of vectord is expected: move it elsewhere");
    Err(io::Error::other(text))
}

/// Refuses a file that is to be changed in place and has further names (hard links), as files of a
/// backup do: with it, the data of another folder would change.
pub fn refuse_shared(path: &Path) -> Result<(), Error> {
    let names = fs_err::metadata(path)?.nlink();
    if names == 1 {
        return Ok(());
    }
    let text = format!(
        "{} has {names} names (hard links), expected one: another folder would change with it; copy \
         this folder and take the copy",
        path.display()
    );
    Err(Error::InvalidArgument(text))
}

/// Creates the data folder, readable by its owner alone, with the folders above it where they are
/// missing.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| {
            let text = format!("failed to create the folder {}: {error}", folder.display());
            io::Error::new(error.kind(), text)
        })
}

/// Makes the names of a new data folder and of the folders above it durable. Otherwise a power cut
/// could lose a folder, with all points in it.
pub fn sync_way_to(io: &dyn Io, folder: &Path) {
    for above in Path::new(".").join(folder).ancestors().skip(1) {
        if above != Path::new("") {
            // A folder that we may not open existed before.
            let _ = io.sync_folder(above);
        }
    }
}

/// Whether a disk was not asked to write out its own cache, see [`synced`].
static LEAVES_DISK_CACHE: AtomicBool = AtomicBool::new(false);

/// What to tell of syncs so far, if they protect less than they should.
pub fn weak_sync() -> Option<String> {
    LEAVES_DISK_CACHE.load(Relaxed).then(|| {
        "the file system does not know F_FULLFSYNC, as over a network: an acknowledged write survives a \
         kill of the process, but perhaps no power cut, for its disk may keep it in a cache"
            .to_owned()
    })
}

/// The outcome of a sync. On macOS it has the disk write out its own cache too (`F_FULLFSYNC`), which
/// some file systems do not know. There what the system holds is written out alone.
fn synced(file: &fs_err::File, outcome: io::Result<()>) -> io::Result<()> {
    if cfg!(target_vendor = "apple") {
        let plainly = || Ok(rustix::fs::fsync(file.file())?);
        or_else_plainly(outcome, plainly, &LEAVES_DISK_CACHE)
    } else {
        outcome
    }
}

/// The outcome, or where the file system does not know the call, that of another one; `was_needed` is
/// set if that was done.
fn or_else_plainly(
    outcome: io::Result<()>,
    plainly: impl FnOnce() -> io::Result<()>,
    was_needed: &AtomicBool,
) -> io::Result<()> {
    match outcome {
        // After any other failure a second sync may succeed though data is lost.
        Err(error) if UNKNOWN_CALL.iter().any(|&code| has_code(&error, code)) => {
            plainly()?;
            was_needed.store(true, Relaxed);
            Ok(())
        }
        outcome => outcome,
    }
}

/// What a file system answers to a call that it does not know.
const UNKNOWN_CALL: [i32; 3] = [libc::ENOTSUP, libc::ENOTTY, libc::EINVAL];

/// Fills the buffer from an offset; a file that ends before is an error.
pub fn read_exact(file: &dyn IoFile, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.read_at(buffer, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = &mut buffer[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all bytes at an offset; an error comes with the number of bytes written before it.
pub fn write_all(file: &dyn IoFile, bytes: &[u8], offset: u64) -> Result<(), (u64, io::Error)> {
    let mut written = 0;
    while written < bytes.len() {
        match file.write_at(&bytes[written..], offset + written as u64) {
            Ok(0) => return Err((written as u64, ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err((written as u64, error)),
        }
    }
    Ok(())
}

/// Whether an error says that no further file can be opened. Then nothing was done, and another try
/// may succeed soon.
pub fn is_out_of_files(error: &io::Error) -> bool {
    has_code(error, libc::EMFILE) || has_code(error, libc::ENFILE)
}

/// Whether the system has answered with this code.
fn has_code(error: &io::Error, code: i32) -> bool {
    // An error that names its file has the code only in its text.
    let ending = format!("(os error {code})");
    error.raw_os_error() == Some(code) || error.to_string().ends_with(&ending)
}

/// Whether an error says that the disk is full. After it a store goes on.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// Marks an error as one that ends all writing, even if the disk is full: after a failed sync it is
/// not known what the disk holds, and another try can report success for data that is lost. If a
/// file could not be opened, nothing was done, and the error stays as it is.
pub fn fatal(error: io::Error) -> io::Error {
    if is_out_of_files(&error) {
        error
    } else {
        io::Error::other(error)
    }
}

/// Removes a file that may be missing.
pub fn remove_if_there(io: &dyn Io, path: &Path) -> io::Result<()> {
    match io.remove(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The simulated disk of the other tests never reaches the system: here the answer of the
    /// system itself has to come back. It refuses to sync what is not on a disk.
    #[test]
    fn syncs_reach_the_system() {
        let name = Disk.open(Path::new("/proc/self/comm")).unwrap();
        assert!(name.sync_data().is_err());
        assert!(name.sync_all().is_err());
        assert!(Disk.sync_folder(Path::new("/proc/self")).is_err());
    }

    #[test]
    fn only_a_call_that_is_unknown_is_done_in_another_way_which_is_told() {
        let failed = |code| Err(io::Error::from_raw_os_error(code));
        let never = || panic!("a second sync may succeed though data is lost");
        let was_needed = AtomicBool::new(false);
        let sync = |outcome, plain| or_else_plainly(outcome, || plain, &was_needed);
        assert!(or_else_plainly(failed(libc::EIO), never, &was_needed).is_err());
        or_else_plainly(Ok(()), never, &was_needed).unwrap();
        assert!(sync(failed(libc::ENOTSUP), failed(libc::EIO)).is_err());
        assert!(!was_needed.load(Relaxed));
        sync(failed(libc::ENOTSUP), Ok(())).unwrap();
        assert!(was_needed.load(Relaxed));
    }
}

/// Random bytes of the operating system.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}
