//! A hash table of slots, divided into parts by the middle bits of the hash. A table that grows moves
//! all of its entries, and blocks its readers meanwhile: a single table of two million slots could not
//! be read for almost a second.

use std::sync::PoisonError;

use hashbrown::{HashTable, TryReserveError};

use super::{RwLock, RwLockReadGuard, RwLockWriteGuard, parallel};
use crate::{Error, Result};

/// The number of slots that [`SlotTable::fill`] takes at a time, which bounds its memory.
const BLOCK_SLOTS: usize = 1 << 20;

/// The number of slots that a thread hashes at a time.
const PIECE_SLOTS: usize = 1 << 14;

/// Slots by hash. What is hashed lies elsewhere, by slot, and an entry is a slot, or holds a part of
/// the hash beside it.
#[derive(Debug)]
pub struct SlotTable<E = u32> {
    parts: Box<[RwLock<HashTable<E>>]>,
}

impl<E: Copy + Send + Sync> SlotTable<E> {
    /// An empty table. `parts`, the number of its parts, is a power of two.
    pub fn new(parts: usize) -> Self {
        SlotTable {
            parts: (0..parts).map(|_| RwLock::default()).collect(),
        }
    }

    /// The part for a hash, to read.
    pub fn read(&self, hash: u64) -> RwLockReadGuard<'_, HashTable<E>> {
        let part = self.parts[self.part_of(hash)].read();
        part.unwrap_or_else(PoisonError::into_inner)
    }

    /// The part for a hash, to change.
    pub fn write(&self, hash: u64) -> RwLockWriteGuard<'_, HashTable<E>> {
        let part = self.parts[self.part_of(hash)].write();
        part.unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry. `hash_of` gives the hash of any entry of the table.
    pub fn insert(&self, entry: E, hash_of: impl Fn(&E) -> u64) -> Result<()> {
        let hash = hash_of(&entry);
        enter(&mut self.write(hash), hash, entry, hash_of)
    }

    /// Adds slots that the table does not hold yet, on all cores. It fills one part after the other,
    /// since a part fits the cache and the whole table does not. `entry_of` gives the entry of a slot,
    /// `hash_of` the hash of any entry.
    pub fn fill(
        &self,
        slots: &[u32],
        entry_of: impl Fn(u32) -> E + Sync,
        hash_of: impl Fn(&E) -> u64 + Sync,
    ) -> Result<()> {
        let expected = slots.len() / self.parts.len();
        let capacity = expected + 4 * expected.isqrt();
        let numbers: Vec<usize> = (0..self.parts.len()).collect();
        for block in slots.chunks(BLOCK_SLOTS) {
            let pieces: Vec<_> = block.chunks(PIECE_SLOTS).collect();
            let hashed = parallel::map(&pieces, |slots| {
                let entries = slots.iter().map(|&slot| entry_of(slot));
                let mut hashed: Vec<_> = entries.map(|entry| (hash_of(&entry), entry)).collect();
                hashed.sort_unstable_by_key(|&(hash, _)| self.part_of(hash));
                hashed
            });
            let entered = parallel::map(&numbers, |&number| {
                let mut part = self.parts[number]
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                let missing = capacity.saturating_sub(part.len());
                part.try_reserve(missing, &hash_of).map_err(no_memory)?;
                for hashed in &hashed {
                    let first = hashed.partition_point(|&(hash, _)| self.part_of(hash) < number);
                    let of_part = hashed[first..]
                        .iter()
                        .take_while(|&&(hash, _)| self.part_of(hash) == number);
                    for &(hash, entry) in of_part {
                        enter(&mut part, hash, entry, &hash_of)?;
                    }
                }
                Ok(())
            });
            entered.into_iter().collect::<Result<()>>()?;
        }
        Ok(())
    }

    /// Calls `look` with each part in turn, to read.
    pub fn read_all(&self, mut look: impl FnMut(&HashTable<E>)) {
        for part in &self.parts {
            look(&part.read().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Calls `change` with each part in turn.
    pub fn write_all(&self, mut change: impl FnMut(&mut HashTable<E>)) {
        for part in &self.parts {
            change(&mut part.write().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Which part a hash belongs to. The parts themselves use the bits at both ends.
    fn part_of(&self, hash: u64) -> usize {
        (hash >> 40) as usize & (self.parts.len() - 1)
    }
}

fn enter<E>(
    part: &mut HashTable<E>,
    hash: u64,
    entry: E,
    hash_of: impl Fn(&E) -> u64,
) -> Result<()> {
    part.try_reserve(1, &hash_of).map_err(no_memory)?;
    part.insert_unique(hash, entry, hash_of);
    Ok(())
}

fn no_memory(_: TryReserveError) -> Error {
    Error::Internal("no memory for a hash table".into())
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_found_by_its_hash_after_a_fill_of_several_blocks() {
        let table = SlotTable::new(8);
        let hash_of = |slot: &u32| u64::from(*slot).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        table.insert(7, hash_of).unwrap();
        let slots: Vec<u32> = (8..BLOCK_SLOTS as u32 + 100).collect();
        table.fill(&slots, |slot| slot, hash_of).unwrap();
        let mut count = 0;
        table.read_all(|part| count += part.len());
        assert_eq!(count, slots.len() + 1);
        for slot in [7, 8, 9, BLOCK_SLOTS as u32, BLOCK_SLOTS as u32 + 99] {
            let hash = hash_of(&slot);
            let part = table.read(hash);
            assert_eq!(part.find(hash, |&found| found == slot), Some(&slot));
        }
    }
}
