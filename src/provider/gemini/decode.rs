//! Reads the stream of answers of the Gemini API, each of which holds the next parts.
//!
//! Owns what the parts mean and where a signature stands. Invariants: a signature comes right before the call that bore it,
//! and right behind the text or the thought; a call comes whole, in one part.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bearer;
use crate::message::{Usage, WireFormat};
use crate::provider::feed::{Decode, Queue, StreamProgress};
use crate::provider::lenient::{Lenient, List, Text, object};
use crate::provider::service::Service;
use crate::provider::think::Think;
use crate::provider::{ErrorKind, ProviderError, StopReason, StreamEvent, signature};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct WireAnswer<'a> {
    candidates: List<Candidate<'a>>,
    prompt_feedback: Lenient<PromptFeedback<'a>>,
    usage_metadata: Lenient<WireUsage<'a>>,
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Candidate<'a> {
    content: Lenient<WireContent<'a>>,
    finish_reason: Text<'a>,
    finish_message: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireContent<'a> {
    parts: List<WirePart<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct WirePart<'a> {
    text: Text<'a>,
    thought: Lenient<bool>,
    thought_signature: Text<'a>,
    function_call: Lenient<FunctionCall<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct FunctionCall<'a> {
    id: Text<'a>,
    name: Text<'a>,
    args: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct PromptFeedback<'a> {
    block_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireUsage<'a> {
    #[serde(rename = "promptTokenCount")]
    prompt: Text<'a>,
    #[serde(rename = "cachedContentTokenCount")]
    cached: Text<'a>,
    #[serde(rename = "candidatesTokenCount")]
    candidates: Text<'a>,
    /// Thoughts cost as much as words, and are counted beside them.
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: Text<'a>,
    #[serde(rename = "toolUsePromptTokenCount")]
    tool_use: Text<'a>,
}

pub(super) struct GenerateDecoder {
    service: Service,
    calls: usize,
    think: Think,
    usage: Usage,
    stop: Option<StopReason>,
}

impl GenerateDecoder {
    pub(super) fn new(service: Service) -> Self {
        Self { service, calls: 0, think: Think::default(), usage: Usage::default(), stop: None }
    }

    fn part(&mut self, part: &WirePart<'_>, out: &mut Queue) {
        let proof = &*part.thought_signature;
        if let Some(call) = &part.function_call.0 {
            self.think.flush(out);
            sign(bearer::CALL, proof, out);
            self.call(call, out);
        } else if part.thought.0 == Some(true) {
            self.think.flush(out);
            out.thinking(&part.text);
            sign(bearer::THOUGHT, proof, out);
        } else {
            self.think.text(&part.text, out);
            if !proof.is_empty() {
                self.think.flush(out);
                sign(if part.text.is_empty() { bearer::EMPTY } else { bearer::TEXT }, proof, out);
            }
        }
    }

    fn call(&mut self, call: &FunctionCall<'_>, out: &mut Queue) {
        let (id, name) = (call.id.to_string(), call.name.to_string());
        out.push(StreamEvent::ToolCallStart { index: self.calls, id, name });
        if let Some(args) = call.args.map(RawValue::get).filter(|args| *args != "null") {
            out.input(self.calls, args);
        }
        self.calls += 1;
    }

    fn count(&mut self, wire: &WireUsage<'_>, out: &mut Queue) {
        let count = |text: &Text<'_>| text.tokens().unwrap_or(0);
        let cache_read = count(&wire.cached);
        let input = count(&wire.prompt).saturating_sub(cache_read);
        let usage = Usage {
            input: input + count(&wire.tool_use),
            output: count(&wire.candidates) + count(&wire.thoughts),
            cache_read,
            ..Usage::default()
        };
        if usage != self.usage && usage != Usage::default() {
            self.usage = usage;
            out.push(StreamEvent::Usage(usage));
        }
    }

    /// Returns what a reason means. Returns a transient error where the model has written a call that nobody can read:
    /// asked again, it usually writes a better one.
    fn stopped(&self, reason: &str, words: &str) -> Result<Option<StopReason>, ProviderError> {
        Ok(Some(match reason {
            "STOP" => return Ok(None),
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
                StopReason::Refusal
            }
            "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" => {
                let words = if words.is_empty() { reason } else { words };
                return Err(self.service.error(ErrorKind::Interrupted, &format!("an unreadable tool call: {words}")));
            }
            other => StopReason::other(other),
        }))
    }
}

/// Hands on a signature with what it belongs to.
fn sign(bearer: &str, proof: &str, out: &mut Queue) {
    if !proof.is_empty() && out.charge_part(proof.len()) {
        let kept = signature::mark(WireFormat::Gemini, &format!("{bearer}{proof}"));
        out.push(StreamEvent::ThinkingSignature(kept));
    }
}

impl Decode for GenerateDecoder {
    fn event(&mut self, data: &str, out: &mut Queue) -> Result<StreamProgress, ProviderError> {
        if data == "[DONE]" {
            return Ok(StreamProgress::Open);
        }
        let answer = object::<WireAnswer<'_>>(data).map_err(|error| {
            self.service.error(ErrorKind::Protocol, &format!("an unreadable part of an answer: {error}"))
        })?;
        let Some(answer) = answer else { return Ok(StreamProgress::Open) };
        if answer.error.is_some_and(|error| error.get() != "null") {
            return Err(self.service.stream_error(data));
        }
        if let Some(usage) = &answer.usage_metadata.0 {
            self.count(usage, out);
        }
        let blocked = answer.prompt_feedback.0.filter(|feedback| !feedback.block_reason.is_empty());
        // Only one answer was asked for.
        let Some(candidate) = answer.candidates.into_elements().next() else {
            if blocked.is_none() {
                return Ok(StreamProgress::Open);
            }
            self.stop = Some(StopReason::Refusal);
            return Ok(StreamProgress::Stopped);
        };
        for part in candidate.content.0.iter().flat_map(|content| content.parts.elements()) {
            self.part(part, out);
        }
        if candidate.finish_reason.is_empty() {
            return Ok(StreamProgress::Open);
        }
        self.stop = self.stopped(&candidate.finish_reason, &candidate.finish_message)?;
        Ok(StreamProgress::Stopped)
    }

    fn finish(&mut self, out: &mut Queue) {
        self.think.flush(out);
        let natural = if self.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
        out.push(StreamEvent::Stop(self.stop.take().unwrap_or(natural)));
    }
}
