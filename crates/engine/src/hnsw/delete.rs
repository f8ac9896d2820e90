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
    build::Linked,
    levels::scramble,
    links::Link,
    ranks::Ranks,
    search::{Takes, Taking},
    space::{InCodes, Space},
};
use crate::{
    Error, Result,
    hnsw::{beam::Beam, prune::prune_further},
    sync::{
        atomic::{AtomicU32, Ordering::AcqRel},
        yield_now,
    },
    vectors::points::Points,
};

/// Times that a point looks for its place anew before that is taken for a fault: each time, another
/// thread must have changed the graph under it.
const ATTEMPTS: usize = 10_000;

/// A part of the tree of at most so many points is looked through for its shortest link to another.
const SMALL_PART: usize = if cfg!(vectord_shuttle) { 2 } else { 32 };

/// How insertions get along with points that are deleted or leave.
impl Graph {
    /// Links a point to what is there, or makes it the first point if everything is leaving.
    pub(super) fn link_somewhere<P: Points>(
        &self,
        points: &P,
        new: Entry,
        scratch: &mut Scratch,
    ) -> Result<Linked> {
        for attempt in 0..ATTEMPTS {
            let Some(highest) = self.entries.claim(new) else {
                return Ok(Linked::AsPoint);
            };
            // Links to deleted points are wasted, but better than none.
            let takes = if attempt == 0 {
                Takes::Live
            } else {
                Takes::Staying
            };
            let linked = self.link(points, new, highest, takes, scratch)?;
            if linked != Linked::Nowhere {
                return Ok(linked);
            }
            if attempt > 0 && self.is_empty() && self.entries.replace(highest, Some(new)) {
                return Ok(Linked::AsPoint);
            }
            yield_now();
        }
        Err(Error::Internal(
            "a graph has points that cannot be reached".into(),
        ))
    }

    /// Takes a point that an insertion has met, and that is close enough, into its beam: as a
    /// candidate, or to be walked through only.
    #[inline]
    pub(super) fn meet<P: Points>(
        &self,
        taking: &Taking<P>,
        met: Neighbor,
        beam: &mut Beam,
    ) -> Result<()> {
        if self.takes_links(taking, met.slot) {
            beam.accept(met);
            Ok(())
        } else {
            beam.reject(met)
        }
    }

    /// Whether something new may be linked to a point. What is not deleted does not leave.
    #[inline]
    pub(super) fn takes_links<P: Points>(&self, taking: &Taking<P>, slot: u32) -> bool {
        taking.takes == Takes::Any
            || !taking.points.is_gone(slot)
            || !self.links.is_leaving(slot)
                && (taking.takes == Takes::Staying || self.links.has_duplicates(slot))
    }

    /// Makes a point the duplicate of `first`, unless that one is deleted and has none.
    pub(super) fn append_duplicate<P: Points>(
        &self,
        taking: &Taking<P>,
        first: u32,
        duplicate: u32,
    ) -> bool {
        let takes = |first| self.takes_links(taking, first);
        self.links.append_duplicate(first, duplicate, takes)
    }

    /// Finds a parent for a point whose neighbours all have children enough.
    pub(super) fn adopt_further_on<S: Space>(
        &self,
        space: S,
        slot: u32,
        scratch: &mut Scratch,
    ) -> Result<u32> {
        let start = scratch.owners[0];
        let stays = |owner| !self.links.is_leaving(owner);
        for _ in 0..ATTEMPTS {
            if let Some(parent) = self.adopt_beyond(space, start, slot, slot, stays, scratch)? {
                return Ok(parent);
            }
            yield_now();
        }
        Err(Error::Internal("a graph has no room for a point".into()))
    }

