//! Bodies that search.

use serde::de::{IgnoredAny, MapAccess};
use serde_json::value::RawValue;

use crate::{
    append::append,
    list::List,
    points::named,
    read,
    refusal::{Found, Refusal, Wrong},
    scalar::number,
    value::{Next, Way, next_name},
    vector::{self, Vector},
};

/// The names of the similarities, each at the place of its number.
const SIMILARITIES: [&str; 4] = ["Euclidean", "Manhattan", "Hamming", "Cosine"];

/// The parts of queries, one query after the other.
#[derive(Debug, Default, PartialEq)]
pub struct Queries {
    /// The values of all vectors.
    pub vectors: Vec<f32>,
    /// Where each vector ends in `vectors`.
    pub vector_ends: Vec<u32>,
    /// The number of each similarity.
    pub similarities: Vec<u8>,
    /// The greatest number of results of each: a whole number of any size.
    pub limits: Vec<f64>,
    /// The breadth of each: a whole number of any size, 0 if there is none.
    pub efs: Vec<f64>,
}

/// Reads the body of a search.
pub fn query(body: &[u8]) -> Result<Queries, Refusal> {
    read::item(body, ())
}

/// Reads the body of a batch search.
pub fn queries(body: &[u8], max_items: usize) -> Result<Queries, Refusal> {
    read::batch(body, (), max_items)
}

impl<'de> List<'de> for Queries {
    const FIELD: &'static str = "queries";

    type Limits = ();

    fn read<A: MapAccess<'de>>(
        &mut self,
        mut members: A,
        (): (),
        way: Way,
    ) -> Result<Result<(), Wrong>, A::Error> {
        let start = self.vectors.len();
        let mut vector = Err(vector::missing());
        let mut fields = Fields::default();
        while let Some(name) = next_name(&mut members)? {
            match &*name {
                b"vector" => {
                    self.vectors.truncate(start);
                    let mut container = Vector::new(&mut self.vectors, way);
                    let container = &mut container;
                    members.next_value_seed(Next { container, way })?;
                    vector = std::mem::replace(&mut container.outcome, Ok(()));
                }
                b"similarity" => fields.similarity = Some(members.next_value()?),
                b"limit" => fields.limit = Some(members.next_value()?),
                b"ef" => fields.ef = Some(members.next_value()?),
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        let (similarity, limit, ef) = match vector.and_then(|()| fields.check()) {
            Ok(parts) => parts,
            Err(wrong) => return Ok(Err(wrong)),
        };
        append(&mut self.vector_ends, &[self.vectors.len() as u32])?;
        append(&mut self.similarities, &[similarity])?;
        append(&mut self.limits, &[limit])?;
        append(&mut self.efs, &[ef])?;
        Ok(Ok(()))
    }
}

/// The fields of a query besides its vector.
#[derive(Default)]
struct Fields<'de> {
    similarity: Option<&'de RawValue>,
    limit: Option<&'de RawValue>,
    ef: Option<&'de RawValue>,
}

impl Fields<'_> {
    fn check(self) -> Result<(u8, f64, f64), Wrong> {
        let similarity = similarity(self.similarity)?;
        let limit = count("limit", self.limit)?;
        let ef = match self.ef {
            None => 0.0,
            given => count("ef", given)?,
        };
        Ok((similarity, limit, ef))
    }
}

/// The number of a similarity.
pub fn similarity(raw: Option<&RawValue>) -> Result<u8, Wrong> {
    named(&SIMILARITIES, raw).ok_or_else(|| {
        let expected = "\"Euclidean\" or \"Manhattan\" or \"Hamming\" or \"Cosine\"";
        Wrong::new("similarity", Found::of_field(raw), expected)
    })
}

/// A whole number from 0 on; one too great for a double to hold exactly is still a number.
pub fn count(path: &str, raw: Option<&RawValue>) -> Result<f64, Wrong> {
    let value = raw.and_then(number);
    value
        .filter(|value| value.is_finite() && value.fract() == 0.0 && *value >= 0.0)
        .ok_or_else(|| {
            let found = Found::of_field(raw);
            Wrong::new(path, found, "a whole number, not negative")
        })
}
