//! The JSON bodies of `/v1`, read into arrays.

use napi::{
    Env, Result,
    bindgen_prelude::{
        Either, Float32ArraySlice, Float64ArraySlice, Uint8ArraySlice, Uint32ArraySlice,
    },
};
use napi_derive::napi;
use vectord_json::{
    Deletes, Gets, MetadataList, Refusal, Scroll, Searches, Updates, Upserts,
    check_filter_of_delete, metadata_texts,
};

use super::{JsonContentFault, JsonRefusal, fault_of, refusal_of};

/// Points to be stored, each part of them in an array of its own, one point after the other.
#[napi(object, object_from_js = false)]
pub struct JsonUpserts<'env> {
    /// The values of all vectors.
    pub vectors: Float32ArraySlice<'env>,
    /// Where each vector ends in `vectors`.
    pub vector_ends: Uint32ArraySlice<'env>,
    /// The 16 bytes of each id; zeros where there is none.
    pub ids: Uint8ArraySlice<'env>,
    /// The numbers of the content types.
    pub content_types: Uint8ArraySlice<'env>,
    /// The UTF-8 of all contents except the refused ones.
    pub contents: Uint8ArraySlice<'env>,
    /// Where each content ends in `contents`.
    pub content_ends: Uint32ArraySlice<'env>,
    /// The first content that is refused.
    pub content_fault: Option<JsonContentFault>,
    /// The metadata in JSON; nothing of points that have none.
    pub metadata: Uint8ArraySlice<'env>,
    /// Where the metadata of each point end in `metadata`.
    pub metadata_ends: Uint32ArraySlice<'env>,
    /// Whether only points that are not there are to be stored.
    pub if_absent: bool,
}

/// New payloads of points, in the same form.
#[napi(object, object_from_js = false)]
pub struct JsonUpdates<'env> {
    /// The 16 bytes of each id.
    pub ids: Uint8ArraySlice<'env>,
    /// What each point is given: the sum of 1 for the content type, 2 for the content and 4 for the
    /// metadata.
    pub given: Uint8ArraySlice<'env>,
    /// The numbers of the content types.
    pub content_types: Uint8ArraySlice<'env>,
    /// The UTF-8 of all contents except the refused ones.
    pub contents: Uint8ArraySlice<'env>,
    /// Where each content ends in `contents`.
    pub content_ends: Uint32ArraySlice<'env>,
    /// The first content that is refused.
    pub content_fault: Option<JsonContentFault>,
    /// The metadata in JSON; nothing of points whose metadata are cleared.
    pub metadata: Uint8ArraySlice<'env>,
    /// Where the metadata of each point end in `metadata`.
    pub metadata_ends: Uint32ArraySlice<'env>,
}

/// Queries for neighbours, each part of them in an array of its own, one query after the other.
#[napi(object, object_from_js = false)]
pub struct JsonSearches<'env> {
    /// The values of all vectors; none for a query by a point.
    pub vectors: Float32ArraySlice<'env>,
    /// Where each vector ends in `vectors`.
    pub vector_ends: Uint32ArraySlice<'env>,
    /// The 16 bytes of the id of each point whose neighbours are wanted; zeros for a query by a
    /// vector.
    pub likes: Uint8ArraySlice<'env>,
    /// The numbers of the similarities.
    pub similarities: Uint8ArraySlice<'env>,
    /// Whole numbers of any size.
    pub limits: Float64ArraySlice<'env>,
    /// Whole numbers of any size, 0 where a query has none, infinite where it is exact.
    pub efs: Float64ArraySlice<'env>,
    /// The greatest distances, infinite where a query has none.
    pub max_distances: Float64ArraySlice<'env>,
    /// The text of the filter of each query, in UTF-8; nothing for one without a filter.
    pub filters: Uint8ArraySlice<'env>,
    /// Where each text ends in `filters`.
    pub filter_ends: Uint32ArraySlice<'env>,
    /// What each query is answered besides ids: the sum of 1 for vectors, 2 for content types, 4 for
    /// contents, 8 for metadata and 16 for distances.
    pub includes: Uint8ArraySlice<'env>,
    /// Whether the answer is a list of lists.
    pub is_list: bool,
    /// Whether vectors are answered as base64.
    pub base64: bool,
}

/// Points that are asked for by their ids.
#[napi(object, object_from_js = false)]
pub struct JsonGets<'env> {
    /// The 16 bytes of each id.
    pub ids: Uint8ArraySlice<'env>,
    /// What is answered besides ids, as in `JsonSearches`.
    pub include: u8,
    /// Whether vectors are answered as base64.
    pub base64: bool,
}

