//! What several event loops of this process use together. Each loop has JavaScript objects of its
//! own, and finds what stands behind them by a number that another loop tells it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use napi::Result;

use crate::error::fault;

/// The values of one type that loops share.
pub struct Shared<T> {
    values: Mutex<(u32, BTreeMap<u32, Weak<T>>)>,
}

impl<T> Shared<T> {
    /// With no value.
    pub const fn new() -> Shared<T> {
        Shared {
            values: Mutex::new((0, BTreeMap::new())),
        }
    }

    /// The number by which other loops find the value, for as long as one of them keeps it.
    pub fn share(&self, value: &Arc<T>) -> u32 {
        let mut values = self.lock();
        let (last, found) = &mut *values;
        found.retain(|_, value| value.strong_count() > 0);
        *last += 1;
        found.insert(*last, Arc::downgrade(value));
        *last
    }

    /// The value of this number.
    pub fn find(&self, number: u32) -> Result<Arc<T>> {
        let found = self.lock().1.get(&number).and_then(Weak::upgrade);
        found.ok_or_else(|| fault("nothing is shared under this number"))
    }

    fn lock(&self) -> MutexGuard<'_, (u32, BTreeMap<u32, Weak<T>>)> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
