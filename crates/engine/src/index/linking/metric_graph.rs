//! The graph of a metric: begun when a search first asks for it, and kept up with the arena from
//! then on.

use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use super::linked::LinkedGraph;
use crate::{
    Metric,
    hnsw::Params,
    sync::{RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// The time after which a graph that failed is begun again. It doubles with each failure.
const RETRY: Duration = Duration::from_secs(1);

/// The most doublings: a graph that always fails costs a build every 17 minutes.
const MOST_DOUBLINGS: u32 = 10;

/// The graph that answers searches under a metric, or none yet.
pub struct MetricGraph {
    metric: Metric,
    params: Params,
    state: RwLock<GraphState>,
}

#[derive(Default)]
struct GraphState {
    current: Option<Arc<LinkedGraph>>,
    /// When to begin the graph again, after it failed.
    retry_at: Option<Instant>,
    failures: u32,
    /// The reason of the last failure.
    failure: Option<String>,
}

impl GraphState {
    fn begin(&mut self, metric: Metric, params: Params) {
        self.current = Some(Arc::new(LinkedGraph::new(metric, params)));
        self.retry_at = None;
    }
}

impl MetricGraph {
    /// No graph yet; it will be built under `metric`.
    #[must_use]
    pub fn new(metric: Metric, params: Params) -> Self {
        MetricGraph {
            metric,
            params,
            state: RwLock::default(),
        }
    }

    /// The metric.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The graph to search, if there is one. A thread that walks it holds a pin from before this
    /// call: the graph may be given up at any time, and no slot in it gets another point until the
    /// pin ends.
    #[must_use]
    pub fn current(&self) -> Option<Arc<LinkedGraph>> {
        self.read().current.clone()
    }

    /// Whether this is the graph to search, and has not been given up.
    #[must_use]
    pub fn is_current(&self, linked: &LinkedGraph) -> bool {
        let state = self.read();
        let current = state.current.as_deref();
        current.is_some_and(|current| std::ptr::eq(current, linked))
    }

    /// Begins the graph if there is none, and returns whether it did. A graph that failed has to
    /// wait.
    pub fn want(&self) -> bool {
        let mut state = self.write();
        if state.current.is_some() || state.retry_at.is_some() {
            return false;
        }
        state.begin(self.metric, self.params);
        true
    }

    /// Begins a graph that failed again, once it has waited.
    pub fn retry(&self, now: impl Fn() -> Instant) {
        let is_due = |state: &GraphState| state.retry_at.is_some_and(|at| at <= now());
        if is_due(&self.read()) {
            let mut state = self.write();
            if is_due(&state) {
                state.begin(self.metric, self.params);
            }
        }
    }

    /// Takes the graph of a snapshot as the one to search and keep up.
    pub fn adopt(&self, linked: Arc<LinkedGraph>) {
        self.write().current = Some(linked);
    }

    /// Gives up a graph, unless that was done before. Searches scan until another is built.
    pub fn fail(&self, linked: &LinkedGraph, reason: String) {
        let mut state = self.write();
        let current = state.current.as_deref();
        if current.is_some_and(|current| std::ptr::eq(current, linked)) {
            let wait = RETRY * 2_u32.pow(state.failures.min(MOST_DOUBLINGS));
            *state = GraphState {
                current: None,
                retry_at: Some(Instant::now() + wait),
                failures: state.failures + 1,
                failure: Some(reason),
            };
        }
    }

    /// How often the graph was given up, and the last reason.
    #[must_use]
    pub fn failures(&self) -> (u32, Option<String>) {
        let state = self.read();
        (state.failures, state.failure.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, GraphState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, GraphState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
mod tests {
    use super::*;

    #[test]
    fn a_graph_that_fails_is_begun_again_and_waits_twice_as_long_each_time_up_to_a_bound() {
        let graph = MetricGraph::new(Metric::Euclidean, Params::default());
        assert!(graph.want());
        let waits = (0..=MOST_DOUBLINGS).map(|doublings| RETRY * 2_u32.pow(doublings));
        let longest = RETRY * 2_u32.pow(MOST_DOUBLINGS);
        for (wait, failures) in waits.chain([longest; 2]).zip(1..) {
            let before = Instant::now();
            graph.fail(&graph.current().unwrap(), format!("failure {failures}"));
            let after = Instant::now();
            assert!(!graph.want(), "a search begins it no sooner");
            graph.retry(|| before + wait * 9 / 10);
            assert!(graph.current().is_none(), "after failure {failures}");
            graph.retry(|| after + wait);
            assert!(graph.current().is_some(), "after failure {failures}");
            let reason = format!("failure {failures}");
            assert_eq!(graph.failures(), (failures, Some(reason)));
        }
    }

    #[test]
    fn what_fails_on_a_graph_that_was_given_up_is_no_failure_of_the_next() {
        let graph = MetricGraph::new(Metric::Euclidean, Params::default());
        graph.want();
        let given_up = graph.current().unwrap();
        graph.fail(&given_up, "first".into());
        graph.retry(|| Instant::now() + RETRY);
        graph.fail(&given_up, "late".into());
        assert!(graph.current().is_some());
        assert_eq!(graph.failures(), (1, Some("first".into())));
    }
}
