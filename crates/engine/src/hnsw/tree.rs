//! The spanning tree of a graph: links of layer 0, in both directions, that pruning never removes.
//! Along them every point with links of its own can be reached from every other, whatever the data.

use super::{Graph, Neighbor, Scratch, levels::scramble, links::Link, ranks::Ranks, space::Space};
use crate::{Error, Result, vectors::points::Points};

/// When a point leaves, a part of the tree that it cuts off is joined by its shortest link to
/// another part if it has at most this number of points. Larger parts are joined without a search.
const SMALL_PART: usize = if cfg!(feature = "shuttle") { 2 } else { 32 };

/// How a new point joins the tree.
impl Graph {
    /// Links the neighbours of the point in `slot` in layer 0 back to it. The first of them that
    /// [may take a child](Self::may_take_child) becomes its parent, or else a point further on: the
    /// links between parent and child are tree links. Returns false, and changes nothing, if there is
    /// no such point: only points that are leaving could take a child.
    pub(super) fn join_tree<S: Space>(
        &self,
        space: S,
        slot: u32,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let _shared = self.links.read_tree();
        self.list_links(slot, 0, scratch);
        let near = (0..scratch.owners.len()).find_map(|index| {
            let owner = scratch.owners[index];
            self.adopt(space, owner, slot, scratch).then_some(owner)
        });
        let parent = if near.is_some() {
            near
        } else {
            let start = scratch.owners[0];
            let stays = |owner| !self.links.is_leaving(owner);
            let further_on = self.adopt_beyond(space, start, slot, slot, stays, scratch)?;
            self.list_links(slot, 0, scratch);
            further_on
        };
        let Some(parent) = parent else {
            return Ok(false);
        };
        self.add_link(space, slot, Link::tree(parent), 0, scratch);
        for index in 0..scratch.owners.len() {
            let owner = scratch.owners[index];
            if owner != parent {
                self.add_link(space, owner, Link::new(slot), 0, scratch);
            }
        }
        Ok(true)
    }

    /// Makes `owner` the parent of `child`, by a tree link from `owner`, unless it has children
    /// enough. Returns whether it did. The caller adds the tree link from the child.
    fn adopt<S: Space>(&self, space: S, owner: u32, child: u32, scratch: &mut Scratch) -> bool {
        let _lock = self.links.lock(owner);
        let may_adopt = self.may_take_child(owner);
        if may_adopt {
            self.place(space, owner, Link::tree(child), 0, scratch);
        }
        may_adopt
    }

    /// Whether a point may take another child. It may have `m + 1` tree links, so that about half
    /// of its row is left for links that pruning may replace.
    fn may_take_child(&self, owner: u32) -> bool {
        self.links.tree_neighbors(owner).count() <= self.params.m
    }

