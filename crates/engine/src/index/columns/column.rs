//! The words of one field, by slot.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use vectord_filter::{Dictionary, Field, Passing, Span, Stored, Test, words};

use super::sorted::{Found, Sorted};
use crate::{
    Result,
    sync::{
        RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
        table::Table,
    },
};

/// A dictionary may have this many texts and arrays beside twice as many as there are points.
const SPARE: u64 = 4096;

/// Up to this number of texts and arrays, and of their bytes, are compared with in some microseconds.
const FEW_TEXTS: usize = 1024;
const FEW_BYTES: usize = 128 << 10;

/// A column. Words are stored and read without a lock. A reader whose view contains a point has
/// synchronized with its publication, which follows the word that the writer stores; the builder
/// stores the same word that the writer would.
pub struct Column {
    field: Field,
    words: Table<AtomicU64>,
    dictionary: RwLock<Dictionary>,
    is_read: AtomicBool,
    /// Whether a point ever had a value in the field.
    has_values: AtomicBool,
    /// The slots by their words: the newest that is sorted, and one that is being sorted.
    sorted: RwLock<Vec<Arc<Sorted>>>,
    /// When a filter last asked for it, in milliseconds since the columns began.
    asked_at: AtomicU64,
}

impl Column {
    /// A column none of whose words is read.
    pub fn new(field: Field, now: Duration) -> Self {
        Column {
            field,
            words: Table::new(1),
            dictionary: RwLock::default(),
            is_read: AtomicBool::new(false),
            has_values: AtomicBool::new(false),
            sorted: RwLock::default(),
            asked_at: AtomicU64::new(now.as_millis() as u64),
        }
    }

    /// A column of these words, by slot, whose texts and arrays are in the dictionary. The words of
    /// other slots are not read.
    ///
    /// # Errors
    /// There is no memory for the words.
    pub fn restored(field: Field, words: &[u64], dictionary: Dictionary) -> Result<Self> {
        let mut column = Column::new(field, Duration::ZERO);
        column.words.ensure(words.len())?;
        for (slot, &word) in (0..).zip(words) {
            column.words.get(slot).store(word, Ordering::Relaxed);
            column.note_value(word);
        }
        column.dictionary = RwLock::new(dictionary);
        Ok(column)
    }

    /// The field.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// The bytes that a column without texts takes for this number of slots: 8 for the word of each,
    /// and 5 for its place among the sorted ones.
    pub fn least_bytes(slots: u32) -> usize {
        slots as usize * (size_of::<u64>() + 5)
    }

    /// The bytes that it takes for this number of slots. Memory for the words of further slots is
    /// reserved, but none of it is used.
    pub fn bytes(&self, slots: u32) -> usize {
        let words = self.words.capacity().min(slots as usize);
        let sorted: usize = self.sorted().iter().map(|sorted| sorted.bytes()).sum();
        words * size_of::<u64>() + sorted + self.dictionary().bytes()
    }

    /// Notes that a filter asks for it.
    pub fn note_asked(&self, now: Duration) {
        self.asked_at
            .store(now.as_millis() as u64, Ordering::Relaxed);
    }

    /// When a filter last asked for it, since the columns began.
    pub fn asked_at(&self) -> Duration {
        Duration::from_millis(self.asked_at.load(Ordering::Relaxed))
    }

