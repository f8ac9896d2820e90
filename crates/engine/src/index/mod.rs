//! The index finds points by id, by a scan of all, or by a graph. It holds every point in a slot, a
//! small number by which its parts know the point. One thread, the writer, inserts and deletes; any
//! number of threads search meanwhile. Each insert and each delete has a sequence number, and each
//! search has a [`View`](view::View), which contains the points of one sequence number.

mod arena;
mod column_builder;
mod columns;
mod damage;
mod damaged_points;
mod graphs;
mod ids;
mod linking;
mod lives;
mod matches;
mod matching;
mod order;
mod point_id;
mod probe;
mod records;
mod search;
mod snapshot;
#[cfg(test)]
pub(crate) mod tests;
mod verify;
mod view;

use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

pub use arena::Arena;
pub use column_builder::Builder;
pub use columns::{ColumnStatus, Columns};
pub use damage::KnownDamage;
pub use linking::linker::Linker;
pub use matches::Matches;
pub use matching::Matching;
pub use order::Direction;
pub use point_id::PointId;
pub use records::{Include, Records};
#[cfg(any(test, feature = "layers"))]
pub use search::plan::Plan;
pub use search::{Neighbour, Prepared, Request, Selection};
pub use snapshot::Saved;
pub use view::View;

use crate::{
    Error, Metric, Result,
    hnsw::Params,
    store::{Location, Segments, Stored, StoredPoint},
    sync::{
        Mutex, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
        epoch::Epochs,
    },
    vectors::points::Points,
};
use columns::List;
use damage::DamageRegister;
use graphs::{
    activity::{Activity, Running},
    linked::{LinkedGraph, MAX_TAIL_SLOTS},
    metric_graph::MetricGraph,
    round::Reclaim,
    settle::Settling,
    signal::Signal,
};
use ids::IdTable;
use order::Order;

/// The number of threads that can hold a pin at one time; further ones wait until one of them ends,
/// which is soon: only twice [`PAUSED_VIEWS`] of them may hold their pins while they wait for others.
const READERS: usize = if cfg!(feature = "shuttle") { 3 } else { 128 };

/// The greatest number of views that may be held by reads that wait for their turn, and by writes.
pub const PAUSED_VIEWS: usize = READERS / 3;

const _: () = assert!(0 < PAUSED_VIEWS && 2 * PAUSED_VIEWS < READERS);

/// The state of the graph of one metric.
#[derive(Clone, Debug)]
pub struct GraphStatus {
    /// The metric under which the graph is built.
    pub metric: Metric,
    /// The number of slots that are linked so far, of `slots`.
    pub linked: u32,
    /// The number of slots that were ever in use, free ones included.
    pub slots: u32,
    /// Whether the graph has caught up, so that searches use it.
    pub caught_up: bool,
    /// Whether there is a graph. After a failure there is none until another is begun.
    pub exists: bool,
    /// About the memory in bytes that the graph takes.
    pub bytes: usize,
    /// The time since a search last asked for the graph, or since the start.
    pub idle: Duration,
    /// The number of graphs of this metric that failed and were given up.
    pub failures: u32,
    /// The reason of the last failure.
    pub failure: Option<String>,
}

/// Points, their ids and the graphs over them.
pub struct Index {
    arena: Arena,
    ids: IdTable,
    order: Order,
    /// The slots of points that only double precision can rank. No graph holds them.
    f64_only: RwLock<Vec<u32>>,
    /// By the numbers of the metrics.
    graphs: [MetricGraph; Metric::ALL.len()],
    /// Graphs that were given back and that somebody may still hold.
    given_back: Mutex<Vec<Arc<LinkedGraph>>>,
    activity: Activity,
    /// Wakes and pauses the linking threads.
    linker: Signal,
    epochs: Epochs,
    reclaim: Reclaim,
    settling: Settling,
    /// The longest tail of a graph with which points are inserted.
    longest_tail: u32,
    /// The number of inserts and deletes since the index was opened, and of the links of graphs that
    /// were given back.
    written: AtomicU64,
    damage: Mutex<DamageRegister>,
    columns: Columns,
    params: Params,
    dimension: usize,
}

