//! What works on a data folder without serving it: check, backup, restore and repair, and what they
//! tell while they run.

pub mod backup;
pub mod check;
pub mod copy;
pub mod event;
pub mod flaws;
pub mod repair;
pub mod restore;
