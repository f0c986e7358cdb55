//! Many agents: the `Agent` tool, the live tree, its limits, and the reports that flow back.
//!
//! Owns spawning, queueing, stopping and reporting of subagents, and the conversation of the main agent with the
//! user. Leaves the loop itself to `agent`. Invariant: a child's transcript never reaches its parent, only its report.

mod admission;
mod approvals;
mod budget;
mod command;
mod connection;
mod conversation;
mod draft;
mod errand;
mod harvest;
mod isolation;
mod lead;
mod life;
pub mod limits;
mod line;
mod loadout;
mod memory;
pub mod mention;
mod offer;
mod prompt;
pub mod read_back;
pub mod report;
mod roster;
mod task;
mod tasks;
mod tree;

pub use approvals::{ApprovalQueue, Unattended, unattended_refusal};
pub use command::{Children, Command};
pub use connection::{Connection, ModelWish, Reach, ResolveModel, lead_connection};
pub use conversation::{Connecting, Conversation, Reconnect, connected};
pub use draft::{DRAFT_CALL, drafting_agent};
pub use limits::TreeLimits;
pub use loadout::{Delegation, Loadout};
pub use memory::UserDirs;
pub use prompt::Surroundings;
pub use read_back::ReadBack;
pub use task::{AGENT_TOOL, AgentInput, AgentTool};
pub use tasks::TASK_TOOLS;
pub use tree::{KeepReport, Parent, Tree, TreeSetup};
