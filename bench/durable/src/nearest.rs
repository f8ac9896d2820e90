//! The nearest of many points, found by ranking each: what is true, and how SQLite is searched.

use vectord_engine::vectors::kernels::{Kernel, kernels};

/// Results of a search.
pub const LIMIT: usize = 10;

/// The nearest of the points seen so far, with what names them.
pub struct Nearest<'q, N> {
    query: &'q [f32],
    distance: Kernel,
    found: Vec<(f32, N)>,
}

impl<'q, N> Nearest<'q, N> {
    pub fn of(query: &'q [f32]) -> Self {
        Nearest {
            query,
            distance: kernels().squared_euclidean.alone,
            found: Vec::with_capacity(LIMIT + 1),
        }
    }

    pub fn see(&mut self, vector: &[f32], name: impl FnOnce() -> N) {
        let distance = (self.distance)(self.query, vector);
        if self.found.len() == LIMIT && self.found[LIMIT - 1].0 <= distance {
            return;
        }
        let at = self.found.partition_point(|(other, _)| *other <= distance);
        self.found.insert(at, (distance, name()));
        self.found.truncate(LIMIT);
    }

    /// Closest first.
    pub fn names(self) -> Vec<N> {
        self.found.into_iter().map(|(_, name)| name).collect()
    }
}
