//! Computations with one source, compiled for every instruction set: loops over arrays of as many
//! values as the widest has lanes, and loops around the kernels for codes.

#![allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the instruction set"
)]

use std::sync::LazyLock;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::Level;
use super::{ABREAST, CoarseCodes, Halves, coarse_product, code_product};

/// The values that a loop takes at a time: the lanes of the widest instruction set.
pub const LANES: usize = 16;

/// A number in whose bits the last one counts ones, as in those of all numbers near to it.
const COUNTING: f32 = 12_582_912.0;

/// A computation that gives equal results with every instruction set: the compiler keeps the order of
/// additions, and the kernels add whole numbers.
pub trait Computation {
    /// What is computed.
    type Output;

    /// Computes it. This and all that it calls in loops must be `#[inline(always)]`: what is not inlined
    /// is not compiled for the instruction set.
    fn compute<S: Simd>(self, simd: S) -> Self::Output;
}

/// The kernels for codes in one instruction set. A value of the type tells that this processor has it.
pub trait Simd: Copy {
    /// Computes `Σ a · query` over the values of the query and of each coarse code `a` of `codes`. The
    /// query has as many values as a code and none of them is -128. The products are exact up to
    /// 65,536 values.
    ///
    /// # Panics
    /// Panics if a code is shorter than the query, or the query is no multiple of
    /// [`BLOCK`](super::BLOCK) twice.
    fn coarse_products(self, query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST];

    /// Computes `Σ a · (b - 128)` over the values of the code `b` and of each code `a` of `codes`. It
    /// writes one product for each of `codes`, at most as many as `products` holds. One operand is
    /// unsigned and one signed, since that is what processors multiply. The products are exact up
    /// to 65,536 values.
    ///
    /// # Panics
    /// Panics if a half is shorter than those of `b`.
    fn code_products(self, b: Halves, codes: &[Halves], products: &mut [i32]);

    /// The upper halves of words, and the lower ones.
    #[inline(always)]
    fn halves(self, words: [u64; ABREAST]) -> [[u32; ABREAST]; 2] {
        let mut halves = [[0; ABREAST]; 2];
        for (index, word) in words.into_iter().enumerate() {
            halves[0][index] = (word >> 32) as u32;
            halves[1][index] = word as u32;
        }
        halves
    }

    /// Which of the values are at most `most`: a bit for each, the lowest for the first.
    #[inline(always)]
    fn at_most(self, values: [f32; ABREAST], most: f32) -> u64 {
        let bits = (0..).zip(values);
        bits.fold(0, |bits, (place, value)| {
            bits | u64::from(value <= most) << place
        })
    }
}

/// The result of a computation, by the fastest instruction set that this processor has.
pub fn compute<C: Computation>(computation: C) -> C::Output {
    InstructionSet::fastest().compute(computation)
}

/// What a computation is compiled for.
#[derive(Clone, Copy, Debug)]
pub enum InstructionSet {
    /// What every processor of the architecture has: the reference for all others.
    Plain(Plain),
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    /// AVX2 and AVX-VNNI.
    #[cfg(target_arch = "x86_64")]
    AvxVnni(x86::AvxVnni),
    /// AVX-512F, AVX-512BW and VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni(x86::Avx512Vnni),
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon(arm::Neon),
}

impl InstructionSet {
    /// The fastest that this processor has. The processor is asked once.
    #[must_use]
    pub fn fastest() -> InstructionSet {
        static FASTEST: LazyLock<InstructionSet> = LazyLock::new(|| {
            let mut available = InstructionSet::available();
            available.next().unwrap_or(InstructionSet::Plain(Plain))
        });
        *FASTEST
    }

