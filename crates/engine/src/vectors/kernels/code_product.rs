//! The inner product of whole codes (vectors quantized to 8 bits a value), see
//! [`Simd::code_products`](super::Simd::code_products).
//!
//! All sums are of integers, so all variants give equal results.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A code in two halves of equal length `[bytes]`, a multiple of [`BLOCK`]: the upper and the lower
/// 4 bits of each value. The lower 4 bits of byte `i` of a half belong to value `i`, its upper 4
/// bits to value `bytes + i`.
///
/// A code is written before any other thread learns of its slot, and is not written again while any
/// thread may read it. The words are atomic so that writing them needs no unsafe code; the kernels
/// read them as plain memory.
#[derive(Clone, Copy, Debug)]
pub struct Halves<'a> {
    /// The upper 4 bits of each value.
    pub upper: &'a [AtomicU64],
    /// The lower 4 bits of each value.
    pub lower: &'a [AtomicU64],
}

/// The bytes that a half is a multiple of.
pub const BLOCK: usize = 32;

impl<'a> Halves<'a> {
    /// The halves of no values.
    pub const NONE: Halves<'static> = Halves {
        upper: &[],
        lower: &[],
    };

    /// The first `words` words of both halves.
    ///
    /// # Panics
    /// Panics if there are fewer.
    #[inline]
    fn first(self, words: usize) -> Halves<'a> {
        Halves {
            upper: &self.upper[..words],
            lower: &self.lower[..words],
        }
    }

    /// The values, word by word: the 8 that the lower bits of a word belong to, then the 8 of its
    /// upper bits.
    fn values(self) -> impl Iterator<Item = [u8; 16]> {
        self.upper.iter().zip(self.lower).map(|(upper, lower)| {
            let upper = upper.load(Relaxed).to_ne_bytes();
            let lower = lower.load(Relaxed).to_ne_bytes();
            std::array::from_fn(|index| match index.checked_sub(8) {
                None => upper[index] << 4 | lower[index] & 0x0F,
                Some(index) => upper[index] & 0xF0 | lower[index] >> 4,
            })
        })
    }
}

/// The reference that every other variant is tested against.
pub(super) fn plain(b: Halves, codes: &[Halves], products: &mut [i32]) {
    for (a, product) in codes.iter().zip(products) {
        *product = plain_product(a.first(b.upper.len()), b);
    }
}

