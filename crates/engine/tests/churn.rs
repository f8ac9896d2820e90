//! An engine whose points are inserted and deleted all the time: slots are used again, and no
//! reader notices.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

use vectord_engine::{Batch, Engine, Metric, Options, Params, PointId, Query};

const DIMENSION: usize = 8;

fn open(path: &Path) -> Engine {
    Engine::open(&Options {
        warm_metrics: Vec::new(),
        give_back_after: None,
        path: path.into(),
        dimension: Some(DIMENSION as u32),
        graph: Params {
            m: 8,
            ef_construction: 40,
        },
        segment_bytes: 1 << 20,
        max_queued_bytes: 64 << 20,
        max_column_bytes: 256 << 20,
    })
    .unwrap()
}

/// The vector of a point follows from its number, and so does its id.
fn vector(number: u64) -> Vec<f32> {
    let mut state = number;
    (0..DIMENSION)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1_u64 << 24) as f32
        })
        .collect()
}

fn id(number: u64) -> PointId {
    u128::from(number).to_be_bytes()
}

fn number(id: PointId) -> u64 {
    u128::from_be_bytes(id) as u64
}

fn insert(engine: &Engine, numbers: &[u64]) {
    let (sender, receiver) = channel();
    let contents: Vec<[u8; 8]> = numbers.iter().map(|number| number.to_be_bytes()).collect();
    let batch = Batch {
        ids: numbers.iter().map(|&number| id(number)).collect(),
        vectors: numbers.iter().flat_map(|&number| vector(number)).collect(),
        content_types: vec![0; numbers.len()],
        content_ends: (1..=numbers.len()).map(|count| 8 * count).collect(),
        contents: contents.concat(),
        ..Batch::default()
    };
    engine.insert(batch, Box::new(move |done| sender.send(done).unwrap()));
    receiver.recv().unwrap().unwrap();
}

/// Deletes points all at once, and waits until the last one is deleted.
fn delete(engine: &Engine, numbers: &[u64]) {
    let (sender, receiver) = channel();
    for &number in numbers {
        let sender = sender.clone();
        let done = move |found: vectord_engine::Result<bool>| sender.send(found).unwrap();
        engine.delete(id(number), Box::new(done));
    }
    for _ in numbers {
        assert!(receiver.recv().unwrap().unwrap());
    }
}

