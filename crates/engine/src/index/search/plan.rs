//! The plans by which a search can find its candidates, and the cost of each, from a fixed table
//! for each SIMD level. The costs follow from the request, the number of slots, the dimension and the
//! SIMD level alone, however busy the machine is.
//!
//! Only the ratios of costs decide between plans, and they differ little from processor to
//! processor (decision 0023). The costs themselves tell how long a search takes, within a factor of
//! about two.

use crate::{
    Metric,
    vectors::{kernels::Level, quantize::Codes},
};

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

/// The nanoseconds that a scan takes for each point, besides the time for its values.
const SLOT: f32 = 20.0;

/// The nanoseconds that a scan of listed points takes for each, besides the time for its code.
const LISTED: f32 = 4.0;

/// The nanoseconds that a walk takes for each rank that it computes, besides the time for the
/// values.
const HOP: f32 = 20.0;

/// The number of ranks that a walk computes before it reaches layer 0: of entry points, and in the
/// layers above.
const FIRST_RANKS: usize = 30;

/// The number of ranks that a walk computes in layer 0 for each candidate of its breadth: 8 to 16
/// on real sets of 40,000 to 200,000 points at M = 16. Under Hamming many points have the same
/// rank, and walks compute more.
const RANKS_PER_PLACE: usize = 14;
const RANKS_PER_PLACE_OF_HAMMING: usize = 25;

/// The nanoseconds that a candidate of a broad beam takes for each of the others: each insertion moves
/// those behind it. Up to a breadth of [`MOVED_AT_ONCE`] they stay in a near cache, where that takes next
/// to no time.
const MOVE: f32 = 0.1;
const MOVED_AT_ONCE: usize = 3_000;

/// How many times as long a walk [among](crate::hnsw::Graph::search_among) accepted points takes as
/// one of the same breadth that accepts all, if the accepted points are far from the query rather
/// than anywhere: then many are about as far as the closest, and the walk expands most of those that
/// it meets.
const FAR: f32 = 2.2;

/// The greatest part of its time that a query saves if it scans together with many others.
const SHARED: f32 = 0.7;

/// Nanoseconds for each value of a vector at one SIMD level.
#[derive(Clone, Copy, Debug)]
struct Values {
    /// For a scan, which reads vectors in order.
    scanned: f32,
    /// For a walk by vectors, which reads them from anywhere.
    walked: f32,
    /// For a walk by codes (quantized vectors).
    code: f32,
    /// For a scan of listed points by codes, which reads them from anywhere in order.
    listed: f32,
    /// For a rank in double precision.
    exact: f32,
}

impl Values {
    fn of(level: Level) -> Values {
        match level {
            Level::Avx512 | Level::Avx2 => Values {
                scanned: 0.09,
                walked: 0.095,
                code: 0.04,
                listed: 0.11,
                exact: 0.2,
            },
            // These are guesses from AVX2, as NEON has half as many lanes.
            Level::Neon => Values {
                scanned: 0.13,
                walked: 0.14,
                code: 0.06,
                listed: 0.13,
                exact: 0.4,
            },
            Level::Scalar => Values {
                scanned: 0.18,
                walked: 0.2,
                code: 0.45,
                listed: 0.5,
                exact: 0.8,
            },
        }
    }
}

/// The costs of searches under one metric, all in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// The cost of a point in a scan.
    scanned: f32,
    /// The cost of a point in a scan of listed points, by its code if that is worth it.
    listed: f32,
    has_codes: bool,
    /// The cost of reading the values of a point in a walk.
    walked: f32,
    /// The number of ranks that a walk computes for each candidate of its breadth.
    ranks_per_place: usize,
    /// The cost of a rank in double precision.
    exact: f32,
}

impl Costs {
    /// The costs of searches over vectors of a dimension, at a SIMD level.
    #[must_use]
    pub fn new(level: Level, metric: Metric, dimension: usize) -> Costs {
        let values = Values::of(level);
        let count = dimension as f32;
        let has_codes = Codes::pay(dimension) && Codes::suit(metric);
        let walked = if has_codes {
            values.code
        } else {
            values.walked
        };
        let scanned = SLOT + values.scanned * count;
        Costs {
            scanned,
            listed: if has_codes {
                LISTED + values.listed * count
            } else {
                scanned
            },
            has_codes,
            walked: walked * count,
            ranks_per_place: match metric {
                Metric::Hamming => RANKS_PER_PLACE_OF_HAMMING,
                _ => RANKS_PER_PLACE,
            },
            exact: HOP + values.exact * count,
        }
    }

    /// The cost of a scan of `slots` slots, for each of `queries` queries that scan together.
    #[must_use]
    pub fn scan(&self, slots: u32, queries: usize) -> f32 {
        let alone = self.scanned * slots as f32;
        alone * (1.0 - SHARED + SHARED / queries.max(1) as f32)
    }

    /// Whether listed points are scanned by their codes for this number of closest candidates: they
    /// are kept in a beam, which must not cost more than the ranks.
    #[must_use]
    pub fn lists_by_codes(&self, points: usize, breadth: usize) -> bool {
        self.has_codes && beam(breadth) <= self.listed * points as f32
    }

