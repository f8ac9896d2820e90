//! The index under a model checker. Writer, readers and linking threads run under thousands of
//! schedules over a few points, so that slots are deleted, reclaimed and used again during all
//! other operations. The code is that of the production modules (epochs, arena, tables, graph,
//! linking, reclaiming); only their atomics and locks are the checker's.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use shuttle::thread;

use super::support;
use crate::{
    Metric, PointId,
    hnsw::{Params, Scratch},
    index::{Direction, Include, Index, Neighbour, Request, linking::linker, search::Way},
    store::{Location, Segments},
};

/// The schedules that each test tries, unless `VECTORD_MODEL_SCHEDULES` sets another number.
const SCHEDULES: usize = 1_000;

/// Of the records on disk, points 8 and above are duplicates of point 0.
const RECORDS: u8 = 12;
const FIRST_COPY: u8 = 8;

#[derive(Clone, Copy)]
enum Step {
    Insert(u8),
    /// By a point with the same vector.
    Replace(u8),
    Delete(u8),
    DeleteAll,
}
use Step::{Delete, DeleteAll, Insert, Replace};

/// The points that exist before the threads start, and the writer's steps.
struct Script {
    first: &'static [u8],
    steps: &'static [Step],
}

impl Script {
    fn all(&self) -> impl Iterator<Item = Step> {
        let first = self.first.iter().map(|&point| Insert(point));
        first.chain(self.steps.iter().copied())
    }

    /// The points in the view of `sequence`: the writer numbers its steps from 1.
    fn view(&self, sequence: u64) -> BTreeSet<u8> {
        let mut points = BTreeSet::new();
        for step in self.all().take(sequence as usize) {
            match step {
                Insert(point) => drop(points.insert(point)),
                Replace(point) => assert!(points.contains(&point)),
                Delete(point) => drop(points.remove(&point)),
                DeleteAll => points.clear(),
            }
        }
        points
    }

    fn end(&self) -> u64 {
        self.all().count() as u64
    }
}

const COMING_AND_GOING: Script = Script {
    first: &[0, 1, 2, 3, 4],
    steps: &[
        Delete(1),
        Delete(3),
        Insert(5),
        Delete(0),
        Insert(6),
        Insert(7),
        Delete(5),
        Insert(1),
    ],
};

const COPIES: Script = Script {
    first: &[0, 8, 2, 9],
    steps: &[
        Delete(0),
        Delete(9),
        Insert(10),
        Delete(8),
        Insert(11),
        Insert(9),
        Delete(10),
    ],
};

const EVERYTHING_GOES: Script = Script {
    first: &[0, 1, 2],
    steps: &[
        Delete(0),
        Delete(1),
        Delete(2),
        Insert(3),
        Insert(4),
        Delete(3),
        Insert(5),
    ],
};

const REPLACED: Script = Script {
    first: &[0, 1, 2, 8],
    steps: &[
        Replace(1),
        Delete(2),
        Replace(1),
        Insert(4),
        Replace(0),
        Replace(4),
        Delete(1),
        Replace(0),
    ],
};

const ALL_DELETED: Script = Script {
    first: &[0, 1, 2],
    steps: &[
        Replace(1),
        DeleteAll,
        Insert(1),
        Insert(3),
        Replace(3),
        Delete(1),
    ],
};

#[test]
fn points_that_are_replaced_are_found_once_and_all_the_while() {
    check(&REPLACED);
}

#[test]
fn points_that_are_deleted_all_at_once_are_gone_all_at_once() {
    check(&ALL_DELETED);
}

#[test]
fn points_that_come_and_go_are_found_while_they_are_there() {
    check(&COMING_AND_GOING);
}

#[test]
fn copies_that_come_and_go_are_found_while_they_are_there() {
    check(&COPIES);
}

#[test]
fn a_graph_that_is_emptied_and_filled_again_stays_whole() {
    check(&EVERYTHING_GOES);
}

