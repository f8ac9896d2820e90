//! Searches by a walk of the graph and a scan of its tail, the points that are not linked yet.

use std::slice;

use super::{
    Prepared, Request,
    best::Candidate,
    rescore::{Ranked, slots_of, with_margin},
    scan::{self, Scan},
};
use crate::{
    Result,
    hnsw::{Neighbor, Scratch},
    index::{graphs::linked::LinkedGraph, matching::Matching},
    vectors::measure::Measure,
};

/// How a walk goes through points that it may not return.
#[derive(Clone, Copy)]
pub(in crate::index) enum Way<'m> {
    /// As it does through the others, as long as they are not too many.
    Plain,
    /// Past them, with this breadth, among the points that pass the filter.
    Among(usize, &'m Matching),
}

impl Prepared<'_, '_> {
    /// The closest points in their final order, by a walk. Fewer than `limit`, or none, if the walk
    /// gave up or found too few: then only a scan is sure to find them.
    pub(in crate::index) fn walk(
        &self,
        linked: &LinkedGraph,
        way: Way,
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
        let scans = slice::from_mut(&mut tail_scan);
        match request.within {
            Some(within) => {
                let matching = next.filter(|&slot| within.contains(slot));
                scan::scan(view.scope(), matching, scans);
            }
            None => scan::scan(view.scope(), next, scans),
        }
        let mut best = tail_scan.best;
        let arena = &view.index.arena;
        let candidate = |rank, slot| Candidate {
            rank,
            slot,
            sequence: arena.sequence(slot),
        };
        for &slot in &tail.refilled {
            if self.accepts(slot) && !arena.needs_f64(slot) {
                best.offer(candidate(measure.rank(arena, slot), slot));
            }
        }
        self.walk_graph(linked, &measure, way, scratch)?;
        if self.is_among_all() {
            // Those that do not pass a filter are not dead.
            view.index.note_passed(scratch.passed(), request.ef);
        }
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
        let age = |slot| self.accepts(slot).then(|| arena.sequence(slot));
        let graph = &linked.graph;
        let patience = scratch.patience();
        if !graph.list_equal(arena, request.query, wanted, patience, age, &mut slots)? {
            return Ok(Ranked::new());
        }
        self.rank(self.with_f64_only(slots))
    }

    /// Walks the graph, and leaves the closest points of the search in the results of `scratch`.
    pub(super) fn walk_graph(
        &self,
        linked: &LinkedGraph,
        measure: &Measure,
        way: Way,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (arena, graph) = (&self.view.index.arena, &linked.graph);
        let Request { ef, limit, .. } = self.request;
        match (way, self.request.within) {
            (Way::Among(breadth, matching), _) => {
                let accept = |slot| matching.contains(slot);
                let breadths = (breadth, limit);
                let seeds = matching.seeds();
                graph.search_among(arena, measure, breadths, accept, &seeds, scratch)?;
            }
            (Way::Plain, Some(within)) => {
                let accept = |slot| within.contains(slot);
                graph.search_near(arena, measure, (ef, limit), accept, scratch)?;
            }
            (Way::Plain, None) => {
                let accept = |slot| self.view.contains(slot);
                graph.search(arena, measure, ef, limit, accept, scratch)?;
            }
        }
        Ok(())
    }
}
