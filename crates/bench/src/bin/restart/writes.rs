//! How long writes wait while a snapshot is written.

use std::{
    thread,
    time::{Duration, Instant},
};

use vectord_bench::Result;
use vectord_engine::Engine;

use crate::{
    folder::{Folder, insert},
    source::Source,
};

/// The time from one write to the next.
const EVERY: Duration = Duration::from_millis(2);
/// Writes before the snapshot, to compare with.
const CALM_WRITES: usize = 1_000;
/// A snapshot is begun this long after the last write, at the latest.
const PATIENCE: Duration = Duration::from_mins(2);

/// The milliseconds that single inserts took.
pub struct Writes {
    pub count: usize,
    pub median: f64,
    pub longest: f64,
}

/// Inserts points one by one, at a steady rate: first in calm, then, once the engine has begun to
/// write a snapshot, until that is durable.
pub fn beside_a_snapshot(folder: &Folder, engine: &Engine, source: &Source) -> Result<[Writes; 2]> {
    let points = engine.status().points as usize;
    let mut next = points;
    let mut write = || {
        let vector = source.points(next - points, 1)?;
        let start = Instant::now();
        insert(engine, next, vector, 1)?;
        let took = start.elapsed();
        next += 1;
        thread::sleep(EVERY.saturating_sub(took));
        Result::Ok(took.as_secs_f64() * 1e3)
    };
    let mut calm = Vec::new();
    for _ in 0..CALM_WRITES {
        calm.push(write()?);
    }
    let temporary = folder.path.join("SNAPSHOT.tmp");
    let start = Instant::now();
    while !temporary.exists() {
        if start.elapsed() > PATIENCE {
            return Err("no snapshot was begun".into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    let mut beside = Vec::new();
    while temporary.exists() {
        beside.push(write()?);
    }
    Ok([Writes::of(calm), Writes::of(beside)])
}

impl Writes {
    fn of(mut milliseconds: Vec<f64>) -> Self {
        milliseconds.sort_unstable_by(f64::total_cmp);
        let count = milliseconds.len();
        Writes {
            count,
            median: milliseconds.get(count / 2).copied().unwrap_or(f64::NAN),
            longest: milliseconds.last().copied().unwrap_or(f64::NAN),
        }
    }
}
