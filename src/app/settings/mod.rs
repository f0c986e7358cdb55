//! What the screen starts with, what the user chooses on it, and the facts of the status line.
//!
//! Owns these facts. Leaves reading and keeping them to `tui`. Invariant: nothing here depends on an agent.

pub(super) mod choices;
pub(super) mod effort;
pub(super) mod memory;
pub(super) mod models;
pub(super) mod servers;
pub(super) mod sessions;
pub(super) mod setup;
pub(super) mod skills;
pub(super) mod status;
pub(super) mod status_command;
