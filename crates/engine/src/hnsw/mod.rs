//! The graph index: HNSW, hierarchical navigable small worlds (Malkov and Yashunin, 2016,
//! arXiv:1603.09320).
//!
//! Every point links to near points in layer 0. Each higher layer holds one in 2 M of the points
//! below it. A search walks down the layers and then widens to about `ef` candidates in layer 0.
//! The graph knows points by their slots only; the vectors are read through
//! [`Points`](crate::vectors::points::Points).
//!
//! Words: a *rank* orders points like their distance (see [`measure`](crate::vectors::measure)). To
//! *expand* a candidate is to rank the points that it links to. A walk *passes* a point that it
//! expands but must not return or link to. A *code* is a quantized vector (see
//! [`quantize`](crate::vectors::quantize)).
//!
//! Any number of threads search without a lock while others insert. Differences from the paper:
//! - Walks begin at the closest of many points (see [`entries`]), and end at a distance (see
//!   [`stop_rule`]).
//! - A point whose vector equals that of a linked point is chained to the linked point as its
//!   duplicate and gets no links: thousands of copies of one vector cost one place in the graph. In
//!   the beam of a search each copy takes a place of its own. A hash table finds points by their
//!   vectors (see [`equal_vectors`]).
//! - Some links are never pruned: they form a tree, so that every point can be reached (see
//!   [`tree`]).
//! - When a link is added to a full row, several links are pruned at once.
//! - Points that a search must not return take no place in its beam. Where they are many, a walk
//!   looks behind them (see [`among`]).
//! - Deleted points are removed in place, and their slots are used again (see [`delete`]).

mod among;
pub mod beam;
mod build;
pub mod code_error;
pub mod delete;
mod duplicates;
mod eligible;
mod enter;
mod entries;
mod equal_vectors;
mod levels;
mod links;
pub mod prune;
mod ranks;
mod rows;
mod save;
mod search;
mod space;
pub mod stop_rule;
#[cfg(test)]
mod tests;
mod tree;
mod visited;

use std::sync::{Arc, atomic::AtomicBool};

pub use crate::vectors::neighbor::Neighbor;
use crate::{
    Error, Metric, Result,
    hnsw::beam::Beam,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed},
    },
    vectors::{coarse::CoarseQuery, quantize::Code},
};
use entries::{Entries, EntryPoint};
use equal_vectors::EqualVectors;
use links::Links;
use visited::Visited;

/// The bytes for each point by which equal vectors are found: about those of an entry in the
/// [table](equal_vectors), and those of a link in the chain of a duplicate.
const BYTES_TO_FIND_EQUAL: usize = 12;

/// How densely a graph is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The most links of a point in each layer above 0, at least 2; twice as many in layer 0.
    pub m: usize,
    /// The number of candidates for the links of a new point, at least 1.
    pub ef_construction: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            m: 16,
            ef_construction: 200,
        }
    }
}

/// A graph over the points of one store, built under one metric.
#[derive(Debug)]
pub struct Graph {
    metric: Metric,
    params: Params,
    links: Links,
    entries: Entries,
    equal_vectors: EqualVectors,
    len: AtomicU32,
}

impl Graph {
    /// A graph without points that will be built under `metric`.
    ///
    /// # Panics
    /// Panics if `params` are below their least values.
    #[must_use]
    pub fn new(metric: Metric, params: Params) -> Self {
        assert!(params.m >= 2, "m is {}, expected at least 2", params.m);
        assert!(
            params.ef_construction >= 1,
            "ef_construction is 0, expected at least 1"
        );
        Graph {
            metric,
            params,
            links: Links::new(params.m),
            entries: Entries::new(),
            equal_vectors: EqualVectors::new(),
            len: AtomicU32::new(0),
        }
    }

