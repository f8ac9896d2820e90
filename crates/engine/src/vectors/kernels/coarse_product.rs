//! The inner product of coarse codes (vectors quantized to 4 bits a value) with a query: the kernel in
//! which walks of a graph spend most of their time. See
//! [`Simd::coarse_products`](super::Simd::coarse_products).
//!
//! All sums are of integers, so all variants give equal results.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::BLOCK;
use crate::sync::table::Group;

/// The number of codes whose products are computed side by side.
pub const ABREAST: usize = 8;

/// Coarse codes: the upper halves of codes (see [`Halves`](super::Halves)), and perhaps more behind each.
pub type CoarseCodes<'a> = Group<'a, AtomicU64, ABREAST>;

/// The halves of a query, in whole blocks: what the lower 4 bits of a code are multiplied with, and the
/// upper ones. No code is shorter than a half.
#[inline]
fn halves_of<'q>(query: &'q [i8], codes: &CoarseCodes) -> (&'q [i8], &'q [i8]) {
    let (first, second) = query.split_at(query.len() / 2);
    assert!(
        first.len().is_multiple_of(BLOCK) && first.len() == second.len(),
        "a query of whole blocks"
    );
    assert!(
        first.len() <= size_of::<AtomicU64>() * codes.width(),
        "codes as long as the query"
    );
    (first, second)
}

