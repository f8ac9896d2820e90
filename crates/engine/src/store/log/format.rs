//! Encodes and decodes the headers on disk, as docs/FORMAT.md lists them. All numbers are
//! little-endian; vectors are read in place.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crc32fast::Hasher;

use super::stream::StreamPosition;
use crate::Error;

const _: () = assert!(cfg!(target_endian = "little"), "vectors are read in place");

/// The version of snapshots, and of manifests but those of replicas.
pub const VERSION: u32 = 1;
/// The version of the segments that this code writes. It also reads those of version 1, in which no
/// record has metadata, replaces a point, or deletes all.
pub const SEGMENT_VERSION: u32 = 2;
/// The bytes of a segment's header. The first group starts behind it.
pub const PAGE: usize = 4096;
/// Groups, record headers and vectors start at multiples of this.
pub const BLOCK: usize = 64;
/// The largest segment: a [`crate::store::Location`] counts blocks in 32 bits.
pub const MAX_SEGMENT_BYTES: u64 = (1 << 32) * BLOCK as u64;

/// The greatest length of a group in bytes. Small in tests, which could not fill another.
pub const MAX_GROUP_BYTES: u64 = if cfg!(test) {
    64 << 20
} else {
    MAX_SEGMENT_BYTES / 2
};
/// The largest dimension, which bounds every size computed from one.
pub const MAX_DIMENSION: u32 = 65_536;
/// The first bytes of a segment file.
pub const SEGMENT_MAGIC: [u8; 8] = *b"VECDSEGM";

/// The version of a record, which is that of its segment.
const RECORD_VERSION: u16 = SEGMENT_VERSION as u16;
const PAGE_CRC_AT: usize = PAGE - 4;

/// What is wrong with some bytes, before it is known whether that is damage or a torn tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The bytes are not what was written.
    Broken {
        /// Their offset from the start of the file.
        offset: u64,
        /// What was found and what was expected.
        reason: String,
    },
    /// The bytes are sound, and were written by a newer vectord.
    Newer {
        /// The offset of the version from the start of the file.
        offset: u64,
        /// The version found.
        version: u32,
        /// The newest that this code reads.
        known: u32,
    },
}

impl Flaw {
    /// Damage at an offset.
    pub fn new(offset: u64, reason: impl Into<String>) -> Flaw {
        Flaw::Broken {
            offset,
            reason: reason.into(),
        }
    }

    /// Adds a text to the reason of damage.
    pub fn and(self, more: &str) -> Flaw {
        match self {
            Flaw::Broken { offset, reason } => Flaw::new(offset, format!("{reason}; {more}")),
            newer @ Flaw::Newer { .. } => newer,
        }
    }

    /// The error with which the file is refused.
    pub fn refuse(self, path: &Path) -> Error {
        match self {
            Flaw::Broken { offset, reason } => Error::Damaged {
                path: path.to_owned(),
                offset,
                reason,
            },
            Flaw::Newer {
                offset,
                version,
                known,
            } => Error::Io(io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "{} has format version {version} at byte {offset}, but this vectord reads \
                     version {known}: use the vectord that wrote the folder or a newer one, or \
                     restore a backup into another folder",
                    path.display()
                ),
            )),
        }
    }
}

/// The secret of a segment. Every checksum of the segment includes it, and it never leaves the
/// store, so that no client can write a payload that reads as a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 16]);

impl Salt {
    /// A hasher for a checksum of the segment, which has taken in the salt.
    pub fn hasher(self) -> Hasher {
        let mut hasher = Hasher::new();
        hasher.update(&self.0);
        hasher
    }

    /// The first bytes of every group of the segment.
    fn mark(self) -> [u8; 8] {
        array_at(&self.0, 0)
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt")
    }
}

/// The header of a segment, its first page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    pub version: u32,
    pub number: u32,
    pub store: [u8; 16],
    pub id: [u8; 16],
    pub salt: Salt,
    pub dimension: u32,
    pub kind: Kind,
    pub first_sequence: u64,
    pub capacity: u64,
}

/// The kind of a segment: whether it holds all records of its range of sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It holds every record, in order and without gaps, as the writer wrote them.
    Log,
    /// It holds the records that compaction has kept.
    Compacted {
        /// Points that were deleted up to this sequence are not in it.
        through: u64,
    },
}

