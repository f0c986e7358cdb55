//! The screen as people see it.

pub(crate) mod agent_files;
mod contrast;
mod full_head;
mod gallery;
mod hostile;
pub(crate) mod nested;
mod pictures;
mod replay;
pub(crate) mod scenes;
pub(crate) mod snapshots;
pub(crate) mod stage;
pub(crate) mod svg;
mod terminal;
mod titles;
pub(crate) mod views;
pub(crate) mod worktrees;
