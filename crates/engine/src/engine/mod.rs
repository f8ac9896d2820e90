//! The public surface of the engine: open a data folder, insert, delete, get, search, close.

mod answer;
pub mod batch;
pub mod budget;
mod query;
mod reading;
pub mod stats;
#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests;
pub mod upkeep;
pub mod workers;
pub mod writer;

use std::{
    borrow::Cow,
    cell::RefCell,
    path::PathBuf,
    slice,
    sync::{Arc, Mutex, PoisonError, RwLock},
    thread,
    time::Duration,
};

use vectord_filter::Filter;

use crate::{
    Error, Metric, Result,
    engine::{
        batch::{Asked, BatchSearch},
        budget::{Budget, Reservation},
        reading::Reading,
        stats::{Counters, Metrics},
        upkeep::{GiveBack, Upkeep},
        workers::{Ticket, Workers},
        writer::{Batch, Done, Existing, Outcome, Update, Upserted, Writer},
    },
    hnsw::{Params, Scratch},
    index::{
        Builder, ColumnStatus, GraphStatus, Include, Index, KnownDamage, Linker, Matches, PointId,
    },
    store::{OpenOptions, Store, StoredPoint, StreamPosition},
    sync::{histogram::Histogram, lock},
};
pub use answer::{Found, Hit, Want};
pub use query::Query;
pub use reading::{Gathered, Page, PageRequest};

/// The dimension of a new folder if none is configured.
pub const DEFAULT_DIMENSION: u32 = 384;

/// A search that would take longer is not answered on the calling thread, where it would block the
/// event loop of the server.
const MAX_TIME_AT_ONCE: Duration = Duration::from_millis(1);

/// The greatest number of bytes of records that are copied on the calling thread.
const MAX_BYTES_AT_ONCE: usize = 512 << 10;

/// What to open and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data folder; made if it is not there.
    pub path: PathBuf,
    /// The dimension, if configured.
    pub dimension: Option<u32>,
    /// The parameters of the graphs.
    pub graph: Params,
    /// The metrics whose graphs are begun at the start, before any search asks for them.
    pub warm_metrics: Vec<Metric>,
    /// The time without a search after which the graph of another metric is given back, and the next
    /// search begins it anew; None for never.
    pub give_back_after: Option<Duration>,
    /// The size of a log segment in bytes.
    pub segment_bytes: u64,
    /// The memory in bytes that waiting and running requests may take together. Further requests
    /// are refused with [`Error::Overloaded`].
    pub max_queued_bytes: usize,
    /// The memory in bytes that the columns may take by which filters are answered. Fields for which
    /// there is no room are read from the records.
    pub max_column_bytes: usize,
}

/// Where the engine's dimension comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DimensionSource {
    /// The configuration.
    Configured,
    /// The points in the data folder.
    Remembered,
    /// Neither of the two: the default.
    Default,
}

/// A point as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its id.
    pub id: PointId,
    /// The vector, bit for bit.
    pub vector: Vec<f32>,
    /// The number of its content type.
    pub content_type: u8,
    /// The content of its payload.
    pub content: Vec<u8>,
    /// The metadata of its payload, as the service encoded them; empty if there are none.
    pub metadata: Vec<u8>,
}

impl Point {
    fn of(stored: StoredPoint) -> Point {
        Point {
            id: stored.id,
            vector: stored.vector.to_vec(),
            content_type: stored.content_type,
            content: stored.content.to_vec(),
            metadata: stored.metadata.to_vec(),
        }
    }
}

/// The state of the engine.
#[derive(Clone, Debug)]
pub struct Status {
    /// The number of points that are not deleted.
    pub points: u64,
    /// The number of deleted points whose slots are not reclaimed yet.
    pub dead: u64,
    /// The failure after which the store takes no more writes, if there was one.
    pub failure: Option<String>,
    /// Whether an insert found the disk full within the last minute, and no later one found space.
    pub is_full: bool,
    /// The states of the graphs that exist or have failed.
    pub graphs: Vec<GraphStatus>,
    /// The states of the columns, by which filters are answered.
    pub columns: Vec<ColumnStatus>,
    /// The damage that was found since the start and still exists. Answers that would hold a
    /// damaged record are refused.
    pub damage: Option<KnownDamage>,
    /// The failure of the last attempt to write a snapshot or to give back the space of deleted
    /// points, if it failed: the next start will take longer, or the folder grows.
    pub upkeep_failure: Option<String>,
}

