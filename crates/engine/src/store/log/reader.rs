//! Reads the log: the published bytes of every mapped segment, without a lock.
#![allow(
    unsafe_code,
    reason = "segments are read without a lock and unmapped one day"
)]

use std::{
    path::{Path, PathBuf},
    ptr,
    sync::{
        OnceLock,
        atomic::{
            AtomicBool, AtomicPtr,
            Ordering::{AcqRel, Acquire, Relaxed},
        },
    },
};

use super::{
    format::{BLOCK, Flaw, Op, PAGE, RecordHeader, SegmentHeader},
    read_ahead::{Part as ReadPart, ReadAhead},
    segment::Segment,
    usage::record_bytes,
};
use vectord_filter::Subject;

use crate::{
    Error, Result,
    store::{Location, mapping::Mapping},
};

/// All segments of a store, mapped for readers. The writer adds segments, publishes groups and
/// removes segments that compaction has replaced, while readers read. A reader waits for nothing.
pub struct Segments {
    dimension: u32,
    /// Bucket b holds the segments 2^b..2^(b+1): a list that grows without moving an entry. Each
    /// entry owns its segment; it is null if the segment does not exist.
    buckets: [OnceLock<Box<[AtomicPtr<Mapped>]>>; 32],
    /// See [`Segments::read_at_random`].
    is_read_at_random: AtomicBool,
}

/// A point as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredPoint<'s> {
    /// The point's id.
    pub id: [u8; 16],
    /// The sequence number of its insertion.
    pub sequence: u64,
    /// The vector, in place.
    pub vector: &'s [f32],
    /// The number of its content type.
    pub content_type: u8,
    /// The content of its payload, in place.
    pub content: &'s [u8],
    /// The metadata of its payload, in place.
    pub metadata: &'s [u8],
}

impl StoredPoint<'_> {
    /// The point as a filter is asked about it.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            id: &self.id,
            content_type: self.content_type,
            metadata: self.metadata,
        }
    }
}

pub(crate) struct Mapped {
    pub(crate) mapping: Mapping,
    pub(crate) path: PathBuf,
    pub(crate) header: SegmentHeader,
}

/// The place of a part of a record, or of several parts next to each other.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    segment: u32,
    from: u64,
    to: u64,
    is_vector: bool,
}

impl Part {
    /// Whether `other` begins where this part ends, or so close that only a few deleted points lie
    /// in between.
    fn is_followed_by(&self, other: &Part) -> bool {
        self.segment == other.segment
            && self.is_vector == other.is_vector
            && other.from <= self.to + PAGE as u64
    }
}

impl Segments {
    pub(crate) fn new(dimension: u32) -> Segments {
        Segments {
            dimension,
            buckets: [const { OnceLock::new() }; 32],
            is_read_at_random: AtomicBool::new(false),
        }
    }

    /// Adds a segment with its present content.
    pub(crate) fn add(&self, segment: &Segment, mapping: Mapping) {
        let (bucket, index) = place(segment.header.number).expect("segments count from 1");
        let entries = self.buckets[bucket].get_or_init(|| {
            (0..1_usize << bucket)
                .map(|_| AtomicPtr::default())
                .collect()
        });
        if self.is_read_at_random.load(Relaxed) {
            mapping.read_at_random();
        }
        let mapped = Box::into_raw(Box::new(Mapped {
            mapping,
            path: segment.path.clone(),
            header: segment.header.clone(),
        }));
        let before = entries[index].swap(mapped, AcqRel);
        assert!(before.is_null(), "a segment is added once");
    }

    /// Ends a start, which reads everything in order: see [`Mapping::read_at_random`]. No segment is
    /// added or removed meanwhile.
    pub fn read_at_random(&self) {
        self.is_read_at_random.store(true, Relaxed);
        for segment in self.numbers(0).filter_map(|number| self.get(number)) {
            segment.mapping.read_at_random();
        }
    }

    /// Asks the system to read the blocks `from..to` of a segment, see [`Mapping::ask_ahead`].
    pub fn ask_ahead(&self, segment: u32, from: u32, to: u32) {
        let [from, to] = [from, to].map(|block| u64::from(block) * BLOCK as u64);
        if let Some(segment) = self.get(segment) {
            segment.mapping.ask_ahead(from, to);
        }
    }

    /// Unmaps a segment.
    ///
    /// # Safety
    /// No thread has, or can get, a reference to the segment or to its bytes.
    pub(crate) unsafe fn remove(&self, segment: u32) {
        let Some((bucket, index)) = place(segment) else {
            return;
        };
        let Some(entries) = self.buckets[bucket].get() else {
            return;
        };
        let mapped = entries[index].swap(ptr::null_mut(), AcqRel);
        if !mapped.is_null() {
            // SAFETY: the pointer is from `Box::into_raw` in `add`, nobody else can take it any
            // more, and as the caller promises nobody uses it.
            drop(unsafe { Box::from_raw(mapped) });
        }
    }