    /// Walks along the tree from `start`, never to `barred`, until a point for which `may_adopt`
    /// holds becomes the parent of `child`. It goes straight on in a random direction, for there
    /// are few children soon whichever way it goes, and turns back only at a dead end.
    fn adopt_beyond<S: Space>(
        &self,
        space: S,
        start: u32,
        barred: u32,
        child: u32,
        may_adopt: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<Option<u32>> {
        scratch.visited.begin(self.links.capacity())?;
        scratch.visited.insert(barred);
        scratch.visited.insert(child);
        scratch.visited.insert(start);
        scratch.owners.clear();
        scratch.owners.push(start);
        let mut bits = scramble(u64::from(child));
        while let Some(owner) = scratch.owners.pop() {
            if may_adopt(owner) && self.adopt(space, owner, child, scratch) {
                return Ok(Some(owner));
            }
            let Scratch {
                visited, owners, ..
            } = &mut *scratch;
            let before = owners.len();
            {
                // Nobody moves links in the row meanwhile.
                let _lock = self.links.lock(owner);
                let kept = self.links.kept(owner);
                owners.extend(kept.filter(|&next| visited.insert(next)));
            }
            let ways = owners.len() - before;
            if ways > 0 {
                let last = owners.len() - 1;
                owners.swap(before + bits as usize % ways, last);
                bits = scramble(bits);
            }
        }
        Ok(None)
    }

    /// How many points that it may not take a walk of that breadth goes through: as many as a scan
    /// would hardly take longer for.
    pub(super) fn patience(&self, breadth: usize) -> usize {
        breadth.saturating_mul(4).max(self.len() as usize / 4)
    }
}

/// The four steps in which points leave.
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

    /// The second step, by one thread at a time: takes points that are leaving out of the tree, and
    /// out of what is found by its vector. All that leave must go through this, in as many calls as
    /// one likes.
    ///
    /// Without such a point, what it was linked to for good is in several parts. Most are small, a
    /// point with its few children: these are joined by their shortest link to a point of any other
    /// part. The others are joined one by one to that of the nearest, the heir: each becomes the
    /// child of a point that is joined already, or of one further on there. The walk along the tree
    /// that begins at such a point never enters the one that leaves, so it cannot come to a part
    /// not joined yet.
    ///
    /// Links that are never given up should be short: they take the place of others.
    pub fn heal<P: Points>(
        &self,
        points: &P,
        leaving: &[u32],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut orphans = Vec::new();
        for &slot in leaving {
            if !self.links.is_duplicate(slot) {
                self.firsts.strike(points, slot);
            }
            let _whole = self.links.hold_tree();
            let space = self.vectors(points);
            let ranks = space.of(slot);
            orphans.clear();
            // Better an heir that stays: another would soon have to pass them on.
            orphans.extend(self.links.kept(slot).map(|neighbor| {
                let ranked = ranked(&ranks, neighbor);
                (self.links.is_leaving(neighbor), ranked)
            }));
            orphans.sort_unstable();
            for index in (0..orphans.len()).rev() {
                if self.join_elsewhere(space, slot, orphans[index].1.slot, scratch)? {
                    orphans.remove(index);
                }
            }
            self.inherit(space, slot, &orphans, scratch)?;
        }
        Ok(())
    }

    /// Joins the part of the tree that the point `leaver` leaves behind at `orphan` to another by
    /// the shortest of its links, if the part is small and has such a link. Every part but one can
    /// go that way: parts that are joined are one from then on, and the last has no other.
    fn join_elsewhere<S: Space>(
        &self,
        space: S,
        leaver: u32,
        orphan: u32,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        if !self.list_small_part(leaver, orphan, scratch)? {
            return Ok(false);
        }
        let members = &scratch.owners;
        let stays = |slot| self.links.standing(slot).is_some() && self.has_room(slot);
        let links = members.iter().filter(|&&member| stays(member));
        let links = links.flat_map(|&member| {
            let ranks = space.of(member);
            let outside = self.links.of(member, 0);
            let outside = outside.filter(|other| !members.contains(other) && stays(*other));
            outside.map(move |other| (ranked(&ranks, other), member))
        });
        let Some((other, member)) = links.min() else {
            return Ok(false);
        };
        self.add_link(space, other.slot, Link::kept(member), 0, scratch);
        self.add_link(space, member, Link::kept(other.slot), 0, scratch);
        self.swap_kept(orphan, leaver, None);
        Ok(true)
    }

