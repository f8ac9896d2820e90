//! Why a body is refused.

use serde_json::value::RawValue;

use crate::scalar::{decode, number};

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

/// What a path begins with if the value is too long.
const LENGTH_OF: &str = "the length of ";

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

    /// Whether null stands where a value of the field `name` is expected.
    pub(crate) fn is_null(&self, name: &str) -> bool {
        self.path == name && self.found == Found::Null
    }

    /// A field that there is not.
    pub(crate) fn unknown(name: &[u8], expected: &'static str) -> Wrong {
        Wrong::new(&beginning(name), Found::Unknown, expected)
    }

    /// The same, within something that has this path.
    pub(crate) fn within(self, prefix: &str) -> Wrong {
        let (about, path) = match self.path.strip_prefix(LENGTH_OF) {
            Some(path) => (LENGTH_OF, path),
            None => ("", &*self.path),
        };
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{about}{prefix}{dot}{path}");
        Wrong { path, ..self }
    }
}

/// As much of a value as a message about it says.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// There is none.
    Missing,
    /// Something that has no place there.
    Unknown,
    /// More than one value.
    Twice,
    /// A key that is none.
    Key,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, infinite if it is beyond the range of a double.
    Number(f64),
    /// A whole number that no double has exactly, as it was written: its beginning.
    Whole(String),
    /// The beginning of a string.
    Text(String),
    /// An array or an object of nothing.
    Empty,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// More characters of a text than any message shows.
const MAX_CHARS: usize = 64;

/// The first characters of a text, which are enough to know it by.
pub fn beginning(text: &[u8]) -> String {
    // No character takes more than four bytes.
    let text = &text[..text.len().min(4 * MAX_CHARS)];
    String::from_utf8_lossy(text)
        .chars()
        .take(MAX_CHARS)
        .collect()
}

impl Found {
    pub(crate) fn of(raw: &RawValue) -> Found {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'[') => Found::Array,
            Some(b'{') => Found::Object,
            Some(b'"') => Found::text(&decode(text).unwrap_or_default()),
            Some(b't') => Found::Bool(true),
            Some(b'f') => Found::Bool(false),
            _ => number(raw).map_or(Found::Null, Found::Number),
        }
    }

    pub(crate) fn text(text: &[u8]) -> Found {
        Found::Text(beginning(text))
    }

    pub(crate) fn of_field(raw: Option<&RawValue>) -> Found {
        raw.map_or(Found::Missing, Found::of)
    }
}
