//! Recall of the graph against the exact answer, and against an independent HNSW (`hnsw_rs`) at
//! equal parameters, on synthetic sets and, where `VECTORD_DATA` names their folder, on real ones.

use std::{env, path::Path};

use hnsw_rs::prelude::{DistCosine, DistHamming, DistL1, DistL2, Distance, Hnsw};
use vectord_bench::{
    fill::fill,
    recall::{K, bound, hits},
    vectors::Vectors,
};
use vectord_engine::{
    Metric, Params,
    layers::{
        hnsw::{Graph, Scratch},
        vectors::{measure::Measure, points::Points},
    },
};

const PARAMS: Params = Params {
    m: 16,
    ef_construction: 100,
};

/// How far two equally good graphs come apart: `hnsw_rs` draws its layers anew in every run.
const NOISE: f64 = 0.01;

/// A base and queries from the same source.
struct Set {
    base: Vectors,
    queries: Vec<Vec<f32>>,
}

impl Set {
    fn new(mut vectors: Vec<Vec<f32>>, queries: usize) -> Self {
        let queries = vectors.split_off(vectors.len() - queries);
        Set {
            base: Vectors::new(vectors[0].len(), vectors.concat())
                .with_codes()
                .expect("memory"),
            queries,
        }
    }

    /// Points around random centres.
    fn clustered(count: usize, dimension: usize) -> Self {
        let mut noise = noise();
        let mut vector = |scale: f32| -> Vec<f32> {
            (0..dimension)
                .map(|_| scale * (noise() + noise() + noise()))
                .collect()
        };
        let centres: Vec<_> = (0..50).map(|_| vector(0.4)).collect();
        let around = |i: usize| {
            let centre = &centres[i * 31 % centres.len()];
            centre.iter().zip(vector(1.0)).map(|(c, d)| c + d).collect()
        };
        Set::new((0..count).map(around).collect(), 500)
    }

    /// Signatures that agree in some places with one of a few originals: under Hamming the ranks
    /// are small integers, full of ties.
    fn signatures(count: usize, dimension: usize) -> Self {
        let mut noise = noise();
        let mut value = move || (noise() * 128.0).floor();
        let originals: Vec<Vec<f32>> = (0..100)
            .map(|_| (0..dimension).map(|_| value()).collect())
            .collect();
        let edited = |i: usize| {
            let changed = (0.4 + 0.4 * ((i / 100 % 10) as f32 / 10.0)) * 256.0 - 128.0;
            let original = &originals[i % 100];
            original
                .iter()
                .map(|&kept| if value() < changed { value() } else { kept })
                .collect()
        };
        Set::new((0..count).map(edited).collect(), 500)
    }

    fn for_metric(metric: Metric) -> Self {
        match metric {
            Metric::Hamming => Set::signatures(4_500, 64),
            _ => Set::clustered(4_500, 24),
        }
    }
}

