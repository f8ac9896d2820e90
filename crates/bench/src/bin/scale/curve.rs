//! The cost of a search at a given recall.

use vectord_engine::layers::{
    hnsw::{Graph, Scratch},
    vectors::{measure::Measure, points::Points},
};

use vectord_bench::{
    Result, cpu,
    recall::{self, K},
    vectors::Vectors,
};

/// The recall at which sizes are compared.
pub const RECALL: f64 = 0.95;

/// The greatest breadth.
const MOST_EF: usize = 20_000;

/// The number of passes of a measurement, so that a short disturbance does not matter.
const LEAST_PASSES: usize = 3;
const LEAST_SECONDS: f64 = 0.3;

/// The cost of an average query.
#[derive(Clone, Copy)]
pub struct Reading {
    /// The recall reached; above the one asked for if the least breadth exceeds it already.
    pub recall: f64,
    pub ef: f64,
    pub evaluations: f64,
    /// Processor time.
    pub seconds: f64,
}

/// Raises the breadth until the recall is passed, and interpolates the cost between the last two
/// breadths, its logarithm linearly in the recall.
pub fn at_recall(
    graph: &Graph,
    base: &Vectors,
    queries: &Vectors,
    bounds: &[f32],
) -> Result<Reading> {
    let mut searches = Searches {
        graph,
        base,
        queries,
        bounds,
        scratch: Scratch::new(),
    };
    let (mut below, mut ef) = (None, K);
    while searches.pass(ef)?.recall < RECALL {
        below = Some(ef);
        ef = (ef + 1).max(ef * 23 / 20);
        if ef > MOST_EF {
            return Err(format!("no breadth up to {MOST_EF} reaches a recall of {RECALL}").into());
        }
    }
    let above = searches.median(ef)?;
    let Some(below) = below else {
        return Ok(above);
    };
    let below = searches.median(below)?;
    let part = (RECALL - below.recall) / (above.recall - below.recall);
    let between = |less: f64, more: f64| ((1.0 - part) * less.ln() + part * more.ln()).exp();
    Ok(Reading {
        recall: RECALL,
        ef: between(below.ef, above.ef),
        evaluations: between(below.evaluations, above.evaluations),
        seconds: between(below.seconds, above.seconds),
    })
}

struct Searches<'a> {
    graph: &'a Graph,
    base: &'a Vectors,
    queries: &'a Vectors,
    /// The rank of the last right answer to each query.
    bounds: &'a [f32],
    scratch: Scratch,
}

impl Searches<'_> {
    /// The pass of median time.
    fn median(&mut self, ef: usize) -> Result<Reading> {
        let queries = f64::from(self.queries.len());
        let (mut passes, mut seconds) = (Vec::new(), 0.0);
        while passes.len() < LEAST_PASSES || seconds < LEAST_SECONDS {
            let pass = self.pass(ef)?;
            seconds += pass.seconds * queries;
            passes.push(pass);
        }
        passes.sort_unstable_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(passes[passes.len() / 2])
    }

    /// Searches for all queries once.
    fn pass(&mut self, ef: usize) -> Result<Reading> {
        let mut found = Vec::with_capacity(self.bounds.len());
        let mut evaluations = 0;
        let cpu = cpu::seconds();
        for query in 0..self.queries.len() {
            let measure = Measure::new(self.graph.metric(), self.queries.vector(query));
            let scratch = &mut self.scratch;
            evaluations += self
                .graph
                .search(self.base, &measure, ef, K, |_| true, scratch)?;
            let nearest = scratch.results().iter();
            found.push(nearest.map(|one| one.slot).collect::<Vec<u32>>());
        }
        let seconds = cpu::seconds() - cpu;
        let mut hits = 0;
        for ((query, slots), &bound) in (0..).zip(&found).zip(self.bounds) {
            let measure = Measure::new(self.graph.metric(), self.queries.vector(query));
            hits += recall::hits(self.base, &measure, bound, slots);
        }
        let queries = f64::from(self.queries.len());
        Ok(Reading {
            recall: hits as f64 / (queries * K as f64),
            ef: ef as f64,
            evaluations: evaluations as f64 / queries,
            seconds: seconds / queries,
        })
    }
}