    /// All that this processor has, the fastest first.
    pub fn available() -> impl Iterator<Item = InstructionSet> {
        #[cfg(target_arch = "x86_64")]
        let simd = [
            x86::Avx512Vnni::find().map(InstructionSet::Avx512Vnni),
            x86::AvxVnni::find().map(InstructionSet::AvxVnni),
            x86::Avx2::find().map(InstructionSet::Avx2),
        ];
        #[cfg(target_arch = "aarch64")]
        let simd = [arm::Neon::find().map(InstructionSet::Neon)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let simd: [Option<InstructionSet>; 0] = [];
        simd.into_iter()
            .flatten()
            .chain([InstructionSet::Plain(Plain)])
    }

    /// The result of a computation that is compiled for it.
    #[inline]
    pub fn compute<C: Computation>(self, computation: C) -> C::Output {
        match self {
            InstructionSet::Plain(simd) => computation.compute(simd),
            // SAFETY: the value tells that the processor has it.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2(simd) => unsafe { x86::Avx2::compute(simd, computation) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::AvxVnni(simd) => unsafe { x86::AvxVnni::compute(simd, computation) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512Vnni(simd) => unsafe {
                x86::Avx512Vnni::compute(simd, computation)
            },
            // Everything for the architecture is compiled with NEON.
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon(simd) => computation.compute(simd),
        }
    }
}

/// Plain Rust.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Simd for Plain {
    #[inline(always)]
    fn coarse_products(self, query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST] {
        coarse_product::plain(query, codes)
    }

    #[inline(always)]
    fn code_products(self, b: Halves, codes: &[Halves], products: &mut [i32]) {
        code_product::plain(b, codes, products);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::is_x86_feature_detected as has;

    use super::{
        ABREAST, CoarseCodes, Computation, Halves, Level, Simd,
        coarse_product::x86 as coarse_product, code_product::x86 as code_product,
    };

    /// An instruction set: its type, whether the processor has it, its features, and its kernels. All
    /// have the instructions on bits that came with AVX2.
    macro_rules! instruction_set {
        ($name:ident, $has:expr, $features:literal, $kernels:ident) => {
            /// See [`InstructionSet`](super::InstructionSet).
            #[derive(Clone, Copy, Debug)]
            pub struct $name(());

            impl $name {
                /// The instruction set, if this processor has it.
                pub fn find() -> Option<Self> {
                    let has_bits = has!("bmi1") && has!("bmi2") && has!("lzcnt");
                    (Level::Avx2.is_available() && has_bits && $has).then_some($name(()))
                }

                #[target_feature(enable = $features)]
                pub fn compute<C: Computation>(self, computation: C) -> C::Output {
                    computation.compute(self)
                }
            }

            impl Simd for $name {
                #[inline(always)]
                fn coarse_products(self, query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST] {
                    // SAFETY: a value of this type tells that the processor has the instructions.
                    unsafe { coarse_product::$kernels(query, codes) }
                }

                #[inline(always)]
                fn code_products(self, b: Halves, codes: &[Halves], products: &mut [i32]) {
                    // SAFETY: as above.
                    unsafe { code_product::$kernels(b, codes, products) }
                }

                #[inline(always)]
                fn halves(self, words: [u64; ABREAST]) -> [[u32; ABREAST]; 2] {
                    // SAFETY: as above.
                    unsafe { coarse_product::halves(words) }
                }

                #[inline(always)]
                fn at_most(self, values: [f32; ABREAST], most: f32) -> u64 {
                    // SAFETY: as above.
                    unsafe { coarse_product::at_most(values, most) }
                }
            }
        };
    }

    instruction_set!(Avx2, true, "avx2,bmi1,bmi2,lzcnt", avx2);
    instruction_set!(
        AvxVnni,
        has!("avxvnni"),
        "avx2,bmi1,bmi2,lzcnt,avxvnni",
        avx_vnni
    );
    instruction_set!(
        Avx512Vnni,
        Level::Avx512.is_available() && has!("avx512bw") && has!("avx512vnni"),
        "avx2,bmi1,bmi2,lzcnt,avx512f,avx512bw,avx512vnni",
        avx512_vnni
    );
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{
        ABREAST, CoarseCodes, Halves, Level, Simd, coarse_product::arm as coarse_product,
        code_product::arm as code_product,
    };

    /// See [`InstructionSet`](super::InstructionSet).
    #[derive(Clone, Copy, Debug)]
    pub struct Neon(());

    impl Neon {
        /// The instruction set, if this processor has it.
        pub fn find() -> Option<Self> {
            Level::Neon.is_available().then_some(Neon(()))
        }
    }

    impl Simd for Neon {
        #[inline(always)]
        fn coarse_products(self, query: &[i8], codes: &CoarseCodes) -> [i32; ABREAST] {
            // SAFETY: a value of this type tells that the processor has the instructions.
            unsafe { coarse_product::neon(query, codes) }
        }

        #[inline(always)]
        fn code_products(self, b: Halves, codes: &[Halves], products: &mut [i32]) {
            // SAFETY: as above.
            unsafe { code_product::neon(b, codes, products) }
        }
    }
}

