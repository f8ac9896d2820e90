//! A vector: an array of numbers.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{
    append::append,
    refusal::{Found, Wrong},
    scalar::number,
    value::{Container, Way, skip_items},
};

/// Reads a vector to the end of a list.
pub struct Vector<'v> {
    pub values: &'v mut Vec<f32>,
    way: Way,
    pub outcome: Result<(), Wrong>,
}

impl<'v> Vector<'v> {
    pub fn new(values: &'v mut Vec<f32>, way: Way) -> Vector<'v> {
        Vector {
            values,
            way,
            outcome: Ok(()),
        }
    }

    /// Each number from its text: to a double, and from that to the nearest float.
    fn read_texts<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        let start = self.values.len();
        while let Some(raw) = items.next_element::<&RawValue>()? {
            let value = number(raw).map(|double| double as f32);
            if let Some(value) = value
                && value.is_finite()
            {
                append(self.values, &[value])?;
                continue;
            }
            let path = format!("vector[{}]", self.values.len() - start);
            let expected = match value {
                Some(_) => "a number within ±3.4028235e38",
                None => "a number",
            };
            self.outcome = Err(Wrong::new(&path, Found::of(raw), expected));
            return skip_items(items);
        }
        Ok(())
    }
}

/// A vector that is not there.
pub fn missing() -> Wrong {
    Wrong::new("vector", Found::Missing, "an array of numbers")
}

impl<'de> Container<'de> for Vector<'_> {
    fn array<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        if self.way == Way::Careful {
            return self.read_texts(items);
        }
        let mut is_certain = true;
        let values = &mut *self.values;
        loop {
            let next = Double {
                values: &mut *values,
                is_certain: &mut is_certain,
            };
            if items.next_element_seed(next)?.is_none() {
                break;
            }
        }
        if is_certain {
            return Ok(());
        }
        Err(A::Error::custom("which float is the nearest is uncertain"))
    }

    fn other(&mut self, found: Found) {
        self.outcome = Err(Wrong::new("vector", found, "an array of numbers"));
    }
}

/// Whether the float next to the parser's double is the one next to the number: the double may be
/// wrong in its last bits, which matters about halfway between two floats. What this cannot tell is
/// left to the careful way.
fn has_nearest(double: f64) -> bool {
    let size = double.abs();
    let dropped = double.to_bits() & (HALFWAY * 2 - 1);
    let is_apart = dropped.abs_diff(HALFWAY) > MAX_WRONG;
    let is_normal = size >= f64::from(f32::MIN_POSITIVE) && size < f64::from(f32::MAX);
    (is_apart && is_normal) || size == 0.0
}

/// The bits that a double has and a float has not, when it is halfway between two floats.
const HALFWAY: u64 = 1 << 28;

/// By how much the parser's double may be wrong, in units of its last bit: more than the digits, the
/// power of ten and their product can be together.
const MAX_WRONG: u64 = 16;

/// Appends a number by the parser's double.
struct Double<'v> {
    values: &'v mut Vec<f32>,
    is_certain: &'v mut bool,
}

impl Double<'_> {
    #[inline]
    fn push<E: Error>(self, double: f64) -> Result<(), E> {
        *self.is_certain &= has_nearest(double);
        append(self.values, &[double as f32])
    }
}

impl<'de> DeserializeSeed<'de> for Double<'_> {
    type Value = ();
    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_f64(self)
    }
}

impl Visitor<'_> for Double<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a number")
    }

    #[inline]
    fn visit_f64<E: Error>(self, double: f64) -> Result<(), E> {
        self.push(double)
    }

    #[inline]
    fn visit_u64<E: Error>(self, integer: u64) -> Result<(), E> {
        self.push(integer as f64)
    }

    #[inline]
    fn visit_i64<E: Error>(self, integer: i64) -> Result<(), E> {
        self.push(integer as f64)
    }
}
