//! The N-API binding: conversions and error codes, no algorithm. Every export catches panics, so
//! that none reaches Node.js.

pub mod acceptor;
mod error;
pub mod folder;
pub mod json;
pub mod process;
pub mod records;
pub mod release;
pub mod replica;
mod shared;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Duration,
};

use napi::{
    Env, JsDeferred, Result,
    bindgen_prelude::{Float32Array, Object, ToNapiValue, Uint8Array, Uint32Array},
};
use napi_derive::napi;
use vectord_engine::{
    Batch, Distribution, Engine, Hit, Metric, Options, Params, PointId, Query, Ticket,
};
use vectord_filter::Field;

use error::{Failure, fault, to_js};
use shared::Shared;

/// The name of the content type as a field.
const CONTENT_TYPE: &str = "$content_type";

const POINT_ID_BYTES: usize = size_of::<PointId>();

static ENGINES: Shared<Engine> = Shared::new();

/// The options of an engine.
#[napi(object)]
pub struct EngineOptions {
    /// The data folder.
    pub path: String,
    /// The dimension, if configured.
    pub dimension: Option<u32>,
    /// Links of a point in the upper layers of a graph; twice as many in the lowest.
    pub m: u32,
    /// Search breadth while a graph is built.
    pub ef_construction: u32,
    /// The numbers of the metrics whose graphs are kept from the start on.
    pub warm_metrics: Vec<u8>,
    /// Seconds without a search after which the graph of another metric is given back; 0 for never.
    pub graph_idle_seconds: u32,
    /// Size of a log segment in bytes.
    pub segment_bytes: u32,
    /// Memory in bytes that waiting and running requests may take together.
    pub max_queued_bytes: f64,
    /// Memory in bytes that the filter index may take.
    pub max_filter_index_bytes: f64,
}

/// A stored point without its id.
#[napi(object)]
pub struct NativePoint {
    /// The vector, bit for bit.
    pub vector: Float32Array,
    /// The number of the content type.
    pub content_type: u8,
    /// The content.
    pub content: String,
}

/// The results of a batch search.
#[napi(object)]
pub struct BatchResults {
    /// The ids of all results, query after query, closest first.
    pub ids: Uint8Array,
    /// The number of results of each query.
    pub counts: Uint32Array,
}

/// Work that has begun.
#[napi(object, object_from_js = false)]
pub struct Begun<'env> {
    /// The answer, or the error.
    #[napi(ts_type = "Promise<unknown>")]
    pub answer: Object<'env>,
    /// The number for `abandon`; absent if the work is answered already.
    pub ticket: Option<f64>,
}

/// The state of one graph.
#[napi(object)]
pub struct GraphStatus {
    /// The number of the metric under which it is built.
    pub metric: u8,
    /// Slots linked so far.
    pub linked: u32,
    /// All slots.
    pub slots: u32,
    /// Whether its tail was short once, so that searches walk it.
    pub caught_up: bool,
    /// Whether the graph exists: a graph that failed is built again after a while.
    pub exists: bool,
    /// About the memory in bytes that it takes.
    pub bytes: f64,
    /// Whole seconds since a search last asked for it, or since the start.
    pub idle_seconds: f64,
    /// How often the graph failed and was discarded.
    pub failures: u32,
    /// The reason of the last failure.
    pub failure: Option<String>,
}

/// The state of the column of a field, by which filters are answered.
#[napi(object)]
pub struct ColumnStatus {
    /// The key of the metadata, or `$content_type`.
    pub field: String,
    /// Memory in bytes that the column takes; without a column, that it would take.
    pub bytes: f64,
    /// Whether there is a column. Without one, for which there is no room, filters read the points.
    pub exists: bool,
    /// Whether all points are in it.
    pub is_read: bool,
}

impl From<vectord_engine::ColumnStatus> for ColumnStatus {
    fn from(column: vectord_engine::ColumnStatus) -> ColumnStatus {
        ColumnStatus {
            field: match column.field {
                Field::ContentType => CONTENT_TYPE.into(),
                Field::Metadata(key) => key.into(),
            },
            bytes: column.bytes as f64,
            exists: column.exists,
            is_read: column.is_read,
        }
    }
}

/// Damage of a data folder that is open.
#[napi(object)]
pub struct EngineDamage {
    /// A log line for each of the first damaged places.
    pub places: Vec<String>,
    /// The first points whose records are damaged.
    pub points: Vec<String>,
    /// The number of such points.
    pub damaged_points: f64,
    /// The number of damaged places in headers. They affect no answer, but a start would refuse the
    /// folder.
    pub damaged_headers: f64,
}

