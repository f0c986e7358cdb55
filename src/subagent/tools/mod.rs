//! The tools by which an agent works with subagents: `Agent`, and those for the ones it has started; and those by which the
//! main agent asks the user.
//!
//! Owns their inputs and what models read of them. Leaves what they do to the tree. Invariant: an agent reaches only its
//! own subagents.

pub(super) mod agent_tool;
pub(super) mod ask_tools;
pub(super) mod offer;
pub(super) mod skill_tool;
pub(super) mod task_tools;
