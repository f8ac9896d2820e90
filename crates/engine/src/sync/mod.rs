//! The atomics and locks of the modules that threads share: those of the standard library, or,
//! compiled with `--cfg vectord_shuttle`, those of a model checker that runs such modules under
//! thousands of schedules (`npm run test:model`).

pub mod epoch;
pub mod histogram;
pub mod memory;
pub mod parallel;
pub mod table;

#[cfg(not(vectord_shuttle))]
pub use std::{
    sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread::yield_now,
};

#[cfg(vectord_shuttle)]
pub use shuttle::{
    sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread::yield_now,
};

/// Takes a lock, even after a panic of its holder: the state behind it is consistent at any time.
pub fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The types that a [`crate::sync::table::Table`] can hold: zeroed memory is a valid value.
#[cfg(not(vectord_shuttle))]
pub use bytemuck::Zeroable as Zeroed;

/// What a [`crate::sync::table::Table`] can hold. The model's atomics are not made of plain memory.
#[cfg(vectord_shuttle)]
pub trait Zeroed: Default {}

#[cfg(vectord_shuttle)]
impl<T: Default> Zeroed for T {}

/// A number that differs from thread to thread where it can.
#[cfg(not(vectord_shuttle))]
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

/// The same number for every thread, so that threads contend under the model checker.
#[cfg(vectord_shuttle)]
pub fn thread_number() -> usize {
    0
}
