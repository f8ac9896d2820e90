//! Counts the part of each segment that is still needed, and chooses the segments that are worth
//! compacting. Live points are needed, and the deletes (tombstones) of points whose records still
//! exist.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    slice,
};

use super::{
    format::{BLOCK, Kind, Op, PAGE, RecordHeader, align},
    manifest::{Entry, Manifest},
};

/// Compaction begins once it would free one in this number of the log's bytes.
const LEAST_SHARE: u64 = 16;

/// The terms on which it is worth copying the needed records of some segments.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// At least one in this number of their bytes becomes free.
    pub share: u64,
    /// At least this number of bytes becomes free.
    pub bytes: u64,
}

impl Terms {
    /// The terms on a disk with space.
    pub const USUAL: Terms = Terms { share: 4, bytes: 0 };

    /// Whether copying segments of `all` bytes, which frees `gain` bytes, is worth it.
    fn are_met(self, all: u64, gain: u64) -> bool {
        gain.saturating_mul(self.share) >= all && gain >= self.bytes
    }
}

/// Segments next to each other that are worth a copy.
struct Worth {
    /// Their indices in the manifest.
    places: Range<usize>,
    /// The bytes that become free.
    gain: u64,
    /// The bytes of the copy.
    needed: u64,
}

/// The bytes of a segment.
struct Size {
    all: u64,
    /// The bytes that its needed records would take in a segment of their own.
    needed: u64,
}

/// What is needed of each segment, by its number.
#[derive(Debug, Default)]
pub struct Usage {
    segments: HashMap<u32, SegmentUsage>,
}

/// What is needed of one segment.
#[derive(Clone, Debug, Default)]
pub struct SegmentUsage {
    /// The bytes that its live points would take in a segment of their own.
    pub live_bytes: u64,
    /// All of its tombstones, needed or not.
    pub tombstones: Vec<Tombstone>,
}

/// The record that deletes a point, replaces it, or deletes all points before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The sequence of the first insert that it undoes.
    pub first: u64,
    /// The sequence of the last insert that it undoes.
    pub last: u64,
    /// The sequence of the record.
    pub deleted: u64,
}

impl Tombstone {
    /// Undoes one insert.
    pub fn of_one(inserted: u64, deleted: u64) -> Tombstone {
        Tombstone {
            first: inserted,
            last: inserted,
            deleted,
        }
    }

    /// Undoes all inserts before it.
    pub fn of_all(deleted: u64) -> Tombstone {
        Tombstone {
            first: 0,
            last: deleted.saturating_sub(1),
            deleted,
        }
    }

    /// What a record undoes; None if that is nothing.
    pub fn of(record: &RecordHeader) -> Option<Tombstone> {
        let one = || Tombstone::of_one(record.undone, record.sequence);
        match record.op {
            Op::Insert => (record.undone > 0).then(one),
            Op::Delete => Some(one()),
            Op::DeleteAll => Some(Tombstone::of_all(record.sequence)),
            Op::Noop => None,
        }
    }
}

/// The bytes that the record of a point takes. The header and the padding of its group come on top.
pub fn record_bytes(dimension: u32, payload_bytes: u64) -> u64 {
    BLOCK as u64 + align(u64::from(dimension) * 4) + payload_bytes
}

impl Usage {
    /// What is known of one segment.
    pub fn of(&mut self, segment: u32) -> &mut SegmentUsage {
        self.segments.entry(segment).or_default()
    }

    /// The tombstones in a segment.
    pub fn tombstones(&self, segment: u32) -> &[Tombstone] {
        let usage = self.segments.get(&segment);
        usage.map_or(&[], |usage| &usage.tombstones)
    }

    /// Notes that no point lives any more.
    pub fn all_deleted(&mut self) {
        for usage in self.segments.values_mut() {
            usage.live_bytes = 0;
        }
    }

    /// Forgets a segment.
    pub fn remove(&mut self, segment: u32) {
        self.segments.remove(&segment);
    }

