//! The linking threads, which work on the graphs in the background: they link new points, reclaim
//! the slots of deleted ones (see [`reclaim`](super::reclaim)) and settle points (see
//! [`settle`](super::super::graphs::settle)).

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    hnsw::Scratch,
    index::{
        Index,
        graphs::{
            activity::{Activity, GRACE},
            linked::{Claim, LinkedGraph},
            metric_graph::MetricGraph,
            signal::{EPOCH_WAIT, Pause},
        },
    },
};

/// A thread without work looks for some after this time, in case it has missed its wake-up.
const WAIT: Duration = Duration::from_millis(200);

/// A thread that panicked does nothing for this time, since it may panic again at once.
const REST: Duration = Duration::from_secs(1);

/// Counts a linking thread as running until it is dropped, also by a panic.
struct Thread(Arc<Index>);

impl Thread {
    fn begin(index: &Arc<Index>) -> Thread {
        index.linker.begin_thread();
        Thread(Arc::clone(index))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.linker.end_thread();
    }
}

/// When a linking thread works. Together they may use all cores, but leave one to searches while
/// there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// Whenever there is work.
    Always,
    /// While there are no searches. The thread finishes what it has claimed even if a search
    /// begins: a claim that waits would hold up the watermark of the graph, its tail would grow,
    /// and inserts would wait.
    WhenQuiet,
    /// Whenever there is work, on the only core. The thread yields between two points to a search
    /// that it has interrupted.
    GivingWay,
}

impl Schedule {
    /// The schedules of the threads, one per core.
    fn of_threads(cores: usize) -> Vec<Schedule> {
        if cores <= 1 {
            return vec![Schedule::GivingWay];
        }
        let mut schedules = vec![Schedule::Always; cores - 1];
        schedules.push(Schedule::WhenQuiet);
        schedules
    }

    /// Whether it is time to claim slots.
    fn works_now(self, activity: &Activity) -> bool {
        self != Schedule::WhenQuiet || activity.is_quiet()
    }

    /// Yields to a search if the schedule asks for it. Called between two points.
    fn pause(self, activity: &Activity) {
        if self == Schedule::GivingWay && activity.is_running() {
            thread::yield_now();
        }
    }
}

/// The handle of the running linking threads.
pub struct Linker {
    index: Arc<Index>,
    threads: Vec<JoinHandle<()>>,
}

impl Linker {
    /// Starts one linking thread for each of `cores`, for the graphs of `index`.
    pub fn start(index: &Arc<Index>, cores: usize) -> Result<Linker> {
        Linker::start_threads(index, Schedule::of_threads(cores))
    }

    fn start_threads(index: &Arc<Index>, schedules: Vec<Schedule>) -> Result<Linker> {
        let spawn = |(number, schedule)| {
            let thread = Thread::begin(index);
            thread::Builder::new()
                .name(format!("link-{number}"))
                .spawn(move || run(&thread.0, schedule))
        };
        let mut linker = Linker {
            index: Arc::clone(index),
            threads: Vec::with_capacity(schedules.len()),
        };
        for thread in schedules.into_iter().enumerate().map(spawn) {
            match thread {
                Ok(thread) => linker.threads.push(thread),
                Err(error) => {
                    linker.stop();
                    return Err(error.into());
                }
            }
        }
        Ok(linker)
    }

    /// Ends the threads, each after the point that it links, and waits for them.
    pub fn stop(self) {
        self.index.linker.stop();
        for thread in self.threads {
            // A panic in the thread was caught and recorded there.
            drop(thread.join());
        }
    }
}

impl Index {
    /// Pauses the linking threads until the result is dropped.
    pub fn pause_linking(&self) -> Pause<'_> {
        self.linker.pause()
    }

    /// Gives up all graphs, the round of reclaiming and the settling under way, since it is not
    /// known how far the thread that panicked had come.
    fn start_over(&self, reason: &str) {
        for graph in &self.graphs {
            if let Some(linked) = graph.current() {
                graph.fail(&linked, Error::Internal(reason.into()).to_string());
            }
        }
        self.abandon_round();
        self.settling.abandon();
    }

    /// Whether the tails of all graphs that have caught up are short enough for more points. If
    /// not, the writer waits. Always true once the threads are stopped.
    pub fn accepts_inserts(&self) -> bool {
        let is_full = |linked: Arc<LinkedGraph>| {
            linked.caught_up() && linked.tail_len(self.arena.slots()) > self.longest_tail
        };
        let mut graphs = self.graphs.iter().filter_map(MetricGraph::current);
        self.linker.is_stopped() || !graphs.any(is_full)
    }
}

