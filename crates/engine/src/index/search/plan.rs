//! Which way a search goes, by what each way costs here: on this processor, with these vectors.
//!
//! Nothing is assumed about the machine. The first search under a metric times a few ranks of each
//! kind over the stored vectors, every search then adds its own time, and now and then the way
//! that is not taken is timed too, so that no figure can stick. All of it is a handful of atomics;
//! an update lost to another thread is one sample less.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::Metric;

/// How a search finds its candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Ranks every point.
    Scan,
    /// Walks the graph and ranks only the points that are not in it yet.
    Graph,
    /// Ranks every point in double precision.
    Exact,
}

/// Ranks that a walk takes for each place of its beam, until walks have been counted: 8
/// to 16 on real sets of 40,000 to 200,000 points at M = 16.
const RANKS_PER_PLACE: f32 = 14.0;

/// A search leaves the way that its like took last only for one that takes less than this part of
/// the time: near the threshold the ways would take turns otherwise, one exact and one not.
const WORTH_A_CHANGE: f32 = 0.8;

/// Searches spend at most one part in so many of their time on measuring the other way.
const MEASURING_SHARE: u64 = 32;

/// Classes of breadths and of queries that scan together, by powers of two.
const BREADTHS: usize = 24;
const TILES: usize = 6;

/// What searches under each metric have cost so far.
#[derive(Debug, Default)]
pub struct Costs([MetricCosts; Metric::ALL.len()]);

/// Times in nanoseconds under one metric, where they are known.
#[derive(Debug, Default)]
pub struct MetricCosts {
    /// A slot of a scan, for one query of as many as scan together.
    scanned: [Average; TILES],
    /// A rank on a graph's way.
    walked: Average,
    /// A rank in double precision.
    exact: Average,
    /// Ranks for each place of the beam, by breadth.
    ranks_per_place: [Average; BREADTHS],
    /// A bit for each class of breadths: whether the last search of it walked.
    walks: AtomicU32,
    /// Nanoseconds of searches since the other way was last measured, by how many it was for.
    unmeasured: [AtomicU64; TILES],
    /// How often the other way was measured.
    turns: AtomicU32,
}

impl Costs {
    /// The costs under a metric.
    #[must_use]
    pub fn of(&self, metric: Metric) -> &MetricCosts {
        &self.0[metric as usize]
    }
}

