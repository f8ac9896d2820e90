//! A batch: an object with a field that holds the items.

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use crate::{
    list::List,
    read::Item,
    refusal::{Found, Refusal, Wrong},
    value::{Container, Next, Way, next_name},
};

/// Reads the body of a batch.
pub struct Batch<L, S> {
    pub list: L,
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

impl<'de, L: List<'de>> Batch<L, L::Limits> {
    pub fn new(limits: L::Limits, max_items: usize, way: Way) -> Batch<L, L::Limits> {
        let outcome = Err(unexpected(L::FIELD, Found::Missing));
        Batch {
            list: L::default(),
            limits,
            max_items,
            way,
            outcome,
        }
    }

    pub fn finish(self) -> Result<L, Refusal> {
        let Count { items, wrong } = self.outcome.map_err(Refusal::Wrong)?;
        if items > self.max_items {
            return Err(Refusal::TooMany {
                field: L::FIELD,
                count: items,
            });
        }
        wrong.map_or(Ok(self.list), |wrong| Err(Refusal::Wrong(wrong)))
    }
}

fn unexpected(field: &str, found: Found) -> Wrong {
    Wrong::new(field, found, "an array of objects")
}

impl<'de, L: List<'de>> Container<'de> for Batch<L, L::Limits> {
    fn object<A: MapAccess<'de>>(&mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = next_name(&mut members)? {
            if *name == *L::FIELD.as_bytes() {
                let way = self.way;
                members.next_value_seed(Next {
                    container: &mut Items(self),
                    way,
                })?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn other(&mut self, found: Found) {
        self.outcome = Err(Wrong::new("", found, "an object"));
    }
}

/// Reads the items of a batch.
struct Items<'b, L, S>(&'b mut Batch<L, S>);

impl<'de, L: List<'de>> Container<'de> for Items<'_, L, L::Limits> {
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
