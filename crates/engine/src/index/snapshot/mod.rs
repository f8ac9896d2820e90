//! Writes and reads the content of snapshots: which point is in which slot, the graphs, and the
//! columns. With it, a start need not build the graphs again, nor read every record for a filter. Everything else is read or computed from the log at
//! each start.

mod columns;
pub mod restore;

use std::{
    io::{self, Read, Write},
    sync::Arc,
};

use super::{Index, arena::Slot, point_id::PointId};
use crate::{
    Metric, Result,
    error::invalid_data,
    hnsw::{Graph, Params},
    index::{
        columns::Column,
        graphs::{
            linked::{LinkedGraph, Progressed},
            metric_graph::MetricGraph,
        },
    },
    store::{LivePoint, Snapshots},
};

/// The bytes of a slot: the sequence and the id of its point.
const SLOT_BYTES: usize = 24;

/// The bytes of the header of a graph.
const GRAPH_BYTES: usize = 16;

/// Slots, graphs and columns from a snapshot.
pub struct Saved {
    /// By slot, the sequence of the insert and the id of the point. The sequence is 0 if no graph
    /// contains the slot.
    slots: Vec<(u64, PointId)>,
    graphs: Vec<LinkedGraph>,
    columns: Vec<Arc<Column>>,
}

impl Index {
    /// Writes a snapshot, if there is a graph, and returns whether there is. Searches, inserts and
    /// deletes go on meanwhile. Linking pauses until the bytes are written, not until they are
    /// durable.
    pub fn snapshot(&self, snapshots: &Snapshots) -> Result<bool> {
        if self.graphs.iter().all(|graph| graph.current().is_none()) {
            return Ok(false);
        }
        let pause = self.pause_linking();
        snapshots.write(self.arena.visible(), |out| {
            self.save(out)?;
            drop(pause);
            Ok(())
        })?;
        Ok(true)
    }

    /// Writes the graphs and their points. The linking threads are paused meanwhile, so that no
    /// slot in a graph is freed or gets another point.
    fn save(&self, out: &mut impl Write) -> io::Result<()> {
        let graphs: Vec<_> = self
            .graphs
            .iter()
            .filter_map(MetricGraph::current)
            .collect();
        let is_in_graph = |slot: u32| graphs.iter().any(|linked| linked.graph.contains(slot));
        let slots = (0..self.arena.slots()).rfind(|&slot| is_in_graph(slot));
        let slots = slots.map_or(0, |last| last + 1);
        out.write_all(&slots.to_le_bytes())?;
        out.write_all(&(graphs.len() as u32).to_le_bytes())?;
        for slot in 0..slots {
            let (sequence, id) = if is_in_graph(slot) {
                (self.arena.sequence(slot), self.arena.id(slot))
            } else {
                (0, PointId::default())
            };
            out.write_all(&sequence.to_le_bytes())?;
            out.write_all(&id)?;
        }
        for linked in &graphs {
            let Progressed { next, caught_up } = linked.progressed();
            let params = linked.graph.params();
            out.write_all(&(linked.graph.metric() as u32).to_le_bytes())?;
            out.write_all(&(params.m as u32).to_le_bytes())?;
            out.write_all(&(params.ef_construction as u32).to_le_bytes())?;
            let progress = next.min(slots) << 1 | u32::from(caught_up);
            out.write_all(&progress.to_le_bytes())?;
            linked.graph.save(slots, out)?;
        }
        columns::save(&self.columns().list(), slots, is_in_graph, out)
    }

    /// Makes the graphs of a snapshot the graphs of this index, which was restored with the slots
    /// of [`Saved::place`]. Live points that a graph lacks are queued to be linked.
    pub(super) fn adopt(&self, saved: Saved) -> Result<()> {
        self.columns().adopt(saved.columns);
        for linked in saved.graphs {
            linked.graph.load_equal_vectors(&self.arena)?;
            let wants = |&slot: &u32| {
                !linked.graph.contains(slot)
                    && !self.arena.needs_f64(slot)
                    && self.arena.is_visible(slot, self.arena.visible())
            };
            let passed_over = linked.progressed().next.min(self.arena.slots());
            for slot in (0..passed_over).filter(wants) {
                linked.follow(slot)?;
            }
            if linked.tail_len(self.arena.slots()) > self.longest_tail {
                // Otherwise inserts would wait until all of the tail is linked.
                linked.fall_behind();
            }
            self.graph(linked.graph.metric()).adopt(Arc::new(linked));
        }
        self.linker.wake();
        Ok(())
    }
}

