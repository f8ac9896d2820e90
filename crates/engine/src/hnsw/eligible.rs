//! Which points an insertion takes as candidates for links, and which it passes: deleted ones, and
//! ones that are leaving.

use super::{Graph, Neighbor, beam::Beam};
use crate::{Result, vectors::points::Points};

/// The points that [`Graph::walk_layer`] takes as candidates. It expands the others too, but does
/// not keep them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eligible {
    /// Every point: the walk only looks for the way down.
    All,
    /// Points that are not deleted, and deleted ones that stay in the graph for their duplicates.
    Live,
    /// All points that are not leaving the graph, deleted or not.
    Staying,
}

/// The points of the graph, and which of them a walk takes as candidates.
pub(super) struct Filter<'p, P> {
    pub points: &'p P,
    pub eligible: Eligible,
}

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
}