    /// Walks along the tree from `start`, never to `barred`, until a point for which `may_adopt`
    /// holds has become the parent of `child`, and returns it. None if there is no such point. The
    /// walk goes on in a random direction, since points with few children are near in every
    /// direction, and turns back only at a dead end.
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
                // No thread moves links within the row meanwhile.
                let _lock = self.links.lock(owner);
                let neighbors = self.links.tree_neighbors(owner);
                owners.extend(neighbors.filter(|&next| visited.insert(next)));
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
    /// The second step of [a delete](super::delete), by one thread at a time: takes the points in
    /// `leaving` out of the tree and out of [`EqualVectors`](super::equal_vectors::EqualVectors).
    /// Together the calls must cover every point that leaves.
    ///
    /// Without a point, the tree falls into parts, one for each of its neighbours in the tree (its
    /// orphans). Most parts are small, a point with a few children: each of these is joined by its
    /// shortest link to a point of any other part. The remaining parts are joined one by one to the
    /// part of the heir, the neighbour nearest to the point that leaves: the neighbour in each part
    /// becomes the child of a neighbour that is joined already, or of a point in the joined part.
    /// The walk to such a point never enters the point that leaves, so it cannot reach a part that
    /// is not joined yet.
    ///
    /// Tree links should be short, since they take the places of other links.
    pub fn leave_tree<P: Points>(
        &self,
        points: &P,
        leaving: &[u32],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut orphans = Vec::new();
        for &slot in leaving {
            if !self.links.is_duplicate(slot) {
                self.equal_vectors.remove(points, slot);
            }
            let _whole = self.links.lock_tree();
            let space = self.vectors(points);
            let ranks = space.of(slot);
            orphans.clear();
            // Points that stay come first: an heir that is leaving too would soon make its children
            // orphans in turn.
            orphans.extend(self.links.tree_neighbors(slot).map(|neighbor| {
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

    /// Joins the part of the tree at `orphan`, a neighbour of the point `leaver`, to another part
    /// by the shortest of its links, if the part is small and has such a link. Returns whether it
    /// did. This can work for every part but the last: joined parts are one part, and the last has
    /// no other to be joined to.
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
        let stays = |slot| self.links.staying_level(slot).is_some() && self.may_take_child(slot);
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
        self.add_link(space, other.slot, Link::tree(member), 0, scratch);
        self.add_link(space, member, Link::tree(other.slot), 0, scratch);
        self.swap_tree_link(orphan, leaver, None);
        Ok(true)
    }

    /// Leaves in `scratch.owners` the points of the tree that can be reached from `orphan` without
    /// passing `leaver`; false if they are more than [`SMALL_PART`].
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
            owners.extend(
                self.links
                    .tree_neighbors(member)
                    .filter(|&slot| visited.insert(slot)),
            );
            if owners.len() > SMALL_PART {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Joins the parts of the tree at `neighbors`, which are the tree neighbours of `leaver` that
    /// are not joined to another part. The first of them is the heir.
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
            self.swap_tree_link(heir.slot, leaver, None);
            return Ok(());
        };
        // The heir and the first orphan exchange one tree link for another, which needs no free
        // place in their rows.
        self.swap_tree_link(heir.slot, leaver, Some(first.slot));
        self.swap_tree_link(first.slot, leaver, Some(heir.slot));
        for (joined, &(_, orphan)) in orphans.iter().enumerate().skip(1) {
            let ranks = space.of(orphan.slot);
            let nearest = neighbors[..=joined]
                .iter()
                .map(|(_, joined)| ranked(&ranks, joined.slot))
                .min()
                .map_or(heir.slot, |nearest| nearest.slot);
            let parent = self
                .adopt_beyond(space, nearest, leaver, orphan.slot, |_| true, scratch)?
                .ok_or_else(|| {
                    Error::Internal("no point of the graph can take another tree link".into())
                })?;
            self.swap_tree_link(orphan.slot, leaver, Some(parent));
        }
        Ok(())
    }

    /// Makes the tree link of `owner` to `old` an ordinary link, and adds a tree link to `new`, if
    /// there is one. The link to `old` is removed only if the new one needs its place.
    fn swap_tree_link(&self, owner: u32, old: u32, new: Option<u32>) {
        let _lock = self.links.lock(owner);
        let row = self.links.row(owner, 0);
        let place_of = |slot: u32| {
            row.iter()
                .find(|&place| Link::load(place).is_some_and(|link| link.slot() == slot))
        };
        let old_place = place_of(old);
        match (new, new.and_then(place_of), old_place) {
            (Some(new), Some(present), _) => Link::tree(new).store(present),
            (Some(new), None, Some(old_place)) => return Link::tree(new).store(old_place),
            _ => {}
        }
        if let Some(old_place) = old_place {
            Link::new(old).store(old_place);
        }
    }
}

/// A point with its rank against the target of `ranks`.
fn ranked(ranks: &impl Ranks, slot: u32) -> Neighbor {
    Neighbor {
        rank: ranks.rank(slot),
        slot,
    }
}
