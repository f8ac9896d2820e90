//! Bodies that search for neighbours, by a vector or by a point that is there: one query, or several.

use std::mem;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use crate::{
    any_vector::{self, read_vector},
    append::append,
    batch::Batch,
    fields::Fields,
    filter::filter_text,
    include::{ALL_PARTS, DISTANCE, include},
    list::List,
    named::{Named, check_collection, flag, twice},
    point_id::point_id,
    points::named,
    queries::{count, similarity},
    read,
    refusal::{Found, Refusal, Wrong},
    scalar::number,
    value::{Way, next_name},
};

/// The parts of queries, one query after the other.
#[derive(Debug, Default, PartialEq)]
pub struct Searches {
    /// The values of all vectors; none for a query by a point.
    pub vectors: Vec<f32>,
    /// Where each vector ends in `vectors`.
    pub vector_ends: Vec<u32>,
    /// The 16 bytes of the id of each point whose neighbours are wanted; zeros for a query by a
    /// vector.
    pub likes: Vec<u8>,
    /// The number of each similarity.
    pub similarities: Vec<u8>,
    /// The greatest number of results of each: a whole number of any size.
    pub limits: Vec<f64>,
    /// The breadth of each: a whole number of any size, 0 if there is none, infinite if the answer
    /// is to be exact.
    pub efs: Vec<f64>,
    /// The greatest distance of a result of each, infinite for any.
    pub max_distances: Vec<f64>,
    /// The text of the filter of each, one behind the other; none for a query without one.
    pub filters: Vec<u8>,
    /// Where each text ends in `filters`.
    pub filter_ends: Vec<u32>,
    /// What each answers besides ids: the sum of 1 for vectors, 2 for content types, 4 for contents,
    /// 8 for metadata and 16 for distances.
    pub includes: Vec<u8>,
}

/// How a body asks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchForm {
    /// Whether it is a list of queries, whose answer is a list of lists.
    pub is_list: bool,
    /// Whether vectors are answered as base64.
    pub base64: bool,
}

/// Reads a body that searches.
pub fn searches(body: &[u8], max_items: usize) -> Result<(Searches, SearchForm), Refusal> {
    read::body_of(body, (), max_items, finish)
}

/// The names of the fields of a query besides its vector, and of those that a body has once.
const QUERY_NAMES: [&str; 8] = [
    "like",
    "similarity",
    "limit",
    "ef",
    "exact",
    "max_distance",
    "filter",
    "include",
];
const BODY_NAMES: [&str; 10] = [
    "like",
    "similarity",
    "limit",
    "ef",
    "exact",
    "max_distance",
    "filter",
    "include",
    "vector_format",
    "collection",
];
const QUERY_FIELDS: &str =
    "only vector, like, similarity, limit, ef, exact, max_distance, filter and include";
const BODY_FIELDS: &str = "only vector, like, similarity, limit, ef, exact, max_distance, filter and \
                           include, or queries; vector_format and collection";

/// The values of the fields of [`QUERY_NAMES`].
type QueryFields<'de> = [Option<&'de RawValue>; 8];

/// What the fields of a body say that asks one query.
struct SearchFields<'de> {
    named: Named<'de, 10>,
    values: Vec<f32>,
    vector: Option<Result<(), Wrong>>,
}

impl Default for SearchFields<'_> {
    fn default() -> Self {
        SearchFields {
            named: Named::new(&BODY_NAMES, BODY_FIELDS),
            values: Vec::new(),
            vector: None,
        }
    }
}

impl<'de> Fields<'de> for SearchFields<'de> {
    type Checked = ();

    fn take<A: MapAccess<'de>>(
        &mut self,
        name: &[u8],
        members: &mut A,
        way: Way,
    ) -> Result<(), A::Error> {
        if name != b"vector" {
            return self.named.take(name, members);
        }
        let (values, vector) = (&mut self.values, &mut self.vector);
        read_vector(values, vector, &mut self.named, members, way)
    }

    fn list_again(&mut self, name: &str) {
        self.named.refuse(twice(name));
    }

    fn check(self) -> Result<(), Wrong> {
        self.named.check().map(drop)
    }
}

fn finish(mut batch: Batch<Searches, (), SearchFields>) -> Result<(Searches, SearchForm), Refusal> {
    let is_list = batch.is_given();
    let SearchFields {
        named,
        values,
        vector,
    } = mem::take(&mut batch.fields);
    let has_vector = vector
        .as_ref()
        .is_some_and(|read| !any_vector::is_null(read));
    let is_query = has_vector || named.has_any_of_first(QUERY_NAMES.len());
    let (fields, form) = body_fields(named, is_list).map_err(Refusal::Wrong)?;
    if is_list && is_query {
        let wrong = Wrong::new(
            "queries",
            Found::Array,
            "either it or the fields of one query",
        );
        return Err(Refusal::Wrong(wrong));
    }
    if is_list {
        return batch.finish().map(|(list, ())| (list, form));
    }
    let mut list = Searches {
        vectors: values,
        ..Searches::default()
    };
    match list.push::<serde_json::Error>(vector, fields) {
        Ok(pushed) => pushed.map(|()| (list, form)).map_err(Refusal::Wrong),
        Err(_) => Err(Refusal::NoMemory),
    }
}

