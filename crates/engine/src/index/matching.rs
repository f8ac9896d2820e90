//! The points of a view that pass a filter, as a set.

use crate::sync::table::bit_of;

/// The slots of a view whose points pass a filter.
#[derive(Debug, Default)]
pub struct Matching {
    bits: Vec<u64>,
    count: usize,
}

impl Matching {
    /// The number of points.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the point in `slot` is one of them.
    #[inline]
    #[must_use]
    pub fn contains(&self, slot: u32) -> bool {
        let (word, bit) = bit_of(slot);
        self.bits
            .get(word as usize)
            .is_some_and(|bits| bits & bit != 0)
    }

    /// Their slots, in ascending order.
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.bits).flat_map(|(word, &bits)| {
            let next = |&bits: &u64| Some(bits & (bits - 1)).filter(|&rest| rest != 0);
            let first = Some(bits).filter(|&bits| bits != 0);
            let each = std::iter::successors(first, next);
            each.map(move |bits| word * u64::BITS + bits.trailing_zeros())
        })
    }

    /// Adds the next 64 slots, those of them whose bits are set.
    pub(super) fn push(&mut self, bits: u64) {
        self.bits.push(bits);
        self.count += bits.count_ones() as usize;
    }
}
