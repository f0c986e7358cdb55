//! Many agents: the `Agent` tool, the live tree, its limits, and the reports that flow back.
//!
//! Owns spawning, queueing, stopping and reporting of subagents, and the conversation of the main agent with the
//! user. Leaves the loop itself to `agent`. Invariant: a child's transcript never reaches its parent, only its report.

mod admission;
mod agent_tool;
mod approvals;
mod budget;
mod capabilities;
mod command;
mod connection;
mod conversation;
mod draft;
mod finalize;
pub mod limits;
mod main_agent;
mod memory;
pub mod mention;
mod offer;
mod prompt;
pub mod read_back;
mod registry;
pub mod report;
mod run_guard;
mod slot_queue;
mod spawn;
mod task_tools;
mod tree;
mod workspace;

pub use agent_tool::{AGENT_TOOL, AgentInput, AgentTool};
pub use approvals::{ApprovalQueue, Unattended, unattended_refusal};
pub use capabilities::{Capabilities, Delegation};
pub use command::{Children, Command};
pub use connection::{Connection, ModelRequest, ModelScope, ResolveModel, lead_connection};
pub use conversation::{Connecting, Conversation, Reconnect, connected};
pub use draft::{DRAFT_CALL, drafting_agent};
pub use limits::TreeLimits;
pub use memory::UserDirs;
pub use prompt::PromptEnvironment;
pub use read_back::ReadBack;
pub use task_tools::TASK_TOOLS;
pub use tree::{KeepReport, Parent, Tree, TreeSetup};