/// Numbers from -1 to 1 that look random and are the same in every run.
fn noise() -> impl FnMut() -> f32 {
    let mut state = 1_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

fn build(metric: Metric, base: &Vectors, threads: u32) -> Graph {
    let graph = Graph::new(metric, PARAMS);
    fill(&graph, base, 0..base.len(), threads).expect("memory");
    graph
}

/// The share of the true `K` nearest that `answer` finds, by distance: where ranks tie, every slot
/// at the K-th distance is right. Slots that `accept` refuses must not be returned at all.
fn recall(
    set: &Set,
    metric: Metric,
    accept: impl Fn(u32) -> bool,
    mut answer: impl FnMut(&[f32]) -> Vec<u32>,
) -> f64 {
    let mut found = 0;
    for query in &set.queries {
        let measure = Measure::new(metric, query);
        let accepted = (0..set.base.len()).filter(|&slot| accept(slot));
        let bound = bound(&set.base, &measure, accepted);
        let slots = answer(query);
        assert_eq!(slots.len(), K);
        assert!(slots.iter().all(|&slot| accept(slot)));
        found += hits(&set.base, &measure, bound, &slots);
    }
    found as f64 / (set.queries.len() * K) as f64
}

fn graph_recall(
    graph: &Graph,
    set: &Set,
    metric: Metric,
    ef: usize,
    accept: impl Fn(u32) -> bool,
) -> f64 {
    let mut scratch = Scratch::new();
    recall(set, metric, &accept, |query| {
        let measure = Measure::new(metric, query);
        graph
            .search(&set.base, &measure, ef, K, &accept, &mut scratch)
            .expect("memory");
        scratch
            .results()
            .iter()
            .take(K)
            .map(|neighbor| neighbor.slot)
            .collect()
    })
}

/// The recall of `hnsw_rs` with the same parameters.
fn reference_recall<D: Distance<f32> + Default + Send + Sync>(
    set: &Set,
    metric: Metric,
    ef: usize,
) -> f64 {
    let base = &set.base;
    let count = base.len() as usize;
    let hnsw = Hnsw::new(PARAMS.m, count, 16, PARAMS.ef_construction, D::default());
    for slot in 0..base.len() {
        hnsw.insert((base.vector(slot), slot as usize));
    }
    recall(
        set,
        metric,
        |_| true,
        |query| {
            hnsw.search(query, K, ef)
                .iter()
                .map(|found| found.d_id as u32)
                .collect()
        },
    )
}

fn assert_as_good_as_reference<D: Distance<f32> + Default + Send + Sync>(
    name: &str,
    set: &Set,
    metric: Metric,
) {
    let graph = build(metric, &set.base, 1);
    for ef in [50, 100] {
        let ours = graph_recall(&graph, set, metric, ef, |_| true);
        let theirs = reference_recall::<D>(set, metric, ef);
        println!("{name} {metric:?} ef {ef}: recall {ours:.4}, hnsw_rs {theirs:.4}");
        assert!(
            ours >= theirs - NOISE,
            "{name} {metric:?} ef {ef}: {ours} against {theirs}"
        );
    }
}

#[test]
fn recall_is_high_under_every_metric_and_does_not_fall_when_ef_rises() {
    for metric in Metric::ALL {
        let set = Set::for_metric(metric);
        let graph = build(metric, &set.base, 1);
        let recalls = [20, 50, 100, 400].map(|ef| graph_recall(&graph, &set, metric, ef, |_| true));
        println!("{metric:?}: {recalls:?}");
        assert!(
            recalls.is_sorted_by(|low, high| *high >= low - 0.002),
            "{metric:?} {recalls:?}"
        );
        assert!(recalls[2] >= 0.97, "{metric:?} {recalls:?}");
        assert!(recalls[3] >= 0.995, "{metric:?} {recalls:?}");
    }
}

#[test]
fn recall_over_the_accepted_half_is_as_high() {
    for metric in Metric::ALL {
        let set = Set::for_metric(metric);
        let graph = build(metric, &set.base, 1);
        let recall = graph_recall(&graph, &set, metric, 100, |slot| slot / 7 % 2 == 0);
        assert!(recall >= 0.97, "{metric:?} {recall}");
    }
}

#[test]
fn a_graph_built_by_four_threads_is_as_good_as_one_built_by_one() {
    for metric in Metric::ALL {
        let set = Set::for_metric(metric);
        let [one, four] = [1, 4].map(|threads| {
            let graph = build(metric, &set.base, threads);
            graph_recall(&graph, &set, metric, 50, |_| true)
        });
        assert!(
            four >= one - 0.01,
            "{metric:?}: {four} by four threads, {one} by one"
        );
    }
}

#[test]
fn recall_is_at_least_that_of_hnsw_rs_on_synthetic_sets() {
    let set = Set::clustered(4_500, 24);
    assert_as_good_as_reference::<DistL2>("clusters", &set, Metric::Euclidean);
    assert_as_good_as_reference::<DistCosine>("clusters", &set, Metric::Cosine);
    let set = Set::signatures(4_500, 64);
    assert_as_good_as_reference::<DistHamming>("signatures", &set, Metric::Hamming);
}

#[test]
#[ignore = "needs VECTORD_DATA, the folder of the real sets"]
fn recall_is_at_least_that_of_hnsw_rs_on_real_sets() {
    let folder = env::var_os("VECTORD_DATA").expect("VECTORD_DATA names the folder");
    let folder = Path::new(&folder);
    let set = read(&folder.join("sift_base.u8.npy"));
    assert_as_good_as_reference::<DistL2>("sift", &set, Metric::Euclidean);
    assert_as_good_as_reference::<DistCosine>("sift", &set, Metric::Cosine);
    assert_as_good_as_reference::<DistL1>("sift", &set, Metric::Manhattan);
    let set = read(&folder.join("minhash_base.u8.npy"));
    assert_as_good_as_reference::<DistHamming>("minhash", &set, Metric::Hamming);
}

/// Every 7th row of an array file, up to 5,500 rows.
fn read(path: &Path) -> Set {
    let all = Vectors::read(path).expect("VECTORD_DATA names the folder of the sets");
    let some = all.first(7 * 5_500);
    let rows = (0..some.len()).step_by(7);
    Set::new(rows.map(|slot| some.vector(slot).to_vec()).collect(), 500)
}
