//! A growing table that is read without locks.
//!
//! Rows live in buckets, each twice as large as the one before, so growing never moves a row and a
//! reference to one stays good while others append. A bucket is allocated zeroed and backed by
//! memory only where it is touched.

use std::sync::OnceLock;

use bytemuck::{Zeroable, allocation::try_zeroed_slice_box};

use crate::{Error, Result};

/// Rows in the first bucket.
const FIRST_ROWS: usize = 1024;

/// Enough buckets for every `u32` index.
const BUCKETS: usize = (u32::BITS - FIRST_ROWS.ilog2()) as usize + 1;

/// Rows of `width` values, addressed by `u32`. The values are atomics or otherwise changed through
/// shared references; all of them are zero at first.
#[derive(Debug)]
pub struct Table<T> {
    width: usize,
    buckets: [OnceLock<Box<[T]>>; BUCKETS],
}

impl<T: Sync + Zeroable> Table<T> {
    /// An empty table whose rows hold `width` values.
    #[must_use]
    pub const fn new(width: usize) -> Self {
        Table {
            width,
            buckets: [const { OnceLock::new() }; BUCKETS],
        }
    }

    /// Makes room for the rows `0..rows`. Several threads may grow the table at once: of two that
    /// allocate the same bucket, one sees its untouched memory dropped again.
    pub fn ensure(&self, rows: usize) -> Result<()> {
        let Some(last) = rows.checked_sub(1) else {
            return Ok(());
        };
        let (last_bucket, _) = locate(last);
        for bucket in 0..=last_bucket {
            self.allocate(bucket)?;
        }
        Ok(())
    }

    fn allocate(&self, bucket: usize) -> Result<()> {
        let cell = self
            .buckets
            .get(bucket)
            .ok_or_else(|| out_of_memory(bucket))?;
        if cell.get().is_none() {
            let values = rows_of(bucket)
                .checked_mul(self.width)
                .and_then(|length| try_zeroed_slice_box(length).ok())
                .ok_or_else(|| out_of_memory(bucket))?;
            // Losing the race means that the bucket is there, which is all that was asked for.
            let _ = cell.set(values);
        }
        Ok(())
    }

    /// The number of rows there is room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        let allocated = self
            .buckets
            .iter()
            .take_while(|cell| cell.get().is_some())
            .count();
        (0..allocated).map(rows_of).sum()
    }

    /// The row at `index`.
    ///
    /// # Panics
    /// Panics if [`Table::ensure`] has not made room for the row.
    #[inline]
    #[must_use]
    pub fn row(&self, index: u32) -> &[T] {
        let (bucket, row) = locate(index as usize);
        let values = self.buckets[bucket]
            .get()
            .expect("the row was ensured before it is read");
        &values[row * self.width..(row + 1) * self.width]
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

fn out_of_memory(bucket: usize) -> Error {
    Error::Internal(format!(
        "out of memory for a table bucket of {} rows",
        rows_of(bucket)
    ))
}

#[cfg(test)]
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