/// The reference that every other variant is tested against.
pub(super) fn plain(query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST] {
    let (first, second) = halves_of(query, codes);
    std::array::from_fn(|place| {
        let bytes = codes
            .row(place)
            .iter()
            .flat_map(|word| word.load(Relaxed).to_ne_bytes());
        let values = bytes
            .zip(first.iter().zip(second))
            .map(|(byte, (&low, &high))| {
                i32::from(byte & 15) * i32::from(low) + i32::from(byte >> 4) * i32::from(high)
            });
        values.sum()
    })
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use std::{
        arch::x86_64::{
            __m256i, __m512i, _CMP_LE_OQ, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256,
            _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_dpbusd_avx_epi32,
            _mm256_hadd_epi32, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
            _mm256_maddubs_epi16, _mm256_movemask_ps, _mm256_permute2x128_si256, _mm256_set_epi64x,
            _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_ps, _mm256_setzero_si256,
            _mm256_shuffle_ps, _mm256_srli_epi16, _mm256_storeu_si256, _mm512_and_si512,
            _mm512_castsi512_si256, _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64,
            _mm512_maskz_loadu_epi64, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_srli_epi16,
        },
        sync::atomic::AtomicU64,
    };

    use super::{ABREAST, CoarseCodes, halves_of};

    /// The bytes of a block.
    const BYTES: usize = 32;

    /// The blocks whose products of 16 bits cannot overflow: 8 sums of two products of at most 15 and
    /// 127.
    const BLOCKS: usize = 4;

    #[inline]
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
    pub fn avx512_vnni(query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST] {
        let lower = _mm512_set1_epi8(0x0F);
        let (first, second) = halves_of(query, codes);
        let words = first.len() / size_of::<AtomicU64>();
        let mut sums = [_mm512_setzero_si512(); ABREAST];
        let mut at = 0;
        while at < words {
            let mask = u8::MAX >> 8_usize.saturating_sub(words - at);
            // SAFETY: the mask keeps the loads within the query and the codes.
            let load = |start: *const AtomicU64| unsafe {
                _mm512_maskz_loadu_epi64(mask, start.wrapping_add(at).cast())
            };
            let (first, second) = (load(first.as_ptr().cast()), load(second.as_ptr().cast()));
            for (sum, &start) in sums.iter_mut().zip(codes.starts()) {
                let code = load(start);
                let high = _mm512_and_si512(_mm512_srli_epi16::<4>(code), lower);
                *sum = _mm512_dpbusd_epi32(*sum, _mm512_and_si512(code, lower), first);
                *sum = _mm512_dpbusd_epi32(*sum, high, second);
            }
            at += 8;
        }
        let mut halves = [_mm256_setzero_si256(); ABREAST];
        for (half, sum) in halves.iter_mut().zip(sums) {
            *half = halved(sum);
        }
        sums_of_lanes(halves)
    }

    /// The sums of the lanes of both halves.
    #[inline]
    #[target_feature(enable = "avx2,avx512f")]
    fn halved(sums: __m512i) -> __m256i {
        let high = _mm512_extracti64x4_epi64::<1>(sums);
        _mm256_add_epi32(_mm512_castsi512_si256(sums), high)
    }

    #[inline]
    #[target_feature(enable = "avx2,avxvnni")]
    pub fn avx_vnni(query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST] {
        let (first, second) = halves_of(query, codes);
        let mut sums = [_mm256_setzero_si256(); ABREAST];
        let mut at = 0;
        while at < first.len() {
            // SAFETY: the halves of the query are whole blocks, and `at` is below their length.
            let (first, second) = unsafe { (load(first.as_ptr(), at), load(second.as_ptr(), at)) };
            for (sum, &start) in sums.iter_mut().zip(codes.starts()) {
                // SAFETY: a code is as long as a half of the query.
                let [low, high] = unsafe { values(start, at) };
                *sum = _mm256_dpbusd_avx_epi32(*sum, low, first);
                *sum = _mm256_dpbusd_avx_epi32(*sum, high, second);
            }
            at += BYTES;
        }
        sums_of_lanes(sums)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn avx2(query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST] {
        let (first, second) = halves_of(query, codes);
        let ones = _mm256_set1_epi16(1);
        let mut sums = [_mm256_setzero_si256(); ABREAST];
        let mut at = 0;
        while at < first.len() {
            let end = first.len().min(at + BLOCKS * BYTES);
            let mut parts = [_mm256_setzero_si256(); ABREAST];
            while at < end {
                // SAFETY: the halves of the query are whole blocks, and `at` is below their length.
                let (first, second) =
                    unsafe { (load(first.as_ptr(), at), load(second.as_ptr(), at)) };
                for (part, &start) in parts.iter_mut().zip(codes.starts()) {
                    // SAFETY: a code is as long as a half of the query.
                    let [low, high] = unsafe { values(start, at) };
                    let products = _mm256_add_epi16(
                        _mm256_maddubs_epi16(low, first),
                        _mm256_maddubs_epi16(high, second),
                    );
                    *part = _mm256_add_epi16(*part, products);
                }
                at += BYTES;
            }
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(part, ones));
            }
        }
        sums_of_lanes(sums)
    }

    /// The block at an offset in bytes.
    ///
    /// # Safety
    /// There are so many bytes from `start` on, and those of the block.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load<T>(start: *const T, at: usize) -> __m256i {
        // SAFETY: the bytes are there; the load takes any alignment.
        unsafe { _mm256_loadu_si256(start.byte_add(at).cast()) }
    }

    /// The values of a block of a code: those of the lower 4 bits, and those of the upper.
    ///
    /// # Safety
    /// As that of [`load`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn values(code: *const AtomicU64, at: usize) -> [__m256i; 2] {
        let lower = _mm256_set1_epi8(0x0F);
        // SAFETY: as the caller says.
        let bytes = unsafe { load(code, at) };
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), lower);
        [_mm256_and_si256(bytes, lower), high]
    }

    /// The sums of the lanes of each.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn sums_of_lanes(sums: [__m256i; ABREAST]) -> [i32; ABREAST] {
        let pairs = [0, 2, 4, 6].map(|at| _mm256_hadd_epi32(sums[at], sums[at + 1]));
        let [first, second] = [0, 2].map(|at| _mm256_hadd_epi32(pairs[at], pairs[at + 1]));
        let sums = _mm256_add_epi32(
            _mm256_permute2x128_si256::<0x20>(first, second),
            _mm256_permute2x128_si256::<0x31>(first, second),
        );
        let mut found = [0; ABREAST];
        // SAFETY: the array holds the 32 bytes that are written; the store takes any alignment.
        unsafe { _mm256_storeu_si256(found.as_mut_ptr().cast(), sums) }
        found
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn halves(words: [u64; ABREAST]) -> [[u32; ABREAST]; 2] {
        let words = words.map(u64::cast_signed);
        // The shuffles take pairs from each half of both in turn.
        let [first, second] = [0, 2].map(|at| {
            let words = _mm256_set_epi64x(words[at + 5], words[at + 4], words[at + 1], words[at]);
            _mm256_castsi256_ps(words)
        });
        let upper = _mm256_castps_si256(_mm256_shuffle_ps::<0xDD>(first, second));
        let lower = _mm256_castps_si256(_mm256_shuffle_ps::<0x88>(first, second));
        let mut found = [[0; ABREAST]; 2];
        // SAFETY: the arrays hold the 32 bytes that are written; the store takes any alignment.
        unsafe {
            _mm256_storeu_si256(found[0].as_mut_ptr().cast(), upper);
            _mm256_storeu_si256(found[1].as_mut_ptr().cast(), lower);
        }
        found
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn at_most(values: [f32; ABREAST], most: f32) -> u64 {
        // SAFETY: the array holds the 32 bytes that are read; the load takes any alignment.
        let values = unsafe { _mm256_loadu_ps(values.as_ptr()) };
        let are = _mm256_cmp_ps::<_CMP_LE_OQ>(values, _mm256_set1_ps(most));
        u64::from(_mm256_movemask_ps(are).cast_unsigned())
    }
}

#[cfg(target_arch = "aarch64")]
pub(super) mod arm {
    use std::arch::aarch64::{
        vaddvq_s32, vandq_u8, vdupq_n_s16, vdupq_n_s32, vdupq_n_u8, vget_high_s8, vget_low_s8,
        vld1q_s8, vld1q_u8, vmlal_s8, vpadalq_s16, vreinterpretq_s8_u8, vshrq_n_u8,
    };