impl Index {
    /// An empty index over the segments of a store of this dimension.
    #[must_use]
    pub fn new(segments: Arc<Segments>, dimension: u32, params: Params) -> Self {
        Index {
            arena: Arena::new(segments, dimension as usize),
            ids: IdTable::default(),
            order: Order::default(),
            f64_only: RwLock::default(),
            graphs: Metric::ALL.map(|metric| MetricGraph::new(metric, params)),
            given_back: Mutex::default(),
            activity: Activity::new(),
            linker: Signal::default(),
            epochs: Epochs::new(READERS),
            reclaim: Reclaim::default(),
            settling: Settling::default(),
            longest_tail: MAX_TAIL_SLOTS,
            written: AtomicU64::new(0),
            damage: Mutex::default(),
            columns: Columns::default(),
            params,
            dimension: dimension as usize,
        }
    }

    /// Makes the graphs lack room sooner.
    #[cfg(test)]
    #[must_use]
    pub fn with_longest_tail(mut self, slots: u32) -> Self {
        self.longest_tail = slots;
        self
    }

    /// Bounds the memory that the columns take, in bytes.
    #[must_use]
    pub fn with_column_bytes(mut self, most: usize) -> Self {
        self.columns = Columns::new(most);
        self
    }

    /// The number of values in a vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The points by slot.
    #[cfg(feature = "layers")]
    #[must_use]
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Adds a point, whose id is new and whose record is at `location`. Searches see it once
    /// [`publish`](Self::publish) reaches `sequence`, gets at once. Only the writer calls this.
    pub fn insert(&self, id: PointId, location: Location, sequence: u64) -> Result<()> {
        let slot = self.add(id, location, sequence)?;
        self.ids.insert(slot, &self.arena)?;
        self.order.insert(sequence, slot);
        Ok(())
    }

    /// Puts a point in the place of the one with the same id. Views taken at `sequence` or later
    /// contain the new point, others the old one, and a get finds one of them at any time. Only the
    /// writer calls this.
    pub fn replace(&self, id: PointId, location: Location, sequence: u64) -> Result<()> {
        let slot = self.add(id, location, sequence)?;
        let Some(old) = self.ids.replace(slot, &self.arena) else {
            return Err(Error::Internal(
                "a point that is not there was replaced".into(),
            ));
        };
        let inserted = self.arena.sequence(old);
        self.arena.delete(old, sequence);
        self.order.replace(inserted, sequence, slot);
        Ok(())
    }

    /// Puts a point into a slot, where graphs and scans find it.
    fn add(&self, id: PointId, location: Location, sequence: u64) -> Result<u32> {
        self.written.fetch_add(1, Ordering::Relaxed);
        let columns = self.columns.hold();
        let slot = self.arena.push(id, location, sequence)?;
        if !columns.is_empty() {
            self.store_words(&columns, slot, location);
        }
        drop(columns);
        if self.arena.needs_f64(slot) {
            let mut f64_only = self
                .f64_only
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            f64_only
                .try_reserve(1)
                .map_err(|_| Error::Internal("no memory for a slot".into()))?;
            f64_only.push(slot);
        }
        for linked in self.graphs.iter().filter_map(MetricGraph::current) {
            linked.follow(slot)?;
        }
        Ok(slot)
    }

    /// Stores the words of a new point in the columns.
    fn store_words(&self, columns: &List, slot: u32, location: Location) {
        let stored = self.arena.segments().read(location).ok();
        let subject = stored.as_ref().map(StoredPoint::subject);
        columns.store(slot, subject.as_ref());
    }

    /// The columns by which filters are answered.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The states of the columns.
    pub fn column_status(&self) -> Vec<ColumnStatus> {
        self.columns.status(self.arena.slots())
    }

