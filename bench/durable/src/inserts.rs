//! Durable inserts: how many a second, and how many bytes reach the disk for each byte of a point.

use std::{
    iter,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::{
    Result,
    disk::Written,
    points::{BATCH, DIMENSION, POINT_BYTES, Rows},
    stores::{Client, Form, Pages, Sharing, SqliteForm, Store},
};

/// Batches before the first measured insert. Segments and write-ahead log are there then, and the
/// indexes of SQLite have more than one level.
pub const WARM_UP: usize = 10;

/// How points come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// One by one from so many clients, each of whom waits for the acknowledgement of the one
    /// before.
    Single { clients: usize },
    /// In batches from one client.
    Batches,
}

impl Load {
    pub const ALL: [Load; 3] = [
        Load::Single { clients: 1 },
        Load::Single { clients: 64 },
        Load::Batches,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Load::Single { clients: 1 } => "single, 1 client",
            Load::Single { .. } => "single, 64 clients",
            Load::Batches => "batches of 1,000, 1 client",
        }
    }

    /// The forms that make a difference under this load, each of SQLite with the pages with which
    /// it was fastest; vectord without a graph first, beside its strongest rival.
    pub fn forms(self) -> Vec<Form> {
        let sqlite: &[_] = match self {
            Load::Single { clients: 1 } => &[(Sharing::One, Pages::Small)],
            Load::Single { .. } => &[
                (Sharing::Grouped, Pages::Large),
                (Sharing::One, Pages::Small),
                (Sharing::Own, Pages::Small),
            ],
            Load::Batches => &[(Sharing::One, Pages::Large)],
        };
        let sqlite = sqlite
            .iter()
            .map(|&(sharing, pages)| Form::Sqlite(SqliteForm { sharing, pages }));
        let vectord = iter::once(Form::Vectord);
        vectord
            .chain(sqlite)
            .chain([Form::VectordWithGraph])
            .collect()
    }
}

/// How long a load lasts.
#[derive(Clone, Copy)]
pub struct Extent {
    /// Of single inserts.
    pub time: Duration,
    pub batches: usize,
}

/// What one round of a load found of one form.
#[derive(Clone, Copy)]
pub struct Run {
    pub points_per_second: f64,
    /// Bytes written for each byte of the points, all brought to its place in the end.
    pub written: f64,
    /// The same by the count of the device.
    pub written_by_device: Option<f64>,
    /// The same as [`Run::written`] from the empty folder on.
    pub written_in_all: f64,
}

/// Runs a load on a form, in a fresh folder below `parent`.
pub fn run(load: Load, form: Form, extent: Extent, pool: &[f32], parent: &Path) -> Result<Run> {
    let folder = tempfile::tempdir_in(parent)?;
    let fresh = Written::now(folder.path())?;
    let store = form.open(folder.path())?;
    let next = AtomicU64::new(0);
    let inserter = Inserter { pool, next: &next };
    let mut client = store.client()?;
    for _ in 0..WARM_UP {
        inserter.batch(&mut *client)?;
    }
    drop(client);
    store.settle()?;
    let warm = next.load(Ordering::Relaxed);

    let before = Written::now(folder.path())?;
    let time = match load {
        Load::Single { clients } => inserter.singles(&*store, clients, extent.time)?,
        Load::Batches => inserter.batches(&*store, extent.batches)?,
    };
    let all = next.load(Ordering::Relaxed);
    let stored = store.points()?;
    if stored != all {
        return Err(format!("{}: {stored} points of {all} are stored", form.name()).into());
    }
    store.close()?;
    let after = Written::now(folder.path())?;

    let bytes = ((all - warm) * POINT_BYTES as u64) as f64;
    let by_device = before.device.zip(after.device);
    Ok(Run {
        points_per_second: (all - warm) as f64 / time.as_secs_f64(),
        written: (after.process - before.process) as f64 / bytes,
        written_by_device: by_device.map(|(before, after)| (after - before) as f64 / bytes),
        written_in_all: (after.process - fresh.process) as f64 / (all * POINT_BYTES as u64) as f64,
    })
}

/// Inserts points under ever new ids.
struct Inserter<'a> {
    /// The vectors of a batch.
    pool: &'a [f32],
    /// The number of the next point.
    next: &'a AtomicU64,
}

impl Inserter<'_> {
    fn batch(&self, client: &mut dyn Client) -> Result<()> {
        client.insert(Rows {
            first: self.next.fetch_add(BATCH as u64, Ordering::Relaxed),
            vectors: self.pool,
        })
    }

    /// Returns the time that the batches took.
    fn batches(&self, store: &dyn Store, batches: usize) -> Result<Duration> {
        let mut client = store.client()?;
        let start = Instant::now();
        for _ in 0..batches {
            self.batch(&mut *client)?;
        }
        Ok(start.elapsed())
    }

    /// Inserts until the time is up; returns how long it took to the last acknowledgement.
    fn singles(&self, store: &dyn Store, clients: usize, time: Duration) -> Result<Duration> {
        let clients = (0..clients).map(|_| store.client());
        let clients = clients.collect::<Result<Vec<_>>>()?;
        let start = Instant::now();
        thread::scope(|scope| {
            let threads = clients.into_iter().map(|mut client| {
                scope.spawn(move || {
                    while start.elapsed() < time {
                        self.single(&mut *client)?;
                    }
                    Ok(())
                })
            });
            let threads: Vec<_> = threads.collect();
            let mut ends = threads.into_iter().map(thread::ScopedJoinHandle::join);
            ends.try_for_each(|end| -> Result<()> { end.map_err(|_| "a client has panicked")? })
        })?;
        Ok(start.elapsed())
    }

    fn single(&self, client: &mut dyn Client) -> Result<()> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let at = first as usize % BATCH * DIMENSION;
        client.insert(Rows {
            first,
            vectors: &self.pool[at..at + DIMENSION],
        })
    }
}
