//! What each way of a search costs, from a fixed table for each SIMD level. The costs follow from the
//! request, the number of slots and the SIMD level alone, however busy the machine is.
//!
//! Ratios alone decide between the ways, and these differ little from processor to processor
//! (decision 0023). The figures as such tell how long a search takes, within a factor of about two.

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

/// Nanoseconds of a scan for each point, beside those for its values.
const SLOT: f32 = 20.0;

/// Nanoseconds of a walk for each rank, beside those for its values.
const HOP: f32 = 20.0;

/// Ranks of a walk before it widens: of entry points, and in the layers above 0.
const FIRST_RANKS: usize = 30;

/// Ranks of a walk for each place of its beam: 8 to 16 on real sets of 40,000 to 200,000 points at
/// M = 16. Under Hamming many points have the same rank, and walks take more.
const RANKS_PER_PLACE: usize = 14;
const RANKS_PER_PLACE_OF_HAMMING: usize = 25;

/// The part of its time that a scan saves where many queries scan together.
const SHARED: f32 = 0.7;

/// Nanoseconds for each value of a vector at one SIMD level.
#[derive(Clone, Copy, Debug)]
struct Values {
    /// In a scan, which reads vectors in order.
    scanned: f32,
    /// In a walk, which reads vectors from anywhere.
    walked: f32,
    /// In a walk by codes.
    code: f32,
    /// In double precision.
    exact: f32,
}

impl Values {
    fn of(level: Level, metric: Metric) -> Values {
        match (level, metric) {
            (Level::Avx512 | Level::Avx2, _) => Values {
                scanned: 0.09,
                walked: 0.095,
                code: 0.04,
                exact: 0.2,
            },
            // Not measured: half as many lanes as AVX2.
            (Level::Neon, _) => Values {
                scanned: 0.13,
                walked: 0.14,
                code: 0.06,
                exact: 0.4,
            },
            (Level::Scalar, Metric::Hamming) => Values {
                scanned: 0.25,
                walked: 0.25,
                code: 0.45,
                exact: 0.5,
            },
            (Level::Scalar, _) => Values {
                scanned: 0.6,
                walked: 0.6,
                code: 0.45,
                exact: 0.8,
            },
        }
    }
}

/// What searches under one metric cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// A point of a scan.
    scanned: f32,
    /// The values of a point that a walk ranks.
    walked: f32,
    /// Ranks of a walk for each place of its beam.
    ranks_per_place: usize,
    /// A rank in double precision.
    exact: f32,
}

impl Costs {
    /// The costs over vectors `[dimension]` at a level.
    #[must_use]
    pub fn new(level: Level, metric: Metric, dimension: usize) -> Costs {
        let values = Values::of(level, metric);
        let count = dimension as f32;
        let walked = if Codes::pay(dimension) && Codes::suit(metric) {
            values.code
        } else {
            values.walked
        };
        Costs {
            scanned: SLOT + values.scanned * count,
            walked: walked * count,
            ranks_per_place: match metric {
                Metric::Hamming => RANKS_PER_PLACE_OF_HAMMING,
                _ => RANKS_PER_PLACE,
            },
            exact: HOP + values.exact * count,
        }
    }

    /// A scan of `slots` slots, for each of `queries` queries that scan together.
    #[must_use]
    pub fn scan(&self, slots: u32, queries: usize) -> f32 {
        let alone = self.scanned * slots as f32;
        alone * (1.0 - SHARED + SHARED / queries.max(1) as f32)
    }

    /// A walk of `breadth` among `slots` slots. In a small collection a broad walk reads every point
    /// once, and its beam still costs as much as its breadth.
    #[must_use]
    pub fn walk(&self, breadth: usize, slots: u32) -> f32 {
        let widening = self.ranks_per_place.saturating_mul(breadth);
        let ranks = FIRST_RANKS.saturating_add(widening) as f32;
        ranks * HOP + ranks.min(slots as f32) * self.walked
    }

    /// So many ranks in double precision.
    #[must_use]
    pub fn exact(&self, ranks: usize) -> f32 {
        self.exact * ranks as f32
    }
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
