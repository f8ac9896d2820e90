//! Filling an index by several threads.

use std::{
    iter,
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
};

use vectord_engine::{
    Result,
    layers::hnsw::{Graph, Scratch},
};

use super::vectors::Vectors;

/// Inserts some of the points into a graph.
pub fn fill(graph: &Graph, base: &Vectors, slots: Range<u32>, threads: u32) -> Result<()> {
    deal(slots, threads, |slots| {
        let mut scratch = Scratch::new();
        for slot in slots {
            graph.insert(base, slot, &mut scratch)?;
        }
        Ok(())
    })
}

/// Gives the slots, in order, to threads that each run `work` on the next one.
pub fn deal(
    slots: Range<u32>,
    threads: u32,
    work: impl Fn(&mut dyn Iterator<Item = u32>) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicU32::new(slots.start);
    let worker = || {
        work(&mut iter::from_fn(|| {
            Some(next.fetch_add(1, Relaxed)).filter(|&slot| slot < slots.end)
        }))
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a thread that fills panicked"))
    })
}
