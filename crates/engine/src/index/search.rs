//! A search from query to ranked ids: candidates in single precision by the cheaper of two ways,
//! then the final order in double precision, ties by insertion.

use std::ops::Range;

use super::{
    Index,
    best::Best,
    linked::LinkedGraph,
    plan::{self, Plan},
};
use crate::{
    Error, Metric, Result, distance,
    graph::{Neighbor, Scratch},
    index::PointId,
    measure::Measure,
    points::Points,
};

/// Collections below this size are scanned without a thought of building a graph.
const GRAPH_FLOOR: u64 = 1024;

/// One neighbour of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The id of the point.
    pub id: PointId,
    /// Its rank under the metric: squared L2, L1, differing positions, or `1 - cos`.
    pub rank: f64,
}

/// What a search asks for, in the view that it is answered in.
struct View<'q> {
    metric: Metric,
    query: &'q [f32],
    sequence: u64,
    slots: u32,
}

impl Index {
    /// The `limit` points nearest to `query` under `metric`, closest first, ties by insertion;
    /// all points when there are fewer. `ef` is the breadth of a graph search: at least `limit` is
    /// used, and the number of points or more gives the exact answer.
    ///
    /// `query` has the index's dimension and finite values; `limit` is at least 1.
    pub fn search(
        &self,
        metric: Metric,
        query: &[f32],
        limit: usize,
        ef: usize,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>> {
        let sequence = self.arena.visible();
        let view = View {
            metric,
            query,
            sequence,
            slots: self.arena.slots(),
        };
        // Not the number of live points: the writer counts a delete before the view contains it.
        let limit = limit.min(view.slots as usize).max(1);
        if !distance::is_ordinary(query) {
            return self.rank(
                &view,
                self.visible_slots(&view, 0..view.slots).collect(),
                limit,
            );
        }
        if let Some(linked) = self.graph_for(metric, limit, ef) {
            let hits = self.walk(&view, &linked, limit, ef, scratch)?;
            if hits.len() >= limit {
                return Ok(hits);
            }
            // The graph could not reach enough points that are left: only a scan is sure to.
        }
        self.scan(&view, limit)
    }

    /// What this search would cost, in values read: ranks times dimension.
    #[must_use]
    pub fn cost(&self, metric: Metric, query: &[f32], limit: usize, ef: usize) -> u64 {
        let (points, breadth) = (self.live(), ef.max(limit) as u64);
        let ranks = if !distance::is_ordinary(query) {
            plan::cost(Plan::Exact, points, &(0..0), breadth)
        } else if let Some(linked) = self.graph_for(metric, limit, ef) {
            let tail = linked.tail(self.arena.slots());
            plan::cost(Plan::Graph, points, &tail, breadth)
        } else {
            plan::cost(Plan::Scan, points, &(0..0), breadth)
        };
        let odd = self.odd().len() as u64;
        let ranks = ranks.saturating_add(plan::cost(Plan::Exact, odd, &(0..0), breadth));
        ranks.saturating_mul(self.dimension as u64)
    }

    /// The graph to walk, where that is the cheaper way. A metric asked for the first time gets
    /// its graph begun here; until it is there, scans answer.
    fn graph_for(
        &self,
        metric: Metric,
        limit: usize,
        ef: usize,
    ) -> Option<std::sync::Arc<LinkedGraph>> {
        let points = self.live();
        if points < GRAPH_FLOOR {
            return None;
        }
        let family = self.family(metric);
        let Some(linked) = family.current() else {
            if family.want(self.dead()) {
                self.linker.wake();
            }
            return None;
        };
        let breadth = ef.max(limit) as u64;
        let tail = linked.tail(self.arena.slots());
        (plan::choose(points, &tail, breadth) == Plan::Graph).then_some(linked)
    }

    fn walk(
        &self,
        view: &View,
        linked: &LinkedGraph,
        limit: usize,
        ef: usize,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>> {
        let measure = Measure::new(view.metric, view.query);
        let wanted = with_margin(limit);
        let mut best = Best::new(wanted)?;
        // The tail first: a point that is linked meanwhile is then met twice rather than missed.
        for slot in self.ordinary_slots(view, linked.tail(view.slots)) {
            if !linked.graph.contains(slot) {
                best.offer(Neighbor {
                    rank: measure.rank(&self.arena, slot),
                    slot,
                });
            }
        }
        let accept = |slot| slot < view.slots && self.arena.is_visible(slot, view.sequence);
        linked
            .graph
            .search(&self.arena, &measure, ef, wanted, accept, scratch)?;
        for &neighbor in scratch.results() {
            best.offer(neighbor);
        }
        let candidates = best.into_sorted();
        self.rank(view, self.with_odd(view, slots_of(&candidates)), limit)
    }

    fn scan(&self, view: &View, limit: usize) -> Result<Vec<Hit>> {
        let measure = Measure::new(view.metric, view.query);
        let mut best = Best::new(with_margin(limit))?;
        for slot in self.ordinary_slots(view, 0..view.slots) {
            best.offer(Neighbor {
                rank: measure.rank(&self.arena, slot),
                slot,
            });
        }
        let may_have_missed = best.is_full() && !measure.is_exact();
        let candidates = best.into_sorted();
        let last_sure = candidates
            .get(limit - 1)
            .map_or(f32::INFINITY, |last| last.rank);
        let reach = measure.upper_bound(last_sure);
        let covers = candidates.last().is_none_or(|worst| worst.rank > reach);
        if covers || !may_have_missed {
            return self.rank(view, self.with_odd(view, slots_of(&candidates)), limit);
        }
        // More points than the margin holds are as near as single precision can tell: take them
        // all, or the exact answer would be a matter of rounding.
        let mut near = Vec::new();
        for slot in self.ordinary_slots(view, 0..view.slots) {
            if measure.rank(&self.arena, slot) <= reach {
                reserve(&mut near, 1)?;
                near.push(slot);
            }
        }
        self.rank(view, self.with_odd(view, near), limit)
    }

    /// The candidates and all points that only double precision can rank, each once.
    fn with_odd(&self, view: &View, mut slots: Vec<u32>) -> Vec<u32> {
        let odd = self.odd();
        slots.extend(
            odd.iter()
                .copied()
                .filter(|&slot| slot < view.slots && self.arena.is_visible(slot, view.sequence)),
        );
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// The final order of the candidates.
    fn rank(&self, view: &View, slots: Vec<u32>, limit: usize) -> Result<Vec<Hit>> {
        let rank = |slot| {
            let vector = self.arena.vector(slot);
            (
                distance::exact::distance(view.metric, view.query, vector),
                slot,
            )
        };
        let mut ranked: Vec<(f64, u32)> = Vec::new();
        reserve(&mut ranked, slots.len())?;
        ranked.extend(slots.into_iter().map(rank));
        ranked.sort_unstable_by(|a, b| {
            let by_insertion = || self.arena.sequence(a.1).cmp(&self.arena.sequence(b.1));
            a.0.total_cmp(&b.0).then_with(by_insertion)
        });
        ranked.truncate(limit);
        let mut hits = Vec::new();
        reserve(&mut hits, ranked.len())?;
        hits.extend(ranked.into_iter().map(|(rank, slot)| Hit {
            id: self.arena.segments().id(self.arena.location(slot)),
            rank,
        }));
        Ok(hits)
    }

    fn ordinary_slots(&self, view: &View, slots: Range<u32>) -> impl Iterator<Item = u32> {
        self.visible_slots(view, slots)
            .filter(|&slot| !self.arena.is_odd(slot))
    }

    fn visible_slots(&self, view: &View, slots: Range<u32>) -> impl Iterator<Item = u32> {
        let sequence = view.sequence;
        slots.filter(move |&slot| self.arena.is_visible(slot, sequence))
    }
}

/// Candidates to keep for `limit` results: some more, because the order in double precision can
/// differ from the one in single precision where distances are nearly equal.
fn with_margin(limit: usize) -> usize {
    limit + limit / 8 + 16
}

fn slots_of(neighbors: &[Neighbor]) -> Vec<u32> {
    neighbors.iter().map(|neighbor| neighbor.slot).collect()
}

fn reserve<T>(list: &mut Vec<T>, count: usize) -> Result<()> {
    list.try_reserve(count)
        .map_err(|_| Error::Overloaded(format!("no memory for {count} results")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Params,
        store::{DEFAULT_SEGMENT_BYTES, OpenOptions, Store, Write},
    };

    #[test]
    fn a_delete_that_is_not_published_yet_takes_nothing_from_a_search_for_all_points() {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions {
            path: folder.path().to_owned(),
            dimension: Some(1),
            default_dimension: 1,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
        };
        let mut store = Store::open(&options).unwrap().store;
        let index = Index::new(store.segments(), 1, Params::default());
        let ids: [PointId; 3] = [[1; 16], [2; 16], [3; 16]];
        let writes = ids.map(|id| Write::Insert {
            id,
            vector: &[1.0],
            content_type: 0,
            content: &[],
        });
        let locations = store.commit(&writes).unwrap();
        for ((id, location), sequence) in ids.into_iter().zip(locations).zip(1..) {
            index.insert(id, location, sequence).unwrap();
        }
        index.publish(3);

        let search = || {
            let mut scratch = Scratch::new();
            let hits = index.search(Metric::Euclidean, &[0.0], usize::MAX, 1, &mut scratch);
            hits.unwrap().iter().map(|hit| hit.id).collect::<Vec<_>>()
        };
        assert!(index.delete(&ids[0], 4));
        assert_eq!(search(), ids);
        index.publish(4);
        assert_eq!(search(), ids[1..]);
    }
}
