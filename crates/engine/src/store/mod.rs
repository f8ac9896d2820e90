//! The store: a log in segment files, which holds every point durably.
//!
//! A commit is one group of records, appended by one write and made durable by one sync before any
//! of it is visible. Each record has a sequence number, one more than the record before. The
//! manifest is the file that lists the segments. docs/FORMAT.md describes the files byte by byte.

mod io;
mod lock;
mod log;
mod mapping;
mod names;
mod recovery;
mod reserve;
mod reserves;
mod snapshot;
mod space;
#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
pub(crate) mod tests;
pub mod tools;
mod unfinished;

use std::{path::PathBuf, sync::Arc};

use crate::{Error, Result, sync::histogram::Histogram};
use io::{Disk, Io, fatal, is_full, is_out_of_files, random, remove_if_there};
use lock::Lock;
pub(crate) use log::format::MAX_GROUP_BYTES;
pub use log::{
    format::BLOCK,
    headers::HeaderPlace,
    read_ahead::ReadAhead,
    reader::{Segments, StoredPoint},
    records::{LivePoint, Location, Stored, Write},
    segment::number as segment_number,
    stream::StreamPosition,
};
use log::{
    format::{Kind, MAX_DIMENSION, MAX_SEGMENT_BYTES, PAGE, SEGMENT_VERSION, Salt, SegmentHeader},
    group::{self, Layout, Place, Record},
    manifest::{self, Entry, Manifest},
    segment::{self, Segment},
    usage::{Tombstone, Usage, record_bytes},
};
use recovery::Recovered;
use reserves::Reserves;
pub use snapshot::Snapshots;
pub use space::compaction::{Replacement, Stretch};

/// How to open a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The data folder, created if it is missing.
    pub path: PathBuf,
    /// The dimension that the stored points must have, if it is configured.
    pub dimension: Option<u32>,
    /// The dimension of a store without points if none is configured.
    pub default_dimension: u32,
    /// The greatest usual size of a segment file; a larger group gets a larger one of its own.
    pub segment_bytes: u64,
}

/// The greatest usual size of a segment file.
pub const DEFAULT_SEGMENT_BYTES: u64 = 64 << 20;

/// An open store and what was found in it.
pub struct Opened {
    /// The store, for the one thread that writes.
    pub store: Store,
    /// The live points in the order of their sequence.
    pub points: Vec<LivePoint>,
    /// Deleted points whose records still exist, in the order of their sequence.
    pub dead: Vec<LivePoint>,
    /// The dimension of every vector.
    pub dimension: u32,
    /// The random id of the folder.
    pub store_id: [u8; 16],
    /// Whether the dimension was found in the folder, since points were stored in it before.
    pub remembered: bool,
    /// The sequence of the last record, a no-op included; 0 in an empty store.
    pub last_sequence: u64,
    /// What recovery cut or removed, as lines for the service's log.
    pub notes: Vec<String>,
}

/// The writer's side of the log. Readers use [`Store::segments`].
pub struct Store {
    io: Arc<dyn Io>,
    folder: PathBuf,
    segment_bytes: u64,
    manifest: Manifest,
    /// The segment that groups are appended to, the last one of the log. None before the first
    /// write.
    active: Option<Segment>,
    segments: Arc<Segments>,
    usage: Usage,
    reserves: Reserves,
    /// The sequence of the last durable record.
    last_sequence: u64,
    /// In the store of a replica, where it is in its stream.
    stream: Option<StreamPosition>,
    /// Whether the last record is a no-op: it proves that everything before it was durable, see
    /// [`Store::prove`].
    proven: bool,
    /// The failure after which the store takes no more writes, if there was one.
    failure: Option<String>,
    /// The buffer of the group being written, kept for the next one.
    buffer: Vec<u8>,
    /// The times of the syncs of groups.
    syncs: Arc<Histogram>,
    lock: Arc<Lock>,
}

/// If a large batch has grown the buffer beyond this size, it is shrunk to it.
const KEPT_BUFFER_BYTES: usize = 8 << 20;

impl Store {
    /// Opens a data folder: takes its lock, reads the log back, and proves what it found.
    pub fn open(options: &OpenOptions) -> Result<Opened> {
        Store::open_on(Arc::new(Disk), options)
    }

