//! Snapshot files. A snapshot saves the next start from computing again what the log implies: the
//! graphs. What it holds is up to its writer, [`Index`](crate::index::Index).
//!
//! A snapshot is complete or does not exist: it is written under another name, synced and renamed.
//! Its bytes are in frames of a mebibyte, each with a checksum that is verified before the frame is
//! used. docs/FORMAT.md describes the file byte by byte.

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    io::{Io, IoFile, is_full, read_exact, remove_if_there, write_all},
    lock::Lock,
    random,
};
use crate::{
    Error, Result,
    error::invalid_data,
    store::log::{
        format::{self, Flaw, array_at, check_start, put, u32_at, u64_at},
        manifest,
    },
};

const MAGIC: [u8; 8] = *b"VECDSNAP";
const HEADER_BYTES: usize = 64;
const STORE_ID_AT: usize = 16;
const STORE_ID_END: usize = STORE_ID_AT + 16;
const HEADER_CRC_AT: usize = HEADER_BYTES - 4;
const FRAME_HEADER_BYTES: usize = 12;

/// The greatest number of bytes of content in a frame.
const FRAME_BYTES: usize = 1 << 20;

/// After this number of bytes a snapshot that is being written is synced. A single sync at the end would
/// make the syncs of the log wait for all of its bytes, and with them the writes.
const SYNC_BYTES: usize = 16 << 20;

/// The number of snapshots that are kept: if the last is damaged, the one before is used.
const KEPT: usize = 2;

/// The snapshots of a store.
pub struct Snapshots {
    io: Arc<dyn Io>,
    folder: PathBuf,
    /// Keeps other processes from the folder as long as snapshots are written.
    _lock: Arc<Lock>,
    /// The id of the store.
    store: [u8; 16],
}

impl Snapshots {
    pub(super) fn new(io: Arc<dyn Io>, folder: &Path, lock: Arc<Lock>, store: [u8; 16]) -> Self {
        Snapshots {
            io,
            folder: folder.to_owned(),
            _lock: lock,
            store,
        }
    }

