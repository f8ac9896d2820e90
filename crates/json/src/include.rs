//! What an answer holds besides ids.

use serde::de::SeqAccess;
use serde_json::value::RawValue;

use crate::{
    points::named,
    refusal::{Found, Wrong},
    value::{Container, Way, skip_items, walk},
};

/// The names of the parts, each at the place of its bit.
const PARTS: [&str; 5] = ["vector", "content_type", "content", "metadata", "distance"];
const WITH_DISTANCE: &str =
    "an array of \"vector\", \"content_type\", \"content\", \"metadata\" and \"distance\"";
const WITHOUT: &str = "an array of \"vector\", \"content_type\", \"content\" and \"metadata\"";
const PART: &str = "\"vector\", \"content_type\", \"content\", \"metadata\" or \"distance\"";
const PAYLOAD_PART: &str = "\"vector\", \"content_type\", \"content\" or \"metadata\"";

/// What a search answers unless it is told what to.
pub const DISTANCE: u8 = 16;

/// What other reads answer: content types, contents and metadata.
pub const PAYLOAD: u8 = 2 + 4 + 8;

/// The number of parts, including the distance, which only searches answer.
pub const ALL_PARTS: usize = PARTS.len();

/// The bits of the parts that a field names, which are among the first `count`; `default` where
/// there is none.
pub fn include(raw: Option<&RawValue>, default: u8, count: usize) -> Result<u8, Wrong> {
    let Some(raw) = raw else { return Ok(default) };
    let mut include = Include {
        bits: 0,
        names: &PARTS[..count],
        outcome: Ok(()),
    };
    // It is JSON, and takes no memory.
    drop(walk(raw.get(), &mut include, Way::Careful));
    include.outcome.map(|()| include.bits)
}

struct Include {
    bits: u8,
    names: &'static [&'static str],
    outcome: Result<(), Wrong>,
}

impl Include {
    /// `expected` says what a search may have, and what other reads may.
    fn refuse(&mut self, path: &str, found: Found, expected: [&'static str; 2]) {
        let [with_distance, without] = expected;
        let expected = if self.names.len() == ALL_PARTS {
            with_distance
        } else {
            without
        };
        self.outcome = Err(Wrong::new(path, found, expected));
    }
}

impl<'de> Container<'de> for Include {
    fn array<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        let mut at = 0;
        while let Some(raw) = items.next_element::<&RawValue>()? {
            let Some(place) = named(self.names, Some(raw)) else {
                self.refuse(
                    &format!("include[{at}]"),
                    Found::of(raw),
                    [PART, PAYLOAD_PART],
                );
                return skip_items(items);
            };
            self.bits |= 1 << place;
            at += 1;
        }
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.refuse("include", found, [WITH_DISTANCE, WITHOUT]);
    }
}
