//! A copy of a data folder as it is at one moment, whether a process has it open or not.
//!
//! It needs neither the lock nor that process: sealed segments never change, of the active one all
//! groups are taken that are whole, and what the manifest names is there for as long as no other
//! manifest has taken its place.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{
    copy::{copy, if_there, path_in, snapshots},
    event::{Damage, Event},
    format::{Flaw, Kind},
    io::{self, Disk, Io, remove_if_there, write_all},
    manifest::{self, Entry, Manifest},
    recovery,
    scan::{Found, Scan},
    segment::{self, Segment},
    snapshot::{self, LogEnd},
    unfinished::refuse_unfinished,
};
use crate::{Error, Result};

/// How often a backup starts over because a segment went while it was made. What was taken before
/// is kept, so that each time there is less to do.
const ATTEMPTS: u32 = 20;

/// What a backup holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// The segments in it.
    pub segments: u32,
    /// Those of them that share their bytes with the data folder.
    pub linked: u32,
    /// The bytes of the log.
    pub bytes: u64,
    /// The sequence of the last record.
    pub last_sequence: u64,
}

/// Backs up a data folder into one that is missing or empty: every write that was acknowledged
/// before is in it. All of the log is verified: where some of it is damaged, every place is told and
/// there is no backup. Holds a segment in memory. What a failed backup has made is removed; one that
/// ended otherwise has no `MANIFEST`.
pub fn backup(source: &Path, target: &Path, tell: &mut dyn FnMut(Event)) -> Result<BackupReport> {
    backup_on(&Disk, source, target, tell)
}

pub(super) fn backup_on(
    io: &dyn Io,
    source: &Path,
    target: &Path,
    tell: &mut dyn FnMut(Event),
) -> Result<BackupReport> {
    // Before anything is made: a source that is not there is the likeliest mistake.
    io.list(source)?;
    refuse_unfinished(io, source)?;
    refuse_inside(source, target)?;
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
        taken: BTreeMap::new(),
        report: BackupReport::default(),
        done: 0,
        total: 0,
        damages: Vec::new(),
        buffer: Vec::new(),
    };
    let made = backup.run();
    if made.is_err() {
        backup.remove_all();
        for damage in std::mem::take(&mut backup.damages) {
            (backup.tell)(Event::Damage(damage));
        }
    }
    made
}

/// Refuses a target in the folder that is to be backed up: what takes that folder would take the
/// backup along.
fn refuse_inside(source: &Path, target: &Path) -> Result<()> {
    let source = fs_err::canonicalize(source)?;
    for above in Path::new(".").join(target).ancestors() {
        match fs_err::canonicalize(above) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
            Ok(above) if above.starts_with(&source) => {
                let (source, target) = (source.display(), target.display());
                let text = format!("{target} is in {source}, which is to be backed up");
                return Err(Error::InvalidArgument(text));
            }
            Ok(_) => break,
        }
    }
    Ok(())
}

struct Backup<'a> {
    io: &'a dyn Io,
    source: &'a Path,
    target: &'a Path,
    tell: &'a mut dyn FnMut(Event),
    /// The files made so far.
    taken: BTreeMap<PathBuf, Taken>,
    report: BackupReport,
    done: u64,
    total: u64,
    /// What is wrong with the sealed segments.
    damages: Vec<Damage>,
    /// The segment that is being verified.
    buffer: Vec<u8>,
}

/// A file of the backup.
enum Taken {
    /// It may be there in part, and only the present attempt needs it.
    Other,
    /// A complete sealed segment.
    Sealed { entry: Entry, linked: bool },
}

impl Taken {
    fn is_sealed(&self) -> bool {
        matches!(self, Taken::Sealed { .. })
    }
}

