//! The forms in which one server takes a request of the Chat Completions API.
//!
//! Owns what a message carries beside its words, and the ids of calls. Leaves what the server has refused to `learned`.
//! Invariants: an id is changed alike on a call and on its result; each form that a server may refuse is noted.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::reasoning::{DETAILS, ReasoningField, ReasoningState, thoughts_of};
use crate::message::format::sha256_hex;
use crate::message::{AssistantMessage, Dialect};
use crate::provider::{Feature, Habits, model};

/// Length of an id that Mistral takes.
const SHORT_ID: usize = 9;
/// What stands in the place of reasoning that there is none of: some servers count an empty text as missing.
const NO_REASONING: &str = " ";
/// What stands in the place of a signature of Gemini's that there is none of: the call was made by another model.
const NOT_SIGNED: &str = "skip_thought_signature_validator";

pub(super) struct Forms<'h> {
    habits: &'h Habits,
    /// Whether the model is one of Gemini's that wants a signature on calls.
    wants_proof: bool,
    /// What the request holds that the server may refuse.
    pub(super) held: Vec<Feature>,
}

impl<'h> Forms<'h> {
    pub(super) fn new(habits: &'h Habits, model: &str) -> Self {
        let is_gemini = model.rsplit('/').next().is_some_and(|name| name.starts_with("gemini"));
        let wants_proof = is_gemini && model::thinking_of(model) == Some(model::Thinking::Adaptive);
        Self { habits, wants_proof, held: Vec::new() }
    }

    /// Returns `true` if the server takes this, and notes that the request holds it.
    pub(super) fn holds(&mut self, feature: Feature) -> bool {
        let takes = self.habits.takes(feature);
        if takes && !self.held.contains(&feature) {
            self.held.push(feature);
        }
        takes
    }

    /// Returns the id of a call as the server takes it.
    pub(super) fn id<'a>(&mut self, id: &'a str) -> Cow<'a, str> {
        let is_short = id.len() == SHORT_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_short || (self.habits.dialect != Dialect::Mistral && self.holds(Feature::LongIds)) {
            return Cow::Borrowed(id);
        }
        Cow::Owned(sha256_hex(id.as_bytes())[..SHORT_ID].to_owned())
    }

    /// Returns what goes back with a reply beside what it says.
    pub(super) fn state(&mut self, reply: &AssistantMessage) -> ReasoningState {
        let kept = ReasoningState::of(reply).filter(|_| self.habits.takes(Feature::OwnReasoning));
        let has_calls = reply.tool_calls().next().is_some();
        let is_deepseek = self.habits.dialect == Dialect::DeepSeek;
        let mut state = kept.unwrap_or_default();
        let thoughts = thoughts_of(reply);
        let has_details = state.message.contains_key(DETAILS);
        match state.field {
            // It takes reasoning back with calls alone, and refuses calls without it.
            _ if is_deepseek && has_calls => insert(&mut state.message, ReasoningField::ReasoningContent, thoughts),
            Some(field) if !is_deepseek && field != ReasoningField::Content && !has_details && !thoughts.is_empty() => {
                insert(&mut state.message, field, thoughts);
            }
            _ => {}
        }
        if has_calls && !is_deepseek {
            self.fill_in(reply, &mut state);
        }
        if !is_deepseek && (state.field.is_some() || !state.message.is_empty() || !state.calls.is_empty()) {
            self.holds(Feature::OwnReasoning);
        }
        state
    }

    /// Puts something in the place of what a server wants with calls and another model did not give.
    fn fill_in(&mut self, reply: &AssistantMessage, state: &mut ReasoningState) {
        let is_signed = state.message.contains_key(DETAILS) || !state.calls.is_empty();
        if self.wants_proof && !is_signed && self.habits.dialect == Dialect::OpenRouter {
            let proof = |id: &str| json!({"type": "reasoning.encrypted", "data": NOT_SIGNED, "id": id, "format": "google-gemini-v1", "index": 0});
            let proofs: Vec<Value> = reply.tool_calls().map(|call| proof(&call.id)).collect();
            state.message.insert(DETAILS.to_owned(), proofs.into());
        } else if self.wants_proof && !is_signed && self.habits.dialect == Dialect::Gemini {
            let proof = json!({"google": {"thought_signature": NOT_SIGNED}});
            state.calls.insert(0, Map::from_iter([("extra_content".to_owned(), proof)]));
        } else if state.message.is_empty() && state.calls.is_empty() && !self.holds(Feature::BareCalls) {
            insert(&mut state.message, ReasoningField::ReasoningContent, NO_REASONING.to_owned());
        }
    }
}

fn insert(fields: &mut Map<String, Value>, field: ReasoningField, words: String) {
    fields.insert(field.name().to_owned(), words.into());
}
