//! Runs the searches of one request, divided into groups. The queries of a group scan the points
//! together, and the groups are spread over the search threads.

use std::{
    borrow::Cow,
    mem, ptr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use vectord_filter::Filter;

use crate::{
    Error, Metric, Result,
    engine::{
        answer::{Found, Hit, Want},
        budget::{Budget, Reservation},
        query::Query,
        workers::{Job, Turn},
        writer::Done,
    },
    hnsw::Scratch,
    index::{Index, Neighbour, PointId, Prepared, View},
    sync::lock,
};

/// The greatest number of queries in a group. More would gain little, as a vector is then read from
/// memory only once for 32 ranks.
const MAX_GROUP: usize = 32;

/// The greatest number of results that the queries of a group may ask for together, so that their
/// candidates fit a cache. A single query may ask for more.
const MAX_GROUP_RESULTS: usize = 32 << 10;

/// What a batch asks for.
#[derive(Debug, Default)]
pub struct Asked {
    /// The vectors of the queries, one after the other; none for a query that wants the neighbours
    /// of a point.
    pub vectors: Vec<f32>,
    /// The queries.
    pub queries: Vec<Query>,
    /// What each query wants besides ids; empty if none wants any of it.
    pub wants: Vec<Want>,
    /// The greatest number of bytes that the wanted parts of all records may take together.
    pub max_bytes: usize,
}

/// A batch of searches as a [`Job`], with a part for each group. A member is the index of a query
/// in the batch.
pub struct BatchSearch {
    index: Arc<Index>,
    budget: Arc<Budget>,
    asked: Asked,
    /// The bytes of the wanted parts of records so far, and the memory that is reserved for them.
    wanted_bytes: AtomicUsize,
    memory: Mutex<Vec<Reservation>>,
    groups: Vec<Mutex<Group>>,
    /// The number of points when the batch came: a greater limit takes no more work.
    points: usize,
    /// The work of the queries that have no answer yet, in candidates.
    work_left: AtomicU64,
    done: Mutex<Option<Done<Vec<Found>>>>,
}

/// Queries of the batch, all under one metric.
struct Group {
    /// The members that have no answer yet.
    unanswered: Vec<u32>,
    /// The answers so far, each with its member, or the error that ended the group.
    answers: Result<Vec<(u32, Found)>>,
}

impl BatchSearch {
    /// A batch of at least one query, to be run on `threads` threads. `done` is called with the
    /// answers.
    pub fn new(
        index: Arc<Index>,
        budget: Arc<Budget>,
        asked: Asked,
        threads: usize,
        done: Done<Vec<Found>>,
    ) -> Self {
        let points = index.live() as usize;
        let group = |unanswered| {
            Mutex::new(Group {
                unanswered,
                answers: Ok(Vec::new()),
            })
        };
        let groups = group_by_metric(&asked.queries, points, threads);
        let batch = BatchSearch {
            groups: groups.into_iter().map(group).collect(),
            work_left: AtomicU64::new(0),
            points,
            index,
            budget,
            asked,
            wanted_bytes: AtomicUsize::new(0),
            memory: Mutex::default(),
            done: Mutex::new(Some(done)),
        };
        let work = (0..batch.asked.queries.len()).map(|member| batch.work(member));
        let work = work.fold(0, u64::saturating_add);
        batch.work_left.store(work, Ordering::Relaxed);
        batch
    }

    /// The vector of a query.
    fn vector(&self, member: usize) -> &[f32] {
        let dimension = self.index.dimension();
        &self.asked.vectors[member * dimension..(member + 1) * dimension]
    }

    /// What a query wants besides ids.
    fn want(&self, member: usize) -> Cow<'_, Want> {
        let want = self.asked.wants.get(member);
        want.map_or_else(|| Cow::Owned(Want::default()), Cow::Borrowed)
    }

    /// The filter of a query.
    fn filter(&self, member: usize) -> Option<&Filter> {
        self.asked.wants.get(member)?.filter.as_deref()
    }

    /// The work of a query, see [`Query::work`].
    fn work(&self, member: usize) -> u64 {
        let filtering = match self.filter(member) {
            Some(_) => self.points as u64,
            None => 0,
        };
        self.asked.queries[member].work(self.vector(member), self.points) + filtering
    }

    fn group(&self, part: usize) -> MutexGuard<'_, Group> {
        self.groups[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches for some queries. Returns the answers in the order of `members`, None if the turn
    /// was too short for a query.
    fn search(
        &self,
        members: &[u32],
        scratch: &mut Scratch,
        turn: &Turn,
    ) -> Result<Vec<Option<Found>>> {
        let view = self.index.view();
        let mut answers: Vec<Option<Found>> = members.iter().map(|_| None).collect();
        let mut considered = 0;
        for (filter, places) in self.by_filter(members) {
            // The first always runs, so that each turn answers a query.
            if considered > 0 && !turn.goes_on(considered) {
                break;
            }
            let goes_on_at_all = || turn.goes_on_in_slices();
            let selection = match filter {
                Some(filter) => {
                    considered += u64::from(view.slots());
                    Some(view.select(filter, &goes_on_at_all)?)
                }
                None => None,
            };
            let prepare = |&place: &usize| {
                let member = members[place] as usize;
                let query = self.want(member).widened(&self.asked.queries[member]);
                view.prepare(query.request(self.vector(member), selection.as_ref()))
            };
            let prepared = places.iter().map(prepare).collect();
            let goes_on = |considered| turn.goes_on(considered);
            let found = Prepared::run_together(prepared, scratch, goes_on)?;
            for (place, found) in places.into_iter().zip(found) {
                let member = members[place] as usize;
                let answer = found.map(|found| self.answer(&view, member, found));
                answers[place] = answer.transpose()?;
            }
        }
        Ok(answers)
    }

    /// The places in `members` of the queries with the same filter, first of those with none.
    fn by_filter(&self, members: &[u32]) -> Vec<(Option<&Filter>, Vec<usize>)> {
        let mut lists: Vec<(Option<&Filter>, Vec<usize>)> = Vec::new();
        for (place, &member) in members.iter().enumerate() {
            let filter = self.filter(member as usize);
            let is_same = |(other, _): &(Option<&Filter>, _)| match (other, filter) {
                (None, None) => true,
                (Some(other), Some(filter)) => ptr::eq(*other, filter),
                _ => false,
            };
            match lists.iter_mut().find(|list| is_same(list)) {
                Some((_, places)) => places.push(place),
                None => lists.push((filter, vec![place])),
            }
        }
        lists.sort_by_key(|(filter, _)| filter.is_some());
        lists
    }

    /// The answer of a query, whose records take memory of the budget.
    fn answer(&self, view: &View, member: usize, mut found: Vec<Neighbour>) -> Result<Found> {
        let want = self.want(member);
        want.cut(&self.asked.queries[member], &mut found);
        let bytes = want.bytes(view, &found);
        if bytes > 0 {
            let max_bytes = self.asked.max_bytes;
            let before = self.wanted_bytes.fetch_add(bytes, Ordering::Relaxed);
            if before.saturating_add(bytes) > max_bytes {
                return Err(Error::AnswerTooLarge { max_bytes });
            }
            let memory = self.budget.reserve(bytes)?;
            lock(&self.memory).push(memory);
        }
        want.read(view, &found)
    }

    /// Takes the answers of all groups, in the order of the queries.
    fn answers(&self) -> Result<Vec<Found>> {
        let queries = self.asked.queries.iter();
        let mut answers: Vec<Found> = queries.map(|_| Found::default()).collect();
        for part in 0..self.groups.len() {
            for (member, found) in mem::replace(&mut self.group(part).answers, Ok(Vec::new()))? {
                answers[member as usize] = found;
            }
        }
        Ok(answers)
    }
}

impl Job for BatchSearch {
    fn parts(&self) -> usize {
        self.groups.len()
    }

    fn gives_way(&self) -> bool {
        self.asked.wants.iter().any(|want| want.filter.is_some())
    }

    fn bytes(&self) -> usize {
        let hits = self
            .asked
            .queries
            .iter()
            .map(|query| query.limit.min(self.points))
            .sum::<usize>();
        self.asked.vectors.len() * size_of::<f32>()
            + hits * (size_of::<Hit>() + size_of::<PointId>())
    }

    fn work_left(&self) -> u64 {
        self.work_left.load(Ordering::Relaxed)
    }

    fn run(&self, part: usize, scratch: &mut Scratch, turn: &Turn) -> bool {
        let members = mem::take(&mut self.group(part).unanswered);
        let found = self.search(&members, scratch, turn);
        let mut group = self.group(part);
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                group.answers = Err(error);
                return true;
            }
        };
        for (member, found) in members.into_iter().zip(found) {
            let Some(found) = found else {
                group.unanswered.push(member);
                continue;
            };
            self.work_left
                .fetch_sub(self.work(member as usize), Ordering::Relaxed);
            if let Ok(answers) = &mut group.answers {
                answers.push((member, found));
            }
        }
        group.unanswered.is_empty()
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

/// Divides a batch into groups of members, so that a group has one metric and each of `threads`
/// threads has work.
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
    use std::sync::mpsc::channel;

    use super::*;
    use crate::{engine::workers::Workers, index::tests::support::index};

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
    fn small_batches_are_answered_while_a_large_one_is_under_way_which_is_answered_whole() {
        let points: Vec<Vec<f32>> = (0..5_000).map(|x| vec![x as f32, 50.0]).collect();
        let index = index(&points);
        // Those too great for single precision are searched for one by one, more work than a turn
        // is, and the others, in between, scan the points together.
        let query = |limit| Query {
            metric: Metric::Cosine,
            limit,
            ef: 1,
        };
        let vector = |number: usize| {
            let scale = if number.is_multiple_of(3) { 1.0 } else { 1e30 };
            [scale * (number * number) as f32, scale * 50.0]
        };
        let large: Vec<f32> = (0..10).flat_map(vector).collect();

        let workers = Workers::start(1, Budget::new(usize::MAX)).unwrap();
        let submit = |vectors: Vec<f32>, query, done: Done<Vec<Found>>| {
            let asked = Asked {
                queries: vec![query; vectors.len() / 2],
                vectors,
                ..Asked::default()
            };
            let budget = Budget::new(usize::MAX);
            let batch = BatchSearch::new(Arc::clone(&index), budget, asked, 1, done);
            assert_eq!(batch.parts(), 1);
            workers.submit(Box::new(batch)).unwrap();
        };
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        let waits = Arc::clone(&gate);
        submit(
            vec![1.0; 2],
            query(1),
            Box::new(move |_| drop(waits.lock())),
        );
        let (sender, receiver) = channel();
        let tell = || {
            let sender = sender.clone();
            Box::new(move |answers| sender.send(answers).unwrap())
        };
        submit(large.clone(), query(3), tell());
        for _ in 0..10 {
            submit(vec![1.0; 2], query(1), tell());
        }
        drop(held);
        for _ in 0..10 {
            assert_eq!(receiver.recv().unwrap().unwrap().len(), 1);
        }
        let answers = receiver.recv().unwrap().unwrap();
        let mut scratch = Scratch::new();
        let request = query(3);
        let alone = large.chunks(2).map(|vector| {
            let view = index.view();
            let found = view
                .prepare(request.request(vector, None))
                .run(&mut scratch);
            Want::default().read(&view, &found.unwrap()).unwrap()
        });
        assert_eq!(answers, alone.collect::<Vec<_>>());
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
