//! How large a request is before it is sent.
//!
//! Owns the estimate: what the service counted last, and a careful measure of what was added since. Leaves what follows
//! from it to the ledger. Invariant: it errs on the large side for the languages and code that people write.

use std::sync::Arc;

use crate::message::{Block, Message, ResultPart, ToolInput, ToolSpec, Usage};
use crate::provider::Request;

/// Bytes of text for each token. Most text has more.
const BYTES: u64 = 3;
/// Tokens that a service adds of its own to a request, such as for tools.
const FRAME: u64 = 500;
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
    /// Returns the most tokens that a request sends.
    pub(super) fn measure(&self, request: &Request) -> u64 {
        let counted = self.known.as_ref().filter(|known| {
            let last = known.messages.checked_sub(1).and_then(|at| request.messages.get(at));
            last.is_some_and(|last| Arc::ptr_eq(last, &known.last))
        });
        match counted {
            Some(known) => known.tokens + messages(&request.messages[known.messages..]),
            None => {
                FRAME
                    + text(&request.system)
                    + specs(&request.tools)
                    + specs(&request.withheld)
                    + messages(&request.messages)
            }
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

fn messages(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| JOINT + content(message)).sum()
}

fn content(message: &Message) -> u64 {
    match message {
        Message::User { text: said } => text(said),
        Message::Assistant(reply) => reply.content.iter().map(|block| JOINT + part(block)).sum(),
        Message::ToolResults { results } => {
            let parts = results.iter().flat_map(|result| &result.content);
            let sizes = parts.map(|part| match part {
                ResultPart::Text { text: found } => JOINT + text(found),
                ResultPart::Image { .. } => PICTURE,
            });
            sizes.sum::<u64>() + JOINT * results.len() as u64
        }
    }
}

fn part(block: &Block) -> u64 {
    match block {
        Block::Text { text: said } => text(said),
        Block::Thinking { text: thought, signature } => text(thought) + signature.as_deref().map_or(0, text),
        Block::RedactedThinking { data } => text(data),
        Block::ToolCall(call) => {
            let input = match &call.input {
                ToolInput::Object(input) => serde_json::to_string(input).map_or(0, |json| text(&json)),
                ToolInput::Malformed(sent) => text(sent),
            };
            text(&call.name) + input
        }
    }
}

fn specs(tools: &[ToolSpec]) -> u64 {
    let sizes = tools
        .iter()
        .map(|tool| JOINT + text(&tool.name) + text(&tool.description) + text(&tool.input_schema.to_string()));
    sizes.sum()
}

fn text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES)
}
