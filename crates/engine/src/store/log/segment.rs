//! A segment: one file of the log. It holds a header page, then groups, then zeros up to a size
//! that never changes, so that the file is mapped once and groups are appended within the mapping.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    format::{self, Flaw, GroupHeader, Kind, PAGE, SEGMENT_MAGIC, SegmentHeader},
    manifest::{self, Manifest},
};
use crate::{
    Error, Result,
    store::{
        io::{Io, IoFile, fatal, is_full, read_exact, write_all},
        mapping::Mapping,
    },
};

/// The number of the first segment, which may exist before the manifest.
pub const FIRST_NUMBER: u32 = 1;

/// The log is at least this number of times as large as a new segment, unless it is small. Then a
/// disk that holds the log has space for the copy of a segment.
const SEGMENTS_PER_LOG: u64 = 8;

/// The least size of a new segment: smaller ones are not worth a file.
const LEAST_SEGMENT_BYTES: u64 = 4 << 20;

/// A group of at most this size is small: allocating its blocks costs the file system about as much
/// as writing it.
const SMALL_GROUP: u64 = 16 << 10;

/// The number of zeros that are written ahead of small groups at a time.
const ZEROS_AHEAD: u64 = 256 << 10;

/// A file is read up to this offset to find out whether it holds groups: groups have no gaps, so
/// zeros up to here mean that there are none. The file may have any size, and a start must not read
/// all of it.
const LOOKED_AT: u64 = 64 << 20;

/// The number of bytes of a file that are in memory at once while it is searched.
const PIECE_BYTES: usize = 256 * PAGE;

/// An open segment.
pub struct Segment {
    pub header: SegmentHeader,
    pub path: PathBuf,
    /// The offset of the next group.
    pub end: u64,
    /// The checksum of the headers of all groups before `end`.
    pub groups: u32,
    /// The offset up to which the file has blocks on disk, as far as this process knows.
    written: u64,
    pub file: Box<dyn IoFile>,
}

impl Segment {
    /// Creates the file, durably. A crash before the manifest names it leaves an unnamed file
    /// without a group, which the next open removes.
    pub fn create(io: &dyn Io, folder: &Path, header: SegmentHeader) -> io::Result<Segment> {
        let path = path(folder, header.number);
        let file = io.create(&path)?;
        write_all(&*file, &header.encode(), 0).map_err(|(_, error)| error)?;
        file.set_size(header.capacity)?;
        file.sync_all().map_err(fatal)?;
        io.sync_folder(folder).map_err(fatal)?;
        Ok(Segment {
            header,
            path,
            end: PAGE as u64,
            groups: 0,
            written: PAGE as u64,
            file,
        })
    }

    /// Opens an existing file and verifies its header and its size.
    pub fn open(io: &dyn Io, folder: &Path, number: u32) -> Result<Segment> {
        let path = path(folder, number);
        Segment::of(io.open(&path), path)
    }

    /// Opens an existing file for reading only, and verifies its header and its size.
    pub fn open_read(io: &dyn Io, folder: &Path, number: u32) -> Result<Segment> {
        let path = path(folder, number);
        Segment::of(io.open_read(&path), path)
    }