impl From<vectord_engine::KnownDamage> for EngineDamage {
    fn from(damage: vectord_engine::KnownDamage) -> EngineDamage {
        EngineDamage {
            places: damage.places,
            points: damage.points.iter().map(vectord_engine::uuid).collect(),
            damaged_points: damage.damaged_points as f64,
            damaged_headers: damage.damaged_headers as f64,
        }
    }
}

/// The state of the engine.
#[napi(object)]
pub struct EngineStatus {
    /// Points that are not deleted.
    pub points: f64,
    /// Slots of deleted points that cannot be used again yet.
    pub dead: f64,
    /// Why the store refuses all writes, if it does.
    pub failure: Option<String>,
    /// Whether the disk was full for an insert within the last minute, and no insert succeeded
    /// since.
    pub is_full: bool,
    /// Damage that was found since the start and still exists, if any.
    pub damage: Option<EngineDamage>,
    /// Why the last snapshot or compaction failed, if it did.
    pub upkeep_failure: Option<String>,
    /// The graphs that exist or failed.
    pub graphs: Vec<GraphStatus>,
    /// The columns, and the fields for whose columns there was no room.
    pub columns: Vec<ColumnStatus>,
}

/// A histogram of values since the start.
#[napi(object)]
pub struct Histogram {
    /// The greatest value of each bucket; the last bucket has no bound.
    pub bounds: Vec<f64>,
    /// The number of values in each bucket.
    pub counts: Vec<f64>,
    /// The sum of all values.
    pub sum: f64,
}

impl Histogram {
    fn of(read: Distribution) -> Histogram {
        let numbers = |list: Vec<u64>| list.into_iter().map(|number| number as f64).collect();
        Histogram {
            bounds: numbers(read.bounds),
            counts: numbers(read.counts),
            sum: read.sum as f64,
        }
    }
}

/// Counts of the engine since it was opened, and its load.
#[napi(object)]
pub struct EngineMetrics {
    /// Microseconds of the syncs of the log.
    pub syncs: Histogram,
    /// Microseconds of the groups, from the write until they are visible.
    pub commits: Histogram,
    /// Records of each group.
    pub group_records: Histogram,
    /// Snapshots written.
    pub snapshots: f64,
    /// Segments that compaction wrote in place of others.
    pub compactions: f64,
    /// Batches and heavy searches that wait or run.
    pub jobs: u32,
    /// The most that may wait or run.
    pub max_jobs: u32,
    /// Memory in bytes that waiting and running requests take.
    pub queued_bytes: f64,
    /// The most memory that they may take.
    pub max_queued_bytes: f64,
}

/// An opened data folder.
#[napi]
pub struct NativeEngine {
    /// None once it is released.
    engine: Option<Arc<Engine>>,
}

impl NativeEngine {
    /// The engine. Panics once it is released.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        self.engine.as_ref().expect("the engine is not released")
    }
}