/// A data folder, opened.
pub struct Engine {
    dimension: u32,
    dimension_source: DimensionSource,
    store_id: [u8; 16],
    notes: Vec<String>,
    index: Arc<Index>,
    columns: Mutex<Option<Builder>>,
    writer: Arc<Writer>,
    workers: Workers,
    linker: Mutex<Option<Linker>>,
    upkeep: Mutex<Option<Upkeep>>,
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    syncs: Arc<Histogram>,
    closed: RwLock<bool>,
}

impl Engine {
    /// Opens a data folder and serves every point that was acknowledged before.
    pub fn open(options: &Options) -> Result<Engine> {
        let opened = Store::open(&OpenOptions {
            path: options.path.clone(),
            dimension: options.dimension,
            default_dimension: DEFAULT_DIMENSION,
            segment_bytes: options.segment_bytes,
        })?;
        let dimension_source = match (opened.remembered, options.dimension) {
            (true, None) => DimensionSource::Remembered,
            (_, Some(_)) => DimensionSource::Configured,
            (false, None) => DimensionSource::Default,
        };
        let segments = opened.store.segments();
        let index = Index::new(Arc::clone(&segments), opened.dimension, options.graph);
        let index = Arc::new(index.with_column_bytes(options.max_column_bytes));
        let snapshots = opened.store.snapshots();
        let last = opened.last_sequence;
        let mut notes = opened.notes;
        notes.extend(index.restore(&opened.points, &opened.dead, last, &snapshots)?);
        drop((opened.points, opened.dead));
        segments.read_at_random();
        for &metric in &options.warm_metrics {
            index.want_graph(metric);
        }
        let budget = Budget::new(options.max_queued_bytes);
        let (counters, syncs) = (Counters::new(), opened.store.syncs());
        let writer = Arc::new(Writer::start(
            opened.store,
            Arc::clone(&index),
            Arc::clone(&budget),
            Arc::clone(&counters),
        )?);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        // From here on a failure drops the engine, which ends the threads that it has.
        let engine = Engine {
            dimension: opened.dimension,
            dimension_source,
            store_id: opened.store_id,
            notes,
            workers: Workers::start(cores, Arc::clone(&budget))?,
            linker: Mutex::default(),
            upkeep: Mutex::default(),
            columns: Mutex::default(),
            writer,
            index,
            budget,
            counters,
            syncs,
            closed: RwLock::new(false),
        };
        let upkeep = Upkeep::start(
            Arc::clone(&engine.index),
            Arc::clone(&engine.writer),
            snapshots,
            Arc::clone(&engine.counters),
            GiveBack {
                after: options.give_back_after,
                kept: options.warm_metrics.clone(),
            },
        )?;
        *lock(&engine.upkeep) = Some(upkeep);
        *lock(&engine.linker) = Some(Linker::start(&engine.index, cores)?);
        *lock(&engine.columns) = Some(Builder::start(&engine.index)?);
        Ok(engine)
    }

    /// The number of values in a vector.
    #[must_use]
    pub fn dimension(&self) -> u32 {
        self.dimension
    }

    /// Where the dimension comes from.
    #[must_use]
    pub fn dimension_source(&self) -> DimensionSource {
        self.dimension_source
    }

    /// The random id of the data folder. One that a restore or a repair makes has an id of its own.
    #[must_use]
    pub fn store_id(&self) -> [u8; 16] {
        self.store_id
    }

    /// What opening the folder had to repair, as lines for a log.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Stores the points of a batch, all or none, under new ids. `done` is called, maybe on another
    /// thread, once the points are durable and visible or the batch was refused.
    pub fn insert(&self, batch: Batch, done: Done<()>) {
        let done = Box::new(|stored: Result<Upserted>| done(stored.map(drop)));
        self.upsert(batch, Existing::Impossible, done);
    }

