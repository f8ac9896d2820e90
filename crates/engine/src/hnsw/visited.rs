//! The set of slots that a walk has met.

use memmap2::MmapMut;

use crate::{Error, Result};

/// A set of slots. For each slot there is a stamp, and the slot is in the set if its stamp equals
/// the epoch. To begin the next epoch empties the set, without touching the stamps, and only once in
/// 65,535 walks the stamps begin anew. They are mapped memory: pages of slots that do not exist yet
/// take none, and dropping the set returns all of it to the system at once.
#[derive(Debug, Default)]
pub(super) struct Visited {
    /// At least 1 during a walk. New stamps are 0.
    epoch: u16,
    stamps: Option<MmapMut>,
}

/// The set, borrowed to add several slots.
pub(super) struct Stamps<'a> {
    epoch: u16,
    stamps: &'a mut [u16],
}

impl Visited {
    /// Empties the set and reserves memory for the slots `0..slots`.
    pub fn begin(&mut self, slots: usize) -> Result<()> {
        let bytes = slots * size_of::<u16>();
        let has_room = self
            .stamps
            .as_ref()
            .is_some_and(|stamps| stamps.len() >= bytes);
        if !has_room || self.epoch == u16::MAX {
            // The old stamps need not be kept.
            self.stamps = None;
            let stamps = MmapMut::map_anon(bytes)
                .map_err(|error| Error::Internal(format!("visited list: {error}")))?;
            (self.epoch, self.stamps) = (0, Some(stamps));
        }
        self.epoch += 1;
        Ok(())
    }

    /// Adds a slot and returns whether it is new, see [`Stamps::insert`].
    #[inline]
    pub fn insert(&mut self, slot: u32) -> bool {
        self.open().insert(slot)
    }

    /// Borrows the set to add several slots.
    #[inline]
    pub fn open(&mut self) -> Stamps<'_> {
        let stamps = self.stamps.as_deref_mut();
        Stamps {
            epoch: self.epoch,
            stamps: stamps.map(bytemuck::cast_slice_mut).unwrap_or_default(),
        }
    }
}

impl Stamps<'_> {
    /// Adds a slot, and returns whether it is new. A slot beyond the reserved ones was linked after
    /// the walk began and counts as visited: the walk ignores it.
    #[inline]
    pub fn insert(&mut self, slot: u32) -> bool {
        let Some(stamp) = self.stamps.get_mut(slot as usize) else {
            return false;
        };
        // Without a branch: a processor cannot predict which points a walk has visited.
        let is_new = *stamp != self.epoch;
        *stamp = self.epoch;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_new_once_in_every_walk_whatever_the_epoch() {
        let mut visited = Visited::default();
        for walk in 0..200_000 {
            visited.begin(8).unwrap();
            assert!(visited.insert(walk % 8));
            assert!(!visited.insert(walk % 8));
            assert!(visited.insert((walk + 3) % 8));
        }
    }

    #[test]
    fn a_list_that_grows_is_empty() {
        let mut visited = Visited::default();
        for slots in [8, 9, 10_000] {
            visited.begin(slots).unwrap();
            assert!((0..slots as u32).all(|slot| visited.insert(slot)));
            assert!((0..slots as u32).all(|slot| !visited.insert(slot)));
        }
    }

    #[test]
    fn slots_beyond_the_capacity_count_as_seen() {
        let mut visited = Visited::default();
        visited.begin(4).unwrap();
        assert!(!visited.insert(4));
        visited.begin(5).unwrap();
        assert!(visited.insert(4));
    }
}
