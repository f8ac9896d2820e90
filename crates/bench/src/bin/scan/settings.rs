//! What several measurements have in common.

/// How often each of them takes its turn.
pub const ROUNDS: usize = 7;

/// The number of results of a search.
pub const LIMIT: usize = 10;