    /// Opens a data folder on a disk, which may be a simulated one.
    pub(crate) fn open_on(io: Arc<dyn Io>, options: &OpenOptions) -> Result<Opened> {
        options.check()?;
        let folder = &options.path;
        io::create_folder(folder)?;
        names::refuse_no_files(&*io, folder)?;
        names::refuse_foreign(&*io, folder)?;
        let lock = Lock::acquire(folder)?;
        unfinished::refuse_unfinished(&*io, folder)?;
        let mut found = recovery::inspect(&*io, folder)?;
        options.check_dimension(&found)?;
        let mut notes = recovery::repair(&mut found, &*io, folder)?;
        let remembered = found.manifest.is_some();
        let manifest = match found.manifest {
            Some(manifest) => manifest,
            None => Manifest {
                store: random()?,
                dimension: options.dimension.unwrap_or(options.default_dimension),
                next_number: segment::FIRST_NUMBER,
                stream: None,
                segments: Vec::new(),
            },
        };
        let segments = Arc::new(Segments::new(manifest.dimension));
        let mut active = None;
        for (segment, mapping) in found.segments {
            segments.add(&segment, mapping);
            active = Some(segment);
        }
        let mut store = Store {
            io,
            folder: folder.clone(),
            segment_bytes: options.segment_bytes,
            manifest,
            active,
            segments,
            usage: Usage::default(),
            reserves: Reserves::new(folder),
            last_sequence: found.replay.last_sequence,
            stream: found.replay.stream,
            proven: found.replay.proven,
            failure: None,
            buffer: Vec::new(),
            syncs: Histogram::of_times(),
            lock: Arc::new(lock),
        };
        if remembered {
            store.keep_reserves()?;
        }
        match store.prove() {
            Err(Error::StorageFull) => notes.push("the disk is full: reads only".to_owned()),
            other => other?,
        }
        notes.extend(io::weak_sync());
        let (points, dead, tombstones) = found.replay.into_points();
        for point in &points {
            let bytes = record_bytes(store.manifest.dimension, point.payload_bytes.into());
            store.usage.of(point.location.segment).live_bytes += bytes;
        }
        for (segment, tombstone) in tombstones {
            store.usage.of(segment).tombstones.push(tombstone);
        }
        Ok(Opened {
            dimension: store.manifest.dimension,
            store_id: store.manifest.store,
            points,
            dead,
            last_sequence: store.last_sequence,
            store,
            remembered,
            notes,
        })
    }

    /// The segments for readers, which see a group once it is durable.
    #[must_use]
    pub fn segments(&self) -> Arc<Segments> {
        Arc::clone(&self.segments)
    }

    /// The times of the syncs of this store.
    #[must_use]
    pub(crate) fn syncs(&self) -> Arc<Histogram> {
        Arc::clone(&self.syncs)
    }

    /// The snapshots of this store. The folder stays locked until the result is dropped, too.
    #[must_use]
    pub fn snapshots(&self) -> Snapshots {
        let (io, lock) = (Arc::clone(&self.io), Arc::clone(&self.lock));
        Snapshots::new(io, &self.folder, lock, self.manifest.store)
    }

    /// Makes the writes durable as one group, all or nothing, and publishes it. Returns where each
    /// record is; the sequence of the last one is [`Store::last_sequence`].
    ///
    /// # Errors
    /// Among others, [`Error::InvalidArgument`] in the store of a replica: its writes come from a
    /// stream, by [`Store::apply`].
    pub fn commit(&mut self, writes: &[Write]) -> Result<Vec<Location>> {
        self.check_writable()?;
        self.check_origin(false)?;
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        self.commit_group(writes, None)
    }

    /// As [`Store::commit`], for the writes of all messages of the stream up to `position`, with
    /// which the position becomes durable. It is so also if there are no writes: a replica never
    /// asks for a message again that it has confirmed.
    ///
    /// # Errors
    /// Among others, [`Error::InvalidArgument`] where points were stored by [`Store::commit`].
    pub fn apply(&mut self, writes: &[Write], position: StreamPosition) -> Result<Vec<Location>> {
        self.check_writable()?;
        self.check_origin(true)?;
        if self.stream.is_none() {
            // The manifest that names the first segment says that this is a replica.
            self.manifest.stream = Some(StreamPosition::default());
            self.stream = self.manifest.stream;
        }
        if writes.is_empty() {
            self.append(&[Record::noop(self.last_sequence + 1)], Some(position))?;
            self.proven = true;
            return Ok(Vec::new());
        }
        self.commit_group(writes, Some(position))
    }

