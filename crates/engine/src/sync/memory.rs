//! Memory for the tables that threads share.

#[cfg(not(vectord_shuttle))]
pub use mapped::Memory;
#[cfg(vectord_shuttle)]
pub use modelled::Memory;

#[cfg(not(vectord_shuttle))]
mod mapped {
    use std::{marker::PhantomData, ops::Range};

    use bytemuck::Zeroable;
    use memmap2::{MmapMut, MmapRaw};

    /// The common size of a huge page.
    const HUGE_PAGE_BYTES: usize = 2 << 20;

    /// Memory mapped for a number of values: zeroed, aligned to a page, and backed only where it is
    /// written.
    pub struct Memory<T> {
        mapped: MmapRaw,
        /// Where the part begins that is not on huge pages yet.
        rest: usize,
        values: PhantomData<T>,
    }

    impl<T: Zeroable> Memory<T> {
        /// Maps memory for `length` values. None if there is too little.
        pub fn zeroed(length: usize) -> Option<Self> {
            const { assert!(align_of::<T>() <= 4096, "a mapping is aligned to a page") };
            let mut bytes = length.checked_mul(size_of::<T>())?;
            if bytes >= HUGE_PAGE_BYTES {
                // Systems that align a mapping to huge pages do so if it consists of them.
                bytes = bytes.checked_next_multiple_of(HUGE_PAGE_BYTES)?;
            }
            isize::try_from(bytes).ok()?;
            let mapped = MmapMut::map_anon(bytes).ok()?;
            #[cfg(target_os = "linux")]
            if bytes >= HUGE_PAGE_BYTES {
                // Where all memory is on huge pages, the last one would be taken whole for a row.
                drop(mapped.advise(memmap2::Advice::NoHugePage));
            }
            let rest = mapped.as_ptr().align_offset(HUGE_PAGE_BYTES);
            Some(Memory {
                mapped: mapped.into(),
                rest,
                values: PhantomData,
            })
        }

        /// The first value.
        pub fn start(&self) -> *mut T {
            self.mapped.as_mut_ptr().cast()
        }

        /// The bytes that may be put on huge pages, now that the first `used` values are in use:
        /// those not given out before, as far as they fill such pages.
        pub fn fill(&mut self, used: usize) -> Option<Range<*mut u8>> {
            let end = (used * size_of::<T>()).min(self.mapped.len());
            let bytes = end.saturating_sub(self.rest) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
            if bytes == 0 {
                return None;
            }
            #[cfg(target_os = "linux")]
            // Without huge pages it is slower, but as good: some systems have none.
            drop(
                self.mapped
                    .advise_range(memmap2::Advice::HugePage, self.rest, bytes),
            );
            let start = self.mapped.as_mut_ptr().wrapping_add(self.rest);
            self.rest += bytes;
            Some(start..start.wrapping_add(bytes))
        }

        /// The number of used values from which on [`Memory::fill`] finds more to move.
        pub fn due(&self) -> usize {
            (self.rest + HUGE_PAGE_BYTES).div_ceil(size_of::<T>())
        }
    }
}

#[cfg(vectord_shuttle)]
mod modelled {
    use std::ops::Range;

    /// A list of values. The atomics of the model cannot be made from plain memory.
    pub struct Memory<T>(Box<[T]>);

    impl<T: Default> Memory<T> {
        /// Makes a list of `length` values.
        pub fn zeroed(length: usize) -> Option<Self> {
            let values = std::iter::repeat_with(T::default);
            Some(Memory(values.take(length).collect()))
        }

        /// The first value.
        pub fn start(&self) -> *mut T {
            self.0.as_ptr().cast_mut()
        }

        /// Nothing: there are no pages.
        pub fn fill(&mut self, _used: usize) -> Option<Range<*mut u8>> {
            None
        }

        /// Never.
        pub fn due(&self) -> usize {
            usize::MAX
        }
    }
}

/// Bytes within a range of addresses that are in the memory of this process.
#[cfg(test)]
#[cfg(target_os = "linux")]
pub fn resident(addresses: &std::ops::Range<usize>) -> usize {
    use std::os::unix::fs::FileExt;

    const ENTRY: usize = size_of::<u64>();
    /// Of what the system tells of a page: whether it is there.
    const PRESENT: u64 = 1 << 63;

    let page = rustix::param::page_size();
    let pages = addresses.start / page..addresses.end.div_ceil(page);
    let mut entries = vec![0; pages.len() * ENTRY];
    let map = std::fs::File::open("/proc/self/pagemap").unwrap();
    map.read_exact_at(&mut entries, (pages.start * ENTRY) as u64)
        .unwrap();
    let (entries, _) = entries.as_chunks::<ENTRY>();
    let is_present = |&&entry: &&[u8; ENTRY]| u64::from_ne_bytes(entry) & PRESENT != 0;
    entries.iter().filter(is_present).count() * page
}
