//! The graph of one metric: when it is begun, and what happens when it fails. It is begun, empty,
//! when a search first asks for it. The linking threads (see
//! [`linker`](super::super::linking::linker)) then link every point into it, and go on with each
//! new one. When linking fails, the graph is given up, and another begins after a wait. When no
//! search has asked for it for long, it is given back: its memory becomes free, and the next search
//! begins another.
//!
//! A graph is current from then on, while it is still being built too. [`LinkedGraph`] knows which
//! slots it lacks, and whether it has caught up: only then searches use it.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::linked::LinkedGraph;
use crate::{
    Metric,
    hnsw::Params,
    sync::{RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// The wait from the first failure to the next graph. Each further failure doubles it.
const RETRY: Duration = Duration::from_secs(1);

/// The number of times that the wait is doubled: a graph that always fails costs a build every 17
/// minutes.
const MOST_DOUBLINGS: u32 = 10;

/// The graph of a metric, or none: before a search asks for one, and in the wait after a failure.
pub struct MetricGraph {
    metric: Metric,
    params: Params,
    state: RwLock<GraphState>,
    created: Instant,
    /// Milliseconds from `created` to the last search that asked for the graph. Only a decision about
    /// long times depends on it, so relaxed atomics are enough.
    searched_ms: AtomicU64,
}

#[derive(Default)]
struct GraphState {
    /// The graph that is searched and that new points are linked into. It may still be empty.
    current: Option<Arc<LinkedGraph>>,
    /// When to begin the next graph after a failure. None while there is a graph, and before the
    /// first one.
    retry_at: Option<Instant>,
    /// The number of failures in the life of the process. A graph that succeeds does not reset it,
    /// so a failure after days of success waits no less.
    failures: u32,
    /// The reason of the last failure.
    failure: Option<String>,
    /// The number of graphs that were given up or given back.
    given_up: u32,
}

impl GraphState {
    /// Makes an empty graph the current one. The linking threads fill it.
    fn begin(&mut self, metric: Metric, params: Params) {
        self.current = Some(Arc::new(LinkedGraph::new(metric, params)));
        self.retry_at = None;
    }
}

impl MetricGraph {
    /// Has no graph yet. [`want`](Self::want) will begin one under `metric`, with `params`.
    #[must_use]
    pub fn new(metric: Metric, params: Params) -> Self {
        MetricGraph {
            metric,
            params,
            state: RwLock::default(),
            created: Instant::now(),
            searched_ms: AtomicU64::new(0),
        }
    }

    /// The metric.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The current graph, if there is one. It may still be under construction.
    ///
    /// A thread that walks the graph must hold a [`Pin`](crate::sync::epoch::Pin) from before this
    /// call. Another thread may give the graph up at any time. The pin guarantees that no slot in
    /// it gets another point meanwhile.
    #[must_use]
    pub fn current(&self) -> Option<Arc<LinkedGraph>> {
        self.read().current.clone()
    }

    /// Whether `linked` is the current graph. False once it was given up.
    #[must_use]
    pub fn is_current(&self, linked: &LinkedGraph) -> bool {
        let state = self.read();
        let current = state.current.as_deref();
        current.is_some_and(|current| std::ptr::eq(current, linked))
    }

    /// Notes that a search asks for the graph, whether there is one or not.
    pub fn note_search(&self) {
        let now_ms = self.created.elapsed().as_millis() as u64;
        // Searches on all cores would contend for the cache line if each wrote to it.
        if self.searched_ms.load(Ordering::Relaxed) != now_ms {
            self.searched_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// The time until `now` since a search last asked for the graph; before the first one, since
    /// the start, or since the graph came from a snapshot.
    #[must_use]
    pub fn idle(&self, now: Instant) -> Duration {
        let searched = Duration::from_millis(self.searched_ms.load(Ordering::Relaxed));
        now.saturating_duration_since(self.created)
            .saturating_sub(searched)
    }

    /// Gives the graph back if no search has asked for it for `time`, and returns it. Then
    /// [`want`](Self::want) begins the next one, also if the graph was waited for after a failure.
    /// Searches that walk the graph go on: its memory is free once nobody holds it any more.
    pub fn give_back(&self, time: Duration, now: Instant) -> Option<Arc<LinkedGraph>> {
        let mut state = self.write();
        if self.idle(now) < time {
            return None;
        }
        state.retry_at = None;
        let given_back = state.current.take();
        state.given_up += u32::from(given_back.is_some());
        given_back
    }

    /// Begins a graph if there is none, and returns whether it did: then the caller wakes the
    /// linking threads. After a failure it begins none; [`retry`](Self::retry) does.
    pub fn want(&self) -> bool {
        let mut state = self.write();
        if state.current.is_some() || state.retry_at.is_some() {
            return false;
        }
        state.begin(self.metric, self.params);
        true
    }

    /// Begins the next graph once the wait after a failure is over, without a search that asks. The
    /// linking threads call this whenever they look for points to link. The clock is a function, so
    /// that it is read only during such a wait.
    pub fn retry(&self, now: impl Fn() -> Instant) {
        let is_due = |state: &GraphState| state.retry_at.is_some_and(|at| at <= now());
        if is_due(&self.read()) {
            let mut state = self.write();
            if is_due(&state) {
                state.begin(self.metric, self.params);
            }
        }
    }

    /// Makes the graph of a snapshot the current one. Only for an index that is being restored,
    /// before any search: there is neither a graph nor a failure yet.
    pub fn adopt(&self, linked: Arc<LinkedGraph>) {
        let mut state = self.write();
        debug_assert!(
            state.current.is_none() && state.retry_at.is_none(),
            "a graph was begun before the snapshot was restored"
        );
        state.current = Some(linked);
        self.note_search();
    }

    /// Gives up `linked` and begins the wait for the next graph. Does nothing if `linked` is not
    /// the current graph: then it was given up before. Searches scan until the next graph has
    /// caught up.
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
                given_up: state.given_up + 1,
            };
        }
    }

    /// Whether there is a graph, or a wait for another after a failure.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        let state = self.read();
        state.current.is_some() || state.retry_at.is_some()
    }

    /// The number of graphs that were given up or given back.
    #[must_use]
    pub fn given_up(&self) -> u32 {
        self.read().given_up
    }

    /// The number of graphs that failed and were given up, and the reason for the last.
    #[must_use]
    pub fn failures(&self) -> (u32, Option<String>) {
        let state = self.read();
        (state.failures, state.failure.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, GraphState> {
        // No change of the state can panic halfway, so what a poisoned lock guards is whole.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, GraphState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
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
    fn a_graph_is_given_back_once_no_search_has_asked_for_it_for_so_long() {
        let graph = MetricGraph::new(Metric::Euclidean, Params::default());
        let time = Duration::from_hours(1);
        assert!(graph.want());
        let before = Instant::now();
        graph.note_search();
        let after = Instant::now();
        let nearly = Duration::from_mins(59);
        assert!(graph.give_back(time, before + nearly).is_none());
        assert!(graph.is_wanted());
        let given_back = graph.give_back(time, after + time).unwrap();
        assert!(!graph.is_wanted());
        assert!(graph.give_back(time, after + time).is_none());
        assert_eq!(graph.given_up(), 1);

        graph.fail(&given_back, "late".into());
        assert_eq!(graph.failures(), (0, None));
        assert!(graph.want(), "a search begins it anew");
        graph.fail(&graph.current().unwrap(), "again".into());
        assert!(!graph.want());
        assert!(graph.give_back(time, after + time).is_none());
        assert!(!graph.is_wanted());
        assert!(graph.want(), "and at once, though it had failed");
        assert_eq!(graph.given_up(), 2);
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