    /// Checks that writes may come from where they do: those of a replica from its stream, all others
    /// not.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: they may not.
    pub fn check_origin(&self, from_stream: bool) -> Result<()> {
        let text = match (self.stream, from_stream) {
            (Some(_), false) => "this is the folder of a replica: its writes come from the stream",
            (None, true) if self.last_sequence > 0 => {
                "this folder holds points that were not written by the stream"
            }
            _ => return Ok(()),
        };
        Err(Error::InvalidArgument(text.to_owned()))
    }

    /// Where the store of a replica is in its stream; None if it orders its writes itself.
    #[must_use]
    pub fn position(&self) -> Option<StreamPosition> {
        self.stream
    }

    fn commit_group(
        &mut self,
        writes: &[Write],
        stream: Option<StreamPosition>,
    ) -> Result<Vec<Location>> {
        self.check(writes)?;
        let first = self.last_sequence + 1;
        let records: Vec<Record> = writes
            .iter()
            .zip(first..)
            .map(|(write, sequence)| Record::new(write, sequence))
            .collect();
        let locations = self.append_or_free_space(writes, &records, stream)?;
        self.proven = false;
        self.count(writes, &locations, first);
        Ok(locations)
    }

    /// Appends the records of writes. On a full disk deletes use their reserve if it is enough, and
    /// inserts are refused until the reserves of deletes and compaction are both back.
    fn append_or_free_space(
        &mut self,
        writes: &[Write],
        records: &[Record],
        stream: Option<StreamPosition>,
    ) -> Result<Vec<Location>> {
        let inserts = writes.iter().any(Write::is_insert);
        let has_space = if inserts {
            self.reserves.allows_inserts(&*self.io)
        } else {
            let bytes = self.bytes_for(Layout::of(records)?.length);
            self.reserves.allows_deletes(&*self.io, bytes)
        };
        if !has_space.map_err(|error| self.failed(&error))? {
            self.reserves.note_full(!inserts);
            return Err(Error::StorageFull);
        }
        let appended = self.append(records, stream);
        if !matches!(appended, Err(Error::StorageFull)) {
            return appended;
        }
        self.reserves.note_full(!inserts);
        if inserts {
            return appended;
        }
        // The first try has used what was free. If their reserve does not hold the rest, another try
        // would use it up for nothing.
        let rest = self.lacking_bytes(Layout::of(records)?.length);
        let given = self.reserves.give_to_deletes(&*self.io, rest);
        if given.map_err(|error| self.failed(&error))? {
            self.append(records, stream)
        } else {
            appended
        }
    }

    /// Counts the bytes and the tombstones of a commit whose first record has the sequence `first`.
    fn count(&mut self, writes: &[Write], locations: &[Location], first: u64) {
        let dimension = self.manifest.dimension;
        for ((write, at), sequence) in writes.iter().zip(locations).zip(first..) {
            let undone = match *write {
                Write::Insert {
                    content,
                    metadata,
                    replaced,
                    ..
                } => {
                    let payload = (content.len() + metadata.len()) as u64;
                    let bytes = record_bytes(dimension, payload);
                    self.usage.of(at.segment).live_bytes += bytes;
                    replaced
                }
                Write::Delete { stored, .. } => Some(stored),
                Write::DeleteAll => {
                    self.usage.all_deleted();
                    let tombstone = Tombstone::of_all(sequence);
                    self.usage.of(at.segment).tombstones.push(tombstone);
                    None
                }
            };
            if let Some(Stored { inserted, location }) = undone {
                let bytes = self.segments.bytes_of(location);
                let usage = &mut self.usage.of(location.segment).live_bytes;
                *usage = usage.saturating_sub(bytes);
                let tombstone = Tombstone::of_one(inserted, sequence);
                self.usage.of(at.segment).tombstones.push(tombstone);
            }
        }
    }

    /// Proves that the last commit was durable, by a no-op behind it: from then on, damage of the
    /// commit cannot be taken for a torn tail. The no-op takes a sequence. Does nothing if the last
    /// record is a no-op or the store is empty.
    pub fn prove(&mut self) -> Result<()> {
        self.check_writable()?;
        if self.proven || self.last_sequence == 0 {
            return Ok(());
        }
        self.append(&[Record::noop(self.last_sequence + 1)], self.stream)?;
        // The next write may come after a long time.
        self.buffer = Vec::new();
        self.proven = true;
        Ok(())
    }

    /// The sequence of the last durable record; 0 in an empty store.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// Proves the last commit, notes the end of the log in the manifest, and unlocks the folder. On
    /// a full disk the next start has to find the end, as after a crash.
    pub fn close(mut self) -> Result<()> {
        match self.note_end() {
            Err(Error::StorageFull) => Ok(()),
            noted => noted,
        }
    }

