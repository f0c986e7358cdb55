//! Many agents: the `Agent` tool, the live tree, its limits, and the reports that flow back.
//!
//! Owns spawning, queueing, stopping and reporting of subagents, and the conversation of the main agent with the
//! user. Leaves the loop itself to `agent`. Invariant: a child's transcript never reaches its parent, only its report.

mod approvals;
mod command;
mod conversation;
mod draft;
mod life;
pub mod limits;
mod prompt;
pub mod report;
mod task;
mod tree;

pub use approvals::{ApprovalQueue, Unattended};
pub use command::Command;
pub use conversation::{Connecting, Conversation, connected};
pub use draft::{DRAFT_CALL, drafting_agent};
pub use limits::TreeLimits;
pub use prompt::Surroundings;
pub use task::{AGENT_TOOL, AgentInput, AgentTool};
pub use tree::{Connection, KeepReport, Parent, ResolveModel, Tree, TreeSetup};
