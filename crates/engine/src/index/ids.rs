//! The hash table that finds the slot of a point by its id.

use std::{
    hash::{BuildHasher, RandomState},
    sync::PoisonError,
    thread,
};

use hashbrown::{HashTable, TryReserveError};

use super::{Arena, point_id::PointId};
use crate::{
    Error, Result,
    sync::{RwLock, parallel},
};

/// The number of tables, among which ids are divided by some bits of their hash. A table that grows
/// moves all of its entries, and blocks its readers meanwhile: a single table of two million ids
/// could not be read for almost a second.
const PARTS: usize = if cfg!(feature = "shuttle") { 2 } else { 256 };

/// The slots of the live points by id. The arena holds the ids themselves, by slot.
pub struct IdTable {
    parts: [RwLock<HashTable<u32>>; PARTS],
    /// Hashes ids under a secret of this process: clients choose ids, and must not be able to choose
    /// many with one hash.
    hasher: RandomState,
}

impl Default for IdTable {
    fn default() -> Self {
        IdTable {
            parts: std::array::from_fn(|_| RwLock::default()),
            hasher: RandomState::new(),
        }
    }
}

impl IdTable {
    /// Calls `look` with the slot of the live point `id`, and returns the result; None if there is
    /// no such point. Meanwhile the point is neither deleted nor [changed](Self::change).
    pub fn get<T>(&self, id: &PointId, arena: &Arena, look: impl FnOnce(u32) -> T) -> Option<T> {
        let hash = self.hash(id);
        let slots = self.part(hash).read();
        let slots = slots.unwrap_or_else(PoisonError::into_inner);
        slots
            .find(hash, |&slot| arena.id(slot) == *id)
            .map(|&slot| look(slot))
    }

    /// Calls `change` with the slot of the live point `id`, and returns the result; None if there
    /// is no such point. Meanwhile no other thread [looks](Self::get) at the point.
    pub fn change<T>(
        &self,
        id: &PointId,
        arena: &Arena,
        change: impl FnOnce(u32) -> T,
    ) -> Option<T> {
        let hash = self.hash(id);
        let slots = self.part(hash).write();
        let slots = slots.unwrap_or_else(PoisonError::into_inner);
        slots
            .find(hash, |&slot| arena.id(slot) == *id)
            .map(|&slot| change(slot))
    }

    /// Adds the point in `slot`, whose id is new.
    pub fn insert(&self, slot: u32, arena: &Arena) -> Result<()> {
        let hash_of = |&slot: &u32| self.hash(&arena.id(slot));
        let hash = hash_of(&slot);
        let slots = self.part(hash).write();
        let mut slots = slots.unwrap_or_else(PoisonError::into_inner);
        slots.try_reserve(1, hash_of).map_err(no_memory)?;
        slots.insert_unique(hash, slot, hash_of);
        Ok(())
    }

    /// Adds the live points in the slots below `len`, on all cores. Their ids are all new.
    /// `is_live` tells whether the point in a slot lives.
    pub fn restore(
        &self,
        len: u32,
        arena: &Arena,
        is_live: impl Fn(u32) -> bool + Sync,
    ) -> Result<()> {
        let hash_of = |&slot: &u32| self.hash(&arena.id(slot));
        let expected = len as usize / PARTS;
        let capacity = expected + 4 * expected.isqrt() + 1;
        let shares = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(PARTS);
        let shares: Vec<usize> = (0..shares).collect();
        let entered = parallel::map(&shares, |&share| {
            let mut parts: Vec<_> = (share..PARTS)
                .step_by(shares.len())
                .map(|part| {
                    self.parts[part]
                        .write()
                        .unwrap_or_else(PoisonError::into_inner)
                })
                .collect();
            for part in &mut parts {
                part.try_reserve(capacity, hash_of).map_err(no_memory)?;
            }
            for slot in (0..len).filter(|&slot| is_live(slot)) {
                let hash = hash_of(&slot);
                let part = part_of(hash);
                if part % shares.len() == share {
                    let part = &mut parts[part / shares.len()];
                    part.try_reserve(1, hash_of).map_err(no_memory)?;
                    part.insert_unique(hash, slot, hash_of);
                }
            }
            Ok(())
        });
        entered.into_iter().collect()
    }

