//! Recall and time of searches with a filter and without, in turns.
//!
//! The engine is asked in two ways: for an answer on the calling thread, which it may decline, and
//! for one from its threads. The service uses the first way and, where it is declined, the second.

use std::{collections::HashSet, ops::Range, thread, time::Duration};

use vectord_bench::{
    Result,
    collection::{Collection, row_of},
    cpu,
    recall::K,
};
use vectord_engine::{
    Hit,
    layers::vectors::{kernels, points::Points},
};

use crate::{
    attributes::Attributes,
    faults::Faults,
    outcome::{Outcome, Round, Side, Times},
    rule::Rule,
    set::Set,
    truth::Truth,
    workload::Workload,
};

/// The queries of a turn. Fewer would find in the caches what the turn before has left.
const TURN: usize = 50;

/// The breadth of the searches that warm the caches before times are measured.
const WARM_EF: usize = 64;

/// How long the clock waits for the thread that has answered to come to rest: the system counts the
/// time of another thread when it sleeps.
const REST: Duration = Duration::from_micros(100);

/// The ways in which the engine is asked, each with a filter and without.
const TURNS: [(Way, bool); 4] = [
    (Way::AtOnce, false),
    (Way::AtOnce, true),
    (Way::Threads, false),
    (Way::Threads, true),
];

#[derive(Clone, Copy)]
enum Way {
    AtOnce,
    Threads,
}

pub struct Measurement<'a> {
    collection: &'a Collection,
    set: &'a Set,
    attributes: &'a Attributes,
    /// The truths of queries without a filter.
    all: &'a [Truth],
    faults: &'a mut Faults,
}

impl<'a> Measurement<'a> {
    pub fn new(
        collection: &'a Collection,
        set: &'a Set,
        attributes: &'a Attributes,
        all: &'a [Truth],
        faults: &'a mut Faults,
    ) -> Self {
        Measurement {
            collection,
            set,
            attributes,
            all,
            faults,
        }
    }

    /// Counts the points that match, for each filter, and answers some queries unmeasured, so that
    /// what a filter costs when its fields are new is not measured.
    pub fn prepare(&mut self, workload: &Workload) -> Result<()> {
        let mut counted = HashSet::new();
        for (query, rule) in workload.rules.iter().enumerate() {
            let text = rule.text();
            if counted.contains(&text) {
                continue;
            }
            let found = self.collection.count(&workload.filters[query])?;
            let expected = workload.truths[query].matches;
            if found != expected as u64 {
                self.faults.count(&text, expected, found);
            }
            counted.insert(text);
        }
        self.collection.wait_for_columns();
        for (query, vector) in self.set.queries().enumerate().take(TURN) {
            let filter = &workload.filters[query];
            self.collection.search(vector, (WARM_EF, K), None)?;
            self.collection.search(vector, (WARM_EF, K), Some(filter))?;
        }
        Ok(())
    }

    /// Measures recall and time at a breadth, while nothing is written.
    pub fn at_rest(&mut self, workload: &Workload, ef: usize, rounds: usize) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let queries = workload.rules.len();
        for round in 0..rounds {
            let mut times = Round::new(queries);
            for first in (0..queries).step_by(TURN) {
                let turn = first..queries.min(first + TURN);
                let mut turns = TURNS;
                // So that each follows the other as often.
                if (round + first / TURN) % 2 == 1 {
                    turns.reverse();
                }
                for (way, is_filtered) in turns {
                    let filter = is_filtered.then_some(workload);
                    let (side, times) = if is_filtered {
                        (&mut outcome.filtered, &mut times.filtered)
                    } else {
                        (&mut outcome.unfiltered, &mut times.unfiltered)
                    };
                    self.turn(way, filter, ef, turn.clone(), side, times)?;
                }
            }
            outcome.add(&times);
        }
        Ok(outcome)
    }

    /// The recall of filtered searches at a breadth.
    pub fn recall(&mut self, workload: &Workload, ef: usize, rounds: usize) -> Result<f64> {
        let mut side = Side::new();
        let queries = workload.rules.len();
        let mut times = vec![Times::default(); queries];
        for _ in 0..rounds {
            for way in [Way::AtOnce, Way::Threads] {
                self.turn(way, Some(workload), ef, 0..queries, &mut side, &mut times)?;
            }
        }
        Ok(side.recall())
    }

    /// Answers some queries, with the filters of a workload or without.
    fn turn(
        &mut self,
        way: Way,
        workload: Option<&Workload>,
        ef: usize,
        queries: Range<usize>,
        side: &mut Side,
        times: &mut [Times],
    ) -> Result<()> {
        for query in queries {
            let vector = self.set.queries.vector(query as u32);
            let filter = workload.map(|workload| &workload.filters[query]);
            let start = cpu::seconds();
            let hits = match way {
                Way::AtOnce => self.collection.search_at_once(vector, (ef, K), filter)?,
                Way::Threads => {
                    let hits = self.collection.search(vector, (ef, K), filter)?;
                    thread::sleep(REST);
                    Some(hits)
                }
            };
            let seconds = cpu::seconds() - start;
            match way {
                Way::AtOnce => {
                    times[query].at_once = seconds;
                    times[query].is_declined = hits.is_none();
                }
                Way::Threads => times[query].threads = seconds,
            }
            let (rule, truth) = match workload {
                Some(workload) => (Some(&workload.rules[query]), &workload.truths[query]),
                None => (None, &self.all[query]),
            };
            if let Some(hits) = hits {
                side.right += self.check(vector, rule, truth, &hits);
                side.results += truth.results();
            }
        }
        Ok(())
    }

    /// Checks an answer, and returns how many of its results are right.
    fn check(&mut self, query: &[f32], rule: Option<&Rule>, truth: &Truth, hits: &[Hit]) -> usize {
        let text = || rule.map_or_else(|| "no filter".into(), Rule::text);
        if hits.len() != truth.results() {
            self.faults.length(&text(), truth.results(), hits.len());
        }
        let mut right = 0;
        let mut rows = HashSet::new();
        for row in hits.iter().map(|hit| row_of(hit.id)) {
            let is_point = row < self.set.points();
            let matches = |rule: &Rule| rule.admits(self.attributes, row);
            if !is_point || !rule.is_none_or(matches) || !rows.insert(row) {
                self.faults.stranger(&text(), row);
                continue;
            }
            let vector = self.set.base.vector(row as u32);
            let rank = kernels::distance(self.set.metric, query, vector);
            right += usize::from(rank <= truth.bound);
        }
        right
    }
}
