//! What of each segment is still needed: the points that live, and the deletes of points whose
//! records are still there.

use std::{collections::HashMap, ops::Range, slice};

use super::{
    format::{BLOCK, Kind, PAGE, align},
    manifest::{Entry, Manifest},
};

/// By the number of the segment.
#[derive(Debug, Default)]
pub struct Usage {
    segments: HashMap<u32, SegmentUsage>,
}

/// What of one segment is needed.
#[derive(Clone, Debug, Default)]
pub struct SegmentUsage {
    /// Bytes that the live points would take in a segment of their own.
    pub live_bytes: u64,
    /// All its deletes.
    pub tombstones: Vec<Tombstone>,
}

/// The delete of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Sequence of the insert.
    pub inserted: u64,
    /// Sequence of the delete.
    pub deleted: u64,
}

/// Bytes that the record of a point takes, its part of the group's header aside.
pub fn record_bytes(dimension: u32, payload_bytes: u32) -> u64 {
    BLOCK as u64 + align(u64::from(dimension) * 4) + u64::from(payload_bytes)
}

impl Usage {
    /// What is known of one segment.
    pub fn of(&mut self, segment: u32) -> &mut SegmentUsage {
        self.segments.entry(segment).or_default()
    }

    /// Forgets a segment.
    pub fn remove(&mut self, segment: u32) {
        self.segments.remove(&segment);
    }

    /// The segments next to each other of which it pays most to copy what is needed, by their places
    /// in the manifest: together they would shrink by a third at least, and what is left of them
    /// fits one segment of so many bytes. `None` if there are none.
    pub fn stretch(&self, manifest: &Manifest, segment_bytes: u64) -> Option<Range<usize>> {
        let sealed = manifest.segments.len().saturating_sub(1);
        let sizes: Vec<(u64, u64)> = manifest.segments[..sealed]
            .iter()
            .map(|entry| (entry.end, self.needed_bytes(manifest, entry)))
            .collect();
        let mut best = None;
        for start in 0..sealed {
            let (mut all, mut needed) = (0, PAGE as u64);
            for (end, size) in (start + 1..).zip(&sizes[start..]) {
                all += size.0;
                needed += size.1;
                if end - start > 1 && needed > segment_bytes {
                    break;
                }
                let gain = all.saturating_sub(needed);
                // What gains most for each byte that is copied comes first.
                let is_better = best.as_ref().is_none_or(|&(most, cost, _)| {
                    u128::from(gain) * u128::from(cost) > u128::from(most) * u128::from(needed)
                });
                if gain * 3 >= all && is_better {
                    best = Some((gain, needed, start..end));
                }
            }
        }
        best.map(|(_, _, stretch)| stretch)
    }

    fn needed_bytes(&self, manifest: &Manifest, entry: &Entry) -> u64 {
        let Some(usage) = self.segments.get(&entry.number) else {
            return 0;
        };
        let tombstones = usage.tombstones.iter();
        let needed =
            tombstones.filter(|tombstone| manifest.needs(tombstone, slice::from_ref(entry)));
        usage.live_bytes + (needed.count() * BLOCK) as u64
    }
}

impl Manifest {
    /// Whether the record of the insert that a delete undoes may be there still, once those that
    /// are not needed are gone from `going`.
    pub fn needs(&self, tombstone: &Tombstone, going: &[Entry]) -> bool {
        let Some(entry) = self.entry_of(tombstone.inserted) else {
            return false;
        };
        let is_gone = match entry.kind {
            Kind::Log => false,
            Kind::Compacted { through } => through >= tombstone.deleted,
        };
        !is_gone && !going.iter().any(|going| going.number == entry.number)
    }
}
