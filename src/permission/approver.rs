//! The question put to the user, and who puts it.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{Access, Grant};
use crate::message::{AgentId, FileDiff};

/// Identity of a question: one tool call asks at most once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ApprovalId {
    /// The agent that asks.
    pub agent: AgentId,
    /// Its tool call.
    pub call_id: String,
}

/// What the user is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Identity of the question.
    pub id: ApprovalId,
    /// What would be done.
    pub access: Access,
    /// One line that names the act, such as the command or the path relative to the project.
    pub title: String,
    /// More to look at before answering.
    pub preview: Option<Preview>,
    /// What "always (this session)" would allow.
    pub grant: Option<Grant>,
}

/// What an act would do, in detail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Preview {
    /// The change a file would see.
    Diff(FileDiff),
    /// The model's own words on what the command is for.
    Note {
        /// The words.
        text: String,
    },
}

/// What the user answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and everything the offered grant covers until the session ends.
    Always,
    /// No.
    No {
        /// Words for the model.
        comment: Option<String>,
    },
}

/// Puts questions to the user. There is one for a whole tree of agents.
pub trait Approver: Send + Sync {
    /// Asks and waits for the answer. An answer counts from the call on, not only once the future is polled;
    /// dropping the future withdraws the question.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer>;
}
