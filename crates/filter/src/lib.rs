//! Filters over points: conditions on their metadata, content types and ids, combined by and, or
//! and not.

mod dictionary;
mod encoded;
mod expression;
mod field;
mod filter;
mod metadata;
mod passing;
mod values;
pub mod words;

pub use dictionary::{Dictionary, ReadDictionary, slices};
pub use expression::{Condition, Expression, Test};
pub use field::{Field, Fields, Subject};
pub use filter::{Cover, Filter, Held, Question};
pub use metadata::Stored;
pub use passing::{Outcome, Passing, Span, within};
pub use values::{Bound, Side, Value, Values};