    /// Deletes a point: views taken at `sequence` or later do not contain it. False if there is no
    /// point with this id. Only the writer calls this.
    pub fn delete(&self, id: &PointId, sequence: u64) -> bool {
        let Some(slot) = self.ids.remove(id, &self.arena) else {
            return false;
        };
        self.written.fetch_add(1, Ordering::Relaxed);
        let inserted = self.arena.sequence(slot);
        self.arena.delete(slot, sequence);
        self.order.remove(inserted);
        true
    }

    /// Deletes all points: views taken at `sequence` or later contain none of them. Returns how many
    /// there were. Only the writer calls this.
    pub fn delete_all(&self, sequence: u64) -> u64 {
        let mut deleted = 0;
        self.ids.remove_all(|slot| {
            self.arena.delete(slot, sequence);
            deleted += 1;
        });
        self.order.clear();
        self.written.fetch_add(deleted, Ordering::Relaxed);
        deleted
    }

    /// The sequence of the insert of the live point `id` and the place of its record, whether
    /// searches see it yet or not. Only the writer calls this.
    #[must_use]
    pub fn find(&self, id: &PointId) -> Option<Stored> {
        let find = |slot| Stored {
            inserted: self.arena.sequence(slot),
            location: self.arena.location(slot),
        };
        self.ids.get(id, &self.arena, find)
    }

    /// Calls `read` with the place of the record of the point `id`, and returns the result. None if
    /// there is no such point. The record stays readable there meanwhile. A point counts as
    /// soon as the writer has entered it, before searches see it: it is durable, and without it a
    /// get would miss the point that it has replaced.
    pub fn with_location<T>(&self, id: &PointId, read: impl FnOnce(Location) -> T) -> Option<T> {
        // The pin keeps the slot from getting another point, and the segment mapped, until the
        // record is read.
        let _pin = self.epochs.pin();
        let locate = |slot| self.arena.location(slot);
        Some(read(self.ids.get(id, &self.arena, locate)?))
    }

    /// Whether the record of the live point `id` is at `location`.
    #[must_use]
    pub fn is_at(&self, id: &PointId, location: Location) -> bool {
        let is_there = |slot| self.arena.location(slot) == location;
        self.ids.get(id, &self.arena, is_there) == Some(true)
    }

    /// The live points whose records are in a segment. The caller holds a pin.
    pub fn live_in(&self, segment: u32) -> impl Iterator<Item = (PointId, Location)> {
        let slots = (0..self.arena.slots()).map(|slot| (slot, self.arena.location(slot)));
        slots
            .filter(move |(_, location)| location.segment == segment)
            .map(|(slot, location)| (self.arena.id(slot), location))
            .filter(|(id, location)| self.is_at(id, *location))
    }

    /// Changes the place of the live point `id` to `to` if it is `from`, and returns whether it
    /// was. Only the writer calls this.
    pub fn relocate(&self, id: &PointId, from: Location, to: Location) -> bool {
        let relocate = |slot| {
            let is_there = self.arena.location(slot) == from;
            if is_there {
                self.arena.relocate(slot, to);
            }
            is_there
        };
        self.ids.change(id, &self.arena, relocate) == Some(true)
    }

    /// Empties segments that compaction is about to remove: asks the linking threads to reclaim
    /// deleted points, however few there are, until none of them has its record in these segments.
    /// Returns whether that is so already; if not, the caller asks again later. Live points must
    /// have been [relocated](Index::relocate).
    pub fn clear(&self, segments: &[u32]) -> bool {
        let is_clear = self.arena.points_in(segments).next().is_none();
        self.reclaim.hurry(!is_clear);
        self.linker.wake();
        is_clear
    }

    /// Lets deleted points in these segments that stay in a graph for their duplicates use the
    /// record of a duplicate in another segment, which has an equal vector. Only the writer calls
    /// this.
    pub fn relocate_to_duplicates(&self, segments: &[u32]) {
        let graphs: Vec<_> = self
            .graphs
            .iter()
            .filter_map(MetricGraph::current)
            .collect();
        for slot in self
            .arena
            .points_in(segments)
            .filter(|&slot| self.arena.is_gone(slot))
        {
            let duplicates = graphs
                .iter()
                .flat_map(|linked| linked.graph.duplicates_of(slot));
            let places = duplicates.map(|slot| self.arena.location(slot));
            let place = places
                .into_iter()
                .find(|place| !segments.contains(&place.segment));
            if let Some(place) = place {
                self.arena.relocate(slot, place);
            }
        }
    }

