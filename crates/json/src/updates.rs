//! Bodies that change the payloads of points.

use serde::de::MapAccess;

use crate::{
    append::append,
    fields::CollectionAlone,
    list::List,
    metadata::metadata,
    named::Named,
    point_id::point_id,
    points::Points,
    read,
    refusal::{Found, Refusal, Wrong},
    upserts::{content_of, content_type_of},
    value::{Way, next_name},
};

/// The parts of its payload that an update gives a point, as bits.
pub mod given {
    /// The content type.
    pub const CONTENT_TYPE: u8 = 1;
    /// The content.
    pub const CONTENT: u8 = 2;
    /// The metadata.
    pub const METADATA: u8 = 4;
}

/// New payloads of points.
#[derive(Debug, Default, PartialEq)]
pub struct Updates {
    /// Their contents; there are no vectors.
    pub points: Points,
    /// The 16 bytes of each id.
    pub ids: Vec<u8>,
    /// What each point is given: the sum of 1 for the content type, 2 for the content and 4 for the
    /// metadata. What it is not given is empty.
    pub given: Vec<u8>,
    /// The metadata of all points in JSON; nothing of those whose metadata are cleared.
    pub metadata: Vec<u8>,
    /// Where the metadata of each point end in `metadata`.
    pub metadata_ends: Vec<u32>,
}

/// Reads a body that changes payloads.
pub fn updates(
    body: &[u8],
    max_items: usize,
    max_content_bytes: usize,
) -> Result<Updates, Refusal> {
    let read =
        read::items_and_fields::<Updates, CollectionAlone>(body, max_content_bytes, max_items);
    read.map(|(list, ())| list)
}

impl<'de> List<'de> for Updates {
    const FIELD: &'static str = "points";

    /// The greatest length of a content.
    type Limits = usize;

    fn read<A: MapAccess<'de>>(
        &mut self,
        mut members: A,
        max_content_bytes: usize,
        _way: Way,
    ) -> Result<Result<(), Wrong>, A::Error> {
        let names = &["id", "content", "content_type", "metadata"];
        let mut fields = Named::new(names, "only id, content, content_type and metadata");
        while let Some(name) = next_name(&mut members)? {
            fields.take(&name, &mut members)?;
        }
        let clears = fields.is_null("metadata");
        let checked = fields
            .check()
            .and_then(|[id, content, content_type, replacement]| {
                let id = id.ok_or_else(|| Wrong::new("id", Found::Missing, "the id of a point"));
                let id = point_id("id", id?)?;
                let bit = |bit, is_given| if is_given { bit } else { 0 };
                let bits = bit(given::CONTENT_TYPE, content_type.is_some())
                    + bit(given::CONTENT, content.is_some())
                    + bit(given::METADATA, replacement.is_some() || clears);
                replacement.map_or(Ok(()), |raw| metadata(raw, &mut self.metadata))?;
                Ok((
                    id,
                    bits,
                    content_of(content)?,
                    content_type_of(content_type)?,
                ))
            });
        let (id, bits, content, content_type) = match checked {
            Ok(parts) => parts,
            Err(wrong) => return Ok(Err(wrong)),
        };
        self.points.keep_content(content, max_content_bytes)?;
        append(&mut self.points.content_types, &[content_type])?;
        append(
            &mut self.points.content_ends,
            &[self.points.contents.len() as u32],
        )?;
        append(&mut self.ids, &id)?;
        append(&mut self.given, &[bits])?;
        append(&mut self.metadata_ends, &[self.metadata.len() as u32])?;
        Ok(Ok(()))
    }
}
