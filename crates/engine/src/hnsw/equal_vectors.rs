//! The points of a graph by their vectors: what equals a vector is found at once, where a walk may
//! miss it, since the neighbours of a point need not lead to it under every metric and in any data.
//!
//! Of points with equal vectors only the first is in here; the others hang on it as its duplicates.

use std::{
    array,
    collections::BinaryHeap,
    hash::{BuildHasher, RandomState},
    sync::PoisonError,
};

use hashbrown::{HashTable, TryReserveError};

use super::{Graph, search::Filter};
use crate::{
    Error, Result,
    sync::{RwLock, parallel},
    vectors::points::Points,
};

/// Tables of their own, by a part of the hash. One that grows reads the vectors of all that is in
/// it, while who looks something up in it waits.
const PARTS: usize = if cfg!(vectord_shuttle) { 2 } else { 1024 };

/// Slots that a thread enters at a time when a graph is loaded.
const CHUNK_SLOTS: usize = 4096;

/// Running products of a hash: they do not wait for each other.
const LANES: usize = 4;

/// Points by vector, of which equality is that of numbers: 0 equals -0.
#[derive(Debug)]
pub(super) struct EqualVectors {
    parts: Box<[RwLock<HashTable<u32>>]>,
    /// Drawn at random: nobody can make up vectors that all have one hash.
    key: u64,
    seeds: [u64; LANES],
}

impl EqualVectors {
    pub fn new() -> Self {
        let random = RandomState::new();
        // The model goes through the same schedule twice only if the parts are the same.
        let draw = |number| match number {
            number if cfg!(vectord_shuttle) => number,
            number => random.hash_one(number),
        };
        EqualVectors {
            parts: (0..PARTS).map(|_| RwLock::default()).collect(),
            key: draw(0) | 1,
            seeds: array::from_fn(|lane| draw(lane as u64 + 1)),
        }
    }

    /// Makes room for so many points at once: a table that grows reads vectors again.
    fn reserve(&self, points: &impl Points, count: usize) -> Result<()> {
        let expected = count / PARTS;
        for part in &self.parts {
            let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
            let hash_of = |&slot: &u32| self.hash(points.vector(slot));
            part.try_reserve(expected, hash_of).map_err(no_memory)?;
        }
        Ok(())
    }

    /// Enters the point in `slot`.
    pub fn insert(&self, points: &impl Points, slot: u32) -> Result<()> {
        let hash_of = |&slot: &u32| self.hash(points.vector(slot));
        let hash = hash_of(&slot);
        let mut part = self
            .part(hash)
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        part.try_reserve(1, hash_of).map_err(no_memory)?;
        part.insert_unique(hash, slot, hash_of);
        Ok(())
    }

    /// Removes the point in `slot` out.
    pub fn remove(&self, points: &impl Points, slot: u32) {
        let hash = self.hash(points.vector(slot));
        let mut part = self
            .part(hash)
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Ok(entry) = part.find_entry(hash, |&entered| entered == slot) {
            entry.remove();
            return;
        }
        drop(part);
        // Its vector is not what it was: the disk has damaged it.
        for part in &self.parts {
            let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
            part.retain(|&mut entered| entered != slot);
        }
    }

    /// The first that `look` makes something of among the points whose vectors equal `vector`,
    /// of which there is but one unless two came at one time or one is deleted.
    pub fn find<T>(
        &self,
        points: &impl Points,
        vector: &[f32],
        mut look: impl FnMut(u32) -> Option<T>,
    ) -> Option<T> {
        let hash = self.hash(vector);
        let part = self
            .part(hash)
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        part.iter_hash(hash)
            .filter(|&&slot| points.vector(slot) == vector)
            .find_map(|&slot| look(slot))
    }

    fn part(&self, hash: u64) -> &RwLock<HashTable<u32>> {
        // By bits that the table itself does not go by: those at both ends.
        &self.parts[(hash >> 40) as usize % PARTS]
    }

    /// A multiply-and-fold hash, as of wyhash, several values at a time.
    fn hash(&self, vector: &[f32]) -> u64 {
        let mut lanes = self.seeds;
        let (blocks, rest) = vector.as_chunks::<{ 2 * LANES }>();
        let mut last = [0.0; 2 * LANES];
        last[..rest.len()].copy_from_slice(rest);
        for block in blocks.iter().chain([&last]) {
            for (lane, pair) in lanes.iter_mut().zip(block.as_chunks::<2>().0) {
                // -0 + 0 is 0.
                let [low, high] = pair.map(|value| u64::from((value + 0.0).to_bits()));
                *lane = fold(*lane ^ (high << 32 | low), self.key);
            }
        }
        lanes
            .into_iter()
            .fold(self.key, |hash, lane| fold(hash ^ lane, self.key))
    }
}

fn no_memory(_: TryReserveError) -> Error {
    Error::Internal("no memory for the hash of a vector".into())
}

/// Both halves of a product.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

impl Graph {
    /// Adds the `limit` oldest of the points to `slots` whose vectors equal `vector` and that have
    /// an `age`, which is less for older points. Unlike a walk, this misses no point whose insertion
    /// is finished. False if it gave up after `patience` points beside those that it adds.
    pub fn list_equal(
        &self,
        points: &impl Points,
        vector: &[f32],
        limit: usize,
        mut patience: usize,
        age: impl Fn(u32) -> Option<u64>,
        slots: &mut Vec<u32>,
    ) -> Result<bool> {
        // A chain of duplicates has the order in which they were linked.
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

    /// Makes a point the duplicate of the first of its kind, if there is one that takes it.
    pub(super) fn join_duplicates<P: Points>(&self, filter: &Filter<P>, slot: u32) -> bool {
        let vector = filter.points.vector(slot);
        let eligible = |first| self.is_eligible(filter, first).then_some(first);
        let first = self.equal_vectors.find(filter.points, vector, eligible);
        first.is_some_and(|first| self.append_duplicate(filter, first, slot))
    }

    /// Enters the points of a graph that was loaded, now that their vectors are there.
    pub fn load_equal_vectors(&self, points: &impl Points) -> Result<()> {
        let stands = |&slot: &u32| self.links.staying_level(slot).is_some();
        let slots: Vec<u32> = (0..self.slots()).filter(stands).collect();
        self.equal_vectors.reserve(points, slots.len())?;
        let chunks: Vec<_> = slots.chunks(CHUNK_SLOTS).collect();
        let entered = parallel::map(&chunks, |slots| {
            let mut slots = slots.iter();
            slots.try_for_each(|&slot| self.equal_vectors.insert(points, slot))
        });
        entered.into_iter().collect()
    }
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
impl Graph {
    /// How many points are found by their vectors.
    pub(crate) fn equal_vectors_len(&self) -> usize {
        let parts = self.equal_vectors.parts.iter();
        parts.map(|part| part.read().unwrap().len()).sum()
    }
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
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
