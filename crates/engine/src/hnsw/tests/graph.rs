//! Graphs that are built, searched, saved and lose points: what is found, and what is not.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use crate::{
    Error,
    hnsw::*,
    vectors::{kernels, measure::Measure, points::Points, quantize::Codes},
};

/// Vectors in memory, one for each slot.
struct Vectors {
    values: Vec<Vec<f32>>,
    inverse_norms: Vec<f32>,
    codes: Option<Codes>,
    gone: Vec<u32>,
}

impl Vectors {
    fn new(vectors: Vec<Vec<f32>>) -> Self {
        let inverse_norms = vectors.iter().map(|v| kernels::inverse_norm(v)).collect();
        Vectors {
            values: vectors,
            inverse_norms,
            codes: None,
            gone: Vec::new(),
        }
    }

    fn with_codes(mut self) -> Self {
        let codes = Codes::new(self.values[0].len());
        for (slot, vector) in (0..).zip(&self.values) {
            codes.store(slot, vector).unwrap();
        }
        self.codes = Some(codes);
        self
    }

    fn len(&self) -> u32 {
        self.values.len() as u32
    }
}

impl Points for Vectors {
    fn vector(&self, slot: u32) -> &[f32] {
        &self.values[slot as usize]
    }

    fn inverse_norm(&self, slot: u32) -> f32 {
        self.inverse_norms[slot as usize]
    }

    fn codes(&self) -> Option<&Codes> {
        self.codes.as_ref()
    }

    fn is_gone(&self, slot: u32) -> bool {
        self.gone.contains(&slot)
    }
}

