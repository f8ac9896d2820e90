//! Giving the slots of deleted points to new ones: the linking threads go round after round through
//! the steps of [`hnsw`](crate::hnsw), all graphs together, a piece at a time between
//! the points that they link.
//!
//! A round has three waits. What it waits for is that every search, look-up and claim of the linking
//! threads that began before has ended; each of them holds a pin meanwhile.
//! - Before points are withdrawn: then every view knows that they are deleted, and whoever comes to
//!   link one of them sees it.
//! - Before links are mended: then nobody is left who might link something to one of them.
//! - Before they are forgotten: then nobody stands on one of them or has found one.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, TryLockError},
};

use super::{linked::LinkedGraph, metric_graph::MetricGraph};
use crate::{
    Error, Metric, Result,
    hnsw::Scratch,
    index::Index,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// A round begins in the midst of other work once one in so many points is dead. A search walks
/// through the dead as it does through the living, so at worst it takes about a tenth longer than
/// without them. A round for fewer would touch nearly as many rows: at a tenth, three of the 32
/// links of a row are gone already.
const DEAD_SHARE: u64 = 10;

/// A round begins between other work only for so many.
const DEAD_FLOOR: u64 = if cfg!(vectord_shuttle) { 1 } else { 1024 };

/// With nothing else to do, a round begins for half as large a share.
const IDLE_DEAD_SHARE: u64 = 20;

/// With nothing else to do, a round begins for so many. So does one between other work where
/// searches have gone through as many dead points as there are points: where these lie together,
/// their share says little.
const IDLE_DEAD_FLOOR: u64 = if cfg!(vectord_shuttle) { 1 } else { 64 };

/// Points that are taken out of the tree in one piece: some milliseconds at most.
const HEAL_CHUNK: usize = 128;

/// Rows that are mended in one piece: a few milliseconds at most.
const MEND_CHUNK: u32 = if cfg!(vectord_shuttle) { 2 } else { 64 };

/// The round under way, if there is one.
#[derive(Default)]
pub(crate) struct Reclaim {
    round: Mutex<Round>,
    is_under_way: AtomicBool,
    /// Whether a round is due as soon as there is one dead point.
    is_hurried: AtomicBool,
    /// Deleted points that the last round had to leave where they are.
    held_back: AtomicU64,
    /// Points that searches went through in vain since the last round began.
    passed: AtomicU64,
}

#[derive(Default)]
struct Round {
    step: Step,
    /// The slots to give back, in order.
    dead: Vec<u32>,
    repairs: Vec<Arc<Repair>>,
    /// How many graphs had been given up when the last wait began.
    given_up: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum Step {
    #[default]
    Rest,
    /// Waits for an epoch, then withdraws the points.
    Withdraw { epoch: u64 },
    /// Waits for an epoch, then heals.
    Part { epoch: u64 },
    /// Heals: which graph, and from where on.
    Heal { repair: usize, next: usize },
    /// Mends: which graph, from where on, and how many pieces are in the hands of threads.
    Mend {
        repair: usize,
        next: u32,
        under_way: u32,
    },
    /// Waits for an epoch, then gives the slots back.
    Free { epoch: u64 },
}

/// What a round does to one graph.
struct Repair {
    metric: Metric,
    linked: Arc<LinkedGraph>,
    leaving: Vec<u32>,
}

impl Reclaim {
    /// Whether a round is under way: some of its steps wait for no signal.
    pub(crate) fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Relaxed)
    }

    /// Has rounds begin for a single dead point from now on, or only where they pay again.
    pub(crate) fn hurry(&self, is_hurried: bool) {
        self.is_hurried.store(is_hurried, Ordering::Relaxed);
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    /// Does a piece of a round, where there is one to do, and says whether it did. `is_idle` says
    /// that there is nothing to link.
    pub(crate) fn reclaim(&self, is_idle: bool, scratch: &mut Scratch) -> bool {
        let mut round = match self.reclaim.round.try_lock() {
            Ok(round) => round,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        match round.step {
            Step::Rest => self.begin_round(&mut round, is_idle),
            Step::Withdraw { epoch } => self.epochs.has_passed(epoch) && self.withdraw(&mut round),
            Step::Part { epoch } if self.epochs.has_passed(epoch) => {
                round.step = Step::Heal { repair: 0, next: 0 };
                true
            }
            Step::Heal { repair, next } => {
                round.step = self.heal(&round, repair, next, scratch);
                true
            }
            Step::Mend { repair, next, .. } => self.mend(round, repair, next, scratch),
            Step::Free { epoch } => self.epochs.has_passed(epoch) && self.free(&mut round),
            Step::Part { .. } => false,
        }
    }

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
        round.step = Step::Withdraw {
            epoch: self.epochs.advance(),
        };
        self.reclaim.passed.store(0, Ordering::Relaxed);
        self.reclaim.is_under_way.store(true, Ordering::Relaxed);
        true
    }

    /// Hears that a search of this breadth went through so many points that it may not return.
    /// Fewer than its breadth it may meet where the deleted lie evenly among the others, and their
    /// share decides.
    pub(crate) fn note_passed(&self, points: usize, breadth: usize) {
        if points > breadth {
            let passed = &self.reclaim.passed;
            passed.fetch_add(points as u64, Ordering::Relaxed);
        }
    }

    fn is_round_due(&self, is_idle: bool) -> bool {
        if self.linker.is_pausing() {
            return false;
        }
        // Points held back would let round follow upon round for nothing.
        let held_back = self.reclaim.held_back.load(Ordering::Relaxed);
        let dead = self.dead().saturating_sub(held_back);
        let (floor, share) = match is_idle {
            _ if self.reclaim.is_hurried.load(Ordering::Relaxed) => return dead > 0,
            true => (IDLE_DEAD_FLOOR, IDLE_DEAD_SHARE),
            false => (DEAD_FLOOR, DEAD_SHARE),
        };
        // A round looks at the row of every point, once.
        let is_in_the_way = self.reclaim.passed.load(Ordering::Relaxed) >= self.live();
        dead >= floor.max(self.live() / share) || is_in_the_way && dead >= IDLE_DEAD_FLOOR
    }

    fn withdraw(&self, round: &mut Round) -> bool {
        for graph in &self.graphs {
            let Some(linked) = graph.current() else {
                continue;
            };
            let withdraw = || linked.graph.withdraw(&round.dead);
            let leaving = attempt(graph, &linked, withdraw).unwrap_or_default();
            if !leaving.is_empty() {
                round.repairs.push(Arc::new(Repair {
                    metric: graph.metric(),
                    linked,
                    leaving,
                }));
            }
        }
        if round.repairs.is_empty() {
            // No graph holds any of them: the wait that is over was enough.
            return self.free(round);
        }
        round.step = Step::Part {
            epoch: self.epochs.advance(),
        };
        true
    }

    fn heal(&self, round: &Round, number: usize, next: usize, scratch: &mut Scratch) -> Step {
        // While vectors are read, their segments are not unmapped.
        let _pin = self.epochs.pin();
        let Some(repair) = round.repairs.get(number) else {
            return Step::Mend {
                repair: 0,
                next: 0,
                under_way: 0,
            };
        };
        let end = repair.leaving.len().min(next + HEAL_CHUNK);
        let graph = &repair.linked.graph;
        let healed = attempt(self.graph(repair.metric), &repair.linked, || {
            graph.heal(&self.arena, &repair.leaving[next..end], scratch)
        });
        if healed.is_some() {
            if end < repair.leaving.len() {
                return Step::Heal {
                    repair: number,
                    next: end,
                };
            }
            graph.move_entries();
        }
        Step::Heal {
            repair: number + 1,
            next: 0,
        }
    }

    /// Takes a piece of the mending, does it while other threads do other pieces, and moves on to
    /// the next step after the last.
    fn mend(
        &self,
        mut round: MutexGuard<'_, Round>,
        number: usize,
        next: u32,
        scratch: &mut Scratch,
    ) -> bool {
        let Some((repair, rows)) = claim_rows(&mut round, number, next) else {
            return false;
        };
        drop(round);
        let pin = self.epochs.pin();
        attempt(self.graph(repair.metric), &repair.linked, || {
            repair.linked.graph.mend_rows(&self.arena, rows, scratch)
        });
        drop(pin);
        let mut round = self.reclaim.round();
        let repairs = round.repairs.len();
        let is_same_round = round.repairs.iter().any(|one| Arc::ptr_eq(one, &repair));
        if let Step::Mend {
            repair, under_way, ..
        } = &mut round.step
            && is_same_round
        {
            *under_way -= 1;
            if *under_way == 0 && *repair == repairs {
                self.wait_to_free(&mut round);
            }
        }
        true
    }

    fn wait_to_free(&self, round: &mut Round) {
        round.given_up = self.given_up();
        round.step = Step::Free {
            epoch: self.epochs.advance(),
        };
    }

    /// How many graphs have been given up so far.
    fn given_up(&self) -> u32 {
        self.graphs.iter().map(|graph| graph.failures().0).sum()
    }

    /// Gives up the round under way. Its points stay dead, for another round.
    pub(crate) fn abandon_round(&self) {
        *self.reclaim.round() = Round::default();
        self.reclaim.is_under_way.store(false, Ordering::Relaxed);
    }

    fn free(&self, round: &mut Round) -> bool {
        let graphs: Vec<_> = self
            .graphs
            .iter()
            .filter_map(MetricGraph::current)
            .collect();
        if self.given_up() != round.given_up {
            // Somebody may still stand on a point of a graph that is not among these any more.
            self.wait_to_free(round);
            return true;
        }
        for repair in &round.repairs {
            repair.linked.graph.forget(&repair.leaving);
        }
        let mut freed = std::mem::take(&mut round.dead);
        let dead = freed.len();
        freed.retain(|&slot| !graphs.iter().any(|linked| linked.graph.contains(slot)));
        self.odd
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|slot| freed.binary_search(slot).is_err());
        // Without memory for the list, the slots stay dead, for another round to free.
        let _ = self.arena.free_slots(&freed);
        let held_back = (dead - freed.len()) as u64;
        self.reclaim.held_back.store(held_back, Ordering::Relaxed);
        *round = Round::default();
        self.reclaim.is_under_way.store(false, Ordering::Relaxed);
        true
    }
}