fn plain_product(a: Halves, b: Halves) -> i32 {
    let product = |(a, b): ([u8; 16], [u8; 16])| -> i32 {
        let products = a
            .into_iter()
            .zip(b)
            .map(|(a, b)| i32::from(a) * (i32::from(b) - 128));
        products.sum()
    };
    // Partial sums may leave the range of the total.
    a.values()
        .zip(b.values())
        .map(product)
        .fold(0, i32::wrapping_add)
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32,
        _mm256_add_epi32, _mm256_and_si256, _mm256_castsi256_si128, _mm256_cvtepi8_epi16,
        _mm256_cvtepu8_epi16, _mm256_dpbusd_avx_epi32, _mm256_extracti128_si256,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_or_si256, _mm256_set1_epi8,
        _mm256_setzero_si256, _mm256_slli_epi16, _mm256_srli_epi16, _mm256_xor_si256,
        _mm512_add_epi32, _mm512_and_si512, _mm512_dpbusd_epi32, _mm512_maskz_loadu_epi64,
        _mm512_or_si512, _mm512_reduce_add_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
        _mm512_slli_epi16, _mm512_srli_epi16, _mm512_xor_si512,
    };

    use super::Halves;

    /// The lower 4 bits of each byte.
    const LOWER: u64 = 0x0F0F_0F0F_0F0F_0F0F;

    /// Turns an unsigned byte into a signed one, smaller by 128.
    const FLIP: u64 = 0x8080_8080_8080_8080;

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    #[inline]
    pub fn avx512_vnni(b: Halves, codes: &[Halves], products: &mut [i32]) {
        for (a, product) in codes.iter().zip(products) {
            *product = avx512_vnni_product(a.first(b.upper.len()), b.first(b.upper.len()));
        }
    }

    /// 128 values at a time. The slices are equally long.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn avx512_vnni_product(a: Halves, b: Halves) -> i32 {
        let lower = _mm512_set1_epi64(LOWER.cast_signed());
        let upper = _mm512_set1_epi64((!LOWER).cast_signed());
        let flip = _mm512_set1_epi64(FLIP.cast_signed());
        let first = |high: __m512i, low: __m512i| {
            let high = _mm512_and_si512(_mm512_slli_epi16::<4>(high), upper);
            _mm512_or_si512(high, _mm512_and_si512(low, lower))
        };
        let second = |high: __m512i, low: __m512i| {
            let low = _mm512_and_si512(_mm512_srli_epi16::<4>(low), lower);
            _mm512_or_si512(_mm512_and_si512(high, upper), low)
        };
        let mut sums = [_mm512_setzero_si512(); 2];
        let words = a.upper.len();
        for at in (0..words).step_by(8) {
            let mask = u8::MAX >> 8_usize.saturating_sub(words - at);
            // SAFETY: the mask keeps the loads within the slices.
            let load = |from: &[std::sync::atomic::AtomicU64]| unsafe {
                _mm512_maskz_loadu_epi64(mask, from.as_ptr().add(at).cast())
            };
            let (a_upper, a_lower) = (load(a.upper), load(a.lower));
            let (b_upper, b_lower) = (load(b.upper), load(b.lower));
            // Values past the end are 0 in `a`, so that those of `b` do not matter.
            let b_first = _mm512_xor_si512(first(b_upper, b_lower), flip);
            let b_second = _mm512_xor_si512(second(b_upper, b_lower), flip);
            sums[0] = _mm512_dpbusd_epi32(sums[0], first(a_upper, a_lower), b_first);
            sums[1] = _mm512_dpbusd_epi32(sums[1], second(a_upper, a_lower), b_second);
        }
        _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
    }

    #[target_feature(enable = "avx2,avxvnni")]
    #[inline]
    pub fn avx_vnni(b: Halves, codes: &[Halves], products: &mut [i32]) {
        for (a, product) in codes.iter().zip(products) {
            *product = fold(a.first(b.upper.len()), b, |sum, a, b| {
                _mm256_dpbusd_avx_epi32(sum, a, b)
            });
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn avx2(b: Halves, codes: &[Halves], products: &mut [i32]) {
        for (a, product) in codes.iter().zip(products) {
            // Widened to 16 bits: the byte-wise instruction of AVX2 would saturate.
            *product = fold(a.first(b.upper.len()), b, |sum, a, b| {
                let low = _mm256_madd_epi16(
                    _mm256_cvtepu8_epi16(_mm256_castsi256_si128(a)),
                    _mm256_cvtepi8_epi16(_mm256_castsi256_si128(b)),
                );
                let high = _mm256_madd_epi16(
                    _mm256_cvtepu8_epi16(_mm256_extracti128_si256::<1>(a)),
                    _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(b)),
                );
                _mm256_add_epi32(sum, _mm256_add_epi32(low, high))
            });
        }
    }

    /// 64 values at a time.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn fold(a: Halves, b: Halves, step: impl Fn(__m256i, __m256i, __m256i) -> __m256i) -> i32 {
        let lower = _mm256_set1_epi8(0x0F);
        let upper = _mm256_set1_epi8(0xF0_u8.cast_signed());
        let flip = _mm256_set1_epi8(i8::MIN);
        let first = |high: __m256i, low: __m256i| {
            let high = _mm256_and_si256(_mm256_slli_epi16::<4>(high), upper);
            _mm256_or_si256(high, _mm256_and_si256(low, lower))
        };
        let second = |high: __m256i, low: __m256i| {
            let low = _mm256_and_si256(_mm256_srli_epi16::<4>(low), lower);
            _mm256_or_si256(_mm256_and_si256(high, upper), low)
        };
        let mut sums = [_mm256_setzero_si256(); 2];
        let a = a
            .upper
            .as_chunks::<4>()
            .0
            .iter()
            .zip(a.lower.as_chunks::<4>().0);
        let b = b
            .upper
            .as_chunks::<4>()
            .0
            .iter()
            .zip(b.lower.as_chunks::<4>().0);
        for ((a_upper, a_lower), (b_upper, b_lower)) in a.zip(b) {
            // SAFETY: the arrays hold the 32 bytes that are read; the load takes any alignment.
            let load = |from: &[std::sync::atomic::AtomicU64; 4]| unsafe {
                _mm256_loadu_si256(from.as_ptr().cast())
            };
            let (a_upper, a_lower) = (load(a_upper), load(a_lower));
            let (b_upper, b_lower) = (load(b_upper), load(b_lower));
            let b_first = _mm256_xor_si256(first(b_upper, b_lower), flip);
            let b_second = _mm256_xor_si256(second(b_upper, b_lower), flip);
            sums[0] = step(sums[0], first(a_upper, a_lower), b_first);
            sums[1] = step(sums[1], second(a_upper, a_lower), b_second);
        }
        let sum = _mm256_add_epi32(sums[0], sums[1]);
        sum_of_lanes(_mm_add_epi32(
            _mm256_castsi256_si128(sum),
            _mm256_extracti128_si256::<1>(sum),
        ))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum_of_lanes(lanes: __m128i) -> i32 {
        let pairs = _mm_add_epi32(lanes, _mm_shuffle_epi32::<0b01_00_11_10>(lanes));
        let sum = _mm_add_epi32(pairs, _mm_shuffle_epi32::<0b10_11_00_01>(pairs));
        _mm_cvtsi128_si32(sum)
    }
}

