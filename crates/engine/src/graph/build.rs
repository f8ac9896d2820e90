//! Linking a new point.

use std::sync::atomic::Ordering::{AcqRel, Acquire};

use super::{
    Entry, Graph, Neighbor, Scratch,
    choose::{choose, least_useful},
    links::{Link, SLOTS},
    search::Target,
};
use crate::{Error, Result, measure::Measure, points::Points};

/// No point rises above this layer; with `m` = 16 one in 10^18 would.
const MAX_LEVEL: u8 = 15;

impl Graph {
    /// Links the point in `slot`. Several threads may insert different points at once, and any
    /// number may search meanwhile. A point that is in the graph already is left as it is.
    pub fn insert<P: Points>(&self, points: &P, slot: u32, scratch: &mut Scratch) -> Result<()> {
        if slot >= SLOTS {
            let message = format!("slot {slot} is out of range, expected one below {SLOTS}");
            return Err(Error::InvalidArgument(message));
        }
        if self.contains(slot) {
            return Ok(());
        }
        let new = Entry {
            slot,
            level: draw_level(slot, self.params.m),
        };
        self.links.reserve(slot, new.level)?;
        if let Some(entry) = self.claim_entry(new) {
            self.link(points, new, entry, scratch)?;
        }
        self.links.finish(slot, new.level);
        self.len.fetch_add(1, AcqRel);
        Ok(())
    }

    /// Makes the first point of the graph its entry; for any other, returns where to begin.
    fn claim_entry(&self, new: Entry) -> Option<Entry> {
        match self.entry.compare_exchange(0, new.pack(), AcqRel, Acquire) {
            Ok(_) => None,
            Err(present) => Entry::unpack(present),
        }
    }

    /// Chooses and stores the point's own links in every layer before the first link back makes it
    /// reachable, so that no walk ends at a point without links.
    fn link<P: Points>(
        &self,
        points: &P,
        new: Entry,
        entry: Entry,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let measure = Measure::of_slot(self.metric, points, new.slot);
        let mut target = Target::new(points, &measure);
        let top = new.level.min(entry.level);
        scratch
            .pool
            .begin(self.params.ef_construction, usize::MAX)?;
        scratch.pool.accept(self.descend(&mut target, entry, top));

        for layer in (0..=top).rev() {
            self.walk_layer(&mut target, layer, scratch)?;
            let Scratch {
                pool,
                ranked,
                chosen,
                ..
            } = &mut *scratch;
            ranked.clear();
            ranked.extend(pool.neighbors());
            if let Some(twin) = equal_vector(points, new.slot, ranked) {
                self.links.append_twin(twin, new.slot);
                return Ok(());
            }
            choose(points, self.metric, ranked, self.params.m, chosen);
            for (place, neighbor) in self.links.row(new.slot, layer).iter().zip(&*chosen) {
                Link::new(neighbor.slot).store(place);
            }
        }
        self.join_tree(points, new.slot, scratch);
        for layer in 1..=top {
            self.link_back(points, new.slot, layer, scratch);
        }
        self.raise_entry(new);
        Ok(())
    }

    /// Links the point's neighbours in layer 0 back to it. The first that has room for a child
    /// becomes its parent in a tree whose links are never given up, in both directions: whatever
    /// the data, every point can be reached from every other.
    fn join_tree<P: Points>(&self, points: &P, slot: u32, scratch: &mut Scratch) {
        self.list_links(slot, 0, scratch);
        let mut parent = None;
        for index in 0..scratch.fresh.len() {
            let owner = scratch.fresh[index];
            if parent.is_none() && self.adopt(points, owner, slot, scratch) {
                parent = Some(owner);
            } else {
                self.add_link(points, owner, Link::new(slot), 0, scratch);
            }
        }
        let parent = parent.unwrap_or_else(|| self.adopt_further_on(points, slot, scratch));
        self.add_link(points, slot, Link::kept(parent), 0, scratch);
    }

    /// Makes `owner` the parent of `child` unless it has children enough: the other half of its row
    /// is left to links that may change.
    fn adopt<P: Points>(&self, points: &P, owner: u32, child: u32, scratch: &mut Scratch) -> bool {
        let _lock = self.links.lock(owner);
        let has_room = self.links.kept(owner).count() <= self.params.m;
        if has_room {
            self.place(points, owner, Link::kept(child), 0, scratch);
        }
        has_room
    }

