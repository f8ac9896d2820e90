//! Searches by a walk of the graph and a scan of its tail, the points that are not linked yet.

use std::slice;

use super::{
    Prepared,
    best::Candidate,
    rescore::{Ranked, slots_of, with_margin},
    scan::{self, Scan},
};
use crate::{
    Result,
    hnsw::{Neighbor, Scratch},
    index::graphs::linked::LinkedGraph,
    vectors::measure::Measure,
};

impl Prepared<'_, '_> {
    /// The closest points in their final order, by a walk. Fewer than `limit`, or none, if the walk
    /// gave up or found too few: then only a scan is sure to find them.
    pub(in crate::index) fn walk(
        &self,
        linked: &LinkedGraph,
        scratch: &mut Scratch,
    ) -> Result<Ranked> {
        let Prepared { view, request, .. } = *self;
        let measure = self.measure();
        let wanted = with_margin(request.limit);
        let mut tail_scan = Scan::new(measure, wanted)?;
        // The tail is scanned first: a point that is linked meanwhile is found twice rather than
        // missed.
        let tail = linked.tail(view.slots);
        let next = tail.next.clone();
        scan::scan(view.scope(), next, slice::from_mut(&mut tail_scan));
        let mut best = tail_scan.best;
        let arena = &view.index.arena;
        let candidate = |rank, slot| Candidate {
            rank,
            slot,
            sequence: arena.sequence(slot),
        };
        for &slot in &tail.refilled {
            if arena.is_visible(slot, view.sequence) && !arena.needs_f64(slot) {
                best.offer(candidate(measure.rank(arena, slot), slot));
            }
        }
        self.walk_graph(linked, &measure, scratch)?;
        view.index.note_passed(scratch.passed(), request.ef);
        if scratch.gave_up() {
            return Ok(Ranked::new());
        }
        let found = scratch.results().iter();
        for neighbor in found.clone() {
            arena.prefetch_hit(neighbor.slot);
        }
        for &Neighbor { rank, slot } in found.filter(|found| !tail.contains(found.slot)) {
            best.offer(candidate(rank, slot));
        }
        let mut slots = slots_of(&best.into_sorted());
        // A walk may miss points whose vectors equal the query, so they are looked up in a table.
        let age = |slot| view.contains(slot).then(|| arena.sequence(slot));
        let graph = &linked.graph;
        let patience = scratch.patience();
        if !graph.list_equal(arena, request.query, wanted, patience, age, &mut slots)? {
            return Ok(Ranked::new());
        }
        self.rank(self.with_f64_only(slots))
    }

    /// Walks the graph, and leaves the closest points of the view in the results of `scratch`.
    pub(super) fn walk_graph(
        &self,
        linked: &LinkedGraph,
        measure: &Measure,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (arena, view, ef) = (&self.view.index.arena, self.view, self.request.ef);
        let accept = |slot| view.contains(slot);
        let limit = self.request.limit;
        let graph = &linked.graph;
        graph.search(arena, measure, ef, limit, accept, scratch)?;
        Ok(())
    }
}
