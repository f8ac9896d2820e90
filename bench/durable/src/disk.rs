//! What is written to the disk that a folder is on, and what kind of disk that is.

use std::{os::unix::fs::MetadataExt, path::Path};

use rustix::fs::{major, minor};

use crate::Result;

/// In which the system counts what a device writes.
const SECTOR_BYTES: u64 = 512;

/// File systems without a device: a sync has nothing to wait for.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Bytes written so far.
#[derive(Clone, Copy)]
pub struct Written {
    /// By this process: each time a page of a file is changed that was as on the disk, or was not
    /// there, it counts as a whole, and a page that goes to the disk twice counts twice. The
    /// journal of the file system is not part of it.
    pub process: u64,
    /// By the device, whoever had it written, the journal included; unknown where the folder is on
    /// none.
    pub device: Option<u64>,
}

impl Written {
    /// Reads the counters once all that was written before has reached the device.
    pub fn now(folder: &Path) -> Result<Self> {
        let folder = fs_err::File::open(folder)?;
        rustix::fs::syncfs(&folder)?;
        let io = fs_err::read_to_string("/proc/self/io")?;
        let process = io
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: "));
        let device = folder.metadata()?.dev();
        let counters = format!("/sys/dev/block/{}:{}/stat", major(device), minor(device));
        let device = std::fs::read_to_string(counters).ok();
        Ok(Written {
            process: process.ok_or("/proc/self/io has no write_bytes")?.parse()?,
            device: device
                .as_deref()
                .and_then(sectors)
                .map(|sectors| sectors * SECTOR_BYTES),
        })
    }
}

/// The sectors written, seventh of the counters of a device.
fn sectors(counters: &str) -> Option<u64> {
    counters.split_whitespace().nth(6)?.parse().ok()
}

/// The file system that a folder is on.
pub struct FileSystem(String);

impl FileSystem {
    pub fn of(folder: &Path) -> Result<Self> {
        let folder = folder.canonicalize()?;
        let mounts = fs_err::read_to_string("/proc/self/mounts")?;
        let holding = mounts.lines().filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (place, kind) = (Path::new(fields.next()?), fields.next()?);
            folder.starts_with(place).then_some((place, kind))
        });
        // Of several in one place, the last one hides the others.
        let deepest = holding.max_by_key(|(place, _)| place.components().count());
        let (_, kind) = deepest.ok_or("the folder is on no file system")?;
        Ok(FileSystem(kind.to_owned()))
    }

    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether what is synced there survives a power cut.
    pub fn is_on_disk(&self) -> bool {
        !IN_MEMORY.contains(&self.name())
    }
}