/// Pseudo-random numbers from -1 to 1, the same in every run.
fn noise() -> impl FnMut() -> f32 {
    let mut state = 1_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

fn random(count: usize, dimension: usize) -> Vec<Vec<f32>> {
    let mut noise = noise();
    (0..count)
        .map(|_| (0..dimension).map(|_| noise()).collect())
        .collect()
}

fn build(metric: Metric, m: usize, points: &Vectors) -> Graph {
    let graph = Graph::new(
        metric,
        Params {
            m,
            ef_construction: 100,
        },
    );
    let mut scratch = Scratch::new();
    for slot in 0..points.len() {
        graph.insert(points, slot, &mut scratch).unwrap();
    }
    graph
}

/// The slots that a search for `query` returns.
fn found(graph: &Graph, points: &Vectors, query: &[f32], ef: usize) -> Vec<u32> {
    let mut scratch = Scratch::new();
    let measure = Measure::new(graph.metric(), query);
    graph
        .search(points, &measure, ef, ef, |_| true, &mut scratch)
        .unwrap();
    assert!(scratch.results().is_sorted(), "results come closest first");
    scratch
        .results()
        .iter()
        .map(|neighbor| neighbor.slot)
        .collect()
}

/// A search for every point must return every point once.
fn assert_all_reachable(graph: &Graph, points: &Vectors) {
    assert_eq!(graph.len(), points.len());
    for slot in [0, points.len() / 2, points.len() - 1] {
        let mut slots = found(graph, points, points.vector(slot), points.len() as usize);
        slots.sort_unstable();
        assert!(
            slots.into_iter().eq(0..points.len()),
            "{:?} from {slot}",
            graph.metric()
        );
    }
}

#[test]
fn an_empty_graph_finds_nothing() {
    let points = Vectors::new(Vec::new());
    let graph = build(Metric::Euclidean, 4, &points);
    assert!(graph.is_empty());
    assert!(!graph.contains(0));
    assert!(found(&graph, &points, &[1.0], 10).is_empty());
}

#[test]
fn a_point_is_contained_once_it_is_inserted_and_inserting_it_again_changes_nothing() {
    let points = Vectors::new(random(3, 4));
    let graph = build(Metric::Euclidean, 4, &points);
    graph.insert(&points, 1, &mut Scratch::new()).unwrap();
    assert_eq!(graph.len(), 3);
    assert!(graph.contains(2));
    assert!(!graph.contains(3));
    assert!(!graph.contains(u32::MAX));
}

#[test]
fn a_slot_out_of_range_is_refused() {
    let points = Vectors::new(random(1, 4));
    let graph = build(Metric::Euclidean, 4, &points);
    assert!(
        graph
            .insert(&points, u32::MAX, &mut Scratch::new())
            .is_err()
    );
}

#[test]
fn every_point_is_reachable_under_every_metric_and_degree() {
    let points = Vectors::new(random(3_000, 8));
    for metric in Metric::ALL {
        for m in [2, 3, 16] {
            assert_all_reachable(&build(metric, m, &points), &points);
        }
    }
}

#[test]
fn every_point_of_a_sorted_line_is_reachable() {
    let points = Vectors::new((0..4_000).map(|i| vec![i as f32, 1.0]).collect());
    assert_all_reachable(&build(Metric::Euclidean, 4, &points), &points);
}

#[test]
fn clusters_far_apart_stay_connected() {
    let mut points = random(4_000, 4);
    for (index, vector) in points.iter_mut().enumerate() {
        vector[0] += (index / 1_000 * 100_000) as f32;
    }
    let points = Vectors::new(points);
    assert_all_reachable(&build(Metric::Euclidean, 4, &points), &points);
}

#[test]
fn points_all_equally_far_from_each_other_stay_connected() {
    let one_hot = |hot: usize| (0..600).map(|i| f32::from(u8::from(i == hot))).collect();
    let points = Vectors::new((0..600).map(one_hot).collect());
    for metric in Metric::ALL {
        for m in [2, 4] {
            assert_all_reachable(&build(metric, m, &points), &points);
        }
    }
}

#[test]
fn a_point_waits_while_only_leaving_points_could_take_it_into_the_tree() {
    // Four points around a hub, all of which are nearer to it than to each other.
    let axes = (0..4).map(|axis| (0..4).map(|at| f32::from(at == axis)).collect());
    let mut points = Vectors::new([vec![0.0; 4]].into_iter().chain(axes).collect());
    let (m, ef_construction) = (2, 10);
    let graph = Graph::new(Metric::Euclidean, Params { m, ef_construction });
    let mut scratch = Scratch::new();
    for slot in 0..4 {
        assert!(graph.insert(&points, slot, &mut scratch).unwrap());
    }
    // The hub keeps all of the tree links that it may have until these points have left.
    points.gone = vec![1, 2, 3];
    let leaving = graph.mark_leaving(&points.gone).unwrap();
    assert_eq!(leaving, points.gone);
    assert!(!graph.insert(&points, 4, &mut scratch).unwrap());
    assert!(!graph.contains(4));

    graph.leave_tree(&points, &leaving, &mut scratch).unwrap();
    graph.move_entries();
    graph
        .relink(&points, 0..graph.slots(), &mut scratch)
        .unwrap();
    graph.erase(&leaving);
    assert!(graph.insert(&points, 4, &mut scratch).unwrap());
    assert_eq!(found(&graph, &points, points.vector(4), 5), [4, 0]);
    graph.assert_sound();
}

#[test]
fn vectors_without_a_direction_stay_connected_under_cosine() {
    let mut points = random(500, 4);
    points.extend(vec![vec![0.0; 4]; 2_000]);
    let points = Vectors::new(points);
    assert_all_reachable(&build(Metric::Cosine, 4, &points), &points);
}

#[test]
fn vectors_too_large_for_finite_ranks_stay_connected() {
    let huge = |v: Vec<f32>| v.into_iter().map(|x| x * 1e30).collect();
    let points = Vectors::new(random(500, 8).into_iter().map(huge).collect());
    assert_all_reachable(&build(Metric::Euclidean, 4, &points), &points);
}

#[test]
fn thousands_of_copies_hide_neither_themselves_nor_the_points_around_them() {
    let mut vectors = random(2_000, 8);
    vectors.splice(500..500, vec![vec![0.05; 8]; 5_000]);
    let points = Vectors::new(vectors);
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let graph = build(metric, 8, &points);
        assert_all_reachable(&graph, &points);
        let copies = found(&graph, &points, &[0.05; 8], 100);
        assert_eq!(
            copies,
            (500..600).collect::<Vec<_>>(),
            "the oldest copies come first"
        );
    }
    let graph = build(Metric::Euclidean, 8, &points);
    let alone = (0..500).chain(5_500..7_000);
    let itself = alone.filter(|&slot| found(&graph, &points, points.vector(slot), 20)[0] == slot);
    assert!(
        itself.count() >= 1_990,
        "the copies must not stand in the way"
    );
}

