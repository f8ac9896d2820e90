//! Answers that hold parts of the records: of points asked for by their ids, page by page, and of
//! the neighbours that searches find.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::path::Path;

use vectord_engine::{
    Asked, Batch, Direction, Engine, Error, Existing, Found, Gathered, Include, Metric, Options,
    PageRequest, PointId, Query, Records, Want,
};

use crate::driver::{self, answer, ends, wait_until};

const POINTS: u8 = 20;

fn id(number: u8) -> PointId {
    u128::from(number).to_be_bytes()
}

/// The parts of a point: its vector is (number, 0), its content has as many bytes as its number, and
/// its metadata half of that.
fn records(numbers: &[u8], include: Include) -> Records {
    let parts = |wanted: bool, bytes_of: fn(u8) -> usize| {
        let parts: Vec<Vec<u8>> = numbers
            .iter()
            .map(|&number| vec![number; bytes_of(number)])
            .collect();
        let all = (parts.concat(), ends(&parts));
        if wanted { all } else { Default::default() }
    };
    let (contents, content_ends) = parts(include.content, usize::from);
    let (metadata, metadata_ends) = parts(include.metadata, |number| usize::from(number / 2));
    let values = |&number: &u8| [f32::from(number), 0.0];
    let content_type = |number: &u8| number % 2;
    Records {
        ids: numbers.iter().map(|&number| id(number)).collect(),
        vectors: if include.vector {
            numbers.iter().flat_map(values).collect()
        } else {
            vec![]
        },
        content_types: if include.content_type {
            numbers.iter().map(content_type).collect()
        } else {
            vec![]
        },
        contents,
        content_ends,
        metadata,
        metadata_ends,
    }
}

/// A folder with the points 1 to [`POINTS`].
fn open(path: &Path) -> Engine {
    let engine = driver::open(path, 2);
    let numbers: Vec<u8> = (1..=POINTS).collect();
    let all = records(&numbers, Include::ALL);
    let batch = Batch {
        ids: all.ids,
        vectors: all.vectors,
        content_types: all.content_types,
        contents: all.contents,
        content_ends: all.content_ends,
        metadata: all.metadata,
        metadata_ends: all.metadata_ends,
    };
    answer(|done| engine.upsert(batch, Existing::Replace, done)).unwrap();
    engine
}

/// Every choice of parts.
fn choices() -> impl Iterator<Item = Include> {
    (0..16).map(|bits: u8| Include {
        vector: bits & 1 != 0,
        content_type: bits & 2 != 0,
        content: bits & 4 != 0,
        metadata: bits & 8 != 0,
    })
}

fn get_many(engine: &Engine, ids: &[u8], include: Include, max: usize) -> Result<Gathered, Error> {
    let ids = ids.iter().map(|&number| id(number)).collect();
    answer(|done| engine.get_many(ids, include, max, done))
}

fn query(limit: usize) -> Query {
    Query {
        metric: Metric::Euclidean,
        limit,
        ef: 10,
    }
}

fn asked(query: &Query, wants: Vec<Want>, max_bytes: usize) -> Asked {
    Asked {
        vectors: [0.0, 0.0].repeat(wants.iter().filter(|want| want.like.is_none()).count()),
        queries: vec![query.clone(); wants.len()],
        wants,
        max_bytes,
    }
}

#[test]
fn points_are_read_in_the_order_of_their_ids_with_the_parts_that_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    for include in choices() {
        let read = get_many(&engine, &[7, 99, 3, 20, 0], include, usize::MAX).unwrap();
        assert_eq!(read.found, [true, false, true, true, false]);
        assert_eq!(read.records, records(&[7, 3, 20], include), "{include:?}");
        let none = get_many(&engine, &[], include, usize::MAX).unwrap();
        assert_eq!(none, Gathered::default());
    }
}