    /// Stores the points of a batch, all or none. What is done with those whose ids exist,
    /// `existing` says; each id is in the batch once. `done` is called, maybe on another thread,
    /// once the points are durable and visible or the batch was refused.
    pub fn upsert(&self, batch: Batch, existing: Existing, done: Done<Upserted>) {
        match self.check(&batch) {
            Ok(()) => self.writer.store(batch, existing, done),
            Err(error) => done(Err(error)),
        }
    }

    /// Checks what [`Engine::upsert`] does not store.
    ///
    /// # Errors
    /// [`Error::NotFinite`]: a value of a vector is NaN or infinite.
    pub fn check(&self, batch: &Batch) -> Result<()> {
        self.check_shape(batch)?;
        self.check_finite(&batch.vectors)
    }

    /// Changes the payloads of points, each once in the list, all or none: a point that is not there
    /// is passed over. `done` is called, maybe on another thread, once the changes are durable and
    /// visible, with whether there was such a point, for each in order.
    pub fn update(&self, updates: Vec<Update>, done: Done<Vec<bool>>) {
        self.writer.update(updates, done);
    }

    /// Deletes the point with this id. `done` is called, maybe on another thread, once the delete
    /// is durable, with whether there was such a point.
    pub fn delete(&self, id: PointId, done: Done<bool>) {
        let is_found = |found: Vec<bool>| found.first() == Some(&true);
        self.delete_many(vec![id], Box::new(move |found| done(found.map(is_found))));
    }

    /// Deletes the points with these ids, each once in the list, all or none: a point that is not
    /// there is passed over. `done` is called as that of [`Engine::update`].
    pub fn delete_many(&self, ids: Vec<PointId>, done: Done<Vec<bool>>) {
        self.writer.delete(ids, done);
    }

    /// Deletes the points that pass a filter when the writer comes to it, all or none. Other points
    /// are written while the search threads look for them. `done` is called, maybe on another thread,
    /// once the delete is durable and visible, with their number.
    pub fn delete_matching(&self, filter: Arc<Filter>, done: Done<u64>) {
        let (writer, of_delete) = (Arc::clone(&self.writer), Arc::clone(&filter));
        let delete = move |found| match found {
            Ok((found, memory)) => writer.delete_matching(of_delete, found, memory, done),
            Err(error) => done(Err(error)),
        };
        self.find_matches(filter, Box::new(delete));
    }

    /// Finds the points that pass a filter before a message deletes them, so that the message holds
    /// the writer no longer than it takes to look at what is written meanwhile. `done` is called,
    /// maybe on another thread, once they are found. Refused with [`Error::InvalidArgument`] where
    /// points are written faster than the filter is asked about them: a writer must not do that; and with
    /// [`Error::Overloaded`] where too many deletes by filter are under way.
    pub fn find_to_delete(&self, filter: Arc<Filter>, done: Done<()>) {
        let place = match self.writer.find_ahead(&filter) {
            Ok(place) => place,
            Err(error) => return done(Err(error)),
        };
        let keep = move |found: Result<(Matches, Reservation)>| {
            done(found.and_then(|(found, mut memory)| {
                if found.falls_behind() {
                    return Err(falls_behind());
                }
                memory.set(found.bytes());
                place.keep(found, memory);
                Ok(())
            }));
        };
        self.find_matches(filter, Box::new(keep));
    }

    /// Gives back what [`Engine::find_to_delete`] found with this filter for a message that will not
    /// come.
    pub fn give_back_found(&self, filter: &Filter) {
        self.writer.give_back_found(filter);
    }

    /// Finds the points that pass a filter on the search threads, and the memory that they take.
    fn find_matches(&self, filter: Arc<Filter>, done: Done<(Matches, Reservation)>) {
        let ids = self.index.live() as usize * size_of::<PointId>();
        let memory = match self.budget.reserve_for_delete(ids) {
            Ok(memory) => memory,
            Err(error) => return done(Err(error)),
        };
        let found = move |found| match found {
            Ok(found) => done(Ok((found, memory))),
            Err(error) => {
                drop(memory);
                done(Err(error));
            }
        };
        let (index, budget) = (&self.index, &self.budget);
        let finding = Reading::of_matches(index, budget, filter, Box::new(found));
        self.workers.submit(Box::new(finding));
    }

