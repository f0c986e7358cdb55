//! Belvedere: a coding agent in a full-screen terminal, with every subagent live in its own pane.

// Floor 6: the screen.
pub mod tui;
// Floor 5: what the screen knows.
pub mod app;
// Floor 4: many agents.
pub mod subagent;
// Floor 3: the loop.
pub mod agent;
// Floor 2: who answers, and what can be done.
pub mod provider;
pub mod tool;
// Floor 1: may it?
pub mod permission;
// Floor 0: the words.
pub mod message;