    /// Whether the words of all points were read, once.
    pub fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Acquire)
    }

    /// Notes that the words of all points were read.
    pub fn note_read(&self) {
        self.is_read.store(true, Ordering::Release);
    }

    /// Whether no point has ever had a value in the field, as far as all words are read: filters by
    /// it may be a mistake.
    pub fn is_of_no_point(&self) -> bool {
        self.is_read() && !self.has_values.load(Ordering::Relaxed)
    }

    fn note_value(&self, word: u64) {
        if word != words::MISSING && word != words::UNREAD {
            self.has_values.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the dictionary has many more texts and arrays than there are points: most are of
    /// points that are deleted.
    pub fn has_outgrown(&self, live: u64) -> bool {
        self.dictionary().len() as u64 > live.saturating_mul(2).saturating_add(SPARE)
    }

    /// Whether a test by the texts is made ready quickly.
    pub fn has_few_texts(&self) -> bool {
        let dictionary = self.dictionary();
        dictionary.len() <= FEW_TEXTS && dictionary.bytes() <= FEW_BYTES
    }

    /// The words that pass a test.
    pub fn passing(&self, test: &Test) -> Passing {
        Passing::new(test, &|look| self.with_dictionary(look))
    }

    /// The word of what is stored in the field; [`words::UNREAD`] if there is no memory for it.
    pub fn word_of(&self, stored: &Stored) -> u64 {
        if let Stored::Scalar(value) = stored
            && let Some(word) = words::of_value(value)
        {
            return word;
        }
        let known = self.dictionary().find(stored);
        let add = || {
            let mut dictionary = self
                .dictionary
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            dictionary.add(stored)
        };
        known.or_else(add).unwrap_or(words::UNREAD)
    }

    /// Stores the word of the point that the writer has put into a slot.
    pub fn store(&self, slot: u32, word: u64) {
        // A slot without memory for its word is one whose word was not read.
        if self.words.ensure(slot as usize + 1).is_ok() {
            self.words.get(slot).store(word, Ordering::Relaxed);
            self.note_value(word);
        }
        for sorted in &*self.sorted() {
            sorted.note_changed(slot);
        }
    }

    /// Whether the slots should be sorted by their words, of which there are `slots` now.
    pub fn wants_order(&self, slots: u32) -> bool {
        self.is_read() && self.sorted().last().is_none_or(|last| last.is_old(slots))
    }

    /// Begins to sort the slots below `end`, while the writer stores no word: those that it stores
    /// later are noted.
    pub fn begin_order(&self, end: u32) -> Arc<Sorted> {
        let sorted = Arc::new(Sorted::begin(end));
        let mut list = self.sorted.write().unwrap_or_else(PoisonError::into_inner);
        list.retain(|sorted| sorted.is_sorted());
        list.push(Arc::clone(&sorted));
        sorted
    }

    /// Sorts the slots, and has readers find them by that.
    pub fn finish_order(&self, sorted: &Arc<Sorted>) {
        sorted.sort(|slot| self.word(slot));
        let mut list = self.sorted.write().unwrap_or_else(PoisonError::into_inner);
        list.retain(|one| Arc::ptr_eq(one, sorted));
    }

    /// The slots with words in these spans, of those that are sorted. None if none are yet.
    pub fn find(&self, spans: &[Span]) -> Option<Found> {
        self.sorted().iter().find_map(|sorted| sorted.find(spans))
    }

    fn sorted(&self) -> RwLockReadGuard<'_, Vec<Arc<Sorted>>> {
        self.sorted.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the word of a point if none was stored.
    pub fn fill(&self, slot: u32, word: u64) {
        if self.words.ensure(slot as usize + 1).is_ok() {
            let (unread, relaxed) = (words::UNREAD, Ordering::Relaxed);
            let stored = self.words.get(slot);
            // Where the writer was first, its word is the same.
            let _ = stored.compare_exchange(unread, word, relaxed, relaxed);
            self.note_value(word);
        }
    }

    /// The word of a slot.
    #[inline]
    pub fn word(&self, slot: u32) -> u64 {
        let word = self.words.run(slot, 1).first();
        word.map_or(words::UNREAD, |word| word.load(Ordering::Relaxed))
    }

    /// The words of 64 slots, from `first` on.
    #[inline]
    pub fn block(&self, first: u32) -> [u64; 64] {
        match self.words.run(first, 64).first_chunk::<64>() {
            Some(run) => std::array::from_fn(|at| run[at].load(Ordering::Relaxed)),
            None => std::array::from_fn(|at| self.word(first + at as u32)),
        }
    }

    /// Calls `read` with the dictionary, to which no text comes meanwhile.
    pub fn with_dictionary<T>(&self, read: impl FnOnce(&Dictionary) -> T) -> T {
        read(&self.dictionary())
    }

    fn dictionary(&self) -> RwLockReadGuard<'_, Dictionary> {
        self.dictionary
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
