//! The threads of an engine where the system refuses one.
#![allow(
    clippy::unwrap_used,
    reason = "the lint spares test functions, not their helpers"
)]

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    process::{Resource, Rlimit, Uid, geteuid, getrlimit, setrlimit},
    thread::set_thread_res_uid,
};
use vectord_engine::Engine;

use crate::driver::*;

/// A user that has no process on any machine.
const USER: u32 = 4_242_424;

/// The number of threads of this process that belong to [`USER`].
fn threads_of_user() -> u64 {
    let is_of_user = |status: String| {
        let mut lines = status.lines().filter_map(|line| line.strip_prefix("Uid:"));
        lines.any(|ids| ids.split_whitespace().next() == Some(&USER.to_string()))
    };
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    // A thread may end meanwhile.
    let statuses =
        tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    statuses.filter(|status| is_of_user(status.clone())).count() as u64
}

/// Opens an engine with ever more threads until it has enough, and returns how often it had not.
fn open_with_few_threads(engine: impl Fn() -> vectord_engine::Result<Engine>) -> u64 {
    let limit = getrlimit(Resource::Nproc);
    let user = Some(Uid::from_raw(USER));
    set_thread_res_uid(user, user, user).unwrap();
    let opened = (1..100).find(|&threads| {
        let current = Some(threads);
        setrlimit(Resource::Nproc, Rlimit { current, ..limit }).unwrap();
        let opened = engine();
        let failed = opened.is_err();
        drop(opened);
        // Threads that hear of the end may take a moment.
        let patience = Instant::now() + Duration::from_secs(20);
        while threads_of_user() > 1 {
            assert!(Instant::now() < patience, "of {threads} some are left");
            thread::sleep(Duration::from_millis(1));
        }
        !failed
    });
    setrlimit(Resource::Nproc, limit).unwrap();
    opened.unwrap() - 1
}

#[test]
fn an_engine_that_gets_too_few_threads_ends_those_that_it_has_got() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can become a user whose threads are limited");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let options = options(folder.path(), Some(2));
    let refused = thread::spawn(move || open_with_few_threads(|| Engine::open(&options)));
    // The writer, the upkeep, a worker, a thread that links and one for the columns at least.
    assert!(refused.join().unwrap() >= 5);
}