/// The next rows to mend; none once all are taken.
fn claim_rows(round: &mut Round, number: usize, next: u32) -> Option<(Arc<Repair>, Range<u32>)> {
    let repair = Arc::clone(round.repairs.get(number)?);
    let slots = repair.linked.graph.slots();
    let end = slots.min(next.saturating_add(MEND_CHUNK));
    if let Step::Mend {
        repair,
        next,
        under_way,
    } = &mut round.step
    {
        (*repair, *next) = if end < slots {
            (number, end)
        } else {
            (number + 1, 0)
        };
        *under_way += 1;
    }
    Some((repair, next..end))
}

/// Works on a graph, which is given up if that fails. To one that was given up nothing is done:
/// those who walk it find their way only while it stays as it was.
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
        Err(_) => Error::Internal("repairing a graph panicked".into()),
    };
    graph.fail(linked, failure.to_string());
    None
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
mod tests {
    use super::*;
    use crate::index::{
        Request,
        search::plan::Plan,
        testing::{self, id},
    };

    /// An index of which all points are linked: each vector by so many points.
    fn linked(vectors: u16, copies: usize) -> Arc<Index> {
        let vectors = (0..vectors).map(|value| vec![value.into()]);
        let vectors: Vec<Vec<f32>> = vectors.flat_map(|vector| vec![vector; copies]).collect();
        let index = testing::index(&vectors);
        index.want_graph(Metric::Euclidean);
        testing::work_on(&index);
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
            matches!(index.reclaim.round().step, Step::Part { .. }),
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
        assert_eq!(linked.graph.firsts_len(), 100, "some are found for ever");
        assert_eq!(index.arena.free_len(), 100);
        linked.graph.assert_sound();
    }

    /// Points that a search in the midst of the deleted ones goes through in vain.
    fn pass(index: &Index, breadth: usize) -> usize {
        let mut scratch = Scratch::new();
        let request = Request {
            metric: Metric::Euclidean,
            query: &[2_000.0],
            limit: 1,
            ef: breadth,
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
        assert_eq!(linked.graph.len(), 200, "no point has been withdrawn");
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
