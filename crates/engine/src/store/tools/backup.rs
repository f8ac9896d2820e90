//! Backs up a data folder: copies it as it is at one moment, whether a process has it open or not.
//!
//! A backup needs neither the lock of the folder nor the process that holds it. The moment is that
//! of a manifest: the files that it names are linked or opened at once, so that they stay readable
//! however long the copies last. Sealed segments never change. Of the active segment, all whole
//! groups are copied.

use std::{
    collections::BTreeSet,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{
    copy::{copy, if_there, path_in, snapshots},
    event::{Damage, Event},
    flaws::Flaws,
};
use crate::{
    Error, Result,
    store::{
        io::{self, Disk, Io, remove_if_there, write_all},
        log::{
            format::Flaw,
            manifest::{self, Entry, Manifest},
            segment::{self, Segment},
            verify::{Extent, Verify},
        },
        names::refuse_no_files,
        recovery,
        snapshot::{self, LogEnd},
        unfinished::{refuse_inside, refuse_unfinished},
    },
};

/// The number of times that a backup tries to open the files of a log. A try fails if compaction
/// replaces a file after the manifest was read and before the file is opened.
const ATTEMPTS: u32 = 20;

/// A report of what is in a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// The number of segments.
    pub segments: u32,
    /// The number of segments that are links, and so share their bytes with the data folder.
    pub linked: u32,
    /// The bytes of the log.
    pub bytes: u64,
    /// The sequence of the last record.
    pub last_sequence: u64,
}

/// Backs up a data folder into a folder that is missing or empty. Every write that was acknowledged
/// before this call is in the backup. All of the log is verified. If it is damaged, every damaged
/// place is reported and there is no backup. This takes the memory of one segment. The files of a
/// failed backup are removed; a backup that was interrupted has no `MANIFEST`.
pub fn backup(source: &Path, target: &Path, tell: &mut dyn FnMut(Event)) -> Result<BackupReport> {
    backup_on(&Disk, source, target, tell)
}

pub(crate) fn backup_on(
    io: &dyn Io,
    source: &Path,
    target: &Path,
    tell: &mut dyn FnMut(Event),
) -> Result<BackupReport> {
    // This is checked before anything is made: a missing source is the likeliest mistake.
    refuse_no_files(io, source)?;
    refuse_unfinished(io, source)?;
    refuse_inside(source, target, "backed up")?;
    io::create_folder(target)?;
    if let Some(path) = io.list(target)?.first() {
        let (target, path) = (target.display(), path.display());
        let text = format!("{target} is not empty: it holds {path}");
        return Err(Error::InvalidArgument(text));
    }
    let mut backup = Backup {
        io,
        source,
        target,
        tell,
        made: BTreeSet::new(),
        report: BackupReport::default(),
        done: 0,
        total: 0,
        flaws: Flaws::default(),
        damages: Vec::new(),
        buffer: Vec::new(),
    };
    let made = backup.run();
    if made.is_err() {
        backup.remove_all();
    }
    backup.judge();
    let damages = std::mem::take(&mut backup.damages);
    damages.into_iter().map(Event::Damage).for_each(backup.tell);
    made
}

struct Backup<'a> {
    io: &'a dyn Io,
    source: &'a Path,
    target: &'a Path,
    tell: &'a mut dyn FnMut(Event),
    /// The files made so far.
    made: BTreeSet<PathBuf>,
    report: BackupReport,
    done: u64,
    total: u64,
    /// The flaws that were found so far.
    flaws: Flaws,
    /// The damage among them that matters, once all of the log was verified.
    damages: Vec<Damage>,
    /// The bytes of the segment that is being verified.
    buffer: Vec<u8>,
}

/// The log of one manifest. Its files stay readable when compaction removes them.
struct Log {
    manifest: Manifest,
    sealed: Vec<Sealed>,
    /// The segment that was being written, and what the manifest says of it.
    active: (Segment, Entry),
}

/// A sealed segment that is linked into the backup, or is held open to be copied.
struct Sealed {
    entry: Entry,
    held: Option<Segment>,
}

