//! Linking a new point.

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

/// When a link is added to a full row, one in this number of places is freed by pruning. Compared
/// with freeing one place at a time, an eighth takes 15 % less CPU to build and as many ranks to
/// search at equal recall; a quarter takes 17 to 30 % less CPU, and 2 % more ranks on SIFT at recall
/// 0.99.
const SPARE: usize = 8;

impl Graph {
    /// Links the point in `slot`. Several threads may insert points at once, and any number may
    /// search meanwhile. Does nothing for a point that is in the graph already or that another
    /// thread is inserting.
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

    /// Links a point to the points of the graph, or makes it the first point if all others leave.
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
            // Links to deleted points are soon replaced, but better than none.
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

    /// Links a point by codes if there are any, and by vectors if the codes cannot tell its
    /// neighbours apart.
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

    /// The codes to rank by, if there are any for this metric.
    pub(super) fn codes<'p>(&self, points: &'p impl Points) -> Option<&'p Codes> {
        points.codes().filter(|_| Codes::suit(self.metric))
    }

    /// Chooses and stores the point's own links in every layer before the first link back makes it
    /// reachable, so that no walk ends at a point without links.
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

    /// Adds a link to the row of `owner`, whose lock is held. A full row is pruned first, by
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
    /// Takes a point that an insertion has met, and that is close enough, into its beam: as a
    /// candidate for links, or only to be passed.
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

    /// Whether new links may lead to a point. Only deleted points leave.
    #[inline]
    pub(super) fn is_eligible<P: Points>(&self, filter: &Filter<P>, slot: u32) -> bool {
        filter.eligible == Eligible::All
            || !filter.points.is_gone(slot)
            || !self.links.is_leaving(slot)
                && (filter.eligible == Eligible::Staying || self.links.has_duplicates(slot))
    }

    /// Makes a point the duplicate of `first`, unless `first` is deleted and has no duplicates.
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

/// The outcome of linking a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    /// It has links of its own.
    AsPoint,
    /// It is the duplicate of another.
    AsDuplicate,
    /// All points that the walk has met leave.
    Nowhere,
    /// The space cannot tell its neighbours apart.
    Unsure,
}
