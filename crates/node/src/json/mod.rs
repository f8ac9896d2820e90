//! JSON bodies read into arrays, and vectors written as JSON.

pub mod v1;

use napi::{
    Env, Result,
    bindgen_prelude::{
        Either, Float32ArraySlice, Float64ArraySlice, Uint8ArraySlice, Uint32ArraySlice,
    },
};
use napi_derive::napi;
use vectord_json::{ContentFault, Found, Points, Queries, Refusal, Wrong};

use crate::error::fault;

/// Points, each part of them in an array of its own, one point after the other.
#[napi(object, object_from_js = false)]
pub struct JsonPoints<'env> {
    /// The values of all vectors.
    pub vectors: Float32ArraySlice<'env>,
    /// Where each vector ends in `vectors`.
    pub vector_ends: Uint32ArraySlice<'env>,
    /// The numbers of the content types.
    pub content_types: Uint8ArraySlice<'env>,
    /// The UTF-8 of all contents except the refused ones.
    pub contents: Uint8ArraySlice<'env>,
    /// Where each content ends in `contents`.
    pub content_ends: Uint32ArraySlice<'env>,
    /// The first content that is refused.
    pub content_fault: Option<JsonContentFault>,
}

/// A content that is refused.
#[napi(object, object_from_js = false)]
pub struct JsonContentFault {
    /// The index of its point.
    pub item: u32,
    /// Its length, if that is too much; otherwise it holds a lone surrogate.
    pub bytes: Option<f64>,
}

/// Queries, each part of them in an array of its own, one query after the other.
#[napi(object, object_from_js = false)]
pub struct JsonQueries<'env> {
    /// The values of all vectors.
    pub vectors: Float32ArraySlice<'env>,
    /// Where each vector ends in `vectors`.
    pub vector_ends: Uint32ArraySlice<'env>,
    /// The numbers of the similarities.
    pub similarities: Uint8ArraySlice<'env>,
    /// Whole numbers of any size.
    pub limits: Float64ArraySlice<'env>,
    /// Whole numbers of any size, 0 where a query has none.
    pub efs: Float64ArraySlice<'env>,
}

/// A query.
#[napi(object, object_from_js = false)]
pub struct JsonQuery<'env> {
    /// The vector.
    pub vector: Float32ArraySlice<'env>,
    /// The number of the similarity.
    pub similarity: u8,
    /// A whole number of any size.
    pub limit: f64,
    /// A whole number of any size, 0 if there is none.
    pub ef: f64,
}

/// Why a body is refused.
#[napi(object, object_from_js = false)]
pub struct JsonRefusal {
    /// `Empty`, `NotUtf8`, `Broken`, `TooMany`, `Wrong` or `NoMemory`.
    pub refusal: String,
    /// What the parser says of broken JSON; otherwise the place that the refusal is about.
    pub about: String,
    /// The items of a batch that has too many.
    pub count: f64,
    /// What is expected at a place where there is something wrong.
    pub expected: String,
    /// What is there, unless it is a number or a string.
    pub found: Option<String>,
    /// The number that is there.
    pub number: Option<f64>,
    /// The beginning of the string that is there.
    pub text: Option<String>,
}

/// Reads the body that inserts a point.
#[napi(catch_unwind)]
pub fn read_point<'env>(
    env: &'env Env,
    body: &[u8],
    max_content_bytes: u32,
) -> Result<Either<JsonPoints<'env>, JsonRefusal>> {
    match vectord_json::point(body, max_content_bytes as usize) {
        Ok(points) => Ok(Either::A(points_of(env, points)?)),
        Err(refusal) => Ok(Either::B(refusal_of(refusal))),
    }
}

/// Reads the body that inserts a batch of points.
#[napi(catch_unwind)]
pub fn read_points<'env>(
    env: &'env Env,
    body: &[u8],
    max_items: u32,
    max_content_bytes: u32,
) -> Result<Either<JsonPoints<'env>, JsonRefusal>> {
    match vectord_json::points(body, max_items as usize, max_content_bytes as usize) {
        Ok(points) => Ok(Either::A(points_of(env, points)?)),
        Err(refusal) => Ok(Either::B(refusal_of(refusal))),
    }
}

