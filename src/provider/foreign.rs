//! What of a conversation only another model can read, taken out before a request is written.
//!
//! Owns whose a reply is, and what becomes of it elsewhere. Leaves the form of what goes back to each wire format.
//! Invariants: reasoning and its proofs reach only the model and the service that gave them; an id that a service made up
//! in a form of its own is changed alike on a call and on its result. A reply of which it is not known who gave it, as in
//! older sessions, stays as it is.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::Request;
use crate::message::format::sha256_hex;
use crate::message::{AssistantMessage, Block, Message, ServedStep, ToolCall, ToolResult};

/// Longest id of a call that every service takes.
const ID_CHARS: usize = 40;
/// Characters of an id that stand for a longer one.
const DIGEST: usize = 24;

/// Returns the request as `service` takes it: without what another model thought, and with ids that it reads.
pub(super) fn without_foreign(mut request: Request, service: &str) -> Request {
    let mut renamed: HashMap<String, String> = HashMap::new();
    for message in &mut request.messages {
        match message.as_ref() {
            Message::Assistant(reply) if is_foreign(reply, service, &request.model) => {
                let translated = translate(reply, service, &mut renamed);
                *message = Arc::new(Message::Assistant(translated));
            }
            Message::ToolResults { results } if results.iter().any(|result| renamed.contains_key(&result.call_id)) => {
                let results = results.iter().map(|result| with_new_id(result, &renamed)).collect();
                *message = Arc::new(Message::ToolResults { results });
            }
            _ => {}
        }
    }
    request
}

fn is_foreign(reply: &AssistantMessage, service: &str, model: &str) -> bool {
    reply.origin.as_ref().is_some_and(|origin| origin.service != service || origin.model != model)
}

fn translate(reply: &AssistantMessage, service: &str, renamed: &mut HashMap<String, String>) -> AssistantMessage {
    let is_elsewhere = reply.origin.as_ref().is_some_and(|origin| origin.service != service);
    let content = reply.content.iter().filter_map(|block| match block {
        Block::Thinking { .. } | Block::RedactedThinking { .. } => None,
        Block::ToolCall(call) => {
            let id = plain_id(&call.id);
            if let Cow::Owned(id) = &id {
                renamed.insert(call.id.clone(), id.clone());
            }
            Some(Block::ToolCall(ToolCall { id: id.into_owned(), ..call.clone() }))
        }
        Block::Served(step) if is_elsewhere => Some(Block::Served(ServedStep { wire: Value::Null, ..step.clone() })),
        Block::Text { .. } | Block::Served(_) => Some(block.clone()),
    });
    AssistantMessage { content: content.collect(), origin: reply.origin.clone() }
}

/// Returns the id of a call in a form that every service takes.
fn plain_id(id: &str) -> Cow<'_, str> {
    let is_plain = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_plain && id.len() <= ID_CHARS {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{}", &sha256_hex(id.as_bytes())[..DIGEST]))
}

fn with_new_id(result: &ToolResult, renamed: &HashMap<String, String>) -> ToolResult {
    let call_id = renamed.get(&result.call_id).unwrap_or(&result.call_id).clone();
    ToolResult { call_id, ..result.clone() }
}
