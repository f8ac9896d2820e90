//! What threads share data with. The atomics and locks come from the standard library. Compiled
//! with the feature `shuttle`, they come from a model checker, which runs the modules that use
//! them under thousands of schedules (`npm run test:model`).

pub mod epoch;
pub mod histogram;
pub mod memory;
pub mod parallel;
pub mod slot_table;
pub mod table;

#[cfg(not(feature = "shuttle"))]
pub use std::{
    sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread::yield_now,
};

#[cfg(feature = "shuttle")]
pub use shuttle::{
    sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread::yield_now,
};

/// Takes a lock, even after a panic of its holder. Only for states that are consistent at any time.
pub fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The types that a [`Table`](table::Table) can hold: zeroed memory is a valid value of them.
#[cfg(not(feature = "shuttle"))]
pub use bytemuck::Zeroable as Zeroed;

/// The types that a [`Table`](table::Table) can hold. The atomics of the model checker are not
/// valid as zeroed memory, so they are made one by one.
#[cfg(feature = "shuttle")]
pub trait Zeroed: Default {}

#[cfg(feature = "shuttle")]
impl<T: Default> Zeroed for T {}

/// A number for the calling thread, which no other thread has. It spreads threads over places so
/// that they do not contend.
#[cfg(not(feature = "shuttle"))]
pub fn thread_number() -> usize {
    use std::cell::Cell;
    static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(1);
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, atomic::Ordering::Relaxed));
        }
        number.get()
    })
}

/// Under the model checker every thread has the same number, so that threads do contend.
#[cfg(feature = "shuttle")]
pub fn thread_number() -> usize {
    0
}
