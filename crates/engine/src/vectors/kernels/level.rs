//! The SIMD levels that kernels are written for, and the choice of one at run time.

use std::sync::LazyLock;

use super::{
    cosine, euclidean,
    exact::{self, ExactKernel},
    hamming, manhattan, prefetch,
};

/// A kernel over two vectors `[dimension]` of equal length, at any alignment.
///
/// In a release build, slices of different lengths are compared over the shorter length.
pub type Kernel = fn(&[f32], &[f32]) -> f32;

/// A [`Kernel`] that also prefetches a third vector of the same length, one cache line per step, so
/// that the prefetches never fill the buffer of outstanding loads.
pub type FetchingKernel = fn(&[f32], &[f32], &[f32]) -> f32;

/// A kernel over one vector and four others. Each of the four results equals that of [`Kernel`] bit
/// for bit. The one vector is loaded once for all four, and the loads of the four overlap. The
/// array of four slices is passed by reference: wide loads from a copy that was just stored would
/// stall (no store forwarding), which takes as long as ranking short vectors.
pub type KernelOfFour = fn(&[f32], &[&[f32]; 4]) -> [f32; 4];

/// The kernels that compute one function of two vectors, which is a sum over their positions. All
/// three give equal results.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// Computes the sum for two vectors.
    pub alone: Kernel,
    /// Computes the sum for two vectors and prefetches a third, which the caller will read next.
    pub fetching: FetchingKernel,
    /// Computes the sums for one vector and each of four others.
    pub of_four: KernelOfFour,
}

/// The kernels of one SIMD level. All but `exact` compute in single precision.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    /// Squared L2 distance: `Σ (a - b)²`.
    pub squared_euclidean: Sum,
    /// L1 distance: `Σ |a - b|`.
    pub manhattan: Sum,
    /// The number of positions that differ, exact up to 2²⁴ dimensions.
    pub hamming: Sum,
    /// Inner product: `Σ a · b`.
    pub dot: Sum,
    /// The distance under a metric, in double precision.
    pub exact: ExactKernel,
}

/// An instruction set for which there is a variant of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Plain Rust: the reference that every other level is tested against.
    Scalar,
    /// x86-64 with AVX2 and FMA: 8 lanes.
    Avx2,
    /// x86-64 with AVX-512F: 16 lanes.
    Avx512,
    /// aarch64: 4 lanes.
    Neon,
}

impl Level {
    /// Every level, the one with the most lanes first.
    pub const WIDEST_FIRST: [Level; 4] = [Level::Avx512, Level::Avx2, Level::Neon, Level::Scalar];

    /// The widest level that this processor can run. The processor is asked once.
    #[must_use]
    pub fn widest() -> Level {
        static WIDEST: LazyLock<Level> = LazyLock::new(|| {
            let mut available = Level::WIDEST_FIRST.into_iter();
            available
                .find(|level| level.is_available())
                .unwrap_or(Level::Scalar)
        });
        *WIDEST
    }

    /// Whether this processor can run the level.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Level::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[allow(
                unreachable_patterns,
                reason = "which levels are left depends on the target"
            )]
            _ => false,
        }
    }
}

impl Kernels {
    /// The kernels of the widest level that this processor can run.
    #[must_use]
    pub fn widest() -> &'static Kernels {
        static WIDEST: LazyLock<&Kernels> =
            LazyLock::new(|| Kernels::of(Level::widest()).unwrap_or(&SCALAR));
        &WIDEST
    }

    /// The kernels of a level, if this processor can run them.
    #[must_use]
    pub fn of(level: Level) -> Option<&'static Kernels> {
        if !level.is_available() {
            return None;
        }
        match level {
            Level::Scalar => Some(&SCALAR),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Some(&AVX2),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Some(&AVX512),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Some(&NEON),
            #[allow(
                unreachable_patterns,
                reason = "which levels are left depends on the target"
            )]
            _ => None,
        }
    }
}