    /// Makes a segment of a file that was opened: verifies its header and its size. Errors name it
    /// by `path`.
    pub fn of(opened: io::Result<Box<dyn IoFile>>, path: PathBuf) -> Result<Segment> {
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Flaw::new(0, "the file is missing").refuse(&path));
            }
            other => other?,
        };
        let size = file.size()?;
        let header = read_header(&*file, size, &path)?;
        if size != header.capacity {
            let reason = format!("the file ends here, expected {} bytes", header.capacity);
            return Err(Flaw::new(size, reason).refuse(&path));
        }
        Ok(Segment {
            header,
            path,
            end: PAGE as u64,
            groups: 0,
            written: PAGE as u64,
            file,
        })
    }

    /// Reads a range of the file into `buffer`. Unlike in mapped memory, a sector that cannot be
    /// read is an error and not a signal.
    pub fn load<'b>(&self, buffer: &'b mut Vec<u8>, from: u64, to: u64) -> Result<&'b [u8]> {
        let length = (to - from) as usize;
        grow(buffer, to - from, &self.path)?;
        read_exact(&*self.file, &mut buffer[..length], from)?;
        Ok(&buffer[..length])
    }

    /// The greatest length of the next group.
    pub fn free_bytes(&self) -> u64 {
        self.header.capacity - self.end
    }

    /// The bytes of new space that a group of this length takes, as far as this process knows.
    pub fn lacking_bytes(&self, group_length: u64) -> u64 {
        (self.end + group_length).saturating_sub(self.written)
    }

    /// Appends a group and makes it durable; returns the time that the sync took. If the disk is
    /// full, the group is erased again and the error says so. After any other error the content of
    /// the file is unknown. If space is short, no zeros are written ahead.
    pub fn append(&mut self, group: &[u8], is_short: bool) -> io::Result<Duration> {
        if !is_short {
            self.write_ahead(group.len() as u64)?;
        }
        if let Err((written, error)) = write_all(&*self.file, group, self.end) {
            if is_full(&error) {
                self.erase(self.end, self.end + written).map_err(fatal)?;
                self.written = self.end + written;
            }
            return Err(error);
        }
        let written_at = Instant::now();
        self.file.sync_data().map_err(fatal)?;
        self.end += group.len() as u64;
        self.groups = GroupHeader::add_to_checksum(self.groups, group);
        Ok(written_at.elapsed())
    }

    /// Writes zeros where the next small groups go (these bytes read as zeros already). Then the
    /// sync of such a group writes only its own bytes, and no metadata about new blocks of the
    /// file. The zeros become durable with the present group. It is not an error if the disk has no
    /// space for them.
    fn write_ahead(&mut self, group_length: u64) -> io::Result<()> {
        let group_end = self.end + group_length;
        if group_end <= self.written {
            return Ok(());
        }
        self.written = group_end;
        if group_length > SMALL_GROUP {
            return Ok(());
        }
        let to = (group_end + ZEROS_AHEAD).min(self.header.capacity);
        match self.write_zeros(group_end, to) {
            Ok(()) => self.written = to,
            Err(error) if is_full(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Appends a group to a segment that no manifest names yet; [`Segment::sync`] makes it durable.
    pub fn write(&mut self, group: &[u8]) -> io::Result<()> {
        write_all(&*self.file, group, self.end).map_err(|(_, error)| error)?;
        self.end += group.len() as u64;
        Ok(())
    }

    /// Makes the content durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Overwrites a range with zeros, durably. It takes no disk space if the range was written
    /// before.
    pub fn erase(&self, from: u64, to: u64) -> io::Result<()> {
        self.write_zeros(from, to)?;
        self.file.sync_data()
    }

    /// Overwrites a range with zeros.
    fn write_zeros(&self, from: u64, to: u64) -> io::Result<()> {
        static ZEROS: [u8; PAGE] = [0; PAGE];
        let mut at = from;
        while at < to {
            let length = (to - at).min(ZEROS.len() as u64);
            write_all(&*self.file, &ZEROS[..length as usize], at).map_err(|(_, error)| error)?;
            at += length;
        }
        Ok(())
    }

    /// Writes the bytes from `from` to the end once more and makes them durable. After a failed
    /// sync the system may treat bytes as written that are only in memory; a second sync would then
    /// succeed too.
    pub fn rewrite(&self, from: u64) -> Result<()> {
        let mut buffer = Vec::new();
        let bytes = self.load(&mut buffer, from, self.end)?;
        write_all(&*self.file, bytes, from).map_err(|(_, error)| error)?;
        Ok(self.file.sync_data()?)
    }

    /// Maps the whole file and publishes the groups in it.
    pub fn map(&self) -> io::Result<Mapping> {
        let mapping = self.file.map()?;
        mapping.publish(self.end);
        Ok(mapping)
    }
}

/// The usual size of a new segment of a log of this size, unless a group needs a larger one. It is
/// a power of two if the largest size allows, so that the reserve for compaction seldom changes
/// with it.
pub fn usual_bytes(log_bytes: u64, most_bytes: u64) -> u64 {
    let share = log_bytes / SEGMENTS_PER_LOG;
    let power = share.checked_ilog2().map_or(0, |power| 1 << power);
    power.max(LEAST_SEGMENT_BYTES).min(most_bytes)
}

/// Makes a buffer this long for bytes of a file. It is an error if there is no memory.
pub fn grow(buffer: &mut Vec<u8>, length: u64, path: &Path) -> Result<()> {
    let length = length as usize;
    if buffer.len() < length {
        buffer
            .try_reserve_exact(length - buffer.len())
            .map_err(|_| Error::Overloaded(format!("no memory to read {}", path.display())))?;
        buffer.resize(length, 0);
    }
    Ok(())
}

/// Reads the first `length` bytes of a file into `buffer`. Ranges that cannot be read are reported
/// to `tell`, and are zeros in the result.
pub fn load_readable(
    file: &dyn IoFile,
    path: &Path,
    buffer: &mut Vec<u8>,
    length: u64,
    tell: &mut dyn FnMut(Flaw),
) -> Result<()> {
    grow(buffer, length, path)?;
    let bytes = &mut buffer[..length as usize];
    if read_exact(file, bytes, 0).is_ok() {
        return Ok(());
    }
    for (index, page) in bytes.chunks_mut(PAGE).enumerate() {
        let offset = (index * PAGE) as u64;
        if let Err(error) = read_exact(file, page, offset) {
            page.fill(0);
            tell(Flaw::new(offset, format!("cannot be read: {error}")));
        }
    }
    Ok(())
}

/// Reads and verifies the header of a file of `size` bytes.
pub fn read_header(file: &dyn IoFile, size: u64, path: &Path) -> Result<SegmentHeader> {
    if size < PAGE as u64 {
        let reason = format!("the file ends here, expected a header of {PAGE} bytes");
        return Err(Flaw::new(size, reason).refuse(path));
    }
    let mut page = [0; PAGE];
    read_exact(file, &mut page, 0)?;
    SegmentHeader::decode(&page).map_err(|flaw| flaw.refuse(path))
}

/// The path of the segment with this number.
pub fn path(folder: &Path, number: u32) -> PathBuf {
    format::numbered(folder, number, ".log")
}

/// The number of the segment with this path, if the name is that of a segment.
#[must_use]
pub fn number(path: &Path) -> Option<u32> {
    format::number_of(path, ".log")
}

/// Makes a segment one of another store, by changing its header, durably. Nothing else in it names
/// the store.
pub fn set_store(io: &dyn Io, path: &Path, store: [u8; 16]) -> Result<()> {
    let file = io.open(path)?;
    let mut header = read_header(&*file, file.size()?, path)?;
    header.store = store;
    write_all(&*file, &header.encode(), 0).map_err(|(_, error)| error)?;
    Ok(file.sync_all()?)
}

/// The paths that are named like segments but are not in the manifest.
pub fn unnamed<'p>(
    paths: &'p [PathBuf],
    manifest: Option<&'p Manifest>,
) -> impl Iterator<Item = &'p PathBuf> {
    let entries = manifest.map_or(&[][..], |manifest| &manifest.segments);
    paths.iter().filter(move |path| {
        number(path).is_some_and(|number| entries.iter().all(|entry| entry.number != number))
    })
}

