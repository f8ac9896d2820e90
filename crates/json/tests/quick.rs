//! The tests of the bodies of requests from outside, as one program: it is compiled and linked once.

mod any_body;
mod bodies;
mod ids;
mod metadata_texts;
mod searches;
mod updates;
mod upserts;
