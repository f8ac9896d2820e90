//! Columns answer filters without a look at the records: for each field that is filtered by, a word
//! for each slot says what the point in it holds there ([`vectord_filter::words`]).
//!
//! A point never changes in its slot, as an update puts another point into another slot. So a word
//! is right for as long as its point is in the slot, whatever the view. The writer stores the words
//! of a point before it publishes the point. A field that is asked for the first time gets a column
//! of words that are not read yet, and the [builder](super::column_builder) fills them in the
//! background. A reader that finds such a word asks the record.

mod column;
mod refused;
mod sorted;

use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

pub use column::Column;
use refused::Refused;
pub use sorted::{Found, Sorted};
use vectord_filter::{Field, Fields, Subject, words};

use crate::sync::{RwLock, RwLockReadGuard, lock};

/// The greatest number of columns. The writer stores a word in each for every point.
const MAX_COLUMNS: usize = 256;

/// The longest key in bytes that gets a column, so that a list of the columns stays small.
const MAX_KEY_BYTES: usize = 1024;

/// Where there is no room for another column, one of a field that no point has is dropped, else one
/// that was not asked for this long.
const IDLE: Duration = Duration::from_mins(1);

/// The builder looks for columns that have grown beyond the bound after this time.
const PACE: Duration = Duration::from_secs(1);

/// The columns of an index.
pub struct Columns {
    list: RwLock<Arc<List>>,
    state: Mutex<State>,
    /// Signals that there is a new column, or the end.
    changed: Condvar,
    read_so_far: AtomicU64,
    max_bytes: usize,
    begun: Instant,
}

/// Columns, and their fields by their places.
#[derive(Default)]
pub struct List {
    columns: Vec<Arc<Column>>,
    fields: Fields,
}

#[derive(Default)]
struct State {
    is_stopped: bool,
    /// Whether there is a column that the builder has not seen.
    is_new: bool,
    refused: Refused,
}

/// The state of the column of a field.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatus {
    /// The field.
    pub field: Field,
    /// The memory that the column takes, in bytes; for a field without a column the memory that one
    /// would take.
    pub bytes: usize,
    /// Whether there is a column. Without one, which would take too much memory, filters read the
    /// records.
    pub exists: bool,
    /// Whether the words of all points are in it.
    pub is_read: bool,
}

impl List {
    /// A list of these columns.
    pub fn new(columns: Vec<Arc<Column>>) -> Arc<List> {
        let mut fields = Fields::new();
        for (place, column) in columns.iter().enumerate() {
            fields.add(place, column.field());
        }
        Arc::new(List { columns, fields })
    }

    /// The column of a field.
    pub fn find(&self, field: &Field) -> Option<&Arc<Column>> {
        self.columns.iter().find(|column| column.field() == field)
    }

    /// The columns.
    pub fn columns(&self) -> &[Arc<Column>] {
        &self.columns
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Stores the words of the point that the writer has put into `slot`. None for a point that
    /// cannot be read: its words say that they are not known.
    pub fn store(&self, slot: u32, subject: Option<&Subject>) {
        for column in &self.columns {
            let unless_there = subject.map_or(words::UNREAD, |_| words::MISSING);
            column.store(slot, unless_there);
        }
        if let Some(subject) = subject {
            self.fields.read(subject, |place, stored| {
                let column = &self.columns[place];
                column.store(slot, column.word_of(stored));
            });
        }
    }

    /// Stores the words of the point in `slot` in those columns where they were not read yet.
    pub fn fill(&self, slot: u32, subject: &Subject) {
        let mut found = vec![words::MISSING; self.columns.len()];
        self.fields.read(subject, |place, stored| {
            found[place] = self.columns[place].word_of(stored);
        });
        for (column, word) in self.columns.iter().zip(found) {
            column.fill(slot, word);
        }
    }

    fn bytes(&self, slots: u32) -> usize {
        self.columns.iter().map(|column| column.bytes(slots)).sum()
    }
}

/// The memory that columns may take where nothing is said of it.
pub const DEFAULT_BYTES: usize = 1 << 30;

impl Default for Columns {
    fn default() -> Self {
        Columns::new(DEFAULT_BYTES)
    }
}

impl Columns {
    /// No columns yet, and never more than `max_bytes` for long.
    pub fn new(max_bytes: usize) -> Self {
        Columns {
            list: RwLock::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            read_so_far: AtomicU64::new(0),
            max_bytes,
            begun: Instant::now(),
        }
    }

