//! Values as words of 64 bits, so that a test of a field is a comparison of numbers.
//!
//! | Words | What is in the field |
//! |---|---|
//! | [`UNREAD`], 0 | not known |
//! | [`MISSING`], 1 | nothing |
//! | 2, 3 | `false`, `true` |
//! | from 2^52 on | a number, in the order of numbers |
//! | from [`TEXTS`] upwards | a text, by its code in a [`Dictionary`](crate::Dictionary) |
//! | from `u64::MAX` downwards | an array, by its code there |

use crate::values::Value;

/// The word of a field that was not read yet.
pub const UNREAD: u64 = 0;

/// The word of a field that a point does not have.
pub const MISSING: u64 = 1;

/// The word of `false`, behind which is that of `true`: the first word of a field that exists.
pub(crate) const FALSE: u64 = 2;

/// The word of the text whose code is 0. It is greater than the word of any number, that of infinity
/// included.
pub(crate) const TEXTS: u64 = 0xFFF1 << 48;

/// The word of a number or a boolean; None for a text, whose word the dictionary has.
#[must_use]
pub fn of_value(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => Some(of_number(*number)),
        Value::Bool(bool) => Some(FALSE + u64::from(*bool)),
        Value::Text(_) => None,
    }
}

/// The word of a number that is not NaN. Words are ordered as the numbers are; -0 has the word of 0.
pub(crate) fn of_number(number: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = (number + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Whether a word is of a scalar, by the number of texts in the dictionary.
pub(crate) fn is_value(word: u64, texts: usize) -> bool {
    let numbers = of_number(f64::NEG_INFINITY)..=of_number(f64::INFINITY);
    let texts = TEXTS..TEXTS + texts as u64;
    (FALSE..=FALSE + 1).contains(&word) || numbers.contains(&word) || texts.contains(&word)
}

/// The word of the text with this code.
pub(crate) fn of_text(code: u32) -> u64 {
    TEXTS + u64::from(code)
}

/// The word of the array with this code.
pub(crate) fn of_array(code: u32) -> u64 {
    u64::MAX - u64::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_numbers_are_ordered_as_they_are_and_between_the_other_words() {
        let numbers = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            -5e-324,
            0.0,
            5e-324,
            1.0,
            1.0 + f64::EPSILON,
            9_007_199_254_740_992.0,
            f64::MAX,
            f64::INFINITY,
        ];
        let words = numbers.map(of_number);
        assert!(words.is_sorted_by(|a, b| a < b));
        assert!(words[0] > FALSE + 1 && words[11] < of_text(0));
        assert!(of_text(u32::MAX) < of_array(u32::MAX));
        assert_eq!(of_number(-0.0), of_number(0.0));
    }
}
