//! Reclaims the slots of deleted points, so that new points can have them. The linking threads do
//! it in rounds, a piece at a time between the points that they link. A round takes all points that
//! are deleted when it begins (the dead points) out of all graphs, by the steps of
//! [`hnsw::delete`](crate::hnsw::delete), and frees their slots.
//!
//! A round waits three times, until every search, look-up and claim of a linking thread that began
//! before the wait has ended (each holds a pin of an epoch):
//! - Before points are marked as leaving. After the wait, no view contains one of them, and no
//!   thread begins to link one of them.
//! - Before they leave the tree and rows are relinked. After the wait, no thread can link to one of
//!   them.
//! - Before they are erased. After the wait, no walk stands on one of them and none has found one.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, TryLockError},
};

use crate::{
    Error, Result,
    hnsw::Scratch,
    index::{
        Index,
        graphs::{
            linked::LinkedGraph,
            metric_graph::MetricGraph,
            round::{Consolidation, Round, Step},
        },
    },
    sync::{MutexGuard, atomic::Ordering},
};

/// While threads have points to link, a round begins once there is one dead point to this number of
/// live ones. A search walks through dead points as through live ones, so it takes at most about a
/// tenth longer. A round for fewer would touch nearly as many rows: at a tenth, 3 of the 32 links
/// of a row lead to dead points.
const DEAD_SHARE: u64 = 10;

/// While threads have points to link, no round begins for fewer dead points than this.
const DEAD_FLOOR: u64 = if cfg!(feature = "shuttle") { 1 } else { 1024 };

/// From one dead point to this number of live ones on, the threads link no points while there is a
/// piece of a round to do.
const OVERGROWN_SHARE: u64 = 2;

/// Takes the place of [`DEAD_SHARE`] while threads have nothing to link.
const IDLE_DEAD_SHARE: u64 = 20;

/// Takes the place of [`DEAD_FLOOR`] while threads have nothing to link. This number of dead points
/// also begins a round, linking or not, once searches have passed as many points as there are live
/// ones: dead points that lie close together cost more than their share of all points tells.
const IDLE_DEAD_FLOOR: u64 = if cfg!(feature = "shuttle") { 1 } else { 64 };

/// The number of points that leave the tree in one piece of work: some milliseconds at most.
const TREE_CHUNK: usize = 128;

/// The number of rows that are relinked in one piece of work: a few milliseconds at most.
const RELINK_CHUNK: u32 = if cfg!(feature = "shuttle") { 2 } else { 64 };

