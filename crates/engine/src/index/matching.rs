//! The points of a view that pass a filter, as a set.

use crate::sync::table::{bit_of, indexes_of};

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
        let words = (0..).zip(&self.bits);
        words.flat_map(|(word, &bits)| indexes_of(word, bits))
    }

    /// None of this number of slots.
    pub(super) fn none(slots: u32) -> Self {
        Matching {
            bits: vec![0; slots.div_ceil(u64::BITS) as usize],
            count: 0,
        }
    }

    /// Adds a slot below the number of slots, without counting it.
    pub(super) fn mark(&mut self, slot: u32) {
        let (word, bit) = bit_of(slot);
        if let Some(bits) = self.bits.get_mut(word as usize) {
            *bits |= bit;
        }
    }

    /// The slots of a block of 64: a bit for each.
    pub(super) fn block(&self, block: u32) -> u64 {
        self.bits[block as usize]
    }

    /// Adds those of 64 slots whose bits are set, in block `block` of all slots.
    pub(super) fn add(&mut self, block: u32, bits: u64) {
        let word = &mut self.bits[block as usize];
        self.count += (bits & !*word).count_ones() as usize;
        *word |= bits;
    }
}
