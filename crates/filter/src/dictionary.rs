//! The texts and arrays of a field, each with a code, so that they have words.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    ops::Range,
};

use hashbrown::HashTable;

use crate::{metadata::Stored, values::Value, words};

/// The number of texts or arrays that are read at a time: some microseconds of work, for which those
/// who add to the dictionary may wait.
const SLICE: usize = 256;

/// The number of parts of the table of the lists. One that grows hashes all of its lists.
const PARTS: usize = 256;

/// Calls what it gets with a dictionary, to which texts and arrays may come between two calls.
pub type ReadDictionary<'d> = &'d dyn Fn(&mut dyn FnMut(&Dictionary));

/// The codes from 0 to `count`, as many together as are read at a time.
pub fn slices(count: usize) -> impl Iterator<Item = Range<usize>> {
    let firsts = (0..count).step_by(SLICE);
    firsts.map(move |first| first..count.min(first + SLICE))
}

/// The distinct texts and arrays of a field. A code is never given to another one.
#[derive(Debug, Default)]
pub struct Dictionary {
    texts: Lists<u8>,
    /// Each array as the sorted words of its items.
    arrays: Lists<u64>,
}

impl Dictionary {
    /// The word of what is stored in a field; None if it is not in the dictionary.
    #[must_use]
    pub fn find(&self, stored: &Stored) -> Option<u64> {
        match stored {
            Stored::Scalar(value) => self.find_value(value),
            Stored::Array(array) | Stored::Sorted(array) => {
                let items = items(array, |item| self.find_value(item))?;
                self.arrays.find(&items).map(words::of_array)
            }
        }
    }

    /// The word of what is stored in a field, which is added to the dictionary if it is not there.
    /// None if there is no memory for it.
    pub fn add(&mut self, stored: &Stored) -> Option<u64> {
        match stored {
            Stored::Scalar(value) => self.add_value(value),
            Stored::Array(array) | Stored::Sorted(array) => {
                let items = items(array, |item| self.add_value(item))?;
                self.arrays.add(&items).map(words::of_array)
            }
        }
    }

    /// The bytes of memory that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.texts.bytes() + self.arrays.bytes()
    }

    /// The number of texts and arrays.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len() + self.arrays.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a text that had the next code in another dictionary. None if it is there already, or
    /// there is no memory for it.
    pub fn restore_text(&mut self, text: &str) -> Option<()> {
        let next = self.texts.len();
        (self.texts.add(text.as_bytes())? as usize == next).then_some(())
    }

    /// Adds an array that had the next code in another dictionary, as
    /// [`arrays`](Self::arrays) gives it. None if it is there already, if it is not so, or if there
    /// is no memory for it.
    pub fn restore_array(&mut self, items: &[u64]) -> Option<()> {
        let is_known = |&item: &u64| words::is_value(item, self.texts.len());
        if !items.is_sorted_by(|a, b| a < b) || !items.iter().all(is_known) {
            return None;
        }
        let next = self.arrays.len();
        (self.arrays.add(items)? as usize == next).then_some(())
    }

    /// Whether a word is of a field that was read, by what is in the dictionary.
    #[must_use]
    pub fn knows(&self, word: u64) -> bool {
        word == words::MISSING
            || words::is_value(word, self.texts.len())
            || word > u64::MAX - self.arrays.len() as u64
    }

    /// The numbers of texts and of arrays. The arrays have none but these texts.
    #[must_use]
    pub fn counts(&self) -> [usize; 2] {
        [self.texts.len(), self.arrays.len()]
    }

    /// The texts with these codes.
    pub fn texts(&self, codes: Range<usize>) -> impl Iterator<Item = &str> {
        let text = |bytes| str::from_utf8(bytes).unwrap_or_default();
        self.texts.at(codes).map(text)
    }

    /// The words of the items of each of the arrays with these codes.
    pub fn arrays(&self, codes: Range<usize>) -> impl Iterator<Item = &[u64]> {
        self.arrays.at(codes)
    }

    /// The code of a text.
    pub(crate) fn code(&self, text: &str) -> Option<u32> {
        self.texts.find(text.as_bytes())
    }

    fn find_value(&self, value: &Value) -> Option<u64> {
        match value {
            Value::Text(text) => self.code(text).map(words::of_text),
            _ => words::of_value(value),
        }
    }

    fn add_value(&mut self, value: &Value) -> Option<u64> {
        match value {
            Value::Text(text) => self.texts.add(text.as_bytes()).map(words::of_text),
            _ => words::of_value(value),
        }
    }
}

