//! Everything at once: threads insert, delete, get and search on one engine, and each checks what
//! must hold whatever the others do. Meant for the thread sanitizer (`npm run test:tsan`); without
//! it, only these checks find errors.
//!
//! A run takes two seconds; `VECTORD_STRESS_SECONDS` sets another duration.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    collections::HashSet,
    env,
    path::Path,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::channel,
    },
    thread,
    time::Duration,
};

use vectord_engine::{
    Batch, Done, Engine, Error, Existing, Metric, Options, Params, PointId, Query, Result,
    layers::vectors::kernels,
};
use vectord_filter::{Condition, Expression, Filter, Test, Value};

/// Enough for walks by codes.
const DIMENSION: usize = 48;

/// Points that are never deleted.
const KEPT: usize = 300;

/// Above it, inserts wait for deletes, which then go on down to `LEAST_LIVING`. Large enough that
/// rounds of reclaiming take place, small enough that the test stays fast.
const MOST_LIVING: usize = 2_000;
const LEAST_LIVING: usize = 100;

const MOST_IN_BATCH: usize = 40;

/// A breadth above any number of points: the answer is exact.
const EXACT: usize = 1_000_000;

type Point = (PointId, Vec<f32>);

fn open(path: &Path) -> Engine {
    Engine::open(&Options {
        path: path.into(),
        dimension: Some(DIMENSION as u32),
        graph: Params {
            m: 8,
            ef_construction: 40,
        },
        warm_metrics: vec![Metric::Euclidean, Metric::Cosine],
        // At each look of the upkeep, the graphs of the other metrics are given back.
        give_back_after: Some(Duration::ZERO),
        segment_bytes: 1 << 20,
        max_queued_bytes: 64 << 20,
        max_column_bytes: 256 << 20,
    })
    .unwrap()
}

fn duration() -> Duration {
    let seconds = env::var("VECTORD_STRESS_SECONDS").map_or(2, |text| text.parse().unwrap());
    Duration::from_secs(seconds)
}

/// Waits for the answer to a request.
fn answer<T: Send + 'static>(request: impl FnOnce(Done<T>)) -> Result<T> {
    let (sender, receiver) = channel();
    request(Box::new(move |outcome| sender.send(outcome).unwrap()));
    receiver.recv().unwrap()
}

/// Pseudo-random numbers; each thread has its own.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % limit
    }

    fn vector(&mut self) -> Vec<f32> {
        let mut value = || self.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0;
        (0..DIMENSION).map(|_| value()).collect()
    }

    fn points(&mut self, count: usize) -> Vec<Point> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = || u128::from(NEXT.fetch_add(1, Relaxed)).to_be_bytes();
        (0..count).map(|_| (id(), self.vector())).collect()
    }
}

/// The content of a point follows from its id.
fn content_of(id: &PointId) -> Vec<u8> {
    id.repeat(1 + usize::from(id[15] % 7))
}

fn insert(engine: &Engine, points: &[Point]) -> Result<()> {
    let contents: Vec<Vec<u8>> = points.iter().map(|(id, _)| content_of(id)).collect();
    let content_ends = contents.iter().scan(0, |end, content| {
        *end += content.len();
        Some(*end)
    });
    let batch = Batch {
        ids: points.iter().map(|(id, _)| *id).collect(),
        vectors: points
            .iter()
            .flat_map(|(_, vector)| vector.clone())
            .collect(),
        content_types: vec![1; points.len()],
        content_ends: content_ends.collect(),
        contents: contents.concat(),
        ..Batch::default()
    };
    answer(|done| engine.insert(batch, done))
}

/// Asserts that the stored point, if it exists, is the inserted one; returns whether it exists.
fn check_stored(engine: &Engine, (id, vector): &Point) -> bool {
    let Some(point) = engine.get(id).unwrap() else {
        return false;
    };
    assert_eq!(point.id, *id);
    assert_eq!(point.vector, *vector);
    assert_eq!(point.content, content_of(id));
    true
}

