//! The engine as a whole, compared with a plain list of points and brute force.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::channel,
    },
    thread,
};

use proptest::prelude::*;
use vectord_engine::{DimensionSource, Engine, Error, Metric, Options, Query};

use crate::driver::*;

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<Vec<f32>>),
    Delete(usize),
    Search(Vec<f32>, usize),
    Reopen,
}

fn vectors(dimension: usize) -> impl Strategy<Value = Vec<f32>> {
    // Few values, so that duplicates, ties and zero vectors are common, and some values whose
    // squares overflow or underflow single precision.
    let ordinary = prop::sample::select(vec![-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.5]);
    let extreme = prop::sample::select(vec![0.0, 1e-30, 3e-30, 1e30, 2e30]);
    prop_oneof![
        9 => prop::collection::vec(ordinary, dimension),
        1 => prop::collection::vec(extreme, dimension),
    ]
}

fn steps(dimension: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::vec(vectors(dimension), 1..20).prop_map(Step::Insert),
        4 => any::<prop::sample::Index>().prop_map(|index| Step::Delete(index.index(1_000_000))),
        4 => (vectors(dimension), 1_usize..30).prop_map(|(query, limit)| Step::Search(query, limit)),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

#[test]
fn the_work_of_queries_is_the_greater_of_ef_and_limit_and_no_limit_exceeds_the_points() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 1);
    assert_eq!(engine.search_work(&[10], &[4]), 4);
    insert(&engine, &[vec![1.0], vec![2.0], vec![3.0]]).unwrap();
    assert_eq!(engine.search_work(&[10], &[1]), 3);
    assert_eq!(engine.search_work(&[2, 1, u32::MAX], &[1, 7, 2]), 2 + 7 + 3);
    assert_eq!(engine.search_work(&[], &[]), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_answered_like_a_plain_list_of_points(steps in steps(3)) {
        let folder = tempfile::tempdir().unwrap();
        let mut engine = open(folder.path(), 3);
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Insert(vectors) => {
                    let ids = insert(&engine, &vectors).unwrap();
                    model.extend(ids.into_iter().zip(vectors));
                }
                Step::Delete(index) if !model.is_empty() => {
                    let (id, _) = model.remove(index % model.len());
                    prop_assert!(delete(&engine, id));
                    prop_assert!(!delete(&engine, id));
                    prop_assert!(engine.get(&id).unwrap().is_none());
                }
                Step::Delete(_) => prop_assert!(!delete(&engine, next_id())),
                Step::Search(query, limit) => for metric in Metric::ALL {
                    let expected = brute_force(&model, metric, &query, limit);
                    prop_assert_eq!(search(&engine, metric, &query, limit, 10), expected);
                },
                Step::Reopen => {
                    engine.close().unwrap();
                    engine = open(folder.path(), 3);
                }
            }
            prop_assert_eq!(engine.status().points, model.len() as u64);
        }
        for (id, vector) in &model {
            let point = engine.get(id).unwrap().unwrap();
            prop_assert_eq!(bits(&point.vector), bits(vector));
            prop_assert_eq!(point.content, content_of(vector).into_bytes());
        }
    }
}

fn bits(vector: &[f32]) -> Vec<u32> {
    vector.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn graphs_find_the_true_neighbours_before_and_after_deletes() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 16);
    let vectors = clustered(12_000, 16);
    let queries = clustered(50, 16);
    let ids = insert(&engine, &vectors).unwrap();
    let mut model: Model = ids.into_iter().zip(vectors).collect();

    for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
        begin_graph(&engine, metric);
        assert!(
            recall(&engine, &model, metric, &queries, 100) >= 0.95,
            "{metric:?}"
        );
    }
    // Four of five points are deleted, many more than begin a round: reclaiming removes them
    // meanwhile.
    let (gone, kept): (Vec<_>, Vec<_>) = model
        .into_iter()
        .enumerate()
        .partition(|(index, _)| index % 5 != 0);
    model = kept.into_iter().map(|(_, point)| point).collect();
    for (_, (id, _)) in &gone {
        assert!(delete(&engine, *id));
    }
    // Whole clusters are gone, but queries still come from their places.
    for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
        assert!(
            recall(&engine, &model, metric, &queries, 100) >= 0.95,
            "{metric:?}"
        );
        let all = search(&engine, metric, &queries[0], 100_000, 0);
        assert_eq!(
            all.len(),
            model.len(),
            "a great limit answers every point that is left"
        );
    }
    wait_for_graphs(&engine);
    assert!(recall(&engine, &model, Metric::Cosine, &queries, 100) >= 0.95);
}

