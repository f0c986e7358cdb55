//! Reads the stream of events of the Responses API.
//!
//! Owns the items of an answer: which are open, and what of each has come. Invariant: what a server sends both in pieces
//! and whole counts once.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::{SearchHit, ServedKind, ServedStep, Usage, WireFormat};
use crate::provider::feed::{Decode, Queue, StreamProgress};
use crate::provider::lenient::{Lenient, List, Text, object};
use crate::provider::service::Service;
use crate::provider::think::Think;
use crate::provider::{ErrorKind, ProviderError, StopReason, StreamEvent, signature};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireEvent<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    output_index: Text<'a>,
    delta: Text<'a>,
    item: Lenient<WireItem<'a>>,
    response: Lenient<WireResponse<'a>>,
    error: Option<&'a RawValue>,
    /// In a document: what it is.
    object: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireItem<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    call_id: Text<'a>,
    name: Text<'a>,
    arguments: Text<'a>,
    content: List<WirePart<'a>>,
    summary: List<WirePart<'a>>,
    encrypted_content: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WirePart<'a> {
    text: Text<'a>,
    refusal: Text<'a>,
    annotations: List<UrlCitation<'a>>,
}

/// What the text rests on, where the service has searched the web.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct UrlCitation<'a> {
    url: Text<'a>,
    title: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireResponse<'a> {
    output: List<WireItem<'a>>,
    usage: Lenient<WireUsage<'a>>,
    incomplete_details: Lenient<Incomplete<'a>>,
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Incomplete<'a> {
    reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireUsage<'a> {
    input_tokens: Text<'a>,
    output_tokens: Text<'a>,
    input_tokens_details: Lenient<InputDetails<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct InputDetails<'a> {
    cached_tokens: Text<'a>,
    cache_write_tokens: Text<'a>,
}

/// What has come of one item in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    /// Text or reasoning, of which something came.
    Spoken,
    Call {
        index: usize,
        has_input: bool,
    },
}

pub(super) struct ResponsesDecoder {
    service: Service,
    items: HashMap<u64, Item>,
    calls: usize,
    think: Think,
    usage: Usage,
    searches: u64,
    incomplete: Option<String>,
}

impl ResponsesDecoder {
    pub(super) fn new(service: Service) -> Self {
        let (items, usage, think) = (HashMap::new(), Usage::default(), Think::default());
        Self { service, items, calls: 0, think, usage, searches: 0, incomplete: None }
    }

    fn unreadable(&self, words: &str) -> ProviderError {
        self.service.error(ErrorKind::Protocol, words)
    }

    /// Takes an item that begins. Only a call says by this what the pieces after it are about.
    fn begin(&mut self, at: u64, item: &WireItem<'_>, out: &mut Queue) {
        if &*item.kind == "function_call" && !self.items.contains_key(&at) {
            self.think.flush(out);
            let (id, name) = (item.call_id.to_string(), item.name.to_string());
            out.push(StreamEvent::ToolCallStart { index: self.calls, id, name });
            self.items.insert(at, Item::Call { index: self.calls, has_input: false });
            self.calls += 1;
        }
    }

    fn input(&mut self, at: u64, json: &str, out: &mut Queue) -> Result<(), ProviderError> {
        match self.items.get_mut(&at) {
            Some(Item::Call { index, has_input }) => {
                *has_input |= !json.is_empty();
                out.input(*index, json);
                Ok(())
            }
            // The event that began it was lost.
            _ => Err(self.unreadable("input for a tool call that never started")),
        }
    }

    fn spoken(&mut self, at: u64) {
        self.items.insert(at, Item::Spoken);
    }

    /// Takes an item that is whole, as far as it had not come before.
    fn end(&mut self, at: u64, item: &WireItem<'_>, out: &mut Queue) {
        match &*item.kind {
            "function_call" => {
                self.begin(at, item, out);
                if let Some(Item::Call { index, has_input: has_input @ false }) = self.items.get_mut(&at) {
                    *has_input = true;
                    out.input(*index, &item.arguments);
                }
            }
            "message" => {
                if !self.items.contains_key(&at) {
                    for part in item.content.elements() {
                        self.think.text(&part.text, out);
                        out.text(&part.refusal);
                    }
                    self.spoken(at);
                }
                self.cite(item, out);
            }
            "web_search_call" => self.searches += 1,
            "reasoning" => {
                self.think.flush(out);
                if !self.items.contains_key(&at) {
                    // The reasoning itself, where the server shows it, or its summary.
                    let raw = item.content.elements().any(|part| !part.text.is_empty());
                    let parts = if raw { &item.content } else { &item.summary };
                    for (number, part) in parts.elements().enumerate() {
                        out.thinking(if number == 0 { "" } else { "\n\n" });
                        out.thinking(&part.text);
                    }
                    self.spoken(at);
                }
                let proof = &*item.encrypted_content;
                if !proof.is_empty() && out.charge(proof.len()) {
                    let has_id = !item.id.is_empty() && !item.id.contains(':');
                    let kept = if has_id { format!("{}:{proof}", &*item.id) } else { proof.to_owned() };
                    out.push(StreamEvent::ThinkingSignature(signature::mark(WireFormat::Responses, &kept)));
                }
            }
            _ => {}
        }
    }

