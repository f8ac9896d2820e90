//! The set of slots that a walk has seen.

use crate::{Error, Result};

/// A set of slots emptied by moving on to the next epoch. A stamp is one byte, so the list stays
/// small in the cache and is wiped only once in 255 walks.
#[derive(Debug, Default)]
pub(super) struct Visited {
    epoch: u8,
    stamps: Vec<u8>,
}

impl Visited {
    /// Empties the set and makes room for the slots `0..slots`.
    pub fn begin(&mut self, slots: usize) -> Result<()> {
        if let Some(missing) = slots.checked_sub(self.stamps.len()) {
            self.stamps
                .try_reserve_exact(missing)
                .map_err(|error| Error::Internal(format!("visited list: {error}")))?;
            self.stamps.resize(slots, 0);
        }
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.stamps.fill(0);
            self.epoch = 1;
        }
        Ok(())
    }

    /// Adds a slot, and says whether it is new. A slot beyond the room made was linked after the
    /// walk began and counts as seen: the walk passes it by.
    #[inline]
    pub fn insert(&mut self, slot: u32) -> bool {
        let Some(stamp) = self.stamps.get_mut(slot as usize) else {
            return false;
        };
        // No branch: which points a walk has seen is what a processor cannot foretell.
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
        for walk in 0..1_000 {
            visited.begin(8).unwrap();
            assert!(visited.insert(walk % 8));
            assert!(!visited.insert(walk % 8));
            assert!(visited.insert((walk + 3) % 8));
        }
    }

    #[test]
    fn slots_beyond_the_room_made_count_as_seen() {
        let mut visited = Visited::default();
        visited.begin(4).unwrap();
        assert!(!visited.insert(4));
        visited.begin(5).unwrap();
        assert!(visited.insert(4));
    }
}