    /// Makes a segment's bytes before `end` visible; they must be durable.
    pub(crate) fn publish(&self, segment: u32, end: u64) {
        self.get(segment)
            .expect("a segment is added first")
            .mapping
            .publish(end);
    }

    /// The dimension of every vector.
    #[must_use]
    pub fn dimension(&self) -> u32 {
        self.dimension
    }

    /// The vector at a place from a [`Location`]: a segment number and an offset in blocks. It is
    /// not verified, unlike by [`Self::read`].
    ///
    /// # Panics
    /// If no such bytes were published.
    #[inline]
    #[must_use]
    pub fn vector(&self, segment: u32, vector: u32) -> &[f32] {
        let offset = u64::from(vector) * BLOCK as u64;
        let bytes = self
            .get(segment)
            .and_then(|segment| segment.mapping.bytes(offset, u64::from(self.dimension) * 4))
            .expect("a location leads to published bytes");
        bytemuck::cast_slice(bytes)
    }

    /// Releases the whole pages in the blocks `from..to` of a segment from memory. A later read
    /// gets them back.
    pub fn evict(&self, segment: u32, from: u32, to: u32) {
        let [from, to] = [from, to].map(|block| u64::from(block) * BLOCK as u64);
        if let Some(segment) = self.get(segment) {
            segment.mapping.evict(from, to);
        }
    }

    /// Releases the whole pages of headers and contents of these records from memory. Vectors stay,
    /// since searches read them.
    pub fn let_go_beside_vectors(&self, records: &[Location]) {
        let mut parts: Vec<Part> = Vec::new();
        if parts.try_reserve(3 * records.len()).is_err() {
            // Without memory for the list, the pages stay, which does no harm.
            return;
        }
        let found = records.iter().filter_map(|&location| self.parts(location));
        parts.extend(found.flatten().filter(|part| part.from < part.to));
        parts.sort_unstable();
        let mut run: Option<Part> = None;
        for part in parts {
            match &mut run {
                Some(run) if run.is_followed_by(&part) => run.to = run.to.max(part.to),
                _ => self.let_go_of(run.replace(part)),
            }
        }
        self.let_go_of(run);
    }

    /// Releases the pages of a part, unless it is a vector.
    fn let_go_of(&self, part: Option<Part>) {
        if let Some(part) = part.filter(|part| !part.is_vector)
            && let Some(segment) = self.get(part.segment)
        {
            segment.mapping.evict(part.from, part.to);
        }
    }

    /// The places of the header, vector and content of a record.
    fn parts(&self, location: Location) -> Option<[Part; 3]> {
        let header = self.get(location.segment)?.record(location).ok()?;
        let record = RecordHeader::decode(header, location.offset()).ok()?;
        let part = |is_vector, from: u64, length: u64| Part {
            segment: location.segment,
            from,
            to: from.saturating_add(length),
            is_vector,
        };
        let vector_bytes = u64::from(self.dimension) * 4;
        Some([
            part(false, location.offset(), BLOCK as u64),
            part(true, record.vector_offset, vector_bytes),
            part(false, record.payload_offset, record.payload_length()),
        ])
    }

    /// The number of bytes of a point's record. If its header cannot be read, the payload is left
    /// out.
    #[must_use]
    pub fn bytes_of(&self, location: Location) -> u64 {
        let (content, metadata) = self.payload_lengths(location);
        record_bytes(self.dimension, (content + metadata) as u64)
    }

    /// The lengths of a record's content and metadata, by its header; 0 if that cannot be read.
    #[must_use]
    pub fn payload_lengths(&self, location: Location) -> (usize, usize) {
        self.payload_lengths_by(location, &mut ReadAhead::default())
    }

    /// The same of a reader that reads many points.
    pub fn payload_lengths_by(&self, location: Location, ahead: &mut ReadAhead) -> (usize, usize) {
        ahead.turn_to(location.segment);
        let header = self
            .get(location.segment)
            .and_then(|segment| segment.record_by(location, ahead).ok());
        let record = header.and_then(|header| RecordHeader::decode(header, location.offset()).ok());
        record.map_or((0, 0), |record| {
            let lengths = (record.content_length, record.metadata_length);
            (lengths.0 as usize, lengths.1 as usize)
        })
    }