/// Points to be deleted.
#[napi(object, object_from_js = false)]
pub struct JsonDeletes<'env> {
    /// The 16 bytes of each id; empty if it is all points, or those that pass a filter.
    pub ids: Uint8ArraySlice<'env>,
    /// The text of the filter, if those that pass it are to be deleted.
    pub filter: Option<String>,
    /// The number of points, if all are to be deleted.
    pub confirm: Option<f64>,
}

/// A page of all points that is asked for.
#[napi(object, object_from_js = false)]
pub struct JsonScroll {
    /// A whole number of any size.
    pub limit: f64,
    /// What the page before it has named.
    pub after: Option<String>,
    /// Whether the points that were written last come first.
    pub newest_first: bool,
    /// The text of the filter that the points have to pass.
    pub filter: Option<String>,
    /// What is answered besides ids, as in `JsonSearches`.
    pub include: u8,
    /// Whether vectors are answered as base64.
    pub base64: bool,
}

/// A body that counts points.
#[napi(object, object_from_js = false)]
pub struct JsonCounts {
    /// The text of the filter that the points have to pass.
    pub filter: Option<String>,
}

/// Filters that are as they should be.
#[napi(object, object_from_js = false)]
pub struct JsonFilters {}

/// Checks the filters of queries that came as texts of their own, in UTF-8, of which `ends` says
/// where each ends; an empty one is none.
#[napi(catch_unwind)]
pub fn check_filters(texts: &[u8], ends: &[u32]) -> Result<Either<JsonFilters, JsonRefusal>> {
    let read = str::from_utf8(texts).map_err(|_| Refusal::NotUtf8);
    let read = read.and_then(|texts| {
        let checked = vectord_json::check_filters(texts, ends);
        checked.map_err(Refusal::Wrong)
    });
    accepted(read, |()| Ok(JsonFilters {}))
}

/// Checks a filter that came as a text of its own; within one that says which points are deleted none
/// may be empty.
#[napi(catch_unwind)]
pub fn check_filter(text: String, deletes: bool) -> Result<Either<JsonFilters, JsonRefusal>> {
    let checked = if deletes {
        check_filter_of_delete(&text)
    } else {
        vectord_json::filter_of(&text).map(drop)
    };
    accepted(checked.map_err(Refusal::Wrong), |()| Ok(JsonFilters {}))
}

/// Metadata of many points, those of one behind those of the other.
#[napi(object, object_from_js = false)]
pub struct JsonMetadata<'env> {
    /// Without spaces between their parts; nothing of points that have none.
    pub metadata: Uint8ArraySlice<'env>,
    /// Where the metadata of each point end in `metadata`.
    pub metadata_ends: Uint32ArraySlice<'env>,
}

/// Reads metadata that came as texts of their own, in UTF-8, of which `ends` says where each ends.
#[napi(catch_unwind)]
pub fn read_metadata<'env>(
    env: &'env Env,
    texts: &[u8],
    ends: &[u32],
) -> Result<Either<JsonMetadata<'env>, JsonRefusal>> {
    let read = str::from_utf8(texts).map_err(|_| Refusal::NotUtf8);
    let read = read.and_then(|texts| metadata_texts(texts, ends).map_err(Refusal::Wrong));
    accepted(read, |MetadataList { metadata, ends }| {
        Ok(JsonMetadata {
            metadata: Uint8ArraySlice::copy_from(env, metadata)?,
            metadata_ends: Uint32ArraySlice::copy_from(env, ends)?,
        })
    })
}

/// Reads the body that upserts points.
#[napi(catch_unwind)]
pub fn read_upserts<'env>(
    env: &'env Env,
    body: &[u8],
    max_items: u32,
    max_content_bytes: u32,
) -> Result<Either<JsonUpserts<'env>, JsonRefusal>> {
    let read = vectord_json::upserts(body, max_items as usize, max_content_bytes as usize);
    accepted(read, |(upserts, if_absent)| {
        let Upserts {
            points,
            ids,
            metadata,
            metadata_ends,
        } = upserts;
        Ok(JsonUpserts {
            vectors: Float32ArraySlice::copy_from(env, points.vectors)?,
            vector_ends: Uint32ArraySlice::copy_from(env, points.vector_ends)?,
            ids: Uint8ArraySlice::copy_from(env, ids)?,
            content_types: Uint8ArraySlice::copy_from(env, points.content_types)?,
            contents: Uint8ArraySlice::copy_from(env, points.contents)?,
            content_ends: Uint32ArraySlice::copy_from(env, points.content_ends)?,
            content_fault: points.content_fault.map(fault_of),
            metadata: Uint8ArraySlice::copy_from(env, metadata)?,
            metadata_ends: Uint32ArraySlice::copy_from(env, metadata_ends)?,
            if_absent,
        })
    })
}

