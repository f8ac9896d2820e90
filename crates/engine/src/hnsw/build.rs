//! Linking a new point.

use super::{
    ATTEMPTS, Entry, Graph, Neighbor, Scratch,
    levels::draw_level,
    links::{Link, SLOTS},
    ranks::Ranks,
    search::{INSERT_APPROACH, Takes, Taking, Target},
    space::{InCodes, Space, Vectors},
};
use crate::{
    Error, Result,
    hnsw::{
        beam::Beam,
        prune::{prune_further, robust_prune},
    },
    sync::{atomic::Ordering::AcqRel, yield_now},
    vectors::{points::Points, quantize::Codes},
};

/// One in so many places of a full row is freed when a link is to be added. Measured against
/// giving up one link at a time, an eighth takes 15 % less CPU to build and as many ranks to search
/// at equal recall; a quarter takes 17 to 30 % less and 2 % more ranks on SIFT at recall 0.99.
const SPARE: usize = 8;

impl Graph {
    /// Links the point in `slot`. Several threads may insert points at once, and any number may
    /// search meanwhile. A point that is in the graph already, or that another thread is inserting,
    /// is left as it is.
    pub fn insert<P: Points>(&self, points: &P, slot: u32, scratch: &mut Scratch) -> Result<()> {
        if slot >= SLOTS {
            let message = format!("slot {slot} is out of range, expected one below {SLOTS}");
            return Err(Error::InvalidArgument(message));
        }
        if !self.links.begin(slot)? {
            return Ok(());
        }
        let new = Entry {
            slot,
            level: draw_level(slot, self.params.m),
        };
        self.links.reserve(slot, new.level)?;
        let linked = self.link_somewhere(points, new, scratch)?;
        if linked != Linked::AsDuplicate {
            self.firsts.enter(points, slot)?;
        }
        self.links
            .finish(slot, new.level, linked == Linked::AsDuplicate);
        self.len.fetch_add(1, AcqRel);
        Ok(())
    }

    /// Links a point to what is there, or makes it the first point if everything is leaving.
    fn link_somewhere<P: Points>(
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

    /// Links a point by codes where there are any, and by vectors where those of its neighbours
    /// cannot be told apart.
    fn link<P: Points>(
        &self,
        points: &P,
        new: Entry,
        highest: Entry,
        takes: Takes,
        scratch: &mut Scratch,
    ) -> Result<Linked> {
        let taking = Taking { points, takes };
        if self.join_duplicates(&taking, new.slot) {
            return Ok(Linked::AsDuplicate);
        }
        let vectors = self.vectors(points);
        if let Some(codes) = self.codes(points) {
            let linked =
                self.link_in(InCodes { codes, vectors }, &taking, new, highest, scratch)?;
            if linked != Linked::Unsure {
                return Ok(linked);
            }
        }
        self.link_in(vectors, &taking, new, highest, scratch)
    }

    /// The space of the vectors, in which every rank is right.
    pub(super) fn vectors<'p, P: Points>(&self, points: &'p P) -> Vectors<'p, P> {
        Vectors {
            points,
            metric: self.metric,
        }
    }

    /// The codes to go by, where there are any.
    pub(super) fn codes<'p>(&self, points: &'p impl Points) -> Option<&'p Codes> {
        points.codes().filter(|_| Codes::suit(self.metric))
    }

    /// Chooses and stores the point's own links in every layer before the first link back makes it
    /// reachable, so that no walk ends at a point without links.
    fn link_in<P: Points, S: Space>(
        &self,
        space: S,
        taking: &Taking<P>,
        new: Entry,
        highest: Entry,
        scratch: &mut Scratch,
    ) -> Result<Linked> {
        let mut target = Target::new(space.of(new.slot));
        let top = new.level.min(highest.level);
        self.approach(
            &mut target,
            taking.points,
            highest,
            top,
            INSERT_APPROACH,
            scratch,
        )?;
        let breadth = self.params.ef_construction;
        scratch.beam.begin(breadth, usize::MAX)?;
        let patience = self.patience(breadth);
        scratch.beam.bound_rejected(patience, self.params.m);

        for layer in (0..=top).rev() {
            self.walk_layer(&mut target, taking, layer, scratch)?;
            let Scratch {
                beam,
                ranked,
                chosen,
                ..
            } = &mut *scratch;
            ranked.clear();
            ranked.extend(beam.neighbors());
            if !space.can_tell_apart(new.slot, ranked) {
                return Ok(Linked::Unsure);
            }
            robust_prune(space, ranked, self.params.m, chosen);
            self.links
                .set(new.slot, layer, chosen.iter().map(|neighbor| neighbor.slot));
        }
        if scratch.chosen.is_empty() {
            return Ok(Linked::Nowhere);
        }
        self.join_tree(space, new.slot, scratch)?;
        for layer in 1..=top {
            self.link_back(space, new.slot, layer, scratch);
        }
        self.entries.offer(new);
        Ok(Linked::AsPoint)
    }

    /// Links the point's neighbours in an upper layer back to it.
    fn link_back<S: Space>(&self, space: S, slot: u32, layer: u8, scratch: &mut Scratch) {
        self.list_links(slot, layer, scratch);
        for index in 0..scratch.owners.len() {
            self.add_link(
                space,
                scratch.owners[index],
                Link::new(slot),
                layer,
                scratch,
            );
        }
    }

    pub(super) fn list_links(&self, slot: u32, layer: u8, scratch: &mut Scratch) {
        scratch.owners.clear();
        scratch.owners.extend(self.links.of(slot, layer));
    }

    pub(super) fn add_link<S: Space>(
        &self,
        space: S,
        owner: u32,
        new: Link,
        layer: u8,
        scratch: &mut Scratch,
    ) {
        let _lock = self.links.lock(owner);
        self.place(space, owner, new, layer, scratch);
    }

    /// Adds a link to the row of `owner`, whose lock is held. A full row is thinned out first, so
    /// that the next few links find room: a link chosen anew each time would cost the build a
    /// fifth more. The new one may be among those given up unless it is to be kept.
    pub(super) fn place<S: Space>(
        &self,
        space: S,
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
        let Scratch { ranked, chosen, .. } = scratch;
        ranked.clear();
        let others = self.links.of(owner, layer).chain([new.slot()]);
        ranked.extend(others.map(Neighbor::unranked));
        space.of(owner).fetch_and_rank_all(ranked);
        ranked.sort_unstable();
        chosen.clear();
        chosen.extend(ranked.extract_if(.., |one| {
            let kept = Link::kept(one.slot);
            new == kept || row.iter().any(|place| Link::load(place) == Some(kept))
        }));
        prune_further(space, ranked, row.len() - row.len() / SPARE, chosen);
        self.links.thin(owner, layer, new, |slot| {
            chosen.iter().any(|one| one.slot == slot)
        });
    }
}

/// How insertions treat points that are deleted or leaving.
impl Graph {
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
}

/// What became of a point to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    /// It has links of its own.
    AsPoint,
    /// It is the duplicate of another.
    AsDuplicate,
    /// Every point within reach is leaving.
    Nowhere,
    /// The space cannot tell its neighbours apart.
    Unsure,
}