impl Backup<'_> {
    fn run(&mut self) -> Result<BackupReport> {
        let mut attempts = 0;
        let manifest = loop {
            attempts += 1;
            // Snapshots first: what they lead to is then in the log that is read behind them.
            self.forget_all_but(Taken::is_sealed)?;
            self.take_snapshots()?;
            let manifest = Manifest::load(self.io, self.source)?;
            match self.take_log(manifest.as_ref()) {
                Ok(taken) => break taken,
                // A segment that another manifest does not name was no loss.
                Err(_) if attempts < ATTEMPTS && self.is_replaced(manifest.as_ref())? => {}
                Err(error) => return Err(error),
            }
        };
        self.io.sync_folder(self.target)?;
        io::sync_way_to(self.io, self.target);
        // The folder is a backup from here on.
        self.taken
            .insert(manifest::temporary_path(self.target), Taken::Other);
        self.taken.insert(manifest::path(self.target), Taken::Other);
        manifest.save(self.io, self.target)?;
        Ok(self.report.clone())
    }

    fn is_replaced(&self, manifest: Option<&Manifest>) -> Result<bool> {
        Ok(Manifest::load(self.io, self.source)?.as_ref() != manifest)
    }

    fn take_log(&mut self, manifest: Option<&Manifest>) -> Result<Manifest> {
        let Some((manifest, (last, sealed))) =
            manifest.and_then(|manifest| Some((manifest, manifest.segments.split_last()?)))
        else {
            return Err(self.nothing_stored()?);
        };
        self.forget_all_but(|taken| match taken {
            Taken::Sealed { entry, .. } => sealed.contains(entry),
            Taken::Other => true,
        })?;
        self.report = BackupReport::default();
        self.damages.clear();
        self.done = 0;
        self.total = sealed.iter().map(|entry| entry.end).sum();
        for entry in sealed {
            self.take_sealed(manifest, entry)?;
            self.report.bytes += entry.end;
            self.report.segments += 1;
            self.done = self.report.bytes;
            let (done, total) = (self.done, self.total);
            (self.tell)(Event::Progress { done, total });
        }
        let end = self.take_active(manifest, last)?;
        self.check_whole(manifest, &end)?;
        match self.damages.first() {
            Some(damage) => Err(damage.clone().into()),
            None => Ok(manifest.clone()),
        }
    }

    /// Why there is no log to take: there is none, or its manifest is gone.
    fn nothing_stored(&self) -> Result<Error> {
        for path in self.io.list(self.source)? {
            if segment::number(&path).is_some() {
                segment::check_orphan(self.io, &path, None)?;
            }
        }
        let text = format!("nothing is stored in {}", self.source.display());
        Ok(Error::InvalidArgument(text))
    }

    fn take_snapshots(&mut self) -> Result<()> {
        for path in snapshots(self.io, self.source)? {
            let to = path_in(self.target, &path);
            self.taken.insert(to.clone(), Taken::Other);
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

    /// Links a sealed segment, or copies it where that cannot be, and verifies it.
    fn take_sealed(&mut self, manifest: &Manifest, entry: &Entry) -> Result<()> {
        let (from, to) = [self.source, self.target]
            .map(|folder| segment::path(folder, entry.number))
            .into();
        if let Some(Taken::Sealed { linked, .. }) = self.taken.get(&to) {
            self.report.linked += u32::from(*linked);
            return Ok(());
        }
        self.taken.insert(to.clone(), Taken::Other);
        // Other file systems, too many links, files of somebody else: what stands in the way of a
        // link need not stand in the way of a copy, and where it does, the copy says so.
        let linked = self.io.link(&from, &to).is_ok();
        let segment = if linked {
            // The error of one that cannot be opened shall name it, and not its second name.
            let opened = self.io.open_read(&to);
            Segment::of(opened.or_else(|_| self.io.open_read(&from)), from)?
        } else {
            Segment::open_read(self.io, self.source, entry.number)?
        };
        entry
            .check(manifest, &segment.header)
            .map_err(|flaw| flaw.refuse(&segment.path))?;
        let is_sound = self.verify(&segment, entry)?;
        if linked {
            segment.file.sync_all()?;
        } else {
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
        }
        if !is_sound {
            return Ok(());
        }
        let entry = entry.clone();
        self.report.linked += u32::from(linked);
        self.taken.insert(to, Taken::Sealed { entry, linked });
        Ok(())
    }

    /// Reads and verifies all of a sealed segment; whether it is sound.
    fn verify(&mut self, segment: &Segment, entry: &Entry) -> Result<bool> {
        let bytes = segment.load(&mut self.buffer, 0, entry.end)?;
        let scan = Scan {
            header: &segment.header,
            bytes,
            sealed: true,
            known_end: entry.end,
        };
        let mut flaws = Vec::new();
        let extent = scan.run(&mut |found| {
            if let Found::Flaw(flaw, sequence) = found {
                flaws.push((flaw, sequence));
            }
        });
        let extent = extent.map_err(|flaw| flaw.refuse(&segment.path))?;
        let (last, expected) = (extent.next - 1, entry.last_sequence);
        if last > expected || last < expected && entry.kind == Kind::Log {
            let reason = format!("ends at sequence {last}, expected {expected}");
            flaws.push((Flaw::new(extent.end, reason), extent.next));
        }
        let is_sound = flaws.is_empty();
        for (flaw, sequence) in flaws {
            let damage = Damage::of(flaw, &segment.path, Some(sequence))?;
            self.damages.push(damage);
        }
        Ok(is_sound)
    }

    /// Makes sure that the manifest is not an older one put back: as a start does, by what else is
    /// there.
    fn check_whole(&self, manifest: &Manifest, end: &LogEnd) -> Result<()> {
        for path in segment::unnamed(&self.io.list(self.source)?, Some(manifest)) {
            match segment::check_orphan(self.io, path, Some(manifest)) {
                // The rest of a compaction, which has gone meanwhile.
                Err(Error::Io(error)) if error.kind() == ErrorKind::NotFound => {}
                checked => checked?,
            }
        }
        snapshot::check_log(self.io, self.target, Some(end))
    }

    /// Copies the whole groups of the segment that is being written, and says where they end.
    fn take_active(&mut self, manifest: &Manifest, entry: &Entry) -> Result<LogEnd> {
        let segment = Segment::open_read(self.io, self.source, entry.number)?;
        entry
            .check(manifest, &segment.header)
            .map_err(|flaw| flaw.refuse(&segment.path))?;
        let mut buffer = Vec::new();
        let (end, last_sequence) = read_active(&segment, entry, &mut buffer)?;
        let to = segment::path(self.target, entry.number);
        self.taken.insert(to.clone(), Taken::Other);
        let file = self.io.create(&to)?;
        write_all(&*file, &buffer[..end as usize], 0).map_err(|(_, error)| error)?;
        file.set_size(segment.header.capacity)?;
        file.sync_all()?;
        self.report.segments += 1;
        self.report.bytes += end;
        self.report.last_sequence = last_sequence;
        Ok(LogEnd {
            store: manifest.store,
            sequence: last_sequence,
            path: segment.path,
            offset: end,
        })
    }

    /// Removes what was taken and is not wanted.
    fn forget_all_but(&mut self, is_wanted: impl Fn(&Taken) -> bool) -> Result<()> {
        let forgotten = self.taken.extract_if(.., |_, taken| !is_wanted(taken));
        for (path, _) in forgotten {
            remove_if_there(self.io, &path)?;
        }
        Ok(())
    }

    fn remove_all(&mut self) {
        // The manifest goes first. What cannot be removed has none, and passes for nothing.
        for (path, _) in std::mem::take(&mut self.taken).into_iter().rev() {
            let _ = remove_if_there(self.io, &path);
        }
    }
}

/// Reads a segment that may be written meanwhile. Returns where its whole groups end and the
/// sequence of the last record.
fn read_active(segment: &Segment, entry: &Entry, buffer: &mut Vec<u8>) -> Result<(u64, u64)> {
    let mut damaged_at = None;
    loop {
        let bytes = segment.load(buffer, 0, segment.header.capacity)?;
        match recovery::read_active(&segment.header, bytes, entry) {
            Ok((walked, _)) => return Ok((walked.end, walked.last_sequence)),
            // Two groups may have been written between the reading of their places. Then what
            // proves the first was there before it is read again.
            Err(Flaw::Broken { offset, .. }) if damaged_at.is_none_or(|before| before < offset) => {
                damaged_at = Some(offset);
            }
            Err(flaw) => return Err(flaw.refuse(&segment.path)),
        }
    }
}
