//! Ranks stored points against the target of a walk, by their vectors or by their codes (quantized
//! vectors).

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the instruction set"
)]

use super::Neighbor;
use crate::vectors::{
    coarse::ByCoarse, kernels::Simd, margin::Margin, measure::Measure, points::Points,
    quantize::ByCode,
};

/// Ranks stored points against one target: a query or a stored point.
pub(super) trait Ranks: Copy {
    /// The most candidates that a walk expands together, like the beam width of `DiskANN`
    /// (Subramanya et al., 2019). A walk that expands several computes a few more ranks, but each
    /// takes less time if the memory serves many reads at once faster than one after the other.
    const ABREAST: usize;

    /// The rank of the point in `slot`. A NaN, which a vector damaged on disk can give, counts as
    /// infinitely far.
    fn rank(&self, slot: u32) -> f32;

    /// How far ranks may be off, if the codes of points are quantized like that in `slot`.
    fn margin(&self, slot: u32) -> Margin;

    /// Prefetches the vectors or codes in these slots, which will be ranked soon.
    fn prefetch(&self, slots: impl Iterator<Item = u32>);

    /// Prefetches the vectors or codes of these neighbours.
    #[inline]
    fn prefetch_all(&self, neighbors: &[Neighbor]) {
        self.prefetch(neighbors.iter().map(|neighbor| neighbor.slot));
    }

    /// Prefetches the vectors or codes of the neighbours, then sets the rank of each.
    #[inline]
    fn fetch_and_rank_all(&self, neighbors: &mut [Neighbor]) {
        self.prefetch_all(neighbors);
        self.rank_all(neighbors);
    }

    /// Leaves those of the first `count` points in `slots` in `near` whose ranks are at most `reach`, in
    /// order. A part of a [`Computation`](crate::vectors::kernels::Computation). The vectors or codes
    /// of the points should be prefetched. May write to the places in `slots` behind them.
    #[inline(always)]
    fn rank_within<S: Simd>(
        &self,
        _: S,
        slots: &mut Vec<u32>,
        count: usize,
        reach: f32,
        near: &mut Vec<Neighbor>,
    ) {
        near.clear();
        near.extend(slots[..count].iter().copied().map(Neighbor::unranked));
        self.rank_all(near);
        // Without a branch: a processor cannot predict which points are near enough.
        let (mut count, all) = (0, near.as_mut_slice());
        for index in 0..all.len() {
            let neighbor = all[index];
            all[count] = neighbor;
            count += usize::from(neighbor.rank <= reach);
        }
        near.truncate(count);
    }

    /// Sets the rank of each neighbour. Their vectors or codes should be prefetched.
    #[inline]
    fn rank_all(&self, neighbors: &mut [Neighbor]) {
        for neighbor in neighbors {
            neighbor.rank = self.rank(neighbor.slot);
        }
    }
}

/// Ranks points by their vectors.
#[derive(Debug)]
pub(super) struct ByVector<'a, P> {
    pub points: &'a P,
    pub measure: Measure<'a>,
}

impl<P> Clone for ByVector<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for ByVector<'_, P> {}

impl<P: Points> Ranks for ByVector<'_, P> {
    const ABREAST: usize = 1;

    #[inline]
    fn rank(&self, slot: u32) -> f32 {
        self.measure.rank(self.points, slot).min(f32::INFINITY)
    }

    fn margin(&self, _: u32) -> Margin {
        Margin::NONE
    }

    #[inline]
    fn prefetch(&self, slots: impl Iterator<Item = u32>) {
        slots.for_each(|slot| self.points.prefetch(slot));
    }
}

impl Ranks for ByCode<'_> {
    const ABREAST: usize = 3;

    #[inline]
    fn rank(&self, slot: u32) -> f32 {
        ByCode::rank(self, slot)
    }

    fn margin(&self, slot: u32) -> Margin {
        ByCode::margin(self, slot)
    }

    #[inline]
    fn rank_all(&self, neighbors: &mut [Neighbor]) {
        ByCode::rank_all(self, neighbors);
    }

    #[inline]
    fn prefetch(&self, slots: impl Iterator<Item = u32>) {
        slots.for_each(|slot| ByCode::prefetch(self, slot));
    }
}

impl Ranks for ByCoarse<'_> {
    const ABREAST: usize = 3;

    #[inline]
    fn rank(&self, slot: u32) -> f32 {
        ByCoarse::rank(self, slot)
    }

    fn margin(&self, slot: u32) -> Margin {
        ByCoarse::margin(self, slot)
    }

    #[inline(always)]
    fn rank_within<S: Simd>(
        &self,
        simd: S,
        slots: &mut Vec<u32>,
        count: usize,
        reach: f32,
        near: &mut Vec<Neighbor>,
    ) {
        ByCoarse::rank_within(self, simd, slots, count, reach, near);
    }

    #[inline]
    fn rank_all(&self, neighbors: &mut [Neighbor]) {
        ByCoarse::rank_all(self, neighbors);
    }

    #[inline(always)]
    fn prefetch(&self, slots: impl Iterator<Item = u32>) {
        ByCoarse::prefetch(self, slots);
    }
}
