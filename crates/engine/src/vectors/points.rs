//! Access to the points that an index ranks.

use crate::vectors::quantize::Codes;

/// Read access to stored vectors by slot. A slot is a dense number that stands for a point inside
/// this process; it never reaches a client.
pub trait Points: Sync {
    /// The vector in `slot`, of exactly the store's dimension.
    fn vector(&self, slot: u32) -> &[f32];

    /// `1 / |v|` of the vector in `slot`, 0 for a zero vector.
    fn inverse_norm(&self, slot: u32) -> f32;

    /// The codes of the vectors, if walks may rank by them.
    fn codes(&self) -> Option<&Codes> {
        None
    }

    /// Whether the point in `slot` is deleted: no new links lead to it.
    fn is_gone(&self, _slot: u32) -> bool {
        false
    }

    /// Prefetches the vector in `slot`, which will be ranked soon.
    fn prefetch(&self, _slot: u32) {}
}
