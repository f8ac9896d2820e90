//! Deleted points are removed from a graph in place, and the graph stays as good as a fresh build.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use vectord_engine::{
    Metric, Params,
    layers::{
        hnsw::{Graph, Scratch},
        vectors::{kernels, measure::Measure, points::Points, quantize::Codes},
    },
};

const DIMENSION: usize = 32;
const COUNT: u32 = 6_000;
const QUERIES: u32 = 2_000;
const PARAMS: Params = Params {
    m: 16,
    ef_construction: 100,
};

/// Points by slot, some of them deleted. They have codes, as in the service.
struct Slots {
    vectors: Vec<Vec<f32>>,
    codes: Codes,
    inverse_norms: Vec<f32>,
    gone: Vec<bool>,
}

impl Points for Slots {
    fn vector(&self, slot: u32) -> &[f32] {
        &self.vectors[slot as usize]
    }

    fn inverse_norm(&self, slot: u32) -> f32 {
        self.inverse_norms[slot as usize]
    }

    fn is_gone(&self, slot: u32) -> bool {
        self.gone[slot as usize]
    }

    fn codes(&self) -> Option<&Codes> {
        Some(&self.codes)
    }
}

impl Slots {
    fn new(vectors: Vec<Vec<f32>>) -> Self {
        let codes = Codes::new(DIMENSION);
        for (slot, vector) in (0..).zip(&vectors) {
            codes.store(slot, vector).unwrap();
        }
        Slots {
            codes,
            inverse_norms: vectors.iter().map(|v| kernels::inverse_norm(v)).collect(),
            gone: vec![false; vectors.len()],
            vectors,
        }
    }

    fn put(&mut self, slot: u32, vector: Vec<f32>) {
        self.inverse_norms[slot as usize] = kernels::inverse_norm(&vector);
        self.codes.store(slot, &vector).unwrap();
        self.vectors[slot as usize] = vector;
        self.gone[slot as usize] = false;
    }

    fn len(&self) -> u32 {
        self.vectors.len() as u32
    }

    fn live(&self) -> impl Iterator<Item = u32> {
        (0..self.len()).filter(|&slot| !self.is_gone(slot))
    }

    /// The exact neighbours of a query.
    fn nearest(&self, metric: Metric, query: &[f32], count: usize) -> Vec<u32> {
        let measure = Measure::new(metric, query);
        let mut ranked: Vec<(f32, u32)> = self
            .live()
            .map(|slot| (measure.rank(self, slot), slot))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked.truncate(count);
        ranked.into_iter().map(|(_, slot)| slot).collect()
    }
}

/// Pseudo-random numbers from 0 to 1, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u64 << 24) as f32
    }

    fn below(&mut self, end: usize) -> usize {
        self.next();
        (self.0 >> 33) as usize % end
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSION).map(|_| self.next()).collect()
    }
}

/// The distribution of vectors.
enum Source {
    Uniform,
    /// Around these centres.
    Clustered(Vec<Vec<f32>>),
    /// With one value so large that codes say nothing of the others.
    Behind(f32),
}

impl Source {
    /// How many times as many ranks a search may compute as in a fresh build. Where codes say nothing,
    /// a walk by them has no aim, and its length is a matter of chance.
    fn most_ranks(&self) -> f64 {
        match self {
            Source::Uniform | Source::Clustered(_) => 1.1,
            Source::Behind(_) => 1.3,
        }
    }

    fn all() -> [Source; 3] {
        let mut random = Random(3);
        let centres = (0..40).map(|_| random.vector()).collect();
        [
            Source::Uniform,
            Source::Clustered(centres),
            Source::Behind(1_000.0),
        ]
    }

    fn draw(&self, random: &mut Random) -> Vec<f32> {
        match self {
            Source::Uniform => random.vector(),
            Source::Clustered(centres) => {
                let centre = &centres[random.below(centres.len())];
                let spread = 0.3;
                centre.iter().map(|x| x + spread * random.next()).collect()
            }
            Source::Behind(large) => {
                let mut vector = random.vector();
                vector[0] += large;
                vector
            }
        }
    }

    fn draw_many(&self, count: u32, random: &mut Random) -> Vec<Vec<f32>> {
        (0..count).map(|_| self.draw(random)).collect()
    }
}

fn build(metric: Metric, points: &Slots) -> Graph {
    let graph = Graph::new(metric, PARAMS);
    insert(&graph, points, points.live());
    graph
}

fn insert(graph: &Graph, points: &Slots, slots: impl Iterator<Item = u32>) {
    let mut scratch = Scratch::new();
    for slot in slots {
        graph.insert(points, slot, &mut scratch).unwrap();
    }
}

/// Removes the deleted points from the graph, and returns the ones that could be removed.
fn repair(graph: &Graph, points: &Slots) -> Vec<u32> {
    let dead: Vec<u32> = (0..points.len())
        .filter(|&slot| points.is_gone(slot))
        .collect();
    let mut scratch = Scratch::new();
    let leaving = graph.mark_leaving(&dead).unwrap();
    graph.leave_tree(points, &leaving, &mut scratch).unwrap();
    graph.move_entries();
    graph
        .relink(points, 0..graph.slots(), &mut scratch)
        .unwrap();
    graph.erase(&leaving);
    leaving
}

