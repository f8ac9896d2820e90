//! What is compared: the ways to store points, behind one trait.

mod engine;
mod sqlite;

use std::path::Path;

pub use engine::{options, search};
pub use sqlite::{Pages, Sharing, SqliteForm, connect, settings};
use vectord_engine::Metric;

use crate::{Result, points::Rows};

/// A way to store points.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The engine of vectord, which is asked for no search and has no graph.
    Vectord,
    /// The same with a Euclidean graph, which it keeps up meanwhile.
    VectordWithGraph,
    Sqlite(SqliteForm),
}

impl Form {
    pub fn name(self) -> &'static str {
        match self {
            Form::Vectord => "vectord",
            Form::VectordWithGraph => "vectord, a graph kept up besides",
            Form::Sqlite(form) => form.name(),
        }
    }

    /// Opens an empty folder.
    pub fn open(self, folder: &Path) -> Result<Box<dyn Store>> {
        let warm = match self {
            Form::Sqlite(form) => return Ok(Box::new(sqlite::Sqlite::open(folder, form)?)),
            Form::Vectord => Vec::new(),
            Form::VectordWithGraph => vec![Metric::Euclidean],
        };
        Ok(Box::new(engine::Vectord::open(folder, warm)?))
    }
}

/// The form of SQLite whose folders are opened again: large pages are scanned sooner.
pub const SCANNED: SqliteForm = SqliteForm {
    sharing: Sharing::One,
    pages: Pages::Large,
};

/// An open folder that takes points from several threads.
pub trait Store: Sync {
    /// One who inserts, on one thread.
    fn client(&self) -> Result<Box<dyn Client + Send + '_>>;

    /// Writes what has been put off, so that later work does not pay for earlier.
    fn settle(&self) -> Result<()>;

    /// The number of points that are stored.
    fn points(&self) -> Result<u64>;

    /// Brings everything into its final place and lets the folder go.
    fn close(self: Box<Self>) -> Result<()>;
}

pub trait Client {
    /// Stores points, all or none, and returns once they are durable.
    fn insert(&mut self, rows: Rows) -> Result<()>;
}