    fn cite(&mut self, item: &WireItem<'_>, out: &mut Queue) {
        let cited = item.content.elements().flat_map(|part| part.annotations.elements());
        let hits: Vec<SearchHit> = cited
            .filter(|cited| !cited.url.is_empty())
            .map(|cited| SearchHit {
                url: cited.url.to_string(),
                title: cited.title.to_string(),
                ..SearchHit::default()
            })
            .collect();
        if !hits.is_empty() {
            self.think.flush(out);
            out.push(StreamEvent::Served(ServedStep { kind: ServedKind::Cited { hits }, wire: Value::Null }));
        }
    }

    fn complete(&mut self, response: &WireResponse<'_>, out: &mut Queue) {
        // What came of it in events is known by its place; a server may send all of it in the last event only.
        if self.items.is_empty() {
            for (at, item) in (0..).zip(response.output.elements()) {
                self.end(at, item, out);
            }
        }
        if let Some(usage) = &response.usage.0 {
            let details = usage.input_tokens_details.0.as_ref();
            let count = |of: Option<&Text<'_>>| of.and_then(Text::tokens).unwrap_or(0);
            let cache_read = count(details.map(|details| &details.cached_tokens));
            let cache_write = count(details.map(|details| &details.cache_write_tokens));
            let input = usage.input_tokens.tokens().unwrap_or(0);
            self.usage = Usage {
                input: input.saturating_sub(cache_read).saturating_sub(cache_write),
                output: usage.output_tokens.tokens().unwrap_or(0),
                cache_read,
                cache_write,
                searches: self.searches,
                ..Usage::default()
            };
            if self.usage != Usage::default() {
                out.push(StreamEvent::Usage(self.usage));
            }
        }
        let reason = response.incomplete_details.0.as_ref().map(|details| details.reason.to_string());
        self.incomplete = reason.filter(|reason| !reason.is_empty());
    }
}

impl Decode for ResponsesDecoder {
    fn event(&mut self, data: &str, out: &mut Queue) -> Result<StreamProgress, ProviderError> {
        if data == "[DONE]" {
            return Ok(StreamProgress::Open);
        }
        let wire =
            object::<WireEvent<'_>>(data).map_err(|error| self.unreadable(&format!("an unreadable event: {error}")))?;
        let Some(wire) = wire else { return Ok(StreamProgress::Open) };
        let at = wire.output_index.number().unwrap_or(0);
        match &*wire.kind {
            "error" => return Err(self.service.stream_error(data)),
            "" if &*wire.object == "response" => {
                let whole = object::<WireResponse<'_>>(data)
                    .map_err(|error| self.unreadable(&format!("an unreadable answer: {error}")))?
                    .unwrap_or_default();
                if let Some(error) = whole.error.filter(|error| error.get() != "null") {
                    return Err(self.service.stream_error(error.get()));
                }
                self.complete(&whole, out);
                return Ok(StreamProgress::Complete);
            }
            "" if wire.error.is_some() => return Err(self.service.stream_error(data)),
            "response.output_text.delta" => {
                self.spoken(at);
                self.think.text(&wire.delta, out);
            }
            "response.refusal.delta" => {
                self.spoken(at);
                out.text(&wire.delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.think.flush(out);
                self.spoken(at);
                out.thinking(&wire.delta);
            }
            // A second paragraph of the summary.
            "response.reasoning_summary_part.added" if self.items.contains_key(&at) => out.thinking("\n\n"),
            "response.function_call_arguments.delta" => self.input(at, &wire.delta, out)?,
            "response.output_item.added" => {
                if let Some(item) = &wire.item.0 {
                    self.begin(at, item, out);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = &wire.item.0 {
                    self.end(at, item, out);
                }
            }
            "response.failed" => {
                let error = wire.response.0.and_then(|response| response.error);
                return Err(self.service.stream_error(error.map_or(data, RawValue::get)));
            }
            "response.completed" | "response.incomplete" => {
                self.complete(&wire.response.0.unwrap_or_default(), out);
                return Ok(StreamProgress::Complete);
            }
            _ => {}
        }
        Ok(StreamProgress::Open)
    }

    fn finish(&mut self, out: &mut Queue) {
        self.think.flush(out);
        let natural = if self.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
        let reason = match self.incomplete.as_deref() {
            None => natural,
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(other) => StopReason::other(other),
        };
        out.push(StreamEvent::Stop(reason));
    }
}