#[test]
fn rejected_points_are_walked_through_but_never_returned() {
    let points = Vectors::new(random(3_000, 4));
    let graph = build(Metric::Euclidean, 8, &points);
    let mut scratch = Scratch::new();
    let query = points.vector(7);
    let measure = Measure::new(Metric::Euclidean, query);
    // Every point near the query is rejected: the search must cross them to find the others.
    let mut order = found(&graph, &points, query, 3_000);
    let far = order.split_off(700);
    graph
        .search(
            &points,
            &measure,
            20,
            20,
            |slot| far.contains(&slot),
            &mut scratch,
        )
        .unwrap();
    let slots: Vec<_> = scratch
        .results()
        .iter()
        .map(|neighbor| neighbor.slot)
        .collect();
    assert_eq!(slots, far[..20]);
    assert!(!scratch.gave_up());
    graph
        .search(&points, &measure, 20, 20, |_| false, &mut scratch)
        .unwrap();
    assert!(scratch.results().is_empty());
    assert!(scratch.gave_up(), "it does not go through all of them");
}

#[test]
fn a_search_that_is_abandoned_ends_at_its_next_step() {
    let points = Vectors::new(random(3_000, 48)).with_codes();
    let graph = build(Metric::Euclidean, 8, &points);
    let measure = Measure::new(Metric::Euclidean, points.vector(5));
    let asked = Cell::new(0);
    let search = |way: usize, abandon_at: usize| {
        let mut scratch = Scratch::new();
        let is_abandoned = Arc::new(AtomicBool::new(abandon_at == 0));
        scratch.end_when(&is_abandoned);
        asked.set(0);
        let accept = |_| {
            asked.set(asked.get() + 1);
            is_abandoned.fetch_or(asked.get() == abandon_at, Relaxed);
            true
        };
        let breadths = (2_000, 2_000);
        let scratch = &mut scratch;
        match way {
            0 => graph.search(&points, &measure, 2_000, 2_000, accept, scratch),
            1 => graph.search_near(&points, &measure, breadths, accept, scratch),
            2 => graph.search_among(&points, &measure, breadths, accept, &[], scratch),
            _ => {
                let slots: Vec<u32> = (0..points.len()).collect();
                graph.search_only(&points, &measure, breadths, &slots, scratch)
            }
        }
    };
    for way in 0..4 {
        search(way, usize::MAX).unwrap();
        let whole = asked.get();
        assert!(matches!(search(way, 0), Err(Error::Abandoned)), "{way}");
        if way < 3 {
            assert!(matches!(search(way, 300), Err(Error::Abandoned)), "{way}");
            assert!(whole > 2_500 && asked.get() < 600, "{way}: {whole}");
        }
    }
}

