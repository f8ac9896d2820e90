//! Points that are replaced, updated, deleted all at once, filtered and read page by page, compared
//! with a plain list of points.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    collections::HashSet,
    ops::RangeInclusive,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::channel,
    },
    thread,
};

use proptest::prelude::*;
use vectord_engine::{
    Batch, Direction, Engine, Error, Existing, Include, Metric, Options, Page, PageRequest,
    PointId, Update, Upserted,
};
use vectord_filter::{Bound, Condition, Expression, Filter, Side, Test, Value, Values};

use crate::driver::{
    answer, brute_force, copy_of, ends, find, insert, options, search, wait_until,
};

/// Few ids, so that most points replace others.
const IDS: RangeInclusive<u8> = 1..=12;
const DIMENSION: u32 = 2;

/// What a test knows of a point.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    id: PointId,
    vector: Vec<f32>,
    content: Vec<u8>,
    metadata: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Step {
    Upsert(Vec<(u8, f32)>, bool),
    Update(Vec<(u8, Option<u8>, Option<u8>)>),
    Delete(Vec<u8>),
    DeleteMatching(usize),
    DeleteAll(bool),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = || prop::sample::select(vec![-1.0_f32, 0.0, 1.0, 2.5, 1e30]);
    let part = || prop::option::of(0_u8..5);
    let step = prop_oneof![
        4 => (prop::collection::vec((IDS, value()), 1..8), any::<bool>())
            .prop_map(|(points, keeps)| Step::Upsert(points, keeps)),
        3 => prop::collection::vec((IDS, part(), part()), 1..6).prop_map(Step::Update),
        2 => prop::collection::vec(IDS, 1..4).prop_map(Step::Delete),
        1 => (0..filters().len()).prop_map(Step::DeleteMatching),
        1 => any::<bool>().prop_map(Step::DeleteAll),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..30)
}

fn id(number: u8) -> PointId {
    u128::from(number).to_be_bytes()
}

fn open(path: &Path) -> Engine {
    Engine::open(&Options {
        segment_bytes: 8 << 10,
        ..options(path, Some(DIMENSION))
    })
    .unwrap()
}

fn batch(points: &[Known]) -> Batch {
    let contents: Vec<_> = points.iter().map(|point| point.content.clone()).collect();
    let metadata: Vec<_> = points.iter().map(|point| point.metadata.clone()).collect();
    Batch {
        ids: points.iter().map(|point| point.id).collect(),
        vectors: points
            .iter()
            .flat_map(|point| point.vector.clone())
            .collect(),
        content_types: vec![1; points.len()],
        content_ends: ends(&contents),
        contents: contents.concat(),
        metadata_ends: ends(&metadata),
        metadata: metadata.concat(),
    }
}

fn upsert(engine: &Engine, points: &[Known], existing: Existing) -> Upserted {
    answer(|done| engine.upsert(batch(points), existing, done)).unwrap()
}

fn known(number: u8, value: f32, salt: usize) -> Known {
    Known {
        id: id(number),
        vector: vec![value, f32::from(number)],
        content: vec![number; salt % 9],
        metadata: metadata(salt % 4),
    }
}

/// Metadata with this number under the key `n`; none for 0.
fn metadata(number: usize) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        number => format!(r#"{{"n":{number}}}"#).into_bytes(),
    }
}

/// A filter, and which numbers of metadata pass it.
type Case = (Expression, fn(usize) -> bool);

/// Filters of each kind.
fn filters() -> Vec<Case> {
    let on = |test| Expression::Condition(Condition::Metadata("n".into(), test));
    let is = |number| on(Test::In(Values::from_iter([Value::Number(number)])));
    let above = |number| {
        on(Test::Within(Bound {
            value: Value::Number(number),
            side: Side::Above,
        }))
    };
    vec![
        (Expression::All(vec![]), |_| true),
        (Expression::Any(vec![]), |_| false),
        (is(2.0), |number| number == 2),
        (Expression::Not(Box::new(is(2.0))), |number| number != 2),
        (above(1.0), |number| number > 1),
        (on(Test::Exists), |number| number > 0),
    ]
}