    /// Reads a point and verifies every byte of it against its checksum.
    pub fn read(&self, location: Location) -> Result<StoredPoint<'_>> {
        self.read_by(location, &mut ReadAhead::default())
    }

    /// The same of a reader that reads many points.
    pub fn read_by(&self, location: Location, ahead: &mut ReadAhead) -> Result<StoredPoint<'_>> {
        let segment = self.mapped(location.segment)?;
        ahead.turn_to(location.segment);
        segment
            .read(location, self.dimension, ahead)
            .map_err(|flaw| flaw.refuse(&segment.path))
    }

    /// The header of a segment, its published bytes, and its path.
    pub(crate) fn whole(&self, segment: u32) -> Result<(&SegmentHeader, &[u8], &Path)> {
        let mapped = self.mapped(segment)?;
        let length = mapped.mapping.published().len() as u64;
        let bytes = mapped.bytes(0, length);
        let bytes = bytes.map_err(|flaw| flaw.refuse(&mapped.path))?;
        Ok((&mapped.header, bytes, &mapped.path))
    }

    /// The segment with this number, or the first one after it, with its number.
    pub(crate) fn first_from(&self, number: u32) -> Option<(u32, &Mapped)> {
        let (first, _) = place(number.max(1))?;
        self.numbers(first)
            .filter(|&found| found >= number)
            .find_map(|found| Some((found, self.get(found)?)))
    }

    /// The numbers of all segments that there may be, from those in the bucket `first` on.
    fn numbers(&self, first: usize) -> impl Iterator<Item = u32> {
        let buckets = self.buckets.iter().enumerate().skip(first);
        buckets
            .filter(|(_, entries)| entries.get().is_some())
            .flat_map(|(bucket, _)| 1_u32 << bucket..=u32::MAX >> (31 - bucket))
    }

    /// The segment with this number, or an error.
    fn mapped(&self, number: u32) -> Result<&Mapped> {
        self.get(number)
            .ok_or_else(|| Error::Internal(format!("there is no segment {number}")))
    }

    #[inline]
    fn get(&self, number: u32) -> Option<&Mapped> {
        let (bucket, index) = place(number)?;
        let mapped = self.buckets[bucket].get()?[index].load(Acquire);
        // SAFETY: a pointer that is not null is from `Box::into_raw` in `add`, which has stored it
        // after what it points to. It is freed by `remove`, whose caller promises that no thread
        // has or gets such a reference, or when `self` is dropped, which outlives the reference.
        unsafe { mapped.as_ref() }
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        for entries in self.buckets.iter_mut().filter_map(OnceLock::get_mut) {
            for entry in entries {
                let mapped = *entry.get_mut();
                if !mapped.is_null() {
                    // SAFETY: the pointer is from `Box::into_raw` in `add`, and nobody has a
                    // reference to what is being dropped.
                    drop(unsafe { Box::from_raw(mapped) });
                }
            }
        }
    }
}

/// The bucket of a segment and the index in it. None for segment 0, which does not exist.
#[inline]
fn place(number: u32) -> Option<(usize, usize)> {
    let bucket = number.checked_ilog2()?;
    Some((bucket as usize, (number - (1 << bucket)) as usize))
}

impl Mapped {
    /// Published bytes. It is a flaw if the disk cannot read them any more.
    pub(crate) fn bytes(&self, offset: u64, length: u64) -> Result<&[u8], Flaw> {
        // Without anything that was made readable before, it does not matter which part it is.
        ReadAhead::default().bytes(&self.mapping, ReadPart::Header, offset, length)
    }

    fn record(&self, location: Location) -> Result<&[u8; BLOCK], Flaw> {
        self.record_by(location, &mut ReadAhead::default())
    }

    /// The header of a record.
    fn record_by(&self, location: Location, ahead: &mut ReadAhead) -> Result<&[u8; BLOCK], Flaw> {
        let offset = location.offset();
        let bytes = ahead.bytes(&self.mapping, ReadPart::Header, offset, BLOCK as u64)?;
        Ok(bytes.first_chunk().expect("a block was asked for"))
    }

    fn read(
        &self,
        location: Location,
        dimension: u32,
        ahead: &mut ReadAhead,
    ) -> Result<StoredPoint<'_>, Flaw> {
        let offset = location.offset();
        let header = self.record_by(location, ahead)?;
        let record = RecordHeader::decode(header, offset)?;
        let mut bytes = |part, offset, length| ahead.bytes(&self.mapping, part, offset, length);
        let vector_bytes = u64::from(dimension) * 4;
        let vector = bytes(ReadPart::Vector, record.vector_offset, vector_bytes)?;
        let payload_bytes = record.payload_length();
        let payload = bytes(ReadPart::Payload, record.payload_offset, payload_bytes)?;
        if record.op != Op::Insert
            || record.location(location.segment, offset) != location
            || !RecordHeader::verify(header, self.header.salt, [vector, payload])
        {
            return Err(record.mismatch(offset));
        }
        let (content, metadata) = payload.split_at(record.content_length as usize);
        Ok(StoredPoint {
            id: record.id,
            sequence: record.sequence,
            vector: bytemuck::cast_slice(vector),
            content_type: record.content_type,
            content,
            metadata,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn segment_numbers_fill_the_buckets_in_order() {
        assert_eq!(place(0), None);
        let places: Vec<_> = (1..=8).map(|number| place(number).unwrap()).collect();
        let expected = [
            (0, 0),
            (1, 0),
            (1, 1),
            (2, 0),
            (2, 1),
            (2, 2),
            (2, 3),
            (3, 0),
        ];
        assert_eq!(places, expected);
        assert_eq!(place(u32::MAX), Some((31, (1 << 31) - 1)));
    }
}