#[test]
fn a_view_never_counts_more_points_than_it_contains() {
    let script = &COMING_AND_GOING;
    let count = move || {
        let index = begin(script);
        let reader = spawn(&index, move |index, _| {
            while index.arena.visible() < script.end() {
                let view = index.view();
                assert!(view.live as usize <= script.view(view.sequence).len());
            }
        });
        let writer = spawn(&index, move |index, _| {
            for (&step, sequence) in script.steps.iter().zip(script.first.len() as u64 + 1..) {
                write(index, step, sequence);
            }
        });
        reader.join().unwrap();
        writer.join().unwrap();
    };
    shuttle::check_random(count, schedules());
}

#[test]
fn a_look_up_that_is_held_up_anywhere_finds_its_point_or_none() {
    check_held_up(|index, script, _| look_up(index, script, 1));
}

#[test]
fn a_search_that_is_held_up_anywhere_answers_with_a_view_that_was() {
    check_held_up(|index, script, scratch| scan(index, script, 1, scratch));
}

#[test]
fn a_walk_that_is_held_up_anywhere_finds_all_of_its_view() {
    check_held_up(|index, script, scratch| {
        let (view, found) = walk(index, script, 1, scratch).unwrap();
        assert_eq!(found, view);
    });
}

#[test]
fn a_graph_that_is_given_back_and_begun_again_lacks_no_point() {
    for script in [&COMING_AND_GOING, &COPIES] {
        let run = move || {
            run_with(script, |index| {
                for _ in 0..2 {
                    assert!(index.give_back_graphs(Duration::ZERO, &[], Instant::now()));
                    thread::yield_now();
                    assert!(index.graph(Metric::Euclidean).want());
                    thread::yield_now();
                }
            });
        };
        shuttle::check_random(run, schedules() / 2);
        shuttle::check_pct(run, schedules() / 2, 3);
    }
}

#[test]
fn a_linking_thread_that_is_held_up_anywhere_links_what_is_there() {
    let links = |index: &Index, script: &Script, scratch: &mut Scratch| {
        while link(index, scratch) || index.arena.visible() < script.end() {
            thread::yield_now();
        }
    };
    // All inserts and deletes come before slots are reclaimed, so that new points find only leaving
    // points to link to.
    check_held_up_by(links, |index, script, scratch| {
        if index.arena.visible() == script.end() {
            index.reclaim(true, scratch);
        }
    });
}

fn schedules() -> usize {
    std::env::var("VECTORD_MODEL_SCHEDULES")
        .ok()
        .and_then(|schedules| schedules.parse().ok())
        .unwrap_or(SCHEDULES)
}

fn check(script: &'static Script) {
    // Half of the schedules switch at random, half prefer one thread for long.
    shuttle::check_random(move || run(script), schedules() / 2);
    shuttle::check_pct(move || run(script), schedules() / 2, 3);
}

/// One thread does `work`, another all the rest. If the first is held up at any step, whole rounds
/// of deleting, reclaiming and using slots again take place before it goes on.
fn check_held_up(work: fn(&Index, &Script, &mut Scratch)) {
    check_held_up_by(work, |index, _, scratch| {
        link(index, scratch);
    });
}

fn check_held_up_by(
    work: fn(&Index, &Script, &mut Scratch),
    rest: fn(&Index, &Script, &mut Scratch),
) {
    for script in [&COMING_AND_GOING, &COPIES, &EVERYTHING_GOES] {
        let one_and_the_rest = move || {
            let index = begin(script);
            let one = spawn(&index, move |index, scratch| work(index, script, scratch));
            let all_else = spawn(&index, move |index, scratch| {
                for (&step, sequence) in script.steps.iter().zip(script.first.len() as u64 + 1..) {
                    write(index, step, sequence);
                    for _ in 0..20 {
                        rest(index, script, scratch);
                    }
                }
            });
            one.join().unwrap();
            all_else.join().unwrap();
            check_end(&index, script);
        };
        // One switch holds the first thread up; more are needed if it is to begin later.
        for switches in 1..=3 {
            shuttle::check_pct(one_and_the_rest, schedules(), switches + 1);
        }
    }
}

