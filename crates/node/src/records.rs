//! Points that are stored under ids of their own, and read with the parts that are wanted.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use napi::{
    Env, Result,
    bindgen_prelude::{Float32Array, Float64Array, Object, Uint8Array, Uint32Array},
};
use napi_derive::napi;
use vectord_engine::{
    Asked, Batch, Direction, Existing, Found, Gathered, Include, Metric, Page, PageRequest,
    PointId, Records, Update, Want,
};
use vectord_filter::{Expression, Filter};
use vectord_json::given;

use crate::{
    Begun, NativeEngine, POINT_ID_BYTES, batch_of, begun,
    error::{fault, to_js},
    point_id, promise, queries, query,
};

/// The parts of records that an answer holds besides ids.
#[napi(object)]
#[allow(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct NativeInclude {
    /// The vectors.
    pub vector: bool,
    /// The numbers of the content types.
    pub content_type: bool,
    /// The contents.
    pub content: bool,
    /// The metadata.
    pub metadata: bool,
}

impl From<NativeInclude> for Include {
    fn from(include: NativeInclude) -> Include {
        Include {
            vector: include.vector,
            content_type: include.content_type,
            content: include.content,
            metadata: include.metadata,
        }
    }
}

/// Points, each of their parts in an array of its own, one point after the other. Arrays of parts
/// that were not wanted are empty.
#[napi(object, object_from_js = false)]
pub struct NativeRecords {
    /// The ids, 16 bytes each.
    pub ids: Uint8Array,
    /// The values of all vectors, bit for bit.
    pub vectors: Float32Array,
    /// The numbers of the content types.
    pub content_types: Uint8Array,
    /// The UTF-8 of all contents.
    pub contents: Uint8Array,
    /// Where each content ends in `contents`.
    pub content_ends: Uint32Array,
    /// The metadata of all points.
    pub metadata: Uint8Array,
    /// Where the metadata of each point end in `metadata`.
    pub metadata_ends: Uint32Array,
}

/// The neighbours that queries have found, those of one query after those of the other.
#[napi(object, object_from_js = false)]
pub struct NativeFound {
    /// The number of neighbours of each query.
    pub counts: Uint32Array,
    /// The distances, in the metric's own unit.
    pub distances: Float64Array,
    /// The neighbours.
    pub records: NativeRecords,
}

/// Points that were asked for by their ids.
#[napi(object, object_from_js = false)]
pub struct NativeGathered {
    /// Those that are there, in the order of the ids.
    pub records: NativeRecords,
    /// For each id 1 if there is such a point, else 0.
    pub found: Uint8Array,
}

/// A part of all points.
#[napi(object, object_from_js = false)]
pub struct NativePage {
    /// The points.
    pub records: NativeRecords,
    /// The sequence behind which the next page begins; absent if this is the last one.
    pub next: Option<f64>,
}

/// What became of the points of an upsert.
#[napi(object, object_from_js = false)]
pub struct NativeUpserted {
    /// The number of points that were stored with a new id.
    pub stored: u32,
    /// The number of points that replaced another.
    pub replaced: u32,
    /// The number of points that were not stored, since there was one with their id.
    pub kept: u32,
}

#[napi]
impl NativeEngine {
    /// The random id of the data folder.
    #[napi(getter, catch_unwind)]
    pub fn store_id(&self) -> Uint8Array {
        Uint8Array::new(self.engine().store_id().to_vec())
    }

