//! Writes and reads groups. A group holds the records of one commit. It is written by one call, and
//! is valid only as a whole.
//!
//! The header of the group and those of its records come first, then all vectors, then all
//! payloads. So the headers can be verified without reading the rest, and each vector can be read
//! in place.

use std::ops::Range;

use super::{
    format::{
        BLOCK, Flaw, GroupHeader, Kind, MAX_GROUP_BYTES, Op, RecordHeader, SegmentHeader, align,
    },
    stream::StreamPosition,
};
use crate::{
    Error, Result,
    store::{Location, Write},
};

/// A record to be written.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    sequence: u64,
    op: Op,
    id: [u8; 16],
    vector: &'a [f32],
    content_type: u8,
    content: &'a [u8],
    metadata: &'a [u8],
    undone: u64,
}

impl<'a> Record<'a> {
    /// A no-op: a record that stores and deletes nothing.
    pub fn noop(sequence: u64) -> Record<'static> {
        Record {
            sequence,
            op: Op::Noop,
            id: [0; 16],
            vector: &[],
            content_type: 0,
            content: &[],
            metadata: &[],
            undone: 0,
        }
    }

    /// Whether it stores a point.
    pub fn is_insert(&self) -> bool {
        self.op == Op::Insert
    }

    /// The record for a write.
    pub fn new(write: &Write<'a>, sequence: u64) -> Record<'a> {
        match *write {
            Write::Insert {
                id,
                vector,
                content_type,
                content,
                metadata,
                replaced,
            } => Record {
                op: Op::Insert,
                id,
                vector,
                content_type,
                content,
                metadata,
                undone: replaced.map_or(0, |stored| stored.inserted),
                ..Record::noop(sequence)
            },
            Write::Delete { id, stored } => Record {
                op: Op::Delete,
                id,
                undone: stored.inserted,
                ..Record::noop(sequence)
            },
            Write::DeleteAll => Record {
                op: Op::DeleteAll,
                ..Record::noop(sequence)
            },
        }
    }
}

/// The offsets of the parts of a group, in bytes from its start.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    vectors: u64,
    payloads: u64,
    /// Length of the whole group.
    pub length: u64,
}

impl Layout {
    /// Lays out a group of records whose vectors have been checked against the dimension.
    pub fn of(records: &[Record]) -> Result<Layout> {
        let vectors = (records.len() as u64 + 1) * BLOCK as u64;
        let mut payloads = vectors;
        let mut content = 0;
        for record in records {
            let payload = record.content.len() + record.metadata.len();
            if u32::try_from(payload).is_err() {
                let text = format!("a payload of {payload} bytes, expected < 2^32");
                return Err(Error::InvalidArgument(text));
            }
            content += payload as u64;
            payloads += align(size_of_val(record.vector) as u64);
        }
        let length = align(payloads + content);
        if length > MAX_GROUP_BYTES || u32::try_from(records.len()).is_err() {
            return Err(Error::InvalidArgument(format!(
                "a group of {length} bytes is too large"
            )));
        }
        Ok(Layout {
            vectors,
            payloads,
            length,
        })
    }
}

/// The place at which a group is written, and what its header says of the log before it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub segment: &'a SegmentHeader,
    pub position: u64,
    pub durable: u64,
    pub stream: Option<StreamPosition>,
}

/// Encodes the group of at least one record into `buffer`, which is cleared first. Returns the
/// location that each record will have.
pub fn encode(
    buffer: &mut Vec<u8>,
    records: &[Record],
    layout: Layout,
    place: Place,
) -> Result<Vec<Location>> {
    buffer.clear();
    buffer
        .try_reserve_exact(layout.length as usize)
        .map_err(|_| {
            Error::Overloaded(format!("no memory for a group of {} bytes", layout.length))
        })?;
    buffer.resize(layout.length as usize, 0);
    let salt = place.segment.salt;
    let (mut vector_at, mut payload_at) = (layout.vectors, layout.payloads);
    let mut locations = Vec::with_capacity(records.len());
    let mut body = salt.hasher();
    for (index, record) in records.iter().enumerate() {
        let vector: &[u8] = bytemuck::cast_slice(record.vector);
        let stored = |at: u64| {
            if record.op == Op::Insert {
                place.position + at
            } else {
                0
            }
        };
        let header = RecordHeader {
            op: record.op,
            content_type: record.content_type,
            sequence: record.sequence,
            id: record.id,
            vector_offset: stored(vector_at),
            payload_offset: stored(payload_at),
            content_length: record.content.len() as u32,
            metadata_length: record.metadata.len() as u32,
            undone: record.undone,
        };
        let parts = [vector, record.content, record.metadata];
        let bytes = header.encode(salt, parts);
        let header_at = (index as u64 + 1) * BLOCK as u64;
        body.update(&bytes);
        copy(buffer, header_at, &bytes);
        copy(buffer, vector_at, vector);
        vector_at += align(vector.len() as u64);
        for payload in [record.content, record.metadata] {
            copy(buffer, payload_at, payload);
            payload_at += payload.len() as u64;
        }
        locations.push(header.location(place.segment.number, place.position + header_at));
    }
    let header = GroupHeader {
        position: place.position,
        length: layout.length,
        first_sequence: records.first().map_or(0, |record| record.sequence),
        durable: place.durable,
        record_count: records.len() as u32,
        body_crc: body.finalize(),
        stream: place.stream,
    };
    copy(buffer, 0, &header.encode(salt));
    Ok(locations)
}

