//! From the id of a point to its slot.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::PoisonError,
};

use crate::sync::RwLock;

/// The 16 bytes of a UUID.
pub type PointId = [u8; 16];

/// The slots of the live points by id.
#[derive(Default)]
pub struct IdTable {
    slots: RwLock<HashMap<PointId, u32, BuildHasherDefault<IdHasher>>>,
}

impl IdTable {
    /// The slot of the live point `id`.
    #[must_use]
    pub fn get(&self, id: &PointId) -> Option<u32> {
        self.slots
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .copied()
    }

    /// Enters a point.
    pub fn insert(&self, id: PointId, slot: u32) {
        self.slots
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, slot);
    }

    /// Strikes a point out.
    pub fn remove(&self, id: &PointId) {
        self.slots
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id);
    }
}

/// Folds an id into a hash. The service draws ids at random, so they need no mixing, and no client
/// can choose one.
#[derive(Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 ^= u64::from_le_bytes(word);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
