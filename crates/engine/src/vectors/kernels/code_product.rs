//! The inner product of codes (vectors quantized to 8 bits a value): the kernel in which walks of a
//! graph spend most of their time.
//!
//! All sums are of integers, so all variants give equal results.

use std::sync::{
    LazyLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::Level;

/// Computes `Σ a · (b - 128)` over the bytes of the code `b` and of each code `a` of `codes`, eight
/// bytes to a word. It writes one product for each of `codes`, at most as many as `products` holds.
/// One operand is unsigned and one signed, since that is what processors multiply. The products are
/// exact up to 65,536 bytes. A code may be longer than `b`: the rest of it is ignored.
///
/// A code is written before any other thread learns of its slot, and is not written again while any
/// thread may read it. The words are atomic so that writing them needs no unsafe code; the kernels
/// read them as plain memory.
pub type CodeProducts = fn(b: &[AtomicU64], codes: &[&[AtomicU64]], products: &mut [i32]);

/// The mask that turns an unsigned byte into a signed one, smaller by 128.
const FLIP: u64 = 0x8080_8080_8080_8080;

/// The fastest variant that this processor can run, chosen once.
#[must_use]
pub fn code_products() -> CodeProducts {
    static CHOSEN: LazyLock<CodeProducts> = LazyLock::new(|| variants().next().unwrap_or(scalar));
    *CHOSEN
}

/// All variants that this processor can run, the fastest first.
fn variants() -> impl Iterator<Item = CodeProducts> {
    #[cfg(target_arch = "x86_64")]
    let simd = {
        use std::arch::is_x86_feature_detected as has;
        [
            (Level::Avx512.is_available() && has!("avx512vnni")).then_some(x86::AVX512_VNNI),
            (Level::Avx2.is_available() && has!("avxvnni")).then_some(x86::AVX_VNNI),
            Level::Avx2.is_available().then_some(x86::AVX2),
        ]
    };
    #[cfg(target_arch = "aarch64")]
    let simd = [Level::Neon.is_available().then_some(arm::NEON)];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let simd: [Option<CodeProducts>; 0] = [];
    simd.into_iter().flatten().chain([scalar as CodeProducts])
}

/// The reference that every other variant is tested against.
fn scalar(b: &[AtomicU64], codes: &[&[AtomicU64]], products: &mut [i32]) {
    for (a, product) in codes.iter().zip(products) {
        *product = scalar_product(a, b);
    }
}

fn scalar_product(a: &[AtomicU64], b: &[AtomicU64]) -> i32 {
    let product = |(a, b): (&AtomicU64, &AtomicU64)| -> i32 {
        let a = a.load(Relaxed).to_ne_bytes();
        let b = (b.load(Relaxed) ^ FLIP).to_ne_bytes();
        let products = a
            .into_iter()
            .zip(b)
            .map(|(a, b)| i32::from(a) * i32::from(b.cast_signed()));
        products.sum()
    };
    // Partial sums may leave the range of the total.
    a.iter().zip(b).map(product).fold(0, i32::wrapping_add)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::{
        arch::x86_64::{
            __m128i, __m256i, __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32,
            _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_cvtepu8_epi16,
            _mm256_dpbusd_avx_epi32, _mm256_extracti128_si256, _mm256_loadu_si256,
            _mm256_madd_epi16, _mm256_setzero_si256, _mm256_xor_si256, _mm512_add_epi32,
            _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_maskz_loadu_epi64,
            _mm512_reduce_add_epi32, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_xor_si512,
        },
        sync::atomic::AtomicU64,
    };

    use super::{CodeProducts, FLIP, scalar_product};

    // SAFETY: this variant is used only where the processor has AVX-512F and VNNI.
    pub const AVX512_VNNI: CodeProducts =
        |b, codes, products| unsafe { avx512_vnni_all(b, codes, products) };

    #[target_feature(enable = "avx512f,avx512vnni")]
    fn avx512_vnni_all(b: &[AtomicU64], codes: &[&[AtomicU64]], products: &mut [i32]) {
        for (a, product) in codes.iter().zip(products) {
            *product = avx512_vnni(a, b);
        }
    }

    /// 64 bytes at a time.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn avx512_vnni(a: &[AtomicU64], b: &[AtomicU64]) -> i32 {
        let flip = _mm512_set1_epi64(FLIP.cast_signed());
        let step = |sum: __m512i, a: __m512i, b: __m512i| {
            _mm512_dpbusd_epi32(sum, a, _mm512_xor_si512(b, flip))
        };
        let length = a.len().min(b.len());
        let (pairs_a, rest_a) = a[..length].as_chunks::<16>();
        let (pairs_b, rest_b) = b[..length].as_chunks::<16>();
        let mut sums = [_mm512_setzero_si512(); 2];
        for (a, b) in pairs_a.iter().zip(pairs_b) {
            // SAFETY: 16 words are two loads of 8.
            unsafe {
                let (a, b) = (a.as_ptr(), b.as_ptr());
                let load = |from: *const AtomicU64| _mm512_loadu_si512(from.cast());
                sums[0] = step(sums[0], load(a), load(b));
                sums[1] = step(sums[1], load(a.add(8)), load(b.add(8)));
            }
        }
        for (a, b) in rest_a.chunks(8).zip(rest_b.chunks(8)) {
            let mask = ((1_u16 << a.len()) - 1) as u8;
            // SAFETY: the mask keeps the loads from reading a word past the chunks.
            unsafe {
                let a = _mm512_maskz_loadu_epi64(mask, a.as_ptr().cast());
                let b = _mm512_maskz_loadu_epi64(mask, b.as_ptr().cast());
                // Bytes past the end are 0 in `a`, so that their values in `b` do not matter.
                sums[1] = step(sums[1], a, b);
            }
        }
        _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
    }

    // SAFETY: this variant is used only where the processor has AVX2 and AVX-VNNI.
    pub const AVX_VNNI: CodeProducts =
        |b, codes, products| unsafe { avx_vnni_all(b, codes, products) };

    #[target_feature(enable = "avx2,avxvnni")]
    fn avx_vnni_all(b: &[AtomicU64], codes: &[&[AtomicU64]], products: &mut [i32]) {
        for (a, product) in codes.iter().zip(products) {
            *product = avx_vnni(a, b);
        }
    }

    /// 32 bytes at a time.
    #[inline]
    #[target_feature(enable = "avx2,avxvnni")]
    fn avx_vnni(a: &[AtomicU64], b: &[AtomicU64]) -> i32 {
        // SAFETY: FLIP fills the register with one value.
        let flip = unsafe { std::mem::transmute::<[u64; 4], __m256i>([FLIP; 4]) };
        fold(a, b, |sum, a, b| {
            _mm256_dpbusd_avx_epi32(sum, a, _mm256_xor_si256(b, flip))
        })
    }

    // SAFETY: this variant is used only where the processor has AVX2.
    pub const AVX2: CodeProducts = |b, codes, products| unsafe { avx2_all(b, codes, products) };

    #[target_feature(enable = "avx2")]
    fn avx2_all(b: &[AtomicU64], codes: &[&[AtomicU64]], products: &mut [i32]) {
        for (a, product) in codes.iter().zip(products) {
            *product = avx2(a, b);
        }
    }

    /// 32 bytes at a time, widened to 16 bits: the byte-wise instruction of AVX2 would saturate.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn avx2(a: &[AtomicU64], b: &[AtomicU64]) -> i32 {
        // SAFETY: FLIP fills the register with one value.
        let flip = unsafe { std::mem::transmute::<[u64; 4], __m256i>([FLIP; 4]) };
        fold(a, b, |sum, a, b| {
            let b = _mm256_xor_si256(b, flip);
            let low = _mm256_madd_epi16(
                _mm256_cvtepu8_epi16(_mm256_castsi256_si128(a)),
                _mm256_cvtepi8_epi16(_mm256_castsi256_si128(b)),
            );
            let high = _mm256_madd_epi16(
                _mm256_cvtepu8_epi16(_mm256_extracti128_si256::<1>(a)),
                _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(b)),
            );
            _mm256_add_epi32(sum, _mm256_add_epi32(low, high))
        })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn fold(
        a: &[AtomicU64],
        b: &[AtomicU64],
        step: impl Fn(__m256i, __m256i, __m256i) -> __m256i,
    ) -> i32 {
        let length = a.len().min(b.len());
        let (blocks_a, rest_a) = a[..length].as_chunks::<4>();
        let (blocks_b, rest_b) = b[..length].as_chunks::<4>();
        let mut sums = [_mm256_setzero_si256(); 2];
        for (index, (a, b)) in blocks_a.iter().zip(blocks_b).enumerate() {
            // SAFETY: the arrays hold the 32 bytes that are read; the load takes any alignment.
            unsafe {
                let a = _mm256_loadu_si256(a.as_ptr().cast());
                let b = _mm256_loadu_si256(b.as_ptr().cast());
                sums[index % 2] = step(sums[index % 2], a, b);
            }
        }
        let sum = _mm256_add_epi32(sums[0], sums[1]);
        let sum = _mm_add_epi32(
            _mm256_castsi256_si128(sum),
            _mm256_extracti128_si256::<1>(sum),
        );
        sum_of_lanes(sum).wrapping_add(scalar_product(rest_a, rest_b))
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
mod arm {
    use std::{
        arch::aarch64::{
            vaddq_s32, vaddvq_s32, vdupq_n_s32, vdupq_n_u8, veorq_u8, vget_high_s8, vget_high_s16,
            vget_high_u8, vget_low_s8, vget_low_s16, vget_low_u8, vld1q_u8, vmlal_s16, vmovl_s8,
            vmovl_u8, vreinterpretq_s8_u8, vreinterpretq_s16_u16,
        },
        sync::atomic::AtomicU64,
    };

    use super::{CodeProducts, scalar_product};

    // SAFETY: this variant is used only where the processor has NEON.
    pub const NEON: CodeProducts = |b, codes, products| unsafe { neon_all(b, codes, products) };

    #[target_feature(enable = "neon")]
    fn neon_all(b: &[AtomicU64], codes: &[&[AtomicU64]], products: &mut [i32]) {
        for (a, product) in codes.iter().zip(products) {
            *product = neon(a, b);
        }
    }

    /// 16 bytes at a time, widened to 16 bits.
    #[inline]
    #[target_feature(enable = "neon")]
    fn neon(a: &[AtomicU64], b: &[AtomicU64]) -> i32 {
        let length = a.len().min(b.len());
        let (blocks_a, rest_a) = a[..length].as_chunks::<2>();
        let (blocks_b, rest_b) = b[..length].as_chunks::<2>();
        let mut sums = [vdupq_n_s32(0); 2];
        for (a, b) in blocks_a.iter().zip(blocks_b) {
            // SAFETY: the arrays hold the 16 bytes that are read; the load takes any alignment.
            let (a, b) = unsafe { (vld1q_u8(a.as_ptr().cast()), vld1q_u8(b.as_ptr().cast())) };
            let b = vreinterpretq_s8_u8(veorq_u8(b, vdupq_n_u8(0x80)));
            let halves = [
                (vmovl_u8(vget_low_u8(a)), vmovl_s8(vget_low_s8(b))),
                (vmovl_u8(vget_high_u8(a)), vmovl_s8(vget_high_s8(b))),
            ];
            for (sum, (a, b)) in sums.iter_mut().zip(halves) {
                let a = vreinterpretq_s16_u16(a);
                *sum = vmlal_s16(*sum, vget_low_s16(a), vget_low_s16(b));
                *sum = vmlal_s16(*sum, vget_high_s16(a), vget_high_s16(b));
            }
        }
        vaddvq_s32(vaddq_s32(sums[0], sums[1])).wrapping_add(scalar_product(rest_a, rest_b))
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn words(values: &[u64]) -> Vec<AtomicU64> {
        values.iter().copied().map(AtomicU64::new).collect()
    }

    fn agree(a: &[u64], b: &[u64]) {
        let (a, b) = (words(a), words(b));
        let expected = scalar_product(&a, &b);
        for (number, variant) in variants().enumerate() {
            let mut products = [1; 3];
            variant(&b, &[&a, &b, &a], &mut products);
            assert_eq!(
                products,
                [expected, scalar_product(&b, &b), expected],
                "variant {number}, {} words",
                a.len()
            );
        }
    }

    proptest! {
        #[test]
        fn every_variant_gives_the_same_products(
            pair in (0..70_usize).prop_flat_map(|n| (vec(any::<u64>(), n), vec(any::<u64>(), n))),
        ) {
            agree(&pair.0, &pair.1);
        }
    }

    #[test]
    fn the_product_is_of_unsigned_and_signed_bytes() {
        let a = words(&[u64::from_ne_bytes([1, 2, 3, 255, 0, 0, 0, 0])]);
        let b = words(&[u64::from_ne_bytes([128, 129, 0, 255, 7, 0, 0, 0])]);
        let mut products = [0];
        code_products()(&b, &[&a], &mut products);
        assert_eq!(products, [2 - 3 * 128 + 255 * 127]);
    }

    #[test]
    fn the_greatest_products_do_not_overflow() {
        let [most, least] = [u64::MAX, 0].map(|word| vec![word; 65_536 / 8]);
        agree(&most, &most);
        agree(&most, &least);
        let product = scalar_product(&words(&most), &words(&least));
        assert_eq!(product, -65_536 * 255 * 128);
    }
}
