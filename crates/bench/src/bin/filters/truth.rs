//! The right answers, by ranking every point in double precision.

use vectord_bench::recall::K;
use vectord_engine::layers::vectors::{kernels, points::Points};

use crate::{attributes::Attributes, rule::Rule, set::Set};

/// What the answer to a query is held against.
pub struct Truth {
    /// The greatest rank of a right result.
    pub bound: f64,
    /// The number of points that match.
    pub matches: usize,
}

impl Truth {
    fn new(mut ranks: Vec<f64>) -> Self {
        let matches = ranks.len();
        let bound = if matches > K {
            *ranks.select_nth_unstable_by(K - 1, f64::total_cmp).1
        } else {
            f64::INFINITY
        };
        Truth { bound, matches }
    }

    /// How many results an answer has to have.
    pub fn results(&self) -> usize {
        self.matches.min(K)
    }
}

/// The truths of each query: first without a filter, then under each list of rules, which has a
/// rule for each query.
pub fn find(set: &Set, attributes: &Attributes, lists: &[Vec<Rule>]) -> Vec<Vec<Truth>> {
    let mut truths: Vec<_> = (0..=lists.len()).map(|_| Vec::new()).collect();
    for (query, vector) in set.queries().enumerate() {
        let rank = |row| kernels::distance(set.metric, vector, set.base.vector(row));
        let ranks: Vec<f64> = (0..set.base.len()).map(rank).collect();
        for (truths, rules) in truths[1..].iter_mut().zip(lists) {
            let matches = |row: &usize| rules[query].admits(attributes, *row);
            let matching = (0..ranks.len()).filter(matches).map(|row| ranks[row]);
            truths.push(Truth::new(matching.collect()));
        }
        truths[0].push(Truth::new(ranks));
    }
    truths
}
