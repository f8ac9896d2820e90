//! Surveys a damaged folder for a repair: reads what can still be read, file by file.

use std::path::{Path, PathBuf};

use super::{header, ranges::Ranges};
use crate::{
    Error, Result,
    store::{
        io::{Io, is_out_of_files},
        log::{
            format::{BLOCK, Flaw, Kind, Op, PAGE, RecordHeader, SegmentHeader},
            manifest::{self, Entry, Manifest},
            segment, tail,
            usage::Tombstone,
            verify::{Found, Verify},
        },
        snapshot,
        tools::event::{Damage, Event},
    },
};

/// All that a folder holds of one store.
pub struct Survey {
    pub dimension: u32,
    /// The segments that were read. The segments that the manifest names come first.
    pub files: Vec<Surveyed>,
    /// Every damaged place.
    pub damages: Vec<Damage>,
    /// The greatest sequence that a segment, the manifest or a snapshot proves.
    pub last_sequence: u64,
    /// Whether the log may have gone on behind it.
    pub is_open: bool,
}

/// The readable content of one segment.
pub struct Surveyed {
    pub path: PathBuf,
    pub header: SegmentHeader,
    pub inserts: Vec<Insert>,
    /// The sequences of inserts that were deleted or replaced, each with the id of its point.
    pub deletes: Vec<(u64, [u8; 16])>,
    /// The sequence before the last record that deleted all points; 0 if there is none.
    pub all_deleted: u64,
    /// Points whose vector or payload is lost.
    pub uncopyable: Vec<Spoilt>,
    /// The sequences whose records are known.
    pub known: Ranges,
}

/// The sound record of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Insert {
    pub sequence: u64,
    pub id: [u8; 16],
    /// The offset of its header, in blocks from the start of the file.
    pub block: u32,
    pub content_bytes: u32,
    pub metadata_bytes: u32,
}

/// A point whose record is damaged.
#[derive(Clone, Debug)]
pub struct Spoilt {
    pub sequence: u64,
    pub id: [u8; 16],
    /// The offset of its record's header, in bytes.
    pub offset: u64,
}

/// A file that is read.
struct SurveyFile {
    path: PathBuf,
    header: SegmentHeader,
    /// What the manifest says of the segment, and whether it is the last one of the manifest.
    named: Option<(Entry, bool)>,
    /// Whether only its groups can prove that it belongs to the store.
    needs_proof: bool,
}

/// Reads all segments of a folder. Damage is reported, and the survey goes on behind it.
pub fn survey(io: &dyn Io, folder: &Path, tell: &mut dyn FnMut(Event)) -> Result<Survey> {
    let mut reader = Reader {
        io,
        folder,
        tell,
        damages: Vec::new(),
        buffer: Vec::new(),
    };
    let manifest = reader.manifest()?;
    let mut paths = io.list(folder)?;
    paths.sort_unstable();
    let candidates = reader.candidates(&paths, manifest.as_ref())?;
    let Some(first) = candidates.first() else {
        return Err(reader.nothing(&paths, manifest.as_ref()));
    };
    let (dimension, store) = (first.header.dimension, first.header.store);
    let mut survey = Survey {
        dimension,
        files: Vec::new(),
        damages: Vec::new(),
        last_sequence: last_known(io, &paths, manifest.as_ref(), store),
        is_open: manifest.is_none(),
    };
    let last_log = last_log(&candidates);
    let (mut done, total) = (0, candidates.iter().map(|file| file.header.capacity).sum());
    let mut has_last = false;
    for (index, candidate) in candidates.iter().enumerate() {
        // Without a manifest that says what was on disk, everything sound is taken as written.
        let may_be_torn = Some(index) == last_log && candidate.named.is_some();
        if let Some((surveyed, is_open)) = reader.read(candidate, !may_be_torn)? {
            survey.is_open |= is_open;
            has_last |= candidate.named.as_ref().is_none_or(|&(_, is_last)| is_last);
            survey.files.push(surveyed);
        }
        done += candidate.header.capacity;
        (reader.tell)(Event::Progress { done, total });
    }
    survey.is_open |= !has_last;
    for file in &mut survey.files {
        file.known.sort();
        let last = file.known.last().unwrap_or(0);
        survey.last_sequence = survey.last_sequence.max(last);
    }
    if survey.last_sequence == 0 {
        return Err(reader.nothing(&paths, manifest.as_ref()));
    }
    survey.damages = reader.damages;
    Ok(survey)
}

