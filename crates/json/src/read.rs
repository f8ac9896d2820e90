//! Reading a whole body.

use serde::de::IgnoredAny;

use crate::{
    batch::Batch,
    fields::{Fields, Ignored},
    item::Item,
    list::List,
    refusal::Refusal,
    value::{Container, Way, walk},
};

/// Reads a body that is one item.
pub fn item<'de, L: List<'de>>(body: &'de [u8], limits: L::Limits) -> Result<L, Refusal> {
    read(body, |text, way| {
        let mut list = L::default();
        let mut item = Item::new(&mut list, limits, way);
        walk(text, &mut item, way)?;
        let outcome = item.outcome;
        Ok(outcome.map(|()| list).map_err(Refusal::Wrong))
    })
}

/// Reads a body that is a batch of items, and nothing else that matters.
pub fn batch<'de, L: List<'de>>(
    body: &'de [u8],
    limits: L::Limits,
    max_items: usize,
) -> Result<L, Refusal> {
    items_and_fields::<L, Ignored>(body, limits, max_items).map(|(list, ())| list)
}

/// Reads a body that is a batch of items and some other fields.
pub fn items_and_fields<'de, L: List<'de>, F: Fields<'de>>(
    body: &'de [u8],
    limits: L::Limits,
    max_items: usize,
) -> Result<(L, F::Checked), Refusal> {
    body_of(body, limits, max_items, Batch::<L, _, F>::finish)
}

/// Reads a body that may be a batch; `finish` makes of it what is answered.
pub fn body_of<'de, L: List<'de>, F: Fields<'de>, T>(
    body: &'de [u8],
    limits: L::Limits,
    max_items: usize,
    finish: impl Fn(Batch<L, L::Limits, F>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    read(body, |text, way| {
        let mut batch = Batch::<L, _, F>::new(limits, max_items, way);
        walk(text, &mut batch, way)?;
        Ok(finish(batch))
    })
}

/// Reads a body by a container that `start` makes.
pub fn container<'de, C: Container<'de>, T>(
    body: &'de [u8],
    start: impl Fn(Way) -> C,
    finish: impl Fn(C) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    read(body, |text, way| {
        let mut container = start(way);
        walk(text, &mut container, way)?;
        Ok(finish(container))
    })
}

/// What the parser says of a text that is not JSON, or what it does not see.
fn fault(text: &str, error: &serde_json::Error) -> String {
    if text.starts_with('\u{feff}') {
        return "it begins with a byte order mark (U+FEFF), expected none".to_owned();
    }
    error.to_string()
}

fn read<'de, L>(
    body: &'de [u8],
    attempt: impl Fn(&'de str, Way) -> serde_json::Result<Result<L, Refusal>>,
) -> Result<L, Refusal> {
    if body.is_empty() {
        return Err(Refusal::Empty);
    }
    let text = str::from_utf8(body).map_err(|_| Refusal::NotUtf8)?;
    if let Ok(outcome) = attempt(text, Way::Quick) {
        return outcome;
    }
    let checked = serde_json::from_str::<IgnoredAny>(text);
    checked.map_err(|error| Refusal::Broken(fault(text, &error)))?;
    // It is JSON, so that nothing fails but an allocation.
    attempt(text, Way::Careful).unwrap_or(Err(Refusal::NoMemory))
}
