//! The inner product of coarse codes (vectors quantized to 4 bits a value) with a query: the kernel in
//! which walks of a graph spend most of their time.
//!
//! All sums are of integers, so all variants give equal results.

use std::sync::{
    LazyLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::Level;

/// The number of codes whose products are computed side by side.
pub const ABREAST: usize = 4;

/// Computes `Σ a · query` over the values of the query and of each code `a` of `codes`, the upper half
/// of a code (see [`Halves`](super::Halves)). The query has as many values as a code and none of them
/// is -128. The products are exact up to 65,536 values.
///
/// # Panics
/// Panics if a code is shorter than the query, or the query is no multiple of
/// [`BLOCK`](super::BLOCK) twice.
pub type CoarseProducts = fn(query: &[i8], codes: &[&[AtomicU64]; ABREAST]) -> [i32; ABREAST];

/// The fastest variant that this processor can run, chosen once.
#[must_use]
pub fn coarse_products() -> CoarseProducts {
    static CHOSEN: LazyLock<CoarseProducts> = LazyLock::new(|| variants().next().unwrap_or(scalar));
    *CHOSEN
}

/// All variants that this processor can run, the fastest first.
fn variants() -> impl Iterator<Item = CoarseProducts> {
    #[cfg(target_arch = "x86_64")]
    let simd = {
        use std::arch::is_x86_feature_detected as has;
        [
            (Level::Avx512.is_available() && has!("avx512bw") && has!("avx512vnni"))
                .then_some(x86::AVX512_VNNI),
            (Level::Avx2.is_available() && has!("avxvnni")).then_some(x86::AVX_VNNI),
            Level::Avx2.is_available().then_some(x86::AVX2),
        ]
    };
    #[cfg(target_arch = "aarch64")]
    let simd = [Level::Neon.is_available().then_some(arm::NEON)];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let simd: [Option<CoarseProducts>; 0] = [];
    simd.into_iter().flatten().chain([scalar as CoarseProducts])
}

/// The reference that every other variant is tested against.
fn scalar(query: &[i8], codes: &[&[AtomicU64]; ABREAST]) -> [i32; ABREAST] {
    let (first, second) = query.split_at(query.len() / 2);
    codes.map(|code| {
        let bytes = code
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
mod x86 {
    use std::{
        arch::x86_64::{
            __m128i, __m256i, __m512i, _mm_add_epi32, _mm_storeu_si128, _mm256_add_epi16,
            _mm256_add_epi32, _mm256_and_si256, _mm256_castsi256_si128, _mm256_dpbusd_avx_epi32,
            _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_loadu_si256, _mm256_madd_epi16,
            _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_setzero_si256,
            _mm256_srli_epi16, _mm512_and_si512, _mm512_castsi512_si256, _mm512_dpbusd_epi32,
            _mm512_extracti64x4_epi64, _mm512_maskz_loadu_epi64, _mm512_set1_epi8,
            _mm512_setzero_si512, _mm512_srli_epi16,
        },
        sync::atomic::AtomicU64,
    };

    use super::{ABREAST, CoarseProducts};

    /// The blocks of 32 bytes whose products of 16 bits cannot overflow: 8 sums of two products of at
    /// most 15 and 127.
    const BLOCKS: usize = 4;

    // SAFETY: this variant is used only where the processor has AVX-512F, AVX-512BW and VNNI.
    pub const AVX512_VNNI: CoarseProducts = |query, codes| unsafe { avx512_vnni(query, codes) };

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
    fn avx512_vnni(query: &[i8], codes: &[&[AtomicU64]; ABREAST]) -> [i32; ABREAST] {
        let lower = _mm512_set1_epi8(0x0F);
        let (first, second) = query.split_at(query.len() / 2);
        let words = first.len() / size_of::<AtomicU64>();
        let [a, b, c, d] = *codes;
        let codes = [&a[..words], &b[..words], &c[..words], &d[..words]];
        let mut sums = [_mm512_setzero_si512(); ABREAST];
        for at in (0..words).step_by(8) {
            let mask = u8::MAX >> 8_usize.saturating_sub(words - at);
            // SAFETY: the mask keeps the loads within the slices, which are equally long.
            let of_query = |half: &[i8]| unsafe {
                _mm512_maskz_loadu_epi64(mask, half.as_ptr().add(8 * at).cast())
            };
            let (first, second) = (of_query(first), of_query(second));
            for (sum, code) in sums.iter_mut().zip(codes) {
                // SAFETY: as above.
                let code = unsafe { _mm512_maskz_loadu_epi64(mask, code.as_ptr().add(at).cast()) };
                let high = _mm512_and_si512(_mm512_srli_epi16::<4>(code), lower);
                *sum = _mm512_dpbusd_epi32(*sum, _mm512_and_si512(code, lower), first);
                *sum = _mm512_dpbusd_epi32(*sum, high, second);
            }
        }
        let [a, b, c, d] = sums;
        sums_of_lanes([halved(a), halved(b), halved(c), halved(d)])
    }

    /// The sums of the lanes of both halves.
    #[inline]
    #[target_feature(enable = "avx2,avx512f")]
    fn halved(sums: __m512i) -> __m256i {
        let high = _mm512_extracti64x4_epi64::<1>(sums);
        _mm256_add_epi32(_mm512_castsi512_si256(sums), high)
    }

    // SAFETY: this variant is used only where the processor has AVX2 and AVX-VNNI.
    pub const AVX_VNNI: CoarseProducts = |query, codes| unsafe { avx_vnni(query, codes) };

    #[target_feature(enable = "avx2,avxvnni")]
    fn avx_vnni(query: &[i8], codes: &[&[AtomicU64]; ABREAST]) -> [i32; ABREAST] {
        let (first, second) = halves(query);
        let codes = in_blocks(codes, first.len());
        let mut sums = [_mm256_setzero_si256(); ABREAST];
        for (block, (first, second)) in first.iter().zip(second).enumerate() {
            let (first, second) = (load(first), load(second));
            for (sum, code) in sums.iter_mut().zip(codes) {
                let [low, high] = values(&code[block]);
                *sum = _mm256_dpbusd_avx_epi32(*sum, low, first);
                *sum = _mm256_dpbusd_avx_epi32(*sum, high, second);
            }
        }
        sums_of_lanes(sums)
    }

    // SAFETY: this variant is used only where the processor has AVX2.
    pub const AVX2: CoarseProducts = |query, codes| unsafe { avx2(query, codes) };

    #[target_feature(enable = "avx2")]
    fn avx2(query: &[i8], codes: &[&[AtomicU64]; ABREAST]) -> [i32; ABREAST] {
        let ones = _mm256_set1_epi16(1);
        let (first, second) = halves(query);
        let codes = in_blocks(codes, first.len());
        let mut sums = [_mm256_setzero_si256(); ABREAST];
        for start in (0..first.len()).step_by(BLOCKS) {
            let mut parts = [_mm256_setzero_si256(); ABREAST];
            for block in start..first.len().min(start + BLOCKS) {
                let (first, second) = (load(&first[block]), load(&second[block]));
                for (part, code) in parts.iter_mut().zip(codes) {
                    let [low, high] = values(&code[block]);
                    let products = _mm256_add_epi16(
                        _mm256_maddubs_epi16(low, first),
                        _mm256_maddubs_epi16(high, second),
                    );
                    *part = _mm256_add_epi16(*part, products);
                }
            }
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(part, ones));
            }
        }
        sums_of_lanes(sums)
    }

    /// A block of 32 bytes of a code.
    type Block = [AtomicU64; 4];

    /// The values of a query that the lower and the upper 4 bits of each block are multiplied with.
    #[inline]
    fn halves(query: &[i8]) -> (&[[i8; 32]], &[[i8; 32]]) {
        let (first, second) = query.split_at(query.len() / 2);
        (first.as_chunks().0, second.as_chunks().0)
    }

    /// The first blocks of each code. A call of `map` would not be compiled into its caller.
    #[inline]
    fn in_blocks<'a>(
        [a, b, c, d]: &[&'a [AtomicU64]; ABREAST],
        blocks: usize,
    ) -> [&'a [Block]; ABREAST] {
        let of = |code: &'a [AtomicU64]| &code.as_chunks().0[..blocks];
        [of(a), of(b), of(c), of(d)]
    }

    /// The values of a query that a block is multiplied with.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(values: &[i8; 32]) -> __m256i {
        // SAFETY: the array holds the 32 bytes that are read; the load takes any alignment.
        unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
    }

    /// The values of a block: those of the lower 4 bits, and those of the upper.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn values(block: &Block) -> [__m256i; 2] {
        let lower = _mm256_set1_epi8(0x0F);
        // SAFETY: the array holds the 32 bytes that are read; the load takes any alignment.
        let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), lower);
        [_mm256_and_si256(bytes, lower), high]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sums_of_lanes([a, b, c, d]: [__m256i; ABREAST]) -> [i32; ABREAST] {
        let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let sums: __m128i = _mm_add_epi32(
            _mm256_castsi256_si128(pairs),
            _mm256_extracti128_si256::<1>(pairs),
        );
        let mut found = [0; ABREAST];
        // SAFETY: the array holds the 16 bytes that are written; the store takes any alignment.
        unsafe { _mm_storeu_si128(found.as_mut_ptr().cast(), sums) }
        found
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::{
        arch::aarch64::{
            vaddvq_s32, vandq_u8, vdupq_n_s16, vdupq_n_s32, vdupq_n_u8, vget_high_s8, vget_low_s8,
            vld1q_s8, vld1q_u8, vmlal_s8, vpadalq_s16, vreinterpretq_s8_u8, vshrq_n_u8,
        },
        sync::atomic::AtomicU64,
    };

    use super::{ABREAST, CoarseProducts};

    /// The blocks of 16 bytes whose products of 16 bits cannot overflow: 16 products of at most 15 and
    /// 127.
    const BLOCKS: usize = 4;

    // SAFETY: this variant is used only where the processor has NEON.
    pub const NEON: CoarseProducts = |query, codes| unsafe { neon(query, codes) };

    #[target_feature(enable = "neon")]
    fn neon(query: &[i8], codes: &[&[AtomicU64]; ABREAST]) -> [i32; ABREAST] {
        let (first, second) = query.split_at(query.len() / 2);
        let (first, second) = (first.as_chunks::<16>().0, second.as_chunks::<16>().0);
        let codes = codes.map(|code| &code.as_chunks::<2>().0[..first.len()]);
        let lower = vdupq_n_u8(15);
        let mut sums = [vdupq_n_s32(0); ABREAST];
        for start in (0..first.len()).step_by(BLOCKS) {
            let mut parts = [vdupq_n_s16(0); ABREAST];
            for block in start..first.len().min(start + BLOCKS) {
                // SAFETY: the arrays hold the 16 bytes that are read, at any alignment.
                let [low, high] =
                    [first, second].map(|half| unsafe { vld1q_s8(half[block].as_ptr()) });
                for (part, code) in parts.iter_mut().zip(codes) {
                    // SAFETY: as above.
                    let bytes = unsafe { vld1q_u8(code[block].as_ptr().cast()) };
                    let a = vreinterpretq_s8_u8(vandq_u8(bytes, lower));
                    let b = vreinterpretq_s8_u8(vshrq_n_u8::<4>(bytes));
                    *part = vmlal_s8(*part, vget_low_s8(a), vget_low_s8(low));
                    *part = vmlal_s8(*part, vget_high_s8(a), vget_high_s8(low));
                    *part = vmlal_s8(*part, vget_low_s8(b), vget_low_s8(high));
                    *part = vmlal_s8(*part, vget_high_s8(b), vget_high_s8(high));
                }
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
    use proptest::{array::uniform4, collection::vec, prelude::*};

    use super::*;
    use crate::vectors::kernels::BLOCK;

    fn agree(query: &[i8], codes: &[Vec<u64>; ABREAST]) {
        let codes = codes
            .each_ref()
            .map(|code| code.iter().copied().map(AtomicU64::new).collect::<Vec<_>>());
        let codes = codes.each_ref().map(Vec::as_slice);
        let expected = scalar(query, &codes);
        for (number, variant) in variants().enumerate() {
            let words = codes[0].len();
            assert_eq!(
                variant(query, &codes),
                expected,
                "variant {number}, {words} words"
            );
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
                (vec(value(), 2 * blocks * BLOCK), uniform4(words))
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
        let products = coarse_products()(&query, &[&code; ABREAST]);
        assert_eq!(products, [3 - 15 * 127 + 2 * 5; ABREAST]);
    }
}