#[cfg(target_arch = "aarch64")]
pub(super) mod arm {
    use std::{
        arch::aarch64::{
            int32x4_t, uint8x16_t, vaddq_s32, vaddvq_s32, vdupq_n_s32, vdupq_n_u8, veorq_u8,
            vget_high_s8, vget_high_s16, vget_high_u8, vget_low_s8, vget_low_s16, vget_low_u8,
            vld1q_u8, vmlal_s16, vmovl_s8, vmovl_u8, vreinterpretq_s8_u8, vreinterpretq_s16_u16,
            vsliq_n_u8, vsriq_n_u8,
        },
        sync::atomic::AtomicU64,
    };

    use super::Halves;

    #[target_feature(enable = "neon")]
    #[inline]
    pub fn neon(b: Halves, codes: &[Halves], products: &mut [i32]) {
        for (a, product) in codes.iter().zip(products) {
            *product = neon_product(a.first(b.upper.len()), b);
        }
    }

    /// 32 values at a time, widened to 16 bits.
    #[inline]
    #[target_feature(enable = "neon")]
    fn neon_product(a: Halves, b: Halves) -> i32 {
        let mut sums = [vdupq_n_s32(0); 2];
        let a = a
            .upper
            .as_chunks::<2>()
            .0
            .iter()
            .zip(a.lower.as_chunks::<2>().0);
        let b = b
            .upper
            .as_chunks::<2>()
            .0
            .iter()
            .zip(b.lower.as_chunks::<2>().0);
        for ((a_upper, a_lower), (b_upper, b_lower)) in a.zip(b) {
            // SAFETY: the arrays hold the 16 bytes that are read; the load takes any alignment.
            let load = |from: &[AtomicU64; 2]| unsafe { vld1q_u8(from.as_ptr().cast()) };
            let (a_upper, a_lower) = (load(a_upper), load(a_lower));
            let (b_upper, b_lower) = (load(b_upper), load(b_lower));
            // The second operand is shifted in above, or below, the 4 bits of the first that stay.
            let first = |high, low: uint8x16_t| vsliq_n_u8::<4>(low, high);
            let second = |high, low: uint8x16_t| vsriq_n_u8::<4>(high, low);
            sums[0] = step(sums[0], first(a_upper, a_lower), first(b_upper, b_lower));
            sums[1] = step(sums[1], second(a_upper, a_lower), second(b_upper, b_lower));
        }
        vaddvq_s32(vaddq_s32(sums[0], sums[1]))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn step(mut sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
        let b = vreinterpretq_s8_u8(veorq_u8(b, vdupq_n_u8(0x80)));
        let halves = [
            (vmovl_u8(vget_low_u8(a)), vmovl_s8(vget_low_s8(b))),
            (vmovl_u8(vget_high_u8(a)), vmovl_s8(vget_high_s8(b))),
        ];
        for (a, b) in halves {
            let a = vreinterpretq_s16_u16(a);
            sum = vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b));
            sum = vmlal_s16(sum, vget_high_s16(a), vget_high_s16(b));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::vectors::kernels::{Computation, InstructionSet, Simd, compute};

    struct Products<'p>(Halves<'p>, &'p [Halves<'p>], &'p mut [i32]);