/// The state that the threads share.
struct Scene {
    engine: Engine,
    kept: Vec<Point>,
    /// Acknowledged points that no thread is about to delete.
    living: Mutex<Vec<Point>>,
    /// Acknowledged deletes.
    gone: RwLock<Vec<PointId>>,
    done: AtomicBool,
}

impl Scene {
    fn new(engine: Engine) -> Self {
        let kept = Noise(1).points(KEPT);
        insert(&engine, &kept).unwrap();
        Scene {
            engine,
            kept,
            living: Mutex::default(),
            gone: RwLock::default(),
            done: AtomicBool::new(false),
        }
    }

    /// Repeats `act` until the time is over; returns how often.
    fn repeat(&self, seed: u64, mut act: impl FnMut(&mut Noise)) -> u64 {
        let mut noise = Noise(seed);
        let mut times = 0;
        while times == 0 || !self.done.load(Relaxed) {
            act(&mut noise);
            times += 1;
        }
        times
    }

    fn insert_some(&self, noise: &mut Noise) {
        if self.living.lock().unwrap().len() > MOST_LIVING {
            return thread::yield_now();
        }
        let size = 1 + noise.below(MOST_IN_BATCH);
        let points = noise.points(size);
        insert(&self.engine, &points).unwrap();
        assert!(points.iter().all(|point| check_stored(&self.engine, point)));
        self.living.lock().unwrap().extend(points);
    }

    fn delete_many(&self, noise: &mut Noise) {
        let points: Vec<Point> = {
            let mut living = self.living.lock().unwrap();
            let surplus = living.len().saturating_sub(LEAST_LIVING);
            let count = if surplus > MOST_LIVING / 2 {
                surplus
            } else {
                surplus.min(3)
            };
            let remove = |_| {
                let at = noise.below(living.len());
                living.swap_remove(at)
            };
            (0..count).map(remove).collect()
        };
        let (sender, receiver) = channel();
        for &(id, _) in &points {
            let sender = sender.clone();
            let done = Box::new(move |outcome| sender.send(outcome).unwrap());
            self.engine.delete(id, done);
        }
        drop(sender);
        assert!(receiver.iter().all(|existed| existed.unwrap()));
        assert!(!points.iter().any(|point| check_stored(&self.engine, point)));
        self.gone
            .write()
            .unwrap()
            .extend(points.iter().map(|(id, _)| *id));
    }

    fn get_one(&self, noise: &mut Noise) {
        let point = {
            let living = self.living.lock().unwrap();
            (!living.is_empty()).then(|| living[noise.below(living.len())].clone())
        };
        if let Some(point) = point {
            // It may have been deleted meanwhile.
            check_stored(&self.engine, &point);
        }
        assert!(check_stored(&self.engine, &self.kept[noise.below(KEPT)]));
    }

    fn search(&self, noise: &mut Noise) {
        let (kept_id, kept_vector) = &self.kept[noise.below(KEPT)];
        let metric = Metric::ALL[noise.below(4)];
        let limit = [1, 10, 100][noise.below(3)];
        let ef = [1, 50, 200, EXACT][noise.below(4)];
        let query = Query { metric, limit, ef };
        let gone_before = self.gone.read().unwrap().len();

        let at_once = self.engine.search(kept_vector, &query).unwrap();
        let hits = at_once.unwrap_or_else(|| {
            let vectors = kept_vector.clone();
            let answers = answer(|done| {
                self.engine.search_batch(vectors, vec![query.clone()], done);
            });
            answers.unwrap().swap_remove(0)
        });

        assert_eq!(
            hits.len(),
            limit,
            "{query:?}: there are as many points at all times"
        );
        assert!(hits.is_sorted_by(|a, b| a.rank <= b.rank));
        let ids: HashSet<PointId> = hits.iter().map(|hit| hit.id).collect();
        assert_eq!(ids.len(), hits.len(), "a point is found twice");
        if ef == EXACT {
            assert_eq!(
                hits[0].id, *kept_id,
                "{query:?}: nothing is closer than itself"
            );
        }
        let gone = self.gone.read().unwrap();
        assert!(!gone[..gone_before].iter().any(|id| ids.contains(id)));
        for hit in &hits {
            // A hit may have been deleted meanwhile.
            if let Some(point) = self.engine.get(&hit.id).unwrap() {
                let expected = kernels::distance(metric, kept_vector, &point.vector);
                assert!((hit.rank - expected).abs() <= 1e-9 * expected.max(1.0));
            }
        }
    }
}

