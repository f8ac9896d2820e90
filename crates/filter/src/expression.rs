//! What a filter says, as a tree.

use std::collections::HashSet;

use crate::values::{Bound, Value, Values};

/// A condition, or several that are combined. The negative operators have no conditions of their
/// own: `$ne`, `$nin` and `$exists: false` are [`Expression::Not`] of the positive ones, so that
/// each is the exact complement.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// Holds if all of them hold; also if there are none.
    All(Vec<Expression>),
    /// Holds if one of them holds.
    Any(Vec<Expression>),
    /// Holds if the other does not.
    Not(Box<Expression>),
    /// Holds if the condition does.
    Condition(Condition),
}

/// A test of one field of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The id is one of these.
    Id(HashSet<[u8; 16]>),
    /// The number of the content type is one of these.
    ContentType(Vec<u8>),
    /// The metadata under this key pass the test.
    Metadata(Box<str>, Test),
}

/// A test of the metadata under one key. An array passes if one of its items does; what is missing
/// passes none.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// There is something under the key: anything but null, also an empty array.
    Exists,
    /// It is one of these values.
    In(Values),
    /// It is of the type of the bound, and on its side.
    Within(Bound),
}

impl Test {
    /// Whether a value passes.
    #[must_use]
    pub fn passes(&self, value: &Value) -> bool {
        match self {
            Test::Exists => true,
            Test::In(values) => values.contain(value),
            Test::Within(bound) => bound.admits(value),
        }
    }
}
