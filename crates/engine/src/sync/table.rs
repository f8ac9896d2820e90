//! A growing table that is read without locks.
//!
//! Rows live in buckets, each with twice as many rows as the one before, so growing never moves a row,
//! and a reference to a row stays valid while other threads make the table grow. A bucket is mapped
//! memory of its own, which begins with a huge page. It moves to huge pages if there are any, since
//! walks read rows all over a table and would miss the translation cache each time. Only huge pages
//! that rows fill are used: the last one would be taken whole for few rows.
#![allow(
    unsafe_code,
    reason = "mapped memory is used as a slice of values while it is shared"
)]

use std::{
    fmt,
    marker::PhantomData,
    ops::Range,
    ptr, slice,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, AtomicUsize, Ordering},
    },
};

use crate::{
    Error, Result,
    sync::{
        Zeroed,
        memory::{HUGE_PAGE_BYTES, Memory},
    },
};

/// The least number of rows in the first bucket, which is at least as large as a huge page.
const FIRST_ROWS: usize = 4;

/// A place for each number of leading zeros.
const BUCKETS: usize = u64::BITS as usize + 1;

/// Rows of `width` values, addressed by `u32`. The values are atomics or otherwise changed through
/// shared references; all of them are zero at first.
pub struct Table<T> {
    width: usize,
    /// The number of rows in the first bucket, a power of two.
    first_rows: u64,
    /// Whether most rows will be written, so that huge pages pay.
    is_dense: bool,
    /// The number of rows up to which [`Table::ensure`] has nothing to do.
    ready: AtomicUsize,
    /// By the leading zeros of `index + first_rows`, where row 0 would begin if all rows before a bucket
    /// were in it, too; null until there is memory.
    buckets: [AtomicPtr<T>; BUCKETS],
    /// The memory of the buckets. Held while a bucket is added.
    memory: Mutex<Vec<Memory<T>>>,
}

impl<T: Sync + Zeroed> Table<T> {
    /// An empty table whose rows hold `width` values.
    #[must_use]
    pub const fn new(width: usize) -> Self {
        let row = width.saturating_mul(size_of::<T>());
        let rows = HUGE_PAGE_BYTES
            .div_ceil(if row == 0 { 1 } else { row })
            .next_power_of_two();
        let first_rows = if rows < FIRST_ROWS { FIRST_ROWS } else { rows };
        Table {
            width,
            first_rows: first_rows as u64,
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
        let last = u32::try_from(last).map_err(|_| out_of_memory(rows))?;
        let last_bucket = self.bucket_of(last);
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        for bucket in memory.len()..=last_bucket {
            let values = self
                .rows_of(bucket)
                .checked_mul(self.width)
                .and_then(Memory::<T>::zeroed)
                .ok_or_else(|| out_of_memory(self.rows_of(bucket)))?;
            let before = self.rows_before(bucket) * self.width;
            self.buckets[zeros(0, self.first_rows) - bucket]
                .store(values.start().wrapping_sub(before), Ordering::Release);
            if let Some(full) = bucket.checked_sub(1) {
                self.use_huge_pages(&mut memory[full], self.rows_of(full));
            }
            memory.push(values);
        }
        // If another thread has reserved a later bucket, that thread has set `ready`.
        if last_bucket + 1 == memory.len() {
            let before = self.rows_before(last_bucket);
            let due = self.use_huge_pages(&mut memory[last_bucket], rows - before);
            let ready = before + due.min(self.rows_of(last_bucket));
            self.ready.store(ready, Ordering::Release);
        }
        Ok(())
    }

    /// The number of the bucket that the row at `index` lies in.
    fn bucket_of(&self, index: u32) -> usize {
        zeros(0, self.first_rows) - zeros(index, self.first_rows)
    }

    /// The number of rows in a bucket.
    fn rows_of(&self, bucket: usize) -> usize {
        (self.first_rows as usize) << bucket
    }

    /// The number of rows in all buckets before this one.
    fn rows_before(&self, bucket: usize) -> usize {
        self.rows_of(bucket) - self.first_rows as usize
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
        let highest = zeros(0, self.first_rows);
        let mapped = self.buckets[..=highest]
            .iter()
            .rev()
            .take_while(|bucket| !bucket.load(Ordering::Acquire).is_null())
            .count();
        self.rows_before(mapped)
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
        self.rows().row(index)
    }

    /// The rows, for a loop that reads many of them.
    #[inline]
    #[must_use]
    pub fn rows(&self) -> Rows<'_, T> {
        Rows {
            buckets: &self.buckets,
            first: self.first_rows,
            width: self.width,
        }
    }

