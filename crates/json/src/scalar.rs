//! Numbers and strings, from the text that stands for them.

use std::{borrow::Cow, fmt};

use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

use crate::append::append;

/// The number that a value is; it may be infinite.
pub fn number(raw: &RawValue) -> Option<f64> {
    // No other value of JSON is a number to this parser.
    raw.get().parse().ok()
}

/// The UTF-8 of the string that a value is, each lone surrogate as if it were a character.
pub fn decode(text: &str) -> Option<Cow<'_, [u8]>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner.as_bytes()));
    }
    let bytes = serde_json::Deserializer::from_str(text).deserialize_bytes(Bytes);
    bytes.ok().map(Cow::Owned)
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        let mut copy = Vec::new();
        append(&mut copy, bytes)?;
        Ok(copy)
    }
}