/// Reads the body of a search.
#[napi(catch_unwind)]
pub fn read_query<'env>(
    env: &'env Env,
    body: &[u8],
) -> Result<Either<JsonQuery<'env>, JsonRefusal>> {
    let queries = match vectord_json::query(body) {
        Ok(queries) => queries,
        Err(refusal) => return Ok(Either::B(refusal_of(refusal))),
    };
    let (&[similarity], &[limit], &[ef]) =
        (&*queries.similarities, &*queries.limits, &*queries.efs)
    else {
        return Err(fault("a search has one query"));
    };
    Ok(Either::A(JsonQuery {
        vector: Float32ArraySlice::copy_from(env, &queries.vectors)?,
        similarity,
        limit,
        ef,
    }))
}

/// Reads the body of a batch search.
#[napi(catch_unwind)]
pub fn read_queries<'env>(
    env: &'env Env,
    body: &[u8],
    max_items: u32,
) -> Result<Either<JsonQueries<'env>, JsonRefusal>> {
    match vectord_json::queries(body, max_items as usize) {
        Ok(queries) => Ok(Either::A(queries_of(env, queries)?)),
        Err(refusal) => Ok(Either::B(refusal_of(refusal))),
    }
}

/// A vector as a JSON array, each value in the shortest form that reads back as the same float.
#[napi(catch_unwind)]
pub fn format_vector(vector: &[f32]) -> String {
    vectord_json::json_array(vector)
}

// Arrays in memory of V8 go from thread to thread, and short ones are made in a fraction of the
// time that one over memory of Rust takes.
fn points_of(env: &Env, points: Points) -> Result<JsonPoints<'_>> {
    Ok(JsonPoints {
        vectors: Float32ArraySlice::copy_from(env, points.vectors)?,
        vector_ends: Uint32ArraySlice::copy_from(env, points.vector_ends)?,
        content_types: Uint8ArraySlice::copy_from(env, points.content_types)?,
        contents: Uint8ArraySlice::copy_from(env, points.contents)?,
        content_ends: Uint32ArraySlice::copy_from(env, points.content_ends)?,
        content_fault: points.content_fault.map(fault_of),
    })
}

fn fault_of(fault: ContentFault) -> JsonContentFault {
    JsonContentFault {
        item: fault.item as u32,
        bytes: fault.bytes.map(|bytes| bytes as f64),
    }
}

fn queries_of(env: &Env, queries: Queries) -> Result<JsonQueries<'_>> {
    Ok(JsonQueries {
        vectors: Float32ArraySlice::copy_from(env, queries.vectors)?,
        vector_ends: Uint32ArraySlice::copy_from(env, queries.vector_ends)?,
        similarities: Uint8ArraySlice::copy_from(env, queries.similarities)?,
        limits: Float64ArraySlice::copy_from(env, queries.limits)?,
        efs: Float64ArraySlice::copy_from(env, queries.efs)?,
    })
}

fn refusal_of(refusal: Refusal) -> JsonRefusal {
    match refusal {
        Refusal::Empty => about("Empty", String::new()),
        Refusal::NotUtf8 => about("NotUtf8", String::new()),
        Refusal::NoMemory => about("NoMemory", String::new()),
        Refusal::Broken(message) => about("Broken", message),
        Refusal::TooMany { field, count } => JsonRefusal {
            count: count as f64,
            ..about("TooMany", field.to_owned())
        },
        Refusal::Wrong(wrong) => wrong_value(wrong),
    }
}

fn wrong_value(wrong: Wrong) -> JsonRefusal {
    let words = |found: &str| (Some(found.to_owned()), None, None);
    let (found, number, text) = match wrong.found {
        Found::Number(number) => (None, Some(number), None),
        Found::Text(text) => (None, None, Some(text)),
        Found::Whole(digits) => words(&digits),
        Found::Missing => words("missing"),
        Found::Unknown => words("unknown"),
        Found::Twice => words("given twice"),
        Found::Key => words("a key"),
        Found::Null => words("null"),
        Found::Bool(true) => words("true"),
        Found::Bool(false) => words("false"),
        Found::Empty => words("empty"),
        Found::Array => words("an array"),
        Found::Object => words("an object"),
    };
    JsonRefusal {
        expected: wrong.expected.to_owned(),
        found,
        number,
        text,
        ..about("Wrong", wrong.path)
    }
}

fn about(refusal: &str, about: String) -> JsonRefusal {
    JsonRefusal {
        refusal: refusal.to_owned(),
        about,
        count: 0.0,
        expected: String::new(),
        found: None,
        number: None,
        text: None,
    }
}
