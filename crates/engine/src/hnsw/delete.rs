//! Removing deleted points from a graph in place, while searches and insertions go on.
//!
//! Points leave in batches, in four steps. The caller waits between steps, where it says so, until
//! every search and insertion that began before has ended.
//! 1. [`Graph::mark_leaving`] marks the points that leave. Nothing new is linked to them
//!    afterwards. When it is called, no reader may be left that can still return one of them.
//! 2. After a wait, [`Graph::leave_tree`] takes them out of the [spanning tree](super::tree), and
//!    [`Graph::move_entries`] replaces them among the points at which walks begin.
//! 3. [`Graph::relink`] replaces the links to them by links to points that they link to, as in the
//!    delete consolidation of `FreshDiskANN` (Singh et al., 2021, arXiv:2105.09613).
//! 4. After a wait, [`Graph::erase`] removes them: their slots can be inserted again.
//!
//! A point that leaves keeps its own links until it is erased, so that a walk that stands on it can
//! go on.
//!
//! The first of several points with equal vectors holds the chain of its duplicates. After its
//! delete it stays in the graph, and walks pass it, until the duplicates are deleted too.

use std::ops::Range;

use super::{
    EntryPoint, Graph, Neighbor, Scratch,
    eligible::{Eligible, Filter},
    links::Link,
    ranks::Ranks,
    space::{InCodes, Space},
};
use crate::{
    Error, Result,
    hnsw::prune::prune_further,
    sync::atomic::{AtomicU32, Ordering::AcqRel},
    vectors::points::Points,
};

/// The number of points that leave through which candidates for the links of a row are looked for,
/// beside those that the row links to, for each of its places. It bounds the search where nearly all
/// points leave, as after a load that has replaced all points.
const MAX_PASSED: usize = 8;

impl Graph {
    /// The first step: marks the deleted points in the slots `dead` as leaving, and returns the
    /// slots that it has marked. It skips points that are not in the graph, and points with
    /// duplicates that live, which stay. No thread may be inserting one of these points, now or
    /// later.
    pub fn mark_leaving(&self, dead: &[u32]) -> Result<Vec<u32>> {
        let mut leaving = reserved(dead.len())?;
        let mut firsts = reserved(dead.len())?;
        for &slot in dead.iter().filter(|&&slot| self.contains(slot)) {
            if self.links.is_duplicate(slot) {
                self.links.mark_leaving(slot);
                leaving.push(slot);
                firsts.extend(self.links.first_duplicate(slot));
            }
        }
        firsts.sort_unstable();
        firsts.dedup();
        for first in firsts {
            let _lock = self.links.lock(first);
            self.links.drop_leaving_duplicates(first);
        }
        for &slot in dead.iter().filter(|&&slot| self.contains(slot)) {
            let _lock = self.links.lock(slot);
            if !self.links.is_duplicate(slot) && !self.links.has_duplicates(slot) {
                self.links.mark_leaving(slot);
                leaving.push(slot);
            }
        }
        self.len.fetch_sub(leaving.len() as u32, AcqRel);
        Ok(leaving)
    }

    /// The end of the second step: replaces each entry point that leaves by a point that stays.
    /// Goes through all slots.
    pub fn move_entries(&self) {
        let entry = |slot| Some((slot, self.links.staying_level(slot)?));
        let staying = (0..self.slots()).filter_map(entry);
        let staying = staying.map(|(slot, level)| EntryPoint { slot, level });
        self.entries
            .replace_leaving(|slot| self.links.is_leaving(slot), staying);
    }

