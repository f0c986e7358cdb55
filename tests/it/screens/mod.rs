//! The screen as people see it.

mod scenes;
mod snapshots;
pub mod stage;
