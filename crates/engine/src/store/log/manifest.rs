//! The manifest: the file that lists the segments that must exist, and what each must hold at
//! least. Without it, a start would not notice a segment that is lost, empty, truncated or swapped.

use std::{
    io::{self, ErrorKind},
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use super::{
    format::{
        Flaw, GroupHeader, Kind, PAGE, SegmentHeader, VERSION, array_at, check_dimension,
        check_start, u32_at, u64_at,
    },
    stream::StreamPosition,
};
use crate::{
    Error, Result,
    store::io::{Io, fatal, remove_if_there, write_all},
};

const MAGIC: [u8; 8] = *b"VECDMANI";
/// The version of the manifest of a replica, which has its position in the stream, too. A vectord
/// that knows no replicas does not open it.
const REPLICA_VERSION: u32 = 2;
const START_BYTES: usize = 40;
/// The position: a sequence, a chain, and four unused bytes.
const STREAM_BYTES: usize = 16;
const ENTRY_BYTES: usize = 56;
const CRC_BYTES: usize = 4;

/// The greatest size of a manifest that is read. It would name a million segments.
const MOST_BYTES: u64 = 64 << 20;

/// The content of the file `MANIFEST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Names this store, so that a segment of another one is noticed.
    pub store: [u8; 16],
    pub dimension: u32,
    /// The number of the next segment. All smaller numbers are used.
    pub next_number: u32,
    /// Of a replica, where it was in its stream when the groups ended where the last entry says. None
    /// if the store orders its writes itself.
    pub stream: Option<StreamPosition>,
    /// The segments by ascending sequence, without gaps. All but the last are sealed: they never
    /// change.
    pub segments: Vec<Entry>,
}

/// The known facts about one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub number: u32,
    /// The random id in the segment's header.
    pub id: [u8; 16],
    pub kind: Kind,
    pub first_sequence: u64,
    /// The offset at which the groups of a sealed segment end. For the last segment, an offset that
    /// its groups reach at least.
    pub end: u64,
    /// The sequence of the last record before `end`. For a compacted segment, the last sequence of
    /// its range.
    pub last_sequence: u64,
    /// The checksum of the headers of all groups before `end`, or 0 if it is not known. It
    /// distinguishes the segment from one with the same id in a copy of the folder that was written
    /// to since.
    pub groups: u32,
}

impl Entry {
    /// The entry of a segment without groups.
    pub fn of(header: &SegmentHeader) -> Entry {
        Entry {
            number: header.number,
            id: header.id,
            kind: header.kind,
            first_sequence: header.first_sequence,
            end: PAGE as u64,
            last_sequence: header.first_sequence - 1,
            groups: 0,
        }
    }

    fn decode(bytes: &[u8; ENTRY_BYTES]) -> Option<Entry> {
        let kind = Kind::from_fields(u32_at(bytes, 4), u64_at(bytes, 48))?;
        Some(Entry {
            number: u32_at(bytes, 0),
            id: array_at(bytes, 8),
            kind,
            first_sequence: u64_at(bytes, 24),
            end: u64_at(bytes, 32),
            last_sequence: u64_at(bytes, 40),
            groups: match kind {
                Kind::Log => u32_at(bytes, 48),
                Kind::Compacted { .. } => 0,
            },
        })
    }

    fn is_possible(&self) -> bool {
        self.number > 0
            && self.end >= PAGE as u64
            && self.first_sequence > 0
            && self.last_sequence >= self.first_sequence - 1
    }

    /// Adds to an error about the whole segment which records may be lost with it.
    pub fn name_records(&self, error: Error) -> Error {
        let (first, last) = (self.first_sequence, self.last_sequence);
        match error {
            Error::Damaged {
                path,
                offset,
                reason,
            } => Error::Damaged {
                path,
                offset,
                reason: format!(
                    "{reason}; it may cost the records with the sequences {first} to {last} at least"
                ),
            },
            other => other,
        }
    }

