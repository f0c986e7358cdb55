//! Many agents: the `Agent` tool, the live tree, its limits, and the reports that flow back.
//!
//! Owns spawning, queueing, stopping and reporting of subagents, and the conversation of the main agent with the
//! user. Leaves the loop itself to `agent`. Invariant: a child's transcript never reaches its parent, only its report.

mod command;
mod effort;
pub mod limits;
mod main_agent;
mod registry;
mod run;
mod servers;
mod skills;
mod spawn;
mod tools;
mod tree;
mod workspace;

pub use command::{Children, Command, PlannedFile, RewindPlan, RewindRequest};
pub use effort::SessionEffort;
pub use limits::TreeLimits;
pub use main_agent::connection::{
    Connecting, Connection, ModelRequest, ModelScope, Reconnect, ResolveModel, connected, lead_connection,
};
pub use main_agent::conversation::Conversation;
pub use main_agent::draft::{DRAFT_CALL, drafting_agent};
pub use main_agent::facts::MainAgentFacts;
pub use main_agent::mention;
pub use main_agent::rewind::Checkpoint;
pub use registry::approvals::{ApprovalQueue, Unattended, unattended_advice, unattended_refusal};
pub use registry::saved::SavedAgent;
pub use run::read_back::{self, ReadBack};
pub use run::report;
pub use run::review::{ReportReview, ReviewLog};
pub use servers::{AgentServers, ServerOffer, TOOL_SEARCH};
pub use skills::SessionSkills;
pub use spawn::capabilities::{Capabilities, Delegation};
pub use spawn::launchers::Launchers;
pub use spawn::memory::UserDirs;
pub use spawn::prompt::{GivenPrompts, PromptEnvironment};
pub use tools::agent_tool::{AGENT_TOOL, AgentInput, AgentTool};
pub use tools::ask_tools::ASK_TOOLS;
pub use tools::offer::Offers;
pub use tools::skill_tool::SKILL_TOOL;
pub use tools::task_tools::TASK_TOOLS;
pub use tree::{KeepReport, Parent, Tree, TreeSetup, TrustAnswer};
