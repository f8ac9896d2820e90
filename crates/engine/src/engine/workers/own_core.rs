//! Where a search thread wakes up.
//!
//! Linux wakes a thread on the core where it last ran, and often leaves it there although another
//! core is idle: it does not move a thread that ran less than half a millisecond ago. Threads that
//! share out short batches would then run one after the other on one core. Therefore no two of the
//! threads that wait do so on the same core. Once a thread runs, the system may move it to any other
//! core again.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Calls `wait` and returns what it returns. Meanwhile the calling thread is restricted to one of the
/// cores that it may run on: the one of this number, modulo their count. Where the system refuses
/// that, or has no such call, the thread waits without a restriction.
pub fn wait_on_core<T>(number: usize, wait: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    let narrowed = narrow(number);
    #[cfg(not(target_os = "linux"))]
    let _ = number;
    let found = wait();
    #[cfg(target_os = "linux")]
    if let Some((all, one)) = narrowed {
        widen(&all, &one);
    }
    found
}

/// Restricts the calling thread to one of its cores. Returns all of them, and that one.
#[cfg(target_os = "linux")]
fn narrow(number: usize) -> Option<(CpuSet, CpuSet)> {
    let all = sched_getaffinity(None).ok()?;
    let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core));
    let mut one = CpuSet::new();
    one.set(cores.nth(number % (all.count() as usize).max(1))?);
    sched_setaffinity(None, &one).ok()?;
    Some((all, one))
}

/// Lets the calling thread run on all these cores, unless somebody has changed `one` meanwhile.
#[cfg(target_os = "linux")]
fn widen(all: &CpuSet, one: &CpuSet) {
    if sched_getaffinity(None).is_ok_and(|now| now == *one) {
        // A refusal leaves the thread on a core where it may run.
        sched_setaffinity(None, all).ok();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn cores() -> CpuSet {
        sched_getaffinity(None).expect("a thread has cores")
    }

    #[test]
    fn a_thread_waits_on_one_of_its_cores_and_then_has_all_of_them() {
        let all = cores();
        let count = all.count() as usize;
        for number in 0..2 * count {
            let waited = wait_on_core(number, cores);
            assert_eq!(waited.count(), 1);
            assert_eq!(waited, wait_on_core(number % count, cores));
            assert!((0..CpuSet::MAX_CPU).all(|core| !waited.is_set(core) || all.is_set(core)));
            assert_eq!(cores(), all);
        }
        let mut used: Vec<CpuSet> = Vec::new();
        for number in 0..count {
            let waited = wait_on_core(number, cores);
            assert!(!used.contains(&waited));
            used.push(waited);
        }
    }

    #[test]
    fn what_somebody_else_chose_meanwhile_stays() {
        let all = cores();
        if all.count() < 2 {
            return;
        }
        let other = wait_on_core(1, cores);
        wait_on_core(0, || sched_setaffinity(None, &other).unwrap());
        assert_eq!(cores(), other);
        sched_setaffinity(None, &all).unwrap();
    }
}