/// The last sequence that the manifest and the snapshots prove.
fn last_known(io: &dyn Io, paths: &[PathBuf], manifest: Option<&Manifest>, store: [u8; 16]) -> u64 {
    let snapshots = paths.iter().filter(|path| snapshot::number(path).is_some());
    let known = snapshots.filter_map(|path| snapshot::open(io, path, store).ok());
    let last = manifest.and_then(|manifest| manifest.segments.last());
    known
        .map(|snapshot| snapshot.sequence())
        .chain(last.map(|entry| entry.last_sequence))
        .max()
        .unwrap_or(0)
}

/// The index of the segment that may still have been written to: no other segment of the log begins
/// behind it.
fn last_log(candidates: &[SurveyFile]) -> Option<usize> {
    let logs = candidates.iter().enumerate();
    logs.filter(|(_, file)| file.header.kind == Kind::Log)
        .max_by_key(|(_, file)| file.header.first_sequence)
        .filter(|(_, file)| file.named.as_ref().is_none_or(|&(_, is_last)| is_last))
        .map(|(index, _)| index)
}

struct Reader<'a> {
    io: &'a dyn Io,
    folder: &'a Path,
    tell: &'a mut dyn FnMut(Event),
    damages: Vec<Damage>,
    /// Holds the file that is being read.
    buffer: Vec<u8>,
}

