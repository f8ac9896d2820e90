//! The builder fills columns in the background, and sorts the slots by their words.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
};

use vectord_filter::words;

use super::{
    Index,
    columns::{Column, List},
};
use crate::{
    Result,
    store::{ReadAhead, StoredPoint},
};

/// The number of slots between two questions whether to end, and whether the memory is within bounds.
const STRIDE: u32 = 256;

/// The handle of the builder's thread.
pub struct Builder {
    index: Arc<Index>,
    thread: JoinHandle<()>,
}

impl Builder {
    /// Starts the builder of the columns of `index`.
    pub fn start(index: &Arc<Index>) -> Result<Builder> {
        let of_thread = Arc::clone(index);
        let run = move || {
            while !of_thread.columns().is_stopped() {
                // After a panic the words that were not read stay so, and filters read the records.
                drop(catch_unwind(AssertUnwindSafe(|| of_thread.build_columns())));
                of_thread.bound_columns();
                of_thread.columns().wait();
            }
        };
        let thread = thread::Builder::new().name("columns".into()).spawn(run)?;
        Ok(Builder {
            index: Arc::clone(index),
            thread,
        })
    }

    /// Ends the builder, after the points that it reads now, and waits for it.
    pub fn stop(self) {
        self.index.columns().stop();
        drop(self.thread.join());
    }
}

impl Index {
    /// Brings the columns up to date.
    pub fn build_columns(&self) {
        self.fill_columns();
        self.sort_columns();
    }

    /// Drops columns that take too much memory, or hold mostly what no point has any more.
    pub fn bound_columns(&self) {
        self.columns()
            .keep_within_bounds(self.live(), self.arena.slots());
    }

    /// Fills the columns that are not read yet.
    fn fill_columns(&self) {
        let list = self.columns().list();
        let columns: Vec<Arc<Column>> = list
            .columns()
            .iter()
            .filter(|column| !column.is_read())
            .cloned()
            .collect();
        if columns.is_empty() {
            return;
        }
        let mut list = List::new(columns);
        // Points that were put into slots later came after the columns: the writer stored their
        // words.
        let slots = self.arena.slots();
        let mut ahead = ReadAhead::default();
        for slot in 0..slots {
            if slot.is_multiple_of(STRIDE) {
                self.bound_columns();
                list = self.columns().still(&list);
                if list.is_empty() || self.columns().is_stopped() {
                    return;
                }
            }
            self.fill_words(&list, slot, &mut ahead);
        }
        self.columns().note_read(&list);
    }

    /// Sorts the slots of the columns that are read and have no order yet, or an old one.
    fn sort_columns(&self) {
        for column in self.columns().list().columns() {
            if column.wants_order(self.arena.slots()) && !self.columns().is_stopped() {
                let sorted = self.columns().begin_order(column, || self.arena.slots());
                column.finish_order(&sorted);
            }
        }
    }

    /// Stores the words of the point in a slot, if there is one.
    fn fill_words(&self, list: &List, slot: u32, ahead: &mut ReadAhead) {
        let is_unread = |column: &Arc<Column>| column.word(slot) == words::UNREAD;
        if !list.columns().iter().any(is_unread) {
            return;
        }
        // Meanwhile the slot does not get another point.
        let _pin = self.epochs().pin();
        let Some((id, location)) = self.live_at(slot) else {
            return;
        };
        let fill = |stored: StoredPoint| list.fill(slot, &stored.subject());
        // The words of a damaged record stay unread, and a filter that asks it notes the damage.
        drop(self.read_by(&id, location, ahead, fill));
    }
}
