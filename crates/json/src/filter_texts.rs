//! Filters that come as texts of their own: those of messages, and those that have been checked.

use serde_json::value::RawValue;
use vectord_filter::Expression;

use crate::{
    filter::{Use, filter_of_message},
    refusal::{Found, Wrong},
};

/// Checks the filters of queries. `ends` says where each text ends; an empty text is none.
///
/// # Errors
/// What is wrong with the first that is not as it should be; its path begins with `queries[0]`.
pub fn check_filters(texts: &str, ends: &[u32]) -> Result<(), Wrong> {
    let mut start = 0;
    for (at, &end) in ends.iter().enumerate() {
        let end = end as usize;
        let text = texts.get(start..end).unwrap_or_default();
        if !text.is_empty() {
            filter_of(text).map_err(|wrong| wrong.within(&format!("queries[{at}]")))?;
        }
        start = end;
    }
    Ok(())
}

/// Checks a filter that says which points are deleted: neither it nor one within it may be empty.
pub fn check_filter_of_delete(text: &str) -> Result<(), Wrong> {
    filter_for(Use::Deletes, text).map(drop)
}

/// The filter that a text stands for.
pub fn filter_of(text: &str) -> Result<Expression, Wrong> {
    filter_for(Use::Finds, text)
}

fn filter_for(wanted: Use, text: &str) -> Result<Expression, Wrong> {
    let no_json = |_| Wrong::new("filter", Found::text(text.as_bytes()), "an object in JSON");
    let raw: &RawValue = serde_json::from_str(text).map_err(no_json)?;
    filter_of_message(raw, wanted)
}