    /// Checks that a segment's header belongs to this entry.
    pub fn check(&self, manifest: &Manifest, header: &SegmentHeader) -> Result<(), Flaw> {
        if header.store != manifest.store {
            return Err(Flaw::new(16, "the segment belongs to another store"));
        }
        if header.number != self.number {
            let reason = format!(
                "this is segment {}, expected {}",
                header.number, self.number
            );
            return Err(Flaw::new(12, reason));
        }
        if header.id != self.id
            || header.kind != self.kind
            || header.dimension != manifest.dimension
            || header.first_sequence != self.first_sequence
        {
            return Err(Flaw::new(32, "this is not the segment that MANIFEST names"));
        }
        if header.capacity < self.end {
            return Err(Flaw::new(80, "the segment is smaller than MANIFEST says"));
        }
        Ok(())
    }

    /// Checks `last`, the sequence of the last record of the segment, whose groups end at byte
    /// `end`. A segment holds every record up to the last that the manifest knows, and more while
    /// it is written; but compaction may have left out the last ones. It need not be checked that
    /// the groups of a sealed segment end at the offset of this entry if they were read up to it
    /// without a flaw.
    pub fn check_end(&self, end: u64, last: u64, is_sealed: bool) -> Result<(), Flaw> {
        let expected = self.last_sequence;
        let is_short = last < expected && self.kind == Kind::Log;
        let is_long = last > expected && is_sealed;
        if !is_short && !is_long {
            return Ok(());
        }
        let bound = if is_sealed { "" } else { "at least " };
        let reason = format!("ends at sequence {last}, expected {bound}{expected}");
        Err(Flaw::new(end, reason))
    }

    /// Whether groups end where they must, at byte `end` after the record `last`: in a sealed
    /// segment at the offset of this entry, in the last one there or behind it.
    pub fn is_at_end(&self, end: u64, last: u64, is_sealed: bool) -> bool {
        let is_there = if is_sealed {
            end == self.end
        } else {
            end >= self.end
        };
        is_there && self.check_end(end, last, is_sealed).is_ok()
    }

    /// Checks that the groups up to the end of this entry match its checksum.
    /// `groups` is the checksum of the headers up to and with `group`. Nothing is checked at a
    /// group that does not reach that end.
    pub fn check_groups(&self, group: &GroupHeader, groups: u32) -> Result<(), Flaw> {
        let end = group.position + group.length;
        let reaches = group.position < self.end && self.end <= end;
        if self.groups == 0 || !reaches || (end, groups) == (self.end, self.groups) {
            return Ok(());
        }
        let reason = format!(
            "the groups up to byte {} are not the ones that MANIFEST describes: is the file from a \
             copy of the folder?",
            self.end
        );
        Err(Flaw::new(group.position, reason))
    }
}