/// An index with the first points, all of them linked.
fn begin(script: &Script) -> Arc<Index> {
    let (segments, _) = records();
    let params = Params {
        m: 2,
        ef_construction: 3,
    };
    let index = Arc::new(Index::new(Arc::clone(segments), 1, params));
    assert!(index.graph(Metric::Euclidean).want());
    for (&point, sequence) in script.first.iter().zip(1..) {
        write(&index, Insert(point), sequence);
    }
    let mut scratch = Scratch::new();
    while link(&index, &mut scratch) {}
    index
}

fn run(script: &'static Script) {
    run_with(script, |_| ());
}

/// Runs a script, while another thread does `work`.
fn run_with(script: &'static Script, work: fn(&Index)) {
    let index = begin(script);
    let worker = spawn(&index, move |index, _| work(index));
    let writer = spawn(&index, move |index, _| {
        for (&step, sequence) in script.steps.iter().zip(script.first.len() as u64 + 1..) {
            await_slot(index, step);
            write(index, step, sequence);
        }
    });
    let linkers = [(); 2].map(|()| {
        spawn(&index, |index, scratch| {
            while link(index, scratch) || index.arena.visible() < script.end() {
                thread::yield_now();
            }
        })
    });
    let reader = spawn(&index, |index, scratch| {
        for query in (0..RECORDS).cycle() {
            look_up(index, script, query);
            walk(index, script, query, scratch);
            scan(index, script, query, scratch);
            scroll(index, script);
            if index.arena.visible() == script.end() {
                break;
            }
            thread::yield_now();
        }
    });
    for thread in [writer, reader, worker].into_iter().chain(linkers) {
        thread.join().unwrap();
    }
    check_end(&index, script);
}

fn spawn(
    index: &Arc<Index>,
    work: impl FnOnce(&Index, &mut Scratch) + Send + 'static,
) -> thread::JoinHandle<()> {
    let index = Arc::clone(index);
    thread::spawn(move || work(&index, &mut Scratch::new()))
}

/// Waits a while for a free slot, since the tests are about slots that are used again.
fn await_slot(index: &Index, step: Step) {
    for _ in 0..30 {
        let takes_slot = matches!(step, Insert(_) | Replace(_));
        if !takes_slot || index.arena.free_len() > 0 || index.dead() == 0 {
            return;
        }
        thread::yield_now();
    }
}

fn write(index: &Index, step: Step, sequence: u64) {
    match step {
        Insert(point) => {
            let location = records().1[usize::from(point)];
            index.insert(id(point), location, sequence).unwrap();
        }
        Replace(point) => {
            let location = records().1[usize::from(point)];
            index.replace(id(point), location, sequence).unwrap();
        }
        Delete(point) => assert!(index.delete(&id(point), sequence)),
        DeleteAll => assert!(index.delete_all(sequence) > 0),
    }
    index.publish(sequence);
}

/// Checks that a walk through the graph finds only points of its view, each once and with its own
/// distance. Returns the view and the found points; None if there is no graph.
fn walk(
    index: &Index,
    script: &Script,
    query: u8,
    scratch: &mut Scratch,
) -> Option<(BTreeSet<u8>, BTreeSet<u8>)> {
    let query = [value(query)];
    let view = index.view();
    let linked = index.graph(Metric::Euclidean).current()?;
    let search = view.prepare(request(&query));
    let ranked = search.walk(&linked, Way::Plain, scratch).unwrap();
    let hits = search.hits(ranked, scratch).unwrap();
    let found: BTreeSet<u8> = hits.iter().map(point).collect();
    assert_eq!(found.len(), hits.len(), "a point was found twice");
    for hit in &hits {
        let distance = f64::from(value(point(hit)) - query[0]);
        assert_eq!(hit.rank, distance * distance, "the vector of another point");
    }
    let there = script.view(view.sequence);
    assert!(found.is_subset(&there), "{found:?} of {there:?}");
    Some((there, found))
}

/// A search for every point.
fn request(query: &[f32]) -> Request<'_> {
    Request {
        metric: Metric::Euclidean,
        query,
        limit: usize::from(RECORDS),
        ef: usize::from(RECORDS),
        within: None,
    }
}

