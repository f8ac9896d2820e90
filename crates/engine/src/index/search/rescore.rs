//! Rescores candidates in double precision, puts them in their final order (ties: the point
//! inserted first), and makes the answer of them.

use super::{
    Neighbour, Prepared, Request,
    best::{Candidate, reserve},
};
use crate::{
    Result,
    hnsw::Scratch,
    vectors::{kernels, points::Points},
};

/// Points in their final order, closest first, each as its rank in double precision and its slot.
pub type Ranked = Vec<(f64, u32)>;

/// The greatest number of records, and of bytes of them, that a search with an impatient
/// [`Scratch`](crate::hnsw::Scratch) verifies: about a millisecond of work.
const RECORDS_AT_ONCE: usize = 32;
const BYTES_AT_ONCE: u64 = 1 << 20;

impl Prepared<'_, '_> {
    /// The slots of the candidates and of all points that only double precision can rank, each
    /// once.
    pub(super) fn with_f64_only(&self, mut slots: Vec<u32>) -> Vec<u32> {
        let f64_only = self.view.index.f64_only();
        slots.extend(f64_only.iter().copied().filter(|&slot| self.accepts(slot)));
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Ranks candidates in double precision and returns the closest `limit` in their final order.
    pub(super) fn rank(&self, slots: Vec<u32>, scratch: &Scratch) -> Result<Ranked> {
        let (arena, count) = (&self.view.index.arena, slots.len());
        let mut ranked = Ranked::new();
        reserve(&mut ranked, count)?;
        for slot in slots {
            scratch.unless_abandoned()?;
            ranked.push((exact_rank(&self.request, arena.vector(slot)), slot));
        }
        ranked.sort_unstable_by(|a, b| {
            let by_insertion = || arena.sequence(a.1).cmp(&arena.sequence(b.1));
            a.0.total_cmp(&b.0).then_with(by_insertion)
        });
        ranked.truncate(self.request.limit);
        Ok(ranked)
    }

    /// Whether verifying the records of these points takes long, since many of them are not
    /// verified yet, or they are large.
    pub(super) fn takes_long_to_verify(&self, ranked: &Ranked) -> bool {
        let arena = &self.view.index.arena;
        let unverified = ranked.iter().filter(|&&(_, slot)| !arena.is_verified(slot));
        let mut bytes = 0;
        unverified.enumerate().any(|(index, &(_, slot))| {
            bytes += arena.segments().bytes_of(arena.location(slot));
            index == RECORDS_AT_ONCE || bytes > BYTES_AT_ONCE
        })
    }

    /// Verifies the records of the points, and returns the answer. A damaged record is an error.
    pub(in crate::index) fn hits(
        &self,
        ranked: Ranked,
        scratch: &Scratch,
    ) -> Result<Vec<Neighbour>> {
        let arena = &self.view.index.arena;
        for &(_, slot) in &ranked {
            scratch.unless_abandoned()?;
            self.view.index.verify(slot)?;
        }
        let mut hits = Vec::new();
        reserve(&mut hits, ranked.len())?;
        hits.extend(ranked.into_iter().map(|(rank, slot)| Neighbour {
            slot,
            id: arena.id(slot),
            rank,
        }));
        Ok(hits)
    }
}

pub fn slots_of(candidates: &[Candidate]) -> Vec<u32> {
    candidates.iter().map(|candidate| candidate.slot).collect()
}

pub fn exact_rank(request: &Request, vector: &[f32]) -> f64 {
    kernels::distance(request.metric, request.query, vector)
}

/// The number of candidates to gather for `limit` results: some more, since nearly equal distances
/// may have another order in double precision than in single.
pub fn with_margin(limit: usize) -> usize {
    limit + limit / 8 + 16
}