impl Kind {
    /// The fields that are stored: a number for the kind, and the sequence `through`.
    pub fn fields(self) -> (u32, u64) {
        match self {
            Kind::Log => (0, 0),
            Kind::Compacted { through } => (1, through),
        }
    }

    /// The kind with these fields; None if there is no such kind.
    pub fn from_fields(number: u32, through: u64) -> Option<Kind> {
        match number {
            0 => Some(Kind::Log),
            1 => Some(Kind::Compacted { through }),
            _ => None,
        }
    }
}

impl SegmentHeader {
    /// Checks that the sequences of a group may follow where the next record of this segment has
    /// the sequence `next`. Compaction leaves records out; otherwise none is missing.
    pub fn check_follows(&self, group: &GroupHeader, next: u64) -> Result<(), Flaw> {
        let found = group.first_sequence;
        let follows = match self.kind {
            Kind::Log => found == next,
            Kind::Compacted { .. } => found >= next,
        };
        if follows {
            return Ok(());
        }
        let missing = if found > next {
            ": those between are missing"
        } else {
            ""
        };
        let reason = format!("a group with sequence {found}, expected {next}{missing}");
        Err(Flaw::new(group.position, reason))
    }

    pub fn encode(&self) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        put(&mut page, 0, &SEGMENT_MAGIC);
        put(&mut page, 8, &self.version.to_le_bytes());
        put(&mut page, 12, &self.number.to_le_bytes());
        put(&mut page, 16, &self.store);
        put(&mut page, 32, &self.id);
        put(&mut page, 48, &self.salt.0);
        let (kind, through) = self.kind.fields();
        put(&mut page, 64, &self.dimension.to_le_bytes());
        put(&mut page, 68, &kind.to_le_bytes());
        put(&mut page, 72, &self.first_sequence.to_le_bytes());
        put(&mut page, 80, &self.capacity.to_le_bytes());
        put(&mut page, 88, &through.to_le_bytes());
        let crc = crc32fast::hash(&page[..PAGE_CRC_AT]);
        put(&mut page, PAGE_CRC_AT, &crc.to_le_bytes());
        page
    }

    pub fn decode(page: &[u8; PAGE]) -> Result<SegmentHeader, Flaw> {
        check_start(page, SEGMENT_MAGIC, "segment", PAGE_CRC_AT, SEGMENT_VERSION)?;
        if u32_at(page, PAGE_CRC_AT) != crc32fast::hash(&page[..PAGE_CRC_AT]) {
            return Err(Flaw::new(
                0,
                "the checksum of the segment header does not match",
            ));
        }
        let kind = u32_at(page, 68);
        let kind = Kind::from_fields(kind, u64_at(page, 88))
            .ok_or_else(|| Flaw::new(68, format!("a segment of the kind {kind}")))?;
        let header = SegmentHeader {
            version: u32_at(page, 8),
            number: u32_at(page, 12),
            store: array_at(page, 16),
            id: array_at(page, 32),
            salt: Salt(array_at(page, 48)),
            dimension: u32_at(page, 64),
            kind,
            first_sequence: u64_at(page, 72),
            capacity: u64_at(page, 80),
        };
        let sizes = PAGE as u64..=MAX_SEGMENT_BYTES;
        if !sizes.contains(&header.capacity) || !header.capacity.is_multiple_of(BLOCK as u64) {
            return Err(Flaw::new(
                80,
                format!("a capacity of {} bytes", header.capacity),
            ));
        }
        check_dimension(header.dimension, 64)?;
        Ok(header)
    }
}

/// The header of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupHeader {
    /// The offset of the group in its file.
    pub position: u64,
    /// The length of the group, with this header and the padding at its end.
    pub length: u64,
    pub first_sequence: u64,
    /// The last sequence that was known to be on disk when the group was written.
    pub durable: u64,
    pub record_count: u32,
    /// The checksum of the record headers, which hold the checksums of vectors and payloads.
    pub body_crc: u32,
    /// In the store of a replica, where it is in its stream with this group.
    pub stream: Option<StreamPosition>,
}

