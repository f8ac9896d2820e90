//! Checks a data folder: verifies every byte of its log, and names all damage, not only the first.
//! A check reads one segment at a time and changes nothing.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use super::{
    copy::snapshots,
    event::{Damage, Event},
    flaws::Flaws,
};
use crate::{
    Error, Result,
    store::{
        io::{Disk, Io, IoFile},
        lock::Lock,
        log::{
            format::{Flaw, Op, RecordHeader, SegmentHeader},
            manifest::{self, Entry, Manifest},
            segment,
            verify::{Extent, Found, Verify},
        },
        names::{refuse_foreign, refuse_no_files},
        snapshot::{self, LogEnd},
        unfinished::{marker_path, refuse_unfinished},
    },
};

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of segments that could be read.
    pub segments: u32,
    /// The number of sound records in these segments.
    pub records: u64,
    /// The number of live points among these records.
    pub points: u64,
    /// The bytes of the headers and groups of these segments.
    pub bytes: u64,
    /// The number of damaged places.
    pub damages: u64,
}

/// Verifies a data folder that no process has open. This takes the memory of one segment and of the
/// ids of the live points.
pub fn check(folder: &Path, tell: &mut dyn FnMut(Event)) -> Result<Report> {
    let _lock = Lock::share(folder)?;
    Ok(check_on(&Disk, folder, tell)?.report)
}

/// What a check has found in a folder.
pub struct Checked {
    pub report: Report,
    /// None if the manifest is missing or damaged.
    pub manifest: Option<Manifest>,
    /// The segments of the manifest that could be read, in their order.
    pub segments: Vec<CheckedSegment>,
    pub first_damage: Option<Damage>,
}

/// A segment that was checked.
pub struct CheckedSegment {
    pub number: u32,
    /// The size of its file in bytes.
    pub capacity: u64,
    /// The offset at which its groups end.
    pub end: u64,
    /// The checksum of everything before `end`.
    pub crc: u32,
}

/// Verifies a folder that the caller has locked.
pub fn check_on(io: &dyn Io, folder: &Path, tell: &mut dyn FnMut(Event)) -> Result<Checked> {
    refuse_no_files(io, folder)?;
    refuse_foreign(io, folder)?;
    let (mut check, paths) = Check::begin(io, folder, tell)?;
    if let Err(error) = refuse_unfinished(io, folder) {
        let flaw = Flaw::new(0, error.to_string());
        check.damage(flaw, &marker_path(folder), None)?;
    }
    match Manifest::load(io, folder) {
        Ok(manifest) => check.folder(manifest, &paths)?,
        Err(Error::Damaged { offset, reason, .. }) => {
            check.damage(Flaw::new(offset, reason), &manifest::path(folder), None)?;
            check.without_manifest(&paths)?;
        }
        Err(other) => return Err(other),
    }
    Ok(check.end())
}

/// Verifies a folder by this manifest, whose file does not have its final name yet.
pub fn check_by(
    io: &dyn Io,
    folder: &Path,
    manifest: Manifest,
    tell: &mut dyn FnMut(Event),
) -> Result<Checked> {
    let (mut check, paths) = Check::begin(io, folder, tell)?;
    check.folder(Some(manifest), &paths)?;
    Ok(check.end())
}

/// The bytes of all segments among these files.
fn total_bytes(io: &dyn Io, paths: &[PathBuf]) -> u64 {
    let segments = paths.iter().filter(|path| segment::number(path).is_some());
    segments
        .filter_map(|path| io.open_read(path).ok()?.size().ok())
        .sum()
}

struct Check<'a> {
    io: &'a dyn Io,
    folder: &'a Path,
    tell: &'a mut dyn FnMut(Event),
    total: u64,
    done: u64,
    live: HashSet<[u8; 16]>,
    /// Where the log ends, once its last segment was read.
    log_end: Option<LogEnd>,
    buffer: Vec<u8>,
    flaws: Flaws,
    checked: Checked,
}

impl<'a> Check<'a> {
    /// Begins a check, with the paths of all that is in the folder.
    fn begin(
        io: &'a dyn Io,
        folder: &'a Path,
        tell: &'a mut dyn FnMut(Event),
    ) -> Result<(Check<'a>, Vec<PathBuf>)> {
        let mut paths = io.list(folder)?;
        paths.sort_unstable();
        let check = Check {
            io,
            folder,
            tell,
            total: total_bytes(io, &paths),
            done: 0,
            live: HashSet::new(),
            log_end: None,
            buffer: Vec::new(),
            flaws: Flaws::default(),
            checked: Checked {
                report: Report::default(),
                manifest: None,
                segments: Vec::new(),
                first_damage: None,
            },
        };
        Ok((check, paths))
    }

