//! Taking deleted points out of a graph in place.
//!
//! Points leave in batches, in four steps with a wait between them: whoever calls them has to see
//! to it that everything that searches or inserts and began before has ended.
//! 1. [`Graph::withdraw`] marks the points that leave. From then on nothing new is linked to them.
//!    Before it, no reader may be left for whom one of them is still there.
//! 2. [`Graph::heal`], after a wait, takes them out of the tree that holds the graph together, and
//!    [`Graph::move_entries`] lets walks begin elsewhere.
//! 3. [`Graph::mend_rows`] replaces the links to them, as in the delete consolidation of
//!    `FreshDiskANN` (Singh et al., 2021, arXiv:2105.09613): the new ones are chosen from what the
//!    points that leave link to.
//! 4. [`Graph::forget`], after a wait, wipes them out: their slots can be inserted again.
//!
//! Searches and insertions go on all the while. What leaves keeps its own links until it is
//! forgotten, so that whoever stands on it finds a way on.
//!
//! The first of several points with equal vectors carries the others. It stays, to be walked
//! through, until they are deleted as well.

use std::ops::Range;

use super::{
    Entry, Graph, Neighbor, Scratch,
    links::Link,
    ranks::Ranks,
    search::{Takes, Taking},
    space::{InCodes, Space},
};
use crate::{
    Error, Result,
    hnsw::prune::prune_further,
    sync::atomic::{AtomicU32, Ordering::AcqRel},
    vectors::points::Points,
};

impl Graph {
    /// The number of slots that the graph has rows for.
    #[must_use]
    pub fn slots(&self) -> u32 {
        u32::try_from(self.links.capacity()).unwrap_or(u32::MAX)
    }

    /// The first step: marks those of the `dead` points that can leave, and returns them. None of
    /// them is being inserted or will be. Points that are not in the graph are passed over, and
    /// those with living duplicates stay.
    pub fn withdraw(&self, dead: &[u32]) -> Result<Vec<u32>> {
        let mut leaving = reserved(dead.len())?;
        let mut firsts = reserved(dead.len())?;
        for &slot in dead.iter().filter(|&&slot| self.contains(slot)) {
            if self.links.is_duplicate(slot) {
                self.links.leave(slot);
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
                self.links.leave(slot);
                leaving.push(slot);
            }
        }
        self.len.fetch_sub(leaving.len() as u32, AcqRel);
        Ok(leaving)
    }

    /// The end of the second step: where walks begin at a point that is leaving, they begin at one
    /// that stays from now on.
    pub fn move_entries(&self) {
        let entry = |slot| Some((slot, self.links.standing(slot)?));
        let staying = (0..self.slots()).filter_map(entry);
        let staying = staying.map(|(slot, level)| Entry { slot, level });
        self.entries
            .replace_leaving(|slot| self.links.is_leaving(slot), staying);
    }

    /// The third step, by any number of threads: frees the rows of some slots from links to what
    /// is leaving. Together the calls must cover all [`Graph::slots`].
    pub fn mend_rows<P: Points>(
        &self,
        points: &P,
        slots: Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let taking = Taking {
            points,
            takes: Takes::Live,
        };
        let vectors = self.vectors(points);
        let in_codes = self.codes(points).map(|codes| InCodes { codes, vectors });
        for slot in slots {
            let Some(level) = self.links.standing(slot) else {
                continue;
            };
            for layer in 0..=level {
                if !self.has_leaving(slot, layer) {
                    continue;
                }
                let is_mended = match in_codes {
                    Some(space) => self.mend_row(space, &taking, slot, layer, scratch)?,
                    None => false,
                };
                if !is_mended {
                    self.mend_row(vectors, &taking, slot, layer, scratch)?;
                }
            }
        }
        Ok(())
    }

    fn has_leaving(&self, slot: u32, layer: u8) -> bool {
        self.links
            .of(slot, layer)
            .any(|linked| self.links.is_leaving(linked))
    }

    /// Replaces the links of a row to what is leaving; false, and nothing done, if the space cannot
    /// tell apart what they may be replaced by.
    fn mend_row<P: Points, S: Space>(
        &self,
        space: S,
        taking: &Taking<P>,
        owner: u32,
        layer: u8,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let lock = self.links.lock(owner);
        self.list_candidates(space, taking, owner, layer, scratch)?;
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
        // Those that stay too: their rows may have lost what led to the owner, and have room now.
        for neighbor in linked {
            self.add_link(space, neighbor, Link::new(owner), layer, scratch);
        }
        Ok(true)
    }

    /// Leaves in `scratch.chosen` what a row links to and is to stay, and in `scratch.ranked`,
    /// closest first, what it may link to besides: what can be reached through those that leave.
    fn list_candidates<P: Points, S: Space>(
        &self,
        space: S,
        taking: &Taking<P>,
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
        let mut next = 0;
        while next < direct || next < leaving.len() && ranked.len() < enough {
            let from = leaving[next];
            next += 1;
            for slot in self
                .links
                .of(from, layer)
                .filter(|&slot| visited.insert(slot))
            {
                if self.links.is_leaving(slot) {
                    leaving.push(slot);
                } else if self.takes_links(taking, slot) {
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

    /// Stores `added` into the places of links to what is leaving, in the row of `owner`, whose
    /// lock is held: whoever reads the row meanwhile meets links old and new. Where fewer come than
    /// go, the last ones move up, and a reader may miss one of them.
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

    /// Whether a place of a row holds a link to a point that is leaving.
    fn leads_out(&self, place: &AtomicU32) -> bool {
        Link::load(place).is_some_and(|link| self.links.is_leaving(link.slot()))
    }

    /// The fourth step: wipes out points that have left.
    pub fn forget(&self, leaving: &[u32]) {
        for &slot in leaving {
            self.links.forget(slot);
        }
    }
}

fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve(count)
        .map_err(|error| Error::Internal(format!("points that leave: {error}")))?;
    Ok(list)
}