#[test]
fn what_is_acknowledged_holds_while_threads_insert_delete_get_and_search() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::new(open(folder.path()));
    thread::scope(|scope| {
        let scene = &scene;
        for seed in [2, 3] {
            scope.spawn(move || scene.repeat(seed, |noise| scene.insert_some(noise)));
            scope.spawn(move || scene.repeat(seed + 10, |noise| scene.search(noise)));
        }
        scope.spawn(|| scene.repeat(20, |noise| scene.delete_many(noise)));
        scope.spawn(|| scene.repeat(21, |noise| scene.get_one(noise)));
        thread::sleep(duration());
        scene.done.store(true, Relaxed);
    });

    let Scene {
        engine,
        kept,
        living,
        gone,
        ..
    } = scene;
    let (living, gone) = (living.into_inner().unwrap(), gone.into_inner().unwrap());
    assert!(!gone.is_empty());
    drop(engine);
    let again = open(folder.path());
    assert_eq!(again.status().points, (kept.len() + living.len()) as u64);
    assert!(
        kept.iter()
            .chain(&living)
            .all(|point| check_stored(&again, point))
    );
    assert!(gone.iter().all(|id| again.get(id).unwrap().is_none()));
}

#[test]
fn closing_in_the_middle_answers_every_request() {
    for round in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene::new(open(folder.path()));
        let engine = &scene.engine;
        let until_closed = |seed: u64, act: &dyn Fn(&mut Noise) -> Result<()>| {
            let mut noise = Noise(seed);
            let refused = std::iter::repeat_with(|| act(&mut noise)).find_map(Result::err);
            assert!(matches!(refused, Some(Error::Closed)), "{refused:?}");
        };
        thread::scope(|scope| {
            scope.spawn(|| until_closed(30, &|noise| insert(engine, &noise.points(20))));
            scope.spawn(|| {
                until_closed(31, &|noise| {
                    let [(id, _)] = <[Point; 1]>::try_from(noise.points(1)).unwrap();
                    answer(|done| engine.delete(id, done)).map(drop)
                });
            });
            scope.spawn(|| until_closed(32, &|_| engine.get(&scene.kept[0].0).map(drop)));
            scope.spawn(|| {
                until_closed(33, &|noise| {
                    let query = Query {
                        metric: Metric::ALL[noise.below(4)],
                        limit: 10,
                        ef: 50,
                    };
                    let queries = vec![query; 4];
                    let vectors = scene.kept[..4]
                        .iter()
                        .flat_map(|(_, vector)| vector.clone());
                    let vectors = vectors.collect();
                    answer(|done| {
                        engine.search_batch(vectors, queries, done);
                    })
                    .map(drop)
                });
            });
            thread::sleep(Duration::from_millis(100 * round));
            engine.close().unwrap();
        });
    }
}

/// What was written to a point last, by the one thread that writes it.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    version: u32,
    k: u32,
    begun: u64,
    ended: u64,
}

/// A delete of all points with this `k`, answered with their number.
#[derive(Debug)]
struct Deleted {
    k: u32,
    begun: u64,
    ended: u64,
    points: u64,
}

/// Points with a few values of `k`, each replaced again and again, while deletes by filter go on.
struct Replacing {
    engine: Engine,
    clock: AtomicU64,
    stored: AtomicU64,
    done: AtomicBool,
}

impl Replacing {
    const VALUES: usize = 4;
    const POINTS_OF_THREAD: usize = 200;

