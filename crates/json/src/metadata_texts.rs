//! Metadata that come as texts of their own, outside of a body of JSON.

use serde_json::value::RawValue;

use crate::{
    metadata::metadata,
    refusal::{Found, Wrong},
};

/// Metadata of many points, those of one behind those of the other.
#[derive(Debug, Default, PartialEq)]
pub struct MetadataList {
    /// Without spaces between their parts; nothing of points that have none.
    pub metadata: Vec<u8>,
    /// Where the metadata of each point end in `metadata`.
    pub ends: Vec<u32>,
}

/// Reads metadata of which `ends` says where each text ends; an empty text is none.
///
/// # Errors
/// What is wrong with the first that is not as it should be; its path is `points[0].metadata`, or a
/// place in it.
pub fn metadata_texts(texts: &str, ends: &[u32]) -> Result<MetadataList, Wrong> {
    let mut list = MetadataList::default();
    let mut start = 0;
    for (at, &end) in ends.iter().enumerate() {
        let end = end as usize;
        let text = texts.get(start..end).unwrap_or_default();
        read(text, &mut list.metadata).map_err(|wrong| wrong.within(&format!("points[{at}]")))?;
        list.ends.push(list.metadata.len() as u32);
        start = end;
    }
    Ok(list)
}

fn read(text: &str, list: &mut Vec<u8>) -> Result<(), Wrong> {
    if text.is_empty() {
        return Ok(());
    }
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else {
        let found = Found::text(text.as_bytes());
        return Err(Wrong::new("metadata", found, "an object in JSON"));
    };
    metadata(raw, list)
}
