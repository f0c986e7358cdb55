//! The state of a model's reasoning in the Chat Completions API, which has as many forms as there are servers.
//!
//! Owns what a reply gives beside its words, and the fields in which it goes back. Leaves to `foreign` to whom it may go.
//! Invariants: what came in a field goes back in that field, as it came, but for pieces that are put together; what is
//! kept counts toward the size of the reply.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::message::{AssistantMessage, Block, WireFormat};
use crate::provider::feed::Queue;
use crate::provider::{StreamEvent, signature};

/// The field in which the words of a model's reasoning come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReasoningField {
    ReasoningContent,
    Reasoning,
    ReasoningText,
    /// Parts of the content, as Mistral sends them.
    Content,
}

impl ReasoningField {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::ReasoningText => "reasoning_text",
            Self::Content => "content",
        }
    }
}

/// Parts of reasoning in one list, each perhaps in pieces.
pub(super) const DETAILS: &str = "reasoning_details";

/// Keys of a part whose pieces make one text.
const TEXTS: [&str; 3] = ["text", "summary", "thinking"];

/// What goes back with a reply beside what it says.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ReasoningState {
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<ReasoningField>,
    /// Fields of the message.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) message: Map<String, Value>,
    /// Fields of its calls, by their places.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) calls: BTreeMap<usize, Map<String, Value>>,
}

impl ReasoningState {
    /// Returns what was kept of a reply, if anything was.
    pub(super) fn of(reply: &AssistantMessage) -> Option<Self> {
        let kept = reply.content.iter().find_map(|block| match block {
            Block::Thinking { signature: Some(kept), .. } => signature::of_format(WireFormat::OpenAi, kept),
            _ => None,
        });
        serde_json::from_str(kept?).ok()
    }

    /// Notes that words of reasoning have come in a field.
    pub(super) fn came_as(&mut self, field: ReasoningField, words: &str) {
        if !words.is_empty() {
            self.field.get_or_insert(field);
        }
    }

    /// Takes a field of the message, or the next pieces of it.
    pub(super) fn take(&mut self, name: &str, value: Option<&RawValue>, out: &mut Queue) {
        take(&mut self.message, name, value, out);
    }

    /// Takes a field of the call at a place.
    pub(super) fn take_of_call(&mut self, at: usize, name: &str, value: Option<&RawValue>, out: &mut Queue) {
        let mut fields = self.calls.remove(&at).unwrap_or_default();
        take(&mut fields, name, value, out);
        if !fields.is_empty() {
            self.calls.insert(at, fields);
        }
    }

    /// Hands on what was kept, at the end of the reply.
    pub(super) fn finish(&mut self, out: &mut Queue) {
        let state = std::mem::take(self);
        let has_any = state.field.is_some() || !state.message.is_empty() || !state.calls.is_empty();
        if let Ok(json) = serde_json::to_string(&state)
            && has_any
        {
            out.push(StreamEvent::ThinkingSignature(signature::mark(WireFormat::OpenAi, &json)));
        }
    }
}

/// Returns all that a model thought before a reply, as it came.
pub(super) fn thoughts_of(reply: &AssistantMessage) -> String {
    let thoughts = reply.content.iter().filter_map(|block| match block {
        Block::Thinking { text, .. } => Some(text.as_str()),
        _ => None,
    });
    thoughts.collect()
}

/// Returns the words in a list of parts.
pub(super) fn words_of(parts: Option<&RawValue>) -> String {
    let parts: Vec<Value> = parts.and_then(|parts| serde_json::from_str(parts.get()).ok()).unwrap_or_default();
    let words = parts.iter().filter_map(|part| TEXTS.iter().find_map(|key| part.get(key)?.as_str()));
    words.collect()
}

fn take(fields: &mut Map<String, Value>, name: &str, value: Option<&RawValue>, out: &mut Queue) {
    let Some(raw) = value.map(RawValue::get) else { return };
    let Ok(value) = serde_json::from_str::<Value>(raw) else { return };
    let is_empty = match &value {
        Value::Array(parts) => parts.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => true,
    };
    if is_empty || !out.charge(raw.len()) {
        return;
    }
    match (fields.get_mut(name), value) {
        (Some(Value::Array(parts)), Value::Array(more)) => more.into_iter().for_each(|piece| join(parts, piece)),
        (None, Value::Array(more)) => {
            let mut parts = Vec::new();
            for piece in more {
                join(&mut parts, piece);
            }
            fields.insert(name.to_owned(), Value::Array(parts));
        }
        (Some(Value::Object(there)), Value::Object(more)) => there.extend(more),
        (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
        (_, value) => drop(fields.insert(name.to_owned(), value)),
    }
}

/// Adds a piece to the part that it goes on with, or as a part of its own.
fn join(parts: &mut Vec<Value>, piece: Value) {
    let piece = match (parts.last_mut(), piece) {
        (Some(Value::Object(last)), Value::Object(piece)) if goes_on(last, &piece) => {
            for (key, value) in piece {
                match (last.get_mut(&key), value) {
                    (Some(Value::String(text)), Value::String(more)) if TEXTS.contains(&&*key) => text.push_str(&more),
                    (None | Some(Value::Null), value) => drop(last.insert(key, value)),
                    (Some(Value::String(text)), value) if text.is_empty() => drop(last.insert(key, value)),
                    _ => {}
                }
            }
            return;
        }
        (_, piece) => piece,
    };
    parts.push(piece);
}

/// Returns `true` if a piece belongs to the part before it: of one kind and place, with words, and the part not signed yet.
fn goes_on(last: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let is_same = |key: &str| match (last.get(key), piece.get(key)) {
        (Some(one), Some(other)) => one.is_null() || other.is_null() || one == other,
        _ => true,
    };
    let is_signed = last.get("signature").is_some_and(|proof| proof.as_str().is_some_and(|proof| !proof.is_empty()));
    let has_words = TEXTS.iter().any(|key| last.contains_key(*key));
    ["type", "index", "id"].into_iter().all(is_same) && has_words && !is_signed
}
