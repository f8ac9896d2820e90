//! Searches by a walk of the graph and a scan of its tail, the points that are not linked yet.

use std::slice;

use super::{
    Prepared, Request,
    best::{Candidate, reserve},
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
                scan::scan(view.scope(scratch), matching, scans)?;
            }
            None => scan::scan(view.scope(scratch), next, scans)?,
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
        self.finish_walk(linked, slots_of(&best.into_sorted()), scratch)
    }

    /// Puts what a walk has found in its final order. None of it if too many points have the vector of
    /// the query.
    fn finish_walk(
        &self,
        linked: &LinkedGraph,
        mut slots: Vec<u32>,
        scratch: &Scratch,
    ) -> Result<Ranked> {
        let Request { query, limit, .. } = self.request;
        let arena = &self.view.index.arena;
        // A walk may miss points whose vectors equal the query, so they are looked up in a table.
        let age = |slot| self.accepts(slot).then(|| arena.sequence(slot));
        let (wanted, patience) = (with_margin(limit), scratch.patience());
        if !(linked.graph).list_equal(arena, query, wanted, patience, age, &mut slots)? {
            return Ok(Ranked::new());
        }
        self.rank(self.with_f64_only(slots), scratch)
    }

    /// The closest of some points in their final order, first by their codes. None if too many have
    /// the vector of the query.
    pub(super) fn scan_codes(
        &self,
        linked: &LinkedGraph,
        matching: &Matching,
        scratch: &mut Scratch,
    ) -> Result<Ranked> {
        let arena = &self.view.index.arena;
        let mut slots = Vec::new();
        reserve(&mut slots, matching.count())?;
        matching.slots().for_each(|slot| slots.push(slot));
        // Seldom there are any, and each look for one reads memory.
        if !self.view.index.f64_only().is_empty() {
            slots.retain(|&slot| !arena.needs_f64(slot));
        }
        let wanted = with_margin(self.request.limit);
        let breadths = (self.request.ef.max(wanted), wanted);
        (linked.graph).search_only(arena, &self.measure(), breadths, &slots, scratch)?;
        let found = scratch.results().iter().map(|found| found.slot).collect();
        self.finish_walk(linked, found, scratch)
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
