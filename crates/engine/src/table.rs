//! A growing table that is read without locks.
//!
//! Rows live in buckets, each twice as large as the one before, so growing never moves a row and a
//! reference to one stays good while others append. A bucket is mapped memory of its own, on huge
//! pages where there are any, because walks read rows all over a table and would miss the address
//! translation each time.
#![allow(
    unsafe_code,
    reason = "mapped memory is used as a slice of values while it is shared"
)]

use std::{
    fmt, slice,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, Ordering},
    },
};

use crate::{Error, Result, memory::Memory, sync::Zeroed};

/// Rows in the first bucket: few under the model, whose tables shall grow.
const FIRST_ROWS: usize = if cfg!(vectord_shuttle) { 4 } else { 1024 };

/// Enough buckets for every `u32` index.
const BUCKETS: usize = (u32::BITS - FIRST_ROWS.ilog2()) as usize + 1;

/// Rows of `width` values, addressed by `u32`. The values are atomics or otherwise changed through
/// shared references; all of them are zero at first.
pub struct Table<T> {
    width: usize,
    /// Where the values of each bucket begin; null until there is memory.
    buckets: [AtomicPtr<T>; BUCKETS],
    /// What the buckets point to. Whoever adds a bucket holds the lock.
    memory: Mutex<Vec<Memory<T>>>,
}

impl<T: Sync + Zeroed> Table<T> {
    /// An empty table whose rows hold `width` values.
    #[must_use]
    pub const fn new(width: usize) -> Self {
        Table {
            width,
            buckets: [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS],
            memory: Mutex::new(Vec::new()),
        }
    }

    /// Makes room for the rows `0..rows`. Several threads may grow the table at once.
    pub fn ensure(&self, rows: usize) -> Result<()> {
        let Some(last) = rows.checked_sub(1) else {
            return Ok(());
        };
        let (last_bucket, _) = locate(last);
        if last_bucket >= BUCKETS {
            return Err(out_of_memory(last_bucket));
        }
        if !self.buckets[last_bucket].load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        for bucket in memory.len()..=last_bucket {
            let values = rows_of(bucket)
                .checked_mul(self.width)
                .and_then(Memory::zeroed)
                .ok_or_else(|| out_of_memory(bucket))?;
            self.buckets[bucket].store(values.start(), Ordering::Release);
            memory.push(values);
        }
        Ok(())
    }

    /// The number of rows there is room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        let mapped = self
            .buckets
            .iter()
            .take_while(|bucket| !bucket.load(Ordering::Acquire).is_null())
            .count();
        rows_before(mapped)
    }

    /// The row at `index`.
    ///
    /// # Panics
    /// Panics if [`Table::ensure`] has not made room for the row.
    #[inline]
    #[must_use]
    pub fn row(&self, index: u32) -> &[T] {
        let (bucket, row) = locate(index as usize);
        let values = self.buckets[bucket].load(Ordering::Acquire);
        assert!(!values.is_null(), "the row was ensured before it is read");
        // SAFETY: the bucket holds `rows_of(bucket)` rows of `width` values, and `locate` gives a
        // row below that number. The memory holds valid values from the start, is let go only when
        // the table is dropped, and no exclusive reference to it is ever made.
        unsafe { slice::from_raw_parts(values.add(row * self.width), self.width) }
    }

    /// The first value of the row at `index`: the value itself in a table of width 1.
    ///
    /// # Panics
    /// Panics if [`Table::ensure`] has not made room for the row.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u32) -> &T {
        &self.row(index)[0]
    }
}

impl<T> fmt::Debug for Table<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Table of rows of {}", self.width)
    }
}

/// The bucket that holds a row, and the row's place in it.
#[inline]
fn locate(index: usize) -> (usize, usize) {
    let shifted = index + FIRST_ROWS;
    let bucket = (shifted.ilog2() - FIRST_ROWS.ilog2()) as usize;
    (bucket, shifted - rows_of(bucket))
}

#[inline]
fn rows_of(bucket: usize) -> usize {
    FIRST_ROWS << bucket
}

/// Rows in all buckets before this one.
fn rows_before(bucket: usize) -> usize {
    rows_of(bucket) - FIRST_ROWS
}
fn out_of_memory(bucket: usize) -> Error {
    Error::Internal(format!(
        "out of memory for a table bucket of {} rows",
        rows_of(bucket)
    ))
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[test]
    fn rows_tile_the_buckets_without_gap_or_overlap() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(locate(index), expected, "row {index}");
            expected.1 += 1;
            if expected.1 == rows_of(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(locate(u32::MAX as usize).0, BUCKETS - 1);
    }

    #[test]
    fn rows_start_zeroed_and_keep_what_is_stored_while_the_table_grows() {
        let table = Table::<AtomicU32>::new(3);
        assert_eq!(table.capacity(), 0);
        for index in 0..5_000 {
            table.ensure(index as usize + 1).unwrap();
            let row = table.row(index);
            assert!(row.iter().all(|value| value.load(Relaxed) == 0));
            row[2].store(index + 1, Relaxed);
        }
        assert!(table.capacity() >= 5_000);
        assert!((0..5_000).all(|index| table.row(index)[2].load(Relaxed) == index + 1));
    }

    #[test]
    fn threads_that_grow_the_table_together_share_its_rows() {
        let table = Table::<AtomicU32>::new(1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for index in 0..20_000 {
                        table.ensure(index as usize + 1).unwrap();
                        table.get(index).fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert!((0..20_000).all(|index| table.get(index).load(Relaxed) == 4));
    }

    #[test]
    fn a_row_too_large_for_memory_is_an_error() {
        let table = Table::<AtomicU32>::new(usize::MAX / 2);
        assert!(matches!(table.ensure(1), Err(Error::Internal(_))));
    }
}
