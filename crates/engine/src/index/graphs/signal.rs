//! Wakes the linking threads when there is work, and makes them pause or stop.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// While a round of reclaiming or settling waits for an epoch, a thread looks again after this
/// time.
pub const EPOCH_WAIT: Duration = Duration::from_millis(1);

/// The state of the linking threads, and the condition variables by which they wait.
#[derive(Default)]
pub(crate) struct Signal {
    state: Mutex<Threads>,
    /// Signals that there may be work, or what `called` signals.
    changed: Condvar,
    /// Signals that the threads shall end or pause, or go on after a pause.
    called: Condvar,
    /// Signals that a thread has paused or ended.
    parked: Condvar,
}

#[derive(Default)]
struct Threads {
    is_stopped: bool,
    is_pausing: bool,
    /// The number of threads that have not ended.
    running: usize,
    /// The number of running threads that pause.
    parked: usize,
}

/// A pause of the linking threads, until it is dropped: nothing is linked and no slot is freed.
pub struct Pause<'s>(&'s Signal);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.state().is_pausing = false;
        self.0.called.notify_all();
    }
}

impl Signal {
    /// Wakes the threads that wait for work.
    pub(crate) fn wake(&self) {
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, Threads> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a thread that begins.
    pub fn begin_thread(&self) {
        self.state().running += 1;
    }

    /// Counts a thread out, so that no pause waits for it.
    pub fn end_thread(&self) {
        self.state().running -= 1;
        self.parked.notify_all();
    }

    /// Asks the threads to end.
    pub fn stop(&self) {
        self.state().is_stopped = true;
        self.changed.notify_all();
        self.called.notify_all();
    }

    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// Whether the threads should pause. Then no round of reclaiming begins.
    pub(crate) fn is_pausing(&self) -> bool {
        self.state().is_pausing
    }

    /// Pauses the threads, each after its present piece of work, and returns once all of them
    /// pause. A round of reclaiming is finished first. There must be no other pause.
    pub fn pause(&self) -> Pause<'_> {
        let mut state = self.state();
        state.is_pausing = true;
        self.changed.notify_all();
        self.called.notify_all();
        while state.parked < state.running {
            state = self
                .parked
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        Pause(self)
    }

    /// Called by a thread that should pause: returns when the pause ends or the threads should end.
    pub fn park(&self) {
        let mut state = self.state();
        state.parked += 1;
        self.parked.notify_all();
        while state.is_pausing && !state.is_stopped {
            state = self
                .called
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.parked -= 1;
    }

    /// Waits for work, a pause or the end, for `time` at most.
    pub fn wait(&self, time: Duration) {
        let state = self.state();
        if !state.is_stopped {
            drop(self.changed.wait_timeout(state, time));
        }
    }

    /// Waits for `time`, or until the threads should end or pause. Unlike [`wait`](Self::wait) it
    /// does not return for new work, which the thread leaves to others. While the others finish a
    /// round of reclaiming before a pause, it waits for [`EPOCH_WAIT`] only.
    pub fn rest(&self, time: Duration) {
        let state = self.state();
        if !state.is_stopped {
            let time = if state.is_pausing { EPOCH_WAIT } else { time };
            drop(self.called.wait_timeout(state, time));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{super::activity::GRACE, *};

    #[test]
    fn a_thread_rests_while_others_finish_a_round_before_a_pause() {
        let signal = Signal::default();
        signal.state().is_pausing = true;
        let is_short = |_: &u32| {
            let begun = Instant::now();
            signal.rest(GRACE);
            begun.elapsed() < EPOCH_WAIT
        };
        // The system may end one in many for no reason.
        assert!((0..40).filter(is_short).count() < 10);
    }
}