impl Index {
    /// Does a piece of a round if there is one to do, and returns whether it did. `is_idle` says
    /// that the calling thread has found nothing to link.
    pub(crate) fn reclaim(&self, is_idle: bool, scratch: &mut Scratch) -> bool {
        let mut round = match self.reclaim.round.try_lock() {
            Ok(round) => round,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        match round.step {
            Step::Rest => self.begin_round(&mut round, is_idle),
            Step::Mark { epoch } => self.epochs.has_passed(epoch) && self.mark_leaving(&mut round),
            Step::WaitToLeave { epoch } if self.epochs.has_passed(epoch) => {
                round.step = Step::LeaveTree { at: 0, next: 0 };
                true
            }
            Step::LeaveTree { at, next } => {
                round.step = self.leave_tree(&round, at, next, scratch);
                true
            }
            Step::Relink { at, next, .. } => self.relink(round, at, next, scratch),
            Step::Free { epoch } => self.epochs.has_passed(epoch) && self.free(&mut round),
            Step::WaitToLeave { .. } => false,
        }
    }

    /// Begins a round if there are dead points enough. Returns whether it did.
    fn begin_round(&self, round: &mut Round, is_idle: bool) -> bool {
        if !self.is_round_due(is_idle) {
            return false;
        }
        // Without memory for the list, the slots stay as they are until there is some.
        let Ok(dead) = self.arena.dead() else {
            return false;
        };
        if dead.is_empty() {
            return false;
        }
        round.dead = dead;
        round.given_up = self.given_up();
        round.step = Step::Mark {
            epoch: self.epochs.advance(),
        };
        self.reclaim.passed.store(0, Ordering::Relaxed);
        self.reclaim.is_under_way.store(true, Ordering::Relaxed);
        true
    }

    /// Whether so many points are dead that the round under way is to end before more are linked: an
    /// insertion walks through dead points until it has found enough live ones.
    pub(crate) fn is_overgrown(&self) -> bool {
        self.reclaim.is_under_way() && self.dead() >= self.live() / OVERGROWN_SHARE
    }

    /// Counts the points that a search of this breadth has passed. A search may pass up to its
    /// breadth where dead points lie evenly among the others: then [`DEAD_SHARE`] decides.
    pub(crate) fn note_passed(&self, points: usize, breadth: usize) {
        if points > breadth {
            let passed = &self.reclaim.passed;
            passed.fetch_add(points as u64, Ordering::Relaxed);
        }
    }

    /// Whether there are dead points enough for a round.
    fn is_round_due(&self, is_idle: bool) -> bool {
        if self.linker.is_pausing() {
            return false;
        }
        // Points that the last round could not free would begin one round after another in vain.
        let held_back = self.reclaim.held_back.load(Ordering::Relaxed);
        let dead = self.dead().saturating_sub(held_back);
        let (floor, share) = match is_idle {
            _ if self.reclaim.is_hurried.load(Ordering::Relaxed) => return dead > 0,
            true => (IDLE_DEAD_FLOOR, IDLE_DEAD_SHARE),
            false => (DEAD_FLOOR, DEAD_SHARE),
        };
        // A round reads the row of every point once.
        let is_in_the_way = self.reclaim.passed.load(Ordering::Relaxed) >= self.live();
        dead >= floor.max(self.live() / share) || is_in_the_way && dead >= IDLE_DEAD_FLOOR
    }

    fn mark_leaving(&self, round: &mut Round) -> bool {
        for graph in &self.graphs {
            let Some(linked) = graph.current() else {
                continue;
            };
            let mark = || linked.graph.mark_leaving(&round.dead);
            let leaving = attempt(graph, &linked, mark).unwrap_or_default();
            if !leaving.is_empty() {
                round.consolidations.push(Arc::new(Consolidation {
                    metric: graph.metric(),
                    linked,
                    leaving,
                }));
            }
        }
        if round.consolidations.is_empty() {
            // No graph holds any of the points: the wait that is over was enough.
            return self.free(round);
        }
        round.step = Step::WaitToLeave {
            epoch: self.epochs.advance(),
        };
        true
    }

    fn leave_tree(&self, round: &Round, at: usize, next: usize, scratch: &mut Scratch) -> Step {
        // The pin keeps the segments of the vectors mapped while they are read.
        let _pin = self.epochs.pin();
        let Some(consolidation) = round.consolidations.get(at) else {
            return Step::Relink {
                at: 0,
                next: 0,
                under_way: 0,
            };
        };
        let Consolidation {
            metric,
            linked,
            leaving,
        } = &**consolidation;
        let end = leaving.len().min(next + TREE_CHUNK);
        let left = attempt(self.graph(*metric), linked, || {
            let piece = &leaving[next..end];
            linked.graph.leave_tree(&self.arena, piece, scratch)
        });
        if left.is_some() {
            if end < leaving.len() {
                return Step::LeaveTree { at, next: end };
            }
            linked.graph.move_entries();
        }
        Step::LeaveTree {
            at: at + 1,
            next: 0,
        }
    }

    /// Relinks one piece while other threads relink others. The thread that ends the last piece
    /// begins the next step.
    fn relink(
        &self,
        mut round: MutexGuard<'_, Round>,
        at: usize,
        next: u32,
        scratch: &mut Scratch,
    ) -> bool {
        let Some((consolidation, rows)) = claim_rows(&mut round, at, next) else {
            return false;
        };
        drop(round);
        let Consolidation { metric, linked, .. } = &*consolidation;
        let pin = self.epochs.pin();
        attempt(self.graph(*metric), linked, || {
            linked.graph.relink(&self.arena, rows, scratch)
        });
        drop(pin);
        let mut round = self.reclaim.round();
        let count = round.consolidations.len();
        let mut current = round.consolidations.iter();
        let is_same_round = current.any(|one| Arc::ptr_eq(one, &consolidation));
        if let Step::Relink { at, under_way, .. } = &mut round.step
            && is_same_round
        {
            *under_way -= 1;
            if *under_way == 0 && *at == count {
                self.wait_to_free(&mut round);
            }
        }
        true
    }

    /// Begins the wait before the points are erased.
    fn wait_to_free(&self, round: &mut Round) {
        round.given_up = self.given_up();
        round.step = Step::Free {
            epoch: self.epochs.advance(),
        };
    }

    /// The number of graphs that have been given up or given back so far.
    fn given_up(&self) -> u32 {
        self.graphs.iter().map(MetricGraph::given_up).sum()
    }

    /// Gives up the round under way. Its points keep their slots until another round.
    pub(crate) fn abandon_round(&self) {
        *self.reclaim.round() = Round::default();
        self.reclaim.is_under_way.store(false, Ordering::Relaxed);
    }

    /// Ends the round: erases the points from the graphs, and frees the slots that no graph holds
    /// any more. Waits once more if a graph was given up meanwhile.
    fn free(&self, round: &mut Round) -> bool {
        let graphs: Vec<_> = self
            .graphs
            .iter()
            .filter_map(MetricGraph::current)
            .collect();
        if self.given_up() != round.given_up {
            // A walk may still stand on a point of a graph that was given up and is not listed.
            self.wait_to_free(round);
            return true;
        }
        for consolidation in &round.consolidations {
            consolidation.linked.graph.erase(&consolidation.leaving);
        }
        let mut freed = std::mem::take(&mut round.dead);
        let dead = freed.len();
        freed.retain(|&slot| !graphs.iter().any(|linked| linked.graph.contains(slot)));
        self.f64_only
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|slot| freed.binary_search(slot).is_err());
        // Without memory for the list, the slots are freed by another round.
        let _ = self.arena.free_slots(&freed);
        let held_back = (dead - freed.len()) as u64;
        self.reclaim.held_back.store(held_back, Ordering::Relaxed);
        *round = Round::default();
        self.reclaim.is_under_way.store(false, Ordering::Relaxed);
        true
    }
}

