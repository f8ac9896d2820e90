//! A point with its rank, as walks and graphs compare them.

use std::cmp::Ordering;

/// A point with its rank against the target of a walk. The order is by rank, ties by slot.
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    /// The rank: smaller is closer.
    pub rank: f32,
    /// The point's slot.
    pub slot: u32,
}

impl Neighbor {
    /// A point whose rank is still to be computed. It counts as 0 meanwhile.
    #[inline]
    pub(crate) fn unranked(slot: u32) -> Self {
        Neighbor { rank: 0.0, slot }
    }
}

impl Ord for Neighbor {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank
            .total_cmp(&other.rank)
            .then(self.slot.cmp(&other.slot))
    }
}

impl PartialOrd for Neighbor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Neighbor {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Neighbor {}