#[test]
fn copies_of_a_rejected_point_are_still_found() {
    let points = Vectors::new(vec![vec![1.0, 2.0]; 50]);
    let graph = build(Metric::Euclidean, 4, &points);
    let mut scratch = Scratch::new();
    let measure = Measure::new(Metric::Euclidean, &[1.0, 2.0]);
    graph
        .search(&points, &measure, 3, 3, |slot| slot % 2 == 1, &mut scratch)
        .unwrap();
    let slots: Vec<_> = scratch
        .results()
        .iter()
        .map(|neighbor| neighbor.slot)
        .collect();
    assert_eq!(slots, [1, 3, 5]);
}

#[test]
fn searches_run_while_threads_insert_and_nothing_is_lost() {
    let mut vectors = random(6_000, 8);
    vectors.splice(1_000..1_000, vec![vec![0.5; 8]; 500]);
    let points = Vectors::new(vectors);
    let graph = Graph::new(
        Metric::Euclidean,
        Params {
            m: 8,
            ef_construction: 60,
        },
    );
    let next = AtomicU32::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let insert = || {
            let mut scratch = Scratch::new();
            loop {
                let slot = next.fetch_add(1, Relaxed);
                if slot >= points.len() {
                    return;
                }
                graph.insert(&points, slot, &mut scratch).unwrap();
            }
        };
        let search = || {
            for slot in (0..points.len()).cycle() {
                if done.load(Relaxed) {
                    return;
                }
                let slots = found(&graph, &points, points.vector(slot), 20);
                let handed_out = next.load(Relaxed);
                assert!(slots.iter().all(|&slot| slot < handed_out));
                assert!(
                    slots
                        .iter()
                        .enumerate()
                        .all(|(i, slot)| !slots[..i].contains(slot))
                );
            }
        };
        let inserters: Vec<_> = (0..3).map(|_| scope.spawn(insert)).collect();
        scope.spawn(search);
        let results: Vec<_> = inserters
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        done.store(true, Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
    assert_all_reachable(&graph, &points);
}

#[test]
fn building_again_gives_the_same_graph() {
    let points = Vectors::new(random(2_000, 8));
    let [one, other] = [(); 2].map(|()| build(Metric::Cosine, 8, &points));
    for slot in 0..points.len() {
        assert!(one.links.of(slot, 0).eq(other.links.of(slot, 0)));
    }
}

/// The mean share of the true 10 nearest in the results of searches for every 50th point.
fn recall(graph: &Graph, points: &Vectors, ef: usize) -> f32 {
    let queries = (0..points.len()).step_by(50);
    let count = queries.len() * 10;
    let hits = queries.map(|query| {
        let measure = Measure::new(graph.metric(), points.vector(query));
        let mut all: Vec<_> = (0..points.len())
            .map(|slot| Neighbor {
                rank: measure.rank(points, slot),
                slot,
            })
            .collect();
        all.sort_unstable();
        let found = found(graph, points, points.vector(query), ef);
        let is_found = |neighbor: &&Neighbor| found[..10].contains(&neighbor.slot);
        all[..10].iter().filter(is_found).count()
    });
    hits.sum::<usize>() as f32 / count as f32
}

#[test]
fn a_walk_by_codes_finds_what_a_walk_by_vectors_finds_with_the_ranks_of_vectors() {
    let points = Vectors::new(random(3_000, 48));
    let coded = Vectors::new(random(3_000, 48)).with_codes();
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let (graph, of_codes) = (build(metric, 16, &points), build(metric, 16, &coded));
        assert_all_reachable(&of_codes, &coded);
        let (plain, by_codes) = (recall(&graph, &points, 80), recall(&of_codes, &coded, 80));
        assert!(
            by_codes > plain - 0.01,
            "{metric:?}: {by_codes} after {plain}"
        );

        let measure = Measure::new(metric, coded.vector(5));
        let mut scratch = Scratch::new();
        of_codes
            .search(&coded, &measure, 50, 10, |_| true, &mut scratch)
            .unwrap();
        assert_eq!(scratch.results().len(), 10);
        for neighbor in scratch.results() {
            let rank = measure.rank(&coded, neighbor.slot);
            assert_eq!(neighbor.rank.to_bits(), rank.to_bits());
        }
    }
}

