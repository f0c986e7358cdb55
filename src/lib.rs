//! Belvedere: a coding agent in a full-screen terminal, with every subagent live in its own pane.

#[cfg(not(unix))]
compile_error!("Belvedere needs a Unix: process groups, signals and pseudo terminals. On Windows, use WSL.");

// On top: the command line.
pub mod cli;
// Floor 6: the two front ends.
pub mod headless;
pub mod tui;
// Floor 5: what the screen knows, and what puts a session together.
pub mod app;
pub mod services;
// Floor 4: many agents.
pub mod subagent;
// Floor 3: the loop.
pub mod agent;
// Floor 2: who answers, what can be done, agents as files, what is kept, what is chosen.
pub mod config;
pub mod definition;
pub mod provider;
pub mod session;
pub mod tool;
// Floor 1: may it?
pub mod permission;
// Floor 0: the words.
pub mod message;
