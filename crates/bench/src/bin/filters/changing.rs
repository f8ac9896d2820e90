//! Writes that go on while searches are measured, and leave their right answers as they are.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use vectord_bench::{
    Result,
    collection::{Collection, Written},
};
use vectord_engine::layers::vectors::points::Points;

use crate::{
    attributes::{Attributes, metadata_of_nobody, shuffled},
    set::Set,
};

/// The points of one upsert that stay where they are, written with the same vector and with the
/// same metadata but for their version.
const SAME: usize = 80;
/// The points of one upsert that move to the place of another point. No filter matches them.
const MOVED: usize = 20;
/// How many points move, in all.
const MOVING: usize = 1_000;
/// The time between two upserts.
const PACE: Duration = Duration::from_millis(50);

/// Does `work` while another thread writes. Returns its result and the number of points written.
pub fn during<T>(
    collection: &Collection,
    set: &Set,
    attributes: &Attributes,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, usize)> {
    let is_done = AtomicBool::new(false);
    let write = || -> std::result::Result<usize, String> {
        let order = shuffled(set.points(), 4);
        let mut round = 0;
        while !is_done.load(Relaxed) {
            let points = upsert(set, attributes, &order, round);
            collection
                .upsert(points)
                .map_err(|error| format!("an upsert failed: {error}"))?;
            round += 1;
            thread::sleep(PACE);
        }
        Ok(round * (SAME + MOVED))
    };
    thread::scope(|scope| {
        let writer = scope.spawn(write);
        let result = work();
        is_done.store(true, Relaxed);
        let written = writer
            .join()
            .map_err(|_| "the thread that writes panicked")??;
        Ok((result?, written))
    })
}

/// The points of an upsert, other ones each round.
fn upsert<'s>(
    set: &'s Set,
    attributes: &'s Attributes,
    order: &'s [u32],
    round: usize,
) -> impl Iterator<Item = Written<'s>> {
    let nth = move |number: usize| order[number % order.len()];
    let same = (round * SAME..(round + 1) * SAME).map(move |number| {
        let row = nth(number);
        Written {
            row: row as usize,
            vector: set.base.vector(row),
            metadata: attributes.metadata(row as usize, round + 1),
        }
    });
    let moved = (round * MOVED..(round + 1) * MOVED).map(move |number| Written {
        row: set.points() + number % MOVING,
        vector: set.base.vector(nth(number + order.len() / 2)),
        metadata: metadata_of_nobody(round),
    });
    same.chain(moved)
}
