//! Processor time: it does not count the time when other processes have the processor.

use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time that all threads of this process have taken so far.
pub fn seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}