    /// Stores points, all or none: the arrays hold one item after the other, those of ends say where
    /// each content and each metadata ends. A point that is there is replaced, or stays where
    /// `keeps` says so. The promise resolves once the points are durable and visible.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeUpserted>")]
    #[allow(clippy::too_many_arguments)]
    pub fn upsert<'env>(
        &self,
        env: &'env Env,
        ids: &[u8],
        vectors: &[f32],
        content_types: &[u8],
        contents: &[u8],
        content_ends: &[u32],
        metadata: &[u8],
        metadata_ends: &[u32],
        keeps: bool,
    ) -> Result<Object<'env>> {
        let batch = Batch {
            metadata: metadata.to_vec(),
            metadata_ends: offsets(metadata_ends),
            ..batch_of(ids, vectors, content_types, contents, content_ends)
        };
        promise(
            env,
            |done| self.engine().upsert(batch, existing(keeps), done),
            |counts| NativeUpserted {
                stored: counts.stored as u32,
                replaced: counts.replaced as u32,
                kept: counts.kept as u32,
            },
        )
    }

    /// Changes payloads, all or none. `given` says of each point which parts are changed: the sum of
    /// 1 for the content type, 2 for the content and 4 for the metadata; the other parts stay. The
    /// promise resolves once that is durable and visible, with 1 for each point that is there, else
    /// 0.
    #[napi(catch_unwind, ts_return_type = "Promise<Uint8Array>")]
    #[allow(clippy::too_many_arguments)]
    pub fn update<'env>(
        &self,
        env: &'env Env,
        ids: &[u8],
        given: &[u8],
        content_types: &[u8],
        contents: &[u8],
        content_ends: &[u32],
        metadata: &[u8],
        metadata_ends: &[u32],
    ) -> Result<Object<'env>> {
        let contents = slices(contents, content_ends)?;
        let metadata = slices(metadata, metadata_ends)?;
        let updates = updates_of(&point_ids(ids), given, content_types, &contents, &metadata)?;
        promise(env, |done| self.engine().update(updates, done), flags)
    }

    /// Deletes points, all or none. The promise resolves once that is durable, with 1 for each point
    /// that was there, else 0.
    #[napi(catch_unwind, ts_return_type = "Promise<Uint8Array>")]
    pub fn delete_many<'env>(&self, env: &'env Env, ids: &[u8]) -> Result<Object<'env>> {
        let ids = point_ids(ids);
        promise(env, |done| self.engine().delete_many(ids, done), flags)
    }

    /// Deletes the points that pass the filter of this text, all or none. The promise resolves, once
    /// that is durable, with their number.
    #[napi(catch_unwind, ts_return_type = "Promise<number>")]
    pub fn delete_matching<'env>(&self, env: &'env Env, filter: String) -> Result<Object<'env>> {
        let filter = filter_of(&filter)?;
        let start = |done| self.engine().delete_matching(filter, done);
        promise(env, start, |deleted| deleted as f64)
    }

    /// Counts the points that pass the filter of this text.
    #[napi(
        catch_unwind,
        ts_return_type = "{ answer: Promise<number>, ticket?: number }"
    )]
    pub fn count<'env>(&self, env: &'env Env, filter: String) -> Result<Begun<'env>> {
        let filter = filter_of(&filter)?;
        let mut ticket = None;
        let start = |done| ticket = self.engine().count(filter, done);
        let answer = promise(env, start, |count| count as f64)?;
        Ok(begun(answer, ticket))
    }

    /// Deletes all points if there are `expected`. The promise resolves once that is durable.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn delete_all<'env>(&self, env: &'env Env, expected: f64) -> Result<Object<'env>> {
        let expected = whole(expected)?;
        promise(
            env,
            |done| self.engine().delete_all(expected, done),
            |()| (),
        )
    }

    /// Reads the points with these ids; what is wanted of them takes at most `max_bytes`.
    #[napi(
        catch_unwind,
        ts_return_type = "{ answer: Promise<NativeGathered>, ticket?: number }"
    )]
    pub fn get_many<'env>(
        &self,
        env: &'env Env,
        ids: &[u8],
        include: NativeInclude,
        max_bytes: f64,
    ) -> Result<Begun<'env>> {
        let (ids, max_bytes) = (point_ids(ids), whole(max_bytes)? as usize);
        let mut ticket = None;
        let answer = promise(
            env,
            |done| ticket = self.engine().get_many(ids, include.into(), max_bytes, done),
            |Gathered { records, found }| NativeGathered {
                records: records_of(records),
                found: flags(found),
            },
        )?;
        Ok(begun(answer, ticket))
    }

    /// Reads a page of at most `limit` points behind the sequence `after`, if one is given, that pass
    /// the filter of this text, if there is one. It ends
    /// before what is wanted of its points takes more than `max_bytes`, but has at least one point.
    #[napi(
        catch_unwind,
        ts_return_type = "{ answer: Promise<NativePage>, ticket?: number }"
    )]
    #[allow(clippy::too_many_arguments)]
    pub fn scroll<'env>(
        &self,
        env: &'env Env,
        after: Option<f64>,
        limit: u32,
        newest_first: bool,
        filter: Option<String>,
        include: NativeInclude,
        max_bytes: f64,
    ) -> Result<Begun<'env>> {
        let request = PageRequest {
            after: after.map(whole).transpose()?,
            limit: limit as usize,
            direction: if newest_first {
                Direction::NewestFirst
            } else {
                Direction::OldestFirst
            },
            filter: filter.as_deref().map(filter_of).transpose()?,
            include: include.into(),
            max_bytes: whole(max_bytes)? as usize,
        };
        let mut ticket = None;
        let answer = promise(
            env,
            |done| ticket = self.engine().scroll(request, done),
            |Page { records, next }| NativePage {
                records: records_of(records),
                next: next.map(|next| next as f64),
            },
        )?;
        Ok(begun(answer, ticket))
    }

    /// The nearest points that are at most as far as `max_distance`, with the parts that are wanted:
    /// those of the vector or, where `like` is given, those of the vector of that point, except for
    /// itself. Null if that is too heavy for the calling thread: then call `findBatch`.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)]
    pub fn find(
        &self,
        env: &Env,
        vector: &[f32],
        metric: u8,
        limit: u32,
        ef: u32,
        max_distance: f64,
        like: Option<&[u8]>,
        filter: &[u8],
        include: NativeInclude,
        max_bytes: u32,
    ) -> Result<Option<NativeFound>> {
        if filter.len() > MAX_FILTER_AT_ONCE {
            return Ok(None);
        }
        let query = query(metric, limit, ef)?;
        let filter = filters_of(vec![filter])?.pop().flatten();
        let want = Want {
            include: include.into(),
            max_distance,
            like: like.map(point_id).transpose()?,
            filter,
        };
        let found = self
            .engine()
            .find(vector, &query, &want, max_bytes as usize);
        let found = found.map_err(|error| to_js(*env, &error))?;
        Ok(found.map(|found| found_of(vec![found], &[query.metric])))
    }

    /// Answers many searches on the threads of the engine, as `find` does each; `likes` holds an id for
    /// each query, of zeros where it has a vector, and `vectors` the vectors one after the other. `filters` holds the texts of
    /// filters, of which `filter_ends` says where each ends; an empty one is none. What is wanted of all points takes at most `max_bytes`.
    #[napi(
        catch_unwind,
        ts_return_type = "{ answer: Promise<NativeFound>, ticket?: number }"
    )]
    #[allow(clippy::too_many_arguments)]
    pub fn find_batch<'env>(
        &self,
        env: &'env Env,
        vectors: &[f32],
        metrics: &[u8],
        limits: &[u32],
        efs: &[u32],
        max_distances: &[f64],
        likes: &[u8],
        filters: &[u8],
        filter_ends: &[u32],
        include: NativeInclude,
        max_bytes: f64,
    ) -> Result<Begun<'env>> {
        let queries = queries(metrics, limits, efs)?;
        let metrics: Vec<Metric> = queries.iter().map(|query| query.metric).collect();
        let include = include.into();
        let want = |((&max_distance, like), filter): ((&f64, PointId), _)| Want {
            include,
            max_distance,
            like: Some(like).filter(|id| *id != [0; POINT_ID_BYTES]),
            filter,
        };
        let likes = point_ids(likes);
        let filters = filters_of(slices(filters, filter_ends)?)?;
        let asked = Asked {
            vectors: vectors.to_vec(),
            queries,
            wants: max_distances
                .iter()
                .zip(likes)
                .zip(filters)
                .map(want)
                .collect(),
            max_bytes: whole(max_bytes)? as usize,
        };
        let mut ticket = None;
        let answer = promise(
            env,
            |done| ticket = self.engine().find_batch(asked, done),
            move |found| found_of(found, &metrics),
        )?;
        Ok(begun(answer, ticket))
    }
}

