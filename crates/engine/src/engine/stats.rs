//! Counters of the engine's work: cheap to count, read all at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub use crate::sync::histogram::Distribution;
use crate::sync::histogram::Histogram;

/// Upper bounds of the numbers of records in a group.
const SIZES: &[u64] = &[
    1, 2, 4, 8, 16, 32, 64, 128, 256, 1_024, 4_096, 16_384, 65_536,
];

/// The counters of the writer and of the upkeep thread.
pub struct Counters {
    /// The time of each group of writes, from its first byte until it is visible, syncs included.
    commits: Arc<Histogram>,
    /// The number of records in each group.
    records: Histogram,
    /// The number of snapshots that were written.
    snapshots: AtomicU64,
    /// The number of segments that compaction wrote.
    compactions: AtomicU64,
}

impl Counters {
    /// All counters at 0.
    pub fn new() -> Arc<Counters> {
        Arc::new(Counters {
            commits: Histogram::of_times(),
            records: Histogram::new(SIZES),
            snapshots: AtomicU64::new(0),
            compactions: AtomicU64::new(0),
        })
    }

    /// Counts a group of this number of records, and the time to commit and publish it.
    pub fn add_group(&self, records: usize, time: Duration) {
        self.commits.add_time(time);
        self.records.add(records as u64);
    }

    /// Counts a snapshot that was written.
    pub fn add_snapshot(&self) {
        self.snapshots.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts segments that compaction wrote in place of others.
    pub fn add_compactions(&self, segments: usize) {
        self.compactions
            .fetch_add(segments as u64, Ordering::Relaxed);
    }

    /// The counts so far, together with those of the other parts of the engine.
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

/// The work that the engine has done since it was opened, and the work that waits.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Microseconds that each sync of a group of the log took, those of no-ops included.
    pub syncs: Distribution,
    /// Microseconds from the writing of a group until it was visible.
    pub commits: Distribution,
    /// The number of records in each group, no-ops aside.
    pub group_records: Distribution,
    /// The number of snapshots written.
    pub snapshots: u64,
    /// The number of segments that compaction wrote in place of others.
    pub compactions: u64,
    /// The number of batches and heavy searches that wait or run.
    pub jobs: usize,
    /// The greatest number of them that may wait or run at once.
    pub max_jobs: usize,
    /// The memory in bytes that waiting and running requests take.
    pub queued_bytes: usize,
    /// The greatest number of bytes that they may take.
    pub max_queued_bytes: usize,
}