/// Does one turn of a linking thread.
fn link(index: &Index, scratch: &mut Scratch) -> bool {
    linker::work(index, linker::Schedule::Always, scratch)
}

/// Checks that a search for every point returns a view that was visible while it ran.
fn scan(index: &Index, script: &Script, query: u8, scratch: &mut Scratch) {
    let before = index.arena.visible();
    let query = [value(query)];
    let hits = index.view().prepare(request(&query)).run(scratch).unwrap();
    let after = index.arena.visible();
    let found: BTreeSet<u8> = hits.iter().map(point).collect();
    assert_eq!(found.len(), hits.len(), "a point was found twice");
    let mut views = (before..=after).map(|sequence| script.view(sequence));
    assert!(views.any(|view| view == found), "{found:?} was never all");
}

/// Checks that a look-up finds a point while it is visible, and never returns another's record.
fn look_up(index: &Index, script: &Script, point: u8) {
    let before = index.arena.visible();
    let found = index.with_location(&id(point), |location| location);
    let after = index.arena.visible();
    if let Some(location) = found {
        assert_eq!(index.arena.segments().read(location).unwrap().id, id(point));
    }
    let mut views = (before..=after + 1).map(|sequence| script.view(sequence));
    assert!(views.any(|view| view.contains(&point) == found.is_some()));
}

/// Checks a page of all points: it has no point twice, every point that lived throughout, and no
/// point that did not live at any time meanwhile.
fn scroll(index: &Index, script: &Script) {
    let before = index.arena.visible();
    let found = {
        let view = index.view();
        let page = view.page(None, usize::from(RECORDS) + 1, Direction::OldestFirst);
        let slots: Vec<u32> = page.into_iter().map(|(_, slot)| slot).collect();
        view.records(&slots, Include::ALL).unwrap().ids
    };
    let found: Vec<u8> = found.iter().map(|id| id[15] - 1).collect();
    let after = index.arena.visible();
    let points: BTreeSet<u8> = found.iter().copied().collect();
    assert_eq!(points.len(), found.len(), "a point was found twice");
    let views: Vec<_> = (before..=after + 1)
        .map(|sequence| script.view(sequence))
        .collect();
    for point in 0..RECORDS {
        let times = views.iter().filter(|view| view.contains(&point)).count();
        assert!(times < views.len() || points.contains(&point));
        assert!(times > 0 || !points.contains(&point));
    }
}

/// Checks the end of a run: the graph holds every point, and slots have been used again.
fn check_end(index: &Index, script: &Script) {
    let scratch = &mut Scratch::new();
    while link(index, scratch) {}
    let there = script.view(script.end());
    for query in 0..RECORDS {
        let (_, found) = walk(index, script, query, scratch).expect("the graph failed");
        assert_eq!(found, there);
        look_up(index, script, query);
    }
    let linked = index
        .graph(Metric::Euclidean)
        .current()
        .expect("the graph failed");
    assert_eq!(linked.tail_len(index.arena.slots()), 0);
    linked.graph.assert_sound();
    // The first of several duplicates may have to stay because of the others.
    assert!(linked.graph.len() as usize <= there.len() + 2);
    assert!(index.dead() <= 2, "{} slots are dead", index.dead());
}

fn id(point: u8) -> PointId {
    support::id(usize::from(point) + 1)
}

fn point(hit: &Neighbour) -> u8 {
    hit.id[15] - 1
}

fn value(point: u8) -> f32 {
    let kind = if point < FIRST_COPY { point } else { 0 };
    f32::from(kind) + 1.0
}

/// The records of all points, written once.
fn records() -> &'static (Arc<Segments>, Vec<Location>) {
    static RECORDS_ON_DISK: OnceLock<(Arc<Segments>, Vec<Location>)> = OnceLock::new();
    RECORDS_ON_DISK.get_or_init(|| {
        let vectors: Vec<Vec<f32>> = (0..RECORDS).map(|point| vec![value(point)]).collect();
        support::records(&vectors)
    })
}