/// Reads the body that changes payloads.
#[napi(catch_unwind)]
pub fn read_updates<'env>(
    env: &'env Env,
    body: &[u8],
    max_items: u32,
    max_content_bytes: u32,
) -> Result<Either<JsonUpdates<'env>, JsonRefusal>> {
    let read = vectord_json::updates(body, max_items as usize, max_content_bytes as usize);
    accepted(read, |updates| {
        let Updates {
            points,
            ids,
            given,
            metadata,
            metadata_ends,
        } = updates;
        Ok(JsonUpdates {
            ids: Uint8ArraySlice::copy_from(env, ids)?,
            given: Uint8ArraySlice::copy_from(env, given)?,
            content_types: Uint8ArraySlice::copy_from(env, points.content_types)?,
            contents: Uint8ArraySlice::copy_from(env, points.contents)?,
            content_ends: Uint32ArraySlice::copy_from(env, points.content_ends)?,
            content_fault: points.content_fault.map(fault_of),
            metadata: Uint8ArraySlice::copy_from(env, metadata)?,
            metadata_ends: Uint32ArraySlice::copy_from(env, metadata_ends)?,
        })
    })
}

/// Reads the body that searches for neighbours.
#[napi(catch_unwind)]
pub fn read_searches<'env>(
    env: &'env Env,
    body: &[u8],
    max_items: u32,
) -> Result<Either<JsonSearches<'env>, JsonRefusal>> {
    let read = vectord_json::searches(body, max_items as usize);
    accepted(read, |(searches, form)| {
        let Searches {
            vectors,
            vector_ends,
            likes,
            similarities,
            limits,
            efs,
            max_distances,
            filters,
            filter_ends,
            includes,
        } = searches;
        Ok(JsonSearches {
            vectors: Float32ArraySlice::copy_from(env, vectors)?,
            vector_ends: Uint32ArraySlice::copy_from(env, vector_ends)?,
            likes: Uint8ArraySlice::copy_from(env, likes)?,
            similarities: Uint8ArraySlice::copy_from(env, similarities)?,
            limits: Float64ArraySlice::copy_from(env, limits)?,
            efs: Float64ArraySlice::copy_from(env, efs)?,
            max_distances: Float64ArraySlice::copy_from(env, max_distances)?,
            filters: Uint8ArraySlice::copy_from(env, filters)?,
            filter_ends: Uint32ArraySlice::copy_from(env, filter_ends)?,
            includes: Uint8ArraySlice::copy_from(env, includes)?,
            is_list: form.is_list,
            base64: form.base64,
        })
    })
}

/// Reads the body that reads points by their ids.
#[napi(catch_unwind)]
pub fn read_gets<'env>(
    env: &'env Env,
    body: &[u8],
    max_items: u32,
) -> Result<Either<JsonGets<'env>, JsonRefusal>> {
    let read = vectord_json::gets(body, max_items as usize);
    accepted(
        read,
        |Gets {
             ids,
             include,
             base64,
         }| {
            Ok(JsonGets {
                ids: Uint8ArraySlice::copy_from(env, ids)?,
                include,
                base64,
            })
        },
    )
}

/// Reads the body that deletes points.
#[napi(catch_unwind)]
pub fn read_deletes<'env>(
    env: &'env Env,
    body: &[u8],
    max_items: u32,
) -> Result<Either<JsonDeletes<'env>, JsonRefusal>> {
    let read = vectord_json::deletes(body, max_items as usize);
    accepted(read, |deletes| {
        let (ids, filter, confirm) = match deletes {
            Deletes::Ids(ids) => (ids, None, None),
            Deletes::Matching(filter) => (Vec::new(), Some(filter), None),
            Deletes::All(confirm) => (Vec::new(), None, Some(confirm)),
        };
        Ok(JsonDeletes {
            ids: Uint8ArraySlice::copy_from(env, ids)?,
            filter,
            confirm,
        })
    })
}

/// Reads the body that asks for a page of all points.
#[napi(catch_unwind)]
pub fn read_scroll(body: &[u8]) -> Result<Either<JsonScroll, JsonRefusal>> {
    accepted(vectord_json::scroll(body), |scroll| {
        let Scroll {
            limit,
            after,
            newest_first,
            filter,
            include,
            base64,
        } = scroll;
        Ok(JsonScroll {
            limit,
            after,
            newest_first,
            filter,
            include,
            base64,
        })
    })
}

/// Reads the body that counts points.
#[napi(catch_unwind)]
pub fn read_counts(body: &[u8]) -> Result<Either<JsonCounts, JsonRefusal>> {
    let read = vectord_json::counts(body);
    accepted(read, |filter| Ok(JsonCounts { filter }))
}

fn accepted<T, J>(
    read: std::result::Result<T, Refusal>,
    convert: impl FnOnce(T) -> Result<J>,
) -> Result<Either<J, JsonRefusal>> {
    match read {
        Ok(read) => convert(read).map(Either::A),
        Err(refusal) => Ok(Either::B(refusal_of(refusal))),
    }
}