    /// Leaves in `scratch.owners` the points that the tree leads to from `orphan` without `leaver`;
    /// false if they are many.
    fn list_small_part(&self, leaver: u32, orphan: u32, scratch: &mut Scratch) -> Result<bool> {
        let Scratch {
            visited, owners, ..
        } = scratch;
        visited.begin(self.links.capacity())?;
        visited.insert(leaver);
        visited.insert(orphan);
        owners.clear();
        owners.push(orphan);
        let mut next = 0;
        while let Some(&member) = owners.get(next) {
            next += 1;
            owners.extend(self.links.kept(member).filter(|&slot| visited.insert(slot)));
            if owners.len() > SMALL_PART {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Joins what a point that is leaving was linked to for good, the heir first.
    fn inherit<S: Space>(
        &self,
        space: S,
        leaver: u32,
        neighbors: &[(bool, Neighbor)],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let &[(_, heir), ref orphans @ ..] = neighbors else {
            return Ok(());
        };
        let Some((_, first)) = orphans.first() else {
            self.swap_kept(heir.slot, leaver, None);
            return Ok(());
        };
        // These two swap one link for another, for which there is always room.
        self.swap_kept(heir.slot, leaver, Some(first.slot));
        self.swap_kept(first.slot, leaver, Some(heir.slot));
        for (joined, &(_, orphan)) in orphans.iter().enumerate().skip(1) {
            let ranks = space.of(orphan.slot);
            let nearest = neighbors[..=joined]
                .iter()
                .map(|(_, joined)| ranked(&ranks, joined.slot))
                .min()
                .map_or(heir.slot, |nearest| nearest.slot);
            let parent = self
                .adopt_beyond(space, nearest, leaver, orphan.slot, |_| true, scratch)?
                .ok_or_else(|| Error::Internal("a graph has no room for a point".into()))?;
            self.swap_kept(orphan.slot, leaver, Some(parent));
        }
        Ok(())
    }

    /// Stops `owner` from keeping its link to `old`, and has it keep one to `new` in its stead.
    /// The old link goes only where the new one needs its place.
    fn swap_kept(&self, owner: u32, old: u32, new: Option<u32>) {
        let _lock = self.links.lock(owner);
        let row = self.links.row(owner, 0);
        let place_of = |slot: u32| {
            row.iter()
                .find(|&place| Link::load(place).is_some_and(|link| link.slot() == slot))
        };
        let old_place = place_of(old);
        match (new, new.and_then(place_of), old_place) {
            (Some(new), Some(present), _) => Link::kept(new).store(present),
            (Some(new), None, Some(old_place)) => return Link::kept(new).store(old_place),
            _ => {}
        }
        if let Some(old_place) = old_place {
            Link::new(old).store(old_place);
        }
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

#[cfg(test)]
impl Graph {
    /// Checks a graph at rest.
    ///
    /// # Panics
    /// Panics unless every link leads to a point of its layer, and the tree to all points.
    pub fn assert_sound(&self) {
        let standing = |slot: u32| {
            let level =
                ((slot as usize) < self.links.capacity()).then(|| self.links.standing(slot));
            level.flatten()
        };
        let points: Vec<u32> = (0..self.slots())
            .filter(|&slot| standing(slot).is_some())
            .collect();
        for &slot in &points {
            for layer in 0..=standing(slot).unwrap_or(0) {
                for linked in self.links.of(slot, layer) {
                    let level = standing(linked);
                    assert!(
                        level >= Some(layer),
                        "{slot} links to {linked}, {level:?}, in {layer}"
                    );
                }
            }
            for linked in self.links.kept(slot) {
                let is_mutual = self.links.kept(linked).any(|back| back == slot);
                assert!(is_mutual, "{linked} does not keep {slot}");
            }
        }
        let mut reached: Vec<u32> = points.first().copied().into_iter().collect();
        let mut next = 0;
        while let Some(&slot) = reached.get(next) {
            for linked in self.links.kept(slot) {
                if !reached.contains(&linked) {
                    reached.push(linked);
                }
            }
            next += 1;
        }
        assert_eq!(reached.len(), points.len(), "the tree leaves points out");
    }
}

fn ranked(ranks: &impl Ranks, slot: u32) -> Neighbor {
    Neighbor {
        rank: ranks.rank(slot),
        slot,
    }
}

fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve(count)
        .map_err(|error| Error::Internal(format!("points that leave: {error}")))?;
    Ok(list)
}
