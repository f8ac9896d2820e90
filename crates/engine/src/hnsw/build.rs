//! Inserts points into a graph: finds the neighbours of a new point, links it to them, and links
//! them back to it.

use std::mem;

use super::{
    EntryPoint, Graph, Scratch,
    eligible::{Eligible, Filter},
    enter::Target,
    levels::draw_level,
    links::{Link, SLOTS},
    prune::robust_prune,
    search::INSERT_APPROACH,
    space::{InCoarseCodes, InCodes, Space},
    stop_rule::StopRule,
};
use crate::{
    Error, Result,
    sync::atomic::Ordering::AcqRel,
    vectors::{coarse::CoarseQuery, points::Points},
};

impl Graph {
    /// Inserts the point in `slot` into the graph. Several threads may insert points at once, and
    /// any number may search meanwhile. Does nothing for a point that is in the graph already or
    /// that another thread is inserting.
    ///
    /// Returns false where only points that are leaving could link to the point: it is not in the
    /// graph then. Those points leave once the caller has dropped its pin, so it has to do that
    /// before it tries again.
    pub fn insert<P: Points>(&self, points: &P, slot: u32, scratch: &mut Scratch) -> Result<bool> {
        if slot >= SLOTS {
            let message = format!("slot {slot} is out of range, expected one below {SLOTS}");
            return Err(Error::InvalidArgument(message));
        }
        if !self.links.begin(slot)? {
            return Ok(true);
        }
        let new = EntryPoint {
            slot,
            level: draw_level(slot, self.params.m),
        };
        self.links.reserve(slot, new.level)?;
        let linked = self.link_somewhere(points, new, scratch)?;
        if linked == Linked::Nowhere {
            self.links.take_back(slot, new.level);
            return Ok(false);
        }
        if linked != Linked::AsDuplicate {
            self.equal_vectors.insert(points, slot)?;
        }
        self.links
            .finish(slot, new.level, linked == Linked::AsDuplicate);
        self.len.fetch_add(1, AcqRel);
        Ok(true)
    }

    /// Links a point to the points of the graph. If there are none, or all of them are leaving, the
    /// point becomes the highest entry point, without links.
    fn link_somewhere<P: Points>(
        &self,
        points: &P,
        new: EntryPoint,
        scratch: &mut Scratch,
    ) -> Result<Linked> {
        // A second attempt takes deleted points too. Links to them are soon replaced, but better than
        // none.
        for eligible in [Eligible::Live, Eligible::Staying] {
            let Some(highest) = self.entries.claim(new) else {
                return Ok(Linked::AsPoint);
            };
            let linked = self.link(points, new, highest, eligible, scratch)?;
            if linked != Linked::Nowhere {
                return Ok(linked);
            }
            let is_last = eligible == Eligible::Staying && self.is_empty();
            // A point that stays and is not counted yet must remain the one at which walks begin.
            if is_last
                && self.links.is_leaving(highest.slot)
                && self.entries.replace(highest, Some(new))
            {
                return Ok(Linked::AsPoint);
            }
        }
        Ok(Linked::Nowhere)
    }

    /// Makes one attempt to link a point, as a duplicate if there is a point with an equal vector.
    /// Otherwise a walk to its neighbours ranks by coarse codes, if there are any, by whole codes if
    /// those cannot tell the neighbours apart, and by vectors if these cannot either.
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
            let in_codes = InCodes { codes, vectors };
            let mut linked =
                self.link_in(InCoarseCodes(in_codes), &filter, new, highest, scratch)?;
            if linked == Linked::Unsure {
                linked = self.link_in(in_codes, &filter, new, highest, scratch)?;
            }
            if linked != Linked::Unsure {
                return Ok(linked);
            }
        }
        self.link_in(vectors, &filter, new, highest, scratch)
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
        let mut query = mem::take(&mut scratch.query);
        let linked = self.link_by(space, filter, new, highest, &mut query, scratch);
        scratch.query = query;
        linked
    }

    fn link_by<P: Points, S: Space>(
        &self,
        space: S,
        filter: &Filter<P>,
        new: EntryPoint,
        highest: EntryPoint,
        query: &mut CoarseQuery,
        scratch: &mut Scratch,
    ) -> Result<Linked> {
        let mut target = Target::new(space.of_new(new.slot, query));
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
        let rule = StopRule::of_insertion(space.metric(), breadth, self.params.m);
        let margin = target.margin(&scratch.starts);
        scratch.beam.set_stop_rule(rule, margin);

        for layer in (0..=top).rev() {
            self.begin_layer(scratch)?;
            self.walk_layer(&mut target, filter, layer, scratch)?;
            let Scratch {
                beam,
                ranked,
                chosen,
                ..
            } = &mut *scratch;
            ranked.clear();
            ranked.extend(beam.neighbors());
            if !space.refine(new.slot, ranked) || !space.can_tell_apart(new.slot, ranked) {
                return Ok(Linked::Unsure);
            }
            robust_prune(space, ranked, self.params.m, chosen);
            self.links
                .set(new.slot, layer, chosen.iter().map(|neighbor| neighbor.slot));
        }
        if scratch.chosen.is_empty() {
            return Ok(Linked::Nowhere);
        }
        if !self.join_tree(space, new.slot, scratch)? {
            return Ok(Linked::Nowhere);
        }
        for layer in 1..=top {
            self.link_back(space, new.slot, layer, scratch);
        }
        self.entries.offer(new);
        Ok(Linked::AsPoint)
    }

    /// Begins the walk of another layer: the points of the beam are to be expanded again, and the
    /// walk has met no other.
    fn begin_layer(&self, scratch: &mut Scratch) -> Result<()> {
        scratch.visited.begin(self.links.capacity())?;
        scratch.beam.restart();
        for neighbor in scratch.beam.neighbors() {
            scratch.visited.insert(neighbor.slot);
        }
        Ok(())
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
}

/// The outcome of an attempt to link a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    /// The point has links of its own, or is the first of the graph.
    AsPoint,
    /// The point is the duplicate of another.
    AsDuplicate,
    /// The walk has met no point that is eligible, or the tree has no place that stays; nothing links
    /// to the point.
    Nowhere,
    /// The space cannot tell the neighbours of the point apart; nothing links to it yet.
    Unsure,
}
