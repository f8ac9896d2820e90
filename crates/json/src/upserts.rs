//! Bodies that upsert points.

use serde::de::MapAccess;
use serde_json::value::RawValue;

use crate::{
    any_vector::{self, read_vector},
    append::append,
    fields::Fields,
    list::List,
    metadata::metadata,
    named::{Named, check_collection, flag, twice},
    point_id::point_id,
    points::{Points, TEXT, content, content_type},
    read,
    refusal::{Refusal, Wrong},
    value::{Way, next_name},
};

/// Points that are stored under ids of the client's choice.
#[derive(Debug, Default, PartialEq)]
pub struct Upserts {
    /// Their vectors and contents.
    pub points: Points,
    /// The 16 bytes of each id; zeros where there is none.
    pub ids: Vec<u8>,
    /// The metadata of all points in JSON; nothing of those that have none.
    pub metadata: Vec<u8>,
    /// Where the metadata of each point end in `metadata`.
    pub metadata_ends: Vec<u32>,
}

/// Reads a body that upserts points: the points, and whether it stores only those that are not there.
pub fn upserts(
    body: &[u8],
    max_items: usize,
    max_content_bytes: usize,
) -> Result<(Upserts, bool), Refusal> {
    read::items_and_fields::<Upserts, UpsertFields>(body, max_content_bytes, max_items)
}

/// The fields of the body besides the points.
struct UpsertFields<'de>(Named<'de, 2>);

impl Default for UpsertFields<'_> {
    fn default() -> Self {
        let names = &["if_absent", "collection"];
        UpsertFields(Named::new(names, "only points, if_absent and collection"))
    }
}

impl<'de> Fields<'de> for UpsertFields<'de> {
    type Checked = bool;

    fn take<A: MapAccess<'de>>(
        &mut self,
        name: &[u8],
        members: &mut A,
        _way: Way,
    ) -> Result<(), A::Error> {
        self.0.take(name, members)
    }

    fn list_again(&mut self, name: &str) {
        self.0.refuse(twice(name));
    }

    fn check(self) -> Result<bool, Wrong> {
        let [if_absent, collection] = self.0.check()?;
        check_collection(collection)?;
        flag("if_absent", if_absent)
    }
}

impl<'de> List<'de> for Upserts {
    const FIELD: &'static str = "points";

    /// The greatest length of a content.
    type Limits = usize;

    fn read<A: MapAccess<'de>>(
        &mut self,
        mut members: A,
        max_content_bytes: usize,
        way: Way,
    ) -> Result<Result<(), Wrong>, A::Error> {
        let points = &mut self.points;
        let mut vector = None;
        let names = &["id", "content", "content_type", "metadata"];
        let expected = "only id, vector, content, content_type and metadata";
        let mut fields = Named::new(names, expected);
        while let Some(name) = next_name(&mut members)? {
            if &*name == b"vector" {
                let values = &mut points.vectors;
                read_vector(values, &mut vector, &mut fields, &mut members, way)?;
            } else {
                fields.take(&name, &mut members)?;
            }
        }
        let vector = vector.unwrap_or_else(|| Err(any_vector::missing()));
        let checked = fields.check().and_then(|fields| vector.map(|()| fields));
        let checked = checked.and_then(|[id, content, content_type, given]| {
            let id = id.map_or(Ok([0; 16]), |raw| point_id("id", raw))?;
            let content = content_of(content)?;
            let content_type = content_type_of(content_type)?;
            given.map_or(Ok(()), |raw| metadata(raw, &mut self.metadata))?;
            Ok((id, content, content_type))
        });
        let (id, content, content_type) = match checked {
            Ok(parts) => parts,
            Err(wrong) => return Ok(Err(wrong)),
        };
        points.keep_content(content, max_content_bytes)?;
        append(&mut points.vector_ends, &[points.vectors.len() as u32])?;
        append(&mut points.content_types, &[content_type])?;
        append(&mut points.content_ends, &[points.contents.len() as u32])?;
        append(&mut self.ids, &id)?;
        append(&mut self.metadata_ends, &[self.metadata.len() as u32])?;
        Ok(Ok(()))
    }
}

/// The text that stands for a content; the empty one where there is none.
pub fn content_of(raw: Option<&RawValue>) -> Result<&str, Wrong> {
    raw.map_or(Ok("\"\""), |_| content("content", raw))
}

/// The number of a content type; that of text where there is none.
pub fn content_type_of(raw: Option<&RawValue>) -> Result<u8, Wrong> {
    raw.map_or(Ok(TEXT), |_| content_type("content_type", raw))
}