    /// Verifies all of the folder.
    fn folder(&mut self, manifest: Option<Manifest>, paths: &[PathBuf]) -> Result<()> {
        let mut with_data = Vec::new();
        for path in segment::unnamed(paths, manifest.as_ref()) {
            if !self.is_rest(path, manifest.as_ref())? {
                with_data.push(path.clone());
            }
        }
        let Some(manifest) = manifest else {
            if paths.iter().all(|path| segment::number(path).is_none()) {
                let folder = self.folder.display();
                (self.tell)(Event::Note(format!("nothing is stored in {folder}")));
            }
            self.snapshots()?;
            return self.without_manifest(&with_data);
        };
        for (index, entry) in manifest.segments.iter().enumerate() {
            let sealed = index + 1 < manifest.segments.len();
            self.named(&manifest, entry, sealed)?;
        }
        self.checked.manifest = Some(manifest);
        self.snapshots()
    }

    /// Checks that the log does not end before what its snapshots hold. Damage in a snapshot itself
    /// is only noted, since it holds nothing that the log does not.
    fn snapshots(&mut self) -> Result<()> {
        match snapshot::check_log(self.io, self.folder, self.log_end.as_ref()) {
            Err(Error::Damaged {
                path,
                offset,
                reason,
            }) => self.damage(Flaw::new(offset, reason), &path, None)?,
            checked => checked?,
        }
        let Some(end) = &self.log_end else {
            return Ok(());
        };
        for path in snapshots(self.io, self.folder)? {
            if let Err(error) = snapshot::verify(self.io, &path, end.store) {
                let text = format!("{error}: a start without it takes longer, and loses nothing");
                (self.tell)(Event::Note(text));
            }
        }
        Ok(())
    }

    /// Whether a file that is named like a segment, and that the manifest does not name, is left
    /// over, so that a start would remove it.
    fn is_rest(&mut self, path: &Path, manifest: Option<&Manifest>) -> Result<bool> {
        match segment::check_unnamed(self.io, path, manifest) {
            Ok(()) => {
                let path = path.display();
                let text = format!("{path} is the rest of an interrupted creation or removal");
                (self.tell)(Event::Note(text));
                Ok(true)
            }
            Err(Error::Damaged {
                path,
                offset,
                reason,
            }) => {
                self.damage(Flaw::new(offset, reason), &path, None)?;
                Ok(false)
            }
            Err(other) => Err(other),
        }
    }

    /// Verifies the segments of a folder without a manifest, which would say which of them must
    /// exist.
    fn without_manifest(&mut self, paths: &[PathBuf]) -> Result<()> {
        for path in paths {
            if segment::number(path).is_none() {
                continue;
            }
            let Some((file, size)) = self.open(path, None)? else {
                continue;
            };
            if let Some(header) = self.header(&*file, size, path, None)? {
                self.verify(
                    &*file,
                    path,
                    size.min(header.capacity),
                    (&header, false, None),
                )?;
            }
        }
        Ok(())
    }

    /// Verifies a segment that the manifest names.
    fn named(&mut self, manifest: &Manifest, entry: &Entry, sealed: bool) -> Result<()> {
        let path = segment::path(self.folder, entry.number);
        let first = Some(entry.first_sequence);
        let Some((file, size)) = self.open(&path, first)? else {
            return Ok(());
        };
        let Some(header) = self.header(&*file, size, &path, first)? else {
            return Ok(());
        };
        if let Err(flaw) = entry.check(manifest, &header) {
            return self.damage(flaw, &path, first);
        }
        if size != header.capacity {
            let reason = format!("the file ends here, expected {} bytes", header.capacity);
            self.damage(Flaw::new(size, reason), &path, None)?;
        }
        let length = if sealed { entry.end } else { header.capacity };
        let how = (&header, sealed, Some(entry));
        let (extent, crc) = self.verify(&*file, &path, length.min(size), how)?;
        let last = extent.next.saturating_sub(1);
        if let Err(flaw) = entry.check_end(extent.end, last, sealed) {
            self.damage(flaw, &path, Some(extent.next))?;
        }
        self.log_end = Some(LogEnd {
            store: manifest.store,
            sequence: last.max(entry.last_sequence),
            path,
            offset: extent.end,
        });
        self.checked.segments.push(CheckedSegment {
            number: entry.number,
            capacity: header.capacity,
            end: extent.end,
            crc,
        });
        Ok(())
    }

