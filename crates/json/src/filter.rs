//! Filters: objects of conditions, in the form that users of other vector databases know.

use std::{borrow::Cow, collections::HashSet};

use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde_json::value::RawValue;
use vectord_filter::{Bound, Condition, Expression, Side, Test, Value, Values};

use crate::{
    metadata::{Kind, TEXT, kind_of},
    point_id::point_id,
    points::content_type,
    refusal::{Found, Wrong, beginning},
    scalar::{decode, number},
    value::{Container, Way, next_name, walk},
};

/// The greatest length of a filter, in bytes of JSON.
pub const MAX_BYTES: usize = 1 << 20;

/// How many of `$and`, `$or` and `$not` may lie within each other.
const MAX_DEPTH: usize = 16;

/// The same of a filter that was a message: there what the members of one object say takes another
/// `$and`, also in the innermost.
const MAX_DEPTH_OF_MESSAGE: usize = 2 * MAX_DEPTH + 1;

/// The greatest number of conditions of a filter, and of values in a list.
pub const MAX_ITEMS: usize = 10_000;

const NAME: &str = "a key of metadata, or $id, $content_type, $and, $or or $not";
const FILTER: &str = "a filter: an object";
const OF_DELETE: &str =
    "at least one condition; to delete all points, all: true with confirm: their number";
const FILTERS: &str = "an array of at least one filter";
const DEPTH: &str = "at most 16 of $and, $or and $not within each other";
const DEPTH_OF_MESSAGE: &str = "at most 33 of all, any and negated within each other";
const CONDITIONS: &str = "at most 10000 conditions in a filter";
const BYTES: &str = "at most 1048576, in bytes of JSON";
const LENGTH: &str = "at most 10000 items";
const OPERATOR: &str = "$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin or $exists";
const OPERATOR_OF_SET: &str = "$eq, $ne, $in or $nin";
const VALUE: &str = "a string, a boolean or a finite number";
const ORDERED: &str = "a string or a finite number";
const CONDITION: &str =
    "a string, a boolean, a finite number, or an object of operators such as $in and $exists";

/// Checks a filter of a body, and returns its text. The path of what is wrong begins with `filter`.
pub fn filter_text(raw: &RawValue) -> Result<&str, Wrong> {
    read(raw, MAX_DEPTH, DEPTH, Use::Finds)?;
    Ok(raw.get())
}

/// The same of a filter that says which points are deleted.
pub fn filter_of_delete(raw: &RawValue) -> Result<&str, Wrong> {
    read(raw, MAX_DEPTH, DEPTH, Use::Deletes)?;
    Ok(raw.get())
}

/// Reads a filter that may have been a message.
pub fn filter_of_message(raw: &RawValue, wanted: Use) -> Result<Expression, Wrong> {
    read(raw, MAX_DEPTH_OF_MESSAGE, DEPTH_OF_MESSAGE, wanted)
}

/// What is done with the points that pass.
#[derive(Clone, Copy, PartialEq)]
pub enum Use {
    Finds,
    /// No filter may be empty, nor one within it: where a program has lost a condition, it would
    /// delete what it meant to keep.
    Deletes,
}

fn read(
    raw: &RawValue,
    depth: usize,
    expected: &'static str,
    wanted: Use,
) -> Result<Expression, Wrong> {
    let length = raw.get().len();
    if length > MAX_BYTES {
        let found = Found::Number(length as f64);
        return Err(Wrong::new("the length of filter", found, BYTES));
    }
    let mut reader = Reader {
        depth,
        expected,
        wanted,
        conditions: 0,
    };
    reader.filter("filter", raw, 0)
}

struct Reader {
    /// How deep filters may lie, and what a message says of one that is deeper.
    depth: usize,
    expected: &'static str,
    wanted: Use,
    conditions: usize,
}

impl Reader {
    /// A filter within `depth` others.
    fn filter(&mut self, path: &str, raw: &RawValue, depth: usize) -> Result<Expression, Wrong> {
        if depth > self.depth {
            return Err(Wrong::new(path, Found::of(raw), self.expected));
        }
        let mut parts = Vec::new();
        for (name, raw) in members(path, raw, FILTER)? {
            let path = &format!("{path}.{}", beginning(name.as_bytes()));
            parts.push(match &*name {
                "$and" => Expression::All(self.filters(path, raw, depth + 1)?),
                "$or" => Expression::Any(self.filters(path, raw, depth + 1)?),
                "$not" => not(self.filter(path, raw, depth + 1)?),
                "$id" => self.field(path, raw, Field::Id)?,
                "$content_type" => self.field(path, raw, Field::ContentType)?,
                name if name.starts_with('$') => {
                    return Err(Wrong::new(path, Found::Unknown, NAME));
                }
                key => self.field(path, raw, Field::Key(key))?,
            });
        }
        if parts.is_empty() && self.wanted == Use::Deletes {
            return Err(Wrong::new(path, Found::Empty, OF_DELETE));
        }
        Ok(all(parts))
    }