impl MetricCosts {
    /// Whether the first measurement is still to be made.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.exact.get().is_none()
    }

    /// Enters the first measurement: times for one scanned slot, for one rank of vectors anywhere
    /// in memory, and for one in double precision.
    pub fn begin(&self, scanned: f32, anywhere: f32, exact: f32) {
        self.scanned[0].update(scanned);
        self.walked.update(anywhere);
        self.exact.update(exact);
    }

    /// Notes that a scan of `slots` slots for `queries` queries took so long.
    pub fn note_scan(&self, slots: u32, queries: usize, took: Duration) {
        let ranks = slots as usize * queries;
        self.scanned[class_of(queries, TILES)].update(nanoseconds(took) / ranks as f32);
    }

    /// Notes that a walk of `breadth` took so many ranks and so long.
    pub fn note_walk(&self, breadth: usize, ranks: u64, took: Duration) {
        self.ranks_per_place[class_of(breadth, BREADTHS)].update(ranks as f32 / breadth as f32);
        self.walked.update(nanoseconds(took) / ranks as f32);
    }

    /// Notes that so many ranks in double precision took so long.
    pub fn note_exact(&self, ranks: usize, took: Duration) {
        self.exact.update(nanoseconds(took) / ranks as f32);
    }

    /// Nanoseconds of a scan of `slots` slots for each of `queries` queries that scan together. A
    /// tile never measured counts as the next smaller one: it is no slower.
    #[must_use]
    pub fn scan(&self, slots: u32, queries: usize) -> f32 {
        let tiles = &self.scanned[..=class_of(queries, TILES)];
        let per_slot = tiles.iter().rev().find_map(Average::get);
        per_slot.unwrap_or(0.0) * slots as f32
    }

    /// Nanoseconds of a walk of `breadth`.
    #[must_use]
    pub fn walk(&self, breadth: usize) -> f32 {
        let class = class_of(breadth, BREADTHS);
        // The nearest class that walks have been counted in.
        let counted = (0..BREADTHS)
            .flat_map(|away| [class.checked_sub(away), Some(class + away)])
            .flatten()
            .find_map(|class| Some((class, self.ranks_per_place.get(class)?.get()?)));
        let ranks = match counted {
            None => RANKS_PER_PLACE * breadth as f32,
            // Where a walk begins takes as many ranks whatever its breadth: a narrow one has many
            // for each place, of which a wider one takes no more.
            Some((narrower, per_place)) if narrower < class => {
                let places = 1 << narrower;
                per_place * places as f32 + RANKS_PER_PLACE * (breadth - places) as f32
            }
            Some((_, per_place)) => per_place * breadth as f32,
        };
        self.walked.get().unwrap_or(0.0) * ranks
    }

    /// Nanoseconds of so many ranks in double precision.
    #[must_use]
    pub fn exact(&self, ranks: usize) -> f32 {
        self.exact.get().unwrap_or(0.0) * ranks as f32
    }

    /// The cheaper way for a search of `breadth`, a scan taking `scan` nanoseconds and a walk
    /// `walk`.
    pub fn choose(&self, breadth: usize, scan: f32, walk: f32) -> Plan {
        let class = 1 << class_of(breadth, BREADTHS);
        let plan = if self.walks.load(Relaxed) & class == 0 {
            let changes = walk < scan * WORTH_A_CHANGE;
            if changes { Plan::Graph } else { Plan::Scan }
        } else {
            let changes = scan < walk * WORTH_A_CHANGE;
            if changes { Plan::Scan } else { Plan::Graph }
        };
        match plan {
            Plan::Graph => self.walks.fetch_or(class, Relaxed),
            Plan::Scan | Plan::Exact => self.walks.fetch_and(!class, Relaxed),
        };
        plan
    }

    /// The number of this measurement if, after `queries` queries took another `took`, it is time
    /// to measure the way not taken, which will take about `cost` nanoseconds.
    pub fn may_measure(&self, queries: usize, took: Duration, cost: f32) -> Option<u32> {
        let took = took.as_nanos() as u64;
        let unmeasured = &self.unmeasured[class_of(queries, TILES)];
        let total = unmeasured.fetch_add(took, Relaxed).saturating_add(took);
        if ((total / MEASURING_SHARE) as f32) < cost {
            return None;
        }
        unmeasured.store(0, Relaxed);
        Some(self.turns.fetch_add(1, Relaxed))
    }
}

/// A moving average; 0 while unknown.
///
/// A thread that loses its core makes a time longer, and nothing makes it shorter than the work
/// takes: so the average falls fast, and rises by an eighth at most, whatever a sample says.
#[derive(Debug, Default)]
struct Average(AtomicU32);

impl Average {
    fn get(&self) -> Option<f32> {
        let value = f32::from_bits(self.0.load(Relaxed));
        (value > 0.0).then_some(value)
    }

    fn update(&self, sample: f32) {
        if !(sample.is_finite() && sample > 0.0) {
            return;
        }
        let next = match self.get() {
            None => sample,
            Some(value) if sample < value => value + (sample - value) / 4.0,
            Some(value) => value + (sample.min(value * 2.0) - value) / 8.0,
        };
        self.0.store(next.to_bits(), Relaxed);
    }
}

fn class_of(count: usize, classes: usize) -> usize {
    (count.max(1).ilog2() as usize).min(classes - 1)
}

