//! Graphs that no search asks for are given back, whatever searches, writers and linking threads do
//! meanwhile.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    Metric,
    hnsw::Scratch,
    index::{
        Index, Linker, Plan, Prepared, Request,
        tests::support::{self, id, line, work_on},
    },
};

const DAY: Duration = Duration::from_hours(24);
const POINTS: u32 = 2_000;

fn tomorrow() -> Instant {
    Instant::now() + DAY
}

/// A search for three points, by a walk if there is a graph.
fn request(query: &[f32]) -> Request<'_> {
    Request {
        metric: Metric::Euclidean,
        query,
        limit: 3,
        ef: 10,
        within: None,
    }
}

/// The numbers of the points that a search finds, which are the values of the line, plus 1.
fn answer(search: &Prepared) -> Vec<u128> {
    let hits = search.run(&mut Scratch::new()).unwrap();
    let numbers = hits.iter().map(|hit| u128::from_be_bytes(hit.id));
    numbers.collect()
}

fn give_back(index: &Index) -> bool {
    index.give_back_graphs(DAY, &[], tomorrow())
}

#[test]
fn its_memory_is_free_once_no_search_walks_it_and_the_next_search_begins_it_anew() {
    let index = line(POINTS);
    work_on(&index);
    let bytes = index.graphs()[0].bytes;
    assert!((120..160).contains(&(bytes / POINTS as usize)), "{bytes}");
    let graph = Arc::downgrade(&index.graph(Metric::Euclidean).current().unwrap());

    let view = index.view();
    let walk = view.prepare(request(&[7.2]));
    assert_eq!(walk.plan(), Plan::Graph);
    assert!(!index.give_back_graphs(DAY, &[], Instant::now()));
    assert!(!index.give_back_graphs(DAY, &[Metric::Euclidean], tomorrow()));
    assert!(index.graphs()[0].caught_up);
    assert!(give_back(&index));
    assert!(index.graphs().is_empty());

    assert!(!give_back(&index), "once");
    assert_eq!(answer(&walk), [8, 9, 7]);
    assert!(graph.upgrade().is_some(), "a search walks it");
    drop(walk);
    drop(view);
    assert!(graph.upgrade().is_some(), "it would be freed by the search");
    assert!(!give_back(&index));
    assert!(graph.upgrade().is_none());

    for plan in [Plan::Scan, Plan::Graph] {
        let view = index.view();
        let search = view.prepare(request(&[7.2]));
        assert_eq!(search.plan(), plan);
        assert_eq!(answer(&search), [8, 9, 7]);
        drop(search);
        drop(view);
        assert_eq!(index.graphs().len(), 1, "it is begun");
        work_on(&index);
    }
}

#[test]
fn a_search_that_would_not_walk_it_does_not_keep_it() {
    let index = line(POINTS);
    work_on(&index);
    let begun = index.graphs()[0].idle;
    thread::sleep(Duration::from_millis(20));
    let all = Request {
        ef: POINTS as usize,
        ..request(&[7.2])
    };
    assert_eq!(index.view().prepare(all).plan(), Plan::Scan);
    assert!(index.graphs()[0].idle >= begun + Duration::from_millis(20));
    assert_eq!(index.view().prepare(request(&[7.2])).plan(), Plan::Graph);
    assert!(index.graphs()[0].idle < begun + Duration::from_millis(20));
}

#[test]
fn a_change_of_its_size_is_noted_for_the_next_snapshot() {
    let index = line(POINTS);
    work_on(&index);
    let changes = index.changes();
    give_back(&index);
    assert_eq!(index.changes(), changes + 1);
}

fn delete(index: &Index, numbers: impl Iterator<Item = usize>) {
    let first = index.arena.visible() + 1;
    let sequences = numbers.zip(first..).map(|(number, sequence)| {
        assert!(index.delete(&id(number), sequence));
        sequence
    });
    index.publish(sequences.last().unwrap());
}

