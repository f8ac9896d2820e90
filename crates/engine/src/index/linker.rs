//! The threads that link new points into the graphs, behind the back of readers and writer.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{Index, family::Family, linked::LinkedGraph};
use crate::{Error, Result, graph::Scratch};

/// The writer waits once a graph that had caught up is this many slots behind: every search ranks
/// them one by one.
const MAX_TAIL_SLOTS: u32 = 20_000;

/// A thread that missed its wake-up looks again after this time.
const WAIT: Duration = Duration::from_millis(200);

/// Wakes the linking threads when there is work, and the writer when there is room again.
#[derive(Default)]
pub(super) struct Signal {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }

    fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn is_stopped(&self) -> bool {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, or a little while.
    fn wait(&self) {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*stopped {
            drop(self.changed.wait_timeout(stopped, WAIT));
        }
    }
}

/// The running threads.
pub struct Linker {
    index: Arc<Index>,
    threads: Vec<JoinHandle<()>>,
}

impl Linker {
    /// Starts `threads` threads that keep the graphs of `index` up with its arena.
    pub fn start(index: &Arc<Index>, threads: usize) -> Result<Linker> {
        let spawn = |number| {
            let index = Arc::clone(index);
            thread::Builder::new()
                .name(format!("link-{number}"))
                .spawn(move || run(&index))
        };
        let threads = (0..threads).map(spawn).collect::<std::io::Result<_>>()?;
        Ok(Linker {
            index: Arc::clone(index),
            threads,
        })
    }

    /// Ends the threads, each after the slot it is at.
    pub fn stop(self) {
        self.index.linker.stop();
        for thread in self.threads {
            // A panic in the thread was caught and recorded there.
            drop(thread.join());
        }
    }
}

impl Index {
    /// Waits while a graph that had caught up has fallen too far behind. Only the writer calls it.
    pub fn wait_for_room(&self) {
        let is_full = |linked: Arc<LinkedGraph>| {
            linked.caught_up() && linked.tail(self.arena.slots()).len() > MAX_TAIL_SLOTS as usize
        };
        while self
            .families
            .iter()
            .filter_map(Family::current)
            .any(is_full)
        {
            if self.linker.is_stopped() {
                return;
            }
            self.linker.wait();
        }
    }
}

fn run(index: &Index) {
    let mut scratch = Scratch::new();
    while !index.linker.is_stopped() {
        match claim(index) {
            Some((family, linked, slots)) => link(index, family, &linked, &slots, &mut scratch),
            None => index.linker.wait(),
        }
    }
}

fn claim(index: &Index) -> Option<(&Family, Arc<LinkedGraph>, Range<u32>)> {
    let len = index.arena.slots();
    index.families.iter().find_map(|family| {
        family
            .unfinished()
            .find_map(|linked| linked.claim(len).map(|slots| (family, linked, slots)))
    })
}

fn link(
    index: &Index,
    family: &Family,
    linked: &LinkedGraph,
    slots: &Range<u32>,
    scratch: &mut Scratch,
) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        insert_all(index, linked, slots, scratch)
    }));
    let failure = match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(Error::Internal("linking a point panicked".into()).to_string()),
    };
    if let Some(reason) = failure {
        family.fail(reason);
    }
    linked.finish(slots, index.arena.slots());
    family.promote();
    index.linker.wake();
}

fn insert_all(
    index: &Index,
    linked: &LinkedGraph,
    slots: &Range<u32>,
    scratch: &mut Scratch,
) -> Result<()> {
    for slot in slots.clone() {
        let wanted = index.arena.is_visible(slot, u64::MAX - 1) && !index.arena.is_odd(slot);
        if wanted && !index.linker.is_stopped() {
            linked.graph.insert(&index.arena, slot, scratch)?;
        }
    }
    Ok(())
}
