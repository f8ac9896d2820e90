//! The tools that work on data folders without an engine: check, backup, restore, repair
//! and the adoption of a replica's backup, and the events that they report.

pub(super) mod adopt;
pub(super) mod backup;
pub(super) mod check;
pub(super) mod copy;
mod event;
pub(super) mod flaws;
pub(super) mod repair;
pub(super) mod restore;

pub use adopt::{Adopted, adopt};
pub use backup::{BackupReport, backup};
pub use check::{Report, check};
pub use event::{Damage, Event};
pub use repair::{RepairReport, repair};
pub use restore::restore;
