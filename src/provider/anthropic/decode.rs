//! Reads the Messages API's stream: `message_start`, content blocks, `message_delta`, `message_stop`, `ping`, `error`.
//!
//! Owns the state of open content blocks. Invariant: the type stands in the data; the event's name, which some
//! gateways drop, is not needed. Event and block types that are not known are passed over, as the API asks clients to.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::message::Usage;
use crate::provider::service::{Fault, Service};
use crate::provider::sse;
use crate::provider::stream::{Decode, Progress, Queue, Text};
use crate::provider::{ProviderError, StopReason, StreamEvent};

/// One event. A flat struct, because a tagged enum would copy every event before reading it.
#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(default)]
    index: usize,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<BlockStart<'a>>,
    #[serde(default)]
    message: Option<MessageStart>,
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    signature: Option<Text<'a>>,
    #[serde(borrow, default)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow, default)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    signature: Option<Text<'a>>,
    #[serde(borrow, default)]
    data: Option<Text<'a>>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageStart {
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
}

/// A content block under way.
enum Open {
    Thinking {
        signature: String,
    },
    Call {
        call: usize,
        /// The input that came with the start; counts only if no piece follows.
        input: Option<String>,
    },
    /// Text, or a block this program has no use for.
    Other,
}

/// The state of one answer.
pub(super) struct Decoder {
    service: Service,
    open: Vec<(usize, Open)>,
    calls: usize,
    usage: Usage,
    stop: Option<StopReason>,
}

impl Decoder {
    pub(super) fn new(service: Service) -> Self {
        Self { service, open: Vec::new(), calls: 0, usage: Usage::default(), stop: None }
    }

    fn start(&mut self, index: usize, block: &BlockStart<'_>, out: &mut Queue) {
        let text = |text: &Option<Text<'_>>| text.as_deref().unwrap_or_default().to_owned();
        let open = match &*block.kind {
            "text" => {
                out.text(block.text.as_deref().unwrap_or_default());
                Open::Other
            }
            "thinking" => {
                out.thinking(block.thinking.as_deref().unwrap_or_default());
                Open::Thinking { signature: text(&block.signature) }
            }
            "redacted_thinking" => {
                out.push(StreamEvent::RedactedThinking(text(&block.data)));
                Open::Other
            }
            "tool_use" => {
                let call = self.calls;
                self.calls += 1;
                out.push(StreamEvent::ToolCallStart { index: call, id: text(&block.id), name: text(&block.name) });
                let input = block.input.map(RawValue::get).filter(|input| !matches!(*input, "{}" | "null" | "\"\""));
                Open::Call { call, input: input.map(str::to_owned) }
            }
            _ => Open::Other,
        };
        self.open.retain(|(at, _)| *at != index);
        self.open.push((index, open));
    }

    fn delta(&mut self, index: usize, delta: &Delta<'_>, out: &mut Queue) -> Result<(), ProviderError> {
        if let Some(text) = &delta.text {
            out.text(text);
        }
        if let Some(thinking) = &delta.thinking {
            out.thinking(thinking);
        }
        let open = self.open.iter_mut().find(|(at, _)| *at == index).map(|(_, open)| open);
        match (open, &delta.signature, &delta.partial_json) {
            (Some(Open::Thinking { signature }), Some(more), _) => signature.push_str(more),
            (Some(Open::Call { call, input }), _, Some(json)) => {
                if !json.is_empty() {
                    *input = None;
                }
                out.input(*call, json);
            }
            (None, _, Some(_)) => {
                return Err(self.service.error(Fault::Protocol, "input for a tool call that never began"));
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, index: usize, out: &mut Queue) {
        if let Some(at) = self.open.iter().position(|(at, _)| *at == index) {
            close(self.open.remove(at).1, out);
        }
    }

    fn count(&mut self, usage: &WireUsage, out: &mut Queue) {
        // The counts of one answer only grow; a gateway that sends a zero later has merely left the count out.
        let grow = |count: &mut u64, now: Option<u64>| *count = (*count).max(now.unwrap_or(0));
        grow(&mut self.usage.input, usage.input);
        grow(&mut self.usage.output, usage.output);
        grow(&mut self.usage.cache_read, usage.cache_read);
        grow(&mut self.usage.cache_write, usage.cache_write);
        out.push(StreamEvent::Usage(self.usage));
    }
}

fn close(open: Open, out: &mut Queue) {
    match open {
        Open::Thinking { signature } if !signature.is_empty() => out.push(StreamEvent::ThinkingSignature(signature)),
        Open::Call { call, input: Some(input) } => out.input(call, &input),
        _ => {}
    }
}

impl Decode for Decoder {
    fn event(&mut self, event: sse::Event<'_>, out: &mut Queue) -> Result<Progress, ProviderError> {
        if event.data.is_empty() || event.data == "[DONE]" {
            return Ok(Progress::Open);
        }
        if event.name == "error" {
            return Err(self.service.stream_error(event.data));
        }
        let wire: WireEvent<'_> = serde_json::from_str(event.data)
            .map_err(|fault| self.service.error(Fault::Protocol, &format!("an event that cannot be read: {fault}")))?;
        match &*wire.kind {
            "content_block_delta" => {
                if let Some(delta) = &wire.delta {
                    self.delta(wire.index, delta, out)?;
                }
            }
            "content_block_start" => {
                if let Some(block) = &wire.content_block {
                    self.start(wire.index, block, out);
                }
            }
            "content_block_stop" => self.close(wire.index, out),
            "message_start" => {
                if let Some(usage) = wire.message.and_then(|message| message.usage) {
                    self.count(&usage, out);
                }
            }
            "message_delta" => {
                if let Some(usage) = &wire.usage {
                    self.count(usage, out);
                }
                if let Some(reason) = wire.delta.and_then(|delta| delta.stop_reason).filter(|reason| !reason.is_empty())
                {
                    self.stop = Some(stop_reason(&reason));
                    return Ok(Progress::Stopped);
                }
            }
            "message_stop" => return Ok(Progress::Complete),
            "error" => return Err(self.service.stream_error(event.data)),
            _ => {}
        }
        Ok(Progress::Open)
    }

    fn finish(&mut self, out: &mut Queue) {
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
        other => StopReason::Other(other.to_owned()),
    }
}