fn search(engine: &Engine, query: &[f32], limit: usize, ef: usize) -> Vec<(PointId, f64)> {
    let (sender, receiver) = channel();
    let metric = Metric::Euclidean;
    engine.search_batch(
        query.to_vec(),
        vec![Query { metric, limit, ef }],
        Box::new(move |outcome| sender.send(outcome).unwrap()),
    );
    let hits = receiver.recv().unwrap().unwrap().remove(0);
    hits.iter().map(|hit| (hit.id, hit.rank)).collect()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        let is_late = begin.elapsed() > Duration::from_mins(2);
        assert!(!is_late, "{what} takes too long");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until no round of reclaiming is due. The last deletes may have come too late for the last
/// round, and may be too few for another.
fn wait_for_slots(engine: &Engine) {
    wait_until("giving slots back", || {
        let status = engine.status();
        status.dead < too_few(status.points)
    });
}

/// The number of deleted points among `points` with which an idle engine begins a round. Fewer wait
/// for more.
fn too_few(points: u64) -> u64 {
    (points / 20).max(64)
}

/// Makes the engine begin the graph, by a search of the least breadth: a walk pays off for it
/// first.
fn begin_graph(engine: &Engine) {
    search(engine, &vector(1), 1, 1);
    wait_for_graph(engine);
}

fn wait_for_graph(engine: &Engine) {
    wait_until("linking", || {
        let graphs = engine.status().graphs;
        !graphs.is_empty() && graphs.iter().all(|graph| graph.linked == graph.slots)
    });
}

fn squared(a: &[f32], b: &[f32]) -> f64 {
    let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    a.iter().zip(b).map(square).sum()
}

#[test]
fn slots_are_used_again_round_after_round() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let mut live: Vec<u64> = (0..4_000).collect();
    let mut next = 4_000;
    insert(&engine, &live);
    begin_graph(&engine);
    let slots = engine.status().graphs[0].slots;
    for round in 0..10 {
        let (gone, kept): (Vec<u64>, Vec<u64>) = live
            .iter()
            .partition(|&number| (number / 7 + round) % 2 == 0);
        delete(&engine, &gone);
        wait_for_slots(&engine);
        let new: Vec<u64> = (next..next + gone.len() as u64).collect();
        next += new.len() as u64;
        insert(&engine, &new);
        live = [kept, new].concat();
        wait_for_graph(&engine);
        let status = engine.status();
        assert_eq!(status.points, live.len() as u64);
        let most = slots + too_few(status.points) as u32;
        assert!(status.graphs[0].slots < most, "slots are used again");
        assert_eq!(status.graphs[0].failure, None);
    }
    let queries: Vec<Vec<f32>> = (0..100).map(|query| vector(1 << 40 | query)).collect();
    let mut found = 0;
    for query in &queries {
        let mut exact: Vec<(f64, u64)> = live
            .iter()
            .map(|&number| (squared(query, &vector(number)), number))
            .collect();
        exact.sort_by(|a, b| a.0.total_cmp(&b.0));
        let nearest: HashSet<PointId> = exact[..10].iter().map(|&(_, number)| id(number)).collect();
        let hits = search(&engine, query, 10, 50);
        assert_eq!(hits.len(), 10);
        found += hits.iter().filter(|(id, _)| nearest.contains(id)).count();
    }
    assert!(found >= 970, "recall {}", found as f64 / 1_000.0);
    assert_eq!(
        search(&engine, &queries[0], usize::MAX, 1).len(),
        live.len()
    );
    engine.close().unwrap();
}

#[test]
fn a_search_finds_enough_while_nearly_everything_around_it_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let all: Vec<u64> = (0..5_000).collect();
    insert(&engine, &all);
    begin_graph(&engine);
    let (gone, kept): (Vec<u64>, Vec<u64>) = all.iter().partition(|&number| number % 100 != 0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(search(&engine, &vector(17), 20, 20).len(), 20);
            }
        });
        delete(&engine, &gone);
        wait_for_slots(&engine);
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(search(&engine, &vector(17), 100, 20).len(), kept.len());
    engine.close().unwrap();
}

#[test]
fn the_oldest_of_equals_come_first_even_in_slots_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let all: Vec<u64> = (0..500).collect();
    insert(&engine, &all);
    delete(&engine, &all[..250]);
    wait_for_slots(&engine);
    let new: Vec<u64> = (500..700).collect();
    insert(&engine, &new);
    // No value of the query occurs in a vector, so all points are equally far.
    let (sender, receiver) = channel();
    let query = Query {
        metric: Metric::Hamming,
        limit: 20,
        ef: 20,
    };
    engine.search_batch(
        vec![9.0; DIMENSION],
        vec![query],
        Box::new(move |outcome| sender.send(outcome).unwrap()),
    );
    let hits = receiver.recv().unwrap().unwrap().remove(0);
    let found: Vec<u64> = hits.iter().map(|hit| number(hit.id)).collect();
    assert_eq!(found, all[250..270]);
    engine.close().unwrap();
}

/// The times of a point's insert and delete, in steps of one clock that all threads share.
#[derive(Default)]
struct Life {
    /// Before its insert was requested.
    asked: u64,
    /// After its insert was acknowledged.
    there: Option<u64>,
    /// Before its delete was requested.
    leaves: Option<u64>,
    /// After its delete was acknowledged.
    gone: Option<u64>,
}

#[derive(Default)]
struct Diary {
    clock: AtomicU64,
    lives: Mutex<HashMap<u64, Life>>,
}

impl Diary {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Whether a point may have been visible at some time from `begin` to `end`.
    fn may_be_there(&self, number: u64, begin: u64, end: u64) -> bool {
        let lives = self.lives.lock().unwrap();
        let life = &lives[&number];
        life.asked <= end && life.gone.is_none_or(|gone| gone >= begin)
    }

