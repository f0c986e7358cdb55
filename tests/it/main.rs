//! All integration tests, as one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test says by its panic what went wrong")]

mod agent;
mod app;
mod cli;
mod config;
mod definitions;
mod docs;
mod export;
mod external;
mod faults;
mod fuzz;
mod headless;
mod load;
mod mcp;
mod memory;
mod models;
mod offline;
mod permissions;
mod properties;
mod providers;
mod pty;
mod screens;
mod session;
mod skills;
mod support;
mod text;
mod tidy;
mod tools;
mod worktree;
