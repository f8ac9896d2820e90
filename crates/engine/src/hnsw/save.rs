//! Writes a graph into a snapshot, to be loaded at the next start instead of built again. The
//! format is described in docs/FORMAT.md.

use std::io::{self, Read, Write};

use super::{
    EntryPoint, Graph, Params,
    levels::draw_level,
    links::{Links, SLOTS},
};
use crate::{
    Metric,
    error::invalid_data,
    sync::{
        atomic::Ordering::{AcqRel, Relaxed},
        parallel,
        table::bit_of,
    },
};

/// The bytes of a link, or of a slot.
const WORD: usize = size_of::<u32>();

/// The number of slots whose rows are read at a time, to be stored by all cores.
const BLOCK_SLOTS: usize = 1 << 16;

/// The number of slots whose rows a thread stores at a time.
const PIECE_SLOTS: usize = 1 << 11;

impl Graph {
    /// Writes the points below slot `slots`, with their links and chains. The caller makes sure
    /// that the graph has no others, and that no thread inserts or removes points meanwhile.
    pub fn save(&self, slots: u32, out: &mut impl Write) -> io::Result<()> {
        let Graph { params, links, .. } = self;
        let states: Vec<u8> = (0..slots).map(|slot| links.saved_state(slot)).collect();
        out.write_all(&states)?;
        let mut bytes = Vec::with_capacity(2 * params.m * WORD);
        for (slot, &state) in (0..slots).zip(&states) {
            let Some((level, false)) = Links::read_state(state) else {
                continue;
            };
            for layer in 0..=level {
                bytes.clear();
                let row = links.row(slot, layer).iter();
                bytes.extend(row.flat_map(|link| link.load(Relaxed).to_le_bytes()));
                out.write_all(&bytes)?;
            }
        }
        for (slot, _) in (0..slots).zip(&states).filter(|&(_, &state)| state != 0) {
            let [next, end] = links.duplicate_words(slot);
            if next | end != 0 {
                out.write_all(&words_to_bytes([slot, next, end]))?;
            }
        }
        out.write_all(&words_to_bytes([u32::MAX; 3]))
    }

    /// Reads a graph that [`Graph::save`] wrote with the same `slots`, `metric` and `params`. Bytes
    /// that are no graph are an error: it checks that each link leads to a point of its layer, that
    /// each point has the level that its slot draws (it decides how many rows the point
    /// has), and that the chains of duplicates are whole. Call [`Graph::load_equal_vectors`] before
    /// the graph is used.
    pub fn load(
        metric: Metric,
        params: Params,
        slots: u32,
        source: &mut impl Read,
    ) -> io::Result<Graph> {
        if slots > SLOTS {
            return Err(invalid_data("more slots than there can be"));
        }
        let graph = Graph::new(metric, params);
        let mut states = vec![0; slots as usize];
        source.read_exact(&mut states)?;
        let saved = SavedStates::new(&states, params.m)?;
        graph
            .links
            .reserve_slots(states.len())
            .map_err(io::Error::other)?;
        graph.read_rows(&saved, source)?;
        let (mut len, mut duplicates) = (0, 0);
        for (slot, &state) in (0..slots).zip(&states) {
            if let Some((level, is_duplicate)) = Links::read_state(state) {
                if !is_duplicate {
                    graph.entries.offer(EntryPoint { slot, level });
                }
                len += 1;
                duplicates += u32::from(is_duplicate);
            }
        }
        graph.load_duplicates(slots, duplicates, source)?;
        graph.len.fetch_add(len, AcqRel);
        Ok(graph)
    }

    /// Reads the rows of all points, and stores them on all cores.
    fn read_rows(&self, saved: &SavedStates, source: &mut impl Read) -> io::Result<()> {
        let (mut first, mut bytes) = (0, Vec::new());
        for block in saved.states.chunks(BLOCK_SLOTS) {
            let mut pieces = Vec::new();
            let mut length = 0;
            for states in block.chunks(PIECE_SLOTS) {
                let start = length;
                length += states
                    .iter()
                    .map(|&state| saved.row_bytes(state))
                    .sum::<usize>();
                pieces.push((first, states, start..length));
                first += states.len() as u32;
            }
            bytes.resize(length, 0);
            source.read_exact(&mut bytes)?;
            let loaded = parallel::map(&pieces, |(first, states, range)| {
                self.store_rows(saved, *first, states, &bytes[range.clone()])
            });
            loaded.into_iter().collect::<io::Result<()>>()?;
        }
        Ok(())
    }