    /// Deletes all points if there are `expected`; else it is refused with [`Error::OtherCount`].
    /// `done` is called, maybe on another thread, once the delete is durable and visible.
    pub fn delete_all(&self, expected: u64, done: Done<()>) {
        self.writer.delete_all(expected, done);
    }

    /// Applies the next message of the stream that orders the writes of a shard, which
    /// [`Message::encode`](writer::message::Message::encode) has made. `done` is called, maybe on another thread,
    /// once the message is durable and visible. Messages are applied in the order of their sequences,
    /// each once and whole, however long each has to wait for graphs, disk space or memory: replicas
    /// that applied the same messages hold the same points.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: the message is not the next one, this version cannot decode it, or
    /// the folder holds points that were not written by a stream. [`Error::Overloaded`]: the system
    /// has no memory; the caller applies the message again. Any other: this replica cannot go on.
    pub fn apply(&self, bytes: &[u8], sequence: u64, done: Done<Outcome>) {
        self.writer
            .apply(bytes, sequence, self.index.dimension(), done);
    }

    /// In a replica, where it is in its stream with all that is durable and visible; None where
    /// no message was applied yet.
    #[must_use]
    pub fn position(&self) -> Option<StreamPosition> {
        self.writer.position()
    }

    /// In a replica, the position beyond which nothing is visible: what a read has found was written
    /// up to the horizon that is read after it. It is ahead of [`Engine::position`] while messages
    /// become visible.
    #[must_use]
    pub fn horizon(&self) -> Option<StreamPosition> {
        self.writer.horizon()
    }

    /// Reads the stored point with this id and verifies its bytes. None if there is no such point.
    pub fn get(&self, id: &PointId) -> Result<Option<Point>> {
        self.while_open(|| {
            let _running = self.index.enter();
            self.index
                .with_location(id, |at| self.index.read(id, at, Point::of))
                .transpose()
        })
    }

    /// Reads the points with these ids on another thread, and verifies their bytes. `done` is called
    /// with the points that exist, or with [`Error::AnswerTooLarge`] if the parts that `include`
    /// names take more than `max_bytes`. The ticket is for [`Engine::abandon`]; there is none where `done`
    /// has been called already.
    pub fn get_many(
        &self,
        ids: Vec<PointId>,
        include: Include,
        max_bytes: usize,
        done: Done<Gathered>,
    ) -> Option<Ticket> {
        let (index, budget) = (&self.index, &self.budget);
        let reading = Reading::of_ids(index, budget, ids, include, max_bytes, done);
        self.workers.submit(Box::new(reading))
    }

    /// Reads a page of points on another thread, from the first of a direction on or behind the
    /// sequence that [`Page::next`] names, and verifies their bytes. The ticket is for
    /// [`Engine::abandon`]; there is none where `done` has been called already.
    ///
    /// A point that lives all the while is among the pages from the oldest to the newest, once more
    /// for each time that it is replaced or updated meanwhile. From the newest to the oldest, points
    /// that are written meanwhile may be missing. A page takes a time in the order of its points;
    /// only the first one since the start goes through all points.
    pub fn scroll(&self, request: PageRequest, done: Done<Page>) -> Option<Ticket> {
        let reading = Reading::of_page(&self.index, &self.budget, request, done);
        self.workers.submit(Box::new(reading))
    }

    /// Counts the points that pass a filter, on another thread. The ticket is for
    /// [`Engine::abandon`]; there is none where `done` has been called already.
    pub fn count(&self, filter: Arc<Filter>, done: Done<u64>) -> Option<Ticket> {
        let reading = Reading::of_count(&self.index, &self.budget, filter, done);
        self.workers.submit(Box::new(reading))
    }

    /// Answers a search on the calling thread. `None` if that would take too long, or turns out to
    /// take too long: then the caller uses [`Engine::search_batch`].
    pub fn search(&self, vector: &[f32], query: &Query) -> Result<Option<Vec<Hit>>> {
        let found = self.find(vector, query, &Want::default(), usize::MAX)?;
        Ok(found.map(|found| found.hits))
    }