    /// The number of points that were visible all the time from `begin` to `end`.
    fn surely_there(&self, begin: u64, end: u64) -> usize {
        let lives = self.lives.lock().unwrap();
        let stays = |life: &&Life| {
            life.there.is_some_and(|there| there <= begin)
                && life.leaves.is_none_or(|leaves| leaves >= end)
        };
        lives.values().filter(stays).count()
    }
}

#[test]
fn whatever_comes_and_goes_every_answer_is_one_that_was_right_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let diary = Diary::default();
    let first: Vec<u64> = (0..3_000).collect();
    for &number in &first {
        diary.lives.lock().unwrap().entry(number).or_default().asked = 0;
    }
    diary.now();
    insert(&engine, &first);
    for life in diary.lives.lock().unwrap().values_mut() {
        life.there = Some(diary.now());
    }
    begin_graph(&engine);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for reader in 0..2 {
            let (engine, diary, done) = (&engine, &diary, &done);
            scope.spawn(move || {
                for query in 0.. {
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                    check_search(engine, diary, (reader << 20) + query);
                    check_get(engine, diary, (7 * query) % 12_000);
                }
            });
        }
        come_and_go(&engine, &diary);
        done.store(true, Ordering::Relaxed);
    });
    wait_for_slots(&engine);
    wait_for_graph(&engine);
    let status = engine.status();
    assert_eq!(status.graphs[0].failure, None);
    assert!(
        status.graphs[0].slots <= 6_000,
        "{} slots for 3,000 points of 12,000",
        status.graphs[0].slots
    );
    engine.close().unwrap();
}

/// Replaces the oldest 500 points by new ones, again and again.
fn come_and_go(engine: &Engine, diary: &Diary) {
    for round in 0..18 {
        let old: Vec<u64> = (round * 500..(round + 1) * 500).collect();
        let new: Vec<u64> = (3_000 + round * 500..3_500 + round * 500).collect();
        let now = diary.now();
        for &number in &old {
            diary
                .lives
                .lock()
                .unwrap()
                .entry(number)
                .or_default()
                .leaves = Some(now);
        }
        delete(engine, &old);
        let now = diary.now();
        for &number in &old {
            diary.lives.lock().unwrap().entry(number).or_default().gone = Some(now);
        }
        for &number in &new {
            diary.lives.lock().unwrap().entry(number).or_default().asked = now;
        }
        insert(engine, &new);
        let now = diary.now();
        for &number in &new {
            diary.lives.lock().unwrap().entry(number).or_default().there = Some(now);
        }
        // Rounds of reclaiming go on all the while, but the number of deleted points stays bounded.
        wait_until("giving slots back", || engine.status().dead < 2_000);
    }
}

fn check_search(engine: &Engine, diary: &Diary, seed: u64) {
    let query = vector(1 << 40 | seed);
    let begin = diary.now();
    let hits = search(engine, &query, 10, 40);
    let end = diary.now();
    assert!(diary.surely_there(begin, end) >= 10);
    assert_eq!(hits.len(), 10);
    let distinct: HashSet<PointId> = hits.iter().map(|&(id, _)| id).collect();
    assert_eq!(distinct.len(), hits.len(), "a point was found twice");
    assert!(hits.is_sorted_by(|a, b| a.1 <= b.1));
    for (id, rank) in hits {
        let number = number(id);
        assert!(diary.may_be_there(number, begin, end), "{number} was gone");
        let distance = squared(&query, &vector(number));
        assert!(
            (rank - distance).abs() < 1e-9,
            "the vector of another point"
        );
    }
}

fn check_get(engine: &Engine, diary: &Diary, wanted: u64) {
    let begin = diary.now();
    let point = engine.get(&id(wanted)).unwrap();
    let end = diary.now();
    if let Some(point) = point {
        assert_eq!(point.content, wanted.to_be_bytes());
        assert_eq!(point.vector, vector(wanted));
        assert!(diary.may_be_there(wanted, begin, end));
    }
}