#[test]
fn a_delete_passes_inserts_that_wait_for_the_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 16);
    let ids = insert(&engine, &clustered(12_000, 16)).unwrap();
    begin_graph(&engine, Metric::Euclidean);
    // More points than a graph may fall behind.
    insert(&engine, &clustered(60_000, 16)).unwrap();
    let (sender, receiver) = channel();
    let inserted = sender.clone();
    let waiting = batch(&clustered(1, 16));
    let found = waiting.ids[0];
    engine.insert(
        waiting,
        Box::new(move |done| inserted.send(("insert", done.is_ok())).unwrap()),
    );
    engine.delete(
        ids[0],
        Box::new(move |found| sender.send(("delete", found.unwrap())).unwrap()),
    );
    let answers: Vec<_> = receiver.iter().collect();
    assert_eq!(answers, [("delete", true), ("insert", true)]);
    assert!(delete(&engine, found));
    engine.close().unwrap();
}

/// Writes that wait when the engine is closed are carried out first.
#[test]
fn closing_writes_what_waits_for_the_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 16);
    insert(&engine, &clustered(12_000, 16)).unwrap();
    begin_graph(&engine, Metric::Euclidean);
    insert(&engine, &clustered(60_000, 16)).unwrap();
    let (sender, receiver) = channel();
    for _ in 0..3 {
        let sender = sender.clone();
        engine.insert(
            batch(&clustered(10, 16)),
            Box::new(move |done| sender.send(done.is_ok()).unwrap()),
        );
    }
    engine.close().unwrap();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [true; 3]);
    drop(engine);
    assert_eq!(open(folder.path(), 16).status().points, 72_030);
}

#[test]
fn the_graphs_of_warm_metrics_are_kept_without_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let warm = Options {
        warm_metrics: vec![Metric::Cosine, Metric::Manhattan],
        ..options(folder.path(), Some(4))
    };
    let linked = |engine: &Engine| {
        let graphs = engine.status().graphs.into_iter();
        graphs
            .map(|graph| (graph.metric, graph.linked))
            .collect::<Vec<_>>()
    };
    let fresh = Engine::open(&warm).unwrap();
    insert(&fresh, &clustered(30, 4)).unwrap();
    wait_for_graphs(&fresh);
    assert_eq!(
        linked(&fresh),
        [(Metric::Manhattan, 30), (Metric::Cosine, 30)]
    );
    drop(fresh);

    let again = Engine::open(&warm).unwrap();
    wait_for_graphs(&again);
    assert_eq!(
        linked(&again),
        [(Metric::Manhattan, 30), (Metric::Cosine, 30)]
    );
    drop(again);

    let other = tempfile::tempdir().unwrap();
    let cold = open(other.path(), 4);
    insert(&cold, &clustered(30, 4)).unwrap();
    assert_eq!(linked(&cold), []);
}

#[test]
fn a_breadth_of_all_points_gives_the_exact_answer() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 16);
    let vectors = clustered(5_000, 16);
    let ids = insert(&engine, &vectors).unwrap();
    let model: Model = ids.into_iter().zip(vectors).collect();
    for query in clustered(10, 16) {
        begin_graph(&engine, Metric::Euclidean);
        let exact = brute_force(&model, Metric::Euclidean, &query, 100);
        assert_eq!(
            search(&engine, Metric::Euclidean, &query, 100, 5_000),
            exact
        );
    }
}

/// Vectors whose distances from a query are equal in single precision.
#[test]
fn an_exact_answer_does_not_depend_on_rounding() {
    let permutations = |count| {
        let mut state = 3_usize;
        let mut vectors = Vec::new();
        for _ in 0..count {
            let mut vector: Vec<f32> = (1..=8).map(|step| step as f32 / 10.0).collect();
            for end in (1..8).rev() {
                state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) % (1 << 31);
                vector.swap(end, state % (end + 1));
            }
            vectors.push(vector);
        }
        vectors
    };
    let nearly_parallel = |scale: f32, step: f32| {
        let vector = |index| [vec![scale, (1000 - index) as f32 * step], vec![0.0; 6]].concat();
        (0..1000).map(vector).collect::<Vec<_>>()
    };
    let cases = [
        (permutations(1000), vec![0.5; 8]),
        (
            nearly_parallel(1.0, 1e-7),
            [vec![1.0], vec![0.0; 7]].concat(),
        ),
        (
            nearly_parallel(1e4, 1e-3),
            [vec![1e-4], vec![0.0; 7]].concat(),
        ),
    ];
    for (vectors, query) in cases {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path(), 8);
        let ids = insert(&engine, &vectors).unwrap();
        let model: Model = ids.into_iter().zip(vectors).collect();
        for metric in Metric::ALL {
            let expected = brute_force(&model, metric, &query, 10);
            let found = search(&engine, metric, &query, 10, 1_000_000);
            assert_eq!(found, expected, "{metric:?} from {query:?}");
        }
    }
}

