//! Memory for the tables that threads share.

#[cfg(not(vectord_shuttle))]
pub use mapped::Memory;
#[cfg(vectord_shuttle)]
pub use modelled::Memory;

#[cfg(not(vectord_shuttle))]
mod mapped {
    use std::marker::PhantomData;

    use bytemuck::Zeroable;
    use memmap2::{MmapMut, MmapRaw};

    /// Mappings of at least this size ask for huge pages: the common size of one.
    const HUGE_PAGE_BYTES: usize = 2 << 20;

    /// Memory mapped for so many values: zeroed, aligned to a page, backed only where it is touched
    /// and, where the system can, by huge pages.
    pub struct Memory<T> {
        mapped: MmapRaw,
        values: PhantomData<T>,
    }

    impl<T: Zeroable> Memory<T> {
        /// Maps memory for `length` values; none if there is not so much.
        pub fn zeroed(length: usize) -> Option<Self> {
            const { assert!(align_of::<T>() <= 4096, "a mapping is aligned to a page") };
            let bytes = length.checked_mul(size_of::<T>())?;
            isize::try_from(bytes).ok()?;
            let mapped = MmapMut::map_anon(bytes).ok()?;
            #[cfg(target_os = "linux")]
            if bytes >= HUGE_PAGE_BYTES {
                // Slower without, but as good: some systems have none to give.
                drop(mapped.advise(memmap2::Advice::HugePage));
            }
            Some(Memory {
                mapped: mapped.into(),
                values: PhantomData,
            })
        }

        /// The first value.
        pub fn start(&self) -> *mut T {
            self.mapped.as_mut_ptr().cast()
        }
    }
}

#[cfg(vectord_shuttle)]
mod modelled {
    /// A list of so many values: the model's atomics are not made of plain memory.
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
    }
}