fn filter(expression: Expression) -> Arc<Filter> {
    Arc::new(Filter::new(expression))
}

/// The points of the list that pass.
fn passing(model: &[Known], passes: impl Fn(usize) -> bool) -> Vec<Known> {
    let number = |point: &Known| (0..5).find(|&number| metadata(number) == point.metadata);
    let is_passing = |point: &&Known| passes(number(point).unwrap());
    model.iter().filter(is_passing).cloned().collect()
}

fn page(
    engine: &Engine,
    after: Option<u64>,
    limit: usize,
    max_bytes: usize,
    direction: Direction,
    filter: Option<Arc<Filter>>,
) -> Page {
    let request = PageRequest {
        after,
        limit,
        direction,
        filter,
        include: Include::ALL,
        max_bytes,
    };
    answer(|done| engine.scroll(request, done)).unwrap()
}

/// All points that pass, page by page.
fn scroll(engine: &Engine, direction: Direction, filter: Option<&Arc<Filter>>) -> Vec<Known> {
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let page = page(engine, after, 3, 1 << 20, direction, filter.cloned());
        let records = page.records;
        let parts = |bytes: &[u8], ends: &[usize], at: usize| {
            let start = at.checked_sub(1).map_or(0, |before| ends[before]);
            bytes[start..ends[at]].to_vec()
        };
        found.extend((0..records.ids.len()).map(|at| Known {
            id: records.ids[at],
            vector: records.vectors[at * DIMENSION as usize..][..DIMENSION as usize].to_vec(),
            content: parts(&records.contents, &records.content_ends, at),
            metadata: parts(&records.metadata, &records.metadata_ends, at),
        }));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

/// The points with each id once, the last one of each.
fn once<T>(all: Vec<T>, id_of: impl Fn(&T) -> u8) -> Vec<T> {
    let mut seen = HashSet::new();
    let mut last: Vec<T> = all
        .into_iter()
        .rev()
        .filter(|one| seen.insert(id_of(one)))
        .collect();
    last.reverse();
    last
}

/// Does a step with both, and compares the answers.
fn take(step: Step, salt: usize, engine: &Engine, model: &mut Vec<Known>) {
    let find = |model: &[Known], id: PointId| model.iter().position(|point| point.id == id);
    match step {
        Step::Upsert(points, keeps) => {
            let points = once(points, |&(number, _)| number);
            let points: Vec<Known> = points
                .into_iter()
                .map(|(number, value)| known(number, value, salt + usize::from(number)))
                .collect();
            let mut expected = Upserted::default();
            for point in &points {
                match find(model, point.id) {
                    Some(_) if keeps => {
                        expected.kept += 1;
                        continue;
                    }
                    Some(at) => {
                        model.remove(at);
                        expected.replaced += 1;
                    }
                    None => expected.stored += 1,
                }
                model.push(point.clone());
            }
            let existing = if keeps {
                Existing::Keep
            } else {
                Existing::Replace
            };
            assert_eq!(upsert(engine, &points, existing), expected);
        }
        Step::Update(updates) => {
            let updates = once(updates, |&(number, ..)| number);
            let mut expected = Vec::new();
            let mut asked = Vec::new();
            for (number, content, metadata) in updates {
                let bytes = |length: Option<u8>| length.map(|length| vec![b'u'; length.into()]);
                let content = bytes(content);
                let metadata = metadata.map(|number| self::metadata(number.into()));
                let at = find(model, id(number));
                expected.push(at.is_some());
                if let Some(at) = at {
                    let mut point = model.remove(at);
                    point.content = content.clone().unwrap_or(point.content);
                    point.metadata = metadata.clone().unwrap_or(point.metadata);
                    model.push(point);
                }
                asked.push(Update {
                    id: id(number),
                    content_type: None,
                    content,
                    metadata,
                });
            }
            assert_eq!(answer(|done| engine.update(asked, done)).unwrap(), expected);
        }
        Step::Delete(numbers) => {
            let numbers = once(numbers, |&number| number);
            let ids: Vec<_> = numbers.into_iter().map(id).collect();
            let found: Vec<bool> = ids.iter().map(|&id| find(model, id).is_some()).collect();
            model.retain(|point| !ids.contains(&point.id));
            let answered = answer(|done| engine.delete_many(ids, done)).unwrap();
            assert_eq!(answered, found);
        }
        Step::DeleteMatching(number) => {
            let (expression, passes) = filters().swap_remove(number);
            let gone = passing(model, passes);
            let filter = filter(expression);
            let deleted = answer(|done| engine.delete_matching(filter, done)).unwrap();
            assert_eq!(deleted, gone.len() as u64);
            model.retain(|point| !gone.contains(point));
        }
        Step::DeleteAll(is_right) => {
            let count = model.len() as u64;
            let expected = if is_right { count } else { count + 1 };
            let answered = answer(|done| engine.delete_all(expected, done));
            if is_right {
                answered.unwrap();
                model.clear();
            } else {
                let points = count;
                let is_told = |error: &Error| matches!(error, Error::OtherCount { points: told, .. } if *told == points);
                assert!(answered.is_err_and(|error| is_told(&error)));
            }
        }
        Step::Reopen => {}
    }
}

fn compare(engine: &Engine, model: &[Known]) {
    assert_eq!(engine.status().points, model.len() as u64);
    compare_filtered(engine, model, None);
    for (expression, passes) in filters() {
        compare_filtered(engine, &passing(model, passes), Some(&filter(expression)));
    }
    for number in IDS {
        let found = engine.get(&id(number)).unwrap();
        let expected = model.iter().find(|point| point.id == id(number));
        assert_eq!(found.is_some(), expected.is_some());
        if let (Some(found), Some(expected)) = (found, expected) {
            assert_eq!(found.vector, expected.vector);
            assert_eq!(found.content, expected.content);
            assert_eq!(found.metadata, expected.metadata);
        }
    }
}

/// Compares what is read and found of all points, or of those that pass a filter.
fn compare_filtered(engine: &Engine, model: &[Known], filter: Option<&Arc<Filter>>) {
    let scroll = |direction| scroll(engine, direction, filter);
    assert_eq!(scroll(Direction::OldestFirst), model);
    let newest: Vec<Known> = model.iter().rev().cloned().collect();
    assert_eq!(scroll(Direction::NewestFirst), newest);
    if let Some(filter) = filter {
        let count = answer(|done| engine.count(Arc::clone(filter), done)).unwrap();
        assert_eq!(count, model.len() as u64);
    }
    let points = model
        .iter()
        .map(|point| (point.id, point.vector.clone()))
        .collect();
    for metric in Metric::ALL {
        let expected = brute_force(&points, metric, &[0.5, 3.0], 5);
        let found = find(engine, metric, &[0.5, 3.0], 5, 10, filter.cloned());
        assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_answered_like_a_list_of_points_in_which_ids_are_unique(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let mut engine = open(folder.path());
        let mut model = Vec::new();
        for (salt, step) in steps.into_iter().enumerate() {
            if matches!(step, Step::Reopen) {
                engine.close().unwrap();
                engine = open(folder.path());
            }
            take(step, salt, &engine, &mut model);
            compare(&engine, &model);
        }
        drop(engine);
        compare(&open(folder.path()), &model);
    }
}

/// The log is rewritten many times while its points are replaced, and what was replaced stays so.
#[test]
fn compaction_keeps_replaced_points_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let mut model = Vec::new();
    for round in 0..400_usize {
        let numbers = (0..4).map(|at| ((round * 5 + at * 3) % 12) as u8 + 1);
        let points = numbers.map(|number| (number, round as f32)).collect();
        take(Step::Upsert(points, false), round, &engine, &mut model);
        if round % 50 == 7 {
            take(Step::DeleteAll(true), round, &engine, &mut model);
        }
        if round % 9 == 2 {
            take(
                Step::Update(vec![(3, Some(4), None)]),
                round,
                &engine,
                &mut model,
            );
            take(Step::Delete(vec![5]), round, &engine, &mut model);
        }
    }
    wait_until("compaction", || {
        !folder.path().join("00000001.log").exists()
    });
    compare(&engine, &model);
    drop(engine);
    compare(&open(folder.path()), &model);
}

/// The group is larger than the reserve for deletes and than a segment.
#[test]
fn a_delete_by_a_filter_takes_any_number_of_points() {
    const POINTS: usize = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(&options(folder.path(), Some(1))).unwrap();
    for _ in 0..10 {
        let vectors = vec![vec![1.0]; POINTS / 10];
        insert(&engine, &vectors).unwrap();
    }
    let [kept] = insert(&engine, &[vec![2.0]]).unwrap()[..] else {
        panic!("one id");
    };
    let kept = Condition::Id(HashSet::from([kept]));
    let others = filter(Expression::Not(Box::new(Expression::Condition(kept))));
    let deleted = answer(|done| engine.delete_matching(others, done)).unwrap();
    assert_eq!(deleted, POINTS as u64);
    let found = || search(&engine, Metric::Euclidean, &[1.0], 10, 10).len();
    assert_eq!((engine.status().points, found()), (1, 1));
    // Nothing that comes behind it makes it durable.
    let killed = copy_of(folder.path());
    let engine = Engine::open(&options(killed.path(), None)).unwrap();
    assert_eq!(engine.status().points, 1);
}

/// Each point has one vector or another at any time, and is there all the while.
#[test]
fn readers_find_each_point_while_it_is_replaced() {
    const POINTS: u8 = 40;
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(open(folder.path()));
    let all =
        |value: f32| -> Vec<Known> { (1..=POINTS).map(|number| known(number, value, 5)).collect() };
    upsert(&engine, &all(0.0), Existing::Replace);
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (engine, is_over) = (Arc::clone(&engine), Arc::clone(&is_over));
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    for number in 1..=POINTS {
                        let point = engine.get(&id(number)).unwrap().unwrap();
                        assert_eq!(point.vector[1].to_bits(), f32::from(number).to_bits());
                    }
                    let ids: HashSet<PointId> = scroll(&engine, Direction::OldestFirst, None)
                        .into_iter()
                        .map(|point| point.id)
                        .collect();
                    assert_eq!(ids.len(), usize::from(POINTS));
                    let hits = search(&engine, Metric::Euclidean, &[0.0, 0.0], 100, 100);
                    assert_eq!(hits.len(), usize::from(POINTS));
                }
            })
        })
        .collect();
    for round in 1..200_u16 {
        assert_eq!(
            upsert(&engine, &all(round.into()), Existing::Replace).replaced,
            usize::from(POINTS)
        );
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().unwrap();
    }
}