fn copy(buffer: &mut [u8], at: u64, bytes: &[u8]) {
    buffer[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

impl RecordHeader {
    /// The location of the record whose header is at `offset`.
    pub fn location(&self, segment: u32, offset: u64) -> Location {
        let block = |offset: u64| (offset / BLOCK as u64) as u32;
        Location {
            segment,
            record: block(offset),
            vector: block(self.vector_offset),
        }
    }
}

/// How much of a group is to be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Verify its header and the headers of its records.
    Headers,
    /// Verify vectors and payloads too.
    Everything,
}

/// Reads and verifies the group at `position` in the bytes of a segment. Leaves the headers of its
/// records in `records`.
pub fn decode(
    segment: &SegmentHeader,
    bytes: &[u8],
    position: u64,
    depth: Depth,
    records: &mut Vec<RecordHeader>,
) -> Result<GroupHeader, Flaw> {
    records.clear();
    let group = decode_header(segment, bytes, position)?;
    verify_headers(segment, bytes, &group)?;
    // The headers were just verified in the file, so a wrong count cannot allocate more memory than
    // they take there.
    records.reserve_exact(group.record_count as usize);
    for (index, header) in group.record_headers(bytes).iter().enumerate() {
        let record = decode_record(segment, bytes, &group, (index, header), depth)?;
        if records
            .last()
            .is_some_and(|last| last.sequence >= record.sequence)
        {
            let reason = format!("a record with sequence {} again", record.sequence);
            return Err(Flaw::new(position, reason));
        }
        records.push(record);
    }
    Ok(group)
}

/// Reads the header of the group at `position` and verifies that the group fits.
pub fn decode_header(
    segment: &SegmentHeader,
    bytes: &[u8],
    position: u64,
) -> Result<GroupHeader, Flaw> {
    let rest = bytes.get(position as usize..).unwrap_or_default();
    let group = GroupHeader::decode(rest, segment.salt, position)
        .ok_or_else(|| Flaw::new(position, "expected a group, found none"))?;
    let headers_end = (u64::from(group.record_count) + 1) * BLOCK as u64;
    let fits = group.length <= rest.len() as u64 && headers_end <= group.length;
    if !fits || group.record_count == 0 || !group.length.is_multiple_of(BLOCK as u64) {
        return Err(Flaw::new(
            position,
            format!("a group of {} bytes", group.length),
        ));
    }
    Ok(group)
}

/// Verifies the headers of a group's records as a whole.
pub fn verify_headers(
    segment: &SegmentHeader,
    bytes: &[u8],
    group: &GroupHeader,
) -> Result<(), Flaw> {
    let mut body = segment.salt.hasher();
    body.update(group.record_headers(bytes).as_flattened());
    if body.finalize() != group.body_crc {
        let reason = format!(
            "the checksum of the group with sequence {} does not match",
            group.first_sequence
        );
        return Err(Flaw::new(group.position, reason));
    }
    Ok(())
}

/// Reads the header of a group's record, which is given with its index in the group, and verifies
/// the record.
pub fn decode_record(
    segment: &SegmentHeader,
    bytes: &[u8],
    group: &GroupHeader,
    (index, header): (usize, &[u8; BLOCK]),
    depth: Depth,
) -> Result<RecordHeader, Flaw> {
    let offset = group.position + (index as u64 + 1) * BLOCK as u64;
    let record = RecordHeader::decode(header, offset)?;
    let parts = record.parts(segment.dimension, bytes);
    let in_place = group.first_sequence.checked_add(index as u64);
    let is_possible = match segment.kind {
        Kind::Log => Some(record.sequence) == in_place,
        Kind::Compacted { .. } => in_place.is_some_and(|least| record.sequence >= least),
    };
    let (Some((vector, payload)), true) = (parts, is_possible) else {
        let reason = format!("the record with sequence {} is malformed", record.sequence);
        return Err(Flaw::new(offset, reason));
    };
    if depth == Depth::Everything && !RecordHeader::verify(header, segment.salt, [vector, payload])
    {
        return Err(record.mismatch(offset));
    }
    Ok(record)
}

/// Reads the record whose header is at `offset`, without its group. None unless it was written
/// there as part of this segment, which its checksum proves, as it includes the secret salt of the
/// segment, and its sequence is in `sequences`.
pub fn decode_stray(
    segment: &SegmentHeader,
    bytes: &[u8],
    offset: u64,
    sequences: &Range<u64>,
) -> Option<RecordHeader> {
    let header: &[u8; BLOCK] = bytes.get(offset as usize..)?.first_chunk()?;
    let record = RecordHeader::decode(header, offset).ok()?;
    let is_placed = record.op != Op::Insert || record.vector_offset > offset;
    if !sequences.contains(&record.sequence) {
        return None;
    }
    let (vector, payload) = record.parts(segment.dimension, bytes)?;
    let is_sound = is_placed && RecordHeader::verify(header, segment.salt, [vector, payload]);
    is_sound.then_some(record)
}

/// The content of a record, as its bytes in the file.
pub struct StoredBytes<'a> {
    pub vector: &'a [u8],
    pub content_type: u8,
    pub content: &'a [u8],
    pub metadata: &'a [u8],
}

