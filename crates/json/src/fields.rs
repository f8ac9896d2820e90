//! The fields of a body other than its list of items.

use serde::de::{IgnoredAny, MapAccess};

use crate::{
    named::{Named, check_collection, twice},
    refusal::Wrong,
    value::Way,
};

/// Fields of a body.
pub trait Fields<'de>: Default {
    /// What the fields say.
    type Checked;

    /// Takes the value of a field that has this name.
    fn take<A: MapAccess<'de>>(
        &mut self,
        name: &[u8],
        members: &mut A,
        way: Way,
    ) -> Result<(), A::Error>;

    /// Hears that the list of this name is given once more.
    fn list_again(&mut self, name: &str);

    /// What the fields say, or what is wrong with them.
    fn check(self) -> Result<Self::Checked, Wrong>;
}

/// Fields that say nothing.
#[derive(Default)]
pub struct Ignored;

impl<'de> Fields<'de> for Ignored {
    type Checked = ();

    fn take<A: MapAccess<'de>>(
        &mut self,
        _name: &[u8],
        members: &mut A,
        _way: Way,
    ) -> Result<(), A::Error> {
        members.next_value::<IgnoredAny>().map(drop)
    }

    /// The last one counts.
    fn list_again(&mut self, _name: &str) {}

    fn check(self) -> Result<(), Wrong> {
        Ok(())
    }
}

/// No field but the collection.
pub struct CollectionAlone<'de>(Named<'de, 1>);

impl Default for CollectionAlone<'_> {
    fn default() -> Self {
        CollectionAlone(Named::new(&["collection"], "only points and collection"))
    }
}

impl<'de> Fields<'de> for CollectionAlone<'de> {
    type Checked = ();

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

    fn check(self) -> Result<(), Wrong> {
        let [collection] = self.0.check()?;
        check_collection(collection)
    }
}