    /// The columns, none of which comes or goes until the result is dropped: the writer puts a point
    /// into a slot and stores its words meanwhile, so that a column that comes later finds the point
    /// there.
    pub fn hold(&self) -> RwLockReadGuard<'_, Arc<List>> {
        self.list.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to sort the slots of a column by their words, while the writer stores none. `slots`
    /// tells their number.
    pub fn begin_order(&self, column: &Column, slots: impl Fn() -> u32) -> Arc<Sorted> {
        let _no_store = self.list.write().unwrap_or_else(PoisonError::into_inner);
        column.begin_order(slots())
    }

    /// The columns of now.
    pub fn list(&self) -> Arc<List> {
        Arc::clone(&self.hold())
    }

    /// Takes columns from a snapshot, before there are others. The builder reads what they lack.
    pub fn adopt(&self, columns: Vec<Arc<Column>>) {
        *self.list.write().unwrap_or_else(PoisonError::into_inner) = List::new(columns);
    }

    /// The number of columns that were read so far: a snapshot has more to hold each time.
    pub fn read_so_far(&self) -> u64 {
        self.read_so_far.load(Ordering::Relaxed)
    }

    /// Notes that the words of all points are in these columns.
    pub fn note_read(&self, list: &List) {
        list.columns.iter().for_each(|column| column.note_read());
        let read = list.columns.len() as u64;
        self.read_so_far.fetch_add(read, Ordering::Relaxed);
    }

    /// Those of `list` that were not dropped meanwhile.
    pub fn still(&self, list: &List) -> Arc<List> {
        let now = self.list();
        let is_there =
            |column: &&Arc<Column>| now.columns.iter().any(|one| Arc::ptr_eq(one, column));
        List::new(list.columns.iter().filter(is_there).cloned().collect())
    }

    /// The columns, with those of these fields as far as there is room for them. `slots` is the
    /// number of slots.
    pub fn want<'f>(
        &self,
        fields: impl Iterator<Item = &'f Field> + Clone,
        slots: u32,
    ) -> Arc<List> {
        let fields = fields.filter(|field| may_have_column(field));
        let list = self.list();
        let now = self.begun.elapsed();
        let mut is_missing = false;
        for field in fields.clone() {
            match list.find(field) {
                Some(column) => column.note_asked(now),
                None => is_missing = true,
            }
        }
        if !is_missing {
            return list;
        }
        let mut held = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let mut columns = held.columns.clone();
        let mut is_new = false;
        for field in fields {
            let is_there = columns.iter().any(|column| column.field() == field);
            if !is_there && self.make_room(&mut columns, field, slots, now) {
                columns.push(Arc::new(Column::new(field.clone(), now)));
                is_new = true;
            }
        }
        if is_new {
            *held = List::new(columns);
            lock(&self.state).is_new = true;
            self.changed.notify_all();
        }
        Arc::clone(&held)
    }

    /// Whether there is room for a column of `field`, if need be in place of columns that were not
    /// asked for long. If not, the field is kept as refused.
    fn make_room(
        &self,
        columns: &mut Vec<Arc<Column>>,
        field: &Field,
        slots: u32,
        now: Duration,
    ) -> bool {
        let known = lock(&self.state).refused.bytes_of(field, now);
        let needed = Column::least_bytes(slots).max(known.unwrap_or_default());
        let is_there = needed <= self.max_bytes && self.drop_idle(columns, needed, slots, now);
        if !is_there && known.is_none() {
            lock(&self.state).refused.add(field, needed, now);
        }
        is_there
    }