/// The content of a record that was verified.
pub fn stored<'a>(
    segment: &SegmentHeader,
    bytes: &'a [u8],
    record: &RecordHeader,
) -> Option<StoredBytes<'a>> {
    let (vector, payload) = record.parts(segment.dimension, bytes)?;
    let (content, metadata) = payload.split_at_checked(record.content_length as usize)?;
    Some(StoredBytes {
        vector,
        content_type: record.content_type,
        content,
        metadata,
    })
}

impl GroupHeader {
    /// The offsets of the headers of its records.
    pub fn header_offsets(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.position + BLOCK as u64;
        (first..).step_by(BLOCK).take(self.record_count as usize)
    }

    /// The headers of the records of a group that fits among the bytes of its segment.
    pub fn record_headers<'b>(&self, bytes: &'b [u8]) -> &'b [[u8; BLOCK]] {
        let start = self.position as usize + BLOCK;
        let (headers, _) = bytes[start..start + self.record_count as usize * BLOCK].as_chunks();
        headers
    }
}

impl RecordHeader {
    /// The record's vector and payload among the bytes of its segment.
    fn parts<'a>(&self, dimension: u32, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let vector_bytes = if self.op == Op::Insert {
            u64::from(dimension) * 4
        } else {
            0
        };
        if !self.vector_offset.is_multiple_of(BLOCK as u64) {
            return None;
        }
        let vector = range(bytes, self.vector_offset, vector_bytes)?;
        let payload = range(bytes, self.payload_offset, self.payload_length())?;
        Some((vector, payload))
    }

    /// The flaw of a record whose checksum does not match.
    pub fn mismatch(&self, offset: u64) -> Flaw {
        let reason = format!(
            "the checksum of the record with sequence {} does not match",
            self.sequence
        );
        Flaw::new(offset, reason)
    }
}

