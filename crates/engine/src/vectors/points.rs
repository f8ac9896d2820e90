//! What an index needs to know of the points it ranks.

use crate::vectors::quantize::Codes;

/// Read access to stored vectors by slot. A slot is a dense number that stands for a point inside
/// this process; it never reaches a client.
pub trait Points: Sync {
    /// The vector in `slot`, of exactly the store's dimension.
    fn vector(&self, slot: u32) -> &[f32];

    /// `1 / |v|` of the vector in `slot`, 0 for a zero vector.
    fn inverse_norm(&self, slot: u32) -> f32;

    /// The codes of the vectors, if walks may go by them.
    fn codes(&self) -> Option<&Codes> {
        None
    }

    /// Whether the point in `slot` is deleted: nothing is linked to it any more.
    fn is_gone(&self, _slot: u32) -> bool {
        false
    }

    /// Starts to bring the vector in `slot` into the cache: it will be ranked soon.
    fn prefetch(&self, _slot: u32) {}
}
