//! The way of a search, and its answer: exact in a scan, and the same every time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::{
    Error, Metric,
    hnsw::Scratch,
    index::{
        Index, Neighbour, Plan, Prepared, Request,
        search::scan::{Scan, Scope, scan},
        tests::support::{id, index, link_all, vectors},
    },
};

fn request(query: &[f32], limit: usize, ef: usize) -> Request<'_> {
    Request {
        metric: Metric::Euclidean,
        query,
        limit,
        ef,
        within: None,
    }
}

#[test]
fn a_delete_that_is_not_published_yet_takes_nothing_from_a_search_for_all_points() {
    let index = index(&[vec![1.0], vec![1.0], vec![1.0]]);
    let search = || {
        let mut scratch = Scratch::new();
        let hits = index
            .view()
            .prepare(request(&[0.0], usize::MAX, 1))
            .run(&mut scratch);
        let number = |hit: &Neighbour| u128::from_be_bytes(hit.id);
        hits.unwrap().iter().map(number).collect::<Vec<_>>()
    };
    assert!(index.delete(&id(1), 4));
    assert_eq!(search(), [1, 2, 3]);
    index.publish(4);
    assert_eq!(search(), [2, 3]);
}

#[test]
fn an_abandoned_search_ends_whatever_its_plan() {
    let index = index(&vectors(2_000, 16));
    link_all(&index);
    let (mut scratch, is_abandoned) = (Scratch::new(), Arc::new(AtomicBool::new(false)));
    scratch.end_when(&is_abandoned);
    let view = index.view();
    let query = [0.5; 16];
    for (plan, is_abandoned_before) in [(Plan::Scan, false), (Plan::Graph, false)]
        .into_iter()
        .chain([Plan::Scan, Plan::Graph, Plan::Exact].map(|plan| (plan, true)))
    {
        is_abandoned.store(is_abandoned_before, Relaxed);
        let search = view.prepare(request(&query, 10, 20)).by(plan);
        assert_eq!(search.plan(), plan);
        let found = search.run(&mut scratch);
        assert_eq!(matches!(found, Err(Error::Abandoned)), is_abandoned_before);
    }

    is_abandoned.store(false, Relaxed);
    let scope = Scope {
        arena: &index.arena,
        sequence: view.sequence,
        dimension: 16,
        scratch: &scratch,
    };
    let mut read = 0;
    let slots = (0..2_000).inspect(|_| {
        read += 1;
        is_abandoned.fetch_or(read == 500, Relaxed);
    });
    let search = view.prepare(request(&query, 10, 20));
    let mut scans = [Scan::new(search.measure(), 10).unwrap()];
    assert!(matches!(
        scan(scope, slots, &mut scans),
        Err(Error::Abandoned)
    ));
    assert!(read < 700, "{read}");
}

#[test]
fn few_points_are_scanned_and_many_are_walked() {
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
fn walks_are_joined_to_one_scan_where_that_costs_less() {
    let index = index(&vectors(3_000, 16));
    link_all(&index);
    let queries = vectors(32, 16);
    let view = index.view();
    let prepare = |query| view.prepare(request(query, 1, 100));
    let mut searches: Vec<_> = queries.iter().map(|query| prepare(query)).collect();
    assert!(searches.iter().all(|search| search.plan() == Plan::Graph));
    Prepared::join(&mut searches[..1]);
    assert_eq!(searches[0].plan(), Plan::Graph);
    Prepared::join(&mut searches);
    assert!(searches.iter().all(|search| search.plan() == Plan::Scan));
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
    assert!(!wants(10, 9), "a scan of so few costs less");
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
    // Another point is in flight, and no search sees it yet.
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

/// An index in which all points near the middle are deleted and none is reclaimed.
fn with_a_hole(vectors: &[Vec<f32>], deleted: usize) -> Arc<Index> {
    let index = index(vectors);
    link_all(&index);
    let request = request(&[0.5; 4], deleted, vectors.len());
    let nearest = index
        .view()
        .prepare(request)
        .run(&mut Scratch::new())
        .unwrap();
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
fn of_many_copies_a_walk_finds_the_oldest_in_whatever_order_they_were_linked() {
    let mut vectors = vectors(20_000, 4);
    vectors[..300].fill(vec![0.5; 4]);
    let index = index(&vectors);
    let graph = index.graph(Metric::Euclidean);
    graph.want();
    let linked = graph.current().unwrap();
    let mut scratch = Scratch::new();
    for slot in (0..300).rev() {
        linked
            .graph
            .insert(&index.arena, slot, &mut scratch)
            .unwrap();
    }
    link_all(&index);
    let view = index.view();
    for (limit, ef) in [(1, 1), (10, 10), (100, 100)] {
        let search = view.prepare(request(&[0.5; 4], limit, ef)).by(Plan::Graph);
        assert_eq!(search.plan(), Plan::Graph);
        let hits = search.run(&mut scratch).unwrap();
        let found: Vec<_> = hits.iter().map(|hit| hit.id).collect();
        let oldest: Vec<_> = (1..=limit).map(id).collect();
        assert_eq!(found, oldest);
    }
}

#[test]
fn a_search_that_must_not_take_long_verifies_few_records() {
    let index = index(&vectors(1_000, 4));
    let view = index.view();
    let search = |limit, scratch: &mut Scratch| {
        let search = view.prepare(request(&[0.5; 4], limit, 1));
        search.run_at_once(scratch).unwrap().map(|hits| hits.len())
    };
    let mut impatient = Scratch::impatient();
    assert_eq!(
        search(33, &mut impatient),
        Some(33),
        "written by this process"
    );
    index.arena.clear_verified();
    assert_eq!(search(33, &mut impatient), None);
    assert_eq!(search(32, &mut impatient), Some(32));
    assert_eq!(search(33, &mut impatient), Some(33), "one is left");
    index.arena.clear_verified();
    assert_eq!(search(33, &mut Scratch::new()), Some(33));
    assert_eq!(search(33, &mut impatient), Some(33));
}

#[test]
fn a_walk_finds_a_point_that_its_graph_does_not_hold_yet() {
    let all = vectors(20_000, 16);
    let index = index(&all);
    link_all(&index);
    // It is as near as the point whose vector it has, but was inserted later.
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
    // Searches stay exact even if a graph could answer.
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
    let goes_on = |considered| considered < 20;
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
