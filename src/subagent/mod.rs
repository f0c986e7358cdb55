//! Many agents: the `Agent` tool, the live tree, its limits, and the reports that flow back.
//!
//! Owns spawning, queueing, stopping and reporting of subagents, and the conversation of the main agent with the
//! user. Leaves the loop itself to `agent`. Invariant: a child's transcript never reaches its parent, only its report.

mod command;

pub use command::Command;