#[test]
fn a_page_has_the_parts_that_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    for include in choices() {
        let request = PageRequest {
            after: None,
            limit: 3,
            direction: Direction::NewestFirst,
            filter: None,
            include,
            max_bytes: usize::MAX,
        };
        let page = answer(|done| engine.scroll(request, done)).unwrap();
        assert_eq!(page.records, records(&[20, 19, 18], include), "{include:?}");
        assert!(page.next.is_some());
    }
}

#[test]
fn what_takes_more_than_it_may_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let vectors = Include {
        vector: true,
        ..Include::default()
    };
    // Each id takes 16 bytes, and each vector 8.
    let got = |max| get_many(&engine, &[1, 2, 3], vectors, max);
    assert_eq!(got(72).unwrap().records, records(&[1, 2, 3], vectors));
    let refused = got(71).unwrap_err();
    assert!(matches!(refused, Error::AnswerTooLarge { max_bytes: 71 }));

    let want = Want {
        include: vectors,
        ..Want::default()
    };
    let found = |wants, max| {
        let asked = asked(&query(2), vec![want.clone(); wants], max);
        answer(|done| engine.find_batch(asked, done))
    };
    assert_eq!(found(1, 48).unwrap()[0].records, records(&[1, 2], vectors));
    assert!(found(1, 47).is_err());
    // The queries of a batch share what there is.
    assert_eq!(found(2, 96).unwrap().len(), 2);
    assert!(matches!(
        found(2, 95),
        Err(Error::AnswerTooLarge { max_bytes: 95 })
    ));
}

#[test]
fn searches_answer_the_parts_that_are_wanted_of_the_points_that_are_near_enough() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let check = |found: &Found, numbers: &[u8], include: Include| {
        let ids: Vec<_> = found.hits.iter().map(|hit| hit.id).collect();
        assert_eq!(ids, records(numbers, include).ids);
        for (hit, &number) in found.hits.iter().zip(numbers) {
            let distance = Metric::Euclidean.distance_of(hit.rank);
            assert!((distance - f64::from(number)).abs() < 1e-12);
        }
        if include == Include::default() {
            assert_eq!(found.records, Records::default());
        } else {
            assert_eq!(found.records, records(numbers, include));
        }
    };
    for include in choices() {
        let all = Want {
            include,
            ..Want::default()
        };
        let at_once = engine
            .find(&[0.0, 0.0], &query(3), &all, usize::MAX)
            .unwrap()
            .unwrap();
        check(&at_once, &[1, 2, 3], include);
        let near = Want {
            max_distance: 2.0,
            ..all.clone()
        };
        let at_once = engine
            .find(&[0.0, 0.0], &query(3), &near, usize::MAX)
            .unwrap()
            .unwrap();
        check(&at_once, &[1, 2], include);
        let none = Want {
            max_distance: 0.5,
            ..all.clone()
        };
        let asked = asked(
            &query(3),
            vec![near, Want::default(), all, none],
            usize::MAX,
        );
        let found = answer(|done| engine.find_batch(asked, done)).unwrap();
        check(&found[0], &[1, 2], include);
        check(&found[1], &[1, 2, 3], Include::default());
        check(&found[2], &[1, 2, 3], include);
        assert_eq!(found[3], Found::default());
    }
}

#[test]
fn a_search_that_copies_much_is_left_to_other_threads() {
    let folder = tempfile::tempdir().unwrap();
    let engine = driver::open(folder.path(), 2);
    let content = vec![b'x'; 400 << 10];
    for number in [1, 2] {
        let batch = Batch {
            ids: vec![id(number)],
            vectors: vec![1.0, 1.0],
            content_types: vec![1],
            content_ends: vec![content.len()],
            contents: content.clone(),
            ..Batch::default()
        };
        answer(|done| engine.insert(batch, done)).unwrap();
    }
    let want = Want {
        include: Include::ALL,
        ..Want::default()
    };
    let at_once = |limit| {
        engine
            .find(&[0.0, 0.0], &query(limit), &want, usize::MAX)
            .unwrap()
    };
    assert_eq!(at_once(1).unwrap().records.contents, content);
    assert_eq!(at_once(2), None);
    let elsewhere = asked(&query(2), vec![want], usize::MAX);
    let found = answer(|done| engine.find_batch(elsewhere, done)).unwrap();
    assert_eq!(found[0].records.contents, content.repeat(2));
}

