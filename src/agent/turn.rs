//! From stream events to a message, pure.
//!
//! Owns how deltas become a message. Leaves all waiting to `stream`, and what follows from a message to `step`. Invariant: no I/O, no
//! clock; whatever a provider sends, the message that comes out has tool calls with unique, non-empty ids.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::message::{AgentId, AssistantMessage, Block, ToolCall, ToolInput, Usage};
use crate::provider::{StopReason, StreamEvent, TextPiece, split_thoughts};

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub message: AssistantMessage,
    pub usage: Usage,
    /// Why the model stopped; `None` if the reply was cut off.
    pub stop: Option<StopReason>,
    /// How long the first of the reply took, from the request that it answers.
    pub latency: Option<Duration>,
    /// Whether its text holds what might be meant as a tool call and was not taken as one.
    pub has_unclear_call: bool,
}

impl Turn {
    /// Returns `true` if the reply was cut off by the output cap, and no call in it is whole.
    pub fn has_only_cut_calls(&self) -> bool {
        let mut calls = self.message.tool_calls();
        self.stop == Some(StopReason::MaxTokens) && calls.all(|call| matches!(call.input, ToolInput::Malformed(_)))
    }
}

/// What of a stream event is worth showing at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Thinking(String),
}

/// Folds the events of one answer into a message.
#[derive(Debug, Default)]
pub struct TurnBuilder {
    parts: Vec<Part>,
    /// Where in `parts` the call with each index stands.
    calls: HashMap<usize, usize>,
    usage: Usage,
    stop: Option<StopReason>,
    /// Bytes of what the model wrote.
    received: usize,
    latency: Option<Duration>,
}

/// Bytes of a reply for each token, where the service does not count them.
const BYTES_PER_TOKEN: usize = 4;

#[derive(Debug)]
enum Part {
    Done(Block),
    Call { id: String, name: String, json: String },
}

impl TurnBuilder {
    /// Takes the next event and returns what to show of it.
    pub fn push(&mut self, event: StreamEvent) -> Option<Delta> {
        self.received = self.received.saturating_add(written(&event));
        match event {
            StreamEvent::Text(delta) => {
                match self.parts.last_mut() {
                    Some(Part::Done(Block::Text { text })) => text.push_str(&delta),
                    _ => self.parts.push(Part::Done(Block::Text { text: delta.clone() })),
                }
                return Some(Delta::Text(delta));
            }
            StreamEvent::Thinking(delta) => {
                match self.parts.last_mut() {
                    Some(Part::Done(Block::Thinking { text, signature: None })) => text.push_str(&delta),
                    _ => self.parts.push(Part::Done(Block::Thinking { text: delta.clone(), signature: None })),
                }
                return Some(Delta::Thinking(delta));
            }
            StreamEvent::ThinkingSignature(proof) => self.sign(proof),
            StreamEvent::RedactedThinking(data) => self.parts.push(Part::Done(Block::RedactedThinking { data })),
            StreamEvent::Served(step) => self.parts.push(Part::Done(Block::Served(step))),
            StreamEvent::ToolCallStart { index, id, name } => {
                self.calls.insert(index, self.parts.len());
                self.parts.push(Part::Call { id, name, json: String::new() });
            }
            StreamEvent::ToolCallDelta { index, json } => self.extend_call(index, &json),
            StreamEvent::Usage(usage) => self.usage = usage,
            // It is no part of the reply.
            StreamEvent::PromptRead { .. } => {}
            StreamEvent::Stop(stop) => self.stop = Some(stop),
        }
        None
    }

    /// Notes how long after the request the last event has come, if it is the first with something that the model wrote.
    pub fn arrived(&mut self, after: Duration) {
        if self.latency.is_none() && self.received > 0 {
            self.latency = Some(after);
        }
    }

    /// Returns `true` if what has come so far is text for the reader and nothing else may follow it but more: no call.
    pub fn is_speaking(&self) -> bool {
        self.calls.is_empty()
            && matches!(self.parts.last(), Some(Part::Done(Block::Text { text })) if !text.trim().is_empty())
    }

    /// Returns `true` if nothing of a reply has arrived, nor any count of tokens.
    pub fn is_untouched(&self) -> bool {
        self.received == 0 && self.usage.total() == 0
    }

    /// Takes no count for one that cannot be: a request has no more tokens than bytes, and a reply no more than its cap or
    /// its bytes.
    pub fn forget_impossible(&mut self, request_bytes: u64, max_output: u32) {
        // What the service has read in a search is counted, and was not sent.
        if self.usage.searches == 0 && self.usage.context() > request_bytes {
            self.usage = Usage { output: self.usage.output, ..Usage::default() };
        }
        let received = u64::try_from(self.received).unwrap_or(u64::MAX);
        if self.usage.output > received.max(max_output.into()).saturating_mul(2) {
            self.usage.output = 0;
        }
    }

