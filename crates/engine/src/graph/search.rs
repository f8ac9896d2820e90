//! Walking the graph: greedy descent through the upper layers, then a search of layer 0.

use super::{Entry, Graph, Neighbor, Scratch};
use crate::{Result, measure::Measure, points::Points};

/// What a walk looks for: the ranks of points against one query.
pub(super) struct Target<'a, P> {
    points: &'a P,
    measure: &'a Measure<'a>,
    evaluations: u64,
}

impl<'a, P: Points> Target<'a, P> {
    pub fn new(points: &'a P, measure: &'a Measure<'a>) -> Self {
        Target {
            points,
            measure,
            evaluations: 0,
        }
    }

    /// The point in `slot` with its rank. A rank that is not a number counts as infinitely far.
    #[inline]
    pub fn neighbor(&mut self, slot: u32) -> Neighbor {
        self.evaluations += 1;
        Neighbor {
            rank: self.measure.rank(self.points, slot).min(f32::INFINITY),
            slot,
        }
    }
}

impl Graph {
    /// Leaves the up to `ef` closest points that `accept` lets pass in [`Scratch::results`] and
    /// says how many ranks it took. `measure` is of the graph's metric, or Manhattan on a Euclidean
    /// graph. Points whose insertion has not finished may be missing; decide which points those are
    /// with [`Graph::contains`] before the search, not after it.
    pub fn search<P: Points>(
        &self,
        points: &P,
        measure: &Measure,
        ef: usize,
        accept: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<u64> {
        scratch.results.clear();
        let Some(entry) = self.entry() else {
            return Ok(0);
        };
        scratch.visited.begin(self.links.capacity())?;
        scratch.pool.begin(ef, self.links.capacity())?;
        let mut target = Target::new(points, measure);

        let start = self.descend(&mut target, entry, 0);
        scratch.visited.insert(start.slot);
        self.offer(start, &accept, scratch)?;
        while let Some(slot) = scratch.pool.next() {
            self.gather(points, slot, 0, scratch);
            for index in 0..scratch.fresh.len() {
                let neighbor = target.neighbor(scratch.fresh[index]);
                self.offer(neighbor, &accept, scratch)?;
            }
        }
        scratch.results.extend(scratch.pool.neighbors());
        Ok(target.evaluations)
    }

    /// Takes a point and its twins into the pool if they are close enough.
    #[inline]
    fn offer(
        &self,
        neighbor: Neighbor,
        accept: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let pool = &mut scratch.pool;
        if !pool.admits(neighbor.rank) {
            return Ok(());
        }
        if accept(neighbor.slot) {
            pool.accept(neighbor);
        } else {
            pool.reject(neighbor)?;
        }
        for slot in self.links.twins(neighbor.slot) {
            if !pool.admits(neighbor.rank) {
                break;
            }
            if accept(slot) {
                pool.accept_leaf(Neighbor { slot, ..neighbor });
            }
        }
        Ok(())
    }

    /// Walks greedily from the entry down to `layer` and returns the point it ends at.
    pub(super) fn descend<P: Points>(
        &self,
        target: &mut Target<P>,
        entry: Entry,
        layer: u8,
    ) -> Neighbor {
        let mut closest = target.neighbor(entry.slot);
        for layer in (layer + 1..=entry.level).rev() {
            loop {
                let from = closest;
                for slot in self.links.of(from.slot, layer) {
                    closest = closest.min(target.neighbor(slot));
                }
                if closest == from {
                    break;
                }
            }
        }
        closest
    }

    /// Fills the pool, which holds where to begin, with the points closest to the target in one
    /// layer: the walk of an insertion, which sees every linked point and no twins.
    pub(super) fn walk_layer<P: Points>(
        &self,
        target: &mut Target<P>,
        layer: u8,
        scratch: &mut Scratch,
    ) -> Result<()> {
        scratch.visited.begin(self.links.capacity())?;
        scratch.pool.restart();
        for neighbor in scratch.pool.neighbors() {
            scratch.visited.insert(neighbor.slot);
        }
        while let Some(slot) = scratch.pool.next() {
            self.gather(target.points, slot, layer, scratch);
            for index in 0..scratch.fresh.len() {
                let neighbor = target.neighbor(scratch.fresh[index]);
                if scratch.pool.admits(neighbor.rank) {
                    scratch.pool.accept(neighbor);
                }
            }
        }
        Ok(())
    }

    /// Lists the points linked from `slot` that this walk has not seen, and has their vectors
    /// fetched while the first of them are ranked.
    #[inline]
    fn gather(&self, points: &impl Points, slot: u32, layer: u8, scratch: &mut Scratch) {
        let Scratch { visited, fresh, .. } = scratch;
        fresh.clear();
        fresh.extend(
            self.links
                .of(slot, layer)
                .filter(|&slot| visited.insert(slot)),
        );
        for &slot in &*fresh {
            points.prefetch(slot);
        }
    }
}