    /// The filters of `$and` or `$or`, each within `depth` others.
    fn filters(
        &mut self,
        path: &str,
        raw: &RawValue,
        depth: usize,
    ) -> Result<Vec<Expression>, Wrong> {
        let filters = items(path, raw, FILTERS)?;
        if filters.is_empty() {
            return Err(Wrong::new(path, Found::Empty, FILTERS));
        }
        let read = |(at, &raw)| self.filter(&format!("{path}[{at}]"), raw, depth);
        filters.iter().enumerate().map(read).collect()
    }

    /// The conditions on one field: the value that it has, or operators.
    fn field(&mut self, path: &str, raw: &RawValue, field: Field) -> Result<Expression, Wrong> {
        if !raw.get().starts_with('{') {
            self.count(path)?;
            let place = |_| path.to_owned();
            // The operators that would do are told too.
            return field.among(&[raw], place).map_err(|wrong| Wrong {
                expected: if wrong.expected == VALUE {
                    CONDITION
                } else {
                    wrong.expected
                },
                ..wrong
            });
        }
        let mut parts = Vec::new();
        for (name, raw) in members(path, raw, CONDITION)? {
            let path = format!("{path}.{}", beginning(name.as_bytes()));
            self.count(&path)?;
            parts.push(field.operator(&path, &name, raw)?);
        }
        if parts.is_empty() {
            let expected = field.operators();
            return Err(Wrong::new(path, Found::Empty, expected));
        }
        Ok(all(parts))
    }

    fn count(&mut self, path: &str) -> Result<(), Wrong> {
        self.conditions += 1;
        if self.conditions > MAX_ITEMS {
            let found = Found::Number(self.conditions as f64);
            return Err(Wrong::new(path, found, CONDITIONS));
        }
        Ok(())
    }
}

/// What conditions are about.
#[derive(Clone, Copy)]
enum Field<'n> {
    Key(&'n str),
    Id,
    ContentType,
}

impl Field<'_> {
    /// What the operator says of the field.
    fn operator(self, path: &str, name: &str, raw: &RawValue) -> Result<Expression, Wrong> {
        match (name, self) {
            ("$eq", _) => self.among(&[raw], |_| path.to_owned()),
            ("$ne", _) => self.among(&[raw], |_| path.to_owned()).map(not),
            ("$in" | "$nin", _) => {
                let values = items(path, raw, "an array of values")?;
                let among = self.among(&values, |at| format!("{path}[{at}]"))?;
                Ok(if name == "$in" { among } else { not(among) })
            }
            ("$exists", Field::Key(key)) => match raw.get() {
                "true" => Ok(test(key, Test::Exists)),
                "false" => Ok(not(test(key, Test::Exists))),
                _ => Err(Wrong::new(path, Found::of(raw), "true or false")),
            },
            (name, Field::Key(key)) => {
                let Some(side) = side(name) else {
                    return Err(Wrong::new(path, Found::Unknown, OPERATOR));
                };
                match value(raw) {
                    Ok(Value::Bool(_)) => Err(Wrong::new(path, Found::of(raw), ORDERED)),
                    Ok(value) => Ok(test(key, Test::Within(Bound { value, side }))),
                    Err((found, expected)) => {
                        Err(Wrong::new(path, found, expected.unwrap_or(ORDERED)))
                    }
                }
            }
            _ => Err(Wrong::new(path, Found::Unknown, self.operators())),
        }
    }

    /// Whether the field has one of these values; `place` is the path of each.
    fn among(
        self,
        values: &[&RawValue],
        place: impl Fn(usize) -> String,
    ) -> Result<Expression, Wrong> {
        let at_place = |at| {
            let path = place(at);
            move |wrong| Wrong { path, ..wrong }
        };
        let values = values.iter().enumerate();
        match self {
            Field::Key(key) => {
                let read = |(at, raw): (usize, &&RawValue)| {
                    let wrong = |(found, expected): (_, Option<_>)| {
                        Wrong::new(&place(at), found, expected.unwrap_or(VALUE))
                    };
                    value(raw).map_err(wrong)
                };
                let values = values.map(read).collect::<Result<Values, Wrong>>()?;
                Ok(test(key, Test::In(values)))
            }
            Field::Id => {
                let read = |(at, raw): (usize, &&RawValue)| point_id("", raw).map_err(at_place(at));
                let ids = values.map(read).collect::<Result<_, Wrong>>()?;
                Ok(Expression::Condition(Condition::Id(ids)))
            }
            Field::ContentType => {
                let read = |(at, raw): (usize, &&RawValue)| {
                    content_type("", Some(raw)).map_err(at_place(at))
                };
                let numbers = values.map(read).collect::<Result<_, Wrong>>()?;
                Ok(Expression::Condition(Condition::ContentType(numbers)))
            }
        }
    }

    fn operators(self) -> &'static str {
        match self {
            Field::Key(_) => OPERATOR,
            Field::Id | Field::ContentType => OPERATOR_OF_SET,
        }
    }
}

