//! The tools for a data folder that is not served: check, backup, restore and repair, and their
//! reports.

pub mod backup;
pub mod check;
pub mod copy;
pub mod event;
pub mod flaws;
pub mod repair;
pub mod restore;
