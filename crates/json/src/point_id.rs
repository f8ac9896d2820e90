//! The ids of points.

use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{
    refusal::{Found, Wrong},
    scalar::decode,
};

/// The characters of 8-4-4-4-12 hexadecimal digits; all other forms are shorter or longer.
const LENGTH: usize = 36;

/// What an id has to be. The namespace is that of the clients.
pub const EXPECTED_ID: &str = "a UUID (8-4-4-4-12 hexadecimal digits) that is not nil; idFor and id_for of \
    the clients make one of any text, of version 5 in the namespace \
    1f798449-f176-40ab-9cbe-569099033734";

/// The bytes of the id that a field holds.
pub fn point_id(name: &str, raw: &RawValue) -> Result<[u8; 16], Wrong> {
    let text = decode(raw.get()).filter(|text| text.len() == LENGTH);
    let id = text.and_then(|text| Uuid::try_parse_ascii(&text).ok());
    let id = id.filter(|id| !id.is_nil());
    id.map(Uuid::into_bytes)
        .ok_or_else(|| Wrong::new(name, Found::of(raw), EXPECTED_ID))
}
