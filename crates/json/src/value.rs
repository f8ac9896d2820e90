//! Values of JSON as the parser hands them over: containers are walked through, all others are
//! taken as the text that stands for them.

use std::{borrow::Cow, collections::TryReserveError, fmt};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::refusal::Found;

/// The parser describes a number beyond a double, and half of a surrogate pair, as errors where it
/// is asked for any value; as the text of a value it takes both, as JSON does. To ask for the text
/// first takes twice as long, so that is done once the quick way has failed.
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    /// Fails on everything but an array or object where one is expected.
    Quick,
    /// Fails on broken JSON alone.
    Careful,
}

/// Takes a value where an array or object is expected.
pub trait Container<'de> {
    /// Takes an array; all of its items are to be read.
    fn array<A: SeqAccess<'de>>(&mut self, items: A) -> Result<(), A::Error> {
        skip_items(items)?;
        self.other(Found::Array);
        Ok(())
    }

    /// Takes an object; all of its members are to be read.
    fn object<A: MapAccess<'de>>(&mut self, mut members: A) -> Result<(), A::Error> {
        while members.next_entry::<&RawValue, IgnoredAny>()?.is_some() {}
        self.other(Found::Object);
        Ok(())
    }

    /// Takes anything else, or what was not expected.
    fn other(&mut self, found: Found);
}

/// Hands the next value to a container.
pub struct Next<'c, C> {
    pub container: &'c mut C,
    pub way: Way,
}

impl<'de, C: Container<'de>> DeserializeSeed<'de> for Next<'_, C> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.way == Way::Quick {
            return deserializer.deserialize_any(self);
        }
        let raw = <&RawValue>::deserialize(deserializer)?;
        if raw.get().starts_with(['[', '{']) {
            let mut inner = serde_json::Deserializer::from_str(raw.get());
            return inner.deserialize_any(self).map_err(D::Error::custom);
        }
        self.container.other(Found::of(raw));
        Ok(())
    }
}

impl<'de, C: Container<'de>> Visitor<'de> for Next<'_, C> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an array or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        self.container.array(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        self.container.object(members)
    }
}

/// Reads the items that are left.
pub fn skip_items<'de, A: SeqAccess<'de>>(mut items: A) -> Result<(), A::Error> {
    while items.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// The name of the next member, its escapes resolved.
pub fn next_name<'de, A: MapAccess<'de>>(
    members: &mut A,
) -> Result<Option<Cow<'de, [u8]>>, A::Error> {
    let name = members.next_key::<&RawValue>()?;
    Ok(name.map(|raw| decode(raw.get()).unwrap_or_default()))
}

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

/// Room for as many items is made at least, so that a short list grows but a few times.
const LEAST_ROOM: usize = 256;

/// Lists grow with the text, which is a client's: where there is no memory for it, that is an error.
pub fn append<T: Copy, E: Error>(list: &mut Vec<T>, items: &[T]) -> Result<(), E> {
    if list.capacity() - list.len() < items.len() {
        make_room(list, items.len()).map_err(E::custom)?;
    }
    list.extend_from_slice(items);
    Ok(())
}

#[cold]
fn make_room<T>(list: &mut Vec<T>, items: usize) -> Result<(), TryReserveError> {
    list.try_reserve(items.max(LEAST_ROOM))
}