fn side(name: &str) -> Option<Side> {
    match name {
        "$gt" => Some(Side::Above),
        "$gte" => Some(Side::AtLeast),
        "$lt" => Some(Side::Below),
        "$lte" => Some(Side::AtMost),
        _ => None,
    }
}

fn test(key: &str, test: Test) -> Expression {
    Expression::Condition(Condition::Metadata(key.into(), test))
}

fn not(expression: Expression) -> Expression {
    Expression::Not(Box::new(expression))
}

fn all(mut parts: Vec<Expression>) -> Expression {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            Expression::All(parts)
        }
    }
}

/// A value of metadata that a condition names. The rules are those of metadata, so that every value
/// that is stored can be asked for.
fn value(raw: &RawValue) -> Result<Value<'static>, (Found, Option<&'static str>)> {
    let value = match kind_of(raw)? {
        Kind::Bool => Some(Value::Bool(raw.get() == "true")),
        Kind::Number => number(raw).map(Value::Number),
        Kind::Text => decode(raw.get()).map(|text| Value::Text(owned(&text).into())),
    };
    value.ok_or((Found::of(raw), None))
}

fn owned(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// The members of an object, no more than are read of a filter. No name comes twice.
fn members<'de>(
    path: &str,
    raw: &'de RawValue,
    expected: &'static str,
) -> Result<Vec<(String, &'de RawValue)>, Wrong> {
    let mut members = Members {
        list: Vec::new(),
        found: None,
    };
    walked(path, walk(raw.get(), &mut members, Way::Careful))?;
    if let Some(found) = members.found {
        return Err(Wrong::new(path, found, expected));
    }
    let mut names = HashSet::new();
    let mut list = Vec::new();
    for (name, raw) in members.list {
        let Ok(text) = str::from_utf8(&name) else {
            return Err(Wrong::new(path, Found::text(&name), TEXT));
        };
        if !names.insert(text.to_owned()) {
            let path = format!("{path}.{}", beginning(&name));
            return Err(Wrong::new(&path, Found::Twice, "it once"));
        }
        list.push((text.to_owned(), raw));
    }
    Ok(list)
}

/// The items of an array.
fn items<'de>(
    path: &str,
    raw: &'de RawValue,
    expected: &'static str,
) -> Result<Vec<&'de RawValue>, Wrong> {
    let mut items = Items {
        list: Vec::new(),
        count: 0,
        found: None,
    };
    walked(path, walk(raw.get(), &mut items, Way::Careful))?;
    if let Some(found) = items.found {
        return Err(Wrong::new(path, found, expected));
    }
    if items.count > MAX_ITEMS {
        return Err(Wrong::new(path, Found::Number(items.count as f64), LENGTH));
    }
    Ok(items.list)
}

/// It is JSON, so that nothing fails but an allocation.
fn walked(path: &str, outcome: serde_json::Result<()>) -> Result<(), Wrong> {
    let expected = "no more than there is memory for";
    outcome.map_err(|_| Wrong::new(path, Found::Object, expected))
}

struct Members<'de> {
    list: Vec<(Cow<'de, [u8]>, &'de RawValue)>,
    found: Option<Found>,
}

impl<'de> Container<'de> for Members<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = next_name(&mut members)? {
            if self.list.len() > MAX_ITEMS {
                members.next_value::<IgnoredAny>()?;
            } else {
                self.list.push((name, members.next_value()?));
            }
        }
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.found = Some(found);
    }
}

struct Items<'de> {
    list: Vec<&'de RawValue>,
    count: usize,
    found: Option<Found>,
}

