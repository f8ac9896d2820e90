//! Fills an index at a start with the points of a data folder, on all cores, and with the graphs of
//! the last snapshot.

use std::{io, path::Path, sync::PoisonError};

use crate::{
    Error, Result,
    index::{Index, Saved, arena::Slot},
    store::{LivePoint, Snapshots},
    sync::parallel,
};

/// The number of slots that a thread restores at a time.
const CHUNK_SLOTS: usize = 4096;

impl Index {
    /// Fills an empty index with the live points, and with the graphs of the newest of `snapshots`
    /// that fits them. `dead` are deleted points whose records still exist. Both lists are by
    /// ascending sequence, and `last` is the sequence of the last record. Returns a line for the
    /// log about each snapshot that could not be used. It is removed if it is damaged, and kept if
    /// another start may read it: with other settings, or with the files or the memory that this one
    /// lacks.
    pub fn restore(
        &self,
        live: &[LivePoint],
        dead: &[LivePoint],
        last: u64,
        snapshots: &Snapshots,
    ) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for path in snapshots.list()? {
            match self.load(snapshots, &path, live, dead) {
                Ok((slots, saved)) => {
                    self.fill(&slots, last)?;
                    drop(slots);
                    self.adopt(saved)?;
                    return Ok(notes);
                }
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Err(error.into());
                }
                Err(error) => {
                    let is_damaged = matches!(error, Error::Damaged { .. });
                    let is_removed = is_damaged && snapshots.remove(&path)?;
                    let done = if is_removed { "removed" } else { "did not use" };
                    notes.push(format!("{done} a snapshot: {error}"));
                }
            }
        }
        let slots: Vec<Slot> = live.iter().map(Slot::Live).collect();
        self.fill(&slots, last)?;
        Ok(notes)
    }

    fn load<'p>(
        &self,
        snapshots: &Snapshots,
        path: &Path,
        live: &'p [LivePoint],
        dead: &'p [LivePoint],
    ) -> Result<(Vec<Slot<'p>>, Saved)> {
        let mut source = snapshots.read(path)?;
        let rest = source.rest();
        let loaded = Saved::load(&mut source, rest, self.params).and_then(|mut saved| {
            source.end()?;
            Ok((saved.place(live, dead)?, saved))
        });
        loaded.map_err(|error| source.refuse(&error))
    }

    /// Puts points into slots, and makes everything up to `sequence`, the last of the log, visible.
    fn fill(&self, slots: &[Slot], sequence: u64) -> Result<()> {
        let len = u32::try_from(slots.len());
        let len = len.map_err(|_| Error::Internal("more points than slots".into()))?;
        self.arena.reserve(len)?;
        let chunks: Vec<_> = slots.chunks(CHUNK_SLOTS).enumerate().collect();
        let restored = parallel::map(&chunks, |(number, slots)| {
            let first = (number * CHUNK_SLOTS) as u32;
            self.arena.restore(first, slots, sequence)
        });
        let mut live = 0;
        let mut f64_only = self
            .f64_only
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for restored in restored {
            let restored = restored?;
            live += restored.live;
            f64_only.extend(restored.f64_only);
            self.arena.free_slots(&restored.free)?;
        }
        drop(f64_only);
        self.arena.finish_restore(len, live);
        let is_live = |&slot: &u32| matches!(slots[slot as usize], Slot::Live(_));
        let live: Vec<u32> = (0..len).filter(is_live).collect();
        self.ids.restore(&live, &self.arena)?;
        self.publish(sequence);
        Ok(())
    }
}
