//! A growing table that is read without locks.
//!
//! Rows live in buckets, each twice as large as the one before, so growing never moves a row, and a
//! reference to a row stays valid while other threads make the table grow. A bucket is mapped
//! memory of its own. It moves to huge pages if there are any, since walks read rows all over a
//! table and would miss the translation cache each time. Only huge pages that rows fill are used:
//! the last one would be taken whole for few rows.
#![allow(
    unsafe_code,
    reason = "mapped memory is used as a slice of values while it is shared"
)]

use std::{
    fmt,
    ops::Range,
    slice,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, AtomicUsize, Ordering},
    },
};

use crate::{
    Error, Result,
    sync::{Zeroed, memory::Memory},
};

/// The number of rows in the first bucket. There are few under the model checker, so that its
/// tables grow.
const FIRST_ROWS: usize = if cfg!(feature = "shuttle") { 4 } else { 1024 };

/// Enough buckets for every `u32` index.
const BUCKETS: usize = (u32::BITS - FIRST_ROWS.ilog2()) as usize + 1;

/// Rows of `width` values, addressed by `u32`. The values are atomics or otherwise changed through
/// shared references; all of them are zero at first.
pub struct Table<T> {
    width: usize,
    /// Whether most rows will be written, so that huge pages pay.
    is_dense: bool,
    /// The number of rows up to which [`Table::ensure`] has nothing to do.
    ready: AtomicUsize,
    /// Where the values of each bucket begin; null until there is memory.
    buckets: [AtomicPtr<T>; BUCKETS],
    /// The memory of the buckets. Held while a bucket is added.
    memory: Mutex<Vec<Memory<T>>>,
}

impl<T: Sync + Zeroed> Table<T> {
    /// An empty table whose rows hold `width` values.
    #[must_use]
    pub const fn new(width: usize) -> Self {
        Table {
            width,
            is_dense: true,
            ready: AtomicUsize::new(0),
            buckets: [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS],
            memory: Mutex::new(Vec::new()),
        }
    }

    /// An empty table whose rows are seldom written: it stays on small pages, and a page without a
    /// written row takes no memory.
    #[must_use]
    pub const fn sparse(width: usize) -> Self {
        let mut table = Table::new(width);
        table.is_dense = false;
        table
    }

    /// Reserves memory for the rows `0..rows`. Call this before the first use of each row: with it
    /// the table learns how far rows are in use. Several threads may grow the table at once.
    pub fn ensure(&self, rows: usize) -> Result<()> {
        let Some(last) = rows.checked_sub(1) else {
            return Ok(());
        };
        if rows <= self.ready.load(Ordering::Acquire) {
            return Ok(());
        }
        let Ok(last) = u32::try_from(last) else {
            return Err(out_of_memory(BUCKETS));
        };
        let Place {
            bucket: last_bucket,
            row: last_row,
        } = Place::of(last);
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        for bucket in memory.len()..=last_bucket {
            let values = rows_of(bucket)
                .checked_mul(self.width)
                .and_then(Memory::zeroed)
                .ok_or_else(|| out_of_memory(bucket))?;
            self.buckets[bucket].store(values.start(), Ordering::Release);
            if let Some(full) = bucket.checked_sub(1) {
                self.use_huge_pages(&mut memory[full], rows_of(full));
            }
            memory.push(values);
        }
        // If another thread has reserved a later bucket, that thread has set `ready`.
        if last_bucket + 1 == memory.len() {
            let due = self.use_huge_pages(&mut memory[last_bucket], last_row + 1);
            let ready = rows_before(last_bucket) + due.min(rows_of(last_bucket));
            self.ready.store(ready, Ordering::Release);
        }
        Ok(())
    }

    /// Moves the first `rows` rows of a bucket to huge pages, as far as they fill such pages.
    /// Returns the number of rows at which another page is full.
    fn use_huge_pages(&self, bucket: &mut Memory<T>, rows: usize) -> usize {
        if !self.is_dense {
            return usize::MAX;
        }
        if let Some(filled) = bucket.advise_filled(rows * self.width) {
            collapse(filled);
        }
        bucket.due().div_ceil(self.width)
    }

    /// The number of rows that have memory, which is at least the number that was reserved.
    #[must_use]
    pub fn capacity(&self) -> usize {
        let mapped = self
            .buckets
            .iter()
            .take_while(|bucket| !bucket.load(Ordering::Acquire).is_null())
            .count();
        rows_before(mapped)
    }