impl Manifest {
    /// Reads the manifest of a folder. None if it does not exist.
    pub fn load(io: &dyn Io, folder: &Path) -> Result<Option<Manifest>> {
        let path = path(folder);
        let size = match io.open_read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?.size()?,
        };
        if size > MOST_BYTES {
            let reason = format!("the file has {size} bytes, expected at most {MOST_BYTES}");
            return Err(Flaw::new(MOST_BYTES, reason).refuse(&path));
        }
        let bytes = io.read(&path)?;
        Manifest::decode(&bytes)
            .map(Some)
            .map_err(|flaw| flaw.refuse(&path))
    }

    /// Replaces the manifest of a folder, durably. A full disk leaves the old one in place.
    pub fn save(&self, io: &dyn Io, folder: &Path) -> io::Result<()> {
        let (path, temporary) = (path(folder), temporary_path(folder));
        remove_if_there(io, &temporary)?;
        self.write(io, &temporary)?;
        // The folder is opened before the rename: after it, a failure to open it could not be
        // undone.
        let names = io.open_folder(folder)?;
        io.rename(&temporary, &path)?;
        names.sync().map_err(fatal)
    }

    /// Writes the manifest into a new file, and makes its content durable, but not its name.
    pub fn write(&self, io: &dyn Io, path: &Path) -> io::Result<()> {
        let file = io.create(path)?;
        write_all(&*file, &self.encode(), 0).map_err(|(_, error)| error)?;
        file.sync_all().map_err(fatal)
    }

    /// Notes where the groups of the last segment end, the checksum of their headers, and where a
    /// replica is in its stream.
    pub fn set_end(
        &mut self,
        end: u64,
        last_sequence: u64,
        groups: u32,
        stream: Option<StreamPosition>,
    ) {
        self.stream = stream;
        if let Some(entry) = self.segments.last_mut() {
            (entry.end, entry.last_sequence, entry.groups) = (end, last_sequence, groups);
        }
    }

    /// The size of the file.
    pub fn bytes(&self) -> u64 {
        let stream = if self.stream.is_some() {
            STREAM_BYTES
        } else {
            0
        };
        (START_BYTES + stream + self.segments.len() * ENTRY_BYTES + CRC_BYTES) as u64
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes() as usize);
        bytes.extend(MAGIC);
        let version = if self.stream.is_some() {
            REPLICA_VERSION
        } else {
            VERSION
        };
        bytes.extend(version.to_le_bytes());
        bytes.extend(self.dimension.to_le_bytes());
        bytes.extend(self.store);
        bytes.extend((self.segments.len() as u32).to_le_bytes());
        bytes.extend(self.next_number.to_le_bytes());
        if let Some(position) = self.stream {
            bytes.extend(position.sequence.to_le_bytes());
            bytes.extend(position.chain.to_le_bytes());
            bytes.extend([0; 4]);
        }
        for entry in &self.segments {
            let (kind, through) = entry.kind.fields();
            let last_field = through | u64::from(entry.groups);
            bytes.extend(entry.number.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(entry.id);
            bytes.extend(entry.first_sequence.to_le_bytes());
            bytes.extend(entry.end.to_le_bytes());
            bytes.extend(entry.last_sequence.to_le_bytes());
            bytes.extend(last_field.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend(crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Manifest, Flaw> {
        let length = bytes.len();
        let crc_at = length.saturating_sub(CRC_BYTES);
        check_start(bytes, MAGIC, "manifest", crc_at, REPLICA_VERSION)?;
        if length < START_BYTES + CRC_BYTES {
            return Err(Flaw::new(length as u64, "the manifest ends here"));
        }
        let (content, crc) = bytes.split_at(length - CRC_BYTES);
        if u32_at(crc, 0) != crc32fast::hash(content) {
            return Err(Flaw::new(0, "the checksum of the manifest does not match"));
        }
        let dimension = u32_at(content, 12);
        check_dimension(dimension, 12)?;
        let (stream, entries) = match u32_at(content, 8) {
            REPLICA_VERSION => match content[START_BYTES..].split_at_checked(STREAM_BYTES) {
                Some((stream, entries)) => {
                    let (sequence, chain) = (u64_at(stream, 0), u32_at(stream, 8));
                    (Some(StreamPosition { sequence, chain }), entries)
                }
                None => return Err(Flaw::new(length as u64, "the manifest ends here")),
            },
            _ => (None, &content[START_BYTES..]),
        };
        let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
        if entries.len() != u32_at(content, 32) as usize || !rest.is_empty() {
            return Err(Flaw::new(32, format!("{} entries", u32_at(content, 32))));
        }
        let segments: Option<Vec<Entry>> = entries.iter().map(Entry::decode).collect();
        let manifest = Manifest {
            store: array_at(content, 16),
            dimension,
            next_number: u32_at(content, 36),
            stream,
            segments: segments.unwrap_or_default(),
        };
        if !manifest.is_in_order() {
            return Err(Flaw::new(
                START_BYTES as u64,
                "expected segments by ascending sequence",
            ));
        }
        Ok(manifest)
    }

    /// Whether there are segments, and each begins where the one before ends.
    fn is_in_order(&self) -> bool {
        let follows = |(before, after): (&Entry, &Entry)| {
            before.last_sequence.checked_add(1) == Some(after.first_sequence)
        };
        let pairs = self.segments.iter().zip(self.segments.iter().skip(1));
        let mut numbers: Vec<u32> = self.segments.iter().map(|entry| entry.number).collect();
        numbers.sort_unstable();
        !numbers.is_empty()
            && numbers.is_sorted_by(|a, b| a < b)
            && numbers.last().is_some_and(|&last| last < self.next_number)
            && self.segments.iter().all(Entry::is_possible)
            && pairs.into_iter().all(follows)
    }

    /// The entries of the segments whose ranges contain some of these sequences.
    pub fn entries_of(&self, sequences: &RangeInclusive<u64>) -> &[Entry] {
        let from = |sequence: u64| {
            self.segments
                .partition_point(|entry| entry.first_sequence <= sequence)
        };
        let (first, after) = (from(*sequences.start()), from(*sequences.end()));
        &self.segments[first.saturating_sub(1)..after]
    }
}

/// The path of the manifest.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("MANIFEST")
}

/// The path at which the next manifest is written before it is renamed.
pub fn temporary_path(folder: &Path) -> PathBuf {
    folder.join("MANIFEST.tmp")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn manifest() -> Manifest {
        let entry = |number: u32, kind, sequence| Entry {
            number,
            id: [number as u8; 16],
            kind,
            first_sequence: sequence,
            end: 4096 + u64::from(number) * 64,
            last_sequence: sequence + 9,
            groups: if kind == Kind::Log { 7 } else { 0 },
        };
        let compacted = Kind::Compacted { through: 15 };
        Manifest {
            store: [5; 16],
            dimension: 3,
            next_number: 7,
            stream: None,
            segments: vec![entry(5, compacted, 1), entry(4, Kind::Log, 11)],
        }
    }

    /// A manifest of a store that orders its writes itself, and those of replicas.
    fn manifests() -> Vec<Manifest> {
        let of_replica = |sequence, chain| Manifest {
            stream: Some(StreamPosition { sequence, chain }),
            ..manifest()
        };
        vec![manifest(), of_replica(0, 0), of_replica(1 << 40, 7)]
    }

    #[test]
    fn a_manifest_comes_back_as_it_was_written() {
        for manifest in manifests() {
            let bytes = manifest.encode();
            assert_eq!(bytes.len() as u64, manifest.bytes());
            assert_eq!(Manifest::decode(&bytes), Ok(manifest));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        for sound in manifests().iter().map(Manifest::encode) {
            for bit in 0..sound.len() * 8 {
                let mut bytes = sound.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(Manifest::decode(&bytes).is_err(), "bit {bit}");
            }
            for length in 0..sound.len() {
                assert!(
                    Manifest::decode(&sound[..length]).is_err(),
                    "length {length}"
                );
            }
        }
    }

    #[test]
    fn segments_out_of_order_are_refused() {
        type Change = fn(&mut Manifest);
        let changes: [Change; 7] = [
            |manifest| manifest.segments.clear(),
            |manifest| manifest.segments.swap(0, 1),
            |manifest| manifest.segments[1].first_sequence = 12,
            |manifest| manifest.segments[1].number = 5,
            |manifest| manifest.next_number = 5,
            |manifest| manifest.segments[0].number = 0,
            |manifest| manifest.segments[0].end = 64,
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut broken = manifest();
            change(&mut broken);
            assert!(
                Manifest::decode(&broken.encode()).is_err(),
                "change {number}"
            );
        }
    }

    #[test]
    fn the_segments_of_sequences_are_found() {
        let manifest = manifest();
        let numbers = |first, last| {
            let entries = manifest.entries_of(&(first..=last)).iter();
            entries.map(|entry| entry.number).collect::<Vec<_>>()
        };
        let one = |sequence| numbers(sequence, sequence);
        assert_eq!([1, 10].map(one), [vec![5], vec![5]]);
        assert_eq!([11, 99].map(one), [vec![4], vec![4]]);
        assert_eq!(one(0), Vec::<u32>::new());
        assert_eq!(numbers(0, 10), [5]);
        assert_eq!(numbers(0, 11), [5, 4]);
        assert_eq!(numbers(10, 11), [5, 4]);
    }

    #[test]
    fn a_newer_version_is_named() {
        let mut bytes = manifest().encode();
        bytes[8] = 9;
        let damaged = Manifest::decode(&bytes);
        assert!(matches!(damaged, Err(Flaw::Broken { offset: 8, .. })));
        let crc_at = bytes.len() - CRC_BYTES;
        let crc = crc32fast::hash(&bytes[..crc_at]);
        bytes[crc_at..].copy_from_slice(&crc.to_le_bytes());
        let newer = Flaw::Newer {
            offset: 8,
            version: 9,
            known: REPLICA_VERSION,
        };
        assert_eq!(Manifest::decode(&bytes), Err(newer));
    }

    proptest! {
        #[test]
        fn any_content_under_a_right_checksum_is_taken_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            prop_assert!(Manifest::decode(&bytes).is_err());
            for manifest in manifests() {
                let mut content = manifest.encode()[..12].to_vec();
                content.extend(&bytes);
                content.extend(crc32fast::hash(&content).to_le_bytes());
                if let Ok(manifest) = Manifest::decode(&content) {
                    prop_assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
                }
            }
        }
    }
}
