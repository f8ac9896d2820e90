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
    sync::atomic::Ordering::{AcqRel, Relaxed},
};

/// The bytes of a link, or of a slot.
const WORD: usize = size_of::<u32>();

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
        let links = &graph.links;
        let mut states = vec![0; slots as usize];
        source.read_exact(&mut states)?;
        let state_of = |slot: u32| Links::read_state(states.get(slot as usize).copied()?);
        let (mut len, mut duplicates) = (0, 0);
        let mut bytes = vec![0; 2 * params.m * WORD];
        for (slot, &state) in (0..slots).zip(&states) {
            if state == 0 {
                continue;
            }
            let (level, is_duplicate) = Links::read_state(state)
                .filter(|&(level, _)| level == draw_level(slot, params.m))
                .ok_or_else(|| invalid_data("a point of no known state"))?;
            let begun = links.begin(slot).and_then(|_| links.reserve(slot, level));
            begun.map_err(io::Error::other)?;
            let layers = if is_duplicate { 0 } else { level + 1 };
            for layer in 0..layers {
                let row = links.row(slot, layer);
                let bytes = &mut bytes[..row.len() * WORD];
                source.read_exact(bytes)?;
                for (link, stored) in row.iter().zip(bytes.as_chunks().0) {
                    let stored = u32::from_le_bytes(*stored);
                    let linked = Links::slot_of(stored);
                    let rises = |slot| {
                        state_of(slot)
                            .is_some_and(|(top, is_duplicate)| !is_duplicate && top >= layer)
                    };
                    if stored != 0 && !linked.is_some_and(rises) {
                        return Err(invalid_data("a link to a point that is not there"));
                    }
                    link.store(stored, Relaxed);
                }
            }
            links.finish(slot, level, is_duplicate);
            if !is_duplicate {
                graph.entries.offer(EntryPoint { slot, level });
            }
            len += 1;
            duplicates += u32::from(is_duplicate);
        }
        graph.load_duplicates(slots, duplicates, source)?;
        graph.len.fetch_add(len, AcqRel);
        Ok(graph)
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

fn words_to_bytes(words: [u32; 3]) -> [u8; 3 * WORD] {
    bytemuck::cast(words.map(u32::to_le))
}