    /// The number of points whose insertion is finished and that are not leaving (see
    /// [`Graph::mark_leaving`]).
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len.load(Acquire)
    }

    /// Whether [`len`](Self::len) is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the insertion of the point in `slot` is finished, and it has not been erased.
    #[must_use]
    pub fn contains(&self, slot: u32) -> bool {
        self.links.level(slot).is_some()
    }

    /// The number of slots that the graph has rows for.
    #[must_use]
    pub fn slots(&self) -> u32 {
        u32::try_from(self.links.capacity()).unwrap_or(u32::MAX)
    }

    /// About the memory in bytes that the graph takes when it has linked the first `slots` slots.
    #[must_use]
    pub fn bytes(&self, slots: u32) -> usize {
        self.links.bytes(slots as usize) + slots as usize * BYTES_TO_FIND_EQUAL
    }

    /// Points near to the point in `slot`, which may stand in for it if its record is lost: first
    /// the points with an equal vector, then the points that it links to in layer 0. Empty if the
    /// point is not in the graph.
    #[must_use]
    pub fn near(&self, slot: u32) -> Vec<u32> {
        if !self.contains(slot) {
            return Vec::new();
        }
        let original = self
            .links
            .first_duplicate(slot)
            .filter(|_| self.links.is_duplicate(slot));
        let duplicates = self.duplicates_of(slot);
        original
            .into_iter()
            .chain(duplicates)
            .chain(self.links.of(slot, 0))
            .collect()
    }

    /// The duplicates of the point in `slot`, if it is the first of its chain; otherwise empty. A
    /// deleted point stays in the graph as long as it has duplicates.
    #[must_use]
    pub fn duplicates_of(&self, slot: u32) -> Vec<u32> {
        if !self.contains(slot) || self.links.is_duplicate(slot) {
            return Vec::new();
        }
        self.links.duplicates(slot).collect()
    }

    /// The metric the graph is built under.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The parameters the graph is built with.
    #[must_use]
    pub fn params(&self) -> Params {
        self.params
    }
}

/// The number of points that a search with an [impatient](Scratch::impatient) scratch may pass. To
/// rank their neighbours takes about a millisecond.
const SHORT_PATIENCE: usize = 1_000;

/// The memory that a thread reuses from one walk to the next, and the results of the last search.
/// Keep one per thread.
#[derive(Debug, Default)]
pub struct Scratch {
    /// See [`Scratch::impatient`].
    is_impatient: bool,
    /// See [`Scratch::end_when`].
    is_abandoned: Arc<AtomicBool>,
    visited: Visited,
    beam: Beam,
    /// Points that the expansion under way has met, with their ranks.
    fresh: Vec<Neighbor>,
    /// Places for points that an expansion has met first.
    unseen: Vec<u32>,
    /// Points at which a walk begins, with their ranks.
    starts: Vec<Neighbor>,
    /// See [`Scratch::share_near`].
    share_near: f32,
    /// Points that the expansion under way has met and the search does not accept.
    rejected: Vec<u32>,
    /// A list of slots, mostly those of points whose links change.
    owners: Vec<u32>,
    /// A query as coarse codes are ranked against it.
    query: CoarseQuery,
    /// The code of a query.
    code: Code,
    /// Candidates of a walk by coarse codes, closest first by whole codes.
    refined: Vec<Neighbor>,
    /// The answer of a search.
    results: Vec<Neighbor>,
    /// Candidates for the links of a point, closest first.
    ranked: Vec<Neighbor>,
    /// The links chosen among them.
    chosen: Vec<Neighbor>,
}

impl Scratch {
    /// An empty scratch; it grows with use.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty scratch for searches that must not take long, since the thread has other work: they
    /// [give up](Scratch::gave_up) once they have passed a thousand points, whatever the size of
    /// the graph.
    #[must_use]
    pub fn impatient() -> Self {
        Scratch {
            is_impatient: true,
            ..Scratch::new()
        }
    }

    /// From now on, searches with this scratch end with [`Error::Abandoned`] soon after `is_abandoned`
    /// is set.
    pub fn end_when(&mut self, is_abandoned: &Arc<AtomicBool>) {
        self.is_abandoned = Arc::clone(is_abandoned);
    }

    /// Asked by a search between two steps of some microseconds.
    ///
    /// # Errors
    /// [`Error::Abandoned`] if nobody waits for its answer any more.
    #[inline]
    pub fn unless_abandoned(&self) -> Result<()> {
        if self.is_abandoned.load(Relaxed) {
            return Err(Error::Abandoned);
        }
        Ok(())
    }

    /// Whether this is an [impatient](Scratch::impatient) scratch.
    #[must_use]
    pub fn is_impatient(&self) -> bool {
        self.is_impatient
    }

    /// The number of points that a search may pass before it [gives up](Scratch::gave_up).
    #[must_use]
    pub fn patience(&self) -> usize {
        if self.is_impatient {
            SHORT_PATIENCE
        } else {
            usize::MAX
        }
    }

    /// The number of points that the last search passed: it walked through them, but its filter did
    /// not accept them.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.beam.passed()
    }

    /// The share of the points near to the query that the last [search near](Graph::search_near) it
    /// accepts, by a sample.
    #[must_use]
    pub fn share_near(&self) -> f32 {
        self.share_near
    }

    /// The points found by the last search, closest first, ties by slot.
    #[must_use]
    pub fn results(&self) -> &[Neighbor] {
        &self.results
    }

    /// Whether the last search gave up, since it had passed too many points. Its results may then
    /// lack closer points, or be too few.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        self.beam.gave_up()
    }
}
