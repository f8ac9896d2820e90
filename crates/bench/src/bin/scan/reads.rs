//! Plain reads: the highest rate at which one thread can read this memory.
//!
//! Which way is the fastest depends on the processor, and the rates vary over time, so all of them
//! run in every round. Neither prefetching nor reading at several places at once was faster than
//! these.
#![allow(
    unsafe_code,
    reason = "reading by instructions that not every processor has"
)]

use std::{hint::black_box, time::Instant};

use memmap2::MmapMut;
use vectord_engine::Result;

/// The values in eight lines of 64 bytes: with so many sums, loads do not wait for additions.
const STEP: usize = 128;

/// Values in a line.
const LINE: usize = 16;

type Way = fn(&[&[f32]]) -> u32;

/// The vectors in place, and a contiguous copy of them in the largest pages available.
pub struct Reads<'v> {
    vectors: Vec<&'v [f32]>,
    copy: MmapMut,
}

impl<'v> Reads<'v> {
    pub fn new(vectors: Vec<&'v [f32]>) -> Result<Self> {
        let mut copy = MmapMut::map_anon(vectors.iter().map(|vector| size_of_val(*vector)).sum())?;
        // Without large pages, the copy reads like any memory.
        #[cfg(target_os = "linux")]
        drop(copy.advise(memmap2::Advice::HugePage));
        let mut rest = &mut copy[..];
        for vector in &vectors {
            let (place, behind) = rest.split_at_mut(size_of_val(*vector));
            place.copy_from_slice(bytemuck::cast_slice(vector));
            rest = behind;
        }
        Ok(Reads { vectors, copy })
    }

    /// The seconds that each way takes over all vectors, measured when the iterator is advanced.
    pub fn passes(&self) -> impl Iterator<Item = f32> {
        ways().into_iter().flat_map(move |way| {
            let places = [false, true].into_iter();
            places.map(move |is_copy| self.seconds(way, is_copy))
        })
    }

    fn seconds(&self, way: Way, is_copy: bool) -> f32 {
        let copy: [&[f32]; 1] = [bytemuck::cast_slice(&self.copy)];
        let vectors = if is_copy { &copy } else { &self.vectors[..] };
        let start = Instant::now();
        black_box(way(vectors));
        start.elapsed().as_secs_f32()
    }
}

/// The ways that this processor has.
fn ways() -> Vec<Way> {
    #[allow(unused_mut, reason = "there are more on some processors alone")]
    let mut ways: Vec<Way> = vec![touch, add];
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn add_256(vectors: &[&[f32]]) -> u32 {
            add(vectors)
        }
        #[target_feature(enable = "avx512f")]
        fn add_512(vectors: &[&[f32]]) -> u32 {
            add(vectors)
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            ways.push(|vectors| unsafe { add_256(vectors) });
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            ways.push(|vectors| unsafe { add_512(vectors) });
        }
    }
    ways
}

/// Adds up all values as integers, as many at once as the enabled instructions take.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "a call would leave the instructions behind"
)]
fn add(vectors: &[&[f32]]) -> u32 {
    let mut sums = [0_u32; STEP];
    for vector in vectors {
        for step in vector.as_chunks::<STEP>().0 {
            for (sum, value) in sums.iter_mut().zip(step) {
                *sum = sum.wrapping_add(value.to_bits());
            }
        }
    }
    sums.into_iter().fold(0, u32::wrapping_add)
}

/// Adds up one value of each cache line, which reads all lines with the fewest instructions.
fn touch(vectors: &[&[f32]]) -> u32 {
    let mut sums = [0_u32; STEP / LINE];
    for vector in vectors {
        for step in vector.as_chunks::<STEP>().0 {
            for (sum, line) in sums.iter_mut().zip(step.as_chunks::<LINE>().0) {
                *sum = sum.wrapping_add(line[0].to_bits());
            }
        }
    }
    sums.into_iter().fold(0, u32::wrapping_add)
}
