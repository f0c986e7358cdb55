//! What a subagent was created with, and how far it may go.
//!
//! Owns what the log tells of that. Leaves creating subagents to `subagent`. Invariant: a session that goes on makes a
//! subagent of it again, with the same restrictions.

use serde::{Deserialize, Serialize};

use super::event::RunMode;
use crate::definition::Isolation;
use crate::message::AgentId;
use crate::permission::PermissionMode;

/// What a subagent was created with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    pub parent: AgentId,
    /// The parent's tool call.
    pub call_id: String,
    /// Its name, such as `explore-1`.
    pub name: String,
    /// Name of its definition, such as `explore`.
    pub agent_type: String,
    /// Colour of its definition: a name or `#rrggbb`.
    pub color: Option<String>,
    /// Three to five words: the pane's title.
    pub description: String,
    /// The whole task, context included.
    pub prompt: String,
    /// The model's name as shown.
    pub model: String,
    pub tools: Vec<String>,
    #[serde(default)]
    pub bounds: Bounds,
    #[serde(default, rename = "ground")]
    pub run_mode: RunMode,
    #[serde(default, skip_serializing_if = "no_options")]
    pub options: Box<SpawnOptions>,
}

/// What a call asked for besides the task. The subagent is made of it again when the session is continued.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpawnOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

#[expect(clippy::borrowed_box, reason = "serde hands over a reference to the field")]
fn no_options(options: &Box<SpawnOptions>) -> bool {
    **options == SpawnOptions::default()
}

/// How far a subagent may go. `None` means no limit, or none that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub max_turns: Option<u32>,
    pub max_tool_calls: Option<u32>,
    /// Tokens that its model's context holds.
    pub context_window: Option<u64>,
    /// The mode it works in where the session's gives it more leeway.
    pub mode: Option<PermissionMode>,
    /// What single uses of its tools are held against, such as `Bash(npm test:*)` or `not Bash(rm:*)`.
    pub scopes: Vec<String>,
}