impl Saved {
    /// Reads what [`Index::save`] wrote, of which `rest` bytes are left at most. A graph with other
    /// parameters is an error of the kind `InvalidInput`: it has to be built anew.
    pub fn load(source: &mut impl Read, rest: u64, params: Params) -> io::Result<Saved> {
        let [count, graphs] = read_words(source)?;
        if u64::from(count) * SLOT_BYTES as u64 > rest || graphs as usize > Metric::ALL.len() {
            return Err(invalid_data("more slots or graphs than its size allows"));
        }
        let mut slots = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let (mut sequence, mut id) = ([0; 8], PointId::default());
            source.read_exact(&mut sequence)?;
            source.read_exact(&mut id)?;
            slots.push((u64::from_le_bytes(sequence), id));
        }
        let mut loaded: Vec<LinkedGraph> = Vec::new();
        for _ in 0..graphs {
            let [metric, m, ef_construction, progress] = read_words::<{ GRAPH_BYTES / 4 }>(source)?;
            let found = Params {
                m: m as usize,
                ef_construction: ef_construction as usize,
            };
            if found != params {
                let text = format!(
                    "its graphs were built with HNSW_M {m} and HNSW_EF_CONSTRUCTION \
                     {ef_construction}, now set to {} and {}: they are built anew",
                    params.m, params.ef_construction
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            let metric = u8::try_from(metric).ok().and_then(Metric::from_number);
            let metric = metric.ok_or_else(|| invalid_data("a graph of no known metric"))?;
            if loaded.iter().any(|linked| linked.graph.metric() == metric) {
                return Err(invalid_data("two graphs of one metric"));
            }
            let graph = Graph::load(metric, params, count, source)?;
            let progressed = Progressed {
                next: (progress >> 1).min(count),
                caught_up: progress & 1 != 0,
            };
            if (0..count).any(|slot| graph.contains(slot) && slots[slot as usize].0 == 0) {
                return Err(invalid_data("a graph with a slot that has no point"));
            }
            loaded.push(LinkedGraph::restored(graph, progressed));
        }
        Ok(Saved {
            slots,
            graphs: loaded,
            columns: columns::load(source, count)?,
        })
    }

    /// Assigns slots to the points of the log: the slots that they had in the snapshot, or free
    /// ones. Both lists are by ascending sequence. The slots of the snapshot are forgotten.
    ///
    /// A point of a graph may have no record: it was deleted after the snapshot was taken, and
    /// compaction dropped its record. Until its slot is reclaimed, walks use the vector of a point
    /// that it links to in place of its own.
    ///
    /// # Errors
    /// An error says what in the snapshot does not belong to this log.
    pub fn place<'p>(
        &mut self,
        live: &'p [LivePoint],
        dead: &'p [LivePoint],
    ) -> io::Result<Vec<Slot<'p>>> {
        let mut live_points = Lookup::new(live);
        let mut dead_points = Lookup::new(dead);
        let mut is_placed = vec![false; live.len()];
        let mut without_record = Vec::new();
        let mut slots = Vec::with_capacity(self.slots.len().max(live.len()));
        let saved = std::mem::take(&mut self.slots);
        for &(sequence, id) in &saved {
            if sequence == 0 {
                slots.push(Slot::Free);
                continue;
            }
            let (point, slot) = if let Some(index) = live_points.find(sequence) {
                if std::mem::replace(&mut is_placed[index], true) {
                    return Err(invalid_data(&format!("two slots for sequence {sequence}")));
                }
                (&live[index], Slot::Live(&live[index]))
            } else if let Some(index) = dead_points.find(sequence) {
                (&dead[index], Slot::Dead(&dead[index]))
            } else {
                without_record.push(slots.len());
                slots.push(Slot::Free);
                continue;
            };
            if point.id != id {
                return Err(invalid_data(&format!(
                    "the record with sequence {sequence} is another"
                )));
            }
            slots.push(slot);
        }
        for slot in without_record {
            let (sequence, id) = saved[slot];
            let mut near = self.near(slot as u32).into_iter();
            let location = near
                .find_map(|near| slots.get(near as usize)?.point())
                .or_else(|| slots.iter().find_map(Slot::point))
                .map(|point| point.location)
                .ok_or_else(|| invalid_data("none of its points is there any more"))?;
            let point = LivePoint {
                id,
                sequence,
                location,
                payload_bytes: 0,
            };
            slots[slot] = Slot::Lost(Box::new(point));
        }
        let unplaced = live
            .iter()
            .zip(is_placed)
            .filter(|(_, is_placed)| !is_placed);
        let mut unplaced = unplaced.map(|(point, _)| Slot::Live(point));
        let free = slots.iter_mut().filter(|slot| matches!(slot, Slot::Free));
        for slot in free {
            let Some(point) = unplaced.next() else { break };
            *slot = point;
        }
        slots.extend(unplaced);
        Ok(slots)
    }

    /// Points near to the point in `slot` in any graph, see [`Graph::near`].
    fn near(&self, slot: u32) -> Vec<u32> {
        let graphs = self.graphs.iter();
        graphs.flat_map(|linked| linked.graph.near(slot)).collect()
    }
}

/// Finds points in a list by their sequences. It is fastest if they are asked for in ascending
/// order.
struct Lookup<'p> {
    points: &'p [LivePoint],
    next: usize,
}

impl<'p> Lookup<'p> {
    fn new(points: &'p [LivePoint]) -> Self {
        Lookup { points, next: 0 }
    }

    /// The index in the list of the point with this sequence.
    fn find(&mut self, sequence: u64) -> Option<usize> {
        let is_next = self
            .points
            .get(self.next)
            .is_some_and(|point| point.sequence == sequence);
        let index = if is_next {
            self.next
        } else {
            self.points
                .binary_search_by_key(&sequence, |point| point.sequence)
                .ok()?
        };
        self.next = index + 1;
        Some(index)
    }
}

fn read_words<const N: usize>(source: &mut impl Read) -> io::Result<[u32; N]> {
    let mut words = [0; N];
    for word in &mut words {
        let mut bytes = [0; 4];
        source.read_exact(&mut bytes)?;
        *word = u32::from_le_bytes(bytes);
    }
    Ok(words)
}
