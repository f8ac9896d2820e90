//! A search from query to ranked ids: candidates in single precision by the cheaper of two ways,
//! then the final order in double precision, ties by insertion.

pub mod best;
pub mod plan;
pub mod scan;

use std::{
    slice,
    sync::Arc,
    time::{Duration, Instant},
};

use best::{Candidate, reserve};
use plan::{MetricCosts, Plan};
use scan::{Scan, Scope};

use super::{Arena, Index, PointId};
use crate::{
    Metric, Result,
    hnsw::{Neighbor, Scratch},
    index::linking::{activity::Running, linked::LinkedGraph},
    sync::epoch::Pin,
    vectors::{kernels, measure::Measure, points::Points},
};

/// One neighbour of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The id of the point.
    pub id: PointId,
    /// Its rank under the metric: squared L2, L1, differing positions, or `1 - cos`.
    pub rank: f64,
}

/// What a search asks for. `query` has the index's dimension and finite values.
#[derive(Clone, Copy, Debug)]
pub struct Request<'q> {
    /// The similarity.
    pub metric: Metric,
    /// The vector whose neighbours are wanted.
    pub query: &'q [f32],
    /// How many are wanted, at least 1; all points when there are fewer.
    pub limit: usize,
    /// The breadth of a graph search: at least `limit` is used, and the number of points or more
    /// gives the exact answer.
    pub ef: usize,
}

/// The points that searches see: those of one moment, whatever is written meanwhile.
pub struct View<'i> {
    index: &'i Index,
    _running: Running<'i>,
    /// Whatever slot a search meets, no point that comes later gets it before the view is dropped.
    _pin: Pin<'i>,
    pub(super) sequence: u64,
    slots: u32,
    /// Points that it contains, or fewer.
    pub(super) live: u64,
}

/// A search that knows its way and what that costs, ready to run.
pub struct Prepared<'v, 'q> {
    view: &'v View<'v>,
    request: Request<'q>,
    plan: Plan,
    /// The graph that could answer, taken or not.
    linked: Option<Arc<LinkedGraph>>,
    scan_cost: f32,
    walk_cost: f32,
    /// The cost of the final order.
    final_cost: f32,
}

impl Index {
    /// What a search that starts now sees.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let (running, pin) = (self.enter(), self.epochs.pin());
        // The sequence first: every point that it contains then has its slot.
        let (sequence, live) = self.arena.visible_points();
        View {
            index: self,
            _running: running,
            _pin: pin,
            sequence,
            slots: self.arena.slots(),
            live,
        }
    }

    /// The points nearest to a query, closest first, ties by insertion.
    pub fn search(&self, request: Request, scratch: &mut Scratch) -> Result<Vec<Hit>> {
        self.view().prepare(request).run(scratch)
    }
}