#[test]
fn points_that_codes_cannot_tell_apart_are_walked_by_their_vectors() {
    // One value is so large that the codes of all others are equal.
    let mut vectors = random(3_000, 40);
    for vector in &mut vectors {
        vector[17] = 10_000.0;
    }
    let points = Vectors::new(vectors).with_codes();
    let graph = build(Metric::Euclidean, 16, &points);
    assert!(recall(&graph, &points, 100) > 0.95);
}

/// The bytes of a saved graph over three points with four duplicates each, and others.
fn saved_with_copies() -> (u32, Vec<u8>) {
    let mut vectors = random(60, 8);
    for copy in 0..12 {
        vectors.push(vectors[copy % 3].clone());
    }
    let points = Vectors::new(vectors);
    let graph = build(Metric::Euclidean, 4, &points);
    let mut bytes = Vec::new();
    graph.save(points.len(), &mut bytes).unwrap();
    (points.len(), bytes)
}

fn load(slots: u32, bytes: &[u8]) -> std::io::Result<Graph> {
    let params = Params {
        m: 4,
        ef_construction: 100,
    };
    let mut source = bytes;
    let graph = Graph::load(Metric::Euclidean, params, slots, &mut source)?;
    assert_eq!(source, [0; 0]);
    Ok(graph)
}

/// A slot, 1 + the next duplicate in its chain, and 1 + the last or the first: the form in which
/// duplicates are saved with a graph. The duplicates of slot 0 are 60, 63, 66 and 69, the first of
/// slot 1 is 61, and so on.
type Duplicate = [u32; 3];

#[test]
fn a_saved_graph_whose_chains_of_copies_are_none_is_refused() {
    let (slots, bytes) = saved_with_copies();
    let (rest, end) = bytes.split_at(bytes.len() - size_of::<Duplicate>());
    let (rest, duplicates) = rest.split_at(rest.len() - 15 * size_of::<Duplicate>());
    let duplicates: &[Duplicate] = &bytemuck::pod_collect_to_vec(duplicates);
    assert_eq!(duplicates[0], [0, 61, 70]);
    assert_eq!(duplicates[3], [60, 64, 1]);
    assert_eq!(duplicates[12], [69, 0, 1]);
    let load_with = |duplicates: &[Duplicate]| {
        load(
            slots,
            &[rest, bytemuck::cast_slice(duplicates), end].concat(),
        )
    };
    load_with(duplicates).unwrap().assert_sound();

    let changes: [(&str, usize, Duplicate); 8] = [
        ("a copy leads to itself", 12, [69, 70, 1]),
        ("a chain leads to its beginning", 12, [69, 61, 1]),
        ("a chain leads to its original", 12, [69, 1, 1]),
        ("a chain leads to another", 12, [69, 62, 1]),
        ("a copy is left out", 0, [0, 64, 70]),
        ("a chain has another end", 0, [0, 61, 67]),
        ("a copy is of another original", 3, [60, 64, 2]),
        ("a point that is no copy is in a chain", 12, [69, 11, 1]),
    ];
    for (what, place, changed) in changes {
        let mut duplicates = duplicates.to_vec();
        duplicates[place] = changed;
        assert!(load_with(&duplicates).is_err(), "{what}");
    }
    assert!(load_with(&duplicates[1..]).is_err(), "no original");
    assert!(
        load_with(&[duplicates, &duplicates[..1]].concat()).is_err(),
        "twice"
    );
}

#[test]
fn a_saved_point_that_rises_higher_than_its_rows_is_refused() {
    let (slots, bytes) = saved_with_copies();
    load(slots, &bytes).unwrap();
    // The bytes hold no rows of duplicates.
    let copy = 60;
    let mut changed = bytes.clone();
    changed[copy] += 1;
    assert!(load(slots, &changed).is_err());
}