/// A query with its ten nearest points.
type Answered<'q> = (&'q [f32], Vec<u32>);

fn answered<'q>(queries: &'q [Vec<f32>], metric: Metric, points: &Slots) -> Vec<Answered<'q>> {
    let nearest = |query| (query, points.nearest(metric, query, 10));
    queries.iter().map(|query| nearest(&**query)).collect()
}

/// Recall of the ten nearest, and computed distances per query.
fn quality(graph: &Graph, points: &Slots, queries: &[Answered], ef: usize) -> (f64, f64) {
    let mut scratch = Scratch::new();
    let (mut found, mut ranks) = (0, 0);
    for (query, nearest) in queries {
        let measure = Measure::new(graph.metric(), query);
        let accept = |slot| !points.is_gone(slot);
        ranks += graph
            .search(points, &measure, ef, 10, accept, &mut scratch)
            .unwrap();
        assert_eq!(scratch.results().len(), 10);
        found += scratch
            .results()
            .iter()
            .filter(|n| nearest.contains(&n.slot))
            .count();
    }
    let count = queries.len() as f64;
    (found as f64 / (10.0 * count), ranks as f64 / count)
}

/// Deletes a random half of the points.
fn delete_half(points: &mut Slots, random: &mut Random) {
    for slot in 0..points.len() {
        if random.next() < 0.5 {
            points.gone[slot as usize] = true;
        }
    }
}

/// Breadths at which graphs are compared.
const BREADTHS: [usize; 3] = [20, 50, 100];

/// The recall that a graph may lack compared with a fresh build.
const SLACK: f64 = 0.005;

fn assert_as_good_as_fresh(source: &Source, graph: &Graph, points: &Slots, queries: &[Vec<f32>]) {
    let fresh = build(graph.metric(), points);
    let queries = answered(queries, graph.metric(), points);
    for ef in BREADTHS {
        let (repaired, ranks) = quality(graph, points, &queries, ef);
        let (built, fresh_ranks) = quality(&fresh, points, &queries, ef);
        assert!(
            repaired >= built - SLACK,
            "ef {ef}: {repaired} against {built}"
        );
        assert!(
            ranks <= source.most_ranks() * fresh_ranks,
            "{ranks} ranks against {fresh_ranks}"
        );
    }
}

fn for_each_source(check: impl Fn(&Source, Metric)) {
    for source in Source::all() {
        for metric in [Metric::Euclidean, Metric::Cosine] {
            check(&source, metric);
        }
    }
}

#[test]
fn after_deleting_half_a_graph_is_as_good_as_a_fresh_build() {
    for_each_source(|source, metric| {
        let mut random = Random(1);
        let mut points = Slots::new(source.draw_many(COUNT, &mut random));
        let queries = source.draw_many(QUERIES, &mut random);
        let graph = build(metric, &points);
        delete_half(&mut points, &mut random);
        let gone = (0..points.len()).filter(|&slot| points.is_gone(slot));
        assert_eq!(repair(&graph, &points).len(), gone.count());
        assert_as_good_as_fresh(source, &graph, &points, &queries);
    });
}

#[test]
fn after_replacing_half_three_times_a_graph_is_as_good_as_a_fresh_build() {
    for_each_source(|source, metric| {
        let mut random = Random(2);
        let mut points = Slots::new(source.draw_many(COUNT, &mut random));
        let queries = source.draw_many(QUERIES, &mut random);
        let graph = build(metric, &points);
        for _ in 0..3 {
            replace_half(&graph, &mut points, source, &mut random);
        }
        assert_as_good_as_fresh(source, &graph, &points, &queries);
    });
}

#[test]
fn the_effort_of_a_query_does_not_grow_with_the_points_that_come_and_go() {
    let source = Source::Uniform;
    let mut random = Random(4);
    let mut points = Slots::new(source.draw_many(3_000, &mut random));
    let queries = source.draw_many(QUERIES, &mut random);
    let graph = build(Metric::Euclidean, &points);
    let slots = graph.slots();
    let effort = |points: &Slots| {
        let queries = answered(&queries, Metric::Euclidean, points);
        quality(&graph, points, &queries, 50).1
    };
    let before = effort(&points);
    for _ in 0..10 {
        replace_half(&graph, &mut points, &source, &mut random);
    }
    let after = effort(&points);
    assert!(after <= 1.05 * before, "{after} ranks, {before} at first");
    assert_eq!(graph.slots(), slots, "no slot was added");
}

/// Deletes a random half of the points and inserts as many new ones into their slots.
fn replace_half(graph: &Graph, points: &mut Slots, source: &Source, random: &mut Random) {
    let before = graph.len();
    delete_half(points, random);
    let free = repair(graph, points);
    for &slot in &free {
        let vector = source.draw(random);
        points.put(slot, vector);
    }
    insert(graph, points, free.into_iter());
    assert_eq!(graph.len(), before);
}

