//! `hnsw_rs`, the independent HNSW that the engine's graph is compared with.
//!
//! It runs with the distance kernels of the engine, so that only the indexes differ and not the
//! arithmetic.

use std::{borrow::Cow, cell::Cell, ops::Range};

use hnsw_rs::prelude::{Distance, Hnsw};
use vectord_engine::{
    Metric, Params, Result,
    layers::vectors::{
        kernels::{self, Kernel, Kernels},
        points::Points,
    },
};

use crate::{fill, vectors::Vectors};

/// More layers than any set here fills.
const MAX_LAYERS: usize = 16;

pub struct Reference<'a> {
    metric: Metric,
    base: &'a Vectors,
    hnsw: Hnsw<'static, f32, Counted>,
}

impl<'a> Reference<'a> {
    pub fn new(metric: Metric, params: Params, base: &'a Vectors) -> Self {
        let Params { m, ef_construction } = params;
        let points = base.len() as usize;
        let distance = Counted::new(metric);
        Reference {
            metric,
            base,
            hnsw: Hnsw::new(m, points, MAX_LAYERS, ef_construction, distance),
        }
    }

    pub fn fill(&self, slots: Range<u32>, threads: u32) -> Result<()> {
        fill::deal(slots, threads, |slots| {
            for slot in slots {
                let vector = self.prepared(self.base.vector(slot));
                self.hnsw.insert((&vector, slot as usize));
            }
            Ok(())
        })
    }

    /// The `k` slots closest to `query`, and how many distances it took to find them.
    pub fn search(&self, query: &[f32], ef: usize, k: usize) -> (Vec<u32>, u64) {
        EVALUATIONS.set(0);
        let found = self.hnsw.search(&self.prepared(query), k, ef);
        let slots = found.iter().map(|neighbor| neighbor.d_id as u32).collect();
        (slots, EVALUATIONS.get())
    }

    /// Under Cosine the normalized vector, so that `hnsw_rs` needs no norms; otherwise the vector
    /// unchanged.
    fn prepared<'v>(&self, vector: &'v [f32]) -> Cow<'v, [f32]> {
        if self.metric != Metric::Cosine {
            return vector.into();
        }
        let inverse_norm = kernels::inverse_norm(vector);
        vector.iter().map(|value| value * inverse_norm).collect()
    }
}

thread_local! {
    /// The distances that this thread has computed: a shared count would slow the threads down.
    static EVALUATIONS: Cell<u64> = const { Cell::new(0) };
}

/// A kernel of the engine as a distance of `hnsw_rs`.
struct Counted {
    kernel: Kernel,
    /// Whether the kernel returns the cosine, which must still become a distance.
    cosine: bool,
}

impl Counted {
    fn new(metric: Metric) -> Self {
        let kernels = Kernels::widest();
        let sum = match metric {
            Metric::Euclidean => kernels.squared_euclidean,
            Metric::Manhattan => kernels.manhattan,
            Metric::Hamming => kernels.hamming,
            Metric::Cosine => kernels.dot,
        };
        Counted {
            kernel: sum.alone,
            cosine: metric == Metric::Cosine,
        }
    }
}

impl Distance<f32> for Counted {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        EVALUATIONS.set(EVALUATIONS.get() + 1);
        let value = (self.kernel)(a, b);
        if self.cosine {
            // Rounding may carry a cosine past 1, and `hnsw_rs` panics at a negative distance.
            (1.0 - value).max(0.0)
        } else {
            value
        }
    }
}