/// Checks that a segment that the manifest does not name is not needed. It is not if its creation
/// was interrupted, or if a compaction was, before or after the manifest named the new segment.
/// Refuses a segment with data that exists nowhere else, and a file that is not a segment.
pub fn check_unnamed(io: &dyn Io, path: &Path, manifest: Option<&Manifest>) -> Result<()> {
    let file = io.open_read(path)?;
    let size = file.size()?;
    let mut page = vec![0; size.min(PAGE as u64) as usize];
    read_exact(&*file, &mut page, 0)?;
    let header = page
        .first_chunk()
        .and_then(|page| SegmentHeader::decode(page).ok())
        .filter(|header| Some(header.number) == number(path));
    if let (Some(header), Some(manifest)) = (&header, manifest)
        && header.store == manifest.store
        && (header.number < manifest.next_number || header.kind != Kind::Log)
    {
        return Ok(());
    }
    // As long as nothing was stored, there may be several segments that begin the log, one made
    // after the other.
    let begins_log = number(path) == Some(FIRST_NUMBER)
        || header.is_some_and(|header| header.kind == Kind::Log && header.first_sequence == 1);
    let start = &page[..page.len().min(SEGMENT_MAGIC.len())];
    if start != &SEGMENT_MAGIC[..start.len()] && start.iter().any(|&byte| byte != 0) {
        let reason = "the file is named like a segment and does not start like one";
        return Err(Flaw::new(0, reason).refuse(path));
    }
    match first_data(&*file, PAGE as u64, size.min(LOOKED_AT))? {
        None if manifest.is_none() && !begins_log => {
            let name = path.file_name().unwrap_or_default().display();
            let reason = format!("the file is missing, and {name} is there");
            let folder = path.parent().unwrap_or(path);
            Err(Flaw::new(0, reason).refuse(&manifest::path(folder)))
        }
        None => Ok(()),
        Some(at) => {
            let why = if manifest.is_none() {
                "is missing"
            } else {
                "does not name it"
            };
            let reason = format!("this segment holds data, but MANIFEST {why}");
            Err(Flaw::new(at, reason).refuse(path))
        }
    }
}

/// Whether a file of `size` bytes holds anything behind its header.
pub fn holds_data(file: &dyn IoFile, size: u64) -> io::Result<bool> {
    Ok(first_data(file, PAGE as u64, size.min(LOOKED_AT))?.is_some())
}

/// The offset of the first byte in a range that is not 0.
fn first_data(file: &dyn IoFile, from: u64, to: u64) -> io::Result<Option<u64>> {
    let most = to.saturating_sub(from).min(PIECE_BYTES as u64);
    let mut buffer = vec![0; most as usize];
    let mut at = from;
    while at < to {
        let piece = &mut buffer[..(to - at).min(most) as usize];
        read_exact(file, piece, at)?;
        if let Some(index) = piece.iter().position(|&byte| byte != 0) {
            return Ok(Some(at + index as u64));
        }
        at += piece.len() as u64;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_known_by_its_name() {
        for number in [1, 99_999_999, 100_000_000, u32::MAX] {
            assert_eq!(
                super::number(&path(Path::new("/data"), number)),
                Some(number)
            );
        }
        for name in [
            "LOCK",
            "MANIFEST",
            "1.log",
            "000000001.log",
            "0000000a.log",
            "+0000001.log",
        ] {
            assert_eq!(super::number(Path::new(name)), None, "{name}");
        }
    }
}
