//! Memory for the buckets of a [`Table`](super::table::Table): address space is reserved at once
//! for all values, pages are taken from the system as they are written from the front, and moved to
//! huge pages as they fill. Compiled for the model checker ([`crate::sync`]), it is a plain list
//! instead.

#[cfg(not(feature = "shuttle"))]
pub use mapped::Memory;
#[cfg(feature = "shuttle")]
pub use modelled::Memory;

/// The common size of a huge page. It is small under the model checker, so that tables grow.
pub const HUGE_PAGE_BYTES: usize = if cfg!(feature = "shuttle") {
    1
} else {
    2 << 20
};

#[cfg(not(feature = "shuttle"))]
mod mapped {
    use std::{marker::PhantomData, ops::Range};

    use bytemuck::Zeroable;
    use memmap2::{MmapMut, MmapRaw};

    use super::HUGE_PAGE_BYTES;

    /// Memory for a number of values, mapped and zeroed: the system provides each page when it is
    /// first written. Values are never dropped.
    pub struct Memory<T> {
        mapped: MmapRaw,
        /// The offset in bytes of the first value: a boundary of a huge page.
        offset: usize,
        /// The bytes of values for which the system was advised to use huge pages.
        advised: usize,
        values: PhantomData<T>,
    }

    impl<T: Zeroable> Memory<T> {
        /// Maps memory for `length` values. None if the system refuses, or if the size overflows.
        pub fn zeroed(length: usize) -> Option<Self> {
            const { assert!(align_of::<T>() <= 4096, "a mapping is aligned to a page") };
            let bytes = length.checked_mul(size_of::<T>())?;
            // Wherever the mapping begins, the values fit behind the next boundary of a huge page.
            let bytes = bytes.checked_add(HUGE_PAGE_BYTES)?;
            isize::try_from(bytes).ok()?;
            let mapped = MmapMut::map_anon(bytes).ok()?;
            // Miri knows no advice.
            #[cfg(all(target_os = "linux", not(miri)))]
            // A system that uses huge pages by default would provide 2 MiB for the first value that is
            // written to them. The advice fails on a system without huge pages.
            drop(mapped.advise(memmap2::Advice::NoHugePage));
            let offset = mapped.as_ptr().align_offset(HUGE_PAGE_BYTES);
            Some(Memory {
                mapped: mapped.into(),
                offset,
                advised: 0,
                values: PhantomData,
            })
        }

        /// A pointer to the first value.
        pub fn start(&self) -> *mut T {
            self.mapped.as_mut_ptr().wrapping_add(self.offset).cast()
        }

        /// Advises the system to use huge pages for the part that the first `used` values fill, as
        /// far as no earlier call did. Returns this part, or None if there is none. The caller then
        /// makes the system move what has been written there already.
        pub fn advise_filled(&mut self, used: usize) -> Option<Range<*mut u8>> {
            let filled = used * size_of::<T>() / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
            let (from, bytes) = (self.advised, filled.saturating_sub(self.advised));
            if bytes == 0 {
                return None;
            }
            #[cfg(all(target_os = "linux", not(miri)))]
            // A failure is ignored: without huge pages everything works, only slower.
            drop(
                self.mapped
                    .advise_range(memmap2::Advice::HugePage, self.offset + from, bytes),
            );
            self.advised = filled;
            let start = self.start().cast::<u8>().wrapping_add(from);
            Some(start..start.wrapping_add(bytes))
        }

        /// The number of used values from which on [`Memory::advise_filled`] finds another huge
        /// page to advise. It may exceed the length: then there is none.
        pub fn due(&self) -> usize {
            (self.advised + HUGE_PAGE_BYTES).div_ceil(size_of::<T>())
        }
    }
}

#[cfg(feature = "shuttle")]
mod modelled {
    use std::ops::Range;

    /// A list of values. The model checker's atomics are not valid as zeroed bytes, so that each is
    /// made by its default, which is zero.
    pub struct Memory<T>(Box<[T]>);

    impl<T: Default> Memory<T> {
        /// Makes a list of `length` values.
        pub fn zeroed(length: usize) -> Option<Self> {
            let values = std::iter::repeat_with(T::default);
            Some(Memory(values.take(length).collect()))
        }

        /// A pointer to the first value, through which only values that are atomic change.
        pub fn start(&self) -> *mut T {
            self.0.as_ptr().cast_mut()
        }

        /// None: there are no pages to advise.
        pub fn advise_filled(&mut self, _used: usize) -> Option<Range<*mut u8>> {
            None
        }

        /// More than there can be: no page is ever advised.
        pub fn due(&self) -> usize {
            usize::MAX
        }
    }
}

/// The bytes of the pages of a range of addresses that are in physical memory.
#[cfg(test)]
#[cfg(target_os = "linux")]
pub fn resident(addresses: &std::ops::Range<usize>) -> usize {
    use std::os::unix::fs::FileExt;

    const ENTRY: usize = size_of::<u64>();
    /// The bit of a page's entry in the page map that says that the page is in physical memory.
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
