//! Reading a whole body.

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess};

use crate::{
    batch::Batch,
    list::List,
    refusal::{Found, Refusal, Wrong},
    value::{Container, Next, Way},
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

/// Reads a body that is a batch of items.
pub fn batch<'de, L: List<'de>>(
    body: &'de [u8],
    limits: L::Limits,
    max_items: usize,
) -> Result<L, Refusal> {
    read(body, |text, way| {
        let mut batch = Batch::<L, _>::new(limits, max_items, way);
        walk(text, &mut batch, way)?;
        Ok(batch.finish())
    })
}

/// Reads an object that is an item.
pub struct Item<'l, L, S> {
    list: &'l mut L,
    limits: S,
    way: Way,
    pub outcome: Result<(), Wrong>,
}

impl<'l, L, S> Item<'l, L, S> {
    pub fn new(list: &'l mut L, limits: S, way: Way) -> Item<'l, L, S> {
        Item {
            list,
            limits,
            way,
            outcome: Ok(()),
        }
    }
}

impl<'de, L: List<'de>> Container<'de> for Item<'_, L, L::Limits> {
    fn object<A: MapAccess<'de>>(&mut self, members: A) -> Result<(), A::Error> {
        self.outcome = self.list.read(members, self.limits, self.way)?;
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.outcome = Err(Wrong::new("", found, "an object"));
    }
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
    checked.map_err(|error| Refusal::Broken(error.to_string()))?;
    // It is JSON, so that nothing fails but an allocation.
    attempt(text, Way::Careful).unwrap_or(Err(Refusal::NoMemory))
}

/// Hands all of the text to a container.
fn walk<'de>(
    text: &'de str,
    container: &mut impl Container<'de>,
    way: Way,
) -> serde_json::Result<()> {
    let mut parser = serde_json::Deserializer::from_str(text);
    Next { container, way }.deserialize(&mut parser)?;
    parser.end()
}
