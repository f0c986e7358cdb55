//! Who speaks in a transcript.

use serde::{Deserialize, Serialize};

use crate::message::{AgentId, reminded};

/// Who wrote a message that joined a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The user; of a subagent's first message, its parent.
    #[default]
    User,
    Parent,
    /// This program, such as at a limit.
    Program,
    /// The subagents whose reports these are.
    Subagents(Vec<AgentId>),
}

impl Author {
    #[must_use]
    pub fn is_user(&self) -> bool {
        *self == Self::User
    }
}

/// Returns what people are shown of a message of this program: its first line. The rest is for the model.
#[must_use]
pub fn shown_of_program(text: &str) -> &str {
    reminded(text).unwrap_or(text).lines().next().unwrap_or_default()
}
