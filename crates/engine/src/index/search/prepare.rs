//! Prepares searches: chooses the plan of each, and estimates its cost.

use std::time::Duration;

use super::{
    Prepared, Request, Selection,
    plan::{Costs, Plan},
    rescore::with_margin,
};
use crate::{
    index::view::View,
    vectors::{
        kernels::{self, Level},
        measure::Measure,
    },
};

/// Where it is known which points pass, a scan of them is chosen unless it takes this many times as
/// long as a walk: they are few then, and seldom near to the query, so that most walks give up.
const WALKS: f32 = 8.0;

impl View<'_> {
    /// Chooses the plan of a search. If a walk would cost less than a scan and there is no graph of
    /// the metric, the graph is begun. Until it has caught up, scans answer.
    ///
    /// Of a search with a filter it is seldom known yet how many points pass. It begins with a walk,
    /// unless they are few, and goes on by what that [meets](super::filtered).
    #[must_use]
    pub fn prepare<'q>(&self, mut request: Request<'q>) -> Prepared<'_, 'q> {
        let index = self.index;
        // The number of slots, not of live points: that may already be less by deletes that the
        // view does not contain.
        let most = (request.within).map_or(self.slots as usize, Selection::most);
        request.limit = request.limit.min(most).max(1);
        request.ef = request.ef.max(request.limit);
        let costs = Costs::new(Level::widest(), request.metric, index.dimension);
        let is_ordinary = kernels::is_ordinary(request.query);
        let f64_only = index.f64_only().len();
        let mut prepared = Prepared {
            view: self,
            request,
            plan: Plan::Scan,
            linked: None,
            costs,
            scan_cost: match request.within {
                Some(_) => costs.scan_list(most as u32),
                None => costs.scan(most as u32, 1),
            },
            walk_cost: costs.walk(request.ef, self.slots),
            final_cost: costs.exact(with_margin(request.limit).min(most) + f64_only),
        };
        let points = self.live.min(most as u64);
        if !is_ordinary {
            prepared.plan = Plan::Exact;
            prepared.scan_cost = costs.exact(most);
        } else if (request.ef as u64) < points {
            prepared.consider_graph();
        }
        prepared
    }
}

impl<'q> Prepared<'_, 'q> {
    /// The plan of this search.
    #[cfg(any(test, feature = "layers"))]
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// About the time that this search will take, by the table of [`plan`](super::plan).
    #[must_use]
    pub fn cost(&self) -> Duration {
        let found = match self.plan {
            Plan::Graph => self.walk_cost,
            Plan::Scan | Plan::Exact => self.scan_cost,
        };
        Duration::from_secs_f32((found + self.final_cost) / 1e9)
    }

    /// The number of points that this search considers for its answer: every slot in a scan, and as
    /// many as its beam holds in a walk.
    pub(super) fn considered(&self) -> u64 {
        match self.plan {
            Plan::Graph => self.request.ef as u64,
            Plan::Scan | Plan::Exact => match self.request.within {
                Some(within) => within.most() as u64,
                None => self.view.slots.into(),
            },
        }
    }

    /// Changes the plan to one of the caller's choice. [`Plan::Graph`] has no effect if there is no
    /// graph that has caught up.
    #[cfg(any(test, feature = "layers"))]
    #[must_use]
    pub fn by(mut self, plan: Plan) -> Self {
        if plan != Plan::Graph || self.linked.is_some() {
            self.plan = plan;
        }
        self
    }

    pub(in crate::index) fn measure(&self) -> Measure<'q> {
        Measure::new(self.request.metric, self.request.query)
    }

    /// Plans to walk the graph if that costs less than a scan, or begins the graph if there is
    /// none.
    fn consider_graph(&mut self) {
        let index = self.view.index;
        let graph = index.graph(self.request.metric);
        let is_wanted = self.walk_cost < self.scan_cost;
        if is_wanted {
            graph.note_search();
        }
        let Some(linked) = graph.current() else {
            if is_wanted {
                index.want_graph(self.request.metric);
            }
            return;
        };
        if !linked.caught_up() {
            // Searches scan until the graph has caught up.
            return;
        }
        self.walk_cost += self.costs.scan(linked.tail_len(self.view.slots), 1);
        let is_known_few = self
            .request
            .within
            .is_some_and(|within| within.found().is_some());
        let walks = if is_known_few { WALKS } else { 1.0 };
        if self.walk_cost * walks < self.scan_cost {
            self.plan = Plan::Graph;
        }
        self.linked = Some(linked);
    }

    /// Changes the plans of searches under one metric in one view: the searches among all points
    /// that would walk one by one scan together instead, if that costs less.
    pub(in crate::index) fn join(searches: &mut [Prepared]) {
        let of_plan = |search: &Prepared, plan| search.is_among_all() && search.plan == plan;
        let count = |plan| {
            searches
                .iter()
                .filter(|search| of_plan(search, plan))
                .count()
        };
        let (walks, scans) = (count(Plan::Graph), count(Plan::Scan));
        let [first, ..] = searches else { return };
        if walks == 0 || walks + scans < 2 {
            return;
        }
        let scanning = first.costs.scan(first.view.slots, walks + scans) * walks as f32;
        let walking = |search: &&mut Prepared| of_plan(search, Plan::Graph);
        let walking_cost = searches
            .iter_mut()
            .filter(walking)
            .map(|search| search.walk_cost)
            .sum();
        if scanning < walking_cost {
            for search in searches.iter_mut().filter(walking) {
                search.plan = Plan::Scan;
            }
        }
    }
}
