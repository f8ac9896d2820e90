//! The loop that the scalar kernels share: running sums, and a tail that goes into the first of them.

use std::array;

/// With one sum, each addition would wait for the one before, and be rounded at the size of the
/// whole. So many sums are also what the compiler makes SIMD instructions of, where there are any.
const SUMS: usize = 16;

/// Adds up `term(a, b)` over all positions: position `i` in sum `i % SUMS`, and the sums in pairs at
/// the end.
#[inline]
pub(super) fn fold(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    debug_assert_eq!(a.len(), b.len(), "vectors of different dimensions");
    let length = a.len().min(b.len());
    let (steps_a, tail_a) = a[..length].as_chunks::<SUMS>();
    let (steps_b, tail_b) = b[..length].as_chunks::<SUMS>();

    let mut sums = [0.0; SUMS];
    for (x, y) in steps_a.iter().zip(steps_b) {
        for (sum, (&x, &y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += term(x, y);
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(tail_a.iter().zip(tail_b)) {
        *sum += term(x, y);
    }

    let eight: [f32; 8] = array::from_fn(|lane| sums[lane] + sums[lane + 8]);
    let four: [f32; 4] = array::from_fn(|lane| eight[lane] + eight[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}