    /// The rows from `index` on, at most `count` of them and as far as they lie together, one value
    /// after the other. Empty if the row at `index` has no memory.
    #[inline]
    #[must_use]
    pub fn run(&self, index: u32, count: usize) -> &[T] {
        let bucket = self.bucket_of(index);
        let values = self.buckets[zeros(index, self.first_rows)].load(Ordering::Acquire);
        if values.is_null() {
            return &[];
        }
        let rows = count.min(self.rows_before(bucket + 1) - index as usize);
        // SAFETY: as in `row`; these rows are in the bucket too.
        unsafe {
            let start = values.wrapping_add(index as usize * self.width);
            slice::from_raw_parts(start, rows * self.width)
        }
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

/// The rows of a table, for loops: a copy of the fields that find a row. The compiler would load those of
/// the table again after each load of an atomic.
#[derive(Debug)]
pub struct Rows<'t, T> {
    buckets: &'t [AtomicPtr<T>; BUCKETS],
    /// The number of rows in the first bucket.
    first: u64,
    width: usize,
}

impl<T> Clone for Rows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rows<'_, T> {}

impl<'t, T: Sync> Rows<'t, T> {
    /// The row at `index`.
    ///
    /// # Panics
    /// Panics if [`Table::ensure`] has not reserved the row.
    #[inline]
    #[must_use]
    pub fn row(self, index: u32) -> &'t [T] {
        // SAFETY: the row is in the bucket, which holds `rows_of(bucket)` rows of `width` values. The
        // memory holds valid values from the start, is let go only when the table is dropped, and
        // no exclusive reference to it is ever made.
        unsafe { slice::from_raw_parts(self.start(index), self.width) }
    }

    /// The rows at these indexes.
    ///
    /// # Panics
    /// Panics if [`Table::ensure`] has not reserved one of them.
    #[inline]
    #[must_use]
    pub fn group<const N: usize>(self, indexes: &[u32; N]) -> Group<'t, T, N> {
        let mut starts = [ptr::null(); N];
        for (start, &index) in starts.iter_mut().zip(indexes) {
            *start = self.start(index);
        }
        Group {
            starts,
            width: self.width,
            values: PhantomData,
        }
    }

    /// Where the row at `index` begins.
    #[inline]
    fn start(self, index: u32) -> *const T {
        let zeros = zeros(index, self.first);
        let values = self.buckets[zeros].load(Ordering::Acquire);
        assert!(!values.is_null(), "the row was ensured before it is read");
        values.wrapping_add(index as usize * self.width)
    }
}

/// Rows of equal width.
#[derive(Clone, Copy, Debug)]
pub struct Group<'t, T, const N: usize> {
    /// Where each begins: there are `width` values that live as long as `'t`.
    starts: [*const T; N],
    width: usize,
    values: PhantomData<&'t [T]>,
}

impl<'t, T, const N: usize> Group<'t, T, N> {
    /// The rows, which must be of equal width.
    ///
    /// # Panics
    /// Panics if they are not.
    #[cfg(any(test, feature = "layers"))]
    #[must_use]
    pub fn of(rows: [&'t [T]; N]) -> Self {
        let width = rows.first().map_or(0, |row| row.len());
        assert!(rows.iter().all(|row| row.len() == width), "of equal width");
        Group {
            starts: rows.map(<[T]>::as_ptr),
            width,
            values: PhantomData,
        }
    }

    /// The number of values in each row.
    #[inline]
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where each row begins.
    #[inline]
    #[must_use]
    pub fn starts(&self) -> &[*const T; N] {
        &self.starts
    }

    /// The row in one place.
    ///
    /// # Panics
    /// Panics if `place` is not below `N`.
    #[inline]
    #[must_use]
    pub fn row(&self, place: usize) -> &'t [T] {
        // SAFETY: there are `width` values from each start, which live as long as `'t`.
        unsafe { slice::from_raw_parts(self.starts[place], self.width) }
    }
}