/// The words of the items of an array, each once, in ascending order; None if one has no word.
fn items(array: &[Value], word: impl FnMut(&Value) -> Option<u64>) -> Option<Vec<u64>> {
    let mut words: Vec<u64> = array.iter().map(word).collect::<Option<_>>()?;
    words.sort_unstable();
    words.dedup();
    Some(words)
}

/// Distinct lists of items, one after the other in memory, each with a code from 0 on.
#[derive(Debug)]
struct Lists<T> {
    items: Vec<T>,
    /// Where each list ends.
    ends: Vec<usize>,
    /// By the middle bits of the hash.
    codes: Box<[HashTable<u32>]>,
    codes_bytes: usize,
    hasher: RandomState,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists {
            items: Vec::new(),
            ends: Vec::new(),
            codes: (0..PARTS).map(|_| HashTable::new()).collect(),
            codes_bytes: 0,
            hasher: RandomState::new(),
        }
    }
}

impl<T: Copy + Hash + Eq> Lists<T> {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>()
            + self.ends.capacity() * size_of::<usize>()
            + self.codes_bytes
    }

    fn at(&self, codes: Range<usize>) -> impl Iterator<Item = &[T]> {
        codes.map(|code| list(&self.items, &self.ends, code))
    }

    fn find(&self, wanted: &[T]) -> Option<u32> {
        let is_wanted = |&code: &u32| list(&self.items, &self.ends, code as usize) == wanted;
        let hash = self.hasher.hash_one(wanted);
        self.codes[part_of(hash)].find(hash, is_wanted).copied()
    }

    /// The code of a list, which is added if it is not there. None if there is no memory for it.
    fn add(&mut self, new: &[T]) -> Option<u32> {
        if let Some(code) = self.find(new) {
            return Some(code);
        }
        let Lists {
            items,
            ends,
            codes,
            codes_bytes,
            hasher,
        } = self;
        let code = u32::try_from(ends.len()).ok()?;
        items.try_reserve(new.len()).ok()?;
        ends.try_reserve(1).ok()?;
        let hash = hasher.hash_one(new);
        let part = &mut codes[part_of(hash)];
        let before = part.allocation_size();
        let hash_of = |&code: &u32| hasher.hash_one(list(items, ends, code as usize));
        part.try_reserve(1, hash_of).ok()?;
        *codes_bytes += part.allocation_size() - before;
        items.extend_from_slice(new);
        ends.push(items.len());
        part.insert_unique(hash, code, |&code| {
            hasher.hash_one(list(items, ends, code as usize))
        });
        Some(code)
    }
}

/// Which part a hash belongs to. The parts themselves use the bits at both ends.
fn part_of(hash: u64) -> usize {
    (hash >> 40) as usize % PARTS
}

/// The list with a code.
fn list<'i, T>(items: &'i [T], ends: &[usize], code: usize) -> &'i [T] {
    let start = code.checked_sub(1).map_or(0, |before| ends[before]);
    &items[start..ends[code]]
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, hash::Hasher};

    use super::*;

    #[test]
    fn equal_lists_have_one_code_and_others_another() {
        let mut lists = Lists::default();
        let texts: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
        for (text, code) in texts.iter().zip(0..) {
            assert_eq!(lists.find(text.as_bytes()), None);
            assert_eq!(lists.add(text.as_bytes()), Some(code));
            assert_eq!(lists.add(text.as_bytes()), Some(code));
        }
        assert_eq!(lists.add(b""), Some(5_000), "an empty list is one too");
        for (text, code) in texts.iter().zip(0..) {
            assert_eq!(lists.find(text.as_bytes()), Some(code));
        }
        let all = lists.at(0..texts.len()).zip(&texts);
        assert!(all.into_iter().all(|(a, b)| a == b.as_bytes()));
    }

    thread_local! {
        static HASHED: Cell<usize> = const { Cell::new(0) };
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Item(usize);

    impl Hash for Item {
        fn hash<H: Hasher>(&self, state: &mut H) {
            HASHED.set(HASHED.get() + 1);
            self.0.hash(state);
        }
    }

    #[test]
    fn to_add_a_list_takes_a_look_at_few_others() {
        let mut lists = Lists::default();
        let mut most = 0;
        for number in 0..100_000 {
            HASHED.set(0);
            lists.add(&[Item(number)]);
            most = most.max(HASHED.get());
        }
        assert!(most > 100, "a table has grown");
        assert!(most < 2_000, "{most}");
    }
}
