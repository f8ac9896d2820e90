//! Writes the points that a repair saves into the new folder.

use std::path::Path;

use super::{
    plan::{RepairPlan, SavedPoint},
    survey::{Survey, Surveyed},
};
use crate::{
    Result,
    store::{
        DEFAULT_SEGMENT_BYTES, Write,
        io::{Io, fatal},
        log::{
            format::{BLOCK, Flaw, Kind, PAGE, SEGMENT_VERSION, Salt, SegmentHeader},
            group::{self, Layout, Place, Record},
            manifest::{Entry, Manifest},
            segment::{self, Segment},
            usage::record_bytes,
        },
        random,
        space::compaction::group_sizes,
        tools::event::Event,
    },
};

/// The size of the empty segment that is made for the first writes after the repair.
const LAST_CAPACITY: u64 = 16 * PAGE as u64;

/// Writes the points, with the sequences that they had, into compacted segments, and an empty
/// segment behind them, and adds the segments to `manifest`. The content of the files is durable
/// then, but not their names.
pub fn write(
    io: &dyn Io,
    target: &Path,
    manifest: &mut Manifest,
    (survey, plan): (&Survey, &RepairPlan),
    tell: &mut dyn FnMut(Event),
) -> Result<()> {
    let mut writer = RepairWriter {
        io,
        target,
        manifest,
        last_sequence: survey.last_sequence,
        source: Source {
            io,
            files: &survey.files,
            loaded: None,
            buffer: Vec::new(),
        },
        done: 0,
        total: 0,
    };
    writer.total = writer.bytes(&plan.saved);
    let mut rest = &plan.saved[..];
    loop {
        let count = writer.count_for_one(rest);
        let points = rest.split_off(..count).unwrap_or_default();
        writer.segment(points, rest.is_empty(), tell)?;
        if rest.is_empty() {
            break;
        }
    }
    let header = writer.next_header(Kind::Log, LAST_CAPACITY)?;
    let last = Segment::create(io, target, header)?;
    manifest.segments.push(Entry::of(&last.header));
    manifest.next_number += 1;
    Ok(())
}

struct RepairWriter<'a> {
    io: &'a dyn Io,
    target: &'a Path,
    manifest: &'a mut Manifest,
    /// The greatest sequence that is known. The new segments say that all deletes up to it are
    /// applied.
    last_sequence: u64,
    source: Source<'a>,
    done: u64,
    total: u64,
}

