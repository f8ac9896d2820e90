//! The JSON of requests and answers: bodies read into arrays, and vectors written as text.

mod batch;
mod list;
mod points;
mod queries;
mod read;
mod refusal;
mod value;
mod vector;
mod write;

pub use points::{ContentFault, Points, point, points};
pub use queries::{Queries, queries, query};
pub use refusal::{Found, Refusal, Wrong};
pub use write::json_array;
