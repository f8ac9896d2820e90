//! Histograms: counts of values by size, to which any thread adds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The upper bounds of the buckets for times, in microseconds: from a sync that a cache answers to
/// a disk that hangs.
const TIMES_US: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 10_000_000,
];

/// A histogram. To count a value takes two additions. While other threads count, a reading may hold
/// a value in its counts that is not in its sum yet.
pub struct Histogram {
    bounds: &'static [u64],
    /// A count for each bound, and one for values beyond the last.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// An empty histogram of times.
    pub fn of_times() -> Arc<Histogram> {
        Arc::new(Histogram::new(TIMES_US))
    }

    /// An empty histogram whose buckets have these upper bounds, in ascending order.
    pub fn new(bounds: &'static [u64]) -> Histogram {
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

    /// Counts a value.
    pub fn add(&self, value: u64) {
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn read(&self) -> Distribution {
        let counts = self.counts.iter();
        Distribution {
            bounds: self.bounds.to_vec(),
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// The counts of a histogram since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The greatest value of each bucket but the last, which has no bound.
    pub bounds: Vec<u64>,
    /// The number of values in each bucket.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: u64,
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
    fn bounds_of_times_grow() {
        assert!(TIMES_US.is_sorted_by(|a, b| a < b));
    }
}
