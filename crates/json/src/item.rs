//! An item: a whole body, or one of a batch.

use serde::de::MapAccess;

use crate::{
    list::List,
    refusal::{Found, Wrong},
    value::{Container, Way},
};

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