impl GroupHeader {
    pub fn encode(&self, salt: Salt) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        put(&mut bytes, 0, &salt.mark());
        put(&mut bytes, 12, &self.body_crc.to_le_bytes());
        put(&mut bytes, 16, &self.position.to_le_bytes());
        put(&mut bytes, 24, &self.length.to_le_bytes());
        put(&mut bytes, 32, &self.first_sequence.to_le_bytes());
        put(&mut bytes, 40, &self.durable.to_le_bytes());
        put(&mut bytes, 48, &self.record_count.to_le_bytes());
        let (sequence, chain) = StreamPosition::fields(self.stream);
        put(&mut bytes, 52, &sequence.to_le_bytes());
        put(&mut bytes, 60, &chain.to_le_bytes());
        let crc = Self::crc(&bytes, salt);
        put(&mut bytes, 8, &crc.to_le_bytes());
        bytes
    }

    /// Reads the header at the start of `bytes`. None unless it was written as part of this segment
    /// and at this position.
    #[inline]
    pub fn decode(bytes: &[u8], salt: Salt, position: u64) -> Option<GroupHeader> {
        let bytes: &[u8; BLOCK] = bytes.first_chunk()?;
        if array_at(bytes, 0) != salt.mark()
            || u64_at(bytes, 16) != position
            || u32_at(bytes, 8) != Self::crc(bytes, salt)
        {
            return None;
        }
        Some(GroupHeader {
            position,
            length: u64_at(bytes, 24),
            first_sequence: u64_at(bytes, 32),
            durable: u64_at(bytes, 40),
            record_count: u32_at(bytes, 48),
            body_crc: u32_at(bytes, 12),
            stream: StreamPosition::from_fields(u64_at(bytes, 52), u32_at(bytes, 60)),
        })
    }

    /// Extends a checksum of the headers of groups by the header that `group` starts with. `before`
    /// is the checksum of the groups before it, 0 if there are none. As each header holds a
    /// checksum of all that is in its group, the result stands for the content of all these groups.
    pub fn add_to_checksum(before: u32, group: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(before);
        hasher.update(&group[..BLOCK]);
        hasher.finalize()
    }

    fn crc(bytes: &[u8; BLOCK], salt: Salt) -> u32 {
        let mut hasher = salt.hasher();
        hasher.update(&bytes[12..]);
        hasher.finalize()
    }
}

/// What a record does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Op {
    /// Stores a point, maybe in place of one with the same id.
    Insert = 1,
    /// Deletes the point with this id.
    Delete = 2,
    /// Does nothing. Its group proves that what came before it was on disk.
    Noop = 3,
    /// Deletes all points that were inserted before it.
    DeleteAll = 4,
}

/// The header of a record, which says where its vector and its payload are. The payload is the
/// content and, behind it, the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    pub op: Op,
    pub content_type: u8,
    pub sequence: u64,
    pub id: [u8; 16],
    /// The offset of the vector in the file; 0 if there is none.
    pub vector_offset: u64,
    /// The offset of the payload in the file; 0 if there is none.
    pub payload_offset: u64,
    pub content_length: u32,
    pub metadata_length: u32,
    /// The sequence of the insert that a delete undoes, or that an insert replaces; 0 if there is
    /// none.
    pub undone: u64,
}