    /// Estimates what the service has not counted, so that it is not booked as nothing. `input` is the measured size of
    /// the request in tokens.
    pub fn estimate_missing(&mut self, input: u64) {
        let output = u64::try_from(self.received.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX);
        if self.usage.context() == 0 {
            self.usage.input = input;
            self.usage.estimated = true;
        }
        // The count of a reply comes with its end; what a reply that was cut off has counted before is only a beginning.
        let is_counted = self.usage.output > 0 && (self.stop.is_some() || self.usage.output >= output);
        if !is_counted && output > 0 {
            self.usage.output = output.max(self.usage.output);
            self.usage.estimated = true;
        }
    }

    fn sign(&mut self, proof: String) {
        match self.parts.last_mut() {
            Some(Part::Done(Block::Thinking { signature: signature @ None, .. })) => *signature = Some(proof),
            _ => self.parts.push(Part::Done(Block::Thinking { text: String::new(), signature: Some(proof) })),
        }
    }

    fn extend_call(&mut self, wanted: usize, more: &str) {
        let at = self.calls.get(&wanted).copied();
        if let Some(Part::Call { json, .. }) = at.and_then(|at| self.parts.get_mut(at)) {
            json.push_str(more);
        }
    }

    /// Returns the whole reply. `ids` holds the ids of all calls made so far; new ones are added.
    #[must_use]
    pub fn finish(self, agent: AgentId, ids: &mut HashSet<String>) -> Turn {
        // What a limit has cut off, or what ended in another way, may be half of what was meant.
        let is_whole = matches!(self.stop, Some(StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence));
        let read = if is_whole { ToolInput::parse_whole } else { ToolInput::parse };
        let mut content = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            match part {
                Part::Done(Block::Text { text }) => add_text(&mut content, text),
                Part::Done(block) => content.push(block),
                Part::Call { id, name, json } => {
                    let (id, input) = (unique_id(agent, &id, ids), read(&json));
                    content.push(Block::ToolCall(ToolCall { id, name, input }));
                }
            }
        }
        Turn {
            message: AssistantMessage::new(content),
            usage: self.usage,
            stop: self.stop,
            latency: self.latency,
            has_unclear_call: false,
        }
    }

    /// Returns what arrived of a reply that was cut off: its text. Calls that never ran, and reasoning without its
    /// proof, would make the transcript unusable.
    #[must_use]
    pub fn cut(self) -> Turn {
        let mut content = Vec::new();
        for part in self.parts {
            if let Part::Done(Block::Text { text }) = part {
                add_text(&mut content, text);
            }
        }
        content.retain(|block| matches!(block, Block::Text { .. }));
        Turn {
            message: AssistantMessage::new(content),
            usage: self.usage,
            stop: None,
            latency: self.latency,
            has_unclear_call: false,
        }
    }
}

/// Adds a text, the reasoning in it as such.
fn add_text(content: &mut Vec<Block>, text: String) {
    let has_thought = content.iter().any(|block| matches!(block, Block::Thinking { .. }));
    match split_thoughts(&text, has_thought).as_slice() {
        [] => content.push(Block::Text { text }),
        [TextPiece::Said(said)] if said.len() == text.len() => content.push(Block::Text { text }),
        pieces => content.extend(pieces.iter().map(|piece| match piece {
            TextPiece::Thought(text) => Block::Thinking { text: (*text).to_owned(), signature: None },
            TextPiece::Said(text) => Block::Text { text: (*text).to_owned() },
        })),
    }
}

/// Returns how many bytes of an event the model wrote.
fn written(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Text(text) | StreamEvent::Thinking(text) => text.len(),
        StreamEvent::RedactedThinking(data) => data.len(),
        StreamEvent::ToolCallStart { name, .. } => name.len(),
        StreamEvent::ToolCallDelta { json, .. } => json.len(),
        // What a search has found is no output of the model.
        StreamEvent::Served(_)
        | StreamEvent::ThinkingSignature(_)
        | StreamEvent::PromptRead { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Stop(_) => 0,
    }
}

/// Returns the provider's id, or one of our own where it is missing or was used before.
pub(super) fn unique_id(agent: AgentId, id: &str, ids: &mut HashSet<String>) -> String {
    let mut candidate = id.to_owned();
    let mut number = ids.len();
    while candidate.is_empty() || ids.contains(&candidate) {
        number += 1;
        candidate = format!("call_{}_{number}", agent.0);
    }
    ids.insert(candidate.clone());
    candidate
}
