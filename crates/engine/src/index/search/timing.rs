//! Times what searches cost, for the plan: at first ranks of each kind, then now and then the way that
//! was not taken, apart from the answer.

use std::{
    slice,
    time::{Duration, Instant},
};

use super::{
    Prepared, Request,
    plan::Plan,
    rescore::exact_rank,
    scan::{self, Scan},
};
use crate::{
    Result,
    hnsw::Scratch,
    index::{Arena, view::View},
    vectors::{measure::Measure, points::Points},
};

impl View<'_> {
    /// Times ranks of each kind over the stored vectors, once there are enough to time.
    pub(super) fn measure_first(&self, request: &Request) {
        const TURNS: u32 = 3;
        if !self.is_worth_timing() {
            return;
        }
        let measure = Measure::new(request.metric, request.query);
        let [mut scanned, mut anywhere, mut exact] = [f32::INFINITY; 3];
        for turn in 0..TURNS {
            // Other vectors each time, so that all come from where a search will find them.
            if let Some(time) = self.time_stretch(turn, slice::from_ref(&measure)) {
                scanned = scanned.min(time.1.as_secs_f32() * 1e9 / time.0 as f32);
            }
            let time = self.time_ranks(turn, 32, |arena, slots| {
                for &slot in slots {
                    arena.prefetch(slot);
                }
                let ranks = slots.iter().map(|&slot| measure.rank(arena, slot));
                std::hint::black_box(ranks.fold(0.0, f32::max));
            });
            anywhere = anywhere.min(time.unwrap_or(f32::INFINITY));
            let time = self.time_ranks(turn, 8, |arena, slots| {
                let rank = |&slot| exact_rank(request, arena.vector(slot));
                std::hint::black_box(slots.iter().map(rank).fold(0.0, f64::max));
            });
            exact = exact.min(time.unwrap_or(f32::INFINITY));
        }
        if [scanned, anywhere, exact]
            .iter()
            .all(|time| time.is_finite())
        {
            let costs = self.index.costs.of(request.metric);
            costs.begin(scanned, anywhere, exact);
        }
    }

    /// Whether ranking every point takes long enough for a clock to tell anything.
    pub(super) fn is_worth_timing(&self) -> bool {
        const LEAST_VALUES: usize = 4096;
        self.slots as usize * self.index.dimension >= LEAST_VALUES
    }

    /// Nanoseconds for each of some slots from anywhere in the arena: as many of `count` as hold a
    /// point, if any does.
    pub(super) fn time_ranks(
        &self,
        turn: u32,
        count: u32,
        rank: impl Fn(&Arena, &[u32]),
    ) -> Option<f32> {
        let arena = &self.index.arena;
        let place = |number| scattered(turn * count + number, self.slots);
        let is_visible = |&slot: &u32| arena.is_visible(slot, self.sequence);
        let slots: Vec<u32> = (0..count).map(place).filter(is_visible).collect();
        let start = Instant::now();
        rank(arena, &slots);
        let time = start.elapsed().as_secs_f32() * 1e9;
        (!slots.is_empty()).then(|| time / slots.len() as f32)
    }

    /// Scans a stretch of slots, for its time alone.
    pub(super) fn time_stretch(&self, turn: u32, measures: &[Measure]) -> Option<(u32, Duration)> {
        let length = self.stretch(measures.len()).min(self.slots);
        let begin = scattered(turn, self.slots - length + 1);
        let scan = |&measure| Scan::new(measure, 1).ok();
        let mut scans = measures.iter().map(scan).collect::<Option<Vec<_>>>()?;
        let start = Instant::now();
        scan::scan(self.scope(), begin..begin + length, &mut scans);
        Some((length, start.elapsed()))
    }

    /// Slots that are enough to time a scan of so many queries, in some ten microseconds.
    pub(super) fn stretch(&self, queries: usize) -> u32 {
        const VALUES: usize = 64 << 10;
        (VALUES / (self.index.dimension * queries)).clamp(16, 1024) as u32
    }
}

impl Prepared<'_, '_> {
    /// After a scan that took so long: walks as well, where there is a graph.
    pub(super) fn measure_walk(&self, took: Duration, scratch: &mut Scratch) -> Result<()> {
        let Some(linked) = &self.linked else {
            return Ok(());
        };
        if self.costs().may_measure(1, took, self.walk_cost).is_some() {
            self.walk_graph(linked, &self.measure(), scratch)?;
        }
        Ok(())
    }

    /// After a walk that took so long: scans a stretch of the points.
    pub(super) fn measure_scan(&self, took: Duration) {
        self.measure_stretch(took, &[self.measure()]);
    }

    /// After searches that walked for so long, maybe not all: scans a stretch for all together.
    pub(super) fn measure_tile(searches: &[Prepared], took: Duration) {
        let by = |plan| searches.iter().filter(move |search| search.plan == plan);
        let measures: Vec<_> = by(Plan::Graph).map(Prepared::measure).collect();
        if let Some(first) = by(Plan::Graph).next()
            && measures.len() + by(Plan::Scan).count() > 1
        {
            first.measure_stretch(took, &measures);
        }
    }

    pub(super) fn measure_stretch(&self, took: Duration, measures: &[Measure]) {
        let (view, costs, queries) = (self.view, self.costs(), measures.len());
        let cost = costs.scan(view.stretch(queries), queries) * queries as f32;
        if view.is_worth_timing()
            && let Some(turn) = costs.may_measure(queries, took, cost)
            && let Some((slots, took)) = view.time_stretch(turn, measures)
        {
            costs.note_scan(slots, queries, took);
        }
    }
}

/// A number below `end` for each turn, far from those of other turns.
fn scattered(turn: u32, end: u32) -> u32 {
    // The golden ratio of 2³²: its multiples fill the range evenly.
    let spread = (turn + 1).wrapping_mul(0x9e37_79b9);
    ((u64::from(spread) * u64::from(end)) >> 32) as u32
}
