//! Deletes by filter, and what is written while their points are looked for.

use std::{
    iter,
    sync::{
        Arc, RwLock,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use vectord_filter::{Condition, Expression, Filter, Test, Value};

use super::workers::{Endless, wait_until};
use crate::{
    Engine, Error, Options, Params, Result,
    engine::{
        workers::{Job, Turn, queue::MAX_JOBS},
        writer::{Batch, Done, Existing, Outcome, Update, message::Message},
    },
    hnsw::Scratch,
    index::{Matches, PAUSED_VIEWS},
    store::tests::{id, new_folder},
};

/// How long a busy machine may take.
const PATIENCE: Duration = Duration::from_mins(1);

fn open(folder: &TempDir) -> Engine {
    open_with(folder, 64 << 20)
}

fn open_with(folder: &TempDir, max_queued_bytes: usize) -> Engine {
    open_with_columns(folder, max_queued_bytes, 1 << 20)
}

/// Opens an engine that reads the record of each point that a filter is asked about.
fn open_without_columns(folder: &TempDir) -> Engine {
    open_with_columns(folder, 64 << 20, 0)
}

fn open_with_columns(folder: &TempDir, max_queued_bytes: usize, max_column_bytes: usize) -> Engine {
    Engine::open(&Options {
        path: folder.path().into(),
        dimension: Some(1),
        graph: Params {
            m: 16,
            ef_construction: 100,
        },
        warm_metrics: Vec::new(),
        segment_bytes: 1 << 20,
        max_queued_bytes,
        max_column_bytes,
        give_back_after: None,
    })
    .unwrap()
}

fn metadata(k: u32) -> Vec<u8> {
    format!(r#"{{"k":{k}}}"#).into_bytes()
}

fn is_one() -> Expression {
    let test = Test::In([Value::Number(1.0)].into_iter().collect());
    Expression::Condition(Condition::Metadata("k".into(), test))
}

fn batch(numbers: &[u32], k: impl Fn(u32) -> u32) -> Batch {
    let mut batch = Batch::default();
    for &number in numbers {
        batch.ids.push(id(number));
        batch.vectors.push(number as f32);
        batch.content_types.push(0);
        batch.content_ends.push(0);
        batch.metadata.extend(metadata(k(number)));
        batch.metadata_ends.push(batch.metadata.len());
    }
    batch
}

/// Begins a request, whose answer is received.
fn begin<T: Send + 'static>(request: impl FnOnce(Done<T>)) -> Receiver<Result<T>> {
    let (done, answer) = channel();
    request(Box::new(move |outcome| drop(done.send(outcome))));
    answer
}

fn answer<T: Send + 'static>(request: impl FnOnce(Done<T>)) -> T {
    begin(request).recv_timeout(PATIENCE).unwrap().unwrap()
}

fn upsert(engine: &Engine, numbers: &[u32], k: impl Fn(u32) -> u32) {
    answer(|done| engine.upsert(batch(numbers, k), Existing::Replace, done));
}

fn update(engine: &Engine, number: u32, k: u32) {
    let update = Update {
        id: id(number),
        content_type: None,
        content: None,
        metadata: Some(metadata(k)),
    };
    let found = answer(|done| engine.update(vec![update], done));
    assert_eq!(found, [true]);
}

fn delete(engine: &Engine, number: u32) {
    assert!(answer(|done| engine.delete(id(number), done)));
}

fn points(engine: &Engine) -> Vec<u32> {
    let is_there = |&number: &u32| engine.get(&id(number)).unwrap().is_some();
    (0..1_000).filter(is_there).collect()
}

/// Keeps search threads until the gate is open.
struct Keep {
    threads: usize,
    begun: Arc<AtomicUsize>,
    gate: Arc<RwLock<()>>,
}

impl Job for Keep {
    fn parts(&self) -> usize {
        self.threads
    }

    fn work_left(&self) -> u64 {
        0
    }

    fn run(&self, _part: usize, _scratch: &mut Scratch, _turn: &Turn) -> bool {
        self.begun.fetch_add(1, Ordering::Relaxed);
        drop(self.gate.read());
        true
    }

    fn gives_way(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        1
    }

    fn finish(&self, _outcome: Result<()>) {}
}

/// Does `work` while no search thread is free, so that no points are found.
fn while_nothing_is_found<T>(engine: &Engine, work: impl FnOnce() -> T) -> T {
    let (begun, gate) = (Arc::<AtomicUsize>::default(), Arc::default());
    let held = RwLock::write(&gate).unwrap();
    let threads = engine.workers.threads();
    engine.workers.submit(Box::new(Keep {
        threads,
        begun: Arc::clone(&begun),
        gate: Arc::clone(&gate),
    }));
    while begun.load(Ordering::Relaxed) < threads {
        thread::yield_now();
    }
    let done = work();
    drop(held);
    done
}

/// Holds the writer until the sender is dropped.
fn hold_writer(engine: &Engine) -> Sender<()> {
    let (open, opened) = channel::<()>();
    let (begun, has_begun) = channel();
    let writer = Arc::clone(&engine.writer);
    thread::spawn(move || {
        writer.run(move |_| {
            begun.send(()).unwrap();
            opened.recv_timeout(PATIENCE)
        })
    });
    has_begun.recv_timeout(PATIENCE).unwrap();
    open
}

fn is_waiting<T>(answer: &Receiver<Result<T>>) -> bool {
    matches!(answer.try_recv(), Err(TryRecvError::Empty))
}

#[test]
fn others_write_while_the_points_of_a_delete_are_looked_for() {
    let folder = new_folder();
    let engine = open(&folder);
    upsert(&engine, &[0, 1, 2, 3], |number| number % 2);
    let filter = Arc::new(Filter::new(is_one()));
    let deleted = while_nothing_is_found(&engine, || {
        let deleted = begin(|done| engine.delete_matching(filter, done));
        upsert(&engine, &[4, 5], |number| number % 2);
        update(&engine, 0, 1);
        delete(&engine, 1);
        assert!(is_waiting(&deleted), "the writes waited for the delete");
        deleted
    });
    assert_eq!(deleted.recv_timeout(PATIENCE).unwrap().unwrap(), 3);
    assert_eq!(points(&engine), [2, 4]);
}

#[test]
fn what_passes_when_the_writer_comes_to_a_delete_is_deleted() {
    // Few later ones are left to the writer; more are looked at before.
    for later in [8, 300] {
        let folder = new_folder();
        let engine = open_without_columns(&folder);
        upsert(&engine, &[0, 1, 2, 3, 4, 5, 6, 7], |number| number % 2);
        let asked = AtomicUsize::new(0);
        let write = || {
            match asked.fetch_add(1, Ordering::Relaxed) {
                0 => {
                    update(&engine, 0, 1);
                    update(&engine, 1, 0);
                    upsert(&engine, &[3], |_| 1);
                    delete(&engine, 5);
                    delete(&engine, 7);
                    upsert(&engine, &[7], |_| 0);
                    let numbers: Vec<u32> = (8..8 + later).collect();
                    upsert(&engine, &numbers, |number| number % 2);
                }
                // Still the first round, or the second if there is one.
                30 => update(&engine, 2, 1),
                _ => {}
            }
            true
        };
        let filter = Arc::new(Filter::new(is_one()));
        let found = Matches::find(&engine.index, &filter, &write).unwrap();
        // The writer looks at what came behind all that.
        update(&engine, 4, 1);
        update(&engine, 4, 0);
        update(&engine, 6, 1);
        update(&engine, 9, 0);
        update(&engine, 10, 1);
        let is_updated = usize::from(asked.load(Ordering::Relaxed) > 30);
        let memory = engine.budget.reserve(0).unwrap();
        let delete = |done| engine.writer.delete_matching(filter, found, memory, done);
        let deleted = answer(delete);
        let gone = 4 + is_updated as u64 + u64::from(later) / 2 - 1;
        assert_eq!(deleted, gone, "{later} later");
        let mut left = vec![1, 2, 4, 7, 8, 9];
        left.retain(|&number| number != 2 || is_updated == 0);
        left.extend((12..8 + later).step_by(2));
        assert_eq!(points(&engine), left, "{later} later");
        assert_eq!(is_updated == 1, later > 100);
    }
}

#[test]
fn it_is_known_whether_points_are_written_faster_than_a_filter_is_asked_about_them() {
    for second in [100, 300] {
        let folder = new_folder();
        let engine = open_without_columns(&folder);
        upsert(&engine, &[0, 1, 2, 3, 4, 5, 6, 7], |number| number % 2);
        let asked = AtomicUsize::new(0);
        let write = || {
            let numbers = match asked.fetch_add(1, Ordering::Relaxed) {
                0 => 8..208,
                // In the midst of the second round.
                30 => 208..208 + second,
                _ => 0..0,
            };
            if !numbers.is_empty() {
                upsert(&engine, &numbers.collect::<Vec<u32>>(), |number| number % 2);
            }
            true
        };
        let filter = Arc::new(Filter::new(is_one()));
        let found = Matches::find(&engine.index, &filter, &write).unwrap();
        assert_eq!(found.falls_behind(), second > 200);
    }
}

/// The points of the tests of memory: enough that a request that names each of them is large.
const MANY: u32 = 8_000;

#[test]
fn the_points_that_a_delete_has_found_are_the_memory_that_it_holds_and_never_its_refusal() {
    let folder = new_folder();
    let engine = open_with(&folder, 280_000);
    // Beside these, there is room to look for the points, but not for all of them.
    let others = 100_000;
    for found in [MANY, 1] {
        let numbers: Vec<u32> = (0..MANY).collect();
        for numbers in numbers.chunks(1_000) {
            upsert(&engine, numbers, |number| u32::from(number < found));
        }
        let held = engine.budget.reserve(others).unwrap();
        let held_writer = hold_writer(&engine);
        let filter = Arc::new(Filter::new(is_one()));
        let deleted = begin(|done| engine.delete_matching(filter, done));
        let bytes = others + 256 + found as usize * (24 + 256);
        wait_until(|| engine.budget.usage().0 == bytes || !is_waiting(&deleted));
        drop(held_writer);
        let deleted = deleted.recv_timeout(PATIENCE).unwrap().unwrap();
        assert_eq!(deleted, u64::from(found));
        assert_eq!(engine.budget.usage().0, others);
        drop(held);
    }
}

#[test]
fn what_is_found_ahead_of_a_message_is_given_to_it_or_back() {
    let folder = new_folder();
    let engine = open_with(&folder, 1 << 20);
    let stored = batch(&[0, 1, 2, 3, 4, 5], |number| number % 2);
    let stored = Message::Store(&stored, Existing::Replace).encode();
    answer(|done| engine.apply(&stored, 1, done));
    // A search gives back what it takes itself behind its answer.
    let usage = || engine.budget.usage().0;
    let held = 3 * 24;
    let applied = 256 + 3 * (24 + 256);

    // Two deletes with equal filters: each takes what was found for one of them.
    for _ in 0..2 {
        answer(|done| engine.find_to_delete(Arc::new(Filter::new(is_one())), done));
    }
    wait_until(|| usage() == 2 * held);
    let changed = batch(&[0, 1], |number| 1 - number);
    let changed = Message::Store(&changed, Existing::Replace).encode();
    answer(|done| engine.apply(&changed, 2, done));
    let delete = Message::DeleteMatching(&is_one()).encode();
    let other = Expression::Not(Box::new(is_one()));
    let delete_others = Message::DeleteMatching(&other).encode();
    let held_writer = hold_writer(&engine);
    let first = begin(|done| engine.apply(&delete, 3, done));
    wait_until(|| usage() == held + applied);
    let others = begin(|done| engine.apply(&delete_others, 4, done));
    wait_until(|| usage() == held + applied + 256);
    drop(held_writer);
    let deleted = |answer: Receiver<Result<Outcome>>| answer.recv_timeout(PATIENCE).unwrap();
    assert_eq!(deleted(first).unwrap().deleted, 3);
    assert_eq!(deleted(others).unwrap().deleted, 3);
    wait_until(|| usage() == held);
    assert_eq!(points(&engine), [0; 0]);

    // No message comes for the other.
    engine.writer.forget_found(Instant::now());
    wait_until(|| usage() == held);
    engine.writer.forget_found(Instant::now() + PATIENCE);
    wait_until(|| usage() == 0);
}

#[test]
fn a_delete_beyond_those_that_are_found_ahead_is_refused_and_none_of_them_dropped() {
    let folder = new_folder();
    let engine = open_with(&folder, 1 << 20);
    let stored = batch(&[1], |number| number);
    let stored = Message::Store(&stored, Existing::Replace).encode();
    answer(|done| engine.apply(&stored, 1, done));
    let find = || {
        let found = begin(|done| engine.find_to_delete(Arc::new(Filter::new(is_one())), done));
        found.recv_timeout(PATIENCE).unwrap()
    };
    let mut found = 0;
    let refused = loop {
        match find() {
            Ok(()) => found += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Overloaded(_)), "{refused}");
    assert!(found >= 256, "{found} are found");
    wait_until(|| engine.budget.usage().0 == found * 24);
    let delete = Message::DeleteMatching(&is_one()).encode();
    assert_eq!(answer(|done| engine.apply(&delete, 2, done)).deleted, 1);
    find().unwrap();
    assert!(find().is_err());
}

#[test]
fn what_is_found_for_a_message_that_does_not_come_is_given_back() {
    let folder = new_folder();
    let engine = open_with(&folder, 1 << 20);
    let stored = batch(&[1], |number| number);
    let stored = Message::Store(&stored, Existing::Replace).encode();
    answer(|done| engine.apply(&stored, 1, done));
    let filter = || Arc::new(Filter::new(is_one()));
    let find = || {
        let found = begin(|done| engine.find_to_delete(filter(), done));
        found.recv_timeout(PATIENCE).unwrap()
    };
    let found = iter::from_fn(|| find().ok()).count();
    engine.give_back_found(&filter());
    find().unwrap();
    assert!(find().is_err());
    for _ in 0..found {
        engine.give_back_found(&filter());
    }
    wait_until(|| engine.budget.usage().0 == 0);
}

#[test]
fn what_is_found_behind_its_message_is_not_kept() {
    let folder = new_folder();
    let engine = open_with(&folder, 1 << 20);
    let stored = batch(&[1], |number| number);
    let stored = Message::Store(&stored, Existing::Replace).encode();
    answer(|done| engine.apply(&stored, 1, done));
    let delete = Message::DeleteMatching(&is_one()).encode();
    let filter = || Arc::new(Filter::new(is_one()));
    let found = while_nothing_is_found(&engine, || {
        let found = [(); 2].map(|()| begin(|done| engine.find_to_delete(filter(), done)));
        assert_eq!(answer(|done| engine.apply(&delete, 2, done)).deleted, 1);
        found
    });
    for found in found {
        found.recv_timeout(PATIENCE).unwrap().unwrap();
    }
    // One of the two is for a message that is still to come.
    let find = || begin(|done| engine.find_to_delete(filter(), done)).recv_timeout(PATIENCE);
    let free_places = || iter::from_fn(|| find().unwrap().ok()).count();
    let beside_it = free_places();
    for _ in 0..=beside_it {
        engine.give_back_found(&filter());
    }
    assert_eq!(free_places(), beside_it + 1);
}

#[test]
fn the_points_of_a_delete_are_found_whatever_memory_others_hold() {
    let folder = new_folder();
    let engine = open_with(&folder, 1 << 20);
    let numbers: Vec<u32> = (0..MANY).collect();
    for numbers in numbers.chunks(1_000) {
        upsert(&engine, numbers, |number| number);
    }
    let budget = &engine.budget;
    let reserve = |bytes| iter::from_fn(move || budget.reserve(bytes).ok());
    let reads: Vec<_> = reserve(70_000).chain(reserve(1)).collect();
    let held = engine.budget.usage().0;
    assert_eq!(held, 1 << 20, "{} reads", reads.len());
    let filter = || Arc::new(Filter::new(is_one()));
    answer(|done| engine.find_to_delete(filter(), done));
    engine.give_back_found(&filter());
    assert_eq!(answer(|done| engine.delete_matching(filter(), done)), 1);
    wait_until(|| engine.budget.usage().0 == held);
}

#[test]
fn a_message_is_applied_whatever_memory_others_hold() {
    let folder = new_folder();
    let engine = open_with(&folder, 1 << 20);
    let numbers: Vec<u32> = (0..2_000).collect();
    let stored = batch(&numbers, |number| u32::from(number > 0));
    let stored = Message::Store(&stored, Existing::Replace).encode();
    assert!(stored.len() > 64 << 10, "a small one has room of its own");
    let reads: Vec<_> = (0..)
        .map_while(|_| engine.budget.reserve(70_000).ok())
        .collect();
    assert!(!reads.is_empty());
    answer(|done| engine.apply(&stored, 1, done));
    assert_eq!(engine.index.live(), 2_000);
}

#[test]
fn a_delete_waits_for_no_reads_however_many_they_are() {
    let folder = new_folder();
    let (sender, _ended) = channel();
    let engine = open(&folder);
    upsert(&engine, &[0, 1, 2, 3], |number| number % 2);
    let ends = Arc::default();
    let begin_read = || {
        let steps = Arc::<AtomicUsize>::default();
        let read = Endless {
            ends: Arc::clone(&ends),
            steps: Arc::clone(&steps),
            searches: false,
            finished: sender.clone(),
        };
        engine.workers.submit(Box::new(read)).map(|_| steps)
    };
    let begun: Vec<_> = iter::from_fn(begin_read).collect();
    let has_begun = |steps: &&Arc<AtomicUsize>| steps.load(Ordering::Relaxed) > 0;
    wait_until(|| begun.iter().filter(has_begun).count() == PAUSED_VIEWS);
    // The last places are for reads of little work.
    let filter = Arc::new(Filter::new(is_one()));
    let count = || engine.count(Arc::clone(&filter), Box::new(drop)).is_some();
    let counts = (0..MAX_JOBS).filter(|_| count()).count();
    assert_eq!(begun.len() + counts, MAX_JOBS);
    let deleted = answer(|done| engine.delete_matching(Arc::clone(&filter), done));
    assert_eq!(deleted, 2);
    assert_eq!(engine.workers.jobs(), (MAX_JOBS, MAX_JOBS));
    ends.store(true, Ordering::Release);
}
