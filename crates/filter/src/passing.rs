//! The words that pass a test.

use std::ops::Range;

use hashbrown::HashSet;

use crate::{
    dictionary::{Dictionary, ReadDictionary, slices},
    expression::Test,
    values::{Bound, Side, Value, Values},
    words::{self, FALSE, TEXTS, UNREAD},
};

/// Up to this number of words are compared with one after the other. More are in a table.
const FEW: usize = 4;

/// The most ranges of [`Passing::spans`].
const MANY: usize = 256;

/// The words of one field that pass a [`Test`], by the texts and arrays that were in the field's
/// dictionary when it was made.
#[derive(Debug)]
pub struct Passing {
    /// Ranges of passing words, both ends included.
    ranges: Vec<(u64, u64)>,
    /// Passing words besides, if there are more than a few.
    singles: HashSet<u64>,
    /// Passing texts and arrays besides, by code, if there are more than a few.
    texts: Codes,
    arrays: Codes,
    /// The range of the words of texts and arrays that came into the dictionary later.
    later: (u64, u64),
}

/// A range of words, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first word.
    pub from: u64,
    /// The last word.
    pub to: u64,
    /// Whether it is known that all of them pass. Else it is known of none.
    pub is_known: bool,
}

/// Which of 64 words pass: a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Those that pass.
    pub passing: u64,
    /// Those of which it is not known: fields that were not read yet, and what came into the
    /// dictionary later.
    pub unknown: u64,
}

impl Passing {
    /// The words that pass a test. The dictionary is read some texts and arrays at a time.
    #[must_use]
    pub fn new(test: &Test, read: ReadDictionary) -> Passing {
        let (mut counts, mut known) = ([0, 0], HashSet::new());
        read(&mut |dictionary| {
            counts = dictionary.counts();
            if let Test::In(values) = test {
                known = singles(values, dictionary);
            }
        });
        let [text_count, array_count] = counts;
        let mut passing = Passing {
            ranges: Vec::new(),
            singles: known,
            texts: Codes::default(),
            arrays: Codes::default(),
            later: (TEXTS + text_count as u64, u64::MAX - array_count as u64),
        };
        match test {
            Test::Exists => {
                passing.ranges.push((FALSE, u64::MAX));
                // All of them pass, whatever comes later.
                passing.later = (1, 0);
                return passing;
            }
            Test::In(_) => {}
            Test::Within(bound) => match &bound.value {
                Value::Number(number) => passing.ranges.push(range(*number, bound.side)),
                _ => passing.texts = texts(bound, text_count, read),
            },
        }
        let mut passing_arrays = Codes::default();
        let passes = |items: &[u64]| passing.contains_one(items);
        for codes in slices(array_count) {
            read(&mut |dictionary| {
                passing_arrays.push(&codes, dictionary.arrays(codes.clone()).map(passes));
            });
        }
        passing.arrays = passing_arrays;
        passing.compare_few();
        passing
    }

    /// Turns sets of a few words into ranges, which are compared with faster.
    fn compare_few(&mut self) {
        if self.singles.len() <= FEW {
            let singles = std::mem::take(&mut self.singles);
            self.ranges
                .extend(singles.into_iter().map(|word| (word, word)));
        }
        self.ranges.extend(self.texts.take_few(words::of_text));
        self.ranges.extend(self.arrays.take_few(words::of_array));
    }

    /// Whether a word passes; None if it is not known.
    #[inline]
    #[must_use]
    pub fn of(&self, word: u64) -> Option<bool> {
        let (first_later, last_later) = self.later;
        let is_unknown = word == UNREAD || (first_later..=last_later).contains(&word);
        (!is_unknown).then(|| self.contains(word))
    }

    /// Which of 64 words pass. `within` is [`within`], or a faster function with its results.
    #[inline]
    #[must_use]
    pub fn of_block(
        &self,
        words: &[u64; 64],
        within: impl Fn(&[u64; 64], (u64, u64)) -> u64,
    ) -> Outcome {
        let mut passing = 0;
        for &range in &self.ranges {
            passing |= within(words, range);
        }
        if !self.singles.is_empty() {
            passing |= each(words, |word| self.singles.contains(&word));
        }
        if self.texts.any || self.arrays.any {
            passing |= each(words, |word| self.has_passing_code(word));
        }
        Outcome {
            passing,
            unknown: within(words, (UNREAD, UNREAD)) | within(words, self.later),
        }
    }

    /// Ranges of words that pass or are not known; no other word passes. None if there are too many.
    #[must_use]
    pub fn spans(&self) -> Option<Vec<Span>> {
        if self.texts.any || self.arrays.any || self.singles.len() + self.ranges.len() > MANY {
            return None;
        }
        let span = |is_known| move |(from, to)| Span { from, to, is_known };
        let singles = self.singles.iter().map(|&word| (word, word));
        let passing = self.ranges.iter().copied().chain(singles);
        let unknown = [(UNREAD, UNREAD), self.later].into_iter();
        let all = passing.map(span(true)).chain(unknown.map(span(false)));
        Some(all.filter(|span| span.from <= span.to).collect())
    }