/// Claims the next rows to relink; none once all are claimed.
fn claim_rows(round: &mut Round, at: usize, next: u32) -> Option<(Arc<Consolidation>, Range<u32>)> {
    let consolidation = Arc::clone(round.consolidations.get(at)?);
    let slots = consolidation.linked.graph.slots();
    let end = slots.min(next.saturating_add(RELINK_CHUNK));
    if let Step::Relink {
        at,
        next,
        under_way,
    } = &mut round.step
    {
        (*at, *next) = if end < slots {
            (*at, end)
        } else {
            (*at + 1, 0)
        };
        *under_way += 1;
    }
    Some((consolidation, next..end))
}

/// Works on a graph, and returns the result of the work. If the work fails or panics, the graph is
/// given up, and the result is None. A graph that was given up before is not worked on: walks that
/// are still under way in it rely on that.
fn attempt<T>(
    graph: &MetricGraph,
    linked: &LinkedGraph,
    work: impl FnOnce() -> Result<T>,
) -> Option<T> {
    if !graph.is_current(linked) {
        return None;
    }
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return Some(done),
        Ok(Err(error)) => error,
        Err(_) => Error::Internal("removing deleted points from a graph panicked".into()),
    };
    graph.fail(linked, failure.to_string());
    None
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use crate::Metric;
    use crate::index::{
        Request,
        linking::linker::{Schedule, work},
        search::plan::Plan,
        tests::support::{self, id},
    };

    /// An index of which all points are linked: each vector by so many points.
    fn linked(vectors: u16, copies: usize) -> Arc<Index> {
        let vectors = (0..vectors).map(|value| vec![value.into()]);
        let vectors: Vec<Vec<f32>> = vectors.flat_map(|vector| vec![vector; copies]).collect();
        let index = support::index(&vectors);
        index.want_graph(Metric::Euclidean);
        support::work_on(&index);
        index
    }

    fn delete(index: &Index, numbers: impl Iterator<Item = usize>) {
        let first = index.arena.visible() + 1;
        let sequences = numbers.zip(first..).map(|(number, sequence)| {
            assert!(index.delete(&id(number), sequence));
            sequence
        });
        index.publish(sequences.last().unwrap());
    }

    /// Goes on with the round as far as there is anything to do, and says whether there was.
    fn go_on(index: &Index) -> bool {
        let mut scratch = Scratch::new();
        let pieces = (0..1_000).find(|_| !index.reclaim(true, &mut scratch));
        pieces.expect("round follows upon round for nothing") > 0
    }

    #[test]
    fn a_round_waits_three_times_for_those_who_read() {
        let index = linked(200, 1);
        let linked = index.graph(Metric::Euclidean).current().unwrap();
        delete(&index, 1..=100);

        let first = index.epochs.pin();
        assert!(go_on(&index), "a round is due");
        assert_eq!(
            linked.graph.len(),
            200,
            "somebody may not know of the deletes"
        );

        let second = index.epochs.pin();
        drop(first);
        assert!(go_on(&index));
        assert_eq!(linked.graph.len(), 100);
        assert!(
            matches!(index.reclaim.round().step, Step::WaitToLeave { .. }),
            "somebody may be linking to what leaves"
        );

        let third = index.epochs.pin();
        drop(second);
        assert!(go_on(&index));
        assert!(
            (0..100).all(|slot| linked.graph.contains(slot)),
            "somebody may stand there"
        );
        assert_eq!(index.arena.free_len(), 0);

        drop(third);
        assert!(go_on(&index));
        assert!(!(0..100).any(|slot| linked.graph.contains(slot)));
        assert_eq!(
            linked.graph.equal_vectors_len(),
            100,
            "some are found for ever"
        );
        assert_eq!(index.arena.free_len(), 100);
        linked.graph.assert_sound();
    }

    #[test]
    fn where_most_points_are_dead_a_round_ends_before_more_are_linked() {
        const POINTS: usize = 500;
        let index = linked(POINTS as u16, 1);
        for (number, sequence) in (1..=POINTS).zip(POINTS as u64 + 1..) {
            let location = index.find(&id(number)).unwrap().location;
            index.replace(id(number), location, sequence).unwrap();
        }
        index.publish(2 * POINTS as u64);
        index.reclaim.hurry(true);
        let mut scratch = Scratch::new();
        assert!(index.reclaim(false, &mut scratch), "a round begins");
        while index.reclaim.is_under_way() {
            assert_eq!(index.graphs()[0].linked, POINTS as u32);
            assert!(work(&index, Schedule::Always, &mut scratch));
        }
        support::work_on(&index);
        let graph = index.graphs().remove(0);
        assert_eq!((graph.linked, index.dead()), (graph.slots, 0));
    }

    /// Has `size` linked points leave while new ones are inserted: the first far from all others, without
    /// a link to or from it, the rest in the midst of the leaving points. Returns whether the rest had to
    /// wait until those had left.
    fn replaces_all(size: usize) -> bool {
        let old = (0..size).map(|value| value as f32);
        let middle = (0..40).map(|step| (size / 2 + step) as f32 + 0.5);
        let vectors: Vec<Vec<f32>> = old.chain([-1e6]).chain(middle).map(|it| vec![it]).collect();
        let (segments, locations) = support::records(&vectors);
        let index = Index::new(segments, 1, crate::hnsw::Params::default());
        index.want_graph(Metric::Euclidean);
        let insert = |range: Range<usize>| {
            for at in range {
                let number = at as u64 + 1;
                index.insert(id(at + 1), locations[at], number).unwrap();
                index.publish(number);
            }
        };
        insert(0..size);
        support::work_on(&index);
        insert(size..vectors.len());
        for (number, sequence) in (1..=size).zip(vectors.len() as u64 + 1..) {
            assert!(index.delete(&id(number), sequence));
        }
        index.publish((vectors.len() + size) as u64);

        // A thread that reads holds the round up, once the points are marked.
        let mut scratch = Scratch::new();
        assert!(index.reclaim(true, &mut scratch));
        let reader = index.epochs.pin();
        assert!(index.reclaim(true, &mut scratch));
        let linked = index.graph(Metric::Euclidean).current().unwrap();
        assert!(linked.graph.is_empty(), "all are leaving");
        let tail = || linked.tail_len(index.arena.slots());
        let pieces = (0..1_000).find(|_| !work(&index, Schedule::Always, &mut scratch));
        assert!(pieces.is_some(), "a thread goes on linking in vain");
        let waits = tail() > 0;
        drop(reader);
        support::work_on(&index);
        assert_eq!((tail(), index.dead()), (0, 0));
        let graph = index.graphs().remove(0);
        assert_eq!((graph.failures, graph.caught_up), (0, true));
        linked.graph.assert_sound();
        waits
    }

    #[test]
    fn points_that_meet_none_but_leaving_ones_are_linked_once_those_have_left() {
        let graph = crate::hnsw::Graph::new(Metric::Euclidean, crate::hnsw::Params::default());
        for least in [4_000, 8_000, 16_000] {
            // Walks begin at points of a layer above, of which the first new point must be one.
            let size = (least..2 * least)
                .find(|&slot| graph.level_of(slot) > 0)
                .unwrap();
            assert!(
                replaces_all(size as usize),
                "no point has to wait among {size}"
            );
        }
    }

    /// Points that a search in the midst of the deleted ones goes through in vain.
    fn pass(index: &Index, breadth: usize) -> usize {
        let mut scratch = Scratch::new();
        let request = Request {
            metric: Metric::Euclidean,
            query: &[2_000.0],
            limit: 1,
            ef: breadth,
            within: None,
        };
        let view = index.view();
        let search = view.prepare(request).by(Plan::Graph);
        assert_eq!(search.plan(), Plan::Graph);
        search.run(&mut scratch).unwrap();
        scratch.passed()
    }

    #[test]
    fn a_round_begins_where_searches_go_through_dead_points_however_small_their_share() {
        let index = linked(4_000, 1);
        delete(&index, 1_900..2_050);
        assert!(!go_on(&index), "too few for their share");
        for _ in 0..1_000 {
            assert!(
                pass(&index, 200) > 100,
                "no more than the breadth of the search"
            );
        }
        assert!(!go_on(&index), "met in passing");
        for _ in 0..3_999 / 150 {
            let passed = pass(&index, 1);
            assert!((2..=150).contains(&passed), "{passed}");
        }
        assert!(!go_on(&index), "a round takes longer");
        for _ in 0..20 {
            pass(&index, 1);
        }
        assert!(go_on(&index));
        assert_eq!(index.dead(), 0);
        assert_eq!(pass(&index, 1), 0);
        delete(&index, 2_050..2_200);
        assert!(!go_on(&index), "what was passed before counts no more");
    }

    #[test]
    fn a_round_waits_once_more_where_a_graph_was_given_up_meanwhile() {
        let index = linked(200, 1);
        let graph = index.graph(Metric::Euclidean);
        let linked = graph.current().unwrap();
        delete(&index, 1..=100);
        let first = index.epochs.pin();
        go_on(&index);
        let second = index.epochs.pin();
        drop(first);
        go_on(&index);
        let third = index.epochs.pin();
        drop(second);
        go_on(&index);
        assert!(matches!(index.reclaim.round().step, Step::Free { .. }));

        let on_the_graph = index.epochs.pin();
        graph.fail(&linked, "for a test".into());
        drop(third);
        assert!(go_on(&index));
        assert_eq!(index.arena.free_len(), 0, "somebody may stand there");
        drop(on_the_graph);
        assert!(go_on(&index));
        assert_eq!(index.arena.free_len(), 100);
    }

    #[test]
    fn nothing_is_done_to_a_graph_that_was_given_up() {
        let index = linked(200, 1);
        let graph = index.graph(Metric::Euclidean);
        let linked = graph.current().unwrap();
        delete(&index, 1..=100);
        let pin = index.epochs.pin();
        go_on(&index);
        graph.fail(&linked, "for a test".into());
        drop(pin);
        go_on(&index);
        assert!((0..200).all(|slot| linked.graph.contains(slot)));
        assert_eq!(linked.graph.len(), 200, "no point has left");
        assert_eq!(index.arena.free_len(), 100);
    }

    #[test]
    fn no_round_begins_for_the_first_of_copies_alone() {
        let index = linked(100, 2);
        delete(&index, (1..=200).step_by(2));
        assert!(go_on(&index));
        assert_eq!(index.arena.free_len(), 0, "each carries a copy");
        delete(&index, (2..=200).step_by(2));
        assert!(go_on(&index));
        assert_eq!(index.arena.free_len(), 200);
    }
}
