//! Reads stored metadata: a flat object in JSON, checked when it was stored.

use std::{borrow::Cow, collections::HashMap, fmt};

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{expression::Test, values::Value};

/// What is stored in a field. Null is not: it counts as not there.
#[derive(Debug)]
pub enum Stored<'m> {
    /// One value.
    Scalar(Value<'m>),
    /// An array: its items that are not null.
    Array(Vec<Value<'m>>),
    /// The same, in the order of [`Value::total_order`].
    Sorted(Vec<Value<'m>>),
}

/// Asked more tests than this, an array is sorted first: tests on long arrays would take seconds for
/// one point if each looked at all items.
const FEW_TESTS: usize = 8;

impl<'m> Stored<'m> {
    /// What a text of JSON stands for; None for null.
    fn of(text: &'m str) -> Option<Self> {
        if text.starts_with('[') {
            Some(Stored::Array(items(text)))
        } else {
            value(text).map(Stored::Scalar)
        }
    }

    /// Whether it passes a test: a scalar by itself, an array by one of its items.
    #[must_use]
    pub fn passes(&self, test: &Test) -> bool {
        match self {
            Stored::Scalar(value) => test.passes(value),
            Stored::Array(items) => {
                *test == Test::Exists || items.iter().any(|item| test.passes(item))
            }
            Stored::Sorted(items) => one_passes(items, test),
        }
    }

    /// Sorts the items of an array that many tests are about.
    fn ready_for(self, tests: usize) -> Self {
        match self {
            Stored::Array(mut items) if tests > FEW_TESTS && items.len() > FEW_TESTS => {
                items.sort_unstable_by(|item, other| item.total_order(other));
                Stored::Sorted(items)
            }
            other => other,
        }
    }
}

/// Whether one of some sorted items passes a test. Takes no longer than the test has values, but for a
/// factor of the logarithm of the number of items.
fn one_passes(items: &[Value], test: &Test) -> bool {
    match test {
        Test::Exists => true,
        Test::In(values) if values.len() < items.len() => {
            let has = |value: Value| {
                let found = items.binary_search_by(|item| item.total_order(&value));
                found.is_ok()
            };
            values.texts().any(|text| has(Value::Text(text.into()))) || values.others().any(has)
        }
        Test::In(values) => items.iter().any(|item| values.contain(item)),
        // Those of the bound's type lie together, the least first.
        Test::Within(bound) => {
            let from = items.partition_point(|item| item.type_order(&bound.value).is_lt());
            let to = items.partition_point(|item| item.type_order(&bound.value).is_le());
            let ends = &items[from..to];
            let admits = |item: &Value| bound.admits(item);
            ends.first().is_some_and(admits) || ends.last().is_some_and(admits)
        }
    }
}

/// Calls `take` for each item of `keys` whose key is in the metadata, with what is stored there.
/// Ends at what is not the JSON of metadata, which no record holds unless it is damaged.
pub fn read<'m, T>(
    metadata: &'m [u8],
    keys: &HashMap<Box<str>, Vec<T>>,
    take: impl FnMut(&T, &Stored<'m>),
) {
    let mut parser = serde_json::Deserializer::from_slice(metadata);
    drop(parser.deserialize_map(Members { keys, take }));
}

/// The items of an array in JSON that are not null.
fn items(array: &str) -> Vec<Value<'_>> {
    let mut items = Vec::new();
    let mut parser = serde_json::Deserializer::from_str(array);
    // What is not an array is in no record unless it is damaged.
    drop(parser.deserialize_seq(Items(&mut items)));
    items
}

/// The scalar that a text stands for; None for null.
fn value(text: &str) -> Option<Value<'_>> {
    match text.as_bytes().first()? {
        b'"' => string(text).map(Value::Text),
        b't' => Some(Value::Bool(true)),
        b'f' => Some(Value::Bool(false)),
        b'n' => None,
        _ => text.parse().ok().map(Value::Number),
    }
}

/// The string that a text stands for.
fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

struct Members<'k, T, F> {
    keys: &'k HashMap<Box<str>, Vec<T>>,
    take: F,
}

impl<'m, T, F: FnMut(&T, &Stored<'m>)> Visitor<'m> for Members<'_, T, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'m>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut left = self.keys.len();
        while left > 0
            && let Some(key) = members.next_key::<&RawValue>()?
        {
            let wanted = string(key.get()).and_then(|key| self.keys.get(&*key));
            let Some(wanted) = wanted else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let stored: &RawValue = members.next_value()?;
            if let Some(stored) = Stored::of(stored.get()) {
                let stored = stored.ready_for(wanted.len());
                for item in wanted {
                    (self.take)(item, &stored);
                }
            }
            left -= 1;
        }
        // What is left of the text matters to nobody.
        Ok(())
    }
}

struct Items<'i, 'm>(&'i mut Vec<Value<'m>>);

impl<'m> Visitor<'m> for Items<'_, 'm> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'m>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            self.0.extend(value(item.get()));
        }
        Ok(())
    }
}
