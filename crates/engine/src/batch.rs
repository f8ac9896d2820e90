//! The searches of one request, in groups: the queries of a group go over the points together,
//! and the groups are spread over the threads.

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicBool};

use crate::{
    Metric, Result,
    engine::Query,
    graph::Scratch,
    index::{Hit, Index, PointId, Prepared},
    workers::Job,
    writer::Done,
};

/// Queries in a group at most. More would gain little: a vector is then read once for 32 ranks.
const MAX_GROUP: usize = 32;

/// Results that the queries of a group may be asked for together, so that what they keep while
/// they scan fits a cache; a single query may ask for more.
const MAX_GROUP_RESULTS: usize = 32 << 10;

/// A batch of searches as work for several threads.
pub struct BatchSearch {
    index: Arc<Index>,
    vectors: Vec<f32>,
    queries: Vec<Query>,
    groups: Vec<Group>,
    done: Mutex<Option<Done<Vec<Vec<Hit>>>>>,
}

struct Group {
    /// Which queries of the batch, all under one metric.
    members: Vec<u32>,
    answers: Mutex<Result<Vec<Vec<Hit>>>>,
}

impl BatchSearch {
    /// The work for `queries`, of which there is at least one, on `threads` threads.
    pub fn new(
        index: Arc<Index>,
        vectors: Vec<f32>,
        queries: Vec<Query>,
        threads: usize,
        done: Done<Vec<Vec<Hit>>>,
    ) -> Self {
        let group = |members| Group {
            members,
            answers: Mutex::new(Ok(Vec::new())),
        };
        let groups = group_by_metric(&queries, index.live() as usize, threads);
        BatchSearch {
            groups: groups.into_iter().map(group).collect(),
            index,
            vectors,
            queries,
            done: Mutex::new(Some(done)),
        }
    }

    fn search(
        &self,
        members: &[u32],
        scratch: &mut Scratch,
        is_cut: &AtomicBool,
    ) -> Result<Vec<Vec<Hit>>> {
        let dimension = self.index.dimension();
        let view = self.index.view();
        let prepare = |&member: &u32| {
            let member = member as usize;
            let vector = &self.vectors[member * dimension..(member + 1) * dimension];
            view.prepare(self.queries[member].request(vector))
        };
        Prepared::run_together(members.iter().map(prepare).collect(), scratch, is_cut)
    }

    /// The answers of all groups in the order of the queries.
    fn answers(&self) -> Result<Vec<Vec<Hit>>> {
        let mut answers: Vec<Vec<Hit>> = self.queries.iter().map(|_| Vec::new()).collect();
        for group in &self.groups {
            let mut found = group.answers.lock().unwrap_or_else(PoisonError::into_inner);
            let found = std::mem::replace(&mut *found, Ok(Vec::new()))?;
            for (&member, hits) in group.members.iter().zip(found) {
                answers[member as usize] = hits;
            }
        }
        Ok(answers)
    }
}

impl Job for BatchSearch {
    fn parts(&self) -> usize {
        self.groups.len()
    }

    fn bytes(&self) -> usize {
        let points = self.index.live() as usize;
        let hits = self
            .queries
            .iter()
            .map(|query| query.limit.min(points))
            .sum::<usize>();
        self.vectors.len() * size_of::<f32>() + hits * (size_of::<Hit>() + size_of::<PointId>())
    }

    fn run(&self, part: usize, scratch: &mut Scratch, is_cut: &AtomicBool) {
        let group = &self.groups[part];
        let answers = self.search(&group.members, scratch, is_cut);
        *group.answers.lock().unwrap_or_else(PoisonError::into_inner) = answers;
    }

    fn finish(&self, outcome: Result<()>) {
        let done = self
            .done
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(done) = done {
            done(outcome.and_then(|()| self.answers()));
        }
    }
}

/// Splits a batch so that a group has one metric and each of `threads` threads has work.
fn group_by_metric(queries: &[Query], points: usize, threads: usize) -> Vec<Vec<u32>> {
    let size = queries.len().div_ceil(threads.max(1)).clamp(1, MAX_GROUP);
    let mut groups = Vec::new();
    for metric in Metric::ALL {
        let mut group = Vec::new();
        let mut results = 0;
        for (member, query) in (0..)
            .zip(queries)
            .filter(|(_, query)| query.metric == metric)
        {
            let more = query.limit.min(points);
            let is_full = group.len() == size || results + more > MAX_GROUP_RESULTS;
            if is_full && !group.is_empty() {
                groups.push(std::mem::take(&mut group));
                results = 0;
            }
            group.push(member);
            results += more;
        }
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(metrics: &[Metric], limit: usize) -> Vec<Query> {
        let query = |&metric| Query {
            metric,
            limit,
            ef: 1,
        };
        metrics.iter().map(query).collect()
    }

    #[test]
    fn every_query_is_in_one_group_of_its_metric() {
        let metrics: Vec<_> = (0..100).map(|number| Metric::ALL[number % 3]).collect();
        let groups = group_by_metric(&queries(&metrics, 10), 1_000, 4);
        let mut members = groups.concat();
        members.sort_unstable();
        assert_eq!(members, (0..100).collect::<Vec<_>>());
        for group in groups {
            let metric = metrics[group[0] as usize];
            assert!(
                group
                    .iter()
                    .all(|&member| metrics[member as usize] == metric)
            );
        }
    }

    #[test]
    fn a_small_batch_is_spread_and_a_large_one_is_cut() {
        let sizes = |count, threads| {
            let groups =
                group_by_metric(&queries(&vec![Metric::Cosine; count], 10), 1_000, threads);
            groups.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(1, 2), [1]);
        assert_eq!(sizes(3, 2), [2, 1]);
        assert_eq!(sizes(4, 16), [1, 1, 1, 1]);
        assert_eq!(sizes(70, 2), [32, 32, 6]);
    }

    #[test]
    fn queries_with_many_results_do_not_share_a_group() {
        let great = queries(&[Metric::Hamming; 3], usize::MAX);
        assert_eq!(group_by_metric(&great, 1_000_000, 1).len(), 3);
        assert_eq!(group_by_metric(&great, 10, 1).len(), 1);
    }
}
