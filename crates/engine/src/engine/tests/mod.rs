//! The threads of the engine: the writer, the workers and the upkeep.

mod matching;
mod replica;
mod upkeep;
mod workers;
mod writer;
