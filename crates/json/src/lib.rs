//! The JSON of requests and answers: bodies read into arrays, and vectors written as text.

mod any_vector;
mod append;
mod batch;
mod fields;
mod filter;
mod filter_texts;
mod ids;
mod include;
mod item;
mod list;
mod metadata;
mod metadata_texts;
mod named;
mod point_id;
mod points;
mod queries;
mod read;
mod refusal;
mod scalar;
mod searches;
mod updates;
mod upserts;
mod value;
mod vector;
mod write;

pub use filter_texts::{check_filter_of_delete, check_filters, filter_of};
pub use ids::{Deletes, Gets, Scroll, counts, deletes, gets, scroll};
pub use metadata_texts::{MetadataList, metadata_texts};
pub use points::{ContentFault, Points, point, points};
pub use queries::{Queries, queries, query};
pub use refusal::{Found, Refusal, Wrong};
pub use searches::{SearchForm, Searches, searches};
pub use updates::{Updates, given, updates};
pub use upserts::{Upserts, upserts};
pub use write::json_array;