    /// The third step, by any number of threads: replaces the links to points that leave in all
    /// rows of the points in `slots`. Together the calls must cover all [`Graph::slots`].
    pub fn relink<P: Points>(
        &self,
        points: &P,
        slots: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let filter = Filter {
            points,
            eligible: Eligible::Live,
        };
        let vectors = self.vectors(points);
        let in_codes = self.codes(points).map(|codes| InCodes { codes, vectors });
        for slot in slots {
            let Some(level) = self.links.staying_level(slot) else {
                continue;
            };
            for layer in 0..=level {
                if !self.has_leaving(slot, layer) {
                    continue;
                }
                let is_relinked = match in_codes {
                    Some(space) => self.relink_row(space, &filter, slot, layer, scratch)?,
                    None => false,
                };
                if !is_relinked {
                    self.relink_row(vectors, &filter, slot, layer, scratch)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the row of a point has a link to a point that leaves.
    fn has_leaving(&self, slot: u32, layer: u8) -> bool {
        self.links
            .of(slot, layer)
            .any(|linked| self.links.is_leaving(linked))
    }

    /// Replaces the links to points that leave in one row. If the space cannot tell the candidates
    /// for new links apart, it changes nothing and returns false.
    fn relink_row<P: Points, S: Space>(
        &self,
        space: S,
        filter: &Filter<P>,
        owner: u32,
        layer: u8,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let lock = self.links.lock(owner);
        self.list_candidates(space, filter, owner, layer, scratch)?;
        if !space.can_tell_apart(owner, &scratch.ranked) {
            return Ok(false);
        }
        let Scratch { ranked, chosen, .. } = &mut *scratch;
        let staying = chosen.len();
        let count = self.links.of(owner, layer).count();
        prune_further(space, ranked, count, chosen);
        let mut linked = reserved(chosen.len())?;
        linked.extend(chosen.iter().map(|one| one.slot));
        self.replace_leaving(owner, layer, &linked[staying..], scratch);
        drop(lock);
        // Also back from links that stay: their rows may have lost a way to the owner, and have
        // space for it now.
        for neighbor in linked {
            self.add_link(space, neighbor, Link::new(owner), layer, scratch);
        }
        Ok(true)
    }

    /// Leaves in `scratch.chosen` the points that a row links to and that stay, and in
    /// `scratch.ranked` the candidates for new links: points that can be reached through the points
    /// that leave. Both are ranked against `owner` and sorted, closest first.
    fn list_candidates<P: Points, S: Space>(
        &self,
        space: S,
        filter: &Filter<P>,
        owner: u32,
        layer: u8,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch {
            visited,
            owners: leaving,
            ranked,
            chosen,
            ..
        } = scratch;
        visited.begin(self.links.capacity())?;
        visited.insert(owner);
        leaving.clear();
        ranked.clear();
        chosen.clear();
        for slot in self
            .links
            .of(owner, layer)
            .filter(|&slot| visited.insert(slot))
        {
            if self.links.is_leaving(slot) {
                leaving.push(slot);
            } else {
                chosen.push(Neighbor::unranked(slot));
            }
        }
        let direct = leaving.len();
        let enough = self.links.row(owner, layer).len();
        let farthest = direct + MAX_PASSED * enough;
        let mut next = 0;
        while next < direct || next < leaving.len().min(farthest) && ranked.len() < enough {
            let from = leaving[next];
            next += 1;
            for slot in self
                .links
                .of(from, layer)
                .filter(|&slot| visited.insert(slot))
            {
                if self.links.is_leaving(slot) {
                    leaving.push(slot);
                } else if self.is_eligible(filter, slot) {
                    ranked.push(Neighbor::unranked(slot));
                }
            }
        }
        let ranks = space.of(owner);
        ranks.fetch_and_rank_all(chosen);
        ranks.fetch_and_rank_all(ranked);
        chosen.sort_unstable();
        ranked.sort_unstable();
        Ok(())
    }

    /// Stores links to the points `added` in the row of `owner`, in the places of links to points
    /// that leave. The lock of `owner` is held. A thread that reads the row meanwhile sees old and
    /// new links. If fewer links are added than removed, the last ones of the row move into the
    /// places that are left, and such a reader may miss one of them.
    fn replace_leaving(&self, owner: u32, layer: u8, added: &[u32], scratch: &mut Scratch) {
        let row = self.links.row(owner, layer);
        let mut end = self.links.of(owner, layer).count();
        let free_places = &mut scratch.owners;
        free_places.clear();
        free_places.extend((0..end as u32).filter(|&place| self.leads_out(&row[place as usize])));
        for (&free, &slot) in free_places.iter().zip(added) {
            Link::new(slot).store(&row[free as usize]);
        }
        for &free in free_places.iter().skip(added.len()) {
            while end > 0 && self.leads_out(&row[end - 1]) {
                end -= 1;
                Link::erase(&row[end]);
            }
            let free = free as usize;
            if free + 1 >= end {
                return;
            }
            end -= 1;
            if let Some(last) = Link::load(&row[end]) {
                last.store(&row[free]);
            }
            Link::erase(&row[end]);
        }
    }

    /// Whether a place of a row holds a link to a point that leaves.
    fn leads_out(&self, place: &AtomicU32) -> bool {
        Link::load(place).is_some_and(|link| self.links.is_leaving(link.slot()))
    }

    /// The fourth step: removes the points that have left. Their slots can then be inserted again.
    pub fn erase(&self, leaving: &[u32]) {
        for &slot in leaving {
            self.links.erase(slot);
        }
    }
}

fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve(count)
        .map_err(|error| Error::Internal(format!("points that leave: {error}")))?;
    Ok(list)
}
