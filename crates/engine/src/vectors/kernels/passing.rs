//! Tests 64 words of a filter together. This is no kernel of distances, but it has variants for SIMD
//! levels as they do.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm512_cmpge_epu64_mask, _mm512_loadu_epi64, _mm512_mask_cmple_epu64_mask, _mm512_set1_epi64,
};

use vectord_filter::{Outcome, Passing, within};

use super::Level;

/// Says which of 64 words pass a test.
pub type PassingOf = fn(&Passing, &[u64; 64]) -> Outcome;

/// The variant of the widest level that this processor can run.
#[must_use]
pub fn passing_of() -> PassingOf {
    match Level::widest() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is one that this processor can run.
        Level::Avx512 => |passing, words| unsafe { avx512(passing, words) },
        _ => scalar,
    }
}

fn scalar(passing: &Passing, words: &[u64; 64]) -> Outcome {
    passing.of_block(words, within)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(passing: &Passing, words: &[u64; 64]) -> Outcome {
    passing.of_block(words, |words, (from, to)| {
        let [from, to] = [from, to].map(|word| _mm512_set1_epi64(word.cast_signed()));
        let mut bits = 0;
        let (eights, _) = words.as_chunks::<8>();
        for (at, eight) in eights.iter().enumerate() {
            // SAFETY: these are eight readable words, and the load needs no alignment.
            let eight = unsafe { _mm512_loadu_epi64(eight.as_ptr().cast()) };
            let inside =
                _mm512_mask_cmple_epu64_mask(_mm512_cmpge_epu64_mask(eight, from), eight, to);
            bits |= u64::from(inside) << (8 * at);
        }
        bits
    })
}

#[cfg(test)]
mod tests {
    use vectord_filter::{Bound, Dictionary, Passing, Side, Test, Value, words};

    use super::{passing_of, scalar};

    #[test]
    fn every_level_finds_the_words_that_pass() {
        let word = |number: usize| match number % 3 {
            0 => words::UNREAD,
            1 => words::MISSING,
            _ => words::of_value(&Value::Number(number as f64)).unwrap(),
        };
        let block: [u64; 64] = std::array::from_fn(word);
        let bound = Bound {
            value: Value::Number(30.0),
            side: Side::Above,
        };
        let passing = Passing::new(&Test::Within(bound), &|look| look(&Dictionary::default()));
        for passing_of in [scalar, passing_of()] {
            let outcome = passing_of(&passing, &block);
            for number in 0..64 {
                let is = |bits: u64| bits >> number & 1 != 0;
                assert_eq!(is(outcome.unknown), number % 3 == 0);
                assert_eq!(is(outcome.passing), number % 3 == 2 && number > 30);
            }
        }
    }
}
