//! A hash table that finds the points of a graph whose vectors equal a query or a new point. A walk
//! may miss them: under some metrics and in some data, the neighbours of a point do not lead to it.
//!
//! Of points with equal vectors, only the first is in the table. The others are its duplicates.

use std::{
    array,
    hash::{BuildHasher, RandomState},
};

use crate::{Result, sync::slot_table::SlotTable, vectors::points::Points};

/// The number of parts of the table, each of which is locked while it grows.
const PARTS: usize = if cfg!(feature = "shuttle") { 2 } else { 1024 };

/// The number of running products of a hash. A processor computes them at the same time, as none
/// depends on another.
const LANES: usize = 4;

/// A point in the table, with a hash of its vector: nobody who holds a part of the table reads vectors,
/// which may be on the disk alone.
#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: u32,
    hash: u32,
}

/// The hash by which the table places an entry: it looks at the bits in the middle and at both ends, so
/// the product by 2^64 / the golden ratio spreads them.
fn place(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The slots of points by vector. Vectors are equal if their values are: 0 equals -0.
#[derive(Debug)]
pub(super) struct EqualVectors {
    slots: SlotTable<Entry>,
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
        self.slots
            .insert(self.entry(points, slot), |entry| place(entry.hash))
    }

    /// Adds the points in these slots, on all cores.
    pub fn fill(&self, points: &impl Points, slots: &[u32]) -> Result<()> {
        let entry_of = |slot| self.entry(points, slot);
        self.slots.fill(slots, entry_of, |entry| place(entry.hash))
    }

    fn entry(&self, points: &impl Points, slot: u32) -> Entry {
        let hash = self.hash(points.vector(slot));
        Entry { slot, hash }
    }

    /// Removes the point in `slot`.
    pub fn remove(&self, points: &impl Points, slot: u32) {
        let place = place(self.hash(points.vector(slot)));
        let mut part = self.slots.write(place);
        if let Ok(entry) = part.find_entry(place, |entered| entered.slot == slot) {
            entry.remove();
            return;
        }
        drop(part);
        // The vector has changed: it is damaged on disk.
        self.slots
            .write_all(|part| part.retain(|entered| entered.slot != slot));
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
        let part = self.slots.read(place(hash));
        let entries = part.iter_hash(place(hash));
        let of_hash: Vec<Entry> = entries
            .filter(|entry| entry.hash == hash)
            .copied()
            .collect();
        drop(part);
        let slots = of_hash.into_iter().map(|entry| entry.slot);
        let mut equal = slots.filter(|&slot| points.vector(slot) == vector);
        equal.find_map(look)
    }

    /// A multiply-and-fold hash like wyhash. Each of the [`LANES`] takes two values at a time. The
    /// last block is filled up with zeros, which is no loss as all vectors have one length.
    fn hash(&self, vector: &[f32]) -> u32 {
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
        let lanes = lanes.into_iter();
        lanes.fold(self.key, |hash, lane| fold(hash ^ lane, self.key)) as u32
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Points that count how often a vector is read.
    struct Counting {
        vectors: Vec<[f32; 2]>,
        reads: AtomicUsize,
    }

    impl Points for Counting {
        fn vector(&self, slot: u32) -> &[f32] {
            self.reads.fetch_add(1, Ordering::Relaxed);
            &self.vectors[slot as usize]
        }

        fn inverse_norm(&self, _slot: u32) -> f32 {
            0.0
        }
    }

    #[test]
    fn no_vector_is_read_but_those_that_come_and_those_with_the_hash_of_one_that_is_looked_for() {
        let slots: Vec<u32> = (0..50_000).collect();
        let points = Counting {
            vectors: slots.iter().map(|&slot| [slot as f32, 1.0]).collect(),
            reads: AtomicUsize::new(0),
        };
        let reads = || points.reads.swap(0, Ordering::Relaxed);
        let firsts = EqualVectors::new();
        for &slot in &slots {
            firsts.insert(&points, slot).unwrap();
        }
        assert_eq!(reads(), slots.len(), "no growth reads any");
        for &slot in &slots {
            let vector = points.vectors[slot as usize];
            assert_eq!(firsts.find(&points, &vector, Some), Some(slot));
            let other = [slot as f32, 2.0];
            assert_eq!(firsts.find(&points, &other, Some), None);
        }
        // Hashes of 32 bits are the same now and then.
        assert!(reads() < slots.len() + 50);
        for &slot in &slots {
            firsts.remove(&points, slot);
        }
        assert_eq!((firsts.len(), reads()), (0, slots.len()));
    }

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