    /// Finds a parent for a point whose neighbours all have children enough. A walk through a tree
    /// that never turns back comes to a point with few children, and soon.
    fn adopt_further_on<P: Points>(&self, points: &P, slot: u32, scratch: &mut Scratch) -> u32 {
        let mut previous = slot;
        let mut owner = scratch.fresh[0];
        let mut bits = scramble(u64::from(slot));
        while !self.adopt(points, owner, slot, scratch) {
            scratch.fresh.clear();
            scratch
                .fresh
                .extend(self.links.kept(owner).filter(|&next| next != previous));
            previous = owner;
            owner = scratch.fresh[bits as usize % scratch.fresh.len()];
            bits = scramble(bits);
        }
        owner
    }

    /// Links the point's neighbours in an upper layer back to it.
    fn link_back<P: Points>(&self, points: &P, slot: u32, layer: u8, scratch: &mut Scratch) {
        self.list_links(slot, layer, scratch);
        for index in 0..scratch.fresh.len() {
            self.add_link(
                points,
                scratch.fresh[index],
                Link::new(slot),
                layer,
                scratch,
            );
        }
    }

    fn list_links(&self, slot: u32, layer: u8, scratch: &mut Scratch) {
        scratch.fresh.clear();
        scratch.fresh.extend(self.links.of(slot, layer));
    }

    fn add_link<P: Points>(
        &self,
        points: &P,
        owner: u32,
        new: Link,
        layer: u8,
        scratch: &mut Scratch,
    ) {
        let _lock = self.links.lock(owner);
        self.place(points, owner, new, layer, scratch);
    }

    /// Adds a link to the row of `owner`, whose lock is held. In a full row it takes the place of
    /// the least useful link, which may be the new one itself unless it is to be kept.
    fn place<P: Points>(
        &self,
        points: &P,
        owner: u32,
        new: Link,
        layer: u8,
        scratch: &mut Scratch,
    ) {
        let row = self.links.row(owner, layer);
        for place in row {
            match Link::load(place) {
                None => return new.store(place),
                Some(link) if link.slot() != new.slot() => {}
                Some(link) => return link.or(new).store(place),
            }
        }
        let measure = Measure::of_slot(self.metric, points, owner);
        let mut target = Target::new(points, &measure);
        let ranked = &mut scratch.ranked;
        ranked.clear();
        ranked.extend(
            self.links
                .of(owner, layer)
                .map(|slot| target.neighbor(slot)),
        );
        ranked.push(target.neighbor(new.slot()));
        ranked.sort_unstable();

        let kept = |slot| {
            let kept = Link::kept(slot);
            new == kept || row.iter().any(|place| Link::load(place) == Some(kept))
        };
        let victim = least_useful(points, self.metric, ranked, kept).map(Link::new);
        if let Some(place) = row.iter().find(|&place| Link::load(place) == victim) {
            new.store(place);
        }
    }

    /// Makes a point the entry if it rises above the present one.
    fn raise_entry(&self, new: Entry) {
        let mut present = self.entry.load(Acquire);
        while Entry::unpack(present).is_none_or(|entry| entry.level < new.level) {
            match self
                .entry
                .compare_exchange_weak(present, new.pack(), AcqRel, Acquire)
            {
                Ok(_) => return,
                Err(other) => present = other,
            }
        }
    }
}

/// The layer up to which a point is linked: one point in `m` rises above each layer. Drawn from the
/// slot, so that building again gives the same graph.
fn draw_level(slot: u32, m: usize) -> u8 {
    let drawn = scramble(u64::from(slot));
    let mut rising = u64::MAX;
    for level in 0..MAX_LEVEL {
        rising /= m as u64;
        if drawn >= rising {
            return level;
        }
    }
    MAX_LEVEL
}

/// Turns successive numbers into independent ones (`SplitMix64`).
fn scramble(number: u64) -> u64 {
    let bits = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// The candidate whose vector equals that of `slot`.
fn equal_vector(points: &impl Points, slot: u32, candidates: &[Neighbor]) -> Option<u32> {
    let vector = points.vector(slot);
    let twin = candidates
        .iter()
        .find(|candidate| points.vector(candidate.slot) == vector)?;
    Some(twin.slot)
}
