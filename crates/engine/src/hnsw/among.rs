//! The walk among accepted points alone, for a search that accepts a part of all points.
//!
//! A walk that ranks and expands rejected points too computes many ranks for nothing, and where all
//! points around a query are rejected it expands all of them before it finds a way out. This walk
//! follows ACORN-1 (Patel et al., 2024, arXiv:2403.04871): it ranks accepted points alone, and looks
//! behind each rejected neighbour of a point for the accepted ones among the neighbours' neighbours.
//! So it goes through the graph as if that were built of the accepted points, with longer rows.
//!
//! Differences from the paper: the graph is not compressed for it; the layers above 0 are walked
//! through all points, as few accepted ones are linked there; a walk that finds next to no accepted
//! point near to the query begins at accepted points that the caller names.

use super::{Graph, Neighbor, Scratch, enter::Target, links::Link, ranks::Ranks};
use crate::Result;

/// The number of points whose neighbours are sampled to learn how many are accepted near to a query.
const SAMPLED_ROWS: usize = 2;

/// With fewer accepted points than this near to the query, a walk begins at the caller's points too.
const ENOUGH_ENTRIES: usize = 4;

impl Graph {
    /// Replaces the entry points in `scratch.starts`, accepted or not, by accepted ones: those that are
    /// accepted themselves, and accepted points that one or two links lead to from any of them. Adds
    /// `seeds` if the links lead to few. Ranks the points that it adds.
    ///
    /// The entry points are found through all points of the upper layers, because the accepted ones
    /// there may not be linked to each other: in a set of clusters, each may have few accepted points.
    pub(super) fn start_among<R: Ranks>(
        &self,
        target: &mut Target<R>,
        seeds: &[u32],
        accept: &impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<()> {
        scratch.visited.begin(self.links.capacity())?;
        for start in &scratch.starts {
            scratch.visited.insert(start.slot);
        }
        scratch.fresh.clear();
        for index in 0..scratch.starts.len() {
            self.list_accepted(scratch.starts[index].slot, accept, scratch);
        }
        if scratch.fresh.len() < ENOUGH_ENTRIES {
            let has_links = |slot: u32| Link::load(&self.links.row(slot, 0)[0]).is_some();
            let seeds = seeds
                .iter()
                .filter(|&&slot| self.contains(slot) && has_links(slot));
            (scratch.fresh).extend(seeds.map(|&slot| Neighbor::unranked(slot)));
        }
        target.fetch_and_rank_all(&mut scratch.fresh);
        scratch.starts.retain(|start| accept(start.slot));
        scratch.starts.extend_from_slice(&scratch.fresh);
        Ok(())
    }

    /// The share of accepted ones among the points linked from the points at which a walk of layer 0
    /// begins.
    pub(super) fn share_near(&self, starts: &[Neighbor], accept: &impl Fn(u32) -> bool) -> f32 {
        let rows = starts
            .iter()
            .take(SAMPLED_ROWS)
            .map(|start| self.links.row(start.slot, 0));
        let near = rows
            .flat_map(|row| row.iter().map_while(Link::load))
            .map(Link::slot);
        let (mut all, mut accepted) = (0_u16, 0_u16);
        for slot in near {
            all += 1;
            accepted += u16::from(accept(slot));
        }
        f32::from(accepted) / f32::from(all.max(1))
    }

    /// Expands the next candidate of the beam: ranks the accepted points near to it that this walk
    /// has not met before, and leaves in `scratch.fresh` those of them that the beam admits now.
    /// False if no candidate is left: the walk is over.
    pub(super) fn expand_among<R: Ranks>(
        &self,
        target: &mut Target<R>,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> bool {
        scratch.fresh.clear();
        let Some(slot) = scratch.beam.next() else {
            return false;
        };
        self.list_accepted(slot, accept, scratch);
        target.fetch_and_rank_all(&mut scratch.fresh);
        let Scratch { fresh, beam, .. } = scratch;
        fresh.retain(|neighbor| beam.admits(neighbor.rank));
        true
    }

    /// Adds to `scratch.fresh` the accepted points linked from `slot` in layer 0, and those linked from
    /// the rejected ones, until there are as many as a row has places; all of them points that this walk
    /// has not met before. A rejected point with duplicates is added too, as these may be accepted.
    fn list_accepted(&self, slot: u32, accept: &impl Fn(u32) -> bool, scratch: &mut Scratch) {
        let Scratch {
            visited,
            fresh,
            rejected,
            ..
        } = scratch;
        let mut stamps = visited.open();
        let row = self.links.row(slot, 0);
        rejected.clear();
        for near in row.iter().map_while(Link::load).map(Link::slot) {
            if !stamps.insert(near) {
                continue;
            }
            if accept(near) || self.links.has_duplicates(near) {
                fresh.push(Neighbor::unranked(near));
            } else {
                self.links.prefetch(near);
                rejected.push(near);
            }
        }
        for &between in &*rejected {
            for near in self.links.row(between, 0).iter().map_while(Link::load) {
                if fresh.len() == row.len() {
                    return;
                }
                let near = near.slot();
                if accept(near) && stamps.insert(near) {
                    fresh.push(Neighbor::unranked(near));
                }
            }
        }
    }
}
