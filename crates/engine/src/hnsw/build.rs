//! Inserts points into a graph: finds the neighbours of a new point, links it to them, and links
//! them back to it.

use super::{
    ATTEMPTS, EntryPoint, Graph, Neighbor, Scratch,
    levels::draw_level,
    links::{Link, SLOTS},
    ranks::Ranks,
    search::{Eligible, Filter, INSERT_APPROACH, Target},
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

/// When a link is added to a full row, pruning frees one in this number of its places. Compared
/// with freeing a single place, an eighth of the row takes 15 % less CPU to build, and searches
/// compute as many ranks at equal recall; a quarter takes 17 to 30 % less CPU, and searches compute
/// 2 % more ranks on SIFT at recall 0.99.
const SPARE: usize = 8;

impl Graph {
    /// Inserts the point in `slot` into the graph. Several threads may insert points at once, and
    /// any number may search meanwhile. Does nothing for a point that is in the graph already or
    /// that another thread is inserting.
    pub fn insert<P: Points>(&self, points: &P, slot: u32, scratch: &mut Scratch) -> Result<()> {
        if slot >= SLOTS {
            let message = format!("slot {slot} is out of range, expected one below {SLOTS}");
            return Err(Error::InvalidArgument(message));
        }
        if !self.links.begin(slot)? {
            return Ok(());
        }
        let new = EntryPoint {
            slot,
            level: draw_level(slot, self.params.m),
        };
        self.links.reserve(slot, new.level)?;
        let linked = self.link_somewhere(points, new, scratch)?;
        if linked != Linked::AsDuplicate {
            self.equal_vectors.insert(points, slot)?;
        }
        self.links
            .finish(slot, new.level, linked == Linked::AsDuplicate);
        self.len.fetch_add(1, AcqRel);
        Ok(())
    }

    /// Links a point to the points of the graph. If there are none, or all of them are leaving, the
    /// point becomes the highest entry point, without links.
    fn link_somewhere<P: Points>(
        &self,
        points: &P,
        new: EntryPoint,
        scratch: &mut Scratch,
    ) -> Result<Linked> {
        for attempt in 0..ATTEMPTS {
            let Some(highest) = self.entries.claim(new) else {
                return Ok(Linked::AsPoint);
            };
            // A second attempt takes deleted points too. Links to them are soon replaced, but
            // better than none.
            let eligible = if attempt == 0 {
                Eligible::Live
            } else {
                Eligible::Staying
            };
            let linked = self.link(points, new, highest, eligible, scratch)?;
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

    /// Makes one attempt to link a point, as a duplicate if there is a point with an equal vector.
    /// Otherwise its neighbours are ranked by their codes, if there are any, and by their vectors
    /// if the codes cannot tell them apart.
    fn link<P: Points>(
        &self,
        points: &P,
        new: EntryPoint,
        highest: EntryPoint,
        eligible: Eligible,
        scratch: &mut Scratch,
    ) -> Result<Linked> {
        let filter = Filter { points, eligible };
        if self.join_duplicates(&filter, new.slot) {
            return Ok(Linked::AsDuplicate);
        }
        let vectors = self.vectors(points);
        if let Some(codes) = self.codes(points) {
            let linked =
                self.link_in(InCodes { codes, vectors }, &filter, new, highest, scratch)?;
            if linked != Linked::Unsure {
                return Ok(linked);
            }
        }
        self.link_in(vectors, &filter, new, highest, scratch)
    }

    /// The space of the vectors, in which every rank is exact.
    pub(super) fn vectors<'p, P: Points>(&self, points: &'p P) -> Vectors<'p, P> {
        Vectors {
            points,
            metric: self.metric,
        }
    }

    /// The codes of the points, if ranks under this metric can be told from them.
    pub(super) fn codes<'p>(&self, points: &'p impl Points) -> Option<&'p Codes> {
        points.codes().filter(|_| Codes::suit(self.metric))
    }

    /// Links a point in one space. Its own links in every layer are stored before the first link
    /// back makes it reachable, so that no walk ends at a point without links.
    fn link_in<P: Points, S: Space>(
        &self,
        space: S,
        filter: &Filter<P>,
        new: EntryPoint,
        highest: EntryPoint,
        scratch: &mut Scratch,
    ) -> Result<Linked> {
        let mut target = Target::new(space.of(new.slot));
        let top = new.level.min(highest.level);
        self.approach(
            &mut target,
            filter.points,
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
            self.walk_layer(&mut target, filter, layer, scratch)?;
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

    /// Leaves in `scratch.owners` the points that a point links to in one layer.
    pub(super) fn list_links(&self, slot: u32, layer: u8, scratch: &mut Scratch) {
        scratch.owners.clear();
        scratch.owners.extend(self.links.of(slot, layer));
    }

    /// Adds a link to the row of `owner`, as [`place`](Self::place) does, under its lock.
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

    /// Adds a link to the row of `owner`, whose lock is held. If the row has a link to that point
    /// already, it becomes a tree link if the new one is. A full row is pruned first, by
    /// [several places](SPARE) at once. The new link may be pruned too, unless it is a tree link.
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
            let tree_link = Link::tree(one.slot);
            new == tree_link || row.iter().any(|place| Link::load(place) == Some(tree_link))
        }));
        prune_further(space, ranked, row.len() - row.len() / SPARE, chosen);
        self.links.prune(owner, layer, new, |slot| {
            chosen.iter().any(|one| one.slot == slot)
        });
    }
}

/// How insertions treat points that are deleted or leaving.
impl Graph {
    /// Takes a point that the walk of an insertion has met, and that the beam admits, into the
    /// beam: as a candidate for links, or only to be expanded.
    #[inline]
    pub(super) fn meet<P: Points>(
        &self,
        filter: &Filter<P>,
        met: Neighbor,
        beam: &mut Beam,
    ) -> Result<()> {
        if self.is_eligible(filter, met.slot) {
            beam.accept(met);
            Ok(())
        } else {
            beam.reject(met)
        }
    }

    /// Whether new links may lead to a point, see [`Eligible`]. A point that is leaving the graph
    /// is always a deleted one.
    #[inline]
    pub(super) fn is_eligible<P: Points>(&self, filter: &Filter<P>, slot: u32) -> bool {
        filter.eligible == Eligible::All
            || !filter.points.is_gone(slot)
            || !self.links.is_leaving(slot)
                && (filter.eligible == Eligible::Staying || self.links.has_duplicates(slot))
    }

    /// Makes a point the duplicate of `first`, unless `first` is not [eligible](Self::is_eligible).
    /// Returns whether it did.
    pub(super) fn append_duplicate<P: Points>(
        &self,
        filter: &Filter<P>,
        first: u32,
        duplicate: u32,
    ) -> bool {
        let eligible = |first| self.is_eligible(filter, first);
        self.links.append_duplicate(first, duplicate, eligible)
    }
}

/// The outcome of an attempt to link a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    /// The point has links of its own, or is the first of the graph.
    AsPoint,
    /// The point is the duplicate of another.
    AsDuplicate,
    /// The walk has met no point that is eligible; nothing was linked.
    Nowhere,
    /// The space cannot tell the neighbours of the point apart; nothing links to it yet.
    Unsure,
}