    /// Removes the point `id` and returns its slot; None if there is no such point.
    pub fn remove(&self, id: &PointId, arena: &Arena) -> Option<u32> {
        let hash = self.hash(id);
        let slots = self.part(hash).write();
        let mut slots = slots.unwrap_or_else(PoisonError::into_inner);
        let is_same = |&slot: &u32| arena.id(slot) == *id;
        Some(slots.find_entry(hash, is_same).ok()?.remove().0)
    }

    /// Makes `slot` the one of its id instead of the slot that has the same id, which is returned;
    /// None, and no change, if there is no such point. Any other thread finds one slot or the other.
    pub fn replace(&self, slot: u32, arena: &Arena) -> Option<u32> {
        let id = arena.id(slot);
        let hash = self.hash(&id);
        let slots = self.part(hash).write();
        let mut slots = slots.unwrap_or_else(PoisonError::into_inner);
        let found = slots.find_mut(hash, |&slot| arena.id(slot) == id)?;
        Some(std::mem::replace(found, slot))
    }

    /// Removes all points, and calls `removed` with the slot of each. Meanwhile no other thread
    /// [looks](Self::get) at it.
    pub fn remove_all(&self, mut removed: impl FnMut(u32)) {
        for part in &self.parts {
            let mut slots = part.write().unwrap_or_else(PoisonError::into_inner);
            slots.drain().for_each(&mut removed);
        }
    }

    /// Calls `look` with the slot of every live point. The writer may go on meanwhile: a point that
    /// lives all the while is met once, in the slot that it has then.
    pub fn for_each(&self, mut look: impl FnMut(u32)) {
        for part in &self.parts {
            let slots = part.read().unwrap_or_else(PoisonError::into_inner);
            slots.iter().for_each(|&slot| look(slot));
        }
    }

    fn hash(&self, id: &PointId) -> u64 {
        self.hasher.hash_one(id)
    }

    /// The table for a hash. Middle bits choose it: the table itself uses those at both ends.
    fn part(&self, hash: u64) -> &RwLock<HashTable<u32>> {
        &self.parts[part_of(hash)]
    }
}

fn part_of(hash: u64) -> usize {
    (hash >> 40) as usize % PARTS
}

fn no_memory(_: TryReserveError) -> Error {
    Error::Internal("no memory for an id".into())
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use crate::index::tests::support::records;

    fn id(number: u16) -> PointId {
        let mixed = u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        mixed.to_be_bytes()
    }

    #[test]
    fn a_slot_is_found_by_its_id_until_it_is_struck_out_and_again_when_it_has_another() {
        let (segments, locations) = records(&[vec![1.0]]);
        let location = locations[0];
        let arena = Arena::new(segments, 1);
        let ids = IdTable::default();
        for number in 0..3_000 {
            let slot = arena.push(id(number), location, 1).unwrap();
            assert_eq!(ids.get(&id(number), &arena, |slot| slot), None);
            ids.insert(slot, &arena).unwrap();
        }
        for number in 0..3_000 {
            assert_eq!(
                ids.get(&id(number), &arena, |slot| slot),
                Some(u32::from(number))
            );
        }
        assert_eq!(ids.remove(&id(9), &arena), Some(9));
        assert_eq!(ids.remove(&id(9), &arena), None);
        assert_eq!(ids.get(&id(9), &arena, |slot| slot), None);
        arena.delete(9, 2);
        arena.free_slots(&[9]).unwrap();
        let slot = arena.push(id(5_000), location, 3).unwrap();
        ids.insert(slot, &arena).unwrap();
        assert_eq!(ids.get(&id(5_000), &arena, |slot| slot), Some(9));
        assert_eq!(ids.get(&id(9), &arena, |slot| slot), None);
    }
}