    /// As [`Engine::search`], with what the query wants besides ids. `None` also if that takes more
    /// than `max_bytes`, or than some hundred KiB, or where the columns do not answer its filter at
    /// once: then the caller uses [`Engine::find_batch`].
    pub fn find(
        &self,
        vector: &[f32],
        query: &Query,
        want: &Want,
        max_bytes: usize,
    ) -> Result<Option<Found>> {
        let vector = match want.like {
            Some(_) => Cow::Owned(self.vectors_of(vector, slice::from_ref(want))?),
            None => Cow::Borrowed(vector),
        };
        self.check_queries(&vector, slice::from_ref(query))?;
        thread_local! {
            static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::impatient());
        }
        self.while_open(|| {
            let view = self.index.view();
            let widened = want.widened(query);
            let filter = want.filter.as_deref();
            if filter.is_some_and(|filter| !view.answers_at_once(filter)) {
                return Ok(None);
            }
            let selection = filter.map(|filter| view.select(filter, &|| true));
            let selection = selection.transpose()?;
            let search = view.prepare(widened.request(&vector, selection.as_ref()));
            if search.cost() > MAX_TIME_AT_ONCE {
                return Ok(None);
            }
            let found = SCRATCH.with_borrow_mut(|scratch| search.run_at_once(scratch))?;
            let Some(mut found) = found else {
                return Ok(None);
            };
            want.cut(query, &mut found);
            if want.bytes(&view, &found) > max_bytes.min(MAX_BYTES_AT_ONCE) {
                return Ok(None);
            }
            want.read(&view, &found).map(Some)
        })
    }

    /// The work of queries with these limits and breadths together, in candidates, among the
    /// present points.
    #[must_use]
    pub fn search_work(&self, limits: &[u32], efs: &[u32]) -> u64 {
        let points = self.index.live() as usize;
        let queries = limits.iter().zip(efs);
        let work =
            queries.map(|(&limit, &ef)| Query::candidates(limit as usize, ef as usize, points));
        work.fold(0, u64::saturating_add)
    }

    /// Answers searches on other threads. `vectors` holds one vector per query; `done` is called
    /// with one list of hits per query. The ticket is for [`Engine::abandon`]; there is none where
    /// `done` has been called already.
    pub fn search_batch(
        &self,
        vectors: Vec<f32>,
        queries: Vec<Query>,
        done: Done<Vec<Vec<Hit>>>,
    ) -> Option<Ticket> {
        let hits = |found: Vec<Found>| found.into_iter().map(|found| found.hits).collect();
        let asked = Asked {
            vectors,
            queries,
            wants: Vec::new(),
            max_bytes: usize::MAX,
        };
        self.find_batch(asked, Box::new(move |found| done(found.map(hits))))
    }

    /// As [`Engine::search_batch`], with what the queries want besides ids: one answer for each
    /// query; [`Error::AnswerTooLarge`] if what they want takes more than they may.
    pub fn find_batch(&self, mut asked: Asked, done: Done<Vec<Found>>) -> Option<Ticket> {
        let answer = match self.complete(&mut asked) {
            Ok(()) if !asked.queries.is_empty() => {
                let (index, budget) = (Arc::clone(&self.index), Arc::clone(&self.budget));
                let threads = self.workers.threads();
                let batch = BatchSearch::new(index, budget, asked, threads, done);
                return self.workers.submit(Box::new(batch));
            }
            Ok(()) => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        done(answer);
        None
    }

    /// Gives up searches or reads that nobody waits for: what has not begun never will, and the
    /// memory is free once what is under way has ended. `done` is called with [`Error::Abandoned`].
    /// Does nothing if they have been answered.
    pub fn abandon(&self, ticket: Ticket) {
        self.workers.abandon(ticket);
    }

    /// The present state: points, health and graphs.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            points: self.index.live(),
            dead: self.index.dead(),
            failure: self.writer.failure(),
            is_full: self.writer.is_full(),
            graphs: self.index.graphs(),
            columns: self.index.column_status(),
            damage: self.index.damage(),
            upkeep_failure: lock(&self.upkeep).as_ref().and_then(Upkeep::failure),
        }
    }

    /// The counts since the start, and the work that waits.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.counters
            .read(&self.syncs, self.workers.jobs(), self.budget.usage())
    }

    /// Finishes what is under way, makes it durable, and unlocks the folder. Later requests are
    /// refused, and a second call does nothing.
    pub fn close(&self) -> Result<()> {
        *self.closed.write().unwrap_or_else(PoisonError::into_inner) = true;
        self.workers.stop();
        // The linking threads end before the writer, which would otherwise wait for a long tail to
        // be linked.
        if let Some(linker) = lock(&self.linker).take() {
            linker.stop();
        }
        if let Some(builder) = lock(&self.columns).take() {
            builder.stop();
        }
        if let Some(upkeep) = lock(&self.upkeep).take() {
            upkeep.stop();
        }
        self.writer.close()
    }

    /// Does `work` unless the engine is closed. Closing waits for it.
    fn while_open<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if *closed { Err(Error::Closed) } else { work() }
    }

    /// Adds the vectors of the points whose neighbours are wanted, and checks the queries.
    fn complete(&self, asked: &mut Asked) -> Result<()> {
        if ![0, asked.queries.len()].contains(&asked.wants.len()) {
            return Err(wrong_shape());
        }
        if asked.wants.iter().any(|want| want.like.is_some()) {
            asked.vectors = self.vectors_of(&asked.vectors, &asked.wants)?;
        }
        self.check_queries(&asked.vectors, &asked.queries)
    }

    /// The vectors of all queries: those of points from the index, the others in their order from
    /// `given`.
    fn vectors_of(&self, given: &[f32], wants: &[Want]) -> Result<Vec<f32>> {
        let mut given = given.chunks(self.index.dimension());
        let mut vectors = Vec::with_capacity(wants.len() * self.index.dimension());
        let view = self.index.view();
        for (item, want) in wants.iter().enumerate() {
            let vector = match &want.like {
                Some(id) => {
                    let vector = view.vector_of(id)?;
                    vector.ok_or(Error::NoSuchPoint { item, id: *id })?
                }
                None => given.next().ok_or_else(wrong_shape)?,
            };
            vectors.extend_from_slice(vector);
        }
        match given.next() {
            None => Ok(vectors),
            Some(_) => Err(wrong_shape()),
        }
    }

    /// Checks that the arrays of a batch fit each other.
    fn check_shape(&self, batch: &Batch) -> Result<()> {
        let points = batch.ids.len();
        let ends_fit = |ends: &[usize], length: usize| {
            ends.is_sorted() && ends.last().copied().unwrap_or(0) == length
        };
        let metadata_counts = [0, points];
        let fits = batch.vectors.len() == points * self.index.dimension()
            && batch.content_types.len() == points
            && batch.content_ends.len() == points
            && ends_fit(&batch.content_ends, batch.contents.len())
            && metadata_counts.contains(&batch.metadata_ends.len())
            && ends_fit(&batch.metadata_ends, batch.metadata.len());
        if fits && points > 0 {
            Ok(())
        } else {
            Err(wrong_shape())
        }
    }

    /// Checks that there is one vector for each query, and that all numbers are allowed.
    fn check_queries(&self, vectors: &[f32], queries: &[Query]) -> Result<()> {
        if vectors.len() != queries.len() * self.index.dimension() {
            return Err(wrong_shape());
        }
        if queries.iter().any(|query| query.limit == 0) {
            return Err(Error::InvalidArgument(
                "limit is 0, expected at least 1".into(),
            ));
        }
        self.check_finite(vectors)
    }

    /// Checks that no value is NaN or infinite: distances to such vectors have no order.
    fn check_finite(&self, vectors: &[f32]) -> Result<()> {
        match vectors.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(at) => Err(Error::NotFinite {
                item: at / self.index.dimension(),
                position: at % self.index.dimension(),
                value: vectors[at],
            }),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // A failure cannot be reported to anyone. The recovery of the next start makes up for it.
        drop(self.close());
    }
}

/// The binding passes arrays of matching lengths. Anything else is a fault of the binding.
fn wrong_shape() -> Error {
    Error::Internal("arrays of a request do not fit each other".into())
}

fn falls_behind() -> Error {
    Error::InvalidArgument(
        "points are written faster than this filter is asked about them: delete by the ids that a \
         scroll with the filter lists, or write less at the same time"
            .into(),
    )
}