impl RepairWriter<'_> {
    fn bytes_of(&self, point: &SavedPoint) -> (u64, u64) {
        let record = record_bytes(self.manifest.dimension, 0);
        let payload =
            u64::from(point.insert.content_bytes) + u64::from(point.insert.metadata_bytes);
        (record, payload)
    }

    fn bytes(&self, points: &[SavedPoint]) -> u64 {
        let sizes = points.iter().map(|point| self.bytes_of(point));
        sizes.map(|(record, payload)| record + payload).sum()
    }

    /// The number of points, from the first on, that go into one segment.
    fn count_for_one(&self, points: &[SavedPoint]) -> usize {
        let mut bytes = 0;
        let is_over = |point: &SavedPoint| {
            let (record, payload) = self.bytes_of(point);
            bytes += record + payload;
            bytes > DEFAULT_SEGMENT_BYTES
        };
        let count = points.iter().position(is_over).unwrap_or(points.len());
        count.max(1).min(points.len())
    }

    fn next_header(&self, kind: Kind, capacity: u64) -> Result<SegmentHeader> {
        let before = self.manifest.segments.last();
        Ok(SegmentHeader {
            version: SEGMENT_VERSION,
            number: self.manifest.next_number,
            store: self.manifest.store,
            id: random()?,
            salt: Salt(random()?),
            dimension: self.manifest.dimension,
            kind,
            first_sequence: before.map_or(1, |entry| entry.last_sequence + 1),
            capacity,
        })
    }

    /// Writes a segment of these points. Its range of sequences goes up to the last of them, or to
    /// the end of the log.
    fn segment(
        &mut self,
        points: &[SavedPoint],
        is_last: bool,
        tell: &mut dyn FnMut(Event),
    ) -> Result<()> {
        let groups = group_sizes(points.iter().map(|point| self.bytes_of(point)));
        let length: u64 = groups.iter().map(|&(_, length)| length).sum();
        let through = self.last_sequence;
        let kind = Kind::Compacted { through };
        let header = self.next_header(kind, PAGE as u64 + length)?;
        let mut segment = Segment::create(self.io, self.target, header)?;
        let mut rest = points;
        let mut buffer = Vec::new();
        for (count, _) in groups {
            let group = rest.split_off(..count).unwrap_or_default();
            self.group(&mut segment, group, &mut buffer)?;
            self.done += self.bytes(group);
            let (done, total) = (self.done, self.total);
            tell(Event::Progress { done, total });
        }
        segment.sync().map_err(fatal)?;
        let last = points.last().filter(|_| !is_last);
        self.manifest.segments.push(Entry {
            end: segment.end,
            last_sequence: last.map_or(through, |point| point.insert.sequence),
            ..Entry::of(&segment.header)
        });
        self.manifest.next_number += 1;
        Ok(())
    }

    fn group(
        &mut self,
        segment: &mut Segment,
        points: &[SavedPoint],
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        let mut vectors = Vec::new();
        let mut payloads = Vec::new();
        let mut content_types = Vec::new();
        for point in points {
            let stored = self.source.read(point)?;
            vectors.extend(bytemuck::pod_collect_to_vec::<u8, f32>(stored.vector));
            payloads.extend_from_slice(stored.content);
            payloads.extend_from_slice(stored.metadata);
            content_types.push(stored.content_type);
        }
        let (mut vectors, mut payloads) = (&vectors[..], &payloads[..]);
        let mut records = Vec::with_capacity(points.len());
        for (point, content_type) in points.iter().zip(content_types) {
            let dimension = self.manifest.dimension as usize;
            let mut payload = |bytes: u32| payloads.split_off(..bytes as usize).unwrap_or_default();
            let write = Write::Insert {
                id: point.insert.id,
                vector: vectors.split_off(..dimension).unwrap_or_default(),
                content_type,
                content: payload(point.insert.content_bytes),
                metadata: payload(point.insert.metadata_bytes),
                replaced: None,
            };
            records.push(Record::new(&write, point.insert.sequence));
        }
        let place = Place {
            segment: &segment.header,
            position: segment.end,
            durable: 0,
            stream: None,
        };
        group::encode(buffer, &records, Layout::of(&records)?, place)?;
        Ok(segment.write(buffer)?)
    }
}

/// The files that points are read from, one at a time in memory.
struct Source<'a> {
    io: &'a dyn Io,
    files: &'a [Surveyed],
    loaded: Option<(usize, u64)>,
    buffer: Vec<u8>,
}

impl Source<'_> {
    fn read(&mut self, point: &SavedPoint) -> Result<group::StoredBytes<'_>> {
        let Surveyed { path, header, .. } = &self.files[point.file];
        let size = match self.loaded {
            Some((file, size)) if file == point.file => size,
            _ => {
                let file = self.io.open_read(path)?;
                let size = file.size()?;
                // The survey could not read these bytes either, so no saved record is in them.
                segment::load_readable(&*file, path, &mut self.buffer, size, &mut |_| {})?;
                self.loaded = Some((point.file, size));
                size
            }
        };
        let offset = u64::from(point.insert.block) * BLOCK as u64;
        let sequence = point.insert.sequence;
        let sequences = sequence..sequence + 1;
        let bytes = &self.buffer[..size as usize];
        let read = group::decode_stray(header, bytes, offset, &sequences);
        let read = read.and_then(|record| group::stored(header, bytes, &record));
        read.ok_or_else(|| {
            let reason = "it reads otherwise than when it was verified";
            Flaw::new(offset, reason).refuse(path)
        })
    }
}