#[test]
fn a_page_ends_before_it_takes_too_many_bytes_and_has_a_point_at_least() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let points: Vec<_> = (1..=5).map(|number| known(number, 0.0, 8)).collect();
    upsert(&engine, &points, Existing::Impossible);
    // 16 bytes for each id, 8 for the vector, 1 for the content type, 8 of content, and no metadata.
    for (bytes, expected) in [(0, 1), (33, 1), (65, 1), (66, 2), (164, 4), (165, 5)] {
        let page = page(&engine, None, 10, bytes, Direction::OldestFirst, None);
        assert_eq!(page.records.ids.len(), expected, "{bytes}");
        assert_eq!(page.next.is_some(), expected < 5);
    }
}

/// Changes of one id that wait together are made one after the other.
#[test]
fn changes_that_wait_together_see_those_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let (sender, receiver) = channel();
    for number in 0..50 {
        let told = sender.clone();
        let points = [known(1, number as f32, number)];
        engine.upsert(
            batch(&points),
            Existing::Replace,
            Box::new(move |counts| told.send(counts.unwrap().replaced).unwrap()),
        );
        let told = sender.clone();
        let is_found = move |found: Result<bool, Error>| {
            told.send(10 + usize::from(found.unwrap())).unwrap();
        };
        if number % 10 == 9 {
            engine.delete(id(1), Box::new(is_found));
        }
    }
    drop(sender);
    let answers: Vec<_> = receiver.iter().collect();
    let mut expected = vec![1; 9];
    expected.insert(0, 0);
    expected.push(11);
    assert_eq!(answers, expected.repeat(5));
}