    /// The existing snapshots, the newest first.
    pub fn list(&self) -> Result<Vec<PathBuf>> {
        let mut found: Vec<(u32, PathBuf)> = self
            .io
            .list(&self.folder)?
            .into_iter()
            .filter_map(|path| Some((number(&path)?, path)))
            .collect();
        found.sort_unstable_by_key(|&(number, _)| std::cmp::Reverse(number));
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    /// Removes a file if it says that it is a snapshot of this store, and returns whether it does. Any
    /// other file with such a name, and one that cannot be read, may be none of ours.
    pub fn remove(&self, path: &Path) -> Result<bool> {
        let is_ours = self.is_ours(path).unwrap_or(false);
        if is_ours {
            remove_if_there(&*self.io, path)?;
        }
        Ok(is_ours)
    }

    fn is_ours(&self, path: &Path) -> io::Result<bool> {
        let file = self.io.open_read(path)?;
        let mut start = [0; STORE_ID_END];
        read_exact(&*file, &mut start, 0)?;
        Ok(start[..MAGIC.len()] == MAGIC && start[STORE_ID_AT..] == self.store)
    }

    /// Opens a snapshot for reading. Refuses one of another store or version.
    pub fn read(&self, path: &Path) -> Result<SnapshotReader> {
        open(&*self.io, path, self.store)
    }

    /// Writes a snapshot of the state after `sequence`: `write` writes its content. Once it is
    /// durable, all but the last two are removed; one that cannot be removed stays. After an error, a
    /// full disk included, nothing has changed.
    pub fn write(
        &self,
        sequence: u64,
        write: impl FnOnce(&mut SnapshotWriter) -> io::Result<()>,
    ) -> Result<()> {
        let temporary = self.folder.join("SNAPSHOT.tmp");
        let before = self.list()?;
        let last = before.first().and_then(|path| number(path)).unwrap_or(0);
        let path = format::numbered(&self.folder, last + 1, ".snapshot");
        let written = self.write_as(&temporary, &path, sequence, write);
        if written.is_err() {
            // If this fails, the file is removed at the next attempt.
            drop(self.io.remove(&temporary));
        }
        written.map_err(|error| match error {
            Error::Io(error) if is_full(&error) => Error::StorageFull,
            other => other,
        })?;
        for path in before.iter().skip(KEPT - 1) {
            // It is tried again after the next snapshot.
            drop(self.remove(path));
        }
        Ok(())
    }

    fn write_as(
        &self,
        temporary: &Path,
        path: &Path,
        sequence: u64,
        write: impl FnOnce(&mut SnapshotWriter) -> io::Result<()>,
    ) -> Result<()> {
        remove_if_there(&*self.io, temporary)?;
        let mut header = [0; HEADER_BYTES];
        let id: [u8; 16] = random()?;
        put(&mut header, 0, &MAGIC);
        put(&mut header, 8, &format::VERSION.to_le_bytes());
        put(&mut header, STORE_ID_AT, &self.store);
        put(&mut header, 32, &id);
        put(&mut header, 48, &sequence.to_le_bytes());
        let crc = crc32fast::hash(&header[..HEADER_CRC_AT]);
        put(&mut header, HEADER_CRC_AT, &crc.to_le_bytes());
        let file = self.io.create(temporary)?;
        write_all(&*file, &header, 0).map_err(|(_, error)| error)?;
        let mut writer = SnapshotWriter {
            file,
            id,
            at: HEADER_BYTES as u64,
            frames: 0,
            frame: Vec::with_capacity(FRAME_HEADER_BYTES + FRAME_BYTES),
            unsynced: 0,
        };
        writer.begin_frame();
        write(&mut writer)?;
        writer.end()?;
        self.io.rename(temporary, path)?;
        Ok(self.io.sync_folder(&self.folder)?)
    }
}

/// The number of the snapshot with this path, if it is named like one.
pub fn number(path: &Path) -> Option<u32> {
    format::number_of(path, ".snapshot")
}

/// Opens a snapshot of a store for reading. Refuses one of another store or version.
pub fn open(io: &dyn Io, path: &Path, store: [u8; 16]) -> Result<SnapshotReader> {
    let file = io.open_read(path)?;
    let header = read_header(&*file, path)?;
    if array_at(&header, STORE_ID_AT) != store {
        return Err(
            Flaw::new(STORE_ID_AT as u64, "the snapshot belongs to another store").refuse(path),
        );
    }
    Ok(SnapshotReader {
        path: path.to_owned(),
        size: file.size()?,
        file,
        id: array_at(&header, 32),
        sequence: u64_at(&header, 48),
        at: HEADER_BYTES as u64,
        frames: 0,
        frame: Vec::new(),
        taken: 0,
    })
}

/// Verifies all of a snapshot of a store.
pub fn verify(io: &dyn Io, path: &Path, store: [u8; 16]) -> Result<()> {
    let mut snapshot = open(io, path, store)?;
    let read = io::copy(&mut snapshot, &mut io::sink());
    read.map(drop).map_err(|error| snapshot.refuse(&error))
}

/// Reads and verifies the header of a snapshot.
fn read_header(file: &dyn IoFile, path: &Path) -> Result<[u8; HEADER_BYTES]> {
    let size = file.size()?;
    let mut header = [0; HEADER_BYTES];
    let damaged = |flaw: Flaw| flaw.refuse(path);
    if size < HEADER_BYTES as u64 {
        return Err(damaged(Flaw::new(
            size,
            "the file ends here, expected a header",
        )));
    }
    read_exact(file, &mut header, 0)?;
    check_start(&header, MAGIC, "snapshot", HEADER_CRC_AT, format::VERSION).map_err(damaged)?;
    if u32_at(&header, HEADER_CRC_AT) != crc32fast::hash(&header[..HEADER_CRC_AT]) {
        return Err(damaged(Flaw::new(
            0,
            "the checksum of the header does not match",
        )));
    }
    Ok(header)
}

/// Changes the store in the header of a snapshot, durably. A damaged snapshot stays as it is.
pub fn set_store(io: &dyn Io, path: &Path, store: [u8; 16]) -> Result<()> {
    let file = io.open(path)?;
    let mut header = match read_header(&*file, path) {
        Err(Error::Damaged { .. }) => return Ok(()),
        header => header?,
    };
    put(&mut header, 16, &store);
    let crc = crc32fast::hash(&header[..HEADER_CRC_AT]);
    put(&mut header, HEADER_CRC_AT, &crc.to_le_bytes());
    write_all(&*file, &header, 0).map_err(|(_, error)| error)?;
    Ok(file.sync_all()?)
}

/// The end of a log, as far as it can be read.
pub struct LogEnd {
    /// The id of the store whose log it is.
    pub store: [u8; 16],
    /// The sequence of the last record.
    pub sequence: u64,
    /// The path of the last segment.
    pub path: PathBuf,
    /// The offset at which its groups end.
    pub offset: u64,
}

/// Refuses a log that ends before a snapshot, or a snapshot without a log: a snapshot holds only
/// what was durable before, so the end of the log is lost or replaced by an older copy. Damaged
/// snapshots prove nothing if there is a log. Snapshots of a later version are refused.
pub fn check_log(disk: &dyn Io, folder: &Path, log: Option<&LogEnd>) -> Result<()> {
    for path in disk.list(folder)? {
        if number(&path).is_none() {
            continue;
        }
        let name = path.file_name().unwrap_or_default().display();
        let Some(log) = log else {
            let reason = format!("the file is missing, and {name} proves that there was one");
            return Err(Flaw::new(0, reason).refuse(&manifest::path(folder)));
        };
        let known = match open(disk, &path, log.store) {
            Ok(snapshot) => snapshot.sequence(),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Err(error.into());
            }
            Err(_) => 0,
        };
        if known > log.sequence {
            let reason = format!(
                "the log ends at sequence {}, and {name} proves that {known} was on disk",
                log.sequence
            );
            return Err(Flaw::new(log.offset, reason).refuse(&log.path));
        }
    }
    Ok(())
}

