//! The tests of the engine from outside that `npm test` runs, as one program: it is compiled and linked
//! once. Alone stays `fuzz.rs`, which counts the memory of its whole process.

#[path = "support/aged.rs"]
mod aged;
#[path = "support/driver.rs"]
mod driver;

mod churn;
mod damage;
mod engine;
mod records;
mod rot;
mod sample;
mod snapshots;
mod soundness;
mod stress;
#[cfg(target_os = "linux")]
mod threads;
mod upsert;
