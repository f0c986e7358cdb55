//! The append-only record of one conversation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AssistantMessage, Message, ToolResult};

/// Text of the result of a call that was cut off before it could answer.
pub const INTERRUPTED: &str = "interrupted";

/// One agent's conversation.
///
/// Invariant, kept by every method: each tool call has exactly one result, in the message right after the one that
/// made it, before anything else is appended. A transcript can therefore be sent to a provider at any time that
/// [`Transcript::pending`] is empty. Messages are shared, so a snapshot for a request costs no copy of the text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transcript {
    messages: Vec<Arc<Message>>,
}

impl Transcript {
    /// Returns a conversation that holds exactly one user message, the task.
    #[must_use]
    pub fn with_task(task: impl Into<String>) -> Self {
        let mut transcript = Self::default();
        transcript.push_user(task);
        transcript
    }

    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Appends what the user said. Calls still without a result are answered as interrupted first.
    pub fn push_user(&mut self, text: impl Into<String>) {
        self.interrupt_pending();
        self.messages.push(Arc::new(Message::user(text)));
    }

    /// Appends a reply. Calls still without a result are answered as interrupted first; an empty reply is left out,
    /// because providers refuse it.
    pub fn push_assistant(&mut self, message: AssistantMessage) {
        self.interrupt_pending();
        if !message.is_empty() {
            self.messages.push(Arc::new(Message::Assistant(message)));
        }
    }

    /// Appends the results of the pending calls in the order of the calls. A call without a result counts as
    /// interrupted; a result that answers no pending call, or answers one twice, is dropped.
    pub fn push_results(&mut self, results: Vec<ToolResult>) {
        let mut results = results;
        let ordered: Vec<ToolResult> = self
            .pending()
            .into_iter()
            .map(|id| match results.iter().position(|result| result.call_id == id) {
                Some(at) => results.swap_remove(at),
                None => ToolResult::error(id, INTERRUPTED),
            })
            .collect();
        if !ordered.is_empty() {
            self.messages.push(Arc::new(Message::ToolResults { results: ordered }));
        }
    }

    /// Returns the ids of the calls that have no result yet.
    pub fn pending(&self) -> Vec<String> {
        match self.messages.last().map(Arc::as_ref) {
            Some(Message::Assistant(message)) => message.tool_calls().map(|call| call.id.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// Answers every pending call with the result "interrupted".
    pub fn interrupt_pending(&mut self) {
        self.push_results(Vec::new());
    }
}
