//! The bodies of get, delete, scroll and count.

use serde::de::{MapAccess, SeqAccess};
use serde_json::value::RawValue;

use crate::{
    append::append,
    filter::{filter_of_delete, filter_text},
    include::{ALL_PARTS, PAYLOAD, include},
    named::{Named, check_collection, flag, twice},
    point_id::point_id,
    queries::count,
    read,
    refusal::{Found, Refusal, Wrong},
    scalar::decode,
    searches::vector_format,
    value::{Container, Next, Way, next_name, skip_items},
};

/// A body that reads points by their ids.
#[derive(Debug, PartialEq)]
pub struct Gets {
    /// The 16 bytes of each id.
    pub ids: Vec<u8>,
    /// What is answered besides ids, as in [`Searches`](crate::Searches).
    pub include: u8,
    /// Whether vectors are answered as base64.
    pub base64: bool,
}

/// A body that deletes points.
#[derive(Debug, PartialEq)]
pub enum Deletes {
    /// Those with these ids, of 16 bytes each.
    Ids(Vec<u8>),
    /// Those that pass the filter of this text.
    Matching(String),
    /// All points, if this is their number.
    All(f64),
}

/// A body that reads a page of all points.
#[derive(Debug, PartialEq)]
pub struct Scroll {
    /// The greatest number of points: a whole number of any size.
    pub limit: f64,
    /// What the page before it has named.
    pub after: Option<String>,
    /// Whether the points that were written last come first.
    pub newest_first: bool,
    /// The text of the filter that the points have to pass.
    pub filter: Option<String>,
    /// What is answered besides ids, as in [`Searches`](crate::Searches).
    pub include: u8,
    /// Whether vectors are answered as base64.
    pub base64: bool,
}

/// Reads a body that reads points by their ids.
pub fn gets(body: &[u8], max_items: usize) -> Result<Gets, Refusal> {
    let names = &["include", "vector_format", "collection"];
    let expected = "only ids, include, vector_format and collection";
    object(body, Some(max_items), names, expected, |ids, fields| {
        let [parts, format, collection] = fields;
        check_collection(collection)?;
        Ok(Gets {
            ids: ids.ok_or_else(|| unexpected(Found::Missing))?,
            include: without_distance(parts)?,
            base64: vector_format(format)?,
        })
    })
}

/// Reads a body that deletes points.
pub fn deletes(body: &[u8], max_items: usize) -> Result<Deletes, Refusal> {
    let names = &["filter", "all", "confirm", "collection"];
    let expected = "only ids, filter, all, confirm and collection";
    object(body, Some(max_items), names, expected, |ids, fields| {
        let [passing, all, confirm, collection] = fields;
        check_collection(collection)?;
        let text = passing.map(filter_of_delete).transpose()?;
        match (ids, text, flag("all", all)?, confirm) {
            (Some(ids), None, false, None) => Ok(Deletes::Ids(ids)),
            (None, Some(text), false, None) => Ok(Deletes::Matching(text.to_owned())),
            (None, None, true, confirm) => count("confirm", confirm).map(Deletes::All),
            (None, None, false, None) => Err(Wrong::new("ids", Found::Missing, EITHER)),
            (Some(_), ..) => Err(Wrong::new("ids", Found::Array, EITHER)),
            (None, Some(_), ..) => Err(Wrong::new("filter", Found::Object, EITHER)),
            (None, None, false, Some(_)) => Err(Wrong::new("all", Found::of_field(all), EITHER)),
        }
    })
}

const EITHER: &str =
    "either an array of ids, a filter, or all: true with confirm: the number of points";

/// Reads a body that reads a page of all points.
pub fn scroll(body: &[u8]) -> Result<Scroll, Refusal> {
    let names = &[
        "limit",
        "after",
        "order",
        "filter",
        "include",
        "vector_format",
        "collection",
    ];
    let expected = "only limit, after, order, filter, include, vector_format and collection";
    object(body, None, names, expected, |_, fields| {
        let [limit, after, order, passing, parts, format, collection] = fields;
        check_collection(collection)?;
        Ok(Scroll {
            limit: count("limit", limit)?,
            after: after.map(token).transpose()?,
            newest_first: newest_first(order)?,
            filter: filter(passing)?,
            include: without_distance(parts)?,
            base64: vector_format(format)?,
        })
    })
}

/// Reads a body that counts points; returns the text of the filter that they have to pass, if there
/// is one.
pub fn counts(body: &[u8]) -> Result<Option<String>, Refusal> {
    let names = &["filter", "collection"];
    let expected = "only filter and collection";
    object(body, None, names, expected, |_, [passing, collection]| {
        check_collection(collection)?;
        filter(passing)
    })
}