#[test]
fn a_search_sees_a_batch_whole_or_not_at_all() {
    const BATCH: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(open(folder.path(), 2));
    let done = Arc::new(AtomicBool::new(false));
    let searcher = thread::spawn({
        let (engine, done) = (Arc::clone(&engine), Arc::clone(&done));
        move || {
            let mut searches = 0;
            while !done.load(Ordering::Relaxed) {
                let seen = search(&engine, Metric::Euclidean, &[0.0, 0.0], 1_000_000, 1).len();
                assert_eq!(seen % BATCH, 0, "part of a batch was visible");
                searches += 1;
            }
            searches
        }
    });
    for _ in 0..100 {
        insert(&engine, &clustered(BATCH, 2)).unwrap();
    }
    done.store(true, Ordering::Relaxed);
    assert!(searcher.join().unwrap() > 0);
}

#[test]
fn writes_are_visible_once_they_are_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(open(folder.path(), 2));
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                for step in 0..50 {
                    let vector = vec![number as f32, step as f32];
                    let id = insert(&engine, std::slice::from_ref(&vector)).unwrap()[0];
                    assert!(engine.get(&id).unwrap().is_some());
                    assert_eq!(search(&engine, Metric::Euclidean, &vector, 1, 1), [id]);
                    if step % 2 == 0 {
                        assert!(delete(&engine, id));
                        assert!(engine.get(&id).unwrap().is_none());
                        assert_ne!(search(&engine, Metric::Euclidean, &vector, 1, 1), [id]);
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(engine.status().points, 100);
}

#[test]
fn a_batch_with_a_value_that_is_not_finite_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 2);
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let refused = insert(&engine, &[vec![1.0, 2.0], vec![3.0, value]]);
        assert!(matches!(
            refused,
            Err(Error::NotFinite {
                item: 1,
                position: 1,
                ..
            })
        ));
    }
    assert_eq!(engine.status().points, 0);
}

/// Ten times the work of a millisecond, on any machine that runs this: 40 million values in double
/// precision.
#[test]
fn a_heavy_search_is_declined_on_the_calling_thread() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 1024);
    let query = |metric| Query {
        metric,
        limit: 1,
        ef: 1_000_000,
    };
    let (ordinary, huge) = (vec![0.0; 1024], vec![1e30; 1024]);
    insert(&engine, &clustered(1, 1024)).unwrap();
    for vector in [&ordinary, &huge] {
        let answer = engine.search(vector, &query(Metric::Cosine)).unwrap();
        assert_eq!(answer.unwrap().len(), 1);
    }
    for _ in 0..8 {
        insert(&engine, &clustered(5_000, 1024)).unwrap();
    }
    let answer = engine.search(&huge, &query(Metric::Cosine)).unwrap();
    assert!(answer.is_none());
    assert_eq!(
        search(&engine, Metric::Cosine, &huge, 1, 1_000_000).len(),
        1
    );
}

#[test]
fn queries_that_scan_together_are_answered_as_each_alone() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 21);
    let vectors = clustered(3_000, 21);
    let ids = insert(&engine, &vectors).unwrap();
    let mut model: Model = ids.into_iter().zip(vectors).collect();
    for index in (0..1_000).rev() {
        let (id, _) = model.remove(index * 2);
        assert!(delete(&engine, id));
    }
    let mut queries = Vec::new();
    let mut asked = clustered(90, 21);
    asked[7] = vec![1e30; 21];
    asked[8] = vec![0.0; 21];
    for (number, _) in asked.iter().enumerate() {
        queries.push(Query {
            metric: Metric::ALL[number % 4],
            limit: [1, 10, 700, 1_000_000][number % 5 % 4],
            ef: 1_000_000,
        });
    }
    let (sender, receiver) = channel();
    engine.search_batch(
        asked.concat(),
        queries.clone(),
        Box::new(move |outcome| sender.send(outcome).unwrap()),
    );
    let answers = receiver.recv().unwrap().unwrap();
    assert_eq!(answers.len(), queries.len());
    for ((vector, query), hits) in asked.iter().zip(&queries).zip(answers) {
        let found: Vec<_> = hits.iter().map(|hit| hit.id).collect();
        let expected = brute_force(&model, query.metric, vector, query.limit);
        assert_eq!(found, expected, "{query:?}");
        let alone = search(&engine, query.metric, vector, query.limit, query.ef);
        assert_eq!(found, alone, "{query:?}");
    }
}

