//! Reads the Messages API's stream: `message_start`, content blocks, `message_delta`, `message_stop`, `ping`, `error`; and
//! a whole message, as gateways send it that do not stream.
//!
//! Owns the state of open content blocks. Invariants: the type stands in the data; the event's name, which some
//! gateways drop, is not needed. Types of events, blocks and deltas that are not known are passed over, as the API asks
//! clients to, and so are fields of another type: of an event only what its type promises is read.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::served;
use crate::message::{ServedStep, Usage};
use crate::provider::feed::{Decode, Queue, StreamProgress};
use crate::provider::lenient::{Lenient, List, Text, object};
use crate::provider::service::Service;
use crate::provider::think::Think;
use crate::provider::{ErrorKind, ProviderError, StopReason, StreamEvent};

/// One event. A flat struct, because a tagged enum would copy every event before reading it.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireEvent<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    index: Text<'a>,
    delta: Lenient<Delta<'a>>,
    content_block: Option<&'a RawValue>,
    message: Lenient<MessageStart<'a>>,
    usage: Lenient<WireUsage<'a>>,
    content: List<&'a RawValue>,
    stop_reason: Text<'a>,
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Delta<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    thinking: Text<'a>,
    signature: Text<'a>,
    partial_json: Text<'a>,
    citation: Option<&'a RawValue>,
    stop_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct BlockStart<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    thinking: Text<'a>,
    signature: Text<'a>,
    data: Text<'a>,
    id: Text<'a>,
    name: Text<'a>,
    input: Option<&'a RawValue>,
    citations: List<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct MessageStart<'a> {
    usage: Lenient<WireUsage<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireUsage<'a> {
    #[serde(rename = "input_tokens")]
    input: Text<'a>,
    #[serde(rename = "output_tokens")]
    output: Text<'a>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Text<'a>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Text<'a>,
    cache_creation: Lenient<CacheCreation<'a>>,
    server_tool_use: Lenient<ServerUse<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CacheCreation<'a> {
    ephemeral_1h_input_tokens: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ServerUse<'a> {
    web_search_requests: Text<'a>,
}

enum Open {
    Thinking {
        signature: String,
    },
    Call {
        call: usize,
        /// The input that came with the start; counts only if no piece follows.
        input: Option<String>,
    },
    /// A call of a tool of the service's own.
    Served {
        block: String,
        input: String,
    },
    /// Text, or a block this program has no use for.
    Other,
}

pub(super) struct MessagesDecoder {
    service: Service,
    open: BTreeMap<u64, Open>,
    calls: usize,
    /// The blocks of the calls so far, each with its id.
    called: BTreeSet<(u64, String)>,
    think: Think,
    usage: Usage,
    stop: Option<StopReason>,
}

impl MessagesDecoder {
    pub(super) fn new(service: Service) -> Self {
        let (usage, think) = (Usage::default(), Think::default());
        Self { service, open: BTreeMap::new(), calls: 0, called: BTreeSet::new(), think, usage, stop: None }
    }

    fn start(&mut self, index: u64, raw: &RawValue, out: &mut Queue) {
        let Ok(block) = serde_json::from_str::<BlockStart<'_>>(raw.get()) else { return };
        self.close(index, out);
        let open = match &*block.kind {
            "text" => {
                self.think.text(&block.text, out);
                for citation in block.citations.into_elements() {
                    self.serve(served::cited(citation), out);
                }
                Open::Other
            }
            "thinking" => {
                self.think.flush(out);
                out.thinking(&block.thinking);
                Open::Thinking { signature: block.signature.to_string() }
            }
            "redacted_thinking" => {
                self.think.flush(out);
                out.push(StreamEvent::RedactedThinking(block.data.to_string()));
                Open::Other
            }
            "tool_use" => {
                self.think.flush(out);
                let (id, name) = (block.id.to_string(), block.name.to_string());
                // A block that a proxy sends once more is no second call: what it does must not be done twice.
                if !id.is_empty() && !self.called.insert((index, id.clone())) {
                    self.open.insert(index, Open::Other);
                    return;
                }
                let call = self.calls;
                self.calls += 1;
                out.push(StreamEvent::ToolCallStart { index: call, id, name });
                let input = block.input.map(RawValue::get).filter(|input| !matches!(*input, "{}" | "null" | "\"\""));
                Open::Call { call, input: input.map(str::to_owned) }
            }
            "server_tool_use" => Open::Served { block: raw.get().to_owned(), input: String::new() },
            "web_search_tool_result" => {
                self.serve(served::found(raw), out);
                Open::Other
            }
            _ => Open::Other,
        };
        let held = match &open {
            Open::Thinking { signature } => signature.len(),
            Open::Call { input: Some(input), .. } => input.len(),
            Open::Served { block, .. } => block.len(),
            Open::Call { .. } | Open::Other => 0,
        };
        if out.charge_part(held) {
            self.open.insert(index, open);
        }
    }

    fn serve(&mut self, step: ServedStep, out: &mut Queue) {
        self.think.flush(out);
        out.push(StreamEvent::Served(step));
    }