fn body_fields(
    named: Named<'_, 10>,
    is_list: bool,
) -> Result<(QueryFields<'_>, SearchForm), Wrong> {
    let [fields @ .., format, collection] = named.check()?;
    check_collection(collection)?;
    let base64 = vector_format(format)?;
    Ok((fields, SearchForm { is_list, base64 }))
}

/// Whether vectors are to be answered as base64.
pub fn vector_format(raw: Option<&RawValue>) -> Result<bool, Wrong> {
    let place = raw.map_or(Some(0), |raw| named(&["array", "base64"], Some(raw)));
    let found = || Found::of_field(raw);
    let expected = "\"array\" or \"base64\"";
    place
        .map(|place| place == 1)
        .ok_or_else(|| Wrong::new("vector_format", found(), expected))
}

/// A query besides its vector.
struct Query<'de> {
    like: [u8; 16],
    similarity: u8,
    limit: f64,
    ef: f64,
    max_distance: f64,
    filter: &'de str,
    include: u8,
}

impl<'de> Query<'de> {
    fn of(
        vector: Option<Result<(), Wrong>>,
        fields: QueryFields<'de>,
    ) -> Result<Query<'de>, Wrong> {
        let [like, metric, limit, ef, exact, max_distance, passing, parts] = fields;
        let like = match (vector, like) {
            (Some(Ok(())), None) => [0; 16],
            (None, Some(like)) => point_id("like", like)?,
            (Some(wrong), Some(like)) if any_vector::is_null(&wrong) => point_id("like", like)?,
            (Some(Ok(())), Some(like)) => {
                let expected = "either it or a vector";
                return Err(Wrong::new("like", Found::of(like), expected));
            }
            (Some(Err(wrong)), _) => return Err(wrong),
            (None, None) => return Err(any_vector::missing()),
        };
        let ef = ef.map_or(Ok(0.0), |given| count("ef", Some(given)))?;
        let is_exact = flag("exact", exact)?;
        Ok(Query {
            like,
            similarity: similarity(metric)?,
            limit: count("limit", limit)?,
            ef: if is_exact { f64::INFINITY } else { ef },
            max_distance: distance(max_distance)?,
            filter: passing.map_or(Ok(""), filter_text)?,
            include: include(parts, DISTANCE, ALL_PARTS)?,
        })
    }
}

/// The greatest distance that a field names; infinite where there is none.
fn distance(raw: Option<&RawValue>) -> Result<f64, Wrong> {
    let Some(raw) = raw else {
        return Ok(f64::INFINITY);
    };
    let value = number(raw).filter(|value| value.is_finite() && *value >= 0.0);
    let wrong = || {
        Wrong::new(
            "max_distance",
            Found::of(raw),
            "a finite number, not negative",
        )
    };
    value.ok_or_else(wrong)
}

impl Searches {
    /// Adds a query, whose values are the last of the vectors, or tells what is wrong with it.
    fn push<E: serde::de::Error>(
        &mut self,
        vector: Option<Result<(), Wrong>>,
        fields: QueryFields,
    ) -> Result<Result<(), Wrong>, E> {
        let query = match Query::of(vector, fields) {
            Ok(query) => query,
            Err(wrong) => return Ok(Err(wrong)),
        };
        append(&mut self.vector_ends, &[self.vectors.len() as u32])?;
        append(&mut self.likes, &query.like)?;
        append(&mut self.similarities, &[query.similarity])?;
        append(&mut self.limits, &[query.limit])?;
        append(&mut self.efs, &[query.ef])?;
        append(&mut self.max_distances, &[query.max_distance])?;
        append(&mut self.filters, query.filter.as_bytes())?;
        append(&mut self.filter_ends, &[self.filters.len() as u32])?;
        append(&mut self.includes, &[query.include])?;
        Ok(Ok(()))
    }
}

impl<'de> List<'de> for Searches {
    const FIELD: &'static str = "queries";

    type Limits = ();

    fn read<A: MapAccess<'de>>(
        &mut self,
        mut members: A,
        (): (),
        way: Way,
    ) -> Result<Result<(), Wrong>, A::Error> {
        let mut named = Named::new(&QUERY_NAMES, QUERY_FIELDS);
        let mut vector = None;
        while let Some(name) = next_name(&mut members)? {
            if &*name == b"vector" {
                let values = &mut self.vectors;
                read_vector(values, &mut vector, &mut named, &mut members, way)?;
            } else {
                named.take(&name, &mut members)?;
            }
        }
        match named.check() {
            Ok(fields) => self.push(vector, fields),
            Err(wrong) => Ok(Err(wrong)),
        }
    }
}
