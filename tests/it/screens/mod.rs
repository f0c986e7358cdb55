//! Pictures of the screen.

pub(crate) mod svg;
//! The screen as people see it.
mod scenes;
mod snapshots;
pub mod stage;