    fn delta(&mut self, index: u64, delta: &Delta<'_>, out: &mut Queue) -> Result<(), ProviderError> {
        // Without a type, what is there counts.
        let is = |kind: &str, text: &str| !text.is_empty() && (delta.kind.is_empty() || &*delta.kind == kind);
        if is("text_delta", &delta.text) {
            self.think.text(&delta.text, out);
        }
        if is("thinking_delta", &delta.thinking) {
            self.think.flush(out);
            out.thinking(&delta.thinking);
        }
        if is("signature_delta", &delta.signature)
            && let Some(Open::Thinking { signature }) = self.open.get_mut(&index)
            && out.charge(delta.signature.len())
        {
            signature.push_str(&delta.signature);
        }
        if let Some(citation) = delta.citation.filter(|_| &*delta.kind == "citations_delta") {
            self.serve(served::cited(citation), out);
        }
        if is("input_json_delta", &delta.partial_json) {
            match self.open.get_mut(&index) {
                Some(Open::Call { call, input }) => {
                    *input = None;
                    out.input(*call, &delta.partial_json);
                }
                Some(Open::Served { input, .. }) => {
                    if out.charge(delta.partial_json.len()) {
                        input.push_str(&delta.partial_json);
                    }
                }
                Some(Open::Thinking { .. } | Open::Other) => {}
                // The event that began it was lost.
                None => {
                    return Err(self.service.error(ErrorKind::Protocol, "input for a tool call that never started"));
                }
            }
        }
        Ok(())
    }

    fn close(&mut self, index: u64, out: &mut Queue) {
        if let Some(open) = self.open.remove(&index) {
            close(open, out);
        }
    }

    fn count(&mut self, usage: &WireUsage<'_>, out: &mut Queue) {
        // The counts of one answer only grow; a gateway that sends a zero later has merely left the count out.
        let known = self.usage;
        let grow = |count: &mut u64, now: &Text<'_>| *count = (*count).max(now.tokens().unwrap_or(0));
        grow(&mut self.usage.input, &usage.input);
        grow(&mut self.usage.output, &usage.output);
        grow(&mut self.usage.cache_read, &usage.cache_read);
        grow(&mut self.usage.cache_write, &usage.cache_write);
        if let Some(written) = &usage.cache_creation.0 {
            grow(&mut self.usage.cache_write_hour, &written.ephemeral_1h_input_tokens);
        }
        if let Some(used) = &usage.server_tool_use.0 {
            grow(&mut self.usage.searches, &used.web_search_requests);
        }
        if self.usage != known {
            out.push(StreamEvent::Usage(self.usage));
        }
    }

    /// Takes a reason to stop; an empty one is none.
    fn stopped(&mut self, reason: &str) -> StreamProgress {
        if reason.is_empty() {
            return StreamProgress::Open;
        }
        self.stop = Some(stop_reason(reason));
        StreamProgress::Stopped
    }

    fn whole(&mut self, wire: WireEvent<'_>, out: &mut Queue) -> StreamProgress {
        for (index, block) in (0..).zip(wire.content.into_elements()) {
            self.start(index, block, out);
            self.close(index, out);
        }
        if let Some(usage) = &wire.usage.0 {
            self.count(usage, out);
        }
        self.stopped(&wire.stop_reason);
        StreamProgress::Complete
    }
}

fn close(open: Open, out: &mut Queue) {
    match open {
        Open::Thinking { signature } if !signature.is_empty() => out.push(StreamEvent::ThinkingSignature(signature)),
        Open::Call { call, input: Some(input) } => out.input(call, &input),
        Open::Served { block, input } => out.push(StreamEvent::Served(served::called(&block, &input))),
        _ => {}
    }
}

impl Decode for MessagesDecoder {
    fn event(&mut self, data: &str, out: &mut Queue) -> Result<StreamProgress, ProviderError> {
        if data == "[DONE]" {
            return Ok(StreamProgress::Open);
        }
        let wire = object::<WireEvent<'_>>(data)
            .map_err(|error| self.service.error(ErrorKind::Protocol, &format!("an unreadable event: {error}")))?;
        let Some(wire) = wire else { return Ok(StreamProgress::Open) };
        if &*wire.kind == "error" || (wire.kind.is_empty() && wire.error.is_some()) {
            return Err(self.service.stream_error(data));
        }
        let index = wire.index.number().unwrap_or(0);
        match &*wire.kind {
            "content_block_delta" => {
                if let Some(delta) = &wire.delta.0 {
                    self.delta(index, delta, out)?;
                }
            }
            "content_block_start" => {
                if let Some(block) = wire.content_block {
                    self.start(index, block, out);
                }
            }
            "content_block_stop" => self.close(index, out),
            "message_start" => {
                if let Some(usage) = wire.message.0.and_then(|message| message.usage.0) {
                    self.count(&usage, out);
                }
            }
            "message_delta" => {
                if let Some(usage) = &wire.usage.0 {
                    self.count(usage, out);
                }
                return Ok(wire.delta.0.map_or(StreamProgress::Open, |delta| self.stopped(&delta.stop_reason)));
            }
            "message" => return Ok(self.whole(wire, out)),
            "message_stop" => return Ok(StreamProgress::Complete),
            _ => {}
        }
        Ok(StreamProgress::Open)
    }

    fn finish(&mut self, out: &mut Queue) {
        self.think.flush(out);
        for (_, open) in std::mem::take(&mut self.open) {
            close(open, out);
        }
        let silent = if self.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
        out.push(StreamEvent::Stop(self.stop.take().unwrap_or(silent)));
    }
}

fn stop_reason(wire: &str) -> StopReason {
    match wire {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::PauseTurn,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        other => StopReason::other(other),
    }
}