/// The nearest whole number to one between -2²² and 2²². A cast would round towards 0, and would be
/// compiled for one value at a time, as it must look for numbers that are out of range.
#[inline(always)]
#[must_use]
pub fn nearest(value: f32) -> i32 {
    (value + COUNTING).to_bits().cast_signed() - COUNTING.to_bits().cast_signed()
}

/// The least and the greatest of some numbers.
#[inline(always)]
#[must_use]
pub fn range(values: &[f32]) -> (f32, f32) {
    // Unlike `f32::min`, which looks for NaN, one comparison compiles to one instruction.
    let least = extreme(values, f32::INFINITY, |a, b| if b < a { b } else { a });
    let greatest = extreme(values, f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    (least, greatest)
}

/// What `choose` leaves of `start` and all values.
#[inline(always)]
fn extreme(values: &[f32], start: f32, choose: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = choose(lanes[lane], chunk[lane]);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = choose(*lane, value);
    }
    let mut left = LANES / 2;
    while left > 0 {
        for lane in 0..left {
            lanes[lane] = choose(lanes[lane], lanes[lane + left]);
        }
        left /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use proptest::{array::uniform8, prelude::*};

    use super::{ABREAST, Computation, InstructionSet, LANES, Simd, nearest, range};

    struct AtMost([f32; ABREAST], f32);

    impl Computation for AtMost {
        type Output = u64;

        fn compute<S: Simd>(self, simd: S) -> u64 {
            simd.at_most(self.0, self.1)
        }
    }

    proptest! {
        #[test]
        fn every_set_tells_which_values_are_at_most_another(
            values in uniform8(prop_oneof![-2.0..2.0_f32, Just(0.0), Just(f32::NAN), any::<f32>()]),
            place in 0..ABREAST,
        ) {
            for most in [values[place], 0.0, f32::INFINITY, f32::NAN] {
                let bits = values.iter().rev();
                let expected = bits.fold(0, |bits, &value| bits << 1 | u64::from(value <= most));
                for set in InstructionSet::available() {
                    let found = set.compute(AtMost(values, most));
                    prop_assert_eq!(found, expected, "{:?}: {:?}, {}", set, values, most);
                }
            }
        }
    }

    #[test]
    fn a_number_is_rounded_to_the_nearest() {
        for (value, expected) in [(0.4, 0), (0.6, 1), (-0.4, 0), (-0.6, -1), (254.7, 255)] {
            assert_eq!(nearest(value), expected, "{value}");
        }
        assert_eq!(nearest(4_194_303.0), 4_194_303);
        assert_eq!(nearest(-4_194_304.0), -4_194_304);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "they are some of the values")]
    fn the_least_and_the_greatest_value_are_found_wherever_they_are() {
        for count in [1, LANES - 1, LANES, 2 * LANES + 3] {
            for place in 0..count {
                let mut values = vec![1.0; count];
                values[place] = 2.0;
                assert_eq!(range(&values).1, 2.0, "{place} of {count}");
                values[place] = 0.5;
                assert_eq!(range(&values).0, 0.5, "{place} of {count}");
            }
        }
    }
}