    use super::{ABREAST, CoarseCodes, halves_of};

    /// The bytes of a block.
    const BYTES: usize = 16;

    /// The blocks whose products of 16 bits cannot overflow: 16 products of at most 15 and 127.
    const BLOCKS: usize = 4;

    #[inline]
    #[target_feature(enable = "neon")]
    pub fn neon(query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST] {
        let (first, second) = halves_of(query, codes);
        let lower = vdupq_n_u8(15);
        let mut sums = [vdupq_n_s32(0); ABREAST];
        let mut at = 0;
        while at < first.len() {
            let end = first.len().min(at + BLOCKS * BYTES);
            let mut parts = [vdupq_n_s16(0); ABREAST];
            while at < end {
                // SAFETY: the block is within the query, and a load takes any alignment.
                let [low, high] =
                    [first, second].map(|half| unsafe { vld1q_s8(half.as_ptr().add(at)) });
                for (part, &start) in parts.iter_mut().zip(codes.starts()) {
                    // SAFETY: the block is within the code, which is as long as the query.
                    let bytes = unsafe { vld1q_u8(start.cast::<u8>().add(at)) };
                    let a = vreinterpretq_s8_u8(vandq_u8(bytes, lower));
                    let b = vreinterpretq_s8_u8(vshrq_n_u8::<4>(bytes));
                    *part = vmlal_s8(*part, vget_low_s8(a), vget_low_s8(low));
                    *part = vmlal_s8(*part, vget_high_s8(a), vget_high_s8(low));
                    *part = vmlal_s8(*part, vget_low_s8(b), vget_low_s8(high));
                    *part = vmlal_s8(*part, vget_high_s8(b), vget_high_s8(high));
                }
                at += BYTES;
            }
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum = vpadalq_s16(*sum, part);
            }
        }
        sums.map(|sum| vaddvq_s32(sum))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use proptest::{array::uniform8, collection::vec, prelude::*};

    use super::*;
    use crate::vectors::kernels::{Computation, InstructionSet, Simd, compute};

    struct Products<'p>(&'p [i8], &'p CoarseCodes<'p>);

    impl Computation for Products<'_> {
        type Output = [i32; ABREAST];

        fn compute<S: Simd>(self, simd: S) -> [i32; ABREAST] {
            simd.coarse_products(self.0, self.1)
        }
    }

    fn agree(query: &[i8], codes: &[Vec<u64>; ABREAST]) {
        let codes = codes
            .each_ref()
            .map(|code| code.iter().copied().map(AtomicU64::new).collect::<Vec<_>>());
        let codes = Group::of(codes.each_ref().map(Vec::as_slice));
        let expected = plain(query, &codes);
        for set in InstructionSet::available() {
            let words = codes.width();
            let found = set.compute(Products(query, &codes));
            assert_eq!(found, expected, "{set:?}, {words} words");
        }
    }

    fn value() -> impl Strategy<Value = i8> {
        prop_oneof![Just(127), Just(-127), -127..=127_i8]
    }

    proptest! {
        #[test]
        fn every_variant_gives_the_same_products(
            (query, codes) in (1..9_usize).prop_flat_map(|blocks| {
                let words = vec(prop_oneof![Just(u64::MAX), any::<u64>()], blocks * BLOCK / 8);
                (vec(value(), 2 * blocks * BLOCK), uniform8(words))
            }),
        ) {
            agree(&query, &codes);
        }
    }

    #[test]
    fn the_greatest_products_do_not_overflow() {
        let bytes = 32_768;
        let codes = [0; ABREAST].map(|_| vec![u64::MAX; bytes / 8]);
        agree(&vec![127; 2 * bytes], &codes);
        agree(&vec![-127; 2 * bytes], &codes);
    }

    #[test]
    fn the_lower_bits_belong_to_the_first_half_of_the_query() {
        let mut code = [0; 4].map(AtomicU64::new);
        code[0] = AtomicU64::new(u64::from_ne_bytes([0x21, 0x0F, 0, 0, 0, 0, 0, 0]));
        let mut query = [0; 64];
        (query[0], query[1], query[32]) = (3, -127, 5);
        let products = compute(Products(&query, &Group::of([&code; ABREAST])));
        assert_eq!(products, [3 - 15 * 127 + 2 * 5; ABREAST]);
    }

    #[test]
    fn what_is_no_whole_block_or_longer_than_the_codes_is_never_read() {
        let code: Vec<_> = (0..4).map(AtomicU64::new).collect();
        for set in InstructionSet::available() {
            for values in [62, 66, 128] {
                let query = vec![1; values];
                let codes = Group::of([&*code; ABREAST]);
                let read = || set.compute(Products(&query, &codes));
                assert!(
                    catch_unwind(AssertUnwindSafe(read)).is_err(),
                    "{set:?}, {values}"
                );
            }
        }
    }
}
