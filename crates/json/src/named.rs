//! Fields that are known by their names, in objects where no other may be.

use serde::de::{IgnoredAny, MapAccess};
use serde_json::value::RawValue;

use crate::refusal::{Found, Wrong};

/// The fields of an object, each at the place of its name. The first that is unknown or given twice
/// is what is wrong with the object.
pub struct Named<'de, const N: usize> {
    names: &'static [&'static str; N],
    expected: &'static str,
    values: [Option<&'de RawValue>; N],
    wrong: Option<Wrong>,
}

impl<'de, const N: usize> Named<'de, N> {
    /// No field yet. `expected` lists all that the object may have.
    pub fn new(names: &'static [&'static str; N], expected: &'static str) -> Named<'de, N> {
        Named {
            names,
            expected,
            values: [None; N],
            wrong: None,
        }
    }

    /// Takes the value of the field of this name.
    pub fn take<A: MapAccess<'de>>(
        &mut self,
        name: &[u8],
        members: &mut A,
    ) -> Result<(), A::Error> {
        let known = self.names.iter().position(|known| known.as_bytes() == name);
        let Some(at) = known else {
            self.refuse(Wrong::unknown(name, self.expected));
            return members.next_value::<IgnoredAny>().map(drop);
        };
        if self.values[at].replace(members.next_value()?).is_some() {
            self.refuse(twice(self.names[at]));
        }
        Ok(())
    }

    /// Whether one of the first `count` fields is given, and not null.
    pub fn has_any_of_first(&self, count: usize) -> bool {
        let mut given = self.values[..count].iter().flatten();
        given.any(|raw| raw.get() != "null")
    }

    /// Whether the field of this name is null.
    pub fn is_null(&self, name: &str) -> bool {
        let at = self.names.iter().position(|known| *known == name);
        let value = at.and_then(|at| self.values[at]);
        value.is_some_and(|raw| raw.get() == "null")
    }

    /// Notes what is wrong, unless something was before.
    pub fn refuse(&mut self, wrong: Wrong) {
        self.wrong.get_or_insert(wrong);
    }

    /// The values, None for those that are missing or null; or what is wrong with the object.
    pub fn check(self) -> Result<[Option<&'de RawValue>; N], Wrong> {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None => Ok(self
                .values
                .map(|value| value.filter(|raw| raw.get() != "null"))),
        }
    }
}

/// What is wrong with a field that is given once more.
pub fn twice(name: &str) -> Wrong {
    Wrong::new(name, Found::Twice, "it once")
}

/// The boolean that a field holds; false where there is none.
pub fn flag(name: &str, raw: Option<&RawValue>) -> Result<bool, Wrong> {
    match raw.map(RawValue::get) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Wrong::new(name, Found::of_field(raw), "true or false")),
    }
}

/// What the field `collection` may hold.
pub const EXPECTED_COLLECTION: &str = "\"default\", or no collection: there is one, in which a key of \
    metadata tells points apart";

/// Checks the field `collection`: there is one collection.
pub fn check_collection(raw: Option<&RawValue>) -> Result<(), Wrong> {
    match raw.map(Found::of) {
        None => Ok(()),
        Some(Found::Text(name)) if name == "default" => Ok(()),
        Some(found) => Err(Wrong::new("collection", found, EXPECTED_COLLECTION)),
    }
}
