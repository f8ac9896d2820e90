//! What the engine counts of its own work, for whoever watches it: cheap to count, read all at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Upper bounds of times, in microseconds: from a sync that a cache answers to a disk that hangs.
const TIMES_US: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 10_000_000,
];

/// Upper bounds of the numbers of records in a group.
const SIZES: &[u64] = &[
    1, 2, 4, 8, 16, 32, 64, 128, 256, 1_024, 4_096, 16_384, 65_536,
];

/// How often a value fell between which bounds. Counting is two additions, by any thread; the parts
/// of a reading may be one value apart.
pub struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for what is beyond the last.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// Of times.
    pub fn of_times() -> Arc<Histogram> {
        Arc::new(Histogram::new(TIMES_US))
    }

    fn new(bounds: &'static [u64]) -> Histogram {
        Histogram {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts a time.
    pub fn add_time(&self, time: Duration) {
        self.add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    fn add(&self, value: u64) {
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// What has been counted so far.
    pub fn read(&self) -> Distribution {
        let counts = self.counts.iter();
        Distribution {
            bounds: self.bounds.to_vec(),
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// How often a value fell between which bounds, since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The greatest value of each bucket but the last, which has no bound.
    pub bounds: Vec<u64>,
    /// The number of values in each bucket.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: u64,
}

/// What the writer and the upkeep count.
pub struct Counters {
    /// From the first byte of a group to where it can be seen, syncs included.
    commits: Histogram,
    records: Histogram,
    snapshots: AtomicU64,
    compactions: AtomicU64,
}

impl Counters {
    /// All at 0.
    pub fn new() -> Arc<Counters> {
        Arc::new(Counters {
            commits: Histogram::new(TIMES_US),
            records: Histogram::new(SIZES),
            snapshots: AtomicU64::new(0),
            compactions: AtomicU64::new(0),
        })
    }

    /// Counts a group of so many records that was committed and published in this time.
    pub fn add_group(&self, records: usize, time: Duration) {
        self.commits.add_time(time);
        self.records.add(records as u64);
    }

    /// Counts a snapshot that was written.
    pub fn add_snapshot(&self) {
        self.snapshots.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts segments that took the place of others.
    pub fn add_compactions(&self, segments: usize) {
        self.compactions
            .fetch_add(segments as u64, Ordering::Relaxed);
    }

    /// What has been counted so far, together with what others count.
    pub fn read(
        &self,
        syncs: &Histogram,
        (jobs, max_jobs): (usize, usize),
        (queued_bytes, max_queued_bytes): (usize, usize),
    ) -> Metrics {
        Metrics {
            syncs: syncs.read(),
            commits: self.commits.read(),
            group_records: self.records.read(),
            snapshots: self.snapshots.load(Ordering::Relaxed),
            compactions: self.compactions.load(Ordering::Relaxed),
            jobs,
            max_jobs,
            queued_bytes,
            max_queued_bytes,
        }
    }
}

/// What the engine has done since it was opened, and what it has to do.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Microseconds that each sync of a group of the log took, those of no-ops included.
    pub syncs: Distribution,
    /// Microseconds from the writing of a group to where it could be seen.
    pub commits: Distribution,
    /// Records in each group, no-ops aside.
    pub group_records: Distribution,
    /// Snapshots written.
    pub snapshots: u64,
    /// Segments written in the place of others.
    pub compactions: u64,
    /// Batches and heavy searches that wait or run.
    pub jobs: usize,
    /// How many of them may.
    pub max_jobs: usize,
    /// Memory in bytes that waiting and running requests take.
    pub queued_bytes: usize,
    /// How much of it they may take.
    pub max_queued_bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_at_the_first_bound_that_is_not_below_it() {
        let histogram = Histogram::new(&[10, 20]);
        for value in [0, 10, 11, 20, 21, 1_000] {
            histogram.add(value);
        }
        assert_eq!(
            histogram.read(),
            Distribution {
                bounds: vec![10, 20],
                counts: vec![2, 2, 2],
                sum: 1_062
            }
        );
    }

    #[test]
    fn bounds_grow() {
        for bounds in [TIMES_US, SIZES] {
            assert!(bounds.is_sorted_by(|a, b| a < b));
        }
    }
}
