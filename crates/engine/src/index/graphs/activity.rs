//! Knows whether searches run now, so that background work can leave a core to them.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// Searches with pauses of at most this time count as one stream. With a longer time, background
/// work would stop for a client that searches now and then. With a shorter one, each search of a
/// client that searches ten times a second would find all cores busy.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

/// The number of lanes. Threads that search are few, so two of them hardly ever share a lane.
const LANES: usize = 64;

/// The searches and gets that run, and when the last one ended. Only the choice of which thread
/// works depends on it, so relaxed atomics are enough.
pub(crate) struct Activity {
    started: Instant,
    lanes: [Lane; LANES],
}

/// The searches of the threads of one lane. A lane has two cache lines of its own, as processors
/// fetch lines in pairs. So threads of different lanes share no cache line.
#[derive(Default)]
#[repr(align(128))]
struct Lane {
    running: AtomicU32,
    ended_ms: AtomicU64,
}

/// Counts a search as running until it is dropped.
pub(crate) struct Running<'a> {
    activity: &'a Activity,
    lane: &'a Lane,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Activity {
            started: Instant::now(),
            lanes: std::array::from_fn(|_| Lane::default()),
        }
    }

    /// Notes that a search begins on this thread.
    pub(crate) fn enter(&self) -> Running<'_> {
        let lane = &self.lanes[lane_of_this_thread()];
        lane.running.fetch_add(1, Ordering::Relaxed);
        Running {
            activity: self,
            lane,
        }
    }

    /// Whether a search runs at this moment.
    pub(crate) fn is_running(&self) -> bool {
        self.lanes.iter().any(Lane::is_running)
    }

    /// Whether no search runs, and none has for [`GRACE`].
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet_at(self.now_ms())
    }

    fn is_quiet_at(&self, now_ms: u64) -> bool {
        let is_quiet = |lane: &Lane| {
            let since_ms = now_ms.saturating_sub(lane.ended_ms.load(Ordering::Relaxed));
            !lane.is_running() && u128::from(since_ms) >= GRACE.as_millis()
        };
        self.lanes.iter().all(is_quiet)
    }

    /// Milliseconds on a clock that was at [`GRACE`] when the index was opened, so that it is quiet
    /// as long as nobody has searched.
    fn now_ms(&self) -> u64 {
        (self.started.elapsed() + GRACE).as_millis() as u64
    }
}

impl Lane {
    fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let now_ms = self.activity.now_ms();
        self.lane.ended_ms.store(now_ms, Ordering::Relaxed);
        self.lane.running.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lane_of_this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LANE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % LANES;
    }
    LANE.with(|&lane| lane)
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        thread,
    };

    use super::*;

    const GRACE_MS: u64 = GRACE.as_millis() as u64;

    #[test]
    fn it_is_quiet_where_nobody_has_searched() {
        let activity = Activity::new();
        assert!(activity.is_quiet());
        assert!(!activity.is_running());
    }

    #[test]
    fn a_search_that_runs_is_no_quiet_however_long_it_takes() {
        let activity = Activity::new();
        let running = activity.enter();
        assert!(activity.is_running());
        assert!(!activity.is_quiet_at(1_000_000));
        drop(running);
        assert!(!activity.is_running());
        assert!(activity.is_quiet_at(1_000_000));
    }

    #[test]
    fn it_is_quiet_once_the_grace_is_over() {
        let activity = Activity::new();
        drop(activity.enter());
        let lanes = activity.lanes.iter();
        let ended_ms = lanes.map(|lane| lane.ended_ms.load(Ordering::Relaxed));
        let ended_ms = ended_ms.max().unwrap();
        assert!(!activity.is_quiet_at(ended_ms));
        assert!(!activity.is_quiet_at(ended_ms + GRACE_MS - 1));
        assert!(activity.is_quiet_at(ended_ms + GRACE_MS));
    }

    #[test]
    fn the_searches_of_every_thread_count_even_where_lanes_are_shared() {
        let activity = Activity::new();
        thread::scope(|scope| {
            for _ in 0..=LANES {
                scope.spawn(|| {
                    let _outer = activity.enter();
                    drop(activity.enter());
                    assert!(activity.is_running());
                });
            }
        });
        assert!(!activity.is_running());
    }

    #[test]
    fn a_search_that_panics_has_ended() {
        let activity = Activity::new();
        let work = AssertUnwindSafe(|| {
            let _running = activity.enter();
            panic!("a search that panics on purpose");
        });
        assert!(catch_unwind(work).is_err());
        assert!(!activity.is_running());
    }
}
