//! A set of real vectors: the points and the queries.

use std::path::Path;

use vectord_bench::{Result, vectors::Vectors};
use vectord_engine::{Metric, layers::vectors::points::Points};

pub const NAMES: [&str; 2] = ["sift", "minilm"];

pub struct Set {
    pub name: &'static str,
    pub metric: Metric,
    pub base: Vectors,
    pub queries: Vectors,
}

impl Set {
    /// Reads a set: its first points and queries, up to the numbers that the options name.
    pub fn read(folder: &Path, name: &'static str, points: usize, queries: usize) -> Result<Self> {
        let (values, metric) = match name {
            "sift" => ("u8", Metric::Euclidean),
            _ => ("f16", Metric::Cosine),
        };
        let read = |part: &str| Vectors::read(&folder.join(format!("{name}_{part}.{values}.npy")));
        Ok(Set {
            name,
            metric,
            base: read("base")?.first(points),
            queries: read("query")?.first(queries),
        })
    }

    /// The vectors of the queries, in their order.
    pub fn queries(&self) -> impl Iterator<Item = &[f32]> {
        (0..self.queries.len()).map(|query| self.queries.vector(query))
    }

    /// The number of points.
    pub fn points(&self) -> usize {
        self.base.len() as usize
    }
}