impl RecordHeader {
    /// Encodes it. `parts` are its vector, its content and its metadata.
    pub fn encode<const N: usize>(&self, salt: Salt, parts: [&[u8]; N]) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        put(&mut bytes, 4, &[self.op as u8, self.content_type]);
        put(&mut bytes, 6, &RECORD_VERSION.to_le_bytes());
        put(&mut bytes, 8, &self.sequence.to_le_bytes());
        put(&mut bytes, 16, &self.id);
        put(&mut bytes, 32, &self.vector_offset.to_le_bytes());
        put(&mut bytes, 40, &self.payload_offset.to_le_bytes());
        put(&mut bytes, 48, &self.content_length.to_le_bytes());
        put(&mut bytes, 52, &self.metadata_length.to_le_bytes());
        put(&mut bytes, 56, &self.undone.to_le_bytes());
        let crc = Self::crc(&bytes, salt, parts);
        put(&mut bytes, 0, &crc.to_le_bytes());
        bytes
    }

    /// Reads the fields of the header at `offset`. Whether they, the vector and the payload are
    /// what was written, only [`Self::verify`] says.
    pub fn decode(bytes: &[u8; BLOCK], offset: u64) -> Result<RecordHeader, Flaw> {
        let version = u16::from_le_bytes(array_at(bytes, 6));
        if version > RECORD_VERSION {
            return Err(Flaw::Newer {
                offset: offset + 6,
                version: u32::from(version),
                known: u32::from(RECORD_VERSION),
            });
        }
        let op = match bytes[4] {
            1 => Op::Insert,
            2 => Op::Delete,
            3 => Op::Noop,
            4 => Op::DeleteAll,
            other => return Err(Flaw::new(offset, format!("a record of the kind {other}"))),
        };
        Ok(RecordHeader {
            op,
            content_type: bytes[5],
            sequence: u64_at(bytes, 8),
            id: array_at(bytes, 16),
            vector_offset: u64_at(bytes, 32),
            payload_offset: u64_at(bytes, 40),
            content_length: u32_at(bytes, 48),
            metadata_length: u32_at(bytes, 52),
            undone: u64_at(bytes, 56),
        })
    }

    /// The bytes of its payload: content and metadata.
    pub fn payload_length(&self) -> u64 {
        u64::from(self.content_length) + u64::from(self.metadata_length)
    }

    /// Whether the checksum in the header matches the header and the parts behind it: its vector
    /// and its payload.
    pub fn verify<const N: usize>(bytes: &[u8; BLOCK], salt: Salt, parts: [&[u8]; N]) -> bool {
        u32_at(bytes, 0) == Self::crc(bytes, salt, parts)
    }

    fn crc<const N: usize>(bytes: &[u8; BLOCK], salt: Salt, parts: [&[u8]; N]) -> u32 {
        let mut hasher = salt.hasher();
        hasher.update(&bytes[4..]);
        for part in parts {
            hasher.update(part);
        }
        hasher.finalize()
    }
}

/// Checks the magic and the version that a file of ours starts with. The version is checked before
/// the checksum, since a later version may have that at another place; the versions up to `known`
/// have it at `crc_at`.
pub fn check_start(
    bytes: &[u8],
    magic: [u8; 8],
    kind: &str,
    crc_at: usize,
    known: u32,
) -> Result<(), Flaw> {
    if bytes.len() < 12 || bytes[..8] != magic {
        return Err(Flaw::new(
            0,
            format!("this is not the start of a vectord {kind}"),
        ));
    }
    let version = u32_at(bytes, 8);
    if (1..=known).contains(&version) {
        return Ok(());
    }
    let written = (1..=known).find(|&known| is_of_version(bytes, crc_at, known));
    match written {
        Some(written) => Err(Flaw::new(
            8,
            format!("format version {version}, and the checksum is that of version {written}"),
        )),
        None if version == 0 => Err(Flaw::new(
            8,
            format!("format version 0, expected {known} at most"),
        )),
        None => Err(Flaw::Newer {
            offset: 8,
            version,
            known,
        }),
    }
}

/// Whether the version of a file is damaged and nothing else: with `version` in its place, the
/// checksum matches. If that holds for no known version, the file is of a later one, which is no
/// damage.
fn is_of_version(bytes: &[u8], crc_at: usize, version: u32) -> bool {
    let Some((content, crc)) = bytes.split_at_checked(crc_at) else {
        return false;
    };
    if crc.len() < 4 || content.len() < 12 {
        return false;
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&content[..8]);
    hasher.update(&version.to_le_bytes());
    hasher.update(&content[12..]);
    u32_at(crc, 0) == hasher.finalize()
}

/// Checks a dimension found at `offset`.
pub fn check_dimension(dimension: u32, offset: u64) -> Result<(), Flaw> {
    if (1..=MAX_DIMENSION).contains(&dimension) {
        return Ok(());
    }
    Err(Flaw::new(
        offset,
        format!("dimension {dimension}, expected 1..={MAX_DIMENSION}"),
    ))
}

/// The path of a file of a folder that is named by a number.
pub fn numbered(folder: &Path, number: u32, suffix: &str) -> PathBuf {
    folder.join(format!("{number:08}{suffix}"))
}