#[test]
fn abandoned_searches_end_and_free_their_memory_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 16);
    insert(&engine, &clustered(2_000, 16)).unwrap();
    // Vectors that only double precision can rank are ranked one by one, so this takes many
    // seconds.
    let count = 20_000;
    let query = Query {
        metric: Metric::Cosine,
        limit: 1,
        ef: 1,
    };
    let (sender, receiver) = channel();
    let begin = || {
        let sender = sender.clone();
        let vectors = vec![1e30; count * 16];
        engine.search_batch(
            vectors,
            vec![query.clone(); count],
            Box::new(move |outcome| sender.send(outcome).unwrap()),
        )
    };
    let tickets: Vec<_> = (0..10).map(|_| begin().unwrap()).collect();
    assert_eq!(engine.metrics().jobs, 10);
    for ticket in tickets {
        engine.abandon(ticket);
    }
    for _ in 0..10 {
        assert!(matches!(receiver.recv().unwrap(), Err(Error::Abandoned)));
    }
    assert_eq!(search(&engine, Metric::Cosine, &[1e30; 16], 1, 1).len(), 1);
    engine.close().unwrap();
    assert_eq!(engine.metrics().jobs, 0);
    assert_eq!(engine.metrics().queued_bytes, 0);
}

#[test]
fn the_first_stored_point_pins_the_dimension() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = Engine::open(&options(folder.path(), None)).unwrap();
    assert_eq!(
        (fresh.dimension(), fresh.dimension_source()),
        (384, DimensionSource::Default)
    );
    drop(fresh);
    let engine = open(folder.path(), 3);
    insert(&engine, &[vec![1.0, 2.0, 3.0]]).unwrap();
    drop(engine);
    let again = Engine::open(&options(folder.path(), None)).unwrap();
    assert_eq!(
        (again.dimension(), again.dimension_source()),
        (3, DimensionSource::Remembered)
    );
    drop(again);
    let refused = Engine::open(&options(folder.path(), Some(4))).map(|_| ());
    assert!(matches!(
        refused,
        Err(Error::DimensionMismatch {
            remembered: 3,
            configured: 4,
            ..
        })
    ));
}

#[test]
fn a_closed_engine_refuses_everything() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 2);
    let id = insert(&engine, &[vec![1.0, 2.0]]).unwrap()[0];
    engine.close().unwrap();
    engine.close().unwrap();
    assert!(matches!(
        insert(&engine, &[vec![1.0, 2.0]]),
        Err(Error::Closed)
    ));
    assert!(matches!(engine.get(&id), Err(Error::Closed)));
    let query = Query {
        metric: Metric::Cosine,
        limit: 1,
        ef: 1,
    };
    assert!(matches!(
        engine.search(&[1.0, 2.0], &query),
        Err(Error::Closed)
    ));
}

#[test]
fn the_metrics_count_the_groups_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 2);
    let first = insert(&engine, &[vec![1.0, 2.0]]).unwrap();
    insert(&engine, &vec![vec![3.0, 4.0]; 5]).unwrap();
    assert!(delete(&engine, first[0]));
    // A delete that finds nothing and a refused insert write nothing.
    assert!(!delete(&engine, first[0]));
    insert(&engine, &[vec![f32::NAN, 0.0]]).unwrap_err();

    let metrics = engine.metrics();
    assert_eq!(metrics.group_records.sum, 7);
    assert_eq!(metrics.group_records.counts[..4], [2, 0, 0, 1]);
    for times in [&metrics.commits, &metrics.syncs] {
        assert!(times.counts.iter().sum::<u64>() >= 3);
        assert!(times.sum > 0);
        assert_eq!(times.counts.len(), times.bounds.len() + 1);
    }
    assert_eq!(metrics.commits.counts.iter().sum::<u64>(), 3);
    assert_eq!((metrics.jobs, metrics.queued_bytes), (0, 0));
    assert_eq!(metrics.snapshots, 0);
}
