//! The tests of the engine from outside that take long, as one program: `npm run test:all` runs them.

#[path = "support/driver.rs"]
mod driver;

mod compaction;
mod itself;
mod reclaim;