/// The loop of a linking thread. A panic is recorded as the failure of the graphs, and the thread
/// goes on.
fn run(index: &Index, schedule: Schedule) {
    let mut scratch = Scratch::new();
    while !index.linker.is_stopped() {
        let turn = AssertUnwindSafe(|| take_turn(index, schedule, &mut scratch));
        let turned = catch_unwind(turn);
        if turned.is_err() {
            scratch = Scratch::new();
            index.start_over("a linking thread panicked");
            index.linker.rest(REST);
        }
    }
}

/// Does one piece of work, or waits a little while.
fn take_turn(index: &Index, schedule: Schedule, scratch: &mut Scratch) {
    if index.linker.is_pausing() && !index.reclaim.is_under_way() {
        return index.linker.park();
    }
    if !schedule.works_now(&index.activity) {
        return index.linker.rest(GRACE);
    }
    if work(index, schedule, scratch) {
        return;
    }
    let waits_for_epoch = index.reclaim.is_under_way() || index.settling.is_under_way();
    if !waits_for_epoch {
        // The next piece of work may come after a long time.
        *scratch = Scratch::new();
    }
    index
        .linker
        .wait(if waits_for_epoch { EPOCH_WAIT } else { WAIT });
}

/// Links the slots of one claim, settles points, and does one piece of reclaiming, without waiting
/// for other threads. Returns whether there was anything to do.
pub(crate) fn work(index: &Index, schedule: Schedule, scratch: &mut Scratch) -> bool {
    if index.is_overgrown() && index.reclaim(false, scratch) {
        return true;
    }
    let has_linked = claim(index).is_some_and(|(graph, linked, slots)| {
        link(index, schedule, graph, &linked, slots, scratch)
    });
    let has_settled = index.settling.settle(&index.arena, &index.epochs);
    index.reclaim(!has_linked, scratch) || has_settled || has_linked
}

/// Claims slots of the first graph that lacks some. Begins graphs whose wait after a failure is
/// over.
fn claim(index: &Index) -> Option<(&MetricGraph, Arc<LinkedGraph>, Claim)> {
    let len = index.arena.slots();
    index.graphs.iter().find_map(|graph| {
        graph.retry(Instant::now);
        let linked = graph.current()?;
        let slots = linked.claim(len)?;
        Some((graph, linked, slots))
    })
}

/// Links the slots of a claim, and returns whether it did. If that fails, the graph is given up. If
/// all points that one of them meets are leaving, the claim is given back: the round under way takes
/// them out, but waits until no thread pins an epoch from before.
fn link(
    index: &Index,
    schedule: Schedule,
    graph: &MetricGraph,
    linked: &LinkedGraph,
    slots: Claim,
    scratch: &mut Scratch,
) -> bool {
    let result = catch_unwind(AssertUnwindSafe(|| {
        insert_all(index, schedule, (graph, linked), &slots, scratch)
    }));
    let result = match result {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(Error::Internal("linking a point panicked".into()).to_string()),
    };
    let is_linked = result.unwrap_or_else(|reason| {
        graph.fail(linked, reason);
        true
    });
    if !graph.is_current(linked) {
        // The claim is not finished: a search that still walks the graph finds its points in the
        // tail.
        return true;
    }
    if !is_linked {
        linked.give_back(slots);
        return false;
    }
    linked.finish(&slots, index.arena.slots());
    index.settling.gather(slots.slots());
    index.linker.wake();
    true
}

