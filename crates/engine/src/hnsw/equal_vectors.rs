//! A hash table that finds the points of a graph whose vectors equal a query or a new point. A walk
//! may miss them: under some metrics and in some data, the neighbours of a point do not lead to it.
//!
//! Of points with equal vectors, only the first is in the table. The others are its duplicates.

use std::{
    array,
    hash::{BuildHasher, RandomState},
};

use crate::{Result, sync::slot_table::SlotTable, vectors::points::Points};

/// The number of parts of the table. One that grows reads the vectors of all its points, so each is
/// small.
const PARTS: usize = if cfg!(feature = "shuttle") { 2 } else { 1024 };

/// The number of running products of a hash. A processor computes them at the same time, as none
/// depends on another.
const LANES: usize = 4;

/// The slots of points by vector. Vectors are equal if their values are: 0 equals -0.
#[derive(Debug)]
pub(super) struct EqualVectors {
    slots: SlotTable,
    /// Drawn at random, so that no client can choose vectors with equal hashes.
    key: u64,
    seeds: [u64; LANES],
}

impl EqualVectors {
    pub fn new() -> Self {
        let random = RandomState::new();
        // The model can repeat a schedule only if the hashes are the same.
        let draw = |number| match number {
            number if cfg!(feature = "shuttle") => number,
            number => random.hash_one(number),
        };
        EqualVectors {
            slots: SlotTable::new(PARTS),
            key: draw(0) | 1,
            seeds: array::from_fn(|lane| draw(lane as u64 + 1)),
        }
    }

    /// Adds the point in `slot`.
    pub fn insert(&self, points: &impl Points, slot: u32) -> Result<()> {
        let hash_of = |&slot: &u32| self.hash(points.vector(slot));
        self.slots.insert(slot, hash_of)
    }

    /// Adds the points in these slots, on all cores.
    pub fn fill(&self, points: &impl Points, slots: &[u32]) -> Result<()> {
        let hash_of = |&slot: &u32| self.hash(points.vector(slot));
        self.slots.fill(slots, hash_of)
    }

    /// Removes the point in `slot`.
    pub fn remove(&self, points: &impl Points, slot: u32) {
        let hash = self.hash(points.vector(slot));
        let mut part = self.slots.write(hash);
        if let Ok(entry) = part.find_entry(hash, |&entered| entered == slot) {
            entry.remove();
            return;
        }
        drop(part);
        // The vector has changed: it is damaged on disk.
        self.slots
            .write_all(|part| part.retain(|&mut entered| entered != slot));
    }

    /// Calls `look` with the points whose vectors equal `vector` until it returns something, which
    /// is the result. There is more than one such point in the table only if two were linked at one
    /// time or one is deleted. `look` may take long: the table is not locked meanwhile.
    pub fn find<T>(
        &self,
        points: &impl Points,
        vector: &[f32],
        look: impl FnMut(u32) -> Option<T>,
    ) -> Option<T> {
        let hash = self.hash(vector);
        let part = self.slots.read(hash);
        let slots = part.iter_hash(hash).copied();
        let equal: Vec<u32> = slots
            .filter(|&slot| points.vector(slot) == vector)
            .collect();
        drop(part);
        equal.into_iter().find_map(look)
    }

    /// A multiply-and-fold hash like wyhash. Each of the [`LANES`] takes two values at a time. The
    /// last block is filled up with zeros, which is no loss as all vectors have one length.
    fn hash(&self, vector: &[f32]) -> u64 {
        let mut lanes = self.seeds;
        let (blocks, rest) = vector.as_chunks::<{ 2 * LANES }>();
        let mut last = [0.0; 2 * LANES];
        last[..rest.len()].copy_from_slice(rest);
        for block in blocks.iter().chain([&last]) {
            for (lane, pair) in lanes.iter_mut().zip(block.as_chunks::<2>().0) {
                // Adding 0 turns -0 into 0, so that equal values have equal bits.
                let [low, high] = pair.map(|value| u64::from((value + 0.0).to_bits()));
                *lane = fold(*lane ^ (high << 32 | low), self.key);
            }
        }
        lanes
            .into_iter()
            .fold(self.key, |hash, lane| fold(hash ^ lane, self.key))
    }
}

/// The exclusive or of both halves of a product.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
impl EqualVectors {
    /// The number of points in the table.
    pub fn len(&self) -> usize {
        let mut len = 0;
        self.slots.read_all(|part| len += part.len());
        len
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    #[test]
    fn a_hash_tells_places_values_and_signs_apart_but_not_those_of_zero() {
        let firsts = EqualVectors::new();
        for length in [1, 7, 8, 9, 64, 129] {
            let zero = vec![0.0; length];
            assert_eq!(firsts.hash(&zero), firsts.hash(&vec![-0.0; length]));
            let mut hashes = vec![firsts.hash(&zero)];
            for place in 0..length {
                for value in [1.0, -1.0] {
                    let mut vector = zero.clone();
                    vector[place] = value;
                    hashes.push(firsts.hash(&vector));
                }
            }
            hashes.sort_unstable();
            hashes.dedup();
            assert_eq!(hashes.len(), 2 * length + 1);
        }
    }
}
