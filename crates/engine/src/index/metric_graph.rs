//! The life of the graph of a metric: begun when the metric is first asked for, kept up from then
//! on.

use std::sync::{Arc, PoisonError};

use super::linked::LinkedGraph;
use crate::{Metric, graph::Params, sync::RwLock};

/// The graph that answers searches under a metric, or none yet.
pub struct MetricGraph {
    metric: Metric,
    params: Params,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<LinkedGraph>>,
    failure: Option<String>,
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

    /// The graph to search, if there is one.
    #[must_use]
    pub fn current(&self) -> Option<Arc<LinkedGraph>> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .current
            .clone()
    }

    /// Begins the graph if there is none; true if it did. One that failed is not begun again.
    pub fn want(&self) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.current.is_some() || state.failure.is_some() {
            return false;
        }
        state.current = Some(Arc::new(LinkedGraph::new(self.metric, self.params)));
        true
    }

    /// Takes over a graph from before, as the one to search and keep up.
    pub fn adopt(&self, linked: Arc<LinkedGraph>) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.current = Some(linked);
    }

    /// Gives up the graph for good: searches scan from now on.
    pub fn fail(&self, reason: String) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = State {
            current: None,
            failure: Some(reason),
        };
    }

    /// Why there is no graph, if it failed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .failure
            .clone()
    }
}
