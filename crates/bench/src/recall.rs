//! Recall by distance, not by slot: where ranks tie, every slot at the true K-th rank is right.

use vectord_engine::layers::vectors::measure::Measure;

use super::vectors::Vectors;

/// How many results count.
pub const K: usize = 10;

/// The exact rank of the `K`-th nearest of some slots, found by ranking them all.
pub fn bound(base: &Vectors, measure: &Measure, slots: impl Iterator<Item = u32>) -> f32 {
    let mut ranks: Vec<f32> = slots.map(|slot| measure.rank(base, slot)).collect();
    *ranks.select_nth_unstable_by(K - 1, f32::total_cmp).1
}

/// How many of the slots rank within the bound.
pub fn hits(base: &Vectors, measure: &Measure, bound: f32, slots: &[u32]) -> usize {
    slots
        .iter()
        .filter(|&&slot| measure.rank(base, slot) <= bound)
        .count()
}