/// The text of a filter that may be missing.
fn filter(raw: Option<&RawValue>) -> Result<Option<String>, Wrong> {
    Ok(raw.map(filter_text).transpose()?.map(str::to_owned))
}

fn token(raw: &RawValue) -> Result<String, Wrong> {
    let text = decode(raw.get()).map(std::borrow::Cow::into_owned);
    let text = text.and_then(|text| String::from_utf8(text).ok());
    let expected = "the next of the page before";
    text.ok_or_else(|| Wrong::new("after", Found::of(raw), expected))
}

fn newest_first(raw: Option<&RawValue>) -> Result<bool, Wrong> {
    match raw.map(Found::of) {
        None => Ok(false),
        Some(Found::Text(order)) if order == "oldest" => Ok(false),
        Some(Found::Text(order)) if order == "newest" => Ok(true),
        Some(found) => Err(Wrong::new("order", found, "\"oldest\" or \"newest\"")),
    }
}

/// What is included where there are no distances.
fn without_distance(raw: Option<&RawValue>) -> Result<u8, Wrong> {
    include(raw, PAYLOAD, ALL_PARTS - 1)
}

fn unexpected(found: Found) -> Wrong {
    Wrong::new("ids", found, "an array of ids")
}

/// Reads a body of these fields, and of at most `max_items` ids if it may have some.
fn object<'de, const N: usize, T>(
    body: &'de [u8],
    max_items: Option<usize>,
    names: &'static [&'static str; N],
    expected: &'static str,
    finish: impl Fn(Option<Vec<u8>>, [Option<&'de RawValue>; N]) -> Result<T, Wrong>,
) -> Result<T, Refusal> {
    read::container(
        body,
        |way| Object {
            named: Named::new(names, expected),
            ids: None,
            max_items,
            way,
            found: None,
        },
        |object| object.finish(&finish),
    )
}

/// An object with fields, and with ids if it may have some.
struct Object<'de, const N: usize> {
    named: Named<'de, N>,
    ids: Option<Ids>,
    max_items: Option<usize>,
    way: Way,
    /// What is in the place of the object.
    found: Option<Found>,
}

impl<'de, const N: usize> Object<'de, N> {
    fn finish<T>(
        self,
        finish: &impl Fn(Option<Vec<u8>>, [Option<&'de RawValue>; N]) -> Result<T, Wrong>,
    ) -> Result<T, Refusal> {
        if let Some(found) = self.found {
            return Err(Refusal::Wrong(Wrong::new("", found, "an object")));
        }
        let fields = self.named.check().map_err(Refusal::Wrong)?;
        let ids = self.ids.filter(|ids| !ids.is_null());
        let ids = ids.map(Ids::finish).transpose()?;
        finish(ids, fields).map_err(Refusal::Wrong)
    }
}

impl<'de, const N: usize> Container<'de> for Object<'de, N> {
    fn object<A: MapAccess<'de>>(&mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = next_name(&mut members)? {
            let Some(max_items) = self.max_items.filter(|_| &*name == b"ids") else {
                self.named.take(&name, &mut members)?;
                continue;
            };
            if self.ids.is_some() {
                self.named.refuse(twice("ids"));
            }
            let ids = self.ids.insert(Ids {
                bytes: Vec::new(),
                count: 0,
                max_items,
                wrong: None,
            });
            let way = self.way;
            members.next_value_seed(Next {
                container: ids,
                way,
            })?;
        }
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.found = Some(found);
    }
}

/// The ids of a body.
struct Ids {
    bytes: Vec<u8>,
    count: usize,
    max_items: usize,
    wrong: Option<Wrong>,
}

impl Ids {
    fn is_null(&self) -> bool {
        let wrong = self.wrong.as_ref();
        wrong.is_some_and(|wrong| wrong.is_null("ids"))
    }

    fn finish(self) -> Result<Vec<u8>, Refusal> {
        if self.count > self.max_items {
            return Err(Refusal::TooMany {
                field: "ids",
                count: self.count,
            });
        }
        self.wrong
            .map_or(Ok(self.bytes), |wrong| Err(Refusal::Wrong(wrong)))
    }
}

impl<'de> Container<'de> for Ids {
    fn array<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(raw) = items.next_element::<&RawValue>()? {
            let at = self.count;
            self.count += 1;
            if at >= self.max_items {
                continue;
            }
            match point_id("id", raw) {
                Ok(id) => append(&mut self.bytes, &id)?,
                Err(Wrong {
                    found, expected, ..
                }) => {
                    let path = format!("ids[{at}]");
                    self.wrong = Some(Wrong::new(&path, found, expected));
                    return skip_items(items);
                }
            }
        }
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.wrong = Some(unexpected(found));
    }
}
