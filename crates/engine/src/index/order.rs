//! The live points in the order of their sequences.

use std::{collections::BTreeMap, ops::Bound, sync::PoisonError};

use super::{Arena, ids::IdTable};
use crate::sync::RwLock;

/// In which order points are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first that was written to the last.
    OldestFirst,
    /// From the last that was written to the first.
    NewestFirst,
}

/// The slots of the live points by the sequences of their inserts. It is made when somebody asks for
/// it first: most services never do, and it takes some 20 bytes for each point.
#[derive(Default)]
pub struct Order(RwLock<Option<BTreeMap<u64, u32>>>);

impl Order {
    /// Notes that the point in `slot`, inserted at `sequence`, lives. Only the writer calls this and
    /// the other changes, after it has changed the table of ids, and before it publishes.
    pub fn insert(&self, sequence: u64, slot: u32) {
        self.change(|order| {
            order.insert(sequence, slot);
        });
    }

    /// Notes that a point that was inserted at `old` has been replaced by that in `slot`, inserted
    /// at `sequence`. Whoever reads the order meets one of them.
    pub fn replace(&self, old: u64, sequence: u64, slot: u32) {
        self.change(|order| {
            order.remove(&old);
            order.insert(sequence, slot);
        });
    }

    /// Notes that the point that was inserted at `sequence` lives no more.
    pub fn remove(&self, sequence: u64) {
        self.change(|order| {
            order.remove(&sequence);
        });
    }

    /// Notes that no point lives any more.
    pub fn clear(&self) {
        self.change(BTreeMap::clear);
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u64, u32>)) {
        let mut order = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(order) = &mut *order {
            change(order);
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
        let order = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(order) = &*order {
            return page(order, after, limit, direction);
        }
        drop(order);
        let mut order = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let made = order.get_or_insert_with(|| {
            // Not the slots of live points: there are two of a point that is just being replaced.
            let mut slots = Vec::new();
            ids.for_each(|slot| slots.push((arena.sequence(slot), slot)));
            slots.into_iter().collect()
        });
        page(made, after, limit, direction)
    }
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