/// What is done with points that exist.
pub(crate) fn existing(keeps: bool) -> Existing {
    if keeps {
        Existing::Keep
    } else {
        Existing::Replace
    }
}

/// The updates whose parts lie in these lists, with one item for each id.
pub(crate) fn updates_of(
    ids: &[PointId],
    given: &[u8],
    content_types: &[u8],
    contents: &[&[u8]],
    metadata: &[&[u8]],
) -> Result<Vec<Update>> {
    let lengths = [given.len(), content_types.len()];
    if lengths != [ids.len(); 2] || [contents.len(), metadata.len()] != lengths {
        return Err(fault("arrays of an update do not fit each other"));
    }
    let update = |(at, &id): (usize, &PointId)| {
        let has = |part| given[at] & part != 0;
        Update {
            id,
            content_type: has(given::CONTENT_TYPE).then(|| content_types[at]),
            content: has(given::CONTENT).then(|| contents[at].to_vec()),
            metadata: has(given::METADATA).then(|| metadata[at].to_vec()),
        }
    };
    Ok(ids.iter().enumerate().map(update).collect())
}

/// The filter that a text stands for, which has been checked before.
pub(crate) fn filter_of(text: &str) -> Result<Arc<Filter>> {
    Ok(Arc::new(Filter::new(expression_of(text)?)))
}