#[test]
fn no_slot_is_freed_under_a_search_that_walks_it() {
    let index = line(POINTS);
    work_on(&index);
    delete(&index, 1..=1_000);
    let before_the_round = index.epochs.pin();
    let scratch = &mut Scratch::new();
    assert!(index.reclaim(true, scratch), "a round begins");
    let view = index.view();
    let walk = view.prepare(request(&[0.0]));
    assert_eq!(walk.plan(), Plan::Graph);
    give_back(&index);
    drop(before_the_round);
    work_on(&index);
    assert_eq!(index.arena.free_len(), 0, "the search may stand there");
    assert_eq!(answer(&walk), [1_001, 1_002, 1_003]);
    drop(walk);
    drop(view);
    work_on(&index);
    assert_eq!(index.arena.free_len(), 1_000);
}

#[test]
fn points_that_only_this_graph_holds_back_are_reclaimed() {
    let vectors: Vec<Vec<f32>> = (0..100_u16)
        .flat_map(|value| [vec![value.into()], vec![value.into()]])
        .collect();
    let index = support::index(&vectors);
    index.want_graph(Metric::Euclidean);
    work_on(&index);
    delete(&index, (1..=200).step_by(2));
    work_on(&index);
    assert_eq!(index.dead(), 100, "each carries a copy");
    give_back(&index);
    work_on(&index);
    assert_eq!(index.dead(), 0);
}

/// One thread replaces, deletes and inserts, others link and reclaim, search, and give back.
#[test]
fn while_everything_goes_on_every_search_finds_its_points() {
    const ROUNDS: u32 = 5;
    const ALL: u32 = 1_500;
    let index = line(ALL);
    let linker = Linker::start(&index, 2).unwrap();
    let deadline = Instant::now() + Duration::from_mins(2);
    let (given_back, walks) = (AtomicU32::new(0), AtomicU32::new(0));
    let goes_on = || given_back.load(Ordering::Relaxed) < ROUNDS && Instant::now() < deadline;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // The first thousand points stay as they are.
                for value in [3_u16, 333, 777]
                    .into_iter()
                    .cycle()
                    .take_while(|_| goes_on())
                {
                    let query = [f32::from(value) + 0.2];
                    let view = index.view();
                    let search = view.prepare(request(&query));
                    let number = u128::from(value) + 1;
                    assert_eq!(answer(&search), [number, number + 1, number - 1]);
                    walks.fetch_add(u32::from(search.plan() == Plan::Graph), Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            while goes_on() {
                thread::sleep(Duration::from_millis(5));
                if index.graphs().iter().any(|graph| graph.caught_up) {
                    given_back.fetch_add(u32::from(give_back(&index)), Ordering::Relaxed);
                }
            }
        });
        // Otherwise a graph would hardly catch up where the linking threads are slow.
        let is_behind = || (index.graphs().iter()).any(|graph| graph.slots - graph.linked > 500);
        let mut comes_and_goes = (1_001..=ALL as usize).cycle();
        while goes_on() {
            while is_behind() && goes_on() {
                thread::sleep(Duration::from_millis(1));
            }
            let mut sequence = index.arena.visible();
            let mut next = || {
                sequence += 1;
                sequence
            };
            for number in comes_and_goes.by_ref().take(100) {
                let (location, sequence) = (index.find(&id(number)).unwrap().location, next());
                index.replace(id(number), location, sequence).unwrap();
                index.publish(sequence);
                let sequence = next();
                assert!(index.delete(&id(number), sequence));
                index.publish(sequence);
                let sequence = next();
                index.insert(id(number), location, sequence).unwrap();
                index.publish(sequence);
            }
        }
    });
    linker.stop();
    assert_eq!(given_back.into_inner(), ROUNDS);
    assert!(walks.into_inner() > 0);
    index.want_graph(Metric::Euclidean);
    let graph = index.graphs().remove(0);
    assert_eq!(graph.failures, 0, "{:?}", graph.failure);
    assert_eq!(index.live(), u64::from(ALL));
}