    /// Stores the rows of the points in some slots, one after the other in `bytes`.
    fn store_rows(
        &self,
        saved: &SavedStates,
        first: u32,
        states: &[u8],
        mut bytes: &[u8],
    ) -> io::Result<()> {
        let links = &self.links;
        for (slot, &state) in (first..).zip(states) {
            let Some((level, is_duplicate)) = Links::read_state(state) else {
                continue;
            };
            let begun = links.begin(slot).and_then(|_| links.reserve(slot, level));
            begun.map_err(io::Error::other)?;
            let layers = if is_duplicate { 0 } else { level + 1 };
            for layer in 0..layers {
                let row = links.row(slot, layer);
                let (stored, rest) = bytes.split_at(row.len() * WORD);
                bytes = rest;
                for (link, &stored) in row.iter().zip(stored.as_chunks().0) {
                    let stored = u32::from_le_bytes(stored);
                    let linked = Links::slot_of(stored);
                    if stored != 0 && !linked.is_some_and(|slot| saved.has_row(slot, layer)) {
                        return Err(invalid_data("a link to a point that is not there"));
                    }
                    link.store(stored, Relaxed);
                }
            }
            links.finish(slot, level, is_duplicate);
        }
        Ok(())
    }

    /// Reads the chains. `duplicates` is the number of duplicates among the points.
    fn load_duplicates(
        &self,
        slots: u32,
        duplicates: u32,
        source: &mut impl Read,
    ) -> io::Result<()> {
        let is_there = |slot: u32| slot < slots && self.contains(slot);
        let mut firsts = Vec::new();
        for _ in 0..=slots {
            let mut bytes = [0; 3 * WORD];
            source.read_exact(&mut bytes)?;
            let words = bytes.as_chunks().0;
            let [slot, next, end] = [0, 1, 2].map(|word: usize| u32::from_le_bytes(words[word]));
            if slot == u32::MAX {
                return self.check_duplicates(&firsts, duplicates);
            }
            let leads = |word| word == 0 || Links::slot_of(word).is_some_and(is_there);
            if !is_there(slot) || !leads(next) || !leads(end) {
                return Err(invalid_data("a duplicate of a point that is not there"));
            }
            self.links.set_duplicate_words(slot, [next, end]);
            if !self.links.is_duplicate(slot) {
                firsts.push(slot);
            }
        }
        Err(invalid_data("more duplicates than points"))
    }

    /// Checks that each of the `duplicates` is in the chain of the point that it names as its
    /// first, and only once. A chain that leads back into itself, which a reader would follow for
    /// ever, is found since it has more entries than there are duplicates.
    fn check_duplicates(&self, firsts: &[u32], duplicates: u32) -> io::Result<()> {
        let mut left = duplicates;
        for &first in firsts {
            let mut last = None;
            for duplicate in self.links.duplicates(first) {
                let is_own = self.links.is_duplicate(duplicate)
                    && self.links.first_duplicate(duplicate) == Some(first);
                if !is_own || left == 0 {
                    return Err(invalid_data("a chain of duplicates that is not one"));
                }
                left -= 1;
                last = Some(duplicate);
            }
            if self.links.last_duplicate(first) != last {
                return Err(invalid_data("a chain of duplicates with another end"));
            }
        }
        if left > 0 {
            return Err(invalid_data("a duplicate that is in no chain"));
        }
        Ok(())
    }
}

/// The states of the points in a snapshot, all of them possible ones.
struct SavedStates<'a> {
    states: &'a [u8],
    m: usize,
    /// A bit for each slot that has a row in layer 0. It is asked for every link, and bits are mostly
    /// in the cache.
    has_rows: Vec<u64>,
}

impl<'a> SavedStates<'a> {
    fn new(states: &'a [u8], m: usize) -> io::Result<Self> {
        let mut has_rows = vec![0; states.len().div_ceil(u64::BITS as usize)];
        for (slot, &state) in (0..).zip(states).filter(|&(_, &state)| state != 0) {
            let (_, is_duplicate) = Links::read_state(state)
                .filter(|&(level, _)| level == draw_level(slot, m))
                .ok_or_else(|| invalid_data("a point of no known state"))?;
            if !is_duplicate {
                let (word, bit) = bit_of(slot);
                has_rows[word as usize] |= bit;
            }
        }
        Ok(SavedStates {
            states,
            m,
            has_rows,
        })
    }

    /// The bytes of all rows of a point.
    fn row_bytes(&self, state: u8) -> usize {
        match Links::read_state(state) {
            Some((level, false)) => (2 + usize::from(level)) * self.m * WORD,
            _ => 0,
        }
    }

    /// Whether the point in `slot` has a row in a layer.
    fn has_row(&self, slot: u32, layer: u8) -> bool {
        let (word, bit) = bit_of(slot);
        let has_rows = self.has_rows.get(word as usize);
        has_rows.is_some_and(|bits| bits & bit != 0)
            && (layer == 0
                || Links::read_state(self.states[slot as usize])
                    .is_some_and(|(top, _)| top >= layer))
    }
}

fn words_to_bytes(words: [u32; 3]) -> [u8; 3 * WORD] {
    bytemuck::cast(words.map(u32::to_le))
}