#[napi]
impl NativeEngine {
    /// Opens a data folder, on a thread of its own. If the process ends meanwhile, it leaves the
    /// folder as a crash would.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeEngine>")]
    pub fn open(env: &Env, options: EngineOptions) -> Result<Object<'_>> {
        let options = engine_options(options)?;
        on_thread(
            env,
            move || Engine::open(&options),
            |engine| NativeEngine {
                engine: Some(Arc::new(engine)),
            },
        )
    }

    /// The engine that another loop has shared under this number.
    #[napi(factory, catch_unwind)]
    pub fn shared(number: u32) -> Result<NativeEngine> {
        Ok(NativeEngine {
            engine: Some(ENGINES.find(number)?),
        })
    }

    /// A number for `shared`.
    #[napi(catch_unwind)]
    pub fn share(&self) -> u32 {
        ENGINES.share(self.engine())
    }

    /// Values in a vector.
    #[napi(getter, catch_unwind)]
    pub fn dimension(&self) -> u32 {
        self.engine().dimension()
    }

    /// The origin of the dimension: `Configured`, `Remembered` or `Default`.
    #[napi(getter, catch_unwind)]
    pub fn dimension_source(&self) -> String {
        format!("{:?}", self.engine().dimension_source())
    }

    /// What the start had to recover, as lines for a log.
    #[napi(getter, catch_unwind)]
    pub fn notes(&self) -> Vec<String> {
        self.engine().notes().to_vec()
    }

    /// Stores points, all or none: `ids`, `vectors` and `contents` hold one item after the other,
    /// `content_ends` says where each content ends. The promise resolves once the points are
    /// durable and visible.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn insert<'env>(
        &self,
        env: &'env Env,
        ids: &[u8],
        vectors: &[f32],
        content_types: &[u8],
        contents: &[u8],
        content_ends: &[u32],
    ) -> Result<Object<'env>> {
        let batch = batch_of(ids, vectors, content_types, contents, content_ends);
        promise(env, |done| self.engine().insert(batch, done), |()| ())
    }

    /// Deletes a point. The promise resolves once the delete is durable, with whether the point
    /// existed.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean>")]
    pub fn delete<'env>(&self, env: &'env Env, id: &[u8]) -> Result<Object<'env>> {
        let id = point_id(id)?;
        promise(env, |done| self.engine().delete(id, done), |found| found)
    }

    /// The stored point with this id, or null.
    #[napi(catch_unwind)]
    pub fn get(&self, env: &Env, id: &[u8]) -> Result<Option<NativePoint>> {
        let point = self.engine().get(&point_id(id)?);
        let point = point.map_err(|error| to_js(*env, &error))?;
        point
            .map(|point| {
                let content = String::from_utf8(point.content);
                Ok(NativePoint {
                    vector: Float32Array::new(point.vector),
                    content_type: point.content_type,
                    content: content.map_err(|_| fault("a stored content is not UTF-8"))?,
                })
            })
            .transpose()
    }

    /// The ids of the nearest points, one after the other. Null if the search is too heavy for the
    /// calling thread: then call `searchBatch`.
    #[napi(catch_unwind)]
    pub fn search(
        &self,
        env: &Env,
        vector: &[f32],
        metric: u8,
        limit: u32,
        ef: u32,
    ) -> Result<Option<Uint8Array>> {
        let hits = self.engine().search(vector, &query(metric, limit, ef)?);
        let hits = hits.map_err(|error| to_js(*env, &error))?;
        Ok(hits.map(|hits| Uint8Array::new(ids_of(&hits))))
    }

    /// The sum of the candidates of queries with these limits and breadths, among the current
    /// points.
    #[napi(catch_unwind)]
    pub fn search_work(&self, limits: &[u32], efs: &[u32]) -> f64 {
        self.engine().search_work(limits, efs) as f64
    }

    /// Answers many searches on the threads of the engine; `vectors` holds one vector after the
    /// other.
    #[napi(
        catch_unwind,
        ts_return_type = "{ answer: Promise<BatchResults>, ticket?: number }"
    )]
    pub fn search_batch<'env>(
        &self,
        env: &'env Env,
        vectors: &[f32],
        metrics: &[u8],
        limits: &[u32],
        efs: &[u32],
    ) -> Result<Begun<'env>> {
        let queries = queries(metrics, limits, efs)?;
        let mut ticket = None;
        let answer = promise(
            env,
            |done| ticket = self.engine().search_batch(vectors.to_vec(), queries, done),
            |results: Vec<Vec<Hit>>| {
                let counts = results
                    .iter()
                    .map(|hits| hits.len() as u32)
                    .collect::<Vec<_>>();
                BatchResults {
                    ids: Uint8Array::new(results.iter().flat_map(|hits| ids_of(hits)).collect()),
                    counts: Uint32Array::new(counts),
                }
            },
        )?;
        Ok(begun(answer, ticket))
    }

    /// Gives up searches or reads that nobody waits for: the promise rejects, and the threads are
    /// free for others. Does nothing if they are answered already.
    #[napi(catch_unwind)]
    pub fn abandon(&self, ticket: f64) {
        // The numbers count up from 0, so that a double holds them exactly.
        #[allow(clippy::cast_sign_loss)]
        let number = ticket as u64;
        self.engine().abandon(Ticket::of_number(number));
    }

    /// Points, health, graphs and columns.
    #[napi(catch_unwind)]
    pub fn status(&self) -> EngineStatus {
        let status = self.engine().status();
        let graph = |graph: vectord_engine::GraphStatus| GraphStatus {
            metric: graph.metric as u8,
            linked: graph.linked,
            slots: graph.slots,
            caught_up: graph.caught_up,
            exists: graph.exists,
            bytes: graph.bytes as f64,
            idle_seconds: graph.idle.as_secs() as f64,
            failures: graph.failures,
            failure: graph.failure,
        };
        EngineStatus {
            points: status.points as f64,
            dead: status.dead as f64,
            failure: status.failure,
            is_full: status.is_full,
            damage: status.damage.map(EngineDamage::from),
            upkeep_failure: status.upkeep_failure,
            graphs: status.graphs.into_iter().map(graph).collect(),
            columns: status.columns.into_iter().map(ColumnStatus::from).collect(),
        }
    }

    /// Counts since the start, and the load.
    #[napi(catch_unwind)]
    pub fn metrics(&self) -> EngineMetrics {
        let metrics = self.engine().metrics();
        EngineMetrics {
            syncs: Histogram::of(metrics.syncs),
            commits: Histogram::of(metrics.commits),
            group_records: Histogram::of(metrics.group_records),
            snapshots: metrics.snapshots as f64,
            compactions: metrics.compactions as f64,
            jobs: metrics.jobs as u32,
            max_jobs: metrics.max_jobs as u32,
            queued_bytes: metrics.queued_bytes as f64,
            max_queued_bytes: metrics.max_queued_bytes as f64,
        }
    }

    /// Finishes the requests that are under way and unlocks the folder. The promise resolves once
    /// everything is durable. Every other call is refused from now on.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let engine = Arc::clone(self.engine());
        on_thread(env, move || engine.close(), |()| ())
    }

    /// Frees the memory of a closed engine, which otherwise waits for the garbage collector. Nothing
    /// else may be called from now on.
    #[napi(catch_unwind)]
    pub fn release(&mut self) {
        self.engine = None;
    }
}