    /// Replaces points with these ids until the time is over; returns what was written last.
    fn replace(&self, thread: u64) -> Vec<(PointId, Last)> {
        let mut noise = Noise(thread);
        let first = u128::from(thread) << 64;
        let id = |at: usize| (first + at as u128 + 1).to_be_bytes();
        let mut all: Vec<(PointId, Last)> = (0..Self::POINTS_OF_THREAD)
            .map(|at| (id(at), Last::default()))
            .collect();
        while !self.done.load(Relaxed) {
            let from = noise.below(Self::POINTS_OF_THREAD);
            let to = (from + 1 + noise.below(MOST_IN_BATCH)).min(Self::POINTS_OF_THREAD);
            let begun = self.clock.fetch_add(1, Relaxed);
            let mut batch = Batch::default();
            for (id, last) in &mut all[from..to] {
                *last = Last {
                    version: last.version + 1,
                    k: noise.below(Self::VALUES) as u32,
                    begun,
                    ended: u64::MAX,
                };
                batch.ids.push(*id);
                batch.vectors.extend(noise.vector());
                batch.content_types.push(0);
                batch.contents.extend(last.version.to_le_bytes());
                batch.content_ends.push(batch.contents.len());
                batch
                    .metadata
                    .extend(format!("{{\"k\":{}}}", last.k).bytes());
                batch.metadata_ends.push(batch.metadata.len());
            }
            let counts = answer(|done| self.engine.upsert(batch, Existing::Replace, done));
            self.stored
                .fetch_add(counts.unwrap().stored as u64, Relaxed);
            let ended = self.clock.fetch_add(1, Relaxed);
            all[from..to]
                .iter_mut()
                .for_each(|(_, last)| last.ended = ended);
        }
        all
    }

    fn delete(&self) -> Vec<Deleted> {
        let mut noise = Noise(99);
        let mut all = Vec::new();
        while !self.done.load(Relaxed) {
            let k = noise.below(Self::VALUES) as u32;
            let test = Test::In([Value::Number(f64::from(k))].into_iter().collect());
            let is_k = Expression::Condition(Condition::Metadata("k".into(), test));
            let filter = Arc::new(Filter::new(is_k));
            let begun = self.clock.fetch_add(1, Relaxed);
            let points = answer(|done| self.engine.delete_matching(filter, done)).unwrap();
            let ended = self.clock.fetch_add(1, Relaxed);
            all.push(Deleted {
                k,
                begun,
                ended,
                points,
            });
        }
        all
    }
}

#[test]
fn deletes_by_filter_delete_what_passes_and_nothing_else_while_points_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Replacing {
        engine: open(folder.path()),
        clock: AtomicU64::new(1),
        stored: AtomicU64::new(0),
        done: AtomicBool::new(false),
    };
    let (written, deletes) = thread::scope(|scope| {
        let scene = &scene;
        let writers = [1, 2, 3].map(|thread| scope.spawn(move || scene.replace(thread)));
        let others = [(); 2].map(|()| scope.spawn(|| scene.delete()));
        thread::sleep(duration());
        scene.done.store(true, Relaxed);
        let written: Vec<_> = writers
            .into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect();
        let deletes: Vec<_> = others
            .into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect();
        (written, deletes)
    });
    let gone: u64 = deletes.iter().map(|delete| delete.points).sum();
    let live = scene.engine.status().points;
    assert_eq!(scene.stored.into_inner() - gone, live);
    assert!(gone > 0);
    drop(scene.engine);
    let again = open(folder.path());
    assert_eq!(again.status().points, live);
    for (id, last) in written.iter().filter(|(_, last)| last.version > 0) {
        let mut of_k = deletes.iter().filter(|delete| delete.k == last.k);
        match again.get(id).unwrap() {
            Some(point) => {
                assert_eq!(point.content, last.version.to_le_bytes());
                let mut later = of_k.filter(|delete| delete.begun > last.ended);
                assert!(later.next().is_none(), "{last:?} outlived a delete");
            }
            None => assert!(
                of_k.any(|delete| delete.ended > last.begun),
                "{last:?} is lost"
            ),
        }
    }
}