/// The number of the file with this path, if it is named by a number.
pub fn number_of(path: &Path, suffix: &str) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let number = name.strip_suffix(suffix)?.parse().ok()?;
    (name == format!("{number:08}{suffix}")).then_some(number)
}

/// Copies a field to its place.
pub fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// The 32-bit number at a place.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

/// The 64-bit number at a place.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

/// The bytes at a place.
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

/// Rounds a number of bytes up to whole blocks.
pub fn align(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment() -> SegmentHeader {
        SegmentHeader {
            version: SEGMENT_VERSION,
            number: 7,
            store: [1; 16],
            id: [2; 16],
            salt: Salt([3; 16]),
            dimension: 384,
            kind: Kind::Compacted { through: 20 },
            first_sequence: 12,
            capacity: 8192,
        }
    }

    fn group() -> GroupHeader {
        GroupHeader {
            position: 4096,
            length: 640,
            first_sequence: 12,
            durable: 11,
            record_count: 3,
            body_crc: 99,
            stream: Some(StreamPosition {
                sequence: 1 << 40,
                chain: 7,
            }),
        }
    }

    #[test]
    fn headers_come_back_as_they_were_written() {
        let salt = Salt([3; 16]);
        assert_eq!(SegmentHeader::decode(&segment().encode()), Ok(segment()));
        let bytes = group().encode(salt);
        assert_eq!(GroupHeader::decode(&bytes, salt, 4096), Some(group()));
        let record = RecordHeader {
            op: Op::Insert,
            content_type: 1,
            sequence: 12,
            id: [9; 16],
            vector_offset: 4224,
            payload_offset: 4300,
            content_length: 3,
            metadata_length: 1,
            undone: 7,
        };
        let bytes = record.encode(salt, [b"vector", b"tex", b"t"]);
        assert_eq!(RecordHeader::decode(&bytes, 0), Ok(record));
        let verify = |salt, vector: &[u8]| RecordHeader::verify(&bytes, salt, [vector, b"text"]);
        assert!(verify(salt, b"vector"));
        assert!(!verify(salt, b"vectos"));
        assert!(!verify(Salt([4; 16]), b"vector"));
    }

    #[test]
    fn a_group_header_counts_only_in_its_segment_and_at_its_position() {
        let bytes = group().encode(Salt([3; 16]));
        assert_eq!(GroupHeader::decode(&bytes, Salt([4; 16]), 4096), None);
        assert_eq!(GroupHeader::decode(&bytes, Salt([3; 16]), 4160), None);
        assert_eq!(GroupHeader::decode(&bytes[..63], Salt([3; 16]), 4096), None);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let salt = Salt([3; 16]);
        let sound = group().encode(salt);
        for bit in 0..BLOCK * 8 {
            let mut bytes = sound;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(GroupHeader::decode(&bytes, salt, 4096), None, "bit {bit}");
        }
        let sound = segment().encode();
        for bit in 0..PAGE * 8 {
            let mut page = sound;
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::decode(&page).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_newer_version_is_named_and_refused() {
        let mut page = segment().encode();
        page[8] = 3;
        let damaged = SegmentHeader::decode(&page);
        assert!(matches!(damaged, Err(Flaw::Broken { offset: 8, .. })));
        let crc = crc32fast::hash(&page[..PAGE_CRC_AT]);
        put(&mut page, PAGE_CRC_AT, &crc.to_le_bytes());
        let flaw = SegmentHeader::decode(&page).unwrap_err();
        let text = flaw.refuse(Path::new("/data/00000001.log")).to_string();
        let expected = "/data/00000001.log has format version 3 at byte 8, but this vectord reads \
                        version 2: use ";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn a_salt_is_never_printed() {
        assert_eq!(format!("{:?}", Salt([3; 16])), "Salt");
    }

    proptest! {
        #[test]
        fn decoders_take_any_bytes(bytes in proptest::collection::vec(any::<u8>(), PAGE)) {
            let page: &[u8; PAGE] = bytes.first_chunk().unwrap();
            let block: &[u8; BLOCK] = bytes.first_chunk().unwrap();
            prop_assert!(SegmentHeader::decode(page).is_err());
            prop_assert!(GroupHeader::decode(block, Salt([0; 16]), 0).is_none());
            drop(RecordHeader::decode(block, 0));
        }
    }
}
