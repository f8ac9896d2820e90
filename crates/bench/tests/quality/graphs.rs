//! Graphs over a set, walked whatever a scan would cost, and how much of the truth they find.

use vectord_engine::{
    Metric, Params,
    layers::{
        hnsw::{Graph, Scratch},
        vectors::{kernels, measure::Measure},
    },
};

use crate::sets::{Rows, Set};
use vectord_bench::{fill::fill, vectors::Vectors};

const PARAMS: Params = Params {
    m: 16,
    ef_construction: 200,
};

/// How many results count.
const K: usize = 10;

/// A graph over points, and the points.
pub struct Indexed {
    rows: Rows,
    vectors: Vectors,
    graph: Graph,
}

impl Indexed {
    /// Builds the graph that answers a metric.
    pub fn new(metric: Metric, rows: Rows) -> Self {
        let vectors = Vectors::new(rows[0].len(), rows.concat())
            .with_codes()
            .expect("memory");
        let graph = Graph::new(metric, PARAMS);
        fill(&graph, &vectors, 0..vectors.len(), 1).expect("memory");
        Indexed {
            rows,
            vectors,
            graph,
        }
    }

    /// The slots that a search finds, closest first.
    pub fn found(
        &self,
        metric: Metric,
        query: &[f32],
        (ef, limit): (usize, usize),
        accept: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Vec<u32> {
        let measure = Measure::new(metric, query);
        self.graph
            .search(&self.vectors, &measure, ef, limit, accept, scratch)
            .expect("memory");
        let found = scratch.results().iter();
        found.map(|neighbor| neighbor.slot).collect()
    }

    /// The mean share of the true 10 nearest accepted points that searches find. A point as near
    /// as the 10th is as right as that.
    pub fn recall(
        &self,
        metric: Metric,
        queries: &[Vec<f32>],
        efs: &[usize],
        accept: impl Fn(u32) -> bool,
    ) -> Vec<f64> {
        let mut scratch = Scratch::new();
        let mut right = vec![0; efs.len()];
        for query in queries {
            let rank = |slot: u32| kernels::distance(metric, query, &self.rows[slot as usize]);
            let mut ranks: Vec<f64> = (0..self.vectors.len())
                .filter(|&slot| accept(slot))
                .map(rank)
                .collect();
            let (_, &mut bound, _) = ranks.select_nth_unstable_by(K - 1, f64::total_cmp);
            for (right, &ef) in right.iter_mut().zip(efs) {
                let found = self.found(metric, query, (ef, K), &accept, &mut scratch);
                assert!(found.len() == K && found.iter().all(|&slot| accept(slot)));
                *right += found.iter().filter(|&&slot| rank(slot) <= bound).count();
            }
        }
        let wanted = (queries.len() * K) as f64;
        right
            .into_iter()
            .map(|right| f64::from(right as u32) / wanted)
            .collect()
    }

    /// Has every point be found by a search that asks for all of them.
    pub fn assert_all_reachable(&self, metric: Metric) {
        let mut scratch = Scratch::new();
        for slot in [0, self.rows.len() / 2, self.rows.len() - 1] {
            let query = &self.rows[slot];
            let all = self.rows.len();
            let mut slots = self.found(metric, query, (all, all), |_| true, &mut scratch);
            slots.sort_unstable();
            assert!(
                slots.into_iter().eq(0..self.vectors.len()),
                "{metric:?} from {slot}"
            );
        }
    }
}

/// Builds a graph over the set for each metric and has it reach a recall at a breadth.
pub fn assert_recall(name: &str, set: &Set, metrics: &[Metric], ef: usize, least: f64) {
    for &metric in metrics {
        let indexed = Indexed::new(metric, set.base.clone());
        let recall = indexed.recall(metric, &set.queries, &[ef], |_| true)[0];
        println!("{name}, {metric:?}, ef {ef}: {recall:.4}, at least {least}");
        assert!(
            recall >= least,
            "{name}, {metric:?}, ef {ef}: {recall}, expected {least}"
        );
    }
}
