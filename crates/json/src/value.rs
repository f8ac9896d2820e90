//! Values of JSON as the parser hands them over: containers are walked through, all others are
//! taken as the text that stands for them.

use std::{borrow::Cow, fmt};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::{refusal::Found, scalar::decode};

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

    /// Takes a string, its escapes resolved.
    fn text(&mut self, text: &[u8]) {
        self.other(Found::text(text));
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
        match decode(raw.get()) {
            Some(text) => self.container.text(&text),
            None => self.container.other(Found::of(raw)),
        }
        Ok(())
    }
}

impl<'de, C: Container<'de>> Visitor<'de> for Next<'_, C> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an array or an object")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.container.text(text.as_bytes());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        self.container.array(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        self.container.object(members)
    }
}

/// Hands all of a text to a container.
pub fn walk<'de>(
    text: &'de str,
    container: &mut impl Container<'de>,
    way: Way,
) -> serde_json::Result<()> {
    let mut parser = serde_json::Deserializer::from_str(text);
    Next { container, way }.deserialize(&mut parser)?;
    parser.end()
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