fn nanoseconds(time: Duration) -> f32 {
    time.as_secs_f32() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> MetricCosts {
        let costs = MetricCosts::default();
        costs.begin(10.0, 30.0, 100.0);
        costs
    }

    fn near(found: f32, expected: f32) -> bool {
        (found / expected - 1.0).abs() < 0.01
    }

    fn feed(times: usize, note: impl Fn()) {
        (0..times).for_each(|_| note());
    }

    #[test]
    fn few_points_are_scanned_and_many_are_walked() {
        let costs = known();
        let choose = |slots| costs.choose(100, costs.scan(slots, 1), costs.walk(100));
        assert_eq!(choose(1_000), Plan::Scan);
        assert_eq!(choose(100_000), Plan::Graph);
    }

    #[test]
    fn measurements_replace_the_first_guess() {
        let costs = known();
        let guess = costs.walk(100);
        feed(60, || costs.note_walk(100, 1_000, Duration::from_micros(5)));
        let learnt = costs.walk(100);
        assert!(learnt < guess / 4.0, "{learnt} of {guess}");
        assert!((4_900.0..5_300.0).contains(&learnt), "{learnt}");
        feed(100, || costs.note_scan(1_000, 1, Duration::from_micros(40)));
        let scan = costs.scan(1_000, 1);
        assert!((39_000.0..40_500.0).contains(&scan), "{scan}");
    }

    #[test]
    fn one_search_that_was_held_up_changes_little() {
        let costs = known();
        let (scan, walk) = (costs.scan(1_000, 1), costs.walk(100));
        costs.note_scan(1_000, 1, Duration::from_secs(3));
        costs.note_walk(100, 1_400, Duration::from_secs(3));
        assert!(costs.scan(1_000, 1) < scan * 1.2);
        assert!(costs.walk(100) < walk * 1.2);
    }

    #[test]
    fn a_first_measurement_that_was_held_up_is_soon_forgotten() {
        let costs = MetricCosts::default();
        costs.begin(10_000.0, 30.0, 100.0);
        feed(30, || costs.note_scan(1_000, 1, Duration::from_micros(10)));
        assert!(costs.scan(1_000, 1) < 12_000.0);
    }

    #[test]
    fn ways_that_cost_the_same_do_not_take_turns() {
        let costs = known();
        let first = costs.choose(100, 1_000.0, 1_010.0);
        for step in 0..20 {
            let (scan, walk) = if step % 2 == 0 {
                (1_000.0, 900.0)
            } else {
                (900.0, 1_000.0)
            };
            assert_eq!(costs.choose(100, scan, walk), first);
        }
        assert_eq!(costs.choose(100, 1_000.0, 100.0), Plan::Graph);
        assert_eq!(costs.choose(100, 900.0, 1_000.0), Plan::Graph);
    }

    #[test]
    fn a_class_of_breadths_is_guessed_from_the_nearest_one_walked() {
        let costs = known();
        costs.note_walk(16, 320, Duration::from_nanos(9_600));
        costs.note_walk(1_024, 8_192, Duration::from_nanos(245_760));
        assert!(near(costs.walk(10), 30.0 * 20.0 * 10.0));
        let wide = 8.0 * 1_024.0 + RANKS_PER_PLACE * (4_000.0 - 1_024.0);
        assert!(near(costs.walk(4_000), 30.0 * wide));
    }

    #[test]
    fn where_the_narrowest_walk_begins_is_not_counted_for_each_place_of_a_wide_one() {
        let costs = known();
        let guess = costs.walk(400);
        costs.note_walk(1, 150, Duration::from_nanos(4_500));
        assert!(costs.walk(400) < guess * 1.1);
    }

    #[test]
    fn queries_together_cost_what_was_measured_for_as_many_or_fewer() {
        let costs = known();
        assert!(near(costs.scan(100, 32), 1_000.0));
        costs.note_scan(100, 8, Duration::from_nanos(1_600));
        assert!(near(costs.scan(100, 32), 200.0));
        assert!(near(costs.scan(100, 4), 1_000.0));
    }

    #[test]
    fn measuring_the_other_way_takes_a_small_share_of_the_time() {
        let costs = known();
        let measured =
            (0..3_200).filter_map(|_| costs.may_measure(1, Duration::from_nanos(100), 1_000.0));
        assert_eq!(measured.collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    }
}