/// The leading zeros of `index + first_rows`, which tell the bucket that a row lies in.
#[inline]
fn zeros(index: u32, first_rows: u64) -> usize {
    (u64::from(index) + first_rows).leading_zeros() as usize
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

/// The advice to move pages to huge ones at once. Linux has it since 6.1, but not every C library
/// has a name for it.
#[cfg(all(target_os = "linux", not(miri)))]
const MADV_COLLAPSE: libc::c_int = 25;

/// Moves bytes of a mapping to huge pages. Without free huge pages they stay where they are; the
/// system may move them later.
#[cfg(all(target_os = "linux", not(miri)))]
fn collapse(bytes: Range<*mut u8>) {
    // SAFETY: the range is part of a mapping of ours. The system changes nothing that a program can
    // read in it, and threads that access it meanwhile are made to wait.
    unsafe {
        let length = bytes.end.byte_offset_from_unsigned(bytes.start);
        libc::madvise(bytes.start.cast(), length, MADV_COLLAPSE);
    }
}

/// Other systems have no such call.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn collapse(_: Range<*mut u8>) {}

fn out_of_memory(rows: usize) -> Error {
    Error::Internal(format!("out of memory for {rows} rows of a table"))
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

    /// Rows of 64 KiB, so that the first bucket has 32.
    const WIDTH: usize = 16 << 10;
    const FIRST: u32 = 32;

    #[test]
    fn rows_tile_the_buckets_without_gap_or_overlap() {
        let table = Table::<AtomicU32>::new(WIDTH);
        let (mut bucket, mut end) = (0, FIRST as usize);
        for index in 0..100_000 {
            if index == end {
                bucket += 1;
                end += table.rows_of(bucket);
            }
            assert_eq!(table.bucket_of(index as u32), bucket, "row {index}");
            assert_eq!(table.rows_before(bucket + 1), end);
        }
        for width in [1, 1 << 30] {
            let table = Table::<AtomicU32>::new(width);
            let last = table.bucket_of(u32::MAX);
            assert!(u32::try_from(table.rows_before(last)).is_ok());
            assert!(u32::try_from(table.rows_before(last + 1)).is_err());
        }
    }

    #[test]
    fn rows_start_zeroed_and_keep_what_is_stored_while_the_table_grows() {
        let table = Table::<AtomicU32>::new(WIDTH);
        assert_eq!(table.capacity(), 0);
        for index in 0..200 {
            table.ensure(index as usize + 1).unwrap();
            let row = table.row(index);
            assert_eq!(row.len(), WIDTH);
            for place in [0, WIDTH - 1] {
                assert_eq!(row[place].swap(index + 1, Relaxed), 0);
            }
        }
        assert_eq!(table.capacity(), 32 + 64 + 128);
        let stored = |index| [0, WIDTH - 1].map(|place| table.row(index)[place].load(Relaxed));
        assert!((0..200).all(|index| stored(index) == [index + 1; 2]));
    }

    /// Rows of 8 KiB, so that the first bucket has 256.
    #[cfg(target_os = "linux")]
    const WIDE: usize = 2048;

    #[cfg(target_os = "linux")]
    fn resident(table: &Table<AtomicU32>) -> usize {
        let memory = table.memory.lock().unwrap();
        let buckets = memory.iter().enumerate().map(|(bucket, memory)| {
            let start = memory.start().addr();
            start..start + table.rows_of(bucket) * WIDE * size_of::<AtomicU32>()
        });
        buckets
            .map(|addresses| crate::sync::memory::resident(&addresses))
            .sum()
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
    fn the_first_rows_of_a_table_fill_a_huge_page() {
        let table = Table::<AtomicU32>::new(WIDE);
        table.ensure(256).unwrap();
        assert!(table.row(0).as_ptr().addr().is_multiple_of(2 << 20));
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
        let table = Table::<AtomicU32>::new(WIDTH);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for index in 0..200 {
                        table.ensure(index as usize + 1).unwrap();
                        table.get(index).fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert!((0..200).all(|index| table.get(index).load(Relaxed) == 4));
    }

    #[test]
    fn a_run_ends_with_its_bucket_and_where_there_is_no_memory() {
        let table = Table::<AtomicU32>::new(WIDTH);
        assert!(table.run(0, 1).is_empty());
        table.ensure(FIRST as usize + 1).unwrap();
        let last = FIRST - 1;
        table.row(last)[1].store(7, Relaxed);
        let run = table.run(last - 1, 64);
        assert_eq!(run.len(), 2 * WIDTH);
        assert_eq!(run[WIDTH + 1].load(Relaxed), 7);
        assert_eq!(table.run(last + 1, 3).len(), 3 * WIDTH);
        assert!(table.run(3 * FIRST, 1).is_empty());
    }

    #[test]
    fn a_row_too_large_for_memory_is_an_error() {
        let table = Table::<AtomicU32>::new(usize::MAX / 2);
        assert!(matches!(table.ensure(1), Err(Error::Internal(_))));
    }

    /// Rows on both sides of where one bucket of a table ends and the next begins.
    #[test]
    fn rows_are_read_while_other_threads_grow_the_table() {
        const ROWS: [u32; 8] = [0, 1, 30, 31, 32, 95, 96, 200];
        let table = Table::<AtomicU32>::new(WIDTH);
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
                while ready.load(Acquire) <= 200 {
                    let seen = ready.load(Acquire);
                    for row in ROWS.into_iter().filter(|&row| row < seen) {
                        let values = table.row(row);
                        assert_eq!(values[0].load(Relaxed), 0);
                        assert_eq!(values[2].load(Relaxed) % (row + 1), 0);
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
