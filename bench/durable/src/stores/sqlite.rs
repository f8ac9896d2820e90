//! SQLite as one would use it by hand for points that must not be lost: a write-ahead log, synced
//! at each commit.

use std::{
    iter,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, TransactionBehavior, params};

use super::{Client, Store};
use crate::{
    Result,
    points::{CONTENT, CONTENT_TYPE, Rows},
};

/// How every connection is set up, beside its pages.
const PRAGMAS: [(&str, &str); 4] = [
    ("journal_mode", "WAL"),
    ("synchronous", "FULL"),
    ("cache_size", "-65536"),
    // The most that there is.
    ("mmap_size", "2147418112"),
];

/// The write-ahead log is copied into the database each time it has grown to this. A longer one
/// would put off to after a measurement what belongs into it.
const LOG_BYTES: u32 = 16 << 20;

/// With the points in the order in which they come, and their ids in an index: without a row id
/// they would be in the order of random ids, and SQLite takes several times as long.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS points\
    (id BLOB PRIMARY KEY, vector BLOB, content_type INTEGER, content TEXT)";

const INSERT: &str = "INSERT INTO points VALUES(?, ?, ?, ?)";

/// Nobody waits so long for 63 others.
const BUSY: Duration = Duration::from_mins(1);

/// How clients share a database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// One connection behind a mutex; each insert is a transaction.
    One,
    /// Each client has a connection and waits for the lock of the file.
    Own,
    /// One thread commits all inserts that are waiting as one transaction.
    Grouped,
}

/// The pages of a database: a transaction writes every page that it changes as a whole, so that
/// small ones are faster for single points, and large ones, into which more points fit, for many.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    Small,
    Large,
}

impl Pages {
    const fn bytes(self) -> u32 {
        match self {
            Pages::Small => 4 << 10,
            Pages::Large => 16 << 10,
        }
    }
}

/// A use of SQLite, of which there are as many as make a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SqliteForm {
    pub sharing: Sharing,
    pub pages: Pages,
}

impl SqliteForm {
    pub fn name(self) -> &'static str {
        match (self.sharing, self.pages) {
            (Sharing::One, Pages::Small) => "SQLite, one connection, pages of 4 KiB",
            (Sharing::One, Pages::Large) => "SQLite, one connection, pages of 16 KiB",
            (Sharing::Own, Pages::Small) => "SQLite, a connection for each, pages of 4 KiB",
            (Sharing::Own, Pages::Large) => "SQLite, a connection for each, pages of 16 KiB",
            (Sharing::Grouped, Pages::Small) => "SQLite, group commit, pages of 4 KiB",
            (Sharing::Grouped, Pages::Large) => "SQLite, group commit, pages of 16 KiB",
        }
    }
}

/// What a report says of the database.
pub fn settings() -> String {
    let pragmas = PRAGMAS.map(|(pragma, value)| format!("{pragma}={value}"));
    let version = rusqlite::version();
    let log = LOG_BYTES >> 20;
    let pragmas = pragmas.join(", ");
    format!("{version}, {pragmas}, wal_autocheckpoint at {log} MiB; {SCHEMA}")
}

/// Opens the database of a folder, and makes it if it is not there.
pub fn connect(folder: &Path, pages: Pages) -> Result<Connection> {
    let connection = Connection::open(folder.join("points.sqlite"))?;
    connection.busy_timeout(BUSY)?;
    // Before the log, with which the size is settled.
    connection.pragma_update(None, "page_size", pages.bytes())?;
    for (pragma, value) in PRAGMAS {
        connection.pragma_update(None, pragma, value)?;
    }
    connection.pragma_update(None, "wal_autocheckpoint", LOG_BYTES / pages.bytes())?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// Stores points as one transaction.
fn insert(connection: &mut Connection, rows: &[Rows]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut statement = transaction.prepare_cached(INSERT)?;
        for (id, vector) in rows.iter().flat_map(Rows::iter) {
            let vector: &[u8] = bytemuck::cast_slice(vector);
            statement.execute(params![id, vector, CONTENT_TYPE, CONTENT])?;
        }
    }
    transaction.commit()
}

pub struct Sqlite {
    folder: PathBuf,
    form: SqliteForm,
    /// Held to the end in every form: with the last connection the write-ahead log goes, and the
    /// next one would have to grow anew.
    connection: Mutex<Connection>,
    grouped: Option<Grouped>,
}

