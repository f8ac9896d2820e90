//! The live points in the order of their sequences.

use std::{collections::BTreeMap, ops::Bound, sync::PoisonError};

use super::{Arena, ids::IdTable};
use crate::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// In which order points are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first that was written to the last.
    OldestFirst,
    /// From the last that was written to the first.
    NewestFirst,
}

/// With at most this many changes behind, a list that is being made catches up while the writer waits.
const FEW: usize = 128;

/// The slots of the live points by the sequences of their inserts. It is made when somebody asks for
/// it first: most services never do, and it takes some 20 bytes for each point. The writer goes on
/// meanwhile, and its changes are noted.
#[derive(Default)]
pub struct Order {
    state: RwLock<State>,
    /// Held by the one that makes the list.
    making: Mutex<()>,
}

#[derive(Default)]
enum State {
    #[default]
    Unmade,
    /// The changes since the list was begun.
    Making(Vec<Change>),
    Made(BTreeMap<u64, u32>),
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Insert { sequence: u64, slot: u32 },
    Replace { old: u64, sequence: u64, slot: u32 },
    Remove { sequence: u64 },
    Clear,
}

impl Change {
    fn apply(self, order: &mut BTreeMap<u64, u32>) {
        match self {
            Change::Insert { sequence, slot } => {
                order.insert(sequence, slot);
            }
            Change::Replace {
                old,
                sequence,
                slot,
            } => {
                order.remove(&old);
                order.insert(sequence, slot);
            }
            Change::Remove { sequence } => {
                order.remove(&sequence);
            }
            Change::Clear => order.clear(),
        }
    }
}

impl Order {
    /// Notes that the point in `slot`, inserted at `sequence`, lives. Only the writer calls this and
    /// the other changes, after it has changed the table of ids, and before it publishes.
    pub fn insert(&self, sequence: u64, slot: u32) {
        self.change(Change::Insert { sequence, slot });
    }

    /// Notes that a point that was inserted at `old` has been replaced by that in `slot`, inserted
    /// at `sequence`. Whoever reads the order meets one of them.
    pub fn replace(&self, old: u64, sequence: u64, slot: u32) {
        self.change(Change::Replace {
            old,
            sequence,
            slot,
        });
    }

    /// Notes that the point that was inserted at `sequence` lives no more.
    pub fn remove(&self, sequence: u64) {
        self.change(Change::Remove { sequence });
    }

    /// Notes that no point lives any more.
    pub fn clear(&self) {
        self.change(Change::Clear);
    }

    fn change(&self, change: Change) {
        match &mut *self.write() {
            State::Unmade => {}
            State::Making(changes) => changes.push(change),
            State::Made(order) => change.apply(order),
        }
    }

    /// At most `limit` slots behind the sequence `after`, each with the sequence of its insert. The
    /// first call goes through all points.
    pub fn page(
        &self,
        ids: &IdTable,
        arena: &Arena,
        after: Option<u64>,
        limit: usize,
        direction: Direction,
    ) -> Vec<(u64, u32)> {
        loop {
            if let State::Made(order) = &*self.read() {
                return page(order, after, limit, direction);
            }
            self.make(|| list(ids, arena));
        }
    }

    /// Makes the list, from what `list` returns, unless another thread does.
    fn make(&self, list: impl FnOnce() -> BTreeMap<u64, u32>) {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.write();
        if let State::Made(_) = *state {
            return;
        }
        *state = State::Making(Vec::new());
        drop(state);
        let mut order = list();
        loop {
            let mut state = self.write();
            let State::Making(changes) = &mut *state else {
                return;
            };
            let changes = std::mem::take(changes);
            let held = (changes.len() <= FEW).then_some(state);
            for change in changes {
                change.apply(&mut order);
            }
            if let Some(mut state) = held {
                *state = State::Made(order);
                return;
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The live points. Whatever the writer changes meanwhile, it notes after it has changed the table.
fn list(ids: &IdTable, arena: &Arena) -> BTreeMap<u64, u32> {
    // Not the slots of live points: there are two of a point that is just being replaced.
    let mut slots = Vec::new();
    ids.for_each(|slot| slots.push((arena.sequence(slot), slot)));
    slots.into_iter().collect()
}

fn page(
    order: &BTreeMap<u64, u32>,
    after: Option<u64>,
    limit: usize,
    direction: Direction,
) -> Vec<(u64, u32)> {
    let bound = after.map_or(Bound::Unbounded, Bound::Excluded);
    let entry = |(&sequence, &slot): (&u64, &u32)| (sequence, slot);
    match direction {
        Direction::OldestFirst => {
            let range = order.range((bound, Bound::Unbounded));
            range.take(limit).map(entry).collect()
        }
        Direction::NewestFirst => {
            let range = order.range((Bound::Unbounded, bound)).rev();
            range.take(limit).map(entry).collect()
        }
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Makes a change of the live points, as the writer does, and notes it.
    fn play(number: u8, next: &mut u64, live: &mut BTreeMap<u64, u32>, order: &Order) {
        *next += 1;
        let (sequence, slot) = (*next, *next as u32);
        let some = live
            .keys()
            .nth(usize::from(number) % live.len().max(1))
            .copied();
        match (number % 16, some) {
            (0, _) => {
                live.clear();
                order.clear();
            }
            (1..6, Some(old)) => {
                live.remove(&old);
                live.insert(sequence, slot);
                order.replace(old, sequence, slot);
            }
            (6..9, Some(old)) => {
                live.remove(&old);
                order.remove(old);
            }
            _ => {
                live.insert(sequence, slot);
                order.insert(sequence, slot);
            }
        }
    }

    fn pages(order: &Order) -> Vec<(u64, u32)> {
        match &*order.read() {
            State::Made(made) => page(made, None, usize::MAX, Direction::OldestFirst),
            _ => panic!("it is not made"),
        }
    }

    proptest! {
        /// The points are listed in the middle of the changes that come while the list is made.
        #[test]
        fn the_writer_goes_on_while_the_list_is_made_which_then_has_all_that_it_did(
            [before, early, late, after] in
                [0..100, 0..100, 0..400, 0..20].map(|range| prop::collection::vec(any::<u8>(), range)),
        ) {
            let (order, mut live, mut next) = (Order::default(), BTreeMap::new(), 0);
            for number in before {
                play(number, &mut next, &mut live, &order);
            }
            order.make(|| {
                for number in early {
                    play(number, &mut next, &mut live, &order);
                }
                let listed = live.clone();
                for number in late {
                    play(number, &mut next, &mut live, &order);
                }
                listed
            });
            prop_assert_eq!(pages(&order), Vec::from_iter(live.clone()));
            for number in after {
                play(number, &mut next, &mut live, &order);
            }
            prop_assert_eq!(pages(&order), Vec::from_iter(live));
        }
    }
}