impl<'de> Container<'de> for Items<'de> {
    fn array<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            self.count += 1;
            if self.count <= MAX_ITEMS {
                self.list.push(item);
            }
        }
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.found = Some(found);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::point_id::EXPECTED_ID;

    fn filter_of(text: &str) -> Result<Expression, String> {
        filter_for(Use::Finds, text)
    }

    fn filter_for(wanted: Use, text: &str) -> Result<Expression, String> {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        let read = read(raw, MAX_DEPTH, DEPTH, wanted);
        read.map_err(|Wrong { path, expected, .. }| format!("{path}: {expected}"))
    }

    fn is(key: &str, list: &[Value<'static>]) -> Expression {
        test(key, Test::In(list.iter().cloned().collect()))
    }

    fn text(text: &'static str) -> Value<'static> {
        Value::Text(text.into())
    }

    fn within(key: &str, side: Side, value: Value<'static>) -> Expression {
        test(key, Test::Within(Bound { value, side }))
    }

    #[test]
    fn every_operator_says_what_it_says() {
        let number = Value::Number;
        for (json, expected) in [
            ("{}", Expression::All(vec![])),
            (r#"{"a":"x"}"#, is("a", &[text("x")])),
            (r#"{"\u0061":"\u0078"}"#, is("a", &[text("x")])),
            (r#"{"":1.5}"#, is("", &[number(1.5)])),
            (r#"{"a":{"$eq":true}}"#, is("a", &[Value::Bool(true)])),
            (r#"{"a":{"$ne":-0}}"#, not(is("a", &[number(0.0)]))),
            (
                r#"{"a":{"$in":[1,"x",false]}}"#,
                is("a", &[number(1.0), text("x"), Value::Bool(false)]),
            ),
            (r#"{"a":{"$in":[]}}"#, is("a", &[])),
            (r#"{"a":{"$nin":["x"]}}"#, not(is("a", &[text("x")]))),
            (
                r#"{"a":{"$gt":1,"$lte":"x"}}"#,
                Expression::All(vec![
                    within("a", Side::Above, number(1.0)),
                    within("a", Side::AtMost, text("x")),
                ]),
            ),
            (
                r#"{"a":{"$gte":1,"$lt":2}}"#,
                Expression::All(vec![
                    within("a", Side::AtLeast, number(1.0)),
                    within("a", Side::Below, number(2.0)),
                ]),
            ),
            (r#"{"a":{"$exists":true}}"#, test("a", Test::Exists)),
            (r#"{"a":{"$exists":false}}"#, not(test("a", Test::Exists))),
            (
                r#"{"$or":[{"a":1},{"$not":{"b":2}}],"c":3}"#,
                Expression::All(vec![
                    Expression::Any(vec![is("a", &[number(1.0)]), not(is("b", &[number(2.0)]))]),
                    is("c", &[number(3.0)]),
                ]),
            ),
            (
                r#"{"$and":[{"a":1}]}"#,
                Expression::All(vec![is("a", &[number(1.0)])]),
            ),
            (
                r#"{"$content_type":"Text"}"#,
                Expression::Condition(Condition::ContentType(vec![1])),
            ),
            (
                r#"{"$id":{"$nin":["00000000-0000-4000-8000-0000000000Ab"]}}"#,
                not(Expression::Condition(Condition::Id(HashSet::from([[
                    0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0xab,
                ]])))),
            ),
        ] {
            assert_eq!(filter_of(json), Ok(expected), "{json}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused_with_its_place() {
        for (json, path, expected) in [
            ("[]", "filter", FILTER),
            ("null", "filter", FILTER),
            (r#"{"$foo":1}"#, "filter.$foo", NAME),
            (r#"{"a":null}"#, "filter.a", CONDITION),
            (r#"{"a":["x"]}"#, "filter.a", CONDITION),
            (r#"{"a":{}}"#, "filter.a", OPERATOR),
            (r#"{"a":{"b":1}}"#, "filter.a.b", OPERATOR),
            (r#"{"a":{"$not":{}}}"#, "filter.a.$not", OPERATOR),
            (r#"{"a":{"$eq":null}}"#, "filter.a.$eq", VALUE),
            (r#"{"a":{"$ne":[]}}"#, "filter.a.$ne", VALUE),
            (r#"{"a":{"$gt":true}}"#, "filter.a.$gt", ORDERED),
            (r#"{"a":{"$lt":null}}"#, "filter.a.$lt", ORDERED),
            (r#"{"a":{"$in":"x"}}"#, "filter.a.$in", "an array of values"),
            (r#"{"a":{"$in":["x",[]]}}"#, "filter.a.$in[1]", VALUE),
            (
                r#"{"a":{"$exists":1}}"#,
                "filter.a.$exists",
                "true or false",
            ),
            (r#"{"a":1,"a":2}"#, "filter.a", "it once"),
            (r#"{"a":{"$gt":1,"$gt":1}}"#, "filter.a.$gt", "it once"),
            (r#"{"a":1e999}"#, "filter.a", CONDITION),
            (r#"{"\ud800":1}"#, "filter", TEXT),
            (r#"{"a":{"$eq":"\ud800"}}"#, "filter.a.$eq", TEXT),
            (r#"{"$and":[]}"#, "filter.$and", FILTERS),
            (r#"{"$or":{}}"#, "filter.$or", FILTERS),
            (r#"{"$or":[{"a":1},2]}"#, "filter.$or[1]", FILTER),
            (r#"{"$not":[]}"#, "filter.$not", FILTER),
            (
                r#"{"$not":{"$or":[{"a":[]}]}}"#,
                "filter.$not.$or[0].a",
                CONDITION,
            ),
            (r#"{"$id":{"$gt":"x"}}"#, "filter.$id.$gt", OPERATOR_OF_SET),
            (
                r#"{"$id":{"$exists":true}}"#,
                "filter.$id.$exists",
                OPERATOR_OF_SET,
            ),
            (r#"{"$id":{}}"#, "filter.$id", OPERATOR_OF_SET),
            (
                r#"{"$content_type":{"$in":["Text","text"]}}"#,
                "filter.$content_type.$in[1]",
                "\"Image\" or \"Text\"",
            ),
            (r#"{"$id":"1"}"#, "filter.$id", EXPECTED_ID),
        ] {
            assert_eq!(
                filter_of(json),
                Err(format!("{path}: {expected}")),
                "{json}"
            );
        }
    }

    #[test]
    fn no_filter_within_that_of_a_delete_is_empty() {
        for (json, path) in [
            ("{}", "filter"),
            (r#"{"$and":[{}]}"#, "filter.$and[0]"),
            (r#"{"$or":[{"a":1},{}]}"#, "filter.$or[1]"),
            (r#"{"a":1,"$not":{}}"#, "filter.$not"),
            (
                r#"{"$or":[{"$not":{"$and":[{"a":1},{}]}}]}"#,
                "filter.$or[0].$not.$and[1]",
            ),
        ] {
            let refused = format!("{path}: {OF_DELETE}");
            assert_eq!(filter_for(Use::Deletes, json), Err(refused), "{json}");
            assert!(filter_of(json).is_ok(), "{json}");
        }
        let full = r#"{"$or":[{"a":1},{"$not":{"b":{"$in":[]}}}]}"#;
        assert_eq!(filter_for(Use::Deletes, full), filter_of(full));
    }

    #[test]
    fn filters_are_nested_and_as_long_as_is_allowed() {
        let nested = |depth: usize| {
            let inner = format!(
                "{}{}{}",
                r#"{"$not":"#.repeat(depth),
                "{}",
                "}".repeat(depth)
            );
            filter_of(&inner)
        };
        assert!(nested(MAX_DEPTH).is_ok());
        let path = format!("filter{}", ".$not".repeat(MAX_DEPTH + 1));
        assert_eq!(nested(MAX_DEPTH + 1), Err(format!("{path}: {DEPTH}")));

        let list = |length: usize| {
            let items = vec!["1"; length].join(",");
            filter_of(&format!(r#"{{"a":{{"$in":[{items}]}}}}"#))
        };
        assert!(list(MAX_ITEMS).is_ok());
        assert_eq!(list(MAX_ITEMS + 1), Err(format!("filter.a.$in: {LENGTH}")));

        let conditions = |count: usize| {
            let mut fields = String::new();
            for at in 1..count {
                write!(fields, r#""k{at}":1,"#).unwrap();
            }
            filter_of(&format!(r#"{{{fields}"$or":[{{"last":1}}]}}"#))
        };
        assert!(conditions(MAX_ITEMS).is_ok());
        let refused = format!("filter.$or[0].last: {CONDITIONS}");
        assert_eq!(conditions(MAX_ITEMS + 1), Err(refused));

        let of_bytes = |bytes: usize| filter_of(&format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8)));
        assert!(of_bytes(MAX_BYTES).is_ok());
        let refused = format!("the length of filter: {BYTES}");
        assert_eq!(of_bytes(MAX_BYTES + 1), Err(refused));
    }
}