    /// The cost of a scan of this number of listed points.
    #[must_use]
    pub fn scan_list(&self, points: u32) -> f32 {
        self.listed * points as f32
    }

    /// The cost of a walk of this breadth among `slots` slots. In a small collection a broad walk
    /// reads the values of every point once, but pays [`HOP`] as often as in a large one.
    #[must_use]
    pub fn walk(&self, breadth: usize, slots: u32) -> f32 {
        self.ranks(breadth, slots) + beam(breadth)
    }

    /// The cost of the ranks of such a walk.
    fn ranks(&self, breadth: usize, slots: u32) -> f32 {
        let widening = self.ranks_per_place.saturating_mul(breadth);
        let ranks = FIRST_RANKS.saturating_add(widening) as f32;
        ranks * HOP + ranks.min(slots as f32) * self.walked
    }

    /// The cost of a walk of this breadth among the accepted ones of `slots` slots, a share of all.
    /// For each accepted point that it ranks it meets the others beside it. The accepted ones may be
    /// far from the query.
    #[must_use]
    pub fn walk_among(&self, breadth: usize, slots: u32, share: f32, is_far: bool) -> f32 {
        let met = 1.0 + share.recip();
        self.ranks(breadth, slots) * met * if is_far { FAR } else { 1.0 } + beam(breadth)
    }

    /// The cost of this number of ranks in double precision.
    #[must_use]
    pub fn exact(&self, ranks: usize) -> f32 {
        self.exact * ranks as f32
    }
}

/// The cost of keeping the closest candidates of a walk of this breadth in order.
fn beam(breadth: usize) -> f32 {
    let moved = breadth.saturating_sub(MOVED_AT_ONCE) as f32;
    MOVE * moved * moved
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [Level; 4] = Level::WIDEST_FIRST;

    fn scans(costs: Costs, slots: u32, breadth: usize) -> bool {
        costs.scan(slots, 1) <= costs.walk(breadth, slots)
    }

    #[test]
    fn few_points_are_scanned_and_many_are_walked_at_every_level() {
        for level in LEVELS {
            for metric in Metric::ALL {
                for dimension in [1, 16, 128, 1_536] {
                    let costs = Costs::new(level, metric, dimension);
                    let context = format!("{level:?} {metric:?} {dimension}");
                    assert!(scans(costs, 100, 100), "{context}");
                    assert!(!scans(costs, 20_000, 100), "{context}");
                    assert!(scans(costs, 1_000_000, 1_000_000), "{context}");
                }
            }
        }
    }

    #[test]
    fn more_points_and_more_breadth_cost_more() {
        let costs = Costs::new(Level::Avx2, Metric::Cosine, 384);
        for count in [1, 10, 100, 1_000, 10_000] {
            let (slots, breadth) = (count as u32, count);
            assert!(costs.scan(slots + 1, 1) > costs.scan(slots, 1));
            assert!(costs.walk(breadth + 1, 20_000) > costs.walk(breadth, 20_000));
            assert!(costs.exact(count + 1) > costs.exact(count));
        }
    }

    #[test]
    fn a_walk_of_great_breadth_costs_more_than_in_proportion_and_is_not_taken() {
        for level in LEVELS {
            let costs = Costs::new(level, Metric::Euclidean, 128);
            let times = |broader: usize, than: usize| {
                costs.walk(broader, 1_000_000) / costs.walk(than, 1_000_000)
            };
            assert!((9.5..10.5).contains(&times(1_000, 100)), "{level:?}");
            assert!(times(100_000, 10_000) > 30.0, "{level:?}");
            assert!(!scans(costs, 5_000_000, 10_000), "{level:?}");
            assert!(scans(costs, 5_000_000, 100_000), "{level:?}");
            assert!(costs.lists_by_codes(500_000, 1_000), "{level:?}");
            assert!(!costs.lists_by_codes(500_000, 100_000), "{level:?}");
        }
    }

    #[test]
    fn a_broad_walk_of_few_points_reads_each_of_them_once() {
        let costs = Costs::new(Level::Avx2, Metric::Manhattan, 1_536);
        let few = costs.walk(1_000, 500);
        let many = costs.walk(1_000, 100_000);
        assert!(few > costs.scan(500, 1), "its beam costs as much as ever");
        assert!(few < many / 3.0);
    }

    #[test]
    fn a_query_costs_less_the_more_queries_scan_with_it() {
        let costs = Costs::new(Level::Avx512, Metric::Euclidean, 128);
        let together = [1, 2, 4, 32].map(|queries| costs.scan(1_000, queries));
        assert!(together.is_sorted_by(|a, b| a > b));
        assert!(together[3] > together[0] / 4.0);
    }

    #[test]
    fn codes_make_a_walk_cheaper_where_they_are_ranked_by() {
        let walk = |metric| Costs::new(Level::Neon, metric, 1_536).walk(100, 100_000);
        assert!(walk(Metric::Euclidean) < walk(Metric::Manhattan) / 1.5);
    }
}
