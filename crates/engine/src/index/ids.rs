//! The hash table that finds the slot of a point by its id.

use std::hash::{BuildHasher, RandomState};

use super::{Arena, point_id::PointId};
use crate::{Result, sync::slot_table::SlotTable};

/// The number of parts of the table.
const PARTS: usize = if cfg!(feature = "shuttle") { 2 } else { 256 };

/// The slots of the live points by id. The arena holds the ids themselves, by slot.
pub struct IdTable {
    slots: SlotTable,
    /// Hashes ids under a secret of this process: clients choose ids, and must not be able to choose
    /// many with one hash.
    hasher: RandomState,
}

impl Default for IdTable {
    fn default() -> Self {
        IdTable {
            slots: SlotTable::new(PARTS),
            hasher: RandomState::new(),
        }
    }
}

impl IdTable {
    /// Calls `look` with the slot of the live point `id`, and returns the result; None if there is
    /// no such point. Meanwhile the point is neither deleted nor [changed](Self::change).
    pub fn get<T>(&self, id: &PointId, arena: &Arena, look: impl FnOnce(u32) -> T) -> Option<T> {
        let hash = self.hash(id);
        let slots = self.slots.read(hash);
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
        let slots = self.slots.write(hash);
        slots
            .find(hash, |&slot| arena.id(slot) == *id)
            .map(|&slot| change(slot))
    }

    /// Adds the point in `slot`, whose id is new.
    pub fn insert(&self, slot: u32, arena: &Arena) -> Result<()> {
        self.slots.insert(slot, |&slot| self.hash(&arena.id(slot)))
    }

    /// Adds the points in these slots, on all cores. Their ids are all new.
    pub fn restore(&self, slots: &[u32], arena: &Arena) -> Result<()> {
        let hash_of = |&slot: &u32| self.hash(&arena.id(slot));
        self.slots.fill(slots, |slot| slot, hash_of)
    }

    /// Removes the point `id` and returns its slot; None if there is no such point.
    pub fn remove(&self, id: &PointId, arena: &Arena) -> Option<u32> {
        let hash = self.hash(id);
        let mut slots = self.slots.write(hash);
        let is_same = |&slot: &u32| arena.id(slot) == *id;
        Some(slots.find_entry(hash, is_same).ok()?.remove().0)
    }

    /// Makes `slot` the one of its id instead of the slot that has the same id, which is returned;
    /// None, and no change, if there is no such point. Any other thread finds one slot or the other.
    pub fn replace(&self, slot: u32, arena: &Arena) -> Option<u32> {
        let id = arena.id(slot);
        let hash = self.hash(&id);
        let mut slots = self.slots.write(hash);
        let found = slots.find_mut(hash, |&slot| arena.id(slot) == id)?;
        Some(std::mem::replace(found, slot))
    }

    /// Removes all points, and calls `removed` with the slot of each. Meanwhile no other thread
    /// [looks](Self::get) at it.
    pub fn remove_all(&self, mut removed: impl FnMut(u32)) {
        self.slots
            .write_all(|slots| slots.drain().for_each(&mut removed));
    }

    /// Calls `look` with the slot of every live point. The writer may go on meanwhile: a point that
    /// lives all the while is met once, in the slot that it has then.
    pub fn for_each(&self, mut look: impl FnMut(u32)) {
        self.slots
            .read_all(|slots| slots.iter().for_each(|&slot| look(slot)));
    }

    fn hash(&self, id: &PointId) -> u64 {
        self.hasher.hash_one(id)
    }
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