impl Sqlite {
    pub fn open(folder: &Path, form: SqliteForm) -> Result<Self> {
        let connection = Mutex::new(connect(folder, form.pages)?);
        let grouped = match form.sharing {
            Sharing::Grouped => Some(Grouped::start(connect(folder, form.pages)?)),
            Sharing::One | Sharing::Own => None,
        };
        Ok(Sqlite {
            folder: folder.to_owned(),
            form,
            connection,
            grouped,
        })
    }

    fn checkpoint(&self, how: &str) -> Result<()> {
        let statement = format!("PRAGMA wal_checkpoint({how})");
        let busy: u32 = lock(&self.connection).query_row(&statement, [], |row| row.get(0))?;
        if busy == 0 {
            return Ok(());
        }
        Err("a checkpoint found the database in use".into())
    }
}

impl Store for Sqlite {
    fn client(&self) -> Result<Box<dyn Client + Send + '_>> {
        Ok(match (&self.grouped, self.form.sharing) {
            (Some(grouped), _) => Box::new(grouped.client()),
            (None, Sharing::Own) => Box::new(connect(&self.folder, self.form.pages)?),
            (None, _) => Box::new(&self.connection),
        })
    }

    fn settle(&self) -> Result<()> {
        // The file of the log keeps its size and is written from its start again.
        self.checkpoint("RESTART")
    }

    fn points(&self) -> Result<u64> {
        let count = "SELECT count(*) FROM points";
        let count: i64 = lock(&self.connection).query_row(count, [], |row| row.get(0))?;
        Ok(count.cast_unsigned())
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        if let Some(grouped) = self.grouped.take() {
            grouped.stop()?;
        }
        self.checkpoint("TRUNCATE")
    }
}

/// The connection that all share.
impl Client for &Mutex<Connection> {
    fn insert(&mut self, rows: Rows) -> Result<()> {
        Ok(insert(&mut lock(self), &[rows])?)
    }
}

/// A connection of one's own.
impl Client for Connection {
    fn insert(&mut self, rows: Rows) -> Result<()> {
        Ok(insert(self, &[rows])?)
    }
}

/// The thread that commits for all, and the queue to it.
struct Grouped {
    queue: Sender<Job>,
    thread: JoinHandle<()>,
}

/// Points that wait, and who waits for them.
struct Job {
    first: u64,
    vectors: Vec<f32>,
    done: Sender<std::result::Result<(), String>>,
}

impl Grouped {
    fn start(connection: Connection) -> Self {
        let (queue, jobs) = channel();
        let thread = thread::spawn(move || commit_groups(connection, &jobs));
        Grouped { queue, thread }
    }

    fn client(&self) -> GroupedClient {
        let (done, outcome) = channel();
        GroupedClient {
            queue: self.queue.clone(),
            done,
            outcome,
        }
    }

    fn stop(self) -> Result<()> {
        drop(self.queue);
        let ended = self.thread.join();
        ended.map_err(|_| "the thread that commits has panicked".into())
    }
}

/// Takes all that waits as one transaction; while that is synced, the next gathers.
fn commit_groups(mut connection: Connection, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let group: Vec<Job> = iter::once(first).chain(jobs.try_iter()).collect();
        let rows: Vec<Rows> = group.iter().map(Job::rows).collect();
        let outcome = insert(&mut connection, &rows).map_err(|error| error.to_string());
        for job in &group {
            // Whoever waits is there until it is done.
            drop(job.done.send(outcome.clone()));
        }
    }
}

impl Job {
    fn rows(&self) -> Rows<'_> {
        Rows {
            first: self.first,
            vectors: &self.vectors,
        }
    }
}

struct GroupedClient {
    queue: Sender<Job>,
    done: Sender<std::result::Result<(), String>>,
    outcome: Receiver<std::result::Result<(), String>>,
}

impl Client for GroupedClient {
    fn insert(&mut self, rows: Rows) -> Result<()> {
        let job = Job {
            first: rows.first,
            vectors: rows.vectors.to_vec(),
            done: self.done.clone(),
        };
        self.queue
            .send(job)
            .map_err(|_| "the thread that commits has ended")?;
        Ok(self.outcome.recv()??)
    }
}

fn lock(connection: &Mutex<Connection>) -> std::sync::MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}
