//! How graphs and scans read the points that they rank.

use crate::vectors::quantize::Codes;

/// Read access to stored points by slot. A slot is a small number that stands for a point inside
/// this process: slots are counted from 0, and the slot of a deleted point is used again. It never
/// reaches a client.
pub trait Points: Sync {
    /// The vector in `slot`, of exactly the store's dimension.
    fn vector(&self, slot: u32) -> &[f32];

    /// `1 / |v|` of the vector in `slot`, 0 for a zero vector. Ranks under Cosine need it.
    fn inverse_norm(&self, slot: u32) -> f32;

    /// The codes (quantized vectors) of all points, if there are any, by which walks rank faster.
    fn codes(&self) -> Option<&Codes> {
        None
    }

    /// Whether the point in `slot` is deleted. Then no new links should lead to it.
    fn is_gone(&self, _slot: u32) -> bool {
        false
    }

    /// Prefetches the vector in `slot`, which will be ranked soon.
    fn prefetch(&self, _slot: u32) {}
}
