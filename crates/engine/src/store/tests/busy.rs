//! A disk for tests on which things happen while something reads.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::overwrite;
use crate::store::{
    io::{Disk, Io, IoFile, IoFolder},
    mapping::Mapping,
};

/// The real disk, for a reader. Before each call `before` runs, and may make the call fail.
#[derive(Clone)]
pub struct BusyDisk {
    before: Arc<Mutex<Before>>,
    /// The most bytes that one call reads, so that something can happen in between.
    pub piece: usize,
}

type Before = dyn FnMut(Made) -> io::Result<()> + Send;

/// A call that is about to be made.
pub enum Made<'a> {
    Create(&'a Path),
    OpenRead(&'a Path),
    Link(&'a Path),
    ReadAt(u64),
    Other,
}

impl BusyDisk {
    pub fn new(before: impl FnMut(Made) -> io::Result<()> + Send + 'static) -> BusyDisk {
        BusyDisk {
            before: Arc::new(Mutex::new(before)),
            piece: 320,
        }
    }

    /// A disk without links, on which a file changes when its copy begins.
    pub fn changing(file: PathBuf, copy: PathBuf) -> BusyDisk {
        BusyDisk::new(move |made| match made {
            Made::Link(_) => Err(ErrorKind::CrossesDevices.into()),
            Made::Create(path) if path == copy => {
                overwrite(&file, 5000, &[0x55; 4]);
                Ok(())
            }
            _ => Ok(()),
        })
    }

    fn before(&self, made: Made) -> io::Result<()> {
        (self.before.lock().unwrap())(made)
    }

    fn file(&self, file: Box<dyn IoFile>) -> Box<dyn IoFile> {
        let disk = self.clone();
        Box::new(BusyFile { disk, file })
    }
}

impl Io for BusyDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        self.before(Made::Create(path))?;
        Disk.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        panic!("{} is opened for writing", path.display());
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn IoFile>> {
        self.before(Made::OpenRead(path))?;
        Ok(self.file(Disk.open_read(path)?))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before(Made::Link(from))?;
        Disk.link(from, to)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.before(Made::Other)?;
        Disk.read(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.before(Made::Other)?;
        Disk.list(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before(Made::Other)?;
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }

    fn open_folder(&self, folder: &Path) -> io::Result<Box<dyn IoFolder>> {
        self.before(Made::Other)?;
        Disk.open_folder(folder)
    }
}

struct BusyFile {
    disk: BusyDisk,
    file: Box<dyn IoFile>,
}

impl IoFile for BusyFile {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.before(Made::ReadAt(offset))?;
        let length = buffer.len().min(self.disk.piece);
        self.file.read_at(&mut buffer[..length], offset)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        panic!("a file that is read is written");
    }

    fn set_size(&self, _: u64) -> io::Result<()> {
        panic!("a file that is read is resized");
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn map(&self) -> io::Result<Mapping> {
        self.file.map()
    }
}