    /// The bytes of the first `rows` rows, as far as there is memory for them.
    #[must_use]
    pub fn bytes_of(&self, rows: usize) -> usize {
        rows.min(self.capacity()) * self.width * size_of::<T>()
    }

    /// The row at `index`.
    ///
    /// # Panics
    /// Panics if [`Table::ensure`] has not reserved the row.
    #[inline]
    #[must_use]
    pub fn row(&self, index: u32) -> &[T] {
        self.row_at(Place::of(index))
    }

    /// The row at a place.
    ///
    /// # Panics
    /// Panics if [`Table::ensure`] has not reserved the row.
    #[inline]
    #[must_use]
    pub fn row_at(&self, Place { bucket, row }: Place) -> &[T] {
        let values = self.buckets[bucket].load(Ordering::Acquire);
        assert!(!values.is_null(), "the row was ensured before it is read");
        // SAFETY: the bucket holds `rows_of(bucket)` rows of `width` values, and the row of a place is
        // below that number. The memory holds valid values from the start, is let go only when
        // the table is dropped, and no exclusive reference to it is ever made.
        unsafe { slice::from_raw_parts(values.add(row * self.width), self.width) }
    }

    /// The rows from `index` on, at most `count` of them and as far as they lie together, one value
    /// after the other. Empty if the row at `index` has no memory.
    #[inline]
    #[must_use]
    pub fn run(&self, index: u32, count: usize) -> &[T] {
        let Place { bucket, row } = Place::of(index);
        let values = self.buckets[bucket].load(Ordering::Acquire);
        if values.is_null() {
            return &[];
        }
        let rows = count.min(rows_of(bucket) - row);
        // SAFETY: as in `row`; these rows are in the bucket too.
        unsafe { slice::from_raw_parts(values.add(row * self.width), rows * self.width) }
    }

    /// The first value of the row at `index`: the value itself in a table of width 1.
    ///
    /// # Panics
    /// Panics if [`Table::ensure`] has not reserved the row.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u32) -> &T {
        &self.row(index)[0]
    }
}

/// For a table of words that holds one bit for each index: the word that holds the bit of `index`,
/// and the bit.
#[inline]
#[must_use]
pub const fn bit_of(index: u32) -> (u32, u64) {
    (index / u64::BITS, 1 << (index % u64::BITS))
}

/// The indexes whose bits are set in the word at `word`, in ascending order: what [`bit_of`] takes.
#[inline]
pub fn indexes_of(word: u32, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let index = (bits != 0).then(|| word * u64::BITS + bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(index)
    })
}

impl<T> fmt::Debug for Table<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Table of rows of {}", self.width)
    }
}

/// Where the row at an index lies. It is the same place in every table, so that a reader of several
/// tables computes it once: to count the leading zeros of a number is slow on some processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    bucket: usize,
    /// Below [`rows_of`] the bucket.
    row: usize,
}

impl Place {
    /// The place of the row at `index`.
    #[inline]
    #[must_use]
    pub fn of(index: u32) -> Self {
        let shifted = index as usize + FIRST_ROWS;
        let bucket = (shifted.ilog2() - FIRST_ROWS.ilog2()) as usize;
        let row = shifted - rows_of(bucket);
        Place { bucket, row }
    }
}

/// The number of rows in a bucket.
#[inline]
fn rows_of(bucket: usize) -> usize {
    FIRST_ROWS << bucket
}

/// The number of rows in all buckets before this one.
fn rows_before(bucket: usize) -> usize {
    rows_of(bucket) - FIRST_ROWS
}

/// The advice to move pages to huge ones at once. Linux has it since 6.1, but not every C library
/// has a name for it.
#[cfg(target_os = "linux")]
const MADV_COLLAPSE: libc::c_int = 25;