/// The memory of what is read counts until it has been answered, and is given back.
#[test]
fn what_is_read_takes_memory_of_the_budget_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let engine = Engine::open(&Options {
        max_queued_bytes: 100,
        max_column_bytes: 256 << 20,
        ..driver::options(folder.path(), Some(2))
    })
    .unwrap();
    let got = |ids: &[u8]| {
        wait_until("the budget", || engine.metrics().queued_bytes == 0);
        get_many(&engine, ids, Include::ALL, usize::MAX)
    };
    // The ids take 16 bytes each, and their points 53 and 55.
    for _ in 0..100 {
        assert_eq!(got(&[20]).unwrap().records.contents.len(), 20);
        let refused = got(&[19, 20]).unwrap_err();
        assert!(matches!(refused, Error::Overloaded(_)), "{refused:?}");
    }
    let want = Want {
        include: Include::ALL,
        ..Want::default()
    };
    let found = |limit| {
        wait_until("the budget", || engine.metrics().queued_bytes == 0);
        let asked = asked(&query(limit), vec![want.clone()], usize::MAX);
        answer(|done| engine.find_batch(asked, done))
    };
    assert_eq!(found(1).unwrap()[0].hits.len(), 1);
    assert!(matches!(found(2), Err(Error::Overloaded(_))));
    wait_until("the budget", || engine.metrics().queued_bytes == 0);
    engine.close().unwrap();
    assert!(matches!(got(&[1]), Err(Error::Closed)));
}

#[test]
fn points_are_appended_to_points() {
    for include in choices() {
        let mut all = records(&[3, 1], include);
        all.append(records(&[], include));
        all.append(records(&[20, 2, 7], include));
        assert_eq!(all, records(&[3, 1, 20, 2, 7], include));
    }
}

#[test]
fn a_point_is_not_among_its_own_neighbours() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let like = |number| Want {
        like: Some(id(number)),
        ..Want::default()
    };
    let ids = |found: &Found| -> Vec<PointId> { found.hits.iter().map(|hit| hit.id).collect() };
    let at_once = engine
        .find(&[], &query(2), &like(1), usize::MAX)
        .unwrap()
        .unwrap();
    assert_eq!(ids(&at_once), [id(2), id(3)]);
    let near = Want {
        max_distance: 1.0,
        ..like(20)
    };
    let asked = asked(&query(2), vec![like(10), Want::default(), near], usize::MAX);
    let found = answer(|done| engine.find_batch(asked, done)).unwrap();
    assert_eq!(ids(&found[0]), [id(9), id(11)]);
    assert_eq!(ids(&found[1]), [id(1), id(2)]);
    assert_eq!(ids(&found[2]), [id(19)]);
    let all = engine
        .find(&[], &query(usize::MAX), &like(1), usize::MAX)
        .unwrap();
    assert_eq!(all.unwrap().hits.len(), usize::from(POINTS) - 1);
}

#[test]
fn the_neighbours_of_no_point_are_refused_and_the_query_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let like = |number| Want {
        like: Some(id(number)),
        ..Want::default()
    };
    let alone = engine
        .find(&[], &query(1), &like(99), usize::MAX)
        .unwrap_err();
    assert!(matches!(alone, Error::NoSuchPoint { item: 0, .. }));
    let asked = asked(
        &query(1),
        vec![Want::default(), like(1), like(99)],
        usize::MAX,
    );
    let refused = answer(|done| engine.find_batch(asked, done)).unwrap_err();
    assert!(matches!(refused, Error::NoSuchPoint { item: 2, .. }));
}
