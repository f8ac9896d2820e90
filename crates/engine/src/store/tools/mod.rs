//! The tools for a data folder that is not served: check, backup, restore and repair, and their
//! reports.

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
