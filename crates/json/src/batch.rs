//! A batch: an object with a field that holds the items.

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use crate::{
    fields::Fields,
    item::Item,
    list::List,
    refusal::{Found, Refusal, Wrong},
    value::{Container, Next, Way, next_name},
};

/// Reads the body of a batch.
pub struct Batch<L, S, F> {
    pub list: L,
    /// The other fields of the body.
    pub fields: F,
    limits: S,
    max_items: usize,
    way: Way,
    /// The items of the last field of the name, or what is there in their place.
    outcome: Result<Count, Wrong>,
}

/// The items of a batch, and what is wrong with the first that is not as it should be.
struct Count {
    items: usize,
    wrong: Option<Wrong>,
}

impl<'de, L: List<'de>, F: Fields<'de>> Batch<L, L::Limits, F> {
    pub fn new(limits: L::Limits, max_items: usize, way: Way) -> Self {
        let outcome = Err(unexpected(L::FIELD, Found::Missing));
        Batch {
            list: L::default(),
            fields: F::default(),
            limits,
            max_items,
            way,
            outcome,
        }
    }

    /// Whether the field that holds the items is there.
    pub fn has_items(&self) -> bool {
        let found = self.outcome.as_ref().err().map(|wrong| &wrong.found);
        found != Some(&Found::Missing)
    }

    /// Whether it holds something else than null.
    pub fn is_given(&self) -> bool {
        let found = self.outcome.as_ref().err().map(|wrong| &wrong.found);
        !matches!(found, Some(Found::Missing | Found::Null))
    }

    /// The items and the other fields.
    pub fn finish(self) -> Result<(L, F::Checked), Refusal> {
        let fields = self.fields.check().map_err(Refusal::Wrong)?;
        let Count { items, wrong } = self.outcome.map_err(Refusal::Wrong)?;
        if items > self.max_items {
            return Err(Refusal::TooMany {
                field: L::FIELD,
                count: items,
            });
        }
        let whole = (self.list, fields);
        wrong.map_or(Ok(whole), |wrong| Err(Refusal::Wrong(wrong)))
    }
}

fn unexpected(field: &str, found: Found) -> Wrong {
    Wrong::new(field, found, "an array of objects")
}

impl<'de, L: List<'de>, F: Fields<'de>> Container<'de> for Batch<L, L::Limits, F> {
    fn object<A: MapAccess<'de>>(&mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = next_name(&mut members)? {
            if *name == *L::FIELD.as_bytes() {
                if self.has_items() {
                    self.fields.list_again(L::FIELD);
                }
                let way = self.way;
                members.next_value_seed(Next {
                    container: &mut Items(self),
                    way,
                })?;
            } else {
                self.fields.take(&name, &mut members, self.way)?;
            }
        }
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.outcome = Err(Wrong::new("", found, "an object"));
    }
}

/// Reads the items of a batch.
struct Items<'b, L, S, F>(&'b mut Batch<L, S, F>);

impl<'de, L: List<'de>, F> Container<'de> for Items<'_, L, L::Limits, F> {
    fn array<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        let batch = &mut *self.0;
        batch.list = L::default();
        let mut count = Count {
            items: 0,
            wrong: None,
        };
        // What is refused is counted, and takes no memory.
        while count.items < batch.max_items && count.wrong.is_none() {
            let mut item = Item::new(&mut batch.list, batch.limits, batch.way);
            let next = Next {
                container: &mut item,
                way: batch.way,
            };
            if items.next_element_seed(next)?.is_none() {
                break;
            }
            let path = || format!("{}[{}]", L::FIELD, count.items);
            count.wrong = item.outcome.err().map(|wrong| wrong.within(&path()));
            count.items += 1;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            count.items += 1;
        }
        if count.items > batch.max_items || count.wrong.is_some() {
            batch.list = L::default();
        }
        batch.outcome = Ok(count);
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.0.outcome = Err(unexpected(L::FIELD, found));
    }
}