    /// The epochs of the readers: they tell when nobody reads any more what was removed before.
    pub fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    /// Notes that a get begins. While there are gets or searches, linking leaves a core to them. A
    /// search need not call this; its view does.
    pub(crate) fn enter(&self) -> Running<'_> {
        self.activity.enter()
    }

    /// Makes all inserts and deletes up to `sequence` visible to views taken from now on, and wakes
    /// the linking threads. Only the writer calls this.
    pub fn publish(&self, sequence: u64) {
        self.arena.publish(sequence);
        self.linker.wake();
    }

    /// Begins the graph of a metric, unless there is one. After a failure it does nothing: then the
    /// linking threads begin the next graph after a wait.
    pub fn want_graph(&self, metric: Metric) {
        if self.graph(metric).want() {
            self.linker.wake();
        }
    }

    /// Gives back each graph for which no search has asked for `time`, except those of metrics in
    /// `kept`, and frees the memory of those that nobody holds any more. Returns whether a graph was
    /// given back.
    pub fn give_back_graphs(&self, time: Duration, kept: &[Metric], now: Instant) -> bool {
        let mut held = self
            .given_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let before = held.len();
        for graph in &self.graphs {
            if kept.contains(&graph.metric()) {
                continue;
            }
            if let Some(linked) = graph.give_back(time, now) {
                // The number of changes grows, although it no longer counts the links of this graph.
                let links = linked.progressed().next;
                self.written
                    .fetch_add(u64::from(links) + 1, Ordering::Relaxed);
                // Perhaps only this graph held them back.
                self.reclaim.held_back.store(0, Ordering::Relaxed);
                held.push(linked);
            }
        }
        let has_given_back = held.len() > before;
        // The memory of a large graph takes long to free: here, not in a search that ends.
        held.retain(|linked| Arc::strong_count(linked) > 1);
        has_given_back
    }

    /// The number of inserts, deletes and links of points, and of columns that were read, so far.
    /// The growth of this number since
    /// the last snapshot tells how much the snapshot is out of date.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let graphs = self.graphs.iter().filter_map(MetricGraph::current);
        let linked = graphs.map(|linked| u64::from(linked.progressed().next));
        let read = self.columns.read_so_far();
        self.written.load(Ordering::Relaxed) + linked.sum::<u64>() + read
    }

    /// The number of points that are not deleted, whether visible yet or not.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.arena.live()
    }

    /// The states of the graphs that exist, or are waited for after a failure.
    #[must_use]
    pub fn graphs(&self) -> Vec<GraphStatus> {
        let (slots, now) = (self.arena.slots(), Instant::now());
        let status = |graph: &MetricGraph| {
            let current = graph.current();
            let (failures, failure) = graph.failures();
            graph.is_wanted().then(|| GraphStatus {
                metric: graph.metric(),
                linked: current
                    .as_ref()
                    .map_or(0, |linked| slots.saturating_sub(linked.tail_len(slots))),
                caught_up: current.as_ref().is_some_and(|linked| linked.caught_up()),
                exists: current.is_some(),
                bytes: current.as_ref().map_or(0, |linked| linked.bytes()),
                idle: graph.idle(now),
                slots,
                failures,
                failure,
            })
        };
        self.graphs.iter().filter_map(status).collect()
    }

    fn graph(&self, metric: Metric) -> &MetricGraph {
        &self.graphs[metric as usize]
    }

    fn f64_only(&self) -> RwLockReadGuard<'_, Vec<u32>> {
        self.f64_only.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of slots of deleted points that are not reclaimed: no other point can have them
    /// yet.
    #[must_use]
    pub fn dead(&self) -> u64 {
        let used = u64::from(self.arena.slots()).saturating_sub(self.arena.live());
        used.saturating_sub(u64::from(self.arena.free_len()))
    }
}