/// Writes the content of a snapshot, in frames.
pub struct SnapshotWriter {
    file: Box<dyn IoFile>,
    id: [u8; 16],
    /// The offset of the next frame.
    at: u64,
    /// The number of frames written so far.
    frames: u32,
    /// The present frame: space for its header, then its content so far.
    frame: Vec<u8>,
    /// The bytes written since the last sync.
    unsynced: usize,
}

impl SnapshotWriter {
    fn begin_frame(&mut self) {
        self.frame.clear();
        self.frame.resize(FRAME_HEADER_BYTES, 0);
    }

    fn end_frame(&mut self) -> io::Result<()> {
        let length = (self.frame.len() - FRAME_HEADER_BYTES) as u32;
        put(&mut self.frame, 0, &length.to_le_bytes());
        put(&mut self.frame, 4, &self.frames.to_le_bytes());
        let crc = frame_crc(self.id, &self.frame);
        put(&mut self.frame, 8, &crc.to_le_bytes());
        write_all(&*self.file, &self.frame, self.at).map_err(|(_, error)| error)?;
        self.at += self.frame.len() as u64;
        self.frames += 1;
        self.unsynced += self.frame.len();
        if self.unsynced >= SYNC_BYTES {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        self.begin_frame();
        Ok(())
    }

    /// Writes the last frame, an empty one, and makes everything durable.
    fn end(mut self) -> io::Result<()> {
        self.flush()?;
        self.end_frame()?;
        self.file.sync_all()
    }
}

impl Write for SnapshotWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = FRAME_HEADER_BYTES + FRAME_BYTES - self.frame.len();
        let taken = free.min(bytes.len());
        self.frame.extend_from_slice(&bytes[..taken]);
        if taken == free {
            self.end_frame()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.frame.len() > FRAME_HEADER_BYTES {
            self.end_frame()?;
        }
        Ok(())
    }
}

/// Reads the content of a snapshot, verified.
pub struct SnapshotReader {
    file: Box<dyn IoFile>,
    path: PathBuf,
    size: u64,
    id: [u8; 16],
    sequence: u64,
    at: u64,
    frames: u32,
    frame: Vec<u8>,
    /// Bytes of the frame that were read.
    taken: usize,
}

impl SnapshotReader {
    /// The sequence after which the snapshot was taken.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The most bytes that may still follow.
    #[must_use]
    pub fn rest(&self) -> u64 {
        self.size - self.at + (self.frame.len() - self.taken) as u64
    }

    /// The error that refuses the snapshot after this one: damage if it says what was found in it. With
    /// any other one, as of the disk or for lack of memory, another start may read it.
    #[must_use]
    pub fn refuse(&self, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Flaw::new(self.at, error.to_string()).refuse(&self.path)
            }
            _ => io::Error::other(format!("{}: {error}", self.path.display())).into(),
        }
    }

    /// Makes sure that nothing is left to read.
    pub fn end(&mut self) -> io::Result<()> {
        if self.read(&mut [0])? == 0 {
            return Ok(());
        }
        Err(invalid_data("more content than expected"))
    }

    fn next_frame(&mut self) -> io::Result<()> {
        let mut header = [0; FRAME_HEADER_BYTES];
        let rest = self.size - self.at;
        if rest < FRAME_HEADER_BYTES as u64 {
            return Err(invalid_data("the file ends here, expected a frame"));
        }
        read_exact(&*self.file, &mut header, self.at)?;
        let length = u32_at(&header, 0) as usize;
        if length > FRAME_BYTES || (FRAME_HEADER_BYTES + length) as u64 > rest {
            return Err(invalid_data("a frame that is too long"));
        }
        self.frame.clear();
        self.frame.extend_from_slice(&header);
        self.frame.resize(FRAME_HEADER_BYTES + length, 0);
        let content = self.at + FRAME_HEADER_BYTES as u64;
        read_exact(&*self.file, &mut self.frame[FRAME_HEADER_BYTES..], content)?;
        if u32_at(&header, 8) != frame_crc(self.id, &self.frame)
            || u32_at(&header, 4) != self.frames
        {
            return Err(invalid_data("the checksum of a frame does not match"));
        }
        self.taken = FRAME_HEADER_BYTES;
        self.at = content + length as u64;
        self.frames += 1;
        if length == 0 && self.at < self.size {
            return Err(invalid_data("bytes behind the last frame"));
        }
        Ok(())
    }
}

impl Read for SnapshotReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let has_ended = self.frame.len() == FRAME_HEADER_BYTES;
        if self.taken == self.frame.len() && !has_ended {
            self.next_frame()?;
        }
        let content = &self.frame[self.taken..];
        let count = content.len().min(buffer.len());
        buffer[..count].copy_from_slice(&content[..count]);
        self.taken += count;
        Ok(count)
    }
}

/// The checksum of a frame: of the snapshot's id and of all of the frame but the checksum itself.
fn frame_crc(id: [u8; 16], frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&id);
    hasher.update(&frame[..8]);
    hasher.update(&frame[FRAME_HEADER_BYTES..]);
    hasher.finalize()
}
