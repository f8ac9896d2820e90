//! Metadata: a flat object of strings, booleans, numbers, nulls, and arrays of one kind of these.

use std::{borrow::Cow, collections::HashSet};

use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde_json::value::RawValue;

use crate::{
    append::append,
    refusal::{Found, Wrong, beginning},
    scalar::{decode, number},
    value::{Container, Way, skip_items, walk},
};

/// The greatest length of the metadata of a point, in bytes of JSON without spaces.
pub const MAX_BYTES: usize = 64 << 10;

/// Up to here every whole number is a double of its own.
const MAX_WHOLE: u64 = 1 << 53;

const VALUE: &str = "a string, a boolean, a finite number, null, or an array of one kind of them";
const FLAT: &str = "a string, a boolean, a finite number, null, or an array of one kind of them; \
    what an object has is written as keys, such as a.b";
const ITEM: &str = "a string, a boolean or a finite number, of the same kind as the first item";
const WHOLE: &str = "a whole number within ±2^53, or a string";
pub const TEXT: &str = "Unicode text";

/// Appends metadata to a list without the spaces between its parts, otherwise as it came. Tells what
/// is wrong with it if it is none; the list is then to be given up.
pub fn metadata(raw: &RawValue, list: &mut Vec<u8>) -> Result<(), Wrong> {
    let mut metadata = Metadata {
        start: list.len(),
        list,
        outcome: Ok(()),
    };
    // It is JSON, so that nothing fails but an allocation, which is an error of the list.
    let walked = walk(raw.get(), &mut metadata, Way::Careful);
    if walked.is_err() && metadata.outcome.is_ok() {
        return Err(Wrong::new(
            "metadata",
            Found::Object,
            "no more than there is memory for",
        ));
    }
    metadata.outcome
}

struct Metadata<'l> {
    list: &'l mut Vec<u8>,
    start: usize,
    outcome: Result<(), Wrong>,
}

/// The kind of a scalar value. All items of an array have the same.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Text,
    Bool,
    Number,
}

impl Metadata<'_> {
    /// Appends a part, and notes where the metadata are too long.
    fn push<E: serde::de::Error>(&mut self, part: &str) -> Result<(), E> {
        append(self.list, part.as_bytes())?;
        if self.list.len() - self.start > MAX_BYTES && self.outcome.is_ok() {
            let found = Found::Number((self.list.len() - self.start) as f64);
            let expected = "at most 65536, in bytes of JSON without spaces";
            self.outcome = Err(Wrong::new("the length of metadata", found, expected));
        }
        Ok(())
    }

    fn refuse(&mut self, path: &str, found: Found, expected: &'static str) {
        self.outcome = Err(Wrong::new(path, found, expected));
    }

    /// Appends the value of a key.
    fn value<E: serde::de::Error>(&mut self, path: &str, raw: &RawValue) -> Result<(), E> {
        if raw.get().starts_with('[') {
            let mut items = Items {
                metadata: self,
                path,
                count: 0,
                kind: None,
            };
            return walk(raw.get(), &mut items, Way::Careful).map_err(E::custom);
        }
        if raw.get() != "null"
            && let Err((found, expected)) = kind_of(raw)
        {
            let expected = match found {
                Found::Object => FLAT,
                _ => expected.unwrap_or(VALUE),
            };
            self.refuse(path, found, expected);
            return Ok(());
        }
        self.push(raw.get())
    }
}

/// The kind of a scalar; otherwise what is found, and what is expected if it is nearly one.
pub fn kind_of(raw: &RawValue) -> Result<Kind, (Found, Option<&'static str>)> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => match decode(text) {
            Some(bytes) if str::from_utf8(&bytes).is_ok() => Ok(Kind::Text),
            _ => Err((Found::of(raw), Some(TEXT))),
        },
        Some(b't' | b'f') => Ok(Kind::Bool),
        Some(b'[' | b'{' | b'n') | None => Err((Found::of(raw), None)),
        Some(_) => {
            let value = number(raw).unwrap_or(f64::INFINITY);
            let is_whole = !text.contains(['.', 'e', 'E']);
            let is_exact = |number: i64| number.unsigned_abs() <= MAX_WHOLE;
            if is_whole && !text.parse().is_ok_and(is_exact) {
                let found = Found::Whole(beginning(text.as_bytes()));
                return Err((found, Some(WHOLE)));
            }
            if value.is_finite() {
                Ok(Kind::Number)
            } else {
                Err((Found::Number(value), None))
            }
        }
    }
}

impl<'de> Container<'de> for Metadata<'_> {
    fn object<A: MapAccess<'de>>(&mut self, mut members: A) -> Result<(), A::Error> {
        let mut keys: HashSet<Cow<'de, [u8]>> = HashSet::new();
        self.push("{")?;
        while let Some(key) = members.next_key::<&RawValue>()? {
            let name = decode(key.get()).unwrap_or_default();
            let path = format!("metadata.{}", beginning(&name));
            if str::from_utf8(&name).is_err() {
                self.refuse(&path, Found::Key, TEXT);
            } else if name.starts_with(b"$") {
                self.refuse(&path, Found::Key, "one that does not begin with \"$\"");
            } else if keys.contains(&name) {
                self.refuse(&path, Found::Twice, "each key once");
            }
            if self.outcome.is_err() {
                members.next_value::<IgnoredAny>()?;
                break;
            }
            if !keys.is_empty() {
                self.push(",")?;
            }
            self.push(key.get())?;
            self.push(":")?;
            keys.insert(name);
            self.value(&path, members.next_value()?)?;
            if self.outcome.is_err() {
                break;
            }
        }
        while members.next_entry::<&RawValue, IgnoredAny>()?.is_some() {}
        self.push("}")
    }

    fn other(&mut self, found: Found) {
        self.refuse("metadata", found, "an object");
    }
}