fn range(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let end = offset.checked_add(length)?;
    bytes.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::log::format::{SEGMENT_VERSION, Salt};

    const POSITION: u64 = 4096;

    fn segment() -> SegmentHeader {
        SegmentHeader {
            version: SEGMENT_VERSION,
            number: 1,
            store: [1; 16],
            id: [2; 16],
            salt: Salt([3; 16]),
            dimension: 3,
            kind: Kind::Log,
            first_sequence: 5,
            capacity: 1 << 16,
        }
    }

    fn written() -> (Vec<u8>, Vec<Location>) {
        let segment = segment();
        let records = [
            Record {
                op: Op::Insert,
                id: [7; 16],
                vector: &[1.0, -0.0, 3.5],
                ..Record::noop(5)
            },
            Record {
                op: Op::Delete,
                id: [8; 16],
                undone: 2,
                ..Record::noop(6)
            },
            Record {
                op: Op::Insert,
                id: [9; 16],
                vector: &[4.0, 5.0, 6.0],
                content_type: 1,
                content: b"content",
                metadata: b"meta",
                undone: 1,
                ..Record::noop(7)
            },
        ];
        let place = Place {
            segment: &segment,
            position: POSITION,
            durable: 4,
            stream: None,
        };
        let mut group = Vec::new();
        let layout = Layout::of(&records).unwrap();
        let locations = encode(&mut group, &records, layout, place).unwrap();
        let mut bytes = vec![0; POSITION as usize];
        bytes.extend(&group);
        (bytes, locations)
    }

    #[test]
    fn the_headers_of_a_group_take_no_more_memory_than_in_the_file() {
        let segment = segment();
        let records: Vec<Record> = (5..1_034).map(Record::noop).collect();
        let place = Place {
            segment: &segment,
            position: 0,
            durable: 4,
            stream: None,
        };
        let mut group = Vec::new();
        let layout = Layout::of(&records).unwrap();
        encode(&mut group, &records, layout, place).unwrap();
        let mut headers = Vec::new();
        decode(&segment, &group, 0, Depth::Everything, &mut headers).unwrap();
        assert_eq!(headers.len(), records.len());
        assert!(headers.capacity() * size_of::<RecordHeader>() <= group.len());
    }

    #[test]
    fn a_group_is_laid_out_as_documented() {
        let (bytes, locations) = written();
        assert_eq!(bytes.len(), 4096 + 64 + 3 * 64 + 2 * 64 + 64);
        assert_eq!(
            locations[0],
            Location {
                segment: 1,
                record: 65,
                vector: 68
            }
        );
        assert_eq!(
            locations[1],
            Location {
                segment: 1,
                record: 66,
                vector: 0
            }
        );
        assert_eq!(
            locations[2],
            Location {
                segment: 1,
                record: 67,
                vector: 69
            }
        );
        assert_eq!(&bytes[68 * 64..68 * 64 + 4], &1.0_f32.to_le_bytes());
        assert_eq!(&bytes[70 * 64..70 * 64 + 11], b"contentmeta");
    }

    #[test]
    fn a_group_comes_back_as_it_was_written() {
        let (bytes, _) = written();
        let mut records = Vec::new();
        let group = decode(
            &segment(),
            &bytes,
            POSITION,
            Depth::Everything,
            &mut records,
        )
        .unwrap();
        assert_eq!(
            (group.length, group.first_sequence, group.durable),
            (448, 5, 4)
        );
        let seen: Vec<_> = records
            .iter()
            .map(|r| (r.op, r.sequence, r.id[0]))
            .collect();
        assert_eq!(
            seen,
            [(Op::Insert, 5, 7), (Op::Delete, 6, 8), (Op::Insert, 7, 9)]
        );
    }

    #[test]
    fn a_flipped_bit_is_noticed_in_the_headers_always_and_elsewhere_at_full_depth() {
        let (sound, _) = written();
        let mut records = Vec::new();
        for bit in 0..448 * 8 {
            let mut bytes = sound.clone();
            bytes[4096 + bit / 8] ^= 1 << (bit % 8);
            let shallow = decode(&segment(), &bytes, POSITION, Depth::Headers, &mut records);
            let deep = decode(
                &segment(),
                &bytes,
                POSITION,
                Depth::Everything,
                &mut records,
            );
            let at = bit / 8;
            let padding = (268..320).contains(&at) || (332..384).contains(&at) || at >= 395;
            assert_eq!(shallow.is_err(), at < 256, "byte {at}");
            assert_eq!(deep.is_err(), !padding, "byte {at}");
        }
    }

    #[test]
    fn a_truncated_group_is_noticed() {
        let (bytes, _) = written();
        let mut records = Vec::new();
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            assert!(decode(&segment(), cut, POSITION, Depth::Headers, &mut records).is_err());
        }
    }

    proptest! {
        // The checksums are made right again, so that the checks behind them are reached.
        #[test]
        fn any_record_header_under_a_right_checksum_is_taken_or_refused(
            header in any::<[u8; 32]>(),
            tail in any::<[u8; 32]>(),
            length in any::<u64>(),
            count in 0_u32..8,
        ) {
            let (mut bytes, _) = written();
            bytes[4160..4192].copy_from_slice(&header);
            bytes[4192..4224].copy_from_slice(&tail);
            let segment = segment();
            let end = 4160 + count as usize * BLOCK;
            let mut body = segment.salt.hasher();
            body.update(bytes.get(4160..end).unwrap_or_default());
            for length in [length, 448] {
                let group = GroupHeader {
                    position: POSITION,
                    length,
                    first_sequence: u64::MAX - 1,
                    durable: 0,
                    record_count: count,
                    body_crc: body.clone().finalize(),
                    stream: None,
                };
                copy(&mut bytes, POSITION, &group.encode(segment.salt));
                let mut records = Vec::new();
                let read = decode(&segment, &bytes, POSITION, Depth::Everything, &mut records);
                prop_assert!(read.is_err());
            }
        }
    }
}