    /// Drops columns until there is room for another of `needed` bytes: first those of fields that no
    /// point has, then those that no filter has asked for a minute. Returns whether there is room.
    fn drop_idle(
        &self,
        columns: &mut Vec<Arc<Column>>,
        needed: usize,
        slots: u32,
        now: Duration,
    ) -> bool {
        // A column that is not read yet takes less than it will.
        let bytes = |column: &Arc<Column>| column.bytes(slots).max(Column::least_bytes(slots));
        loop {
            let bytes: usize = columns.iter().map(bytes).sum();
            if columns.len() < MAX_COLUMNS && bytes + needed <= self.max_bytes {
                return true;
            }
            let is_idle = |column: &Arc<Column>| column.asked_at() + IDLE < now;
            let of_no_point = columns.iter().position(|column| column.is_of_no_point());
            let idle = || oldest(columns).filter(|&place| is_idle(&columns[place]));
            let Some(place) = of_no_point.or_else(idle) else {
                return false;
            };
            columns.remove(place);
        }
    }

    /// Drops each column whose dictionary has mostly texts and arrays of deleted points. Then drops
    /// others until the rest keeps to the bound: first columns that are still being built, then those
    /// that no filter has asked for longest. `live` is the number of points, `slots` that of slots.
    pub fn keep_within_bounds(&self, live: u64, slots: u32) {
        let list = self.list();
        let is_outgrown = |column: &Arc<Column>| column.has_outgrown(live);
        if list.bytes(slots) <= self.max_bytes && !list.columns.iter().any(is_outgrown) {
            return;
        }
        let mut held = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let mut columns = held.columns.clone();
        columns.retain(|column| !is_outgrown(column));
        loop {
            let bytes: usize = columns.iter().map(|column| column.bytes(slots)).sum();
            let unread = columns.iter().position(|column| !column.is_read());
            let next = unread.or_else(|| oldest(&columns));
            let Some(place) = next.filter(|_| bytes > self.max_bytes) else {
                break;
            };
            let dropped = columns.remove(place);
            let (bytes, now) = (dropped.bytes(slots), self.begun.elapsed());
            lock(&self.state).refused.add(dropped.field(), bytes, now);
        }
        *held = List::new(columns);
    }

    /// Whether the builder is to end.
    pub fn is_stopped(&self) -> bool {
        lock(&self.state).is_stopped
    }

    /// Ends the builder.
    pub fn stop(&self) {
        lock(&self.state).is_stopped = true;
        self.changed.notify_all();
    }

    /// Waits until there is a new column, the builder is to end, or [`PACE`] has passed.
    pub fn wait(&self) {
        let mut state = lock(&self.state);
        if !state.is_stopped && !state.is_new {
            (state, _) = (self.changed)
                .wait_timeout(state, PACE)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.is_new = false;
    }

    /// The states of the columns, and of the fields for whose columns there was no room.
    pub fn status(&self, slots: u32) -> Vec<ColumnStatus> {
        let list = self.list();
        let columns = list.columns.iter().map(|column| ColumnStatus {
            field: column.field().clone(),
            bytes: column.bytes(slots),
            exists: true,
            is_read: column.is_read(),
        });
        let state = lock(&self.state);
        let refused = state.refused.iter();
        let refused = refused.filter(|one| list.find(&one.field).is_none());
        let refused = refused.map(|one| ColumnStatus {
            field: one.field.clone(),
            bytes: one.bytes,
            exists: false,
            is_read: false,
        });
        columns.chain(refused).collect()
    }
}

fn may_have_column(field: &Field) -> bool {
    match field {
        Field::ContentType => true,
        Field::Metadata(key) => key.len() <= MAX_KEY_BYTES,
    }
}

/// The place of the column that was not asked for longest.
fn oldest(columns: &[Arc<Column>]) -> Option<usize> {
    let places = 0..columns.len();
    places.min_by_key(|&place| columns[place].asked_at())
}
