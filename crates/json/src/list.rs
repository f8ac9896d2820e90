//! What items of a body are gathered in.

use serde::de::MapAccess;

use crate::{refusal::Wrong, value::Way};

/// Items of one kind, each part of them in an array of its own.
pub trait List<'de>: Default {
    /// The name of the field that holds the items of a batch.
    const FIELD: &'static str;

    /// The limits that an item is read with.
    type Limits: Copy;

    /// Reads the object that is an item to the end of the list, or tells what is wrong with it.
    fn read<A: MapAccess<'de>>(
        &mut self,
        members: A,
        limits: Self::Limits,
        way: Way,
    ) -> Result<Result<(), Wrong>, A::Error>;
}
