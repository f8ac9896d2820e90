//! Asks a filter about points of a view, by the columns where they know the answer, else by the
//! records.

use std::{cell::RefCell, sync::Arc};

use vectord_filter::{Field, Filter, Held, Outcome, Passing, Question, Test};

use super::{
    Matching,
    columns::{Column, Found},
    view::View,
};
use crate::{
    Error, Result,
    store::{ReadAhead, StoredPoint},
    sync::table::indexes_of,
    vectors::kernels::{self, PassingOf},
};

/// The number of slots that are asked about together: a bit of a word for each.
const BLOCK: u32 = u64::BITS;

/// The number of blocks between two questions whether to go on.
const STRIDE: u32 = 16;

/// Up to this number of points of a block are asked about one by one.
const ALONE: u32 = 2;

/// The points that pass are looked for by their words if these show that they are among one of this
/// many slots: else it takes less time to ask about all points.
const ONE_OF: u32 = 4;

/// The most tests of a filter that answers at once.
const TESTS_AT_ONCE: usize = 16;

/// A filter that is ready to be asked about the points of a view.
pub struct Probe<'v> {
    view: &'v View<'v>,
    filter: &'v Filter,
    /// By the numbers of the tests; None where the field has no column.
    tests: Vec<Option<ColumnTest>>,
    passing_of: PassingOf,
    reader: RefCell<Reader>,
    goes_on: &'v dyn Fn() -> bool,
}

/// A test of a field that has a column.
struct ColumnTest {
    column: Arc<Column>,
    passing: Passing,
}

impl ColumnTest {
    /// The slots whose points may pass, if they can be found by their words.
    fn find(&self) -> Option<Found> {
        self.column.find(&self.passing.spans()?)
    }
}

/// What reading many records takes.
#[derive(Default)]
struct Reader {
    held: Held,
    ahead: ReadAhead,
}

impl View<'_> {
    /// Makes a filter ready to be asked about the points of this view. Fields that have no column
    /// get one, filled in the background. Once `goes_on` answers no, it does so for good, and nobody
    /// waits for answers any more: they may be wrong.
    ///
    /// # Errors
    /// [`Error::Abandoned`] if `goes_on` has answered no meanwhile.
    pub fn probe<'v>(
        &'v self,
        filter: &'v Filter,
        goes_on: &'v dyn Fn() -> bool,
    ) -> Result<Probe<'v>> {
        let fields = filter.tests().iter().map(|(field, _)| field);
        let columns = self.index.columns.want(fields, self.slots);
        let test = |(field, test): &(Field, Test)| {
            if !goes_on() {
                return Err(Error::Abandoned);
            }
            let column = columns.find(field).cloned();
            Ok(column.map(|column| ColumnTest {
                passing: column.passing(test),
                column,
            }))
        };
        Ok(Probe {
            view: self,
            filter,
            tests: filter.tests().iter().map(test).collect::<Result<_>>()?,
            passing_of: kernels::passing_of(),
            reader: RefCell::default(),
            goes_on,
        })
    }

    /// Whether a filter can be asked about some points without reading records, and is made ready for
    /// it in a few microseconds.
    #[must_use]
    pub fn answers_at_once(&self, filter: &Filter) -> bool {
        let columns = self.index.columns.list();
        let is_quick = |(field, _): &(Field, Test)| {
            let column = columns.find(field);
            column.is_some_and(|column| column.is_read() && column.has_few_texts())
        };
        let has_few_tests = filter.tests().len() <= TESTS_AT_ONCE && !filter.asks_for_ids();
        has_few_tests && filter.tests().iter().all(is_quick)
    }

    /// The points that pass a filter.
    ///
    /// # Errors
    /// [`Error::Abandoned`] if `goes_on` has answered no meanwhile, as it does for good from then on.
    pub fn matching(&self, filter: &Filter, goes_on: &dyn Fn() -> bool) -> Result<Matching> {
        self.probe(filter, goes_on)?.matching()
    }

    /// The slots of the points that were written after `sequence` and pass a filter, by their records:
    /// for few points it would take longer to make the columns ready.
    ///
    /// # Errors
    /// As those of [`matching`](Self::matching).
    pub(super) fn matching_later(
        &self,
        sequence: u64,
        filter: &Filter,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<u32>> {
        let probe = Probe {
            view: self,
            filter,
            tests: Vec::new(),
            passing_of: kernels::passing_of(),
            reader: RefCell::default(),
            goes_on,
        };
        let later = self.index.arena.later_than(sequence, self.slots);
        let passes = |&slot: &u32| self.contains(slot) && probe.read(slot);
        let passing = later.filter(passes).collect();
        probe.unless_abandoned(passing)
    }
}

