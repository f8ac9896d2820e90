//! Vectors in JSON texts: taken out of a request, and written into an answer.

mod lift;
mod write;

pub use lift::Lifted;
pub use write::json_array;