/// The expression of such a text.
pub(crate) fn expression_of(text: &str) -> Result<Expression> {
    vectord_json::filter_of(text).map_err(|_| fault("a filter has not been checked"))
}

/// The greatest length of the text of a filter that is read on the calling thread.
const MAX_FILTER_AT_ONCE: usize = 4096;

/// The filters of queries; those with one text are one.
fn filters_of(texts: Vec<&[u8]>) -> Result<Vec<Option<Arc<Filter>>>> {
    let mut known: HashMap<&[u8], Arc<Filter>> = HashMap::new();
    let filter = |text: &'_ [u8]| {
        let text = str::from_utf8(text).map_err(|_| fault("a filter is not UTF-8"))?;
        filter_of(text)
    };
    let mut filters = Vec::with_capacity(texts.len());
    for text in texts {
        filters.push(match known.entry(text) {
            _ if text.is_empty() => None,
            Entry::Occupied(entry) => Some(Arc::clone(entry.get())),
            Entry::Vacant(entry) => Some(Arc::clone(entry.insert(filter(text)?))),
        });
    }
    Ok(filters)
}

pub(crate) fn point_ids(bytes: &[u8]) -> Vec<PointId> {
    bytes.as_chunks::<POINT_ID_BYTES>().0.to_vec()
}

pub(crate) fn offsets(ends: &[u32]) -> Vec<usize> {
    ends.iter().map(|&end| end as usize).collect()
}

/// The parts that lie one after the other in `bytes`, by where each ends.
pub(crate) fn slices<'b>(bytes: &'b [u8], ends: &[u32]) -> Result<Vec<&'b [u8]>> {
    let starts = [0].iter().chain(ends);
    let parts = starts.zip(ends).map(|(&start, &end)| {
        let part = bytes.get(start as usize..end as usize);
        part.ok_or_else(|| fault("the ends of parts are out of order"))
    });
    parts.collect()
}

pub(crate) fn flags(found: Vec<bool>) -> Uint8Array {
    Uint8Array::new(found.into_iter().map(u8::from).collect())
}

/// A whole number that a double holds exactly.
pub(crate) fn whole(number: f64) -> Result<u64> {
    let is_whole = number >= 0.0 && number.fract() == 0.0 && number < 9_007_199_254_740_992.0;
    // Checked just now.
    #[allow(clippy::cast_sign_loss)]
    let number = is_whole.then_some(number as u64);
    number.ok_or_else(|| fault("a whole number is expected"))
}

/// The arrays of JavaScript count to 2^32: what an answer may take is far below that.
fn ends_of(ends: Vec<usize>) -> Uint32Array {
    Uint32Array::new(ends.into_iter().map(|end| end as u32).collect())
}

fn records_of(records: Records) -> NativeRecords {
    NativeRecords {
        ids: Uint8Array::new(records.ids.into_flattened()),
        vectors: Float32Array::new(records.vectors),
        content_types: Uint8Array::new(records.content_types),
        contents: Uint8Array::new(records.contents),
        content_ends: ends_of(records.content_ends),
        metadata: Uint8Array::new(records.metadata),
        metadata_ends: ends_of(records.metadata_ends),
    }
}

/// The neighbours of queries under these metrics.
fn found_of(found: Vec<Found>, metrics: &[Metric]) -> NativeFound {
    let counts = found.iter().map(|found| found.hits.len() as u32).collect();
    let distances = found.iter().zip(metrics).flat_map(|(found, metric)| {
        let hits = found.hits.iter();
        hits.map(|hit| metric.distance_of(hit.rank))
    });
    let distances = distances.collect();
    let ids = found.iter().flat_map(|found| &found.hits).map(|hit| hit.id);
    let ids = ids.collect();
    let mut parts = found.into_iter().map(|found| found.records);
    let mut records = parts.next().unwrap_or_default();
    parts.for_each(|more| records.append(more));
    records.ids = ids;
    NativeFound {
        counts: Uint32Array::new(counts),
        distances: Float64Array::new(distances),
        records: records_of(records),
    }
}