/// Builds a [`Sum`] from a scalar function.
macro_rules! scalar {
    ($function:path) => {
        Sum {
            alone: $function,
            fetching: |a, b, next| {
                prefetch(next);
                $function(a, b)
            },
            of_four: |a, b| b.map(|b| $function(a, b)),
        }
    };
}

/// Builds a [`Sum`] from a SIMD function, which takes one vector, an array of others and an array
/// of vectors to prefetch. With `in_pairs`, four vectors are computed two at a time.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! simd {
    ($function:path) => {
        Sum {
            // SAFETY: only `Kernels::of` returns this table, after it has checked that the
            // processor has the features of the level.
            alone: |a, b| unsafe { $function(a, [b], [])[0] },
            // SAFETY: as above.
            fetching: |a, b, next| unsafe { $function(a, [b], [next])[0] },
            // SAFETY: as above.
            of_four: |a, b| unsafe { $function(a, *b, []) },
        }
    };
    ($function:path, in_pairs) => {
        Sum {
            // SAFETY: as above.
            of_four: |a, b| unsafe { in_pairs(b, |b| $function(a, b, [])) },
            ..simd!($function)
        }
    };
}

static SCALAR: Kernels = Kernels {
    squared_euclidean: scalar!(euclidean::scalar),
    manhattan: scalar!(manhattan::scalar),
    hamming: scalar!(hamming::scalar),
    dot: scalar!(cosine::scalar),
    exact: |metric, a, b| exact::scalar(metric, a, b),
};

#[cfg(target_arch = "x86_64")]
static AVX2: Kernels = Kernels {
    squared_euclidean: simd!(euclidean::avx2, in_pairs),
    manhattan: simd!(manhattan::avx2, in_pairs),
    hamming: simd!(hamming::avx2, in_pairs),
    dot: simd!(cosine::avx2, in_pairs),
    // SAFETY: as above.
    exact: |metric, a, b| unsafe { exact::avx2(metric, a, b) },
};

#[cfg(target_arch = "x86_64")]
static AVX512: Kernels = Kernels {
    squared_euclidean: simd!(euclidean::avx512),
    manhattan: simd!(manhattan::avx512),
    hamming: simd!(hamming::avx512),
    dot: simd!(cosine::avx512),
    // SAFETY: as above.
    exact: |metric, a, b| unsafe { exact::avx512(metric, a, b) },
};

#[cfg(target_arch = "aarch64")]
static NEON: Kernels = Kernels {
    squared_euclidean: simd!(euclidean::neon),
    manhattan: simd!(manhattan::neon),
    hamming: simd!(hamming::neon),
    dot: simd!(cosine::neon),
    // Every processor of the architecture has two f64 lanes.
    exact: |metric, a, b| exact::scalar(metric, a, b),
};

/// Computes the results for four vectors as two pairs: the sixteen registers of AVX2 hold the
/// running sums of two vectors, but would spill those of four.
#[cfg(target_arch = "x86_64")]
#[inline]
fn in_pairs(b: &[&[f32]; 4], pair: impl Fn([&[f32]; 2]) -> [f32; 2]) -> [f32; 4] {
    let mut results = [0.0; 4];
    for (results, pair_of_b) in results.as_chunks_mut().0.iter_mut().zip(b.as_chunks().0) {
        *results = pair(*pair_of_b);
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_kernels_are_the_widest_that_the_processor_has() {
        #[cfg(target_arch = "x86_64")]
        let expected = if is_x86_feature_detected!("avx512f") {
            Level::Avx512
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            Level::Avx2
        } else {
            Level::Scalar
        };
        #[cfg(target_arch = "aarch64")]
        let expected = Level::Neon;
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let expected = Level::Scalar;

        assert!(std::ptr::eq(
            Kernels::widest(),
            Kernels::of(expected).unwrap()
        ));
    }

    #[test]
    fn a_level_of_another_architecture_is_not_offered() {
        assert!(Kernels::of(Level::Neon).is_none() || Kernels::of(Level::Avx2).is_none());
        assert!(Kernels::of(Level::Scalar).is_some());
    }
}