/// Inserts the points of a claim into the graph, except points that it must not contain: deleted
/// points, and points that single precision cannot rank. Returns false at the first point that meets
/// none but leaving ones.
fn insert_all(
    index: &Index,
    schedule: Schedule,
    (graph, linked): (&MetricGraph, &LinkedGraph),
    slots: &Claim,
    scratch: &mut Scratch,
) -> Result<bool> {
    // Pinned from before the point is found to live until it is linked, so that reclaiming waits
    // for it.
    let _pin = index.epochs.pin();
    if !graph.is_current(linked) {
        return Ok(true);
    }
    for slot in slots.slots() {
        let wanted = index.arena.is_visible(slot, u64::MAX - 1) && !index.arena.needs_f64(slot);
        if wanted && !index.linker.is_stopped() {
            if !linked.graph.insert(&index.arena, slot, scratch)? {
                return Ok(false);
            }
            schedule.pause(&index.activity);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Metric,
        index::{
            Request,
            search::plan::Plan,
            tests::support::{id, line, work_on},
        },
        store::Location,
    };

    const POINTS: u32 = 50;

    fn linked(index: &Index) -> u32 {
        index.graphs()[0].linked
    }

    fn wait_until_all_are_linked(index: &Index) {
        while linked(index) < POINTS {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn all_cores_link_and_one_of_them_only_while_it_is_quiet() {
        use Schedule::{Always, GivingWay, WhenQuiet};
        assert_eq!(Schedule::of_threads(1), [GivingWay]);
        assert_eq!(Schedule::of_threads(2), [Always, WhenQuiet]);
        assert_eq!(Schedule::of_threads(4), [Always, Always, Always, WhenQuiet]);
    }

    #[test]
    fn the_last_thread_links_nothing_while_there_are_searches() {
        let index = line(POINTS);
        let running = index.enter();
        let linker = Linker::start_threads(&index, vec![Schedule::WhenQuiet]).unwrap();
        thread::sleep(GRACE);
        assert_eq!(linked(&index), 0);
        drop(running);
        wait_until_all_are_linked(&index);
        linker.stop();
    }

    #[test]
    fn the_others_link_though_there_are_searches() {
        for schedule in [Schedule::Always, Schedule::GivingWay] {
            let index = line(POINTS);
            let _running = index.enter();
            let linker = Linker::start_threads(&index, vec![schedule]).unwrap();
            wait_until_all_are_linked(&index);
            linker.stop();
        }
    }

    #[test]
    fn an_insertion_that_fails_takes_no_point_from_searches_and_the_graph_comes_back() {
        let index = line(POINTS);
        work_on(&index);
        let copy = u64::from(POINTS) + 1;
        let place = index.arena.location(0);
        index.insert(id(copy as usize), place, copy).unwrap();
        index.publish(copy);
        let request = Request {
            metric: Metric::Euclidean,
            query: &[0.0],
            limit: 3,
            ef: 3,
            within: None,
        };
        let nearest = [id(1), id(copy as usize), id(2)];
        let view = index.view();
        let begun_before = view.prepare(request).by(Plan::Graph);
        assert_eq!(begun_before.plan(), Plan::Graph);

        let nowhere = Location {
            segment: u32::MAX,
            ..place
        };
        index.arena.relocate(POINTS, nowhere);
        let scratch = &mut Scratch::new();
        assert!(work(&index, Schedule::Always, scratch), "linking the copy");
        index.arena.relocate(POINTS, place);
        let [status] = &index.graphs()[..] else {
            panic!("there is one graph");
        };
        assert!(!status.exists);
        assert_eq!(status.failures, 1);
        assert!(status.failure.as_ref().unwrap().contains("panicked"));

        let ids =
            |hits: Vec<crate::index::Neighbour>| hits.iter().map(|hit| hit.id).collect::<Vec<_>>();
        assert_eq!(ids(begun_before.run(scratch).unwrap()), nearest);
        assert_eq!(
            ids(index.view().prepare(request).run(scratch).unwrap()),
            nearest
        );
        drop(begun_before);
        drop(view);

        let later = || Instant::now() + Duration::from_mins(1);
        index.graph(Metric::Euclidean).retry(later);
        work_on(&index);
        assert_eq!(linked(&index), POINTS + 1);
        let view = index.view();
        let walk = view.prepare(request).by(Plan::Graph);
        assert_eq!(walk.plan(), Plan::Graph);
        assert_eq!(ids(walk.run(scratch).unwrap()), nearest);
    }

    #[test]
    fn a_thread_that_panics_anywhere_lets_others_pause_and_goes_on() {
        let index = line(POINTS);
        work_on(&index);
        // Nothing knows this slot: to ask whether its point is gone is a panic.
        index.settling.gather([u32::MAX - 1].into_iter());
        let linker = Linker::start_threads(&index, vec![Schedule::Always]).unwrap();
        while index.graphs()[0].failures == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        drop(index.pause_linking());
        wait_until_all_are_linked(&index);
        linker.stop();
    }

    #[test]
    fn nobody_waits_for_a_thread_that_a_panic_has_ended() {
        let index = line(POINTS);
        let thread = Thread::begin(&index);
        let ended = thread::spawn(move || {
            let _thread = thread;
            panic!("a linking thread that panics on purpose");
        });
        assert!(ended.join().is_err());
        drop(index.pause_linking());
    }
}