/// The items of an array.
struct Items<'m, 'l, 'p> {
    metadata: &'m mut Metadata<'l>,
    path: &'p str,
    count: usize,
    kind: Option<Kind>,
}

impl<'de> Container<'de> for Items<'_, '_, '_> {
    fn array<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        self.metadata.push("[")?;
        while let Some(raw) = items.next_element::<&RawValue>()? {
            let wrong = match kind_of(raw) {
                Ok(kind) if *self.kind.get_or_insert(kind) == kind => None,
                Ok(_) => Some((Found::of(raw), ITEM)),
                Err((found, expected)) => Some((found, expected.unwrap_or(ITEM))),
            };
            if let Some((found, expected)) = wrong {
                let path = format!("{}[{}]", self.path, self.count);
                self.metadata.refuse(&path, found, expected);
            } else {
                if self.count > 0 {
                    self.metadata.push(",")?;
                }
                self.metadata.push(raw.get())?;
                self.count += 1;
            }
            if self.metadata.outcome.is_err() {
                return skip_items(items);
            }
        }
        self.metadata.push("]")
    }

    fn other(&mut self, found: Found) {
        self.metadata.refuse(self.path, found, VALUE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        let mut list = b"before".to_vec();
        match metadata(raw, &mut list) {
            Ok(()) => Ok(String::from_utf8(list.split_off(6)).unwrap()),
            Err(Wrong { path, expected, .. }) => Err(format!("{path}: {expected}")),
        }
    }

    #[test]
    fn metadata_come_back_as_they_came_without_spaces_between() {
        for (text, expected) in [
            ("{}", "{}"),
            (" { } ", "{}"),
            (r#"{"a":1,"b":"x y"}"#, r#"{"a":1,"b":"x y"}"#),
            (
                "{ \"b\" : true , \"a\" : [ 1 , 2.50 , -0 ],\n\"n\": null, \"t\": [\"a\", \"\\u00e9\"] }",
                r#"{"b":true,"a":[1,2.50,-0],"n":null,"t":["a","\u00e9"]}"#,
            ),
            (r#"{"":[],"x":[false,true]}"#, r#"{"":[],"x":[false,true]}"#),
            (
                r#"{"n":9007199254740992,"m":-9007199254740992,"e":1e300}"#,
                r#"{"n":9007199254740992,"m":-9007199254740992,"e":1e300}"#,
            ),
            (r#"{"a$":"$","A":1,"a":2}"#, r#"{"a$":"$","A":1,"a":2}"#),
        ] {
            assert_eq!(read(text), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn what_is_no_flat_object_is_refused_with_its_place() {
        for (text, expected) in [
            ("[]", "metadata: an object".to_owned()),
            ("null", "metadata: an object".to_owned()),
            ("\"x\"", "metadata: an object".to_owned()),
            (r#"{"a":{}}"#, format!("metadata.a: {FLAT}")),
            (r#"{"a":[[]]}"#, format!("metadata.a[0]: {ITEM}")),
            (r#"{"a":[1,null]}"#, format!("metadata.a[1]: {ITEM}")),
            (r#"{"a":[1,"x"]}"#, format!("metadata.a[1]: {ITEM}")),
            (r#"{"a":[true,1]}"#, format!("metadata.a[1]: {ITEM}")),
            (r#"{"a":1e999}"#, format!("metadata.a: {VALUE}")),
            (r#"{"a":[-1e999]}"#, format!("metadata.a[0]: {ITEM}")),
            (r#"{"a":9007199254740993}"#, format!("metadata.a: {WHOLE}")),
            (
                r#"{"a":[0,-90071992547409930]}"#,
                format!("metadata.a[1]: {WHOLE}"),
            ),
            (r#"{"a":"\ud800"}"#, format!("metadata.a: {TEXT}")),
            (
                r#"{"\ud800":1}"#,
                format!("metadata.\u{fffd}\u{fffd}\u{fffd}: {TEXT}"),
            ),
            (
                r#"{"a":1,"\u0061":2}"#,
                "metadata.a: each key once".to_owned(),
            ),
            (
                r#"{"a":1,"\u0024b":2}"#,
                "metadata.$b: one that does not begin with \"$\"".to_owned(),
            ),
        ] {
            assert_eq!(read(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_whole_number_that_would_be_rounded_is_named_as_it_was_written() {
        let digits = "-9007199254740993";
        let raw: &RawValue = serde_json::from_str(digits).unwrap();
        let refused = kind_of(raw).map(|_| ()).unwrap_err();
        assert_eq!(refused, (Found::Whole(digits.into()), Some(WHOLE)));
    }

    #[test]
    fn as_many_bytes_as_allowed_are_taken_however_many_spaces_there_are() {
        let of_length = |length: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(length - 8));
        let most = of_length(MAX_BYTES);
        assert_eq!(read(&most), Ok(most.clone()));
        assert_eq!(read(&most.replace(':', "  :  ")), Ok(most));
        let refused = "the length of metadata: at most 65536, in bytes of JSON without spaces";
        assert_eq!(read(&of_length(MAX_BYTES + 1)), Err(refused.to_owned()));
        let many = format!(r#"{{"a":[{}1]}}"#, "1,".repeat(MAX_BYTES));
        assert_eq!(read(&many), Err(refused.to_owned()));
    }
}
