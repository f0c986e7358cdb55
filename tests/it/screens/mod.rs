//! The screen as people see it.

pub(crate) mod scenes;
mod snapshots;
mod terminal;
pub(crate) mod stage;
pub(crate) mod svg;