    fn contains(&self, word: u64) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|&(from, to)| (from..=to).contains(&word))
            || self.singles.contains(&word)
            || self.has_passing_code(word)
    }

    /// Whether an array has an item that passes. `items` are the words of its scalars, in ascending
    /// order: ranges are searched by halves, because arrays may be long and tests many. Only texts are
    /// looked at one by one.
    fn contains_one(&self, items: &[u64]) -> bool {
        let behind = |word: u64| items.partition_point(|&item| item < word);
        let is_in = |&(from, to): &(u64, u64)| {
            let first = items.get(behind(from));
            first.is_some_and(|&item| item <= to)
        };
        let has_single = || {
            if items.len() <= self.singles.len() {
                items.iter().any(|item| self.singles.contains(item))
            } else {
                let mut singles = self.singles.iter();
                singles.any(|&word| is_in(&(word, word)))
            }
        };
        let texts = || items[behind(TEXTS)..].iter();
        self.ranges.iter().any(is_in)
            || has_single()
            || self.texts.any && texts().any(|&item| self.texts.contains(item - TEXTS))
    }

    fn has_passing_code(&self, word: u64) -> bool {
        let (first_later, last_later) = self.later;
        if word > last_later {
            self.arrays.contains(u64::MAX - word)
        } else {
            word >= TEXTS && word < first_later && self.texts.contains(word - TEXTS)
        }
    }
}

/// The words that are in a range, both ends included: a bit for each. None is in one whose ends are
/// the wrong way round, as that of what came later is if there can be nothing.
#[must_use]
pub fn within(words: &[u64; 64], (from, to): (u64, u64)) -> u64 {
    let mut flags = [0_u8; 64];
    for (flag, &word) in flags.iter_mut().zip(words) {
        *flag = u8::from((from..=to).contains(&word));
    }
    let mut bits = 0;
    let (eights, _) = flags.as_chunks::<8>();
    for (at, &eight) in eights.iter().enumerate() {
        // The product brings the lowest bit of byte `n` to bit `56 + n`.
        let eight = u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= eight << (8 * at);
    }
    bits
}

/// The words of which something holds: a bit for each.
#[inline]
fn each(words: &[u64; 64], is_so: impl Fn(u64) -> bool) -> u64 {
    let mut bits = 0;
    for (at, &word) in words.iter().enumerate() {
        bits |= u64::from(is_so(word)) << at;
    }
    bits
}

/// The words of a set of values. A text that is not in the dictionary is in no field.
fn singles(values: &Values, dictionary: &Dictionary) -> HashSet<u64> {
    let texts = values.texts().filter_map(|text| dictionary.code(text));
    let others = values.others().filter_map(|value| words::of_value(&value));
    texts.map(words::of_text).chain(others).collect()
}

/// The words of the numbers on a side of another. No two numbers are nearer than their words.
fn range(number: f64, side: Side) -> (u64, u64) {
    let (least, word) = (
        words::of_number(f64::NEG_INFINITY),
        words::of_number(number),
    );
    let most = words::of_number(f64::INFINITY);
    match side {
        Side::Above => (word + 1, most),
        Side::AtLeast => (word, most),
        Side::Below => (least, word - 1),
        Side::AtMost => (least, word),
    }
}

/// The texts on a side of another, among the first ones.
fn texts(bound: &Bound, count: usize, read: ReadDictionary) -> Codes {
    let admits = |text: &str| bound.admits(&Value::Text(text.into()));
    let mut texts = Codes::default();
    for codes in slices(count) {
        read(&mut |dictionary| texts.push(&codes, dictionary.texts(codes.clone()).map(admits)));
    }
    texts
}

/// A set of codes.
#[derive(Debug, Default)]
struct Codes {
    bits: Vec<u64>,
    any: bool,
}

impl Codes {
    /// Adds those of the next codes at which the list says yes.
    fn push(&mut self, codes: &Range<usize>, list: impl Iterator<Item = bool>) {
        for (code, is_in) in codes.clone().zip(list) {
            if code % 64 == 0 {
                self.bits.push(0);
            }
            self.bits[code / 64] |= u64::from(is_in) << (code % 64);
            self.any |= is_in;
        }
    }

    fn contains(&self, code: u64) -> bool {
        let word = self.bits.get((code / 64) as usize);
        word.is_some_and(|word| word >> (code % 64) & 1 != 0)
    }

    /// Empties the set if there are few in it, and returns their words as ranges.
    fn take_few(&mut self, word: fn(u32) -> u64) -> Vec<(u64, u64)> {
        let count: u32 = self.bits.iter().map(|bits| bits.count_ones()).sum();
        if count as usize > FEW {
            return Vec::new();
        }
        let bits = std::mem::take(self).bits;
        let codes = (0..bits.len() * 64).filter(|code| bits[code / 64] >> (code % 64) & 1 != 0);
        codes
            .map(|code| word(code as u32))
            .map(|word| (word, word))
            .collect()
    }
}