impl Reader<'_> {
    fn manifest(&mut self) -> Result<Option<Manifest>> {
        let path = manifest::path(self.folder);
        let flaw = match Manifest::load(self.io, self.folder) {
            Ok(Some(manifest)) => return Ok(Some(manifest)),
            Ok(None) => Flaw::new(0, "the file is missing"),
            Err(Error::Damaged { offset, reason, .. }) => Flaw::new(offset, reason),
            Err(other) => unreadable(other)?,
        };
        self.damage(flaw, &path, None)?;
        Ok(None)
    }

    /// The segments that belong to one store: the store of the manifest, or without a manifest the
    /// store that most of the headers name.
    fn candidates(
        &mut self,
        paths: &[PathBuf],
        manifest: Option<&Manifest>,
    ) -> Result<Vec<SurveyFile>> {
        let mut found = Vec::new();
        for path in paths.iter().filter(|path| segment::number(path).is_some()) {
            match self.header(path, manifest) {
                Ok(candidate) => found.extend(candidate),
                Err(Error::Damaged { offset, reason, .. }) => {
                    self.damage(Flaw::new(offset, reason), path, None)?;
                }
                Err(other) => {
                    let flaw = unreadable(other)?;
                    self.damage(flaw, path, None)?;
                }
            }
        }
        let store = match manifest {
            Some(manifest) => Some(manifest.store),
            None => self.store_of_most(&found)?,
        };
        let (own, foreign): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|file| Some(file.header.store) == store);
        for file in foreign {
            let flaw = Flaw::new(16, "the segment belongs to another store");
            self.damage(flaw, &file.path, None)?;
        }
        let mut own = self.without_rests(own, manifest)?;
        for entry in manifest.iter().flat_map(|manifest| &manifest.segments) {
            let has_id = |file: &SurveyFile| file.header.id == entry.id;
            if !own.iter().any(has_id) {
                let path = segment::path(self.folder, entry.number);
                let flaw = Flaw::new(0, "the segment that MANIFEST names is not there");
                self.damage(flaw, &path, Some(entry.first_sequence))?;
            }
        }
        // Segments that the manifest names come first, and among them those under their own name.
        own.sort_by_key(|file| {
            let own_name = segment::number(&file.path) == Some(file.header.number);
            (file.named.is_none(), !own_name)
        });
        Ok(own)
    }

    /// The header of a segment, recovered if it is damaged and can be. None if the segment holds no
    /// group.
    fn header(&mut self, path: &Path, manifest: Option<&Manifest>) -> Result<Option<SurveyFile>> {
        let file = self.io.open_read(path)?;
        let size = file.size()?;
        let entries = manifest.map_or(&[][..], |manifest| &manifest.segments);
        let mut needs_proof = false;
        let header = match segment::read_header(&*file, size, path) {
            Ok(header) => header,
            Err(error) => {
                let number = segment::number(path);
                let entry = entries.iter().find(|entry| Some(entry.number) == number);
                if manifest.is_some() && entry.is_none() && !segment::holds_data(&*file, size)? {
                    let path = path.display();
                    let text = format!("{path} is the rest of an interrupted creation");
                    (self.tell)(Event::Note(text));
                    return Ok(None);
                }
                let ignore = &mut |_| {};
                segment::load_readable(&*file, path, &mut self.buffer, size, ignore)?;
                let bytes = &self.buffer[..size as usize];
                let is_newer = matches!(&error, Error::Io(error) if error.kind() == std::io::ErrorKind::Unsupported);
                let recovered = header::recover(bytes, manifest.zip(entry)).filter(|_| !is_newer);
                let Some(recovered) = recovered else {
                    return Err(error);
                };
                needs_proof = !recovered.names_store;
                let flaw = match error {
                    Error::Damaged { offset, reason, .. } => Flaw::new(offset, reason),
                    other => unreadable(other)?,
                };
                self.damage(flaw, path, None)?;
                recovered.header
            }
        };
        let place = entries.iter().position(|entry| entry.id == header.id);
        let named = place.map(|at| (entries[at].clone(), at + 1 == entries.len()));
        if named.is_none() && !segment::holds_data(&*file, size)? {
            return Ok(None);
        }
        Ok(Some(SurveyFile {
            path: path.to_owned(),
            header,
            named,
            needs_proof,
        }))
    }

    /// Leaves out the segments that a start would remove. A segment that was compacted into another
    /// may hold points whose deletes were dropped since, and would bring these points back.
    fn without_rests(
        &mut self,
        found: Vec<SurveyFile>,
        manifest: Option<&Manifest>,
    ) -> Result<Vec<SurveyFile>> {
        let mut kept = Vec::new();
        let entries = manifest.map_or(&[][..], |manifest| &manifest.segments);
        let is_there = |entry: &Entry| found.iter().any(|file| file.header.id == entry.id);
        let is_complete = manifest.is_some() && entries.iter().all(is_there);
        for file in found {
            let number = file.header.number;
            let entry = entries.iter().find(|entry| entry.number == number);
            let is_past = manifest.is_some_and(|manifest| number < manifest.next_number);
            let is_begun = is_complete && file.header.kind != Kind::Log;
            let dimension = manifest.map_or(file.header.dimension, |known| known.dimension);
            if file.named.is_none() && entry.is_some() || file.header.dimension != dimension {
                let flaw = Flaw::new(32, "this is not the segment that MANIFEST names");
                self.damage(flaw, &file.path, None)?;
            } else if file.named.is_none() && (is_past || is_begun) {
                let path = file.path.display();
                let text = format!("{path} is not read: it is the rest of a compaction");
                (self.tell)(Event::Note(text));
            } else {
                kept.push(file);
            }
        }
        Ok(kept)
    }

    /// The store that most of the segments belong to.
    fn store_of_most(&self, found: &[SurveyFile]) -> Result<Option<[u8; 16]>> {
        let mut stores: Vec<[u8; 16]> = found.iter().map(|file| file.header.store).collect();
        stores.sort_unstable();
        let mut counts: Vec<(usize, [u8; 16])> = stores
            .chunk_by(|a, b| a == b)
            .map(|same| (same.len(), same[0]))
            .collect();
        counts.sort_unstable();
        match counts[..] {
            [.., (second, _), (first, _)] if first == second => {
                Err(Error::InvalidArgument(format!(
                    "{} holds segments of several stores and no MANIFEST that names one: repair \
                     copies of it that hold those of one store each",
                    self.folder.display()
                )))
            }
            [.., (_, store)] => Ok(Some(store)),
            [] => Ok(None),
        }
    }

    /// The error that says why nothing can be saved.
    fn nothing(&mut self, paths: &[PathBuf], manifest: Option<&Manifest>) -> Error {
        let is_empty =
            manifest.is_none() && paths.iter().all(|path| segment::number(path).is_none());
        match self.damages.pop() {
            Some(damage) if !is_empty => damage.into(),
            _ => Error::InvalidArgument(format!(
                "{} holds no point: there is nothing to repair",
                self.folder.display()
            )),
        }
    }

    /// Reads a segment, and returns what could be read and whether the log may have gone on behind
    /// that. None if the segment turns out to be from another copy of the folder.
    fn read(&mut self, candidate: &SurveyFile, sealed: bool) -> Result<Option<(Surveyed, bool)>> {
        let SurveyFile { path, header, .. } = candidate;
        let entry = candidate.named.as_ref().map(|(entry, _)| entry);
        let file = self.io.open_read(path)?;
        let size = file.size()?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut flaws = Vec::new();
        let unread = &mut |flaw| flaws.push((flaw, None));
        segment::load_readable(&*file, path, &mut buffer, size, unread)?;
        let mut bytes = &buffer[..size as usize];
        // If the file was cut within a block, the part that is left counts.
        let dirty = match size % BLOCK as u64 {
            0 => tail::dirty_end(bytes, PAGE as u64).unwrap_or(PAGE as u64),
            _ => size,
        };
        if sealed {
            // Where the last segment ends, the manifest does not say.
            let end = match &candidate.named {
                Some((entry, false)) => entry.end,
                _ => dirty,
            };
            bytes = &bytes[..(end as usize).min(bytes.len())];
        }
        let mut walk = SegmentSurvey::new(candidate);
        let verify = Verify {
            header,
            bytes,
            sealed,
            entry,
        };
        let extent = verify.run(&mut |found| {
            walk.add(&found);
            flaws.extend(found.flaw().map(|(flaw, sequence)| (flaw, Some(sequence))));
        });
        let extent = extent.map_err(|flaw| flaw.refuse(path))?;
        self.buffer = buffer;
        let ends_as_named = |entry: &Entry| entry.is_at_end(extent.end, extent.next - 1, sealed);
        let is_whole = flaws.is_empty() && entry.is_some_and(ends_as_named);
        for (flaw, sequence) in flaws {
            self.damage(flaw, path, sequence)?;
        }
        if candidate.needs_proof && !is_whole {
            let reason = "nothing proves that it belongs to this store: it is not read";
            self.damage(Flaw::new(16, reason), path, Some(header.first_sequence))?;
            return Ok(None);
        }
        if extent.is_other {
            return Ok(None);
        }
        let known_end = entry.map_or(0, |entry| entry.end);
        let is_open = !sealed && walk.is_lost && dirty > known_end;
        Ok(Some((walk.end(entry), is_open)))
    }

    fn damage(&mut self, flaw: Flaw, path: &Path, sequence: Option<u64>) -> Result<()> {
        let damage = Damage::of(flaw, path, sequence)?;
        self.damages.push(damage.clone());
        (self.tell)(Event::Damage(damage));
        Ok(())
    }
}