impl View<'_> {
    /// Chooses the way of a search. A metric asked for the first time gets its graph begun here,
    /// as soon as walking it would pay; until it is there, scans answer.
    #[must_use]
    pub fn prepare<'q>(&self, mut request: Request<'q>) -> Prepared<'_, 'q> {
        let index = self.index;
        // Not the number of live points: the writer counts a delete before the view contains it.
        request.limit = request.limit.min(self.slots as usize).max(1);
        request.ef = request.ef.max(request.limit);
        let costs = index.costs.of(request.metric);
        let is_ordinary = kernels::is_ordinary(request.query);
        if costs.is_unknown() {
            self.measure_first(&request);
        }
        let odd = index.odd().len();
        let mut prepared = Prepared {
            view: self,
            request,
            plan: Plan::Scan,
            linked: None,
            scan_cost: costs.scan(self.slots, 1),
            walk_cost: costs.walk(request.ef),
            final_cost: costs.exact(with_margin(request.limit).min(self.slots as usize) + odd),
        };
        if !is_ordinary {
            prepared.plan = Plan::Exact;
            prepared.scan_cost = costs.exact(self.slots as usize);
        } else if (request.ef as u64) < self.live {
            prepared.consider_graph(costs);
        }
        prepared
    }

    /// Whether the view contains the point in `slot`.
    fn contains(&self, slot: u32) -> bool {
        slot < self.slots && self.index.arena.is_visible(slot, self.sequence)
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            arena: &self.index.arena,
            sequence: self.sequence,
            dimension: self.index.dimension,
        }
    }

    /// Times ranks of each kind over the stored vectors, once there are enough to time.
    fn measure_first(&self, request: &Request) {
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
    fn is_worth_timing(&self) -> bool {
        const LEAST_VALUES: usize = 4096;
        self.slots as usize * self.index.dimension >= LEAST_VALUES
    }

    /// Nanoseconds for each of some slots from anywhere in the arena: as many of `count` as hold a
    /// point, if any does.
    fn time_ranks(&self, turn: u32, count: u32, rank: impl Fn(&Arena, &[u32])) -> Option<f32> {
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
    fn time_stretch(&self, turn: u32, measures: &[Measure]) -> Option<(u32, Duration)> {
        let length = self.stretch(measures.len()).min(self.slots);
        let begin = scattered(turn, self.slots - length + 1);
        let scan = |&measure| Scan::new(measure, 1).ok();
        let mut scans = measures.iter().map(scan).collect::<Option<Vec<_>>>()?;
        let start = Instant::now();
        scan::scan(self.scope(), begin..begin + length, &mut scans);
        Some((length, start.elapsed()))
    }

    /// Slots that are enough to time a scan of so many queries, in some ten microseconds.
    fn stretch(&self, queries: usize) -> u32 {
        const VALUES: usize = 64 << 10;
        (VALUES / (self.index.dimension * queries)).clamp(16, 1024) as u32
    }
}

impl<'v, 'q> Prepared<'v, 'q> {
    /// The way this search will go.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// What this search will take, as far as searches before it tell.
    #[must_use]
    pub fn cost(&self) -> Duration {
        let found = match self.plan {
            Plan::Graph => self.walk_cost,
            Plan::Scan | Plan::Exact => self.scan_cost,
        };
        Duration::from_secs_f32((found + self.final_cost) / 1e9)
    }

    /// The points that this search looks at, or about as many.
    fn work(&self) -> u64 {
        match self.plan {
            Plan::Graph => self.request.ef as u64,
            Plan::Scan | Plan::Exact => self.view.slots.into(),
        }
    }

    /// The same search by a way of the caller's choice: `Graph` only where there is one to walk.
    #[must_use]
    pub fn by(mut self, plan: Plan) -> Self {
        if plan != Plan::Graph || self.linked.is_some() {
            self.plan = plan;
        }
        self
    }

    /// Answers the search.
    pub fn run(&self, scratch: &mut Scratch) -> Result<Vec<Hit>> {
        match self.run_at_once(scratch)? {
            Some(hits) => Ok(hits),
            // The graph could not reach enough points that are left, or too many lie in between
            // that are not: only a scan is sure to.
            None => self.scan(),
        }
    }

    /// Answers the search in the way that it was prepared for, or not at all where a walk does not
    /// find enough. What it takes is then bounded by the patience of the scratch.
    pub fn run_at_once(&self, scratch: &mut Scratch) -> Result<Option<Vec<Hit>>> {
        match (self.plan, &self.linked) {
            (Plan::Graph, Some(linked)) => {
                let hits = self.walk(linked, scratch)?;
                Ok(Some(hits).filter(|hits| hits.len() >= self.request.limit))
            }
            (Plan::Exact, _) => self.rank_all().map(Some),
            _ => {
                let start = Instant::now();
                let hits = self.scan()?;
                self.measure_walk(start.elapsed(), scratch)?;
                Ok(Some(hits))
            }
        }
    }

    /// Runs searches under one metric that were prepared in one view: those that scan go over the
    /// points together, then those that do not one after the other, for as long as `goes_on` says
    /// so, which is told how many candidates there were so far. The rest has no answer.
    pub fn run_together(
        mut searches: Vec<Prepared>,
        scratch: &mut Scratch,
        goes_on: impl Fn(u64) -> bool,
    ) -> Result<Vec<Option<Vec<Hit>>>> {
        Prepared::join(&mut searches);
        let mut answers: Vec<Option<Vec<Hit>>> = searches.iter().map(|_| None).collect();
        let (together, alone): (Vec<_>, Vec<_>) = searches
            .iter()
            .enumerate()
            .partition(|(_, search)| search.plan == Plan::Scan);
        let scanning: Vec<&Prepared> = together.iter().map(|&(_, search)| search).collect();
        let start = Instant::now();
        let found = Prepared::scan_together(&scanning)?;
        if let Some(first) = scanning.first() {
            first.measure_walk(start.elapsed(), scratch)?;
        }
        let mut work: u64 = 0;
        for (&(number, search), hits) in together.iter().zip(found) {
            answers[number] = Some(hits);
            work = work.saturating_add(search.work());
        }
        let mut walked = 0.0;
        for &(number, search) in &alone {
            if !goes_on(work) {
                break;
            }
            answers[number] = Some(search.run(scratch)?);
            work = work.saturating_add(search.work());
            if search.plan == Plan::Graph {
                walked += search.walk_cost;
            }
        }
        Prepared::measure_tile(&searches, Duration::from_secs_f32(walked / 1e9));
        Ok(answers)
    }

    fn measure(&self) -> Measure<'q> {
        Measure::new(self.request.metric, self.request.query)
    }

    fn costs(&self) -> &'v MetricCosts {
        self.view.index.costs.of(self.request.metric)
    }

    fn consider_graph(&mut self, costs: &MetricCosts) {
        let index = self.view.index;
        let Some(linked) = index.graph(self.request.metric).current() else {
            if self.walk_cost < self.scan_cost {
                index.want_graph(self.request.metric);
            }
            return;
        };
        if !linked.caught_up() {
            // Answers are exact until then.
            return;
        }
        self.walk_cost += costs.scan(linked.tail_len(self.view.slots), 1);
        self.plan = costs.choose(self.request.ef, self.scan_cost, self.walk_cost);
        self.linked = Some(linked);
    }

    /// Makes searches that would walk one by one scan instead, where scanning together costs less.
    fn join(searches: &mut [Prepared]) {
        let count = |plan| searches.iter().filter(|search| search.plan == plan).count();
        let (walks, scans) = (count(Plan::Graph), count(Plan::Scan));
        let [first, ..] = searches else { return };
        if walks == 0 || walks + scans < 2 {
            return;
        }
        let scanning = first.costs().scan(first.view.slots, walks + scans) * walks as f32;
        let walking = |search: &&mut Prepared| search.plan == Plan::Graph;
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

    pub(super) fn walk(&self, linked: &LinkedGraph, scratch: &mut Scratch) -> Result<Vec<Hit>> {
        let Prepared { view, request, .. } = *self;
        let start = Instant::now();
        let measure = self.measure();
        let wanted = with_margin(request.limit);
        let mut tail_scan = Scan::new(measure, wanted)?;
        // The tail first: a point that is linked meanwhile is then met twice rather than missed.
        let tail = linked.tail(view.slots);
        let next = tail.next.clone();
        scan::scan(view.scope(), next, slice::from_mut(&mut tail_scan));
        let mut best = tail_scan.best;
        let arena = &view.index.arena;
        let candidate = |rank, slot| Candidate {
            rank,
            slot,
            sequence: arena.sequence(slot),
        };
        for &slot in &tail.refilled {
            if arena.is_visible(slot, view.sequence) && !arena.is_odd(slot) {
                best.offer(candidate(measure.rank(arena, slot), slot));
            }
        }
        self.walk_graph(linked, &measure, scratch)?;
        view.index.note_passed(scratch.passed(), request.ef);
        if scratch.gave_up() {
            return Ok(Vec::new());
        }
        let found = scratch.results().iter();
        for neighbor in found.clone() {
            arena.prefetch_hit(neighbor.slot);
        }
        for &Neighbor { rank, slot } in found.filter(|found| !tail.contains(found.slot)) {
            best.offer(candidate(rank, slot));
        }
        let mut slots = slots_of(&best.into_sorted());
        // A walk may miss what equals the query.
        let accept = |slot| view.contains(slot);
        let graph = &linked.graph;
        let patience = scratch.patience();
        if !graph.list_equal(arena, request.query, wanted, patience, accept, &mut slots)? {
            return Ok(Vec::new());
        }
        let hits = self.rank(self.with_odd(slots))?;
        self.measure_scan(start.elapsed());
        Ok(hits)
    }

    fn walk_graph(
        &self,
        linked: &LinkedGraph,
        measure: &Measure,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (arena, view, ef) = (&self.view.index.arena, self.view, self.request.ef);
        let accept = |slot| view.contains(slot);
        let start = Instant::now();
        let limit = self.request.limit;
        let graph = &linked.graph;
        let ranks = graph.search(arena, measure, ef, limit, accept, scratch)?;
        self.costs().note_walk(ef, ranks, start.elapsed());
        Ok(())
    }

    fn scan(&self) -> Result<Vec<Hit>> {
        let found = Prepared::scan_together(&[self])?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    fn scan_together(searches: &[&Prepared]) -> Result<Vec<Vec<Hit>>> {
        let [first, ..] = searches else {
            return Ok(Vec::new());
        };
        let view = first.view;
        let mut scans = Vec::new();
        reserve(&mut scans, searches.len())?;
        for search in searches {
            scans.push(Scan::new(
                search.measure(),
                with_margin(search.request.limit),
            )?);
        }
        let start = Instant::now();
        scan::scan(view.scope(), 0..view.slots, &mut scans);
        if view.is_worth_timing() {
            first
                .costs()
                .note_scan(view.slots, scans.len(), start.elapsed());
        }
        let finish = |(search, scan): (&&Prepared, Scan)| search.finish_scan(scan);
        searches.iter().zip(scans).map(finish).collect()
    }

    fn finish_scan(&self, scan: Scan) -> Result<Vec<Hit>> {
        let Scan { measure, best } = scan;
        let may_have_missed = best.is_full() && !measure.is_exact();
        let candidates = best.into_sorted();
        let last_sure = candidates
            .get(self.request.limit - 1)
            .map_or(f32::INFINITY, |last| last.rank);
        let reach = measure.upper_bound(last_sure);
        let covers = candidates.last().is_none_or(|worst| worst.rank > reach);
        if covers || !may_have_missed {
            return self.rank(self.with_odd(slots_of(&candidates)));
        }
        // More points than the margin holds are as near as single precision can tell: take them
        // all, or the exact answer would be a matter of rounding.
        let near = scan::within(self.view.scope(), 0..self.view.slots, &measure, reach)?;
        self.rank(self.with_odd(near))
    }

    /// Ranks every point in double precision.
    fn rank_all(&self) -> Result<Vec<Hit>> {
        let view = self.view;
        let visible = |&slot: &u32| view.index.arena.is_visible(slot, view.sequence);
        self.rank((0..view.slots).filter(visible).collect())
    }

    /// The candidates and all points that only double precision can rank, each once.
    fn with_odd(&self, mut slots: Vec<u32>) -> Vec<u32> {
        let odd = self.view.index.odd();
        let visible = |&slot: &u32| self.view.contains(slot);
        slots.extend(odd.iter().copied().filter(visible));
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// The final order of the candidates.
    fn rank(&self, slots: Vec<u32>) -> Result<Vec<Hit>> {
        let (arena, count) = (&self.view.index.arena, slots.len());
        let start = Instant::now();
        let mut ranked: Vec<(f64, u32)> = Vec::new();
        reserve(&mut ranked, count)?;
        let rank = |slot| (exact_rank(&self.request, arena.vector(slot)), slot);
        ranked.extend(slots.into_iter().map(rank));
        if count > 0 {
            self.costs().note_exact(count, start.elapsed());
        }
        ranked.sort_unstable_by(|a, b| {
            let by_insertion = || arena.sequence(a.1).cmp(&arena.sequence(b.1));
            a.0.total_cmp(&b.0).then_with(by_insertion)
        });
        ranked.truncate(self.request.limit);
        for &(_, slot) in &ranked {
            self.view.index.verify(slot)?;
        }
        let mut hits = Vec::new();
        reserve(&mut hits, ranked.len())?;
        hits.extend(ranked.into_iter().map(|(rank, slot)| Hit {
            id: arena.id(slot),
            rank,
        }));
        Ok(hits)
    }
}

/// Now and then the way that was not taken is measured, apart from the answer.
impl Prepared<'_, '_> {
    /// After a scan that took so long: walks as well, where there is a graph.
    fn measure_walk(&self, took: Duration, scratch: &mut Scratch) -> Result<()> {
        let Some(linked) = &self.linked else {
            return Ok(());
        };
        if self.costs().may_measure(1, took, self.walk_cost).is_some() {
            self.walk_graph(linked, &self.measure(), scratch)?;
        }
        Ok(())
    }

    /// After a walk that took so long: scans a stretch of the points.
    fn measure_scan(&self, took: Duration) {
        self.measure_stretch(took, &[self.measure()]);
    }

    /// After searches that walked for so long, maybe not all: scans a stretch for all together.
    fn measure_tile(searches: &[Prepared], took: Duration) {
        let by = |plan| searches.iter().filter(move |search| search.plan == plan);
        let measures: Vec<_> = by(Plan::Graph).map(Prepared::measure).collect();
        if let Some(first) = by(Plan::Graph).next()
            && measures.len() + by(Plan::Scan).count() > 1
        {
            first.measure_stretch(took, &measures);
        }
    }

    fn measure_stretch(&self, took: Duration, measures: &[Measure]) {
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

fn slots_of(candidates: &[Candidate]) -> Vec<u32> {
    candidates.iter().map(|candidate| candidate.slot).collect()
}

fn exact_rank(request: &Request, vector: &[f32]) -> f64 {
    kernels::distance(request.metric, request.query, vector)
}

/// Candidates to keep for `limit` results: some more, because the order in double precision can
/// differ from the one in single precision where distances are nearly equal.
fn with_margin(limit: usize) -> usize {
    limit + limit / 8 + 16
}

#[cfg(test)]
#[cfg(not(vectord_shuttle))]
mod tests {
    use super::*;
    use crate::index::{
        Linker,
        testing::{id, index},
    };

    fn vectors(count: usize, dimension: usize) -> Vec<Vec<f32>> {
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let vector = |_| (0..dimension).map(|_| random()).collect();
        (0..count).map(vector).collect()
    }

    fn request(query: &[f32], limit: usize, ef: usize) -> Request<'_> {
        Request {
            metric: Metric::Euclidean,
            query,
            limit,
            ef,
        }
    }

    fn link_all(index: &Arc<Index>) {
        let graph = index.graph(Metric::Euclidean);
        graph.want();
        let linker = Linker::start(index, 2).unwrap();
        while graph.current().unwrap().tail_len(index.arena.slots()) > 0 {
            std::thread::yield_now();
        }
        linker.stop();
    }

    #[test]
    fn a_delete_that_is_not_published_yet_takes_nothing_from_a_search_for_all_points() {
        let index = index(&[vec![1.0], vec![1.0], vec![1.0]]);
        let search = || {
            let mut scratch = Scratch::new();
            let hits = index.search(request(&[0.0], usize::MAX, 1), &mut scratch);
            let number = |hit: &Hit| u128::from_be_bytes(hit.id);
            hits.unwrap().iter().map(number).collect::<Vec<_>>()
        };
        assert!(index.delete(&id(1), 4));
        assert_eq!(search(), [1, 2, 3]);
        index.publish(4);
        assert_eq!(search(), [2, 3]);
    }

    #[test]
    fn few_points_are_scanned_and_many_are_walked_by_what_was_measured() {
        for (count, dimension, ef, expected) in
            [(200, 64, 100, Plan::Scan), (20_000, 16, 10, Plan::Graph)]
        {
            let index = index(&vectors(count, dimension));
            link_all(&index);
            let mut scratch = Scratch::new();
            for query in vectors(50, dimension) {
                let view = index.view();
                let search = view.prepare(request(&query, 1, ef));
                assert_eq!(search.plan(), expected, "{count} points");
                assert!(search.cost() > Duration::ZERO);
                search.run(&mut scratch).unwrap();
            }
        }
    }

    #[test]
    fn a_graph_is_not_walked_before_it_has_caught_up() {
        let index = index(&vectors(20_000, 16));
        let graph = index.graph(Metric::Euclidean);
        graph.want();
        let linked = graph.current().unwrap();
        let mut scratch = Scratch::new();
        while linked.graph.len() < 18_000 {
            let claim = linked.claim(20_000).unwrap();
            for slot in claim.slots() {
                linked
                    .graph
                    .insert(&index.arena, slot, &mut scratch)
                    .unwrap();
            }
            linked.finish(&claim, 20_000);
        }
        let plan = || index.view().prepare(request(&[0.5; 16], 1, 10)).plan();
        assert_eq!(plan(), Plan::Scan);
        link_all(&index);
        assert_eq!(plan(), Plan::Graph);
    }

    #[test]
    fn searches_that_scan_together_find_out_that_walks_have_become_cheaper() {
        let index = index(&vectors(20_000, 16));
        link_all(&index);
        let queries = vectors(16, 16);
        let mut scratch = Scratch::new();
        let view = index.view();
        let first = view.prepare(request(&queries[0], 1, 10));
        assert!(first.cost() > Duration::ZERO);
        let costs = index.costs.of(Metric::Euclidean);
        // Far more than walks take, and more than a scan.
        while costs.walk(10) < 2.0 * costs.scan(20_000, 1) {
            costs.note_walk(10, 20_000, Duration::from_secs(1));
        }
        let prepare = || -> Vec<_> {
            let prepared = queries
                .iter()
                .map(|query| view.prepare(request(query, 1, 10)));
            prepared.collect()
        };
        assert!(prepare().iter().all(|search| search.plan() == Plan::Scan));
        let walks = (0..20_000).any(|_| {
            Prepared::run_together(prepare(), &mut scratch, |_| true).unwrap();
            prepare()[0].plan() == Plan::Graph
        });
        assert!(walks);
    }

    #[test]
    fn a_graph_is_begun_once_walking_would_pay() {
        let wants = |count, ef| {
            let index = index(&vectors(count, 16));
            let query = [0.5; 16];
            assert_eq!(
                index.view().prepare(request(&query, 1, ef)).plan(),
                Plan::Scan
            );
            !index.graphs().is_empty()
        };
        assert!(!wants(10, 9), "there is nothing to time yet");
        assert!(
            !wants(256, 255),
            "a walk takes more ranks than there are points"
        );
        assert!(wants(50_000, 20));
    }

    #[test]
    fn a_breadth_of_all_points_is_scanned_and_exact() {
        let index = index(&vectors(3_000, 8));
        link_all(&index);
        // One more is on its way, which no search sees yet.
        index
            .insert(id(3_001), index.arena.location(0), 3_001)
            .unwrap();
        let view = index.view();
        for query in vectors(20, 8) {
            let mut scratch = Scratch::new();
            let search = view.prepare(request(&query, 10, 3_000)).by(Plan::Graph);
            assert_eq!(search.plan(), Plan::Scan);
            let all = view.prepare(request(&query, 10, 1)).by(Plan::Exact);
            let expected = all.run(&mut scratch).unwrap();
            assert_eq!(search.run(&mut scratch).unwrap(), expected);
        }
    }

    /// An index of which all points near the middle are deleted and none is reclaimed.
    fn with_a_hole(vectors: &[Vec<f32>], deleted: usize) -> Arc<Index> {
        let index = index(vectors);
        link_all(&index);
        let request = request(&[0.5; 4], deleted, vectors.len());
        let nearest = index.search(request, &mut Scratch::new()).unwrap();
        let sequence = vectors.len() as u64 + 1;
        for hit in nearest {
            assert!(index.delete(&hit.id, sequence));
        }
        index.publish(sequence);
        index
    }

    #[test]
    fn a_search_that_must_not_take_long_is_given_up_among_deleted_points() {
        let vectors = vectors(20_000, 4);
        for deleted in [100, 2_000] {
            let index = with_a_hole(&vectors, deleted);
            let view = index.view();
            let search = view.prepare(request(&[0.5; 4], 10, 20)).by(Plan::Graph);
            let mut impatient = Scratch::impatient();
            let at_once = search.run_at_once(&mut impatient).unwrap();
            let passed = impatient.passed();
            assert!((deleted.min(1_000)..=1_000).contains(&passed), "{passed}");
            assert_eq!(at_once.is_some(), deleted < 1_000);

            let mut scratch = Scratch::new();
            let answer = search.run(&mut scratch).unwrap();
            let exact = view.prepare(request(&[0.5; 4], 10, 20)).by(Plan::Exact);
            assert_eq!(answer, exact.run(&mut scratch).unwrap());
            assert!(at_once.is_none_or(|hits| hits == answer));
        }
    }

    #[test]
    fn deleted_copies_are_not_gone_through_for_long() {
        let mut vectors = vectors(20_000, 4);
        vectors[..3_000].fill(vec![0.5; 4]);
        let index = with_a_hole(&vectors, 2_999);
        let view = index.view();
        let search = view.prepare(request(&[0.5; 4], 1, 1)).by(Plan::Graph);
        let mut impatient = Scratch::impatient();
        assert_eq!(search.run_at_once(&mut impatient).unwrap(), None);
        assert_eq!(impatient.passed(), 1_000);
        let hits = search.run(&mut Scratch::new()).unwrap();
        assert!(hits[0].rank <= 0.0, "one copy is left");
    }

    #[test]
    fn a_walk_finds_a_point_that_its_graph_does_not_hold_yet() {
        let all = vectors(20_000, 16);
        let index = index(&all);
        link_all(&index);
        // It is as near as the point whose vector it has, and came later.
        let same = index.arena.location(7);
        index.insert(id(20_001), same, 20_001).unwrap();
        index.publish(20_001);
        let view = index.view();
        let search = view.prepare(request(&all[7], 2, 10)).by(Plan::Graph);
        assert_eq!(search.plan(), Plan::Graph);
        let hits = search.run(&mut Scratch::new()).unwrap();
        let ids: Vec<_> = hits.iter().map(|hit| hit.id).collect();
        assert_eq!(ids, [id(8), id(20_001)]);
    }

    #[test]
    fn a_query_beyond_single_precision_is_ranked_in_double() {
        let index = index(&vectors(20_000, 16));
        link_all(&index);
        let view = index.view();
        let mut far = [1e25; 16];
        far[3] = 3e25;
        let search = view.prepare(request(&far, 10, 10));
        assert_eq!(search.plan(), Plan::Exact);
        // A graph that could answer changes nothing.
        assert_eq!(search.by(Plan::Graph).plan(), Plan::Exact);
    }

    #[test]
    fn searches_that_nobody_waits_for_are_left_undone() {
        let index = index(&vectors(20_000, 16));
        link_all(&index);
        let queries = vectors(3, 16);
        let view = index.view();
        let walk = |query| view.prepare(request(query, 1, 10)).by(Plan::Graph);
        let walks = queries.iter().map(|query| walk(query)).collect();
        let goes_on = |work| work < 20;
        let answers = Prepared::run_together(walks, &mut Scratch::new(), goes_on).unwrap();
        let done: Vec<_> = answers.iter().map(Option::is_some).collect();
        assert_eq!(done, [true, true, false]);
    }

    #[test]
    fn each_way_gives_the_same_answer_every_time() {
        let index = index(&vectors(5_000, 8));
        link_all(&index);
        let queries = vectors(40, 8);
        let mut scratch = Scratch::new();
        for plan in [Plan::Scan, Plan::Graph] {
            let mut answer_all = || {
                let answer = |query: &Vec<f32>| {
                    let view = index.view();
                    let search = view.prepare(request(query, 10, 50)).by(plan);
                    assert_eq!(search.plan(), plan);
                    search.run(&mut scratch).unwrap()
                };
                queries.iter().map(answer).collect::<Vec<_>>()
            };
            let first = answer_all();
            assert_eq!(answer_all(), first);
            assert!(first.iter().all(|hits| hits.len() == 10));
        }
    }
}
