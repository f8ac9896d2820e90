//! The tools that work on data folders without an engine: check, backup, restore and repair, and
//! the events that they report.

pub(super) mod backup;
pub(super) mod check;
pub(super) mod copy;
mod event;
pub(super) mod flaws;
pub(super) mod repair;
pub(super) mod restore;

pub use backup::{BackupReport, backup};
pub use check::{Report, check};
pub use event::{Damage, Event};
pub use repair::{RepairReport, repair};
pub use restore::restore;