/// Turns an error of reading a file into a flaw: the file is lost. But if this process may not read
/// the file, or it is of a newer version, the error stays one.
fn unreadable(error: Error) -> Result<Flaw> {
    match error {
        Error::Io(error)
            if error.kind() != std::io::ErrorKind::Unsupported
                && error.kind() != std::io::ErrorKind::PermissionDenied
                && !is_out_of_files(&error) =>
        {
            Ok(Flaw::new(0, format!("cannot be read: {error}")))
        }
        other => Err(other),
    }
}

/// Collects what the verification of a segment finds.
struct SegmentSurvey {
    surveyed: Surveyed,
    is_compacted: bool,
    /// The first sequence that is not accounted for.
    next: u64,
    /// Whether a record before the next one is lost.
    is_lost: bool,
}

impl SegmentSurvey {
    fn new(candidate: &SurveyFile) -> SegmentSurvey {
        SegmentSurvey {
            surveyed: Surveyed {
                path: candidate.path.clone(),
                header: candidate.header.clone(),
                inserts: Vec::new(),
                deletes: Vec::new(),
                all_deleted: 0,
                uncopyable: Vec::new(),
                known: Ranges::default(),
            },
            is_compacted: candidate.header.kind != Kind::Log,
            next: candidate.header.first_sequence,
            is_lost: false,
        }
    }

    fn add(&mut self, found: &Found) {
        match found {
            Found::Record(record, offset) => {
                self.record(record, *offset);
                self.know(record.sequence);
            }
            Found::Stray(record, offset) => {
                self.record(record, *offset);
                self.is_lost = true;
                self.know(record.sequence);
                // Other records of its group may be missing.
                self.is_lost = true;
            }
            Found::Spoilt(record, flaw) => {
                if let (Op::Insert, Flaw::Broken { offset, .. }) = (record.op, flaw) {
                    self.surveyed.uncopyable.push(Spoilt {
                        sequence: record.sequence,
                        id: record.id,
                        offset: *offset,
                    });
                }
                self.know(record.sequence);
            }
            Found::Flaw(..) => self.is_lost = true,
        }
    }

    fn record(&mut self, record: &RecordHeader, offset: u64) {
        if record.op == Op::Insert {
            self.surveyed.inserts.push(Insert {
                sequence: record.sequence,
                id: record.id,
                block: (offset / BLOCK as u64) as u32,
                content_bytes: record.content_length,
                metadata_bytes: record.metadata_length,
            });
        }
        match Tombstone::of(record) {
            Some(all) if record.op == Op::DeleteAll => {
                self.surveyed.all_deleted = self.surveyed.all_deleted.max(all.last);
            }
            Some(one) => self.surveyed.deletes.push((one.last, record.id)),
            None => {}
        }
    }

    /// Notes that a sequence is accounted for. So are the sequences before it that compaction has
    /// left out, unless a record is lost there.
    fn know(&mut self, sequence: u64) {
        let from = if self.is_compacted && !self.is_lost {
            self.next.min(sequence)
        } else {
            sequence
        };
        self.surveyed.known.add(from, sequence);
        self.next = sequence.saturating_add(1);
        self.is_lost = false;
    }

    fn end(mut self, entry: Option<&Entry>) -> Surveyed {
        if let (Some(entry), true, false) = (entry, self.is_compacted, self.is_lost) {
            self.surveyed.known.add(self.next, entry.last_sequence);
        }
        self.surveyed
    }
}
