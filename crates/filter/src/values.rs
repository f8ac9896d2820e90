//! The values that metadata hold and that conditions name.

use std::{borrow::Cow, cmp::Ordering, collections::HashSet};

/// A scalar value of metadata. Values of different types are never equal, and none is greater.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'v> {
    /// A string. Strings are ordered by the code points of their characters.
    Text(Cow<'v, str>),
    /// A finite number.
    Number(f64),
    /// `true` or `false`.
    Bool(bool),
}

impl Value<'_> {
    /// The order of two values of one type; booleans have none.
    #[must_use]
    pub fn order(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            // The order of UTF-8 is that of code points.
            (Value::Text(text), Value::Text(other)) => Some(text.cmp(other)),
            (Value::Number(number), Value::Number(other)) => number.partial_cmp(other),
            _ => None,
        }
    }

    /// An order of all values, in which those of one type lie together.
    #[must_use]
    pub(crate) fn total_order(&self, other: &Value) -> Ordering {
        let order = match (self, other) {
            (Value::Bool(bool), Value::Bool(other)) => Some(bool.cmp(other)),
            _ => self.order(other),
        };
        self.type_order(other)
            .then(order.unwrap_or(Ordering::Equal))
    }

    /// The order of the types of two values.
    #[must_use]
    pub(crate) fn type_order(&self, other: &Value) -> Ordering {
        let number = |value: &Value| match value {
            Value::Bool(_) => 0,
            Value::Number(_) => 1,
            Value::Text(_) => 2,
        };
        number(self).cmp(&number(other))
    }
}

/// A set of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    texts: HashSet<Box<str>>,
    /// The bits of the numbers, of which -0 is 0.
    numbers: HashSet<u64>,
    /// Whether `false` and `true` are in it.
    bools: [bool; 2],
}

impl Values {
    /// Adds a value.
    pub fn add(&mut self, value: Value) {
        match value {
            Value::Text(text) => {
                self.texts.insert(text.into());
            }
            Value::Number(number) => {
                self.numbers.insert(bits(number));
            }
            Value::Bool(bool) => self.bools[usize::from(bool)] = true,
        }
    }

    /// The number of values in it.
    pub(crate) fn len(&self) -> usize {
        let bools = self.bools.iter().filter(|is_in| **is_in).count();
        self.texts.len() + self.numbers.len() + bools
    }

    /// The texts in it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }

    /// The numbers and booleans in it.
    pub(crate) fn others(&self) -> impl Iterator<Item = Value<'static>> {
        let numbers = self.numbers.iter().copied().map(f64::from_bits);
        let is_in = |bool: &bool| self.bools[usize::from(*bool)];
        let bools = [false, true].into_iter().filter(is_in);
        numbers.map(Value::Number).chain(bools.map(Value::Bool))
    }

    /// Whether a value is in it.
    #[must_use]
    pub fn contain(&self, value: &Value) -> bool {
        match value {
            Value::Text(text) => self.texts.contains(&**text),
            Value::Number(number) => self.numbers.contains(&bits(*number)),
            Value::Bool(bool) => self.bools[usize::from(*bool)],
        }
    }
}

impl<'v> FromIterator<Value<'v>> for Values {
    fn from_iter<I: IntoIterator<Item = Value<'v>>>(list: I) -> Values {
        let mut values = Values::default();
        for value in list {
            values.add(value);
        }
        values
    }
}

/// The bits of a number, equal for equal numbers: a finite number plus 0 is itself, and -0 plus 0
/// is 0.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// A value that others are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// A string or a number.
    pub value: Value<'static>,
    /// On which side of it the others are.
    pub side: Side,
}

/// On which side of a bound values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `$gt`.
    Above,
    /// `$gte`.
    AtLeast,
    /// `$lt`.
    Below,
    /// `$lte`.
    AtMost,
}

impl Bound {
    /// Whether a value is on the side of the bound. No value of another type is.
    #[must_use]
    pub fn admits(&self, value: &Value) -> bool {
        value
            .order(&self.value)
            .is_some_and(|order| match self.side {
                Side::Above => order.is_gt(),
                Side::AtLeast => order.is_ge(),
                Side::Below => order.is_lt(),
                Side::AtMost => order.is_le(),
            })
    }
}