/// Moves bytes of a mapping to huge pages. Without free huge pages they stay where they are; the
/// system may move them later.
#[cfg(target_os = "linux")]
fn collapse(bytes: Range<*mut u8>) {
    // SAFETY: the range is part of a mapping of ours. The system changes nothing that a program can
    // read in it, and threads that access it meanwhile are made to wait.
    unsafe {
        let length = bytes.end.byte_offset_from_unsigned(bytes.start);
        libc::madvise(bytes.start.cast(), length, MADV_COLLAPSE);
    }
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
fn collapse(_: Range<*mut u8>) {}

fn out_of_memory(bucket: usize) -> Error {
    Error::Internal(format!(
        "out of memory for a table bucket of {} rows",
        rows_of(bucket)
    ))
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use std::{
        sync::atomic::{
            AtomicU32,
            Ordering::{Acquire, Relaxed, Release},
        },
        thread,
    };

    use super::*;

    #[test]
    fn rows_tile_the_buckets_without_gap_or_overlap() {
        let mut expected = Place { bucket: 0, row: 0 };
        for index in 0..100_000 {
            assert_eq!(Place::of(index), expected, "row {index}");
            expected.row += 1;
            if expected.row == rows_of(expected.bucket) {
                expected = Place {
                    bucket: expected.bucket + 1,
                    row: 0,
                };
            }
        }
        assert_eq!(Place::of(u32::MAX).bucket, BUCKETS - 1);
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

    /// Rows of 8 KiB, so that the first bucket alone spans four huge pages.
    #[cfg(target_os = "linux")]
    const WIDE: usize = 2048;

    #[cfg(target_os = "linux")]
    fn resident(table: &Table<AtomicU32>) -> usize {
        let start = table.buckets[0].load(Ordering::Acquire).addr();
        crate::sync::memory::resident(&(start..start + FIRST_ROWS * WIDE * size_of::<AtomicU32>()))
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn rows_not_in_use_take_no_memory_whatever_the_pages() {
        let table = Table::<AtomicU32>::new(WIDE);
        for index in 0..600 {
            table.ensure(index as usize + 1).unwrap();
            for value in table.row(index) {
                value.store(index, Relaxed);
            }
            assert_eq!(resident(&table), (index as usize + 1) * 8192);
        }
        for index in 0..600 {
            let mut row = table.row(index).iter();
            assert!(row.all(|value| value.load(Relaxed) == index));
        }
        assert!(table.row(600).iter().all(|value| value.load(Relaxed) == 0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_sparse_table_takes_the_pages_that_are_written_to() {
        let table = Table::<AtomicU32>::sparse(WIDE);
        for index in [3, 300, 900] {
            table.ensure(index as usize + 1).unwrap();
            table.get(index).store(1, Relaxed);
        }
        assert_eq!(resident(&table), 3 * 4096);
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
    fn a_run_ends_with_its_bucket_and_where_there_is_no_memory() {
        let table = Table::<AtomicU32>::new(2);
        assert!(table.run(0, 1).is_empty());
        table.ensure(FIRST_ROWS + 1).unwrap();
        let last = FIRST_ROWS as u32 - 1;
        table.row(last)[1].store(7, Relaxed);
        let run = table.run(last - 1, 64);
        assert_eq!(run.len(), 4);
        assert_eq!(run[3].load(Relaxed), 7);
        assert_eq!(table.run(last + 1, 3).len(), 6);
        assert!(table.run(3 * last + 3, 1).is_empty());
    }

    #[test]
    fn a_row_too_large_for_memory_is_an_error() {
        let table = Table::<AtomicU32>::new(usize::MAX / 2);
        assert!(matches!(table.ensure(1), Err(Error::Internal(_))));
    }

    /// Rows on both sides of where one bucket of a table ends and the next begins.
    #[test]
    fn rows_are_read_while_other_threads_grow_the_table() {
        const ROWS: [u32; 8] = [0, 1, 1022, 1023, 1024, 3071, 3072, 4000];
        let table = Table::<AtomicU32>::new(3);
        let ready = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for row in ROWS {
                        table.ensure(row as usize + 1).unwrap();
                        table.row(row)[2].fetch_add(row + 1, Relaxed);
                        ready.fetch_max(row + 1, Release);
                    }
                });
            }
            scope.spawn(|| {
                while ready.load(Acquire) <= 4000 {
                    let seen = ready.load(Acquire);
                    for row in ROWS.into_iter().filter(|&row| row < seen) {
                        let [first, _, last] = table.row(row) else {
                            panic!("a row holds three values");
                        };
                        assert_eq!(first.load(Relaxed), 0);
                        assert_eq!(last.load(Relaxed) % (row + 1), 0);
                    }
                    thread::yield_now();
                }
            });
        });
        assert!(
            ROWS.iter()
                .all(|&row| table.row(row)[2].load(Relaxed) == 2 * (row + 1))
        );
    }
}