/// Runs the work on a thread of its own.
fn on_thread<T, E, J>(
    env: &Env,
    work: impl FnOnce() -> std::result::Result<T, E> + Send + 'static,
    convert: fn(T) -> J,
) -> Result<Object<'_>>
where
    T: Send + 'static,
    E: Failure,
    J: ToNapiValue + Send + 'static,
{
    let run = || catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(E::panicked()));
    promise(
        env,
        |done| drop(thread::spawn(move || done(run()))),
        convert,
    )
}

/// A promise that the callback of `start` settles, from any thread, with the converted outcome.
fn promise<T, E, J>(
    env: &Env,
    start: impl FnOnce(Box<dyn FnOnce(std::result::Result<T, E>) + Send>),
    convert: impl FnOnce(T) -> J + Send + 'static,
) -> Result<Object<'_>>
where
    T: Send + 'static,
    E: Failure,
    J: ToNapiValue + Send + 'static,
{
    type Settle<J> = Box<dyn FnOnce(Env) -> Result<J> + Send>;
    let (deferred, promise): (JsDeferred<J, Settle<J>>, _) = env.create_deferred()?;
    start(Box::new(move |outcome| {
        // Converted on the calling thread, to spare the loop of Node.js.
        let converted = outcome.map(convert);
        deferred.resolve(Box::new(move |env| {
            converted.map_err(|error| to_js(env, &error))
        }));
    }));
    Ok(promise)
}

/// A batch of points without metadata. Each array holds the values of all points, in their order.
fn batch_of(
    ids: &[u8],
    vectors: &[f32],
    content_types: &[u8],
    contents: &[u8],
    content_ends: &[u32],
) -> Batch {
    Batch {
        ids: ids.as_chunks::<POINT_ID_BYTES>().0.to_vec(),
        vectors: vectors.to_vec(),
        content_types: content_types.to_vec(),
        contents: contents.to_vec(),
        content_ends: content_ends.iter().map(|&end| end as usize).collect(),
        ..Batch::default()
    }
}

fn engine_options(options: EngineOptions) -> Result<Options> {
    let warm_metrics = options.warm_metrics.into_iter().map(metric);
    let idle_seconds = u64::from(options.graph_idle_seconds);
    Ok(Options {
        path: options.path.into(),
        dimension: options.dimension,
        graph: Params {
            m: options.m as usize,
            ef_construction: options.ef_construction as usize,
        },
        warm_metrics: warm_metrics.collect::<Result<_>>()?,
        give_back_after: (idle_seconds > 0).then(|| Duration::from_secs(idle_seconds)),
        segment_bytes: options.segment_bytes.into(),
        // A whole number that a double holds exactly, and not negative.
        #[allow(clippy::cast_sign_loss)]
        max_queued_bytes: options.max_queued_bytes as usize,
        #[allow(clippy::cast_sign_loss)]
        max_column_bytes: options.max_filter_index_bytes as usize,
    })
}

fn begun(answer: Object<'_>, ticket: Option<Ticket>) -> Begun<'_> {
    Begun {
        answer,
        ticket: ticket.map(|ticket| ticket.number() as f64),
    }
}

fn point_id(bytes: &[u8]) -> Result<PointId> {
    bytes.try_into().map_err(|_| fault("an id has 16 bytes"))
}

fn metric(number: u8) -> Result<Metric> {
    Metric::from_number(number).ok_or_else(|| fault("there is no such metric"))
}

fn query(number: u8, limit: u32, ef: u32) -> Result<Query> {
    Ok(Query {
        metric: metric(number)?,
        limit: limit as usize,
        ef: ef as usize,
    })
}

fn queries(metrics: &[u8], limits: &[u32], efs: &[u32]) -> Result<Vec<Query>> {
    let queries = metrics.iter().zip(limits).zip(efs);
    let queries = queries.map(|((&metric, &limit), &ef)| query(metric, limit, ef));
    queries.collect()
}

fn ids_of(hits: &[Hit]) -> Vec<u8> {
    hits.iter().flat_map(|hit| hit.id).collect()
}