impl Probe<'_> {
    /// All points of the view that pass.
    ///
    /// # Errors
    /// [`Error::Abandoned`].
    pub fn matching(&self) -> Result<Matching> {
        let matching = match self.few((self.view.slots / ONE_OF) as usize) {
            Some(few) => few,
            None => self.ask_about_all()?,
        };
        // Answers that came later may be wrong.
        self.unless_abandoned(matching)
    }

    fn ask_about_all(&self) -> Result<Matching> {
        let mut matching = Matching::none(self.view.slots);
        for block in 0..self.view.slots.div_ceil(BLOCK) {
            if block.is_multiple_of(STRIDE) {
                self.unless_abandoned(())?;
            }
            matching.add(block, self.passing(block * BLOCK, self.view.block(block)));
        }
        Ok(matching)
    }

    fn unless_abandoned<T>(&self, found: T) -> Result<T> {
        if (self.goes_on)() {
            Ok(found)
        } else {
            Err(Error::Abandoned)
        }
    }

    /// All points of the view that pass, if the columns show that they are among at most `most`
    /// slots.
    pub fn few(&self, most: usize) -> Option<Matching> {
        let found = |test: &Option<ColumnTest>| test.as_ref().and_then(ColumnTest::find);
        let found: Vec<Option<Found>> = self.tests.iter().map(found).collect();
        let cover = self
            .filter
            .cover(|test| found[test].as_ref().map(Found::count))?;
        let tests = || cover.tests.iter().filter_map(|&test| found[test].as_ref());
        let slots = self.view.slots;
        let end = tests().map(Found::end).min().unwrap_or(0).min(slots);
        if cover.points.saturating_add((slots - end) as usize) > most {
            return None;
        }
        let (mut sure, mut unsure) = (Matching::none(slots), Matching::none(slots));
        for test in tests() {
            let passing = if cover.is_whole {
                &mut sure
            } else {
                &mut unsure
            };
            test.sure().for_each(|slot| passing.mark(slot));
            test.unsure().for_each(|slot| unsure.mark(slot));
        }
        let mut matching = Matching::none(slots);
        for block in 0..slots.div_ceil(BLOCK) {
            let unsure = if block < end / BLOCK {
                unsure.block(block)
            } else {
                u64::MAX
            };
            let sure = sure.block(block) & !unsure;
            if sure | unsure != 0 {
                let contained = self.view.block(block);
                let passing = self.passing(block * BLOCK, unsure & contained);
                matching.add(block, sure & contained | passing);
            }
        }
        Some(matching)
    }

    /// The view.
    pub fn view(&self) -> &View<'_> {
        self.view
    }

    /// Whether the point in `slot` passes, which the view contains, or which was live later.
    #[must_use]
    pub fn passes_now(&self, slot: u32) -> bool {
        if self.view.contains(slot) {
            self.passes(slot)
        } else {
            // A column that was dropped meanwhile still has the word of the point before.
            self.read(slot)
        }
    }

    /// Whether the point in `slot` passes, which the view contains.
    #[must_use]
    pub fn passes(&self, slot: u32) -> bool {
        let mut is_unknown = false;
        let passes = self.filter.passing(1, |question, _| {
            let answer = match question {
                Question::Ids(ids) => Some(ids.contains(&self.view.id(slot))),
                Question::Test(number) => {
                    let test = self.tests[number].as_ref();
                    test.and_then(|test| test.passing.of(test.column.word(slot)))
                }
            };
            is_unknown |= answer.is_none();
            u64::from(answer == Some(true))
        });
        if is_unknown {
            self.read(slot)
        } else {
            passes != 0
        }
    }

    /// Which of the points in the slots from `first` on pass, among those whose bits are set in
    /// `asked`.
    fn passing(&self, first: u32, asked: u64) -> u64 {
        if asked.count_ones() <= ALONE {
            return bits(asked, |bit| self.passes(first + bit));
        }
        let mut unknown = 0;
        let passing = self.filter.passing(asked, |question, asked| {
            let outcome = match question {
                Question::Ids(ids) => Outcome {
                    passing: bits(asked, |bit| ids.contains(&self.view.id(first + bit))),
                    unknown: 0,
                },
                Question::Test(number) => match &self.tests[number] {
                    Some(test) => (self.passing_of)(&test.passing, &test.column.block(first)),
                    None => Outcome {
                        passing: 0,
                        unknown: asked,
                    },
                },
            };
            unknown |= outcome.unknown & asked;
            outcome.passing
        });
        passing & !unknown | bits(unknown, |bit| self.read(first + bit))
    }

    /// Whether a point passes, by its record. One whose record is damaged does not, whatever the
    /// filter says; the damage is noted.
    fn read(&self, slot: u32) -> bool {
        // A filter of many conditions takes milliseconds for a record of many values.
        if !(self.goes_on)() {
            return false;
        }
        let Reader { held, ahead } = &mut *self.reader.borrow_mut();
        let id = self.view.id(slot);
        let passes = |stored: StoredPoint| self.filter.matches(stored.subject(), held);
        let location = self.view.location(slot);
        let index = self.view.index;
        index.read_by(&id, location, ahead, passes).unwrap_or(false)
    }
}

impl View<'_> {
    /// The slots of a block of 64 whose points the view contains: a bit for each.
    fn block(&self, block: u32) -> u64 {
        let first = block * BLOCK;
        let settled = self.index.arena.settled_block(block);
        let slots = (self.slots - first).min(BLOCK);
        let all = u64::MAX >> (BLOCK - slots);
        settled & all | bits(all & !settled, |bit| self.contains(first + bit))
    }
}

/// Those of the bits of `asked` of whose numbers `is_so` holds.
fn bits(asked: u64, mut is_so: impl FnMut(u32) -> bool) -> u64 {
    let found = indexes_of(0, asked).filter(|&number| is_so(number));
    found.fold(0, |bits, number| bits | 1 << number)
}