    fn open(&mut self, path: &Path, lost: Option<u64>) -> Result<Option<(Box<dyn IoFile>, u64)>> {
        match self.io.open_read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.damage(Flaw::new(0, "the file is missing"), path, lost)?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
            Ok(file) => {
                let size = file.size()?;
                Ok(Some((file, size)))
            }
        }
    }

    fn header(
        &mut self,
        file: &dyn IoFile,
        size: u64,
        path: &Path,
        lost: Option<u64>,
    ) -> Result<Option<SegmentHeader>> {
        let flaw = match segment::read_header(file, size, path) {
            Ok(header) => return Ok(Some(header)),
            Err(Error::Damaged { offset, reason, .. }) => Flaw::new(offset, reason),
            Err(Error::Io(error)) if error.kind() != std::io::ErrorKind::Unsupported => {
                Flaw::new(0, format!("the segment header cannot be read: {error}"))
            }
            Err(other) => return Err(other),
        };
        self.damage(flaw, path, lost)?;
        Ok(None)
    }

    /// Verifies the groups in the first `length` bytes. Returns where they end, and a checksum of
    /// everything before that.
    fn verify(
        &mut self,
        file: &dyn IoFile,
        path: &Path,
        length: u64,
        (header, sealed, entry): (&SegmentHeader, bool, Option<&Entry>),
    ) -> Result<(Extent, u32)> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut unread = Vec::new();
        segment::load_readable(file, path, &mut buffer, length, &mut |flaw| {
            unread.push(flaw);
        })?;
        for flaw in unread {
            self.damage(flaw, path, None)?;
        }
        let verify = Verify {
            header,
            bytes: &buffer[..length as usize],
            sealed,
            entry,
        };
        let mut failure = None;
        let extent = verify.run(&mut |found| {
            if let Found::Record(record, _) = found {
                self.record(record);
            }
            if let Err(error) = self.flaws.heed(found, path, entry) {
                failure.get_or_insert(error);
            }
        });
        let extent = extent.map_err(|flaw| flaw.refuse(path))?;
        if let Some(error) = failure {
            return Err(error);
        }
        if let Some(torn) = extent.torn {
            let (path, end, bytes) = (path.display(), extent.end, torn - extent.end);
            (self.tell)(Event::Note(format!(
                "a torn tail of {bytes} bytes at byte {end} of {path}: a write that was \
                 interrupted, which the next start cuts"
            )));
        }
        let end = (extent.end as usize).min(buffer.len());
        let crc = crc32fast::hash(&buffer[..end]);
        self.buffer = buffer;
        self.checked.report.segments += 1;
        self.checked.report.bytes += extent.end;
        self.done += file.size()?;
        (self.tell)(Event::Progress {
            done: self.done,
            total: self.total,
        });
        Ok((extent, crc))
    }

    fn record(&mut self, record: &RecordHeader) {
        self.checked.report.records += 1;
        match record.op {
            Op::Insert => {
                self.live.insert(record.id);
            }
            Op::Delete => {
                self.live.remove(&record.id);
            }
            Op::DeleteAll => self.live.clear(),
            Op::Noop => {}
        }
    }

    fn damage(&mut self, flaw: Flaw, path: &Path, sequence: Option<u64>) -> Result<()> {
        self.flaws.push(Damage::of(flaw, path, sequence)?);
        Ok(())
    }

    /// Reports the flaws. This comes at the end, as only then it is known which of them matter.
    fn end(mut self) -> Checked {
        let (damages, notes) = self.flaws.into_parts();
        self.checked.report.points = self.live.len() as u64;
        self.checked.report.damages = damages.len() as u64;
        self.checked.first_damage = damages.first().cloned();
        damages
            .into_iter()
            .map(Event::Damage)
            .for_each(&mut *self.tell);
        notes.into_iter().map(Event::Note).for_each(&mut *self.tell);
        self.checked
    }
}
