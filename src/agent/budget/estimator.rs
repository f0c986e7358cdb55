//! How large a request is before it is sent.
//!
//! Owns the estimate: what the service counted last, and a careful measure of what was added since. Leaves what follows
//! from it to the ledger. Invariant: it errs on the large side for the languages and code that people write.

use std::sync::Arc;

use crate::message::{Block, Message, ResultPart, ToolInput, ToolResult, ToolSpec, Transcript, Usage, picture_numbers};
use crate::provider::Request;

/// Bytes of text for each token. Most text has more.
pub(in crate::agent) const BYTES: u64 = 3;
/// Tokens that a service adds of its own to a request, such as for tools.
const FRAME: u64 = 500;
/// Bytes that a service, or a gateway before it, may add.
const ADDED: u64 = 20_000;
/// Tokens around each message and part.
const JOINT: u64 = 8;
/// Tokens of a picture, of the size that services bring pictures down to.
const PICTURE: u64 = 5_000;

#[derive(Debug, Default)]
pub(super) struct TokenEstimator {
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    /// How many messages were counted.
    messages: usize,
    /// The last of them: a conversation that was shortened meanwhile has another one there.
    last: Arc<Message>,
    /// What they came to, with everything around them.
    tokens: u64,
}

impl TokenEstimator {
    /// Returns an estimator that knows what was counted of a conversation.
    pub(super) fn knowing(transcript: &Transcript) -> Self {
        let known = transcript.counted().and_then(|counted| {
            let last = transcript.messages().get(counted.messages.checked_sub(1)?)?;
            Some(Known { messages: counted.messages, last: Arc::clone(last), tokens: counted.tokens })
        });
        Self { known }
    }

    /// Returns the size that a service counted last, with the reply.
    pub(super) fn counted(&self) -> Option<u64> {
        self.known.as_ref().map(|known| known.tokens)
    }

    /// Returns the most tokens that a request sends.
    pub(super) fn measure(&self, request: &Request) -> u64 {
        let counted = self.known.as_ref().filter(|known| {
            let last = known.messages.checked_sub(1).and_then(|at| request.messages.get(at));
            last.is_some_and(|last| Arc::ptr_eq(last, &known.last))
        });
        match counted {
            Some(known) => known.tokens.saturating_add(messages(&request.messages[known.messages..])),
            None => by_bytes(request),
        }
    }

    /// Takes in what the service counted for a conversation, and returns the size of it with the reply.
    pub(super) fn note(&mut self, messages: &[Arc<Message>], usage: &Usage, asked: u64) -> u64 {
        let tokens = usage.context() + usage.output;
        self.known = match messages.last() {
            Some(last) if usage.context() > 0 && !usage.estimated => {
                Some(Known { messages: messages.len(), last: Arc::clone(last), tokens })
            }
            _ => None,
        };
        if self.known.is_some() { tokens } else { asked.max(tokens) }
    }
}

/// Returns the most tokens that a request sends, as its bytes tell alone.
pub(in crate::agent) fn by_bytes(request: &Request) -> u64 {
    around(request) + messages(&request.messages)
}

/// Returns the most bytes that a request may have, with its pictures and what a service adds: no count of tokens is larger.
pub(in crate::agent) fn bytes(request: &Request) -> u64 {
    let attached: usize = request.attachments.values().map(|attachment| attachment.data.len()).sum();
    let sent = by_bytes(request).saturating_mul(BYTES).saturating_add(attached as u64);
    sent.saturating_add(ADDED)
}

/// Returns the most tokens of what a request sends beside the conversation.
pub(in crate::agent) fn around(request: &Request) -> u64 {
    FRAME + text(&request.system) + specs(&request.tools) + specs(&request.withheld)
}

/// Returns the most tokens of a message.
pub(in crate::agent) fn message(message: &Message) -> u64 {
    JOINT + content(message)
}

/// Returns the most tokens of a result.
pub(in crate::agent) fn result(found: &ToolResult) -> u64 {
    let parts = found.content.iter().map(|part| match part {
        ResultPart::Text { text: found } => JOINT + text(found),
        ResultPart::Image { .. } | ResultPart::Attached { .. } => PICTURE,
    });
    JOINT + parts.sum::<u64>()
}

fn messages(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|one| message(one)).sum()
}

fn content(message: &Message) -> u64 {
    match message {
        Message::User { text: said } => text(said) + PICTURE * picture_numbers(said).len() as u64,
        Message::Assistant(reply) => reply.content.iter().map(|block| JOINT + part(block)).sum(),
        Message::ToolResults { results } => results.iter().map(result).sum(),
    }
}

fn part(block: &Block) -> u64 {
    match block {
        Block::Text { text: said } => text(said),
        Block::Thinking { text: thought, signature } => text(thought) + signature.as_deref().map_or(0, text),
        Block::RedactedThinking { data } => text(data),
        Block::Served(step) => (step.size() as u64).div_ceil(BYTES),
        Block::ToolCall(call) => {
            let input = match &call.input {
                ToolInput::Object(input) => serde_json::to_string(input).map_or(0, |json| text(&json)),
                ToolInput::Malformed(sent) => text(sent),
            };
            text(&call.name) + input
        }
    }
}

pub(in crate::agent) fn specs(tools: &[ToolSpec]) -> u64 {
    let sizes = tools
        .iter()
        .map(|tool| JOINT + text(&tool.name) + text(&tool.description) + text(&tool.input_schema.to_string()));
    sizes.sum()
}

pub(in crate::agent) fn text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES)
}