    /// The stretches of segments that are worth copying, as ranges of indices in the manifest. Each
    /// would shrink by a quarter at least, and then fit one segment of `segment_bytes`. There are
    /// none while all together would free less than a sixteenth of the log, since the work after a
    /// compaction costs as much for one stretch as for many. Segments that are `uncopyable` are
    /// left out.
    pub fn stretches(
        &self,
        manifest: &Manifest,
        segment_bytes: u64,
        uncopyable: &HashSet<u32>,
    ) -> Vec<Range<usize>> {
        let found = self.worth(manifest, segment_bytes, uncopyable, Terms::USUAL);
        let gain: u64 = found.iter().map(|worth| worth.gain).sum();
        if gain * LEAST_SHARE < manifest.sealed_bytes() {
            return Vec::new();
        }
        found.into_iter().map(|worth| worth.places).collect()
    }

    /// The stretch whose copy takes the least space, among all stretches that are worth copying on
    /// these terms.
    pub fn tightest(
        &self,
        manifest: &Manifest,
        segment_bytes: u64,
        uncopyable: &HashSet<u32>,
        terms: Terms,
    ) -> Option<Range<usize>> {
        let found = self.worth(manifest, segment_bytes, uncopyable, terms);
        let tightest = found.into_iter().min_by_key(|worth| worth.needed);
        tightest.map(|worth| worth.places)
    }

    /// Whether it would be worth copying the segment that is being written, whose groups end at
    /// byte `end`, on these terms.
    pub fn is_last_worth(&self, manifest: &Manifest, end: u64, terms: Terms) -> bool {
        let needed = manifest
            .segments
            .last()
            .map_or(0, |entry| self.needed_bytes(manifest, entry));
        terms.are_met(end, end.saturating_sub(PAGE as u64 + needed))
    }

    /// The stretches of sealed segments that are worth copying on these terms, none overlapping.
    fn worth(
        &self,
        manifest: &Manifest,
        segment_bytes: u64,
        uncopyable: &HashSet<u32>,
        terms: Terms,
    ) -> Vec<Worth> {
        let sealed = manifest.segments.len().saturating_sub(1);
        let sizes: Vec<Size> = manifest.segments[..sealed]
            .iter()
            .map(|entry| Size {
                all: entry.end,
                needed: self.needed_bytes(manifest, entry),
            })
            .collect();
        let mut found = Vec::new();
        let mut start = 0;
        while start < sealed {
            let is_sound = |entry: &&Entry| !uncopyable.contains(&entry.number);
            let sound = manifest.segments[start..sealed].iter().take_while(is_sound);
            let end = start + sound.count();
            match best_from(&sizes[start..end], segment_bytes, terms) {
                Some((length, gain, needed)) => {
                    let places = start..start + length;
                    start = places.end;
                    found.push(Worth {
                        places,
                        gain,
                        needed,
                    });
                }
                None => start += 1,
            }
        }
        found
    }

    /// The bytes that the needed records of a segment take.
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

/// Chooses, among the stretches that begin with the first of some segments, the stretch that frees
/// most for each byte copied. Returns the number of its segments, the bytes that it frees and the
/// bytes that are copied.
fn best_from(sizes: &[Size], segment_bytes: u64, terms: Terms) -> Option<(usize, u64, u64)> {
    let (mut all, mut needed) = (0, PAGE as u64);
    let mut best: Option<(usize, u64, u64)> = None;
    for (length, size) in (1..).zip(sizes) {
        all += size.all;
        needed += size.needed;
        if length > 1 && needed > segment_bytes {
            break;
        }
        let gain = all.saturating_sub(needed);
        let is_better = best.is_none_or(|(_, most, cost)| {
            u128::from(gain) * u128::from(cost) > u128::from(most) * u128::from(needed)
        });
        if terms.are_met(all, gain) && is_better {
            best = Some((length, gain, needed));
        }
    }
    best
}

impl Manifest {
    /// The bytes of all segments but the one that is being written.
    pub fn sealed_bytes(&self) -> u64 {
        let sealed = self.segments.len().saturating_sub(1);
        self.segments[..sealed].iter().map(|entry| entry.end).sum()
    }

    /// Whether a tombstone is needed after the compaction of the segments `going`: the record of
    /// an insert that it undoes may still exist then.
    pub fn needs(&self, tombstone: &Tombstone, going: &[Entry]) -> bool {
        let inserts = tombstone.first..=tombstone.last;
        self.entries_of(&inserts).iter().any(|entry| {
            let is_gone = match entry.kind {
                Kind::Log => false,
                Kind::Compacted { through } => through >= tombstone.deleted,
            };
            !is_gone && !going.iter().any(|going| going.number == entry.number)
        })
    }
}
