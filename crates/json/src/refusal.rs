//! Why a body is refused.

use serde_json::value::RawValue;

use crate::value::{decode, number};

/// Why a body is refused.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    /// It has no bytes.
    Empty,
    /// Its bytes are no text.
    NotUtf8,
    /// The text is not JSON, in the words of the parser.
    Broken(String),
    /// The batch in this field has too many items.
    TooMany {
        /// The name of the field.
        field: &'static str,
        /// The number of items.
        count: usize,
    },
    /// It is JSON and says something else than it should.
    Wrong(Wrong),
    /// There is no memory for what it holds.
    NoMemory,
}

/// A value that is not what is expected at its place.
#[derive(Debug, PartialEq)]
pub struct Wrong {
    /// The place, such as `vectors[2].payload.content`; empty for the whole.
    pub path: String,
    /// The value.
    pub found: Found,
    /// What is expected.
    pub expected: &'static str,
}

impl Wrong {
    pub(crate) fn new(path: &str, found: Found, expected: &'static str) -> Wrong {
        Wrong {
            path: path.to_owned(),
            found,
            expected,
        }
    }

    /// The same, within something that has this path.
    pub(crate) fn within(self, prefix: &str) -> Wrong {
        let path = if self.path.is_empty() {
            prefix.to_owned()
        } else {
            format!("{prefix}.{}", self.path)
        };
        Wrong { path, ..self }
    }
}

/// As much of a value as a message about it says.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// There is none.
    Missing,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, infinite if it is beyond the range of a double.
    Number(f64),
    /// The beginning of a string.
    Text(String),
    /// An array.
    Array,
    /// An object.
    Object,
}

/// More characters of a text than any message shows.
const MAX_CHARS: usize = 64;

impl Found {
    pub(crate) fn of(raw: &RawValue) -> Found {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'[') => Found::Array,
            Some(b'{') => Found::Object,
            Some(b'"') => {
                let bytes = decode(text).unwrap_or_default();
                Found::Text(
                    String::from_utf8_lossy(&bytes)
                        .chars()
                        .take(MAX_CHARS)
                        .collect(),
                )
            }
            Some(b't') => Found::Bool(true),
            Some(b'f') => Found::Bool(false),
            _ => number(raw).map_or(Found::Null, Found::Number),
        }
    }

    pub(crate) fn of_field(raw: Option<&RawValue>) -> Found {
        raw.map_or(Found::Missing, Found::of)
    }
}
