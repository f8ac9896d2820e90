//! The metrics that share a graph, and the life of that graph: begun when a metric is first asked
//! for, kept up from then on, replaced when too many of its points are deleted.

use std::sync::{Arc, PoisonError, RwLock};

use super::linked::LinkedGraph;
use crate::{Metric, graph::Params};

/// Deleted points that a graph carries before a fresh one is built, whatever the collection's size.
const DEAD_FLOOR: u64 = 4096;

/// One graph for one or more metrics.
pub struct Family {
    metric: Metric,
    params: Params,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<LinkedGraph>>,
    replacement: Option<Arc<LinkedGraph>>,
    failure: Option<String>,
}

impl Family {
    /// A family without a graph, whose graph will be built under `metric`.
    #[must_use]
    pub fn new(metric: Metric, params: Params) -> Self {
        Family {
            metric,
            params,
            state: RwLock::default(),
        }
    }

    /// The metric under which the graph is built.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The graph to search, if the family has one.
    #[must_use]
    pub fn current(&self) -> Option<Arc<LinkedGraph>> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .current
            .clone()
    }

    /// Begins the graph if there is none; true if it did. A family that failed stays without one.
    pub fn want(&self, dead: u64) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.current.is_some() || state.failure.is_some() {
            return false;
        }
        state.current = Some(self.fresh(dead));
        true
    }

    /// Begins a replacement if, in an arena of `live` and `dead` slots, deleted points make up too
    /// much of the graph; true if it did.
    pub fn refresh(&self, live: u64, dead: u64) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let Some(current) = &state.current else {
            return false;
        };
        // Both counts are taken while the writer goes on, so they may be off by a few.
        let carried = dead.saturating_sub(current.dead_before);
        if state.replacement.is_some() || carried <= DEAD_FLOOR.max(live / 2) {
            return false;
        }
        state.replacement = Some(self.fresh(dead));
        true
    }

    /// The graphs that have slots to link, the one that is searched first.
    pub fn unfinished(&self) -> impl Iterator<Item = Arc<LinkedGraph>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        [state.current.clone(), state.replacement.clone()]
            .into_iter()
            .flatten()
    }

    /// Puts the replacement in the graph's place once it has caught up.
    pub fn promote(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state
            .replacement
            .as_ref()
            .is_some_and(|replacement| replacement.caught_up())
        {
            state.current = state.replacement.take();
        }
    }

    /// Gives up the graphs for good: searches scan from now on.
    pub fn fail(&self, reason: String) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = State {
            failure: Some(reason),
            ..State::default()
        };
    }

    /// Why the family has no graph, if it failed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .failure
            .clone()
    }

    fn fresh(&self, dead: u64) -> Arc<LinkedGraph> {
        Arc::new(LinkedGraph::new(self.metric, self.params, dead))
    }
}