    impl Computation for Products<'_> {
        type Output = ();

        fn compute<S: Simd>(self, simd: S) {
            simd.code_products(self.0, self.1, self.2);
        }
    }

    /// A half of a code, in whole blocks.
    fn half(blocks: usize) -> impl Strategy<Value = Vec<u64>> {
        vec(any::<u64>(), blocks * BLOCK / 8)
    }

    fn words(values: &[u64]) -> Vec<AtomicU64> {
        values.iter().copied().map(AtomicU64::new).collect()
    }

    fn agree(a: [&[u64]; 2], b: [&[u64]; 2]) {
        let (a, b) = (a.map(words), b.map(words));
        let [a, b] = [&a, &b].map(|[upper, lower]| Halves { upper, lower });
        let expected = plain_product(a, b);
        for set in InstructionSet::available() {
            let mut products = [1; 3];
            set.compute(Products(b, &[a, b, a], &mut products));
            assert_eq!(
                products,
                [expected, plain_product(b, b), expected],
                "{set:?}, {} words",
                a.upper.len()
            );
        }
    }

    proptest! {
        #[test]
        fn every_variant_gives_the_same_products(
            [a, b, c, d] in (0..9_usize).prop_flat_map(|n| [half(n), half(n), half(n), half(n)]),
        ) {
            agree([&a, &b], [&c, &d]);
        }
    }

    /// A code of 64 values. Values 0, 1, 32 and 33 are given, all others are 0.
    fn code(values: [u8; 4]) -> [Vec<AtomicU64>; 2] {
        let [a, b, c, d] = values;
        let half = |of: fn(u8) -> u8| {
            let mut bytes = [0; 8];
            bytes[..2].copy_from_slice(&[of(a) | of(c) << 4, of(b) | of(d) << 4]);
            words(&[u64::from_ne_bytes(bytes), 0, 0, 0])
        };
        [half(|value| value >> 4), half(|value| value & 15)]
    }

    #[test]
    fn the_product_is_of_unsigned_and_signed_bytes() {
        let ([a, b], [c, d]) = (code([1, 2, 3, 255]), code([128, 129, 0, 255]));
        let mut products = [0];
        let first = Halves {
            upper: &a,
            lower: &b,
        };
        let second = Halves {
            upper: &c,
            lower: &d,
        };
        compute(Products(second, &[first], &mut products));
        assert_eq!(products, [2 - 3 * 128 + 255 * 127]);
    }

    #[test]
    fn the_greatest_products_do_not_overflow() {
        let [most, least] = [u64::MAX, 0].map(|word| vec![word; 32_768 / 8]);
        agree([&most, &most], [&most, &most]);
        agree([&most, &most], [&least, &least]);
        let [most, least] = [most, least].map(|half| words(&half));
        let [most, least] = [&most, &least].map(|half| Halves {
            upper: half,
            lower: half,
        });
        assert_eq!(plain_product(most, least), -65_536 * 255 * 128);
    }
}