/// A search for every point must return every remaining point once.
fn assert_all_reachable(graph: &Graph, points: &Slots) {
    let live: Vec<u32> = points.live().collect();
    let mut scratch = Scratch::new();
    for &slot in live.iter().step_by(live.len() / 3 + 1) {
        let measure = Measure::of_slot(graph.metric(), points, slot);
        let accept = |slot| !points.is_gone(slot);
        graph
            .search(
                points,
                &measure,
                live.len(),
                live.len(),
                accept,
                &mut scratch,
            )
            .unwrap();
        let mut found: Vec<u32> = scratch.results().iter().map(|found| found.slot).collect();
        found.sort_unstable();
        assert_eq!(found, live);
    }
}

/// Deletes the points for which `goes` is true, then inserts new points into the slots. After each
/// step it searches for every point.
fn delete_and_refill(vectors: &[Vec<f32>], goes: impl Fn(&Slots, u32) -> bool) {
    for (metric, m) in [
        (Metric::Euclidean, 2),
        (Metric::Cosine, 3),
        (Metric::Euclidean, 16),
    ] {
        let mut points = Slots::new(vectors.to_vec());
        let graph = Graph::new(metric, Params { m, ..PARAMS });
        insert(&graph, &points, 0..points.len());
        for round in 0..3 {
            points.gone = (0..points.len()).map(|slot| goes(&points, slot)).collect();
            let gone = points.gone.iter().filter(|&&gone| gone).count();
            let free = repair(&graph, &points);
            assert!(free.len() <= gone);
            assert_all_reachable(&graph, &points);
            let mut random = Random(round);
            for &slot in &free {
                points.put(slot, random.vector());
            }
            insert(&graph, &points, free.into_iter());
            assert_all_reachable(&graph, &points);
        }
    }
}

fn uniform(count: u32) -> Vec<Vec<f32>> {
    Source::Uniform.draw_many(count, &mut Random(5))
}

#[test]
fn every_point_is_reachable_after_whole_clusters_are_deleted() {
    let mut vectors = uniform(2_000);
    for (index, vector) in vectors.iter_mut().enumerate() {
        vector[0] += (index / 250 * 1_000) as f32;
    }
    delete_and_refill(&vectors, |_, slot| slot / 250 % 2 == 1);
}

#[test]
fn every_point_is_reachable_after_the_first_points_are_deleted_which_hold_the_others() {
    delete_and_refill(&uniform(1_500), |_, slot| slot < 300);
}

#[test]
fn every_point_is_reachable_after_the_highest_points_are_deleted() {
    // Slots of all levels are deleted, and so every entry point.
    delete_and_refill(&uniform(800), |_, slot| slot % 16 != 7);
}

#[test]
fn the_last_point_is_found_and_new_ones_are_linked_to_it() {
    delete_and_refill(&uniform(1_000), |_, slot| slot != 444);
}

#[test]
fn a_graph_whose_points_are_all_deleted_is_empty_and_can_be_filled_again() {
    delete_and_refill(&uniform(1_000), |_, _| true);
}

#[test]
fn copies_stay_reachable_when_the_first_of_them_is_deleted() {
    let mut vectors = uniform(1_000);
    for vector in &mut vectors[300..600] {
        *vector = vec![0.5; DIMENSION];
    }
    delete_and_refill(&vectors, |_, slot| slot == 300);
    delete_and_refill(&vectors, |_, slot| (300..450).contains(&slot));
    delete_and_refill(&vectors, |_, slot| slot % 2 == 0);
}

#[test]
fn the_first_of_several_copies_stays_until_they_are_gone_too() {
    let mut vectors = uniform(50);
    vectors.splice(10..13, vec![vec![0.5; DIMENSION]; 3]);
    let mut points = Slots::new(vectors);
    let graph = build(Metric::Euclidean, &points);
    points.gone[10] = true;
    assert!(repair(&graph, &points).is_empty());
    points.gone[11] = true;
    assert_eq!(repair(&graph, &points), [11]);
    points.gone[12] = true;
    assert_eq!(repair(&graph, &points), [12, 10]);
}

#[test]
fn insertions_go_on_while_everything_around_them_is_deleted_but_still_there() {
    let mut points = Slots::new(uniform(600));
    let graph = Graph::new(Metric::Euclidean, PARAMS);
    insert(&graph, &points, 0..500);
    points.gone[..500].fill(true);
    // Deleted, but not leaving yet: a link to such a point is better than none.
    insert(&graph, &points, 500..550);
    let dead: Vec<u32> = (0..500).collect();
    let leaving = graph.mark_leaving(&dead).unwrap();
    // The deleted points are leaving, so new points link only to the fifty.
    insert(&graph, &points, 550..600);
    let mut scratch = Scratch::new();
    graph.leave_tree(&points, &leaving, &mut scratch).unwrap();
    graph.move_entries();
    graph
        .relink(&points, 0..graph.slots(), &mut scratch)
        .unwrap();
    graph.erase(&leaving);
    assert_eq!(graph.len(), 100);
    assert_all_reachable(&graph, &points);
}