impl Backup<'_> {
    fn run(&mut self) -> Result<BackupReport> {
        // Snapshots are copied first: then the log, which is read after them, holds all of their
        // points.
        self.take_snapshots()?;
        let log = self.open_log()?;
        self.take_log(&log)?;
        self.io.sync_folder(self.target)?;
        io::sync_way_to(self.io, self.target);
        // The folder is a backup from here on.
        self.made.insert(manifest::temporary_path(self.target));
        self.made.insert(manifest::path(self.target));
        log.manifest.save(self.io, self.target)?;
        Ok(self.report.clone())
    }

    fn open_log(&mut self) -> Result<Log> {
        for _ in 0..ATTEMPTS {
            if let Some(log) = self.try_open_log()? {
                return Ok(log);
            }
        }
        let text = format!(
            "the files of {} were replaced {ATTEMPTS} times while they were opened: try again",
            self.source.display()
        );
        Err(std::io::Error::other(text).into())
    }

    /// Links or opens all segments of the manifest. None if one was replaced meanwhile.
    fn try_open_log(&mut self) -> Result<Option<Log>> {
        let Some(manifest) = self.current_manifest()? else {
            return Ok(None);
        };
        let (number, error) = match self.open_all(&manifest) {
            Ok(log) => return Ok(Some(log)),
            Err(failed) => failed,
        };
        let links = self
            .made
            .extract_if(.., |path| segment::number(path).is_some());
        for path in links {
            remove_if_there(self.io, &path)?;
        }
        // A segment is removed once a manifest does not name it any more. As long as the manifest
        // names it, its file must exist.
        let now = Manifest::load(self.io, self.source)?;
        if now.is_some_and(|now| now.segments.iter().any(|entry| entry.number == number)) {
            return Err(error);
        }
        Ok(None)
    }

    /// Reads the manifest, and checks that it was not replaced by an older one: as at a start, no
    /// segment that it does not name may hold data. A segment holds no data before a manifest names
    /// it, so the manifest is read after the segments. Segments that are begun later are not part
    /// of the backup. None if the manifest has just appeared or vanished.
    fn current_manifest(&self) -> Result<Option<Manifest>> {
        let before = Manifest::load(self.io, self.source)?;
        let paths = self.io.list(self.source)?;
        let mut unsettled = Vec::new();
        for path in segment::unnamed(&paths, before.as_ref()) {
            if self.check_unnamed(path, before.as_ref()).is_err() {
                unsettled.push(path.clone());
            }
        }
        let manifest = Manifest::load(self.io, self.source)?;
        if manifest.is_some() != before.is_some() {
            return Ok(None);
        }
        for path in segment::unnamed(&unsettled, manifest.as_ref()) {
            self.check_unnamed(path, manifest.as_ref())?;
        }
        if manifest.is_none() {
            let text = format!("nothing is stored in {}", self.source.display());
            return Err(Error::InvalidArgument(text));
        }
        Ok(manifest)
    }

    fn check_unnamed(&self, path: &Path, manifest: Option<&Manifest>) -> Result<()> {
        match segment::check_unnamed(self.io, path, manifest) {
            // The file was left by a compaction, and was removed meanwhile.
            Err(Error::Io(error)) if error.kind() == ErrorKind::NotFound => Ok(()),
            checked => checked,
        }
    }

    /// Links or opens the segments. An error comes with the number of its segment.
    fn open_all(&mut self, manifest: &Manifest) -> Result<Log, (u32, Error)> {
        let (last, before) = manifest.segments.split_last().expect("it names a segment");
        let mut sealed = Vec::new();
        for entry in before {
            let is_linked = self.link(entry.number);
            let segment = self.open(manifest, entry)?;
            sealed.push(Sealed {
                entry: entry.clone(),
                held: (!is_linked).then_some(segment),
            });
        }
        Ok(Log {
            active: (self.open(manifest, last)?, last.clone()),
            sealed,
            manifest: manifest.clone(),
        })
    }

    /// Links a sealed segment into the backup, and returns whether that was possible. Another file
    /// system, too many links or the owner of the file may prevent a link. They need not prevent a
    /// copy; if they do, the error of the copy gives the reason.
    fn link(&mut self, number: u32) -> bool {
        let [from, to] = [self.source, self.target].map(|folder| segment::path(folder, number));
        self.made.insert(to.clone());
        self.io.link(&from, &to).is_ok()
    }

    fn open(&self, manifest: &Manifest, entry: &Entry) -> Result<Segment, (u32, Error)> {
        let opened = Segment::open_read(self.io, self.source, entry.number).and_then(|segment| {
            let checked = entry.check(manifest, &segment.header);
            checked.map_err(|flaw| flaw.refuse(&segment.path))?;
            Ok(segment)
        });
        opened.map_err(|error| (entry.number, error))
    }

    fn take_log(&mut self, log: &Log) -> Result<()> {
        self.total = log.sealed.iter().map(|sealed| sealed.entry.end).sum();
        for sealed in &log.sealed {
            self.take_sealed(sealed)?;
            self.report.bytes += sealed.entry.end;
            self.report.segments += 1;
            self.done = self.report.bytes;
            let (done, total) = (self.done, self.total);
            (self.tell)(Event::Progress { done, total });
        }
        let end = self.take_active(log)?;
        snapshot::check_log(self.io, self.target, Some(&end))?;
        self.judge();
        self.damages
            .first()
            .map_or(Ok(()), |damage| Err(damage.clone().into()))
    }

    /// Separates the damage that matters, and reports the flaws that do not as notes.
    fn judge(&mut self) {
        let (damages, notes) = std::mem::take(&mut self.flaws).into_parts();
        self.damages.extend(damages);
        notes.into_iter().map(Event::Note).for_each(&mut *self.tell);
    }

    fn take_snapshots(&mut self) -> Result<()> {
        for path in snapshots(self.io, self.source)? {
            let to = path_in(self.target, &path);
            self.made.insert(to.clone());
            let taken = match self.io.link(&path, &to) {
                Ok(()) => if_there(self.io.open_read(&to))?.map(|file| file.sync_all()),
                Err(_) => if_there(self.io.open_read(&path))?.map(|file| {
                    let size = file.size()?;
                    copy(self.io, &*file, &to, (size, size), &mut |_| {}).map(drop)
                }),
            };
            taken.transpose()?;
        }
        Ok(())
    }

    /// Verifies a sealed segment, and copies it if it could not be linked.
    fn take_sealed(&mut self, sealed: &Sealed) -> Result<()> {
        let Sealed { entry, held } = sealed;
        let to = segment::path(self.target, entry.number);
        let Some(segment) = held else {
            let from = segment::path(self.source, entry.number);
            let segment = Segment::of(self.io.open_read(&to), from)?;
            self.verify(&segment, entry)?;
            self.report.linked += 1;
            return Ok(segment.file.sync_all()?);
        };
        self.verify(segment, entry)?;
        let sizes = (entry.end, segment.header.capacity);
        let crc = copy(self.io, &*segment.file, &to, sizes, &mut |bytes| {
            self.done += bytes;
            let (done, total) = (self.done, self.total);
            (self.tell)(Event::Progress { done, total });
        })?;
        if crc != crc32fast::hash(&self.buffer[..entry.end as usize]) {
            let reason = "it reads otherwise than when it was verified";
            return Err(Flaw::new(0, reason).refuse(&segment.path));
        }
        Ok(())
    }

    /// Reads and verifies all of a sealed segment.
    fn verify(&mut self, segment: &Segment, entry: &Entry) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let bytes = segment.load(&mut buffer, 0, entry.end)?;
        let extent = self.verify_groups(segment, bytes, entry)?;
        self.buffer = buffer;
        if let Err(flaw) = entry.check_end(extent.end, extent.next - 1, true) {
            let damage = Damage::of(flaw, &segment.path, Some(extent.next))?;
            self.flaws.push(damage);
        }
        Ok(())
    }

    /// Verifies groups of a segment. Every byte of them is known to have been written.
    fn verify_groups(&mut self, segment: &Segment, bytes: &[u8], entry: &Entry) -> Result<Extent> {
        let verify = Verify {
            header: &segment.header,
            bytes,
            sealed: true,
            entry: Some(entry),
        };
        let mut failure = None;
        let extent = verify.run(&mut |found| {
            if let Err(error) = self.flaws.heed(found, &segment.path, Some(entry)) {
                failure.get_or_insert(error);
            }
        });
        let extent = extent.map_err(|flaw| flaw.refuse(&segment.path))?;
        failure.map_or(Ok(extent), Err)
    }

    /// Copies the whole groups of the segment that was being written. Returns where they end.
    fn take_active(&mut self, log: &Log) -> Result<LogEnd> {
        let (active, entry) = &log.active;
        let mut buffer = Vec::new();
        let (end, last_sequence) = read_active(active, entry, &mut buffer)?;
        self.verify_groups(active, &buffer[..end as usize], entry)?;
        let to = segment::path(self.target, active.header.number);
        self.made.insert(to.clone());
        let file = self.io.create(&to)?;
        write_all(&*file, &buffer[..end as usize], 0).map_err(|(_, error)| error)?;
        file.set_size(active.header.capacity)?;
        file.sync_all()?;
        self.report.segments += 1;
        self.report.bytes += end;
        self.report.last_sequence = last_sequence;
        Ok(LogEnd {
            store: log.manifest.store,
            sequence: last_sequence,
            path: active.path.clone(),
            offset: end,
        })
    }

    fn remove_all(&mut self) {
        // The manifest is removed first: files that cannot be removed are no backup without it.
        for path in std::mem::take(&mut self.made).into_iter().rev() {
            let _ = remove_if_there(self.io, &path);
        }
    }
}

/// Reads a segment that another process may be writing. Returns where its whole groups end, and the
/// sequence of the last record.
fn read_active(segment: &Segment, entry: &Entry, buffer: &mut Vec<u8>) -> Result<(u64, u64)> {
    let mut damaged_at = None;
    loop {
        let bytes = segment.load(buffer, 0, segment.header.capacity)?;
        match recovery::read_active(&segment.header, bytes, entry) {
            Ok((walked, _)) => return Ok((walked.end, walked.last_sequence)),
            // Two groups may have been written while the file was read. The second, which proves
            // the first, was there before the file is read again.
            Err(Flaw::Broken { offset, .. }) if damaged_at.is_none_or(|before| before < offset) => {
                damaged_at = Some(offset);
            }
            Err(flaw) => return Err(flaw.refuse(&segment.path)),
        }
    }
}
