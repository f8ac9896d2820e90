//! Points with equal vectors in a graph: the first is linked, and the others are chained to it as
//! its duplicates.

use std::collections::BinaryHeap;

use super::{Graph, eligible::Filter};
use crate::{Error, Result, vectors::points::Points};

impl Graph {
    /// Appends to `slots`, in no order, the `limit` oldest points whose vectors equal `vector` and
    /// for which `age` returns a number, which is less for older points. Unlike a walk, this misses
    /// no point whose insertion is finished. False if it gave up, since it had met more than
    /// `patience` points that were not added at once.
    pub fn list_equal(
        &self,
        points: &impl Points,
        vector: &[f32],
        limit: usize,
        mut patience: usize,
        age: impl Fn(u32) -> Option<u64>,
        slots: &mut Vec<u32>,
    ) -> Result<bool> {
        // A chain is in the order of linking, not of age, so all of it is read.
        let mut oldest = BinaryHeap::new();
        let no_memory = || Error::Overloaded("no memory for results".into());
        let ended = self.equal_vectors.find(points, vector, |first| {
            for slot in std::iter::once(first).chain(self.links.duplicates(first)) {
                let aged = age(slot).map(|age| (age, slot));
                if oldest.len() < limit
                    && let Some(aged) = aged
                {
                    if oldest.try_reserve(1).is_err() {
                        return Some(Err(no_memory()));
                    }
                    oldest.push(aged);
                    continue;
                }
                if patience == 0 {
                    return Some(Ok(false));
                }
                patience -= 1;
                if let (Some(aged), Some(mut youngest)) = (aged, oldest.peek_mut())
                    && aged < *youngest
                {
                    *youngest = aged;
                }
            }
            None
        });
        slots.try_reserve(oldest.len()).map_err(|_| no_memory())?;
        slots.extend(oldest.into_iter().map(|(_, slot)| slot));
        ended.unwrap_or(Ok(true))
    }

    /// Makes the point in `slot` the duplicate of an eligible point with an equal vector. False if
    /// there is none.
    pub(super) fn join_duplicates<P: Points>(&self, filter: &Filter<P>, slot: u32) -> bool {
        let vector = filter.points.vector(slot);
        let eligible = |first| self.is_eligible(filter, first).then_some(first);
        let first = self.equal_vectors.find(filter.points, vector, eligible);
        first.is_some_and(|first| self.append_duplicate(filter, first, slot))
    }

    /// Makes a point the duplicate of `first`, unless `first` is not [eligible](Self::is_eligible).
    /// Returns whether it did.
    fn append_duplicate<P: Points>(&self, filter: &Filter<P>, first: u32, duplicate: u32) -> bool {
        let eligible = |first| self.is_eligible(filter, first);
        self.links.append_duplicate(first, duplicate, eligible)
    }

    /// Enters the points of a loaded graph into the table of equal vectors, once their vectors can
    /// be read. Neither duplicates nor leaving points are in that table.
    pub fn load_equal_vectors(&self, points: &impl Points) -> Result<()> {
        let stands = |&slot: &u32| self.links.staying_level(slot).is_some();
        let slots: Vec<u32> = (0..self.slots()).filter(stands).collect();
        self.equal_vectors.fill(points, &slots)
    }

    /// How many points are found by their vectors.
    #[cfg(test)]
    #[cfg(not(feature = "shuttle"))]
    pub(crate) fn equal_vectors_len(&self) -> usize {
        self.equal_vectors.len()
    }
}
