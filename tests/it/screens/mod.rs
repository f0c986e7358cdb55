//! The screen as people see it.

mod scenes;
mod snapshots;
pub(crate) mod stage;
pub(crate) mod svg;
