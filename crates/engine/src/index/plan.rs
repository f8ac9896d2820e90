//! Which way a search goes, and what it costs.

use std::ops::Range;

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

/// Ranks that a graph search takes for each place of its candidate pool: 8 to 16 on real sets of
/// 40,000 to 200,000 points at M = 16.
const RANKS_PER_PLACE: u64 = 14;

/// A rank on the graph's way lies anywhere in memory, a scanned one follows its predecessor:
/// measured, the former takes about three times as long.
const RANDOM_ACCESS: u64 = 3;

/// A rank in double precision, whose sum has a fixed order, takes about eight times as long as a
/// kernel's.
const DOUBLE_PRECISION: u64 = 8;

/// What a search costs, in units of one scanned rank.
#[must_use]
pub fn cost(plan: Plan, points: u64, tail: &Range<u32>, breadth: u64) -> u64 {
    match plan {
        Plan::Scan => points,
        Plan::Exact => points.saturating_mul(DOUBLE_PRECISION),
        Plan::Graph => {
            let walked = breadth.saturating_mul(RANKS_PER_PLACE * RANDOM_ACCESS);
            walked.saturating_add(u64::from(tail.end - tail.start))
        }
    }
}

/// The cheaper way, where a graph is there to walk. A breadth of all points asks for the exact
/// answer, which only a scan gives.
#[must_use]
pub fn choose(points: u64, tail: &Range<u32>, breadth: u64) -> Plan {
    if breadth < points
        && cost(Plan::Graph, points, tail, breadth) < cost(Plan::Scan, points, tail, breadth)
    {
        Plan::Graph
    } else {
        Plan::Scan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breadth_of_all_points_is_answered_exactly() {
        assert_eq!(choose(1_000_000, &(0..0), 1_000_000), Plan::Scan);
    }

    #[test]
    fn few_points_are_scanned_and_many_are_walked() {
        assert_eq!(choose(1_000, &(0..0), 100), Plan::Scan);
        assert_eq!(choose(100_000, &(0..0), 100), Plan::Graph);
    }

    #[test]
    fn a_long_tail_makes_the_scan_the_cheaper_way() {
        assert_eq!(choose(100_000, &(0..99_000), 100), Plan::Scan);
    }

    #[test]
    fn the_cost_of_the_greatest_breadth_does_not_overflow() {
        assert_eq!(cost(Plan::Graph, 1, &(0..1), u64::MAX), u64::MAX);
    }
}
