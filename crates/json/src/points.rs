//! Bodies that insert points.

use serde::de::{IgnoredAny, MapAccess};
use serde_json::value::RawValue;

use crate::{
    append::append,
    list::List,
    read,
    refusal::{Found, Refusal, Wrong},
    scalar::decode,
    value::{Container, Next, Way, next_name},
    vector::{self, Vector},
};

/// The names of the content types, each at the place of its number.
const CONTENT_TYPES: [&str; 2] = ["Image", "Text"];

/// The number of text.
pub const TEXT: u8 = 1;

/// The parts of points, one point after the other.
#[derive(Debug, Default, PartialEq)]
pub struct Points {
    /// The values of all vectors.
    pub vectors: Vec<f32>,
    /// Where each vector ends in `vectors`.
    pub vector_ends: Vec<u32>,
    /// The number of each content type.
    pub content_types: Vec<u8>,
    /// The UTF-8 of all contents except the refused ones.
    pub contents: Vec<u8>,
    /// Where each content ends in `contents`.
    pub content_ends: Vec<u32>,
    /// The first content that is refused.
    pub content_fault: Option<ContentFault>,
}

/// A content that is not taken.
#[derive(Debug, PartialEq)]
pub struct ContentFault {
    /// The index of its point.
    pub item: usize,
    /// Its length, if that is too much; otherwise it holds a lone surrogate.
    pub bytes: Option<usize>,
}

/// Reads the body that inserts a point.
pub fn point(body: &[u8], max_content_bytes: usize) -> Result<Points, Refusal> {
    read::item(body, max_content_bytes)
}

/// Reads the body that inserts a batch of points.
pub fn points(body: &[u8], max_items: usize, max_content_bytes: usize) -> Result<Points, Refusal> {
    read::batch(body, max_content_bytes, max_items)
}

impl<'de> List<'de> for Points {
    const FIELD: &'static str = "vectors";

    /// The greatest length of a content.
    type Limits = usize;

    fn read<A: MapAccess<'de>>(
        &mut self,
        mut members: A,
        max_content_bytes: usize,
        way: Way,
    ) -> Result<Result<(), Wrong>, A::Error> {
        let start = self.vectors.len();
        let mut vector = Err(vector::missing());
        let mut payload = Payload::new(Found::Missing);
        while let Some(name) = next_name(&mut members)? {
            match &*name {
                b"vector" => {
                    self.vectors.truncate(start);
                    let mut container = Vector::new(&mut self.vectors, way);
                    let container = &mut container;
                    members.next_value_seed(Next { container, way })?;
                    vector = std::mem::replace(&mut container.outcome, Ok(()));
                }
                b"payload" => {
                    payload = Payload::new(Found::Object);
                    let container = &mut payload;
                    members.next_value_seed(Next { container, way })?;
                }
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        let (content_type, content) = match vector.and_then(|()| payload.check()) {
            Ok(parts) => parts,
            Err(wrong) => return Ok(Err(wrong)),
        };
        self.keep_content(content, max_content_bytes)?;
        append(&mut self.vector_ends, &[self.vectors.len() as u32])?;
        append(&mut self.content_types, &[content_type])?;
        append(&mut self.content_ends, &[self.contents.len() as u32])?;
        Ok(Ok(()))
    }
}

impl Points {
    /// Keeps the content that a text stands for, or notes why it is refused.
    pub fn keep_content<E: serde::de::Error>(
        &mut self,
        content: &str,
        max: usize,
    ) -> Result<(), E> {
        let content = decode(content).ok_or_else(|| E::custom("no memory for a content"))?;
        // Escapes may stand for half of a surrogate pair; what has none is a part of the text.
        let is_unicode = str::from_utf8(&content).is_ok();
        if is_unicode && content.len() <= max {
            return append(&mut self.contents, &content);
        }
        let item = self.content_types.len();
        self.content_fault.get_or_insert(ContentFault {
            item,
            bytes: is_unicode.then_some(content.len()),
        });
        Ok(())
    }
}

/// Reads the payload of a point.
struct Payload<'de> {
    /// What is in the place of an object, if it is none.
    found: Found,
    content_type: Option<&'de RawValue>,
    content: Option<&'de RawValue>,
}

impl<'de> Payload<'de> {
    fn new(found: Found) -> Payload<'de> {
        Payload {
            found,
            content_type: None,
            content: None,
        }
    }

    /// The number of the content type, and the text that stands for the content.
    fn check(self) -> Result<(u8, &'de str), Wrong> {
        if self.found != Found::Object {
            return Err(Wrong::new("payload", self.found, "an object"));
        }
        let content_type = content_type("payload.content_type", self.content_type)?;
        Ok((content_type, content("payload.content", self.content)?))
    }
}

impl<'de> Container<'de> for Payload<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = next_name(&mut members)? {
            match &*name {
                b"content_type" => self.content_type = Some(members.next_value()?),
                b"content" => self.content = Some(members.next_value()?),
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.found = found;
    }
}

/// The number of the content type that a field holds.
pub fn content_type(path: &str, raw: Option<&RawValue>) -> Result<u8, Wrong> {
    named(&CONTENT_TYPES, raw).ok_or_else(|| {
        let found = Found::of_field(raw);
        Wrong::new(path, found, "\"Image\" or \"Text\"")
    })
}

/// The text that stands for the content that a field holds.
pub fn content<'de>(path: &str, raw: Option<&'de RawValue>) -> Result<&'de str, Wrong> {
    let text = raw.map(RawValue::get);
    text.filter(|text| text.starts_with('"'))
        .ok_or_else(|| Wrong::new(path, Found::of_field(raw), "a string"))
}

/// The place of the name that a value is.
pub fn named(names: &[&str], raw: Option<&RawValue>) -> Option<u8> {
    let name = decode(raw?.get())?;
    let place = names.iter().position(|known| known.as_bytes() == &*name)?;
    u8::try_from(place).ok()
}
