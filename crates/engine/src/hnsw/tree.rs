//! The spanning tree of a graph: links that pruning never removes, so that every point can be
//! reached from every other whatever the data.

use super::{
    ATTEMPTS, Graph, Neighbor, Scratch, levels::scramble, links::Link, ranks::Ranks, space::Space,
};
use crate::{Error, Result, sync::yield_now, vectors::points::Points};

/// A part of the tree of at most so many points is looked through for its shortest link to another.
const SMALL_PART: usize = if cfg!(vectord_shuttle) { 2 } else { 32 };

/// How a new point joins the tree.
impl Graph {
    /// Links the point's neighbours in layer 0 back to it. The first that has room for a child
    /// becomes its parent in a tree whose links are never given up, in both directions: whatever
    /// the data, every point can be reached from every other.
    pub(super) fn join_tree<S: Space>(
        &self,
        space: S,
        slot: u32,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let _shared = self.links.share_tree();
        self.list_links(slot, 0, scratch);
        let mut parent = None;
        for index in 0..scratch.owners.len() {
            let owner = scratch.owners[index];
            if parent.is_none() && self.adopt(space, owner, slot, scratch) {
                parent = Some(owner);
            } else {
                self.add_link(space, owner, Link::new(slot), 0, scratch);
            }
        }
        let parent = match parent {
            Some(parent) => parent,
            None => self.adopt_further_on(space, slot, scratch)?,
        };
        self.add_link(space, slot, Link::kept(parent), 0, scratch);
        Ok(())
    }

    /// Makes `owner` the parent of `child` unless it has children enough: the other half of its row
    /// is left to links that may change.
    fn adopt<S: Space>(&self, space: S, owner: u32, child: u32, scratch: &mut Scratch) -> bool {
        let _lock = self.links.lock(owner);
        let has_room = self.has_room(owner);
        if has_room {
            self.place(space, owner, Link::kept(child), 0, scratch);
        }
        has_room
    }

    /// Whether a point may have another child.
    fn has_room(&self, owner: u32) -> bool {
        self.links.kept(owner).count() <= self.params.m
    }

    /// Finds a parent for a point whose neighbours all have children enough.
    fn adopt_further_on<S: Space>(
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
}

/// How points that leave are taken out of the tree.
impl Graph {
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
}

fn ranked(ranks: &impl Ranks, slot: u32) -> Neighbor {
    Neighbor {
        rank: ranks.rank(slot),
        slot,
    }
}
