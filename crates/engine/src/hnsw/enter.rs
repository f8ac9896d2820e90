//! Where a walk begins: what it ranks points by, and the ranks of the entry points.

use super::{EntryPoint, Graph, Neighbor, Scratch, ranks::Ranks};
use crate::vectors::margin::Margin;

/// The ranks against the target of a walk (a query or a new point), and the number of them that was
/// computed so far.
pub(super) struct Target<R> {
    pub ranks: R,
    pub evaluations: u64,
}

impl<R: Ranks> Target<R> {
    pub fn new(ranks: R) -> Self {
        Target {
            ranks,
            evaluations: 0,
        }
    }

    /// Sets the ranks of neighbours, whose vectors or codes should be prefetched.
    #[inline]
    pub fn rank_all(&mut self, neighbors: &mut [Neighbor]) {
        self.ranks.rank_all(neighbors);
        self.evaluations += neighbors.len() as u64;
    }

    /// How far the ranks of a walk from these points may be off. The code of the first stands for
    /// those of all points that the walk meets: near points have similar norms, and so their codes
    /// have similar steps.
    pub fn margin(&self, starts: &[Neighbor]) -> Margin {
        let start = starts.first();
        start.map_or(Margin::NONE, |start| self.ranks.margin(start.slot))
    }

    /// Prefetches the vectors or codes of neighbours, then sets their ranks.
    pub fn fetch_and_rank_all(&mut self, neighbors: &mut [Neighbor]) {
        self.ranks.prefetch_all(neighbors);
        self.rank_all(neighbors);
    }
}

impl Graph {
    /// Ranks the entry points that are in `layer` and leaves them in `scratch.starts`. Returns the
    /// highest layer that all of them are in.
    pub(super) fn enter<R: Ranks>(
        &self,
        target: &mut Target<R>,
        highest: EntryPoint,
        layer: u8,
        scratch: &mut Scratch,
    ) -> u8 {
        let starts = &mut scratch.starts;
        let mut level = highest.level;
        starts.clear();
        starts.push(Neighbor::unranked(highest.slot));
        for entry in self.entries.sample() {
            if entry.level >= layer && entry.slot != highest.slot {
                level = level.min(entry.level);
                starts.push(Neighbor::unranked(entry.slot));
            }
        }
        target.ranks.prefetch_all(starts);
        target.rank_all(starts);
        level
    }
}