    /// Proves the last commit and notes the end of the log in the manifest. From then on, a log
    /// that was cut or replaced by an older copy cannot be taken for one with a torn tail.
    pub fn note_end(&mut self) -> Result<()> {
        self.prove()?;
        self.note_groups()
    }

    /// Notes the end of the log in the manifest. This takes three syncs, and proves that everything
    /// before the end was durable.
    pub fn note_groups(&mut self) -> Result<()> {
        self.check_writable()?;
        let Some(active) = &self.active else {
            return Ok(());
        };
        let mut manifest = self.manifest.clone();
        manifest.set_end(active.end, self.last_sequence, active.groups, self.stream);
        if manifest == self.manifest {
            return Ok(());
        }
        match manifest.save(&*self.io, &self.folder) {
            Ok(()) => {
                self.manifest = manifest;
                Ok(())
            }
            // The note failed, but the log itself can go on.
            Err(error) if is_forbidden(&error) || is_out_of_files(&error) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Appends records as a group, makes it durable, and shows it to readers. Returns where each
    /// record is.
    fn append(
        &mut self,
        records: &[Record],
        stream: Option<StreamPosition>,
    ) -> Result<Vec<Location>> {
        let layout = Layout::of(records)?;
        let bytes = self.bytes_for(layout.length);
        let made = if self.fits(layout.length) {
            Ok(())
        } else {
            self.rotate(layout.length)
        };
        made.map_err(|error| self.failed(&error))?;
        let active = self.active.as_mut().expect("a segment was made above");
        let place = Place {
            segment: &active.header,
            position: active.end,
            durable: self.last_sequence,
            stream,
        };
        let locations = group::encode(&mut self.buffer, records, layout, place)?;
        let appended = active.append(&self.buffer, self.reserves.is_short());
        let (number, end) = (active.header.number, active.end);
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER_BYTES);
        let sync_time = appended.map_err(|error| self.failed(&error))?;
        self.syncs.add_time(sync_time);
        self.segments.publish(number, end);
        self.last_sequence += records.len() as u64;
        self.stream = stream;
        let has_inserts = records.iter().any(Record::is_insert);
        self.reserves.note_written(bytes, has_inserts);
        Ok(locations)
    }

    fn keep_reserves(&mut self) -> std::io::Result<()> {
        let usual = self.usual_segment_bytes();
        self.reserves.keep(&*self.io, self.segment_bytes, usual)
    }

    /// The size of a new segment, unless a group needs a larger one.
    fn usual_segment_bytes(&self) -> u64 {
        let active = self.active.as_ref().map_or(0, |active| active.end);
        segment::usual_bytes(self.manifest.sealed_bytes() + active, self.segment_bytes)
    }

    /// Whether the active segment has space for a group of this length, and is of this version.
    fn fits(&self, group_length: u64) -> bool {
        self.active.as_ref().is_some_and(|active| {
            active.header.version == SEGMENT_VERSION && active.free_bytes() >= group_length
        })
    }

    /// The bytes that a group of this length takes on disk. If it needs a new segment, its header
    /// and the manifest are included.
    fn bytes_for(&self, group_length: u64) -> u64 {
        if self.fits(group_length) {
            group_length
        } else {
            group_length + PAGE as u64 + self.manifest.bytes()
        }
    }

    /// The bytes of new space that a group of this length takes on disk.
    fn lacking_bytes(&self, group_length: u64) -> u64 {
        match &self.active {
            Some(active) if self.fits(group_length) => active.lacking_bytes(group_length),
            _ => self.bytes_for(group_length),
        }
    }

    /// Seals the active segment and begins one that a group of this length fits. If the disk is
    /// full, or no file can be opened, nothing is changed.
    fn rotate(&mut self, group_length: u64) -> std::io::Result<()> {
        let number = self.manifest.next_number;
        let header = SegmentHeader {
            version: SEGMENT_VERSION,
            number,
            store: self.manifest.store,
            id: random()?,
            salt: Salt(random()?),
            dimension: self.manifest.dimension,
            kind: Kind::Log,
            first_sequence: self.last_sequence + 1,
            capacity: (PAGE as u64 + group_length)
                .max(self.usual_segment_bytes())
                .next_multiple_of(4096),
        };
        let made = self.add_segment(header);
        if made
            .as_ref()
            .is_err_and(|error| is_full(error) || is_out_of_files(error))
        {
            let temporary = manifest::temporary_path(&self.folder);
            remove_if_there(&*self.io, &temporary).map_err(fatal)?;
            let path = segment::path(&self.folder, number);
            remove_if_there(&*self.io, &path).map_err(fatal)?;
        }
        made
    }

    /// Creates a segment and, once it is durable, names it in the manifest.
    fn add_segment(&mut self, header: SegmentHeader) -> std::io::Result<()> {
        self.keep_reserves()?;
        let segment = Segment::create(&*self.io, &self.folder, header)?;
        let mapping = segment.map()?;
        let mut manifest = self.manifest.clone();
        if let Some(active) = &self.active {
            manifest.set_end(active.end, self.last_sequence, active.groups, self.stream);
        }
        manifest.next_number = manifest.next_number.max(segment.header.number + 1);
        manifest.segments.push(Entry::of(&segment.header));
        manifest.save(&*self.io, &self.folder)?;
        self.manifest = manifest;
        self.segments.add(&segment, mapping);
        self.active = Some(segment);
        Ok(())
    }

    /// Refuses writes after a failure.
    fn check_writable(&self) -> Result<()> {
        self.failure
            .as_ref()
            .map_or(Ok(()), |reason| Err(Error::ReadOnly(reason.clone())))
    }

    /// About how many bytes these writes take in the log.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a vector of another dimension, for a delete while nothing was ever
    /// stored, and for more bytes than a group may have: [`Store::commit`] would refuse all that is in
    /// a group with them.
    pub fn check(&self, writes: &[Write]) -> Result<u64> {
        let mut stored = self.last_sequence > 0;
        let mut bytes = 0;
        for write in writes {
            bytes += match write {
                Write::Insert {
                    content, metadata, ..
                } => {
                    let payload = content.len() + metadata.len();
                    record_bytes(self.manifest.dimension, payload as u64)
                }
                // A header alone.
                Write::Delete { .. } | Write::DeleteAll => BLOCK as u64,
            };
            match write {
                Write::Insert { vector, .. }
                    if vector.len() != self.manifest.dimension as usize =>
                {
                    let (found, expected) = (vector.len(), self.manifest.dimension);
                    let text = format!("vector has {found} dimensions, this store has {expected}");
                    return Err(Error::InvalidArgument(text));
                }
                Write::Insert { .. } => stored = true,
                Write::Delete { .. } | Write::DeleteAll if !stored => {
                    let text = "there is nothing to delete in an empty store";
                    return Err(Error::InvalidArgument(text.to_owned()));
                }
                Write::Delete { .. } | Write::DeleteAll => {}
            }
        }
        // Behind the group's header, and up to the next block.
        if bytes + 2 * BLOCK as u64 > MAX_GROUP_BYTES {
            let text = format!("the points take {bytes} bytes together: write fewer at once");
            return Err(Error::InvalidArgument(text));
        }
        Ok(bytes)
    }

    /// The error for a failed write. If the disk was full or no file could be opened, the write was
    /// undone. Any other failure ends all writing.
    fn failed(&mut self, error: &std::io::Error) -> Error {
        if is_full(error) {
            return Error::StorageFull;
        }
        if is_out_of_files(error) {
            return Error::Overloaded("too many files are open: try again".to_owned());
        }
        let reason = error.to_string();
        self.failure = Some(reason.clone());
        Error::ReadOnly(reason)
    }
}

impl OpenOptions {
    fn check(&self) -> Result<()> {
        let dimension = self.dimension.unwrap_or(self.default_dimension);
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            let text = format!("dimension {dimension}, expected 1..={MAX_DIMENSION}");
            return Err(Error::InvalidArgument(text));
        }
        let sizes = 2 * PAGE as u64..=MAX_SEGMENT_BYTES / 2;
        if !sizes.contains(&self.segment_bytes) {
            let (found, low, high) = (self.segment_bytes, sizes.start(), sizes.end());
            let text = format!("a segment size of {found} bytes, expected {low}..={high}");
            return Err(Error::InvalidArgument(text));
        }
        Ok(())
    }

    fn check_dimension(&self, found: &Recovered) -> Result<()> {
        let Some(manifest) = &found.manifest else {
            return Ok(());
        };
        match self.dimension {
            Some(configured)
                if configured != manifest.dimension && found.replay.last_sequence > 0 =>
            {
                Err(Error::DimensionMismatch {
                    path: self.path.clone(),
                    remembered: manifest.dimension,
                    configured,
                })
            }
            _ => Ok(()),
        }
    }
}

/// Whether the folder takes no new files from this process.
fn is_forbidden(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}
