//! The record of one conversation: appended to as it goes on, and shortened where it outgrows a model's context.
//!
//! Owns what keeps it valid, also when it is shortened. Leaves the choice of what goes to `agent`.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AssistantMessage, Message, ToolCall, ToolResult};

/// Text of the result of a call that was cut off before it could answer.
pub const INTERRUPTED: &str = "interrupted";

/// One agent's conversation.
///
/// Invariant, kept by every method: each tool call has exactly one result, in the message right after the one that
/// made it, before anything else is appended. A transcript can therefore be sent to a provider at any time that
/// [`Transcript::pending`] is empty. Messages are shared, so a snapshot for a request costs no copy of the text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transcript {
    messages: Vec<Arc<Message>>,
    #[serde(skip)]
    counted: Option<Counted>,
}

/// What a conversation came to, as a service counted it or as was worked out from its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Of how many of its messages, from the first one on.
    pub messages: usize,
    /// What they came to in tokens, with system prompt and tools.
    pub tokens: u64,
}

impl PartialEq for Transcript {
    /// Two conversations are the same if the same was said.
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages
    }
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

    /// Returns what was counted last, if nothing of it was changed since.
    pub fn counted(&self) -> Option<Counted> {
        self.counted
    }

    /// Notes what all messages so far come to, in tokens, with system prompt and tools; `None` if nobody knows.
    pub fn set_counted(&mut self, tokens: Option<u64>) {
        self.counted = tokens.map(|tokens| Counted { messages: self.messages.len(), tokens });
    }

    /// Puts another text in the place of the results of these calls: `shorten` makes it of a call and its result.
    pub fn shorten_results(&mut self, calls: &HashSet<&str>, shorten: impl Fn(&ToolCall, &ToolResult) -> ToolResult) {
        for at in 1..self.messages.len() {
            let (before, rest) = self.messages.split_at_mut(at);
            let (Message::Assistant(reply), Message::ToolResults { results }) =
                (before[at - 1].as_ref(), rest[0].as_ref())
            else {
                continue;
            };
            if !results.iter().any(|result| calls.contains(result.call_id.as_str())) {
                continue;
            }
            let shortened = results.iter().map(|result| {
                let call = reply.tool_calls().find(|call| call.id == result.call_id);
                match call.filter(|call| calls.contains(call.id.as_str())) {
                    Some(call) => ToolResult { call_id: call.id.clone(), ..shorten(call, result) },
                    None => result.clone(),
                }
            });
            rest[0] = Arc::new(Message::ToolResults { results: shortened.collect() });
            self.counted = None;
        }
    }

    /// Puts one user message in the place of all but the last `kept` messages. A kept message that holds results is
    /// dropped if the calls are not kept.
    pub fn compact(&mut self, message: impl Into<String>, kept: usize) {
        let from = self.messages.len().saturating_sub(kept);
        let mut rest = self.messages.split_off(from);
        if matches!(rest.first().map(Arc::as_ref), Some(Message::ToolResults { .. })) {
            rest.remove(0);
        }
        self.messages = vec![Arc::new(Message::user(message))];
        self.messages.append(&mut rest);
        self.counted = None;
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
