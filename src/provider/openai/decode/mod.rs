//! Reads the stream of chunks of the Chat Completions API, in all its dialects.
//!
//! Owns the telling apart of tool calls. Invariant: pieces that belong to one call reach one index, however little the
//! server says about which call they belong to (see `calls`).

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::reasoning::{DETAILS, ReasoningField, ReasoningState, words_of};
use super::refused_call::calls_in;
use crate::message::{SearchHit, ServedKind, ServedStep, Usage};
use crate::provider::feed::{Decode, Queue, StreamProgress};
use crate::provider::lenient::{Lenient, List, Text, object};
use crate::provider::service::Service;
use crate::provider::think::Think;
use crate::provider::{ErrorKind, ProviderError, StopReason, StreamEvent};

mod calls;

use calls::Calls;

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Chunk<'a> {
    choices: List<Choice<'a>>,
    usage: Lenient<WireUsage<'a>>,
    /// What llama.cpp sends while it reads the prompt.
    prompt_progress: Lenient<PromptProgress<'a>>,
    error: Option<&'a RawValue>,
    object: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct PromptProgress<'a> {
    total: Text<'a>,
    processed: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Choice<'a> {
    delta: Lenient<Delta<'a>>,
    /// A server that does not stream sends the whole message in one chunk.
    message: Lenient<Delta<'a>>,
    finish_reason: Text<'a>,
    /// OpenRouter reports here what broke at the service behind it.
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Delta<'a> {
    /// A text, or a list of parts, of which some may be reasoning.
    content: Option<&'a RawValue>,
    reasoning_content: Text<'a>,
    reasoning: Text<'a>,
    reasoning_text: Text<'a>,
    reasoning_opaque: Option<&'a RawValue>,
    reasoning_details: Option<&'a RawValue>,
    thinking_blocks: Option<&'a RawValue>,
    extra_content: Option<&'a RawValue>,
    refusal: Text<'a>,
    tool_calls: List<CallDelta<'a>>,
    /// The form before `tool_calls`.
    function_call: Lenient<Function<'a>>,
    annotations: List<Annotation<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ContentPart<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    thinking: Text<'a>,
}

/// What the text rests on, where the service has searched the web.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Annotation<'a> {
    url_citation: Lenient<UrlCitation<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct UrlCitation<'a> {
    url: Text<'a>,
    title: Text<'a>,
    content: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CallDelta<'a> {
    index: Lenient<i64>,
    id: Text<'a>,
    function: Lenient<Function<'a>>,
    extra_content: Option<&'a RawValue>,
    provider_specific_fields: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Function<'a> {
    name: Text<'a>,
    /// A string of JSON after the API; an object from some servers.
    arguments: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireUsage<'a> {
    prompt_tokens: Text<'a>,
    completion_tokens: Text<'a>,
    prompt_tokens_details: Lenient<PromptDetails<'a>>,
    /// DeepSeek's name for what came from its cache.
    prompt_cache_hit_tokens: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct PromptDetails<'a> {
    cached_tokens: Text<'a>,
    cache_write_tokens: Text<'a>,
}

pub(super) struct ChatDecoder {
    service: Service,
    calls: Calls,
    think: Think,
    reasoning: ReasoningState,
    usage: Usage,
    stop: Option<String>,
}

impl ChatDecoder {
    pub(super) fn new(service: Service) -> Self {
        let (calls, think, reasoning) = (Calls::default(), Think::default(), ReasoningState::default());
        Self { service, calls, think, reasoning, usage: Usage::default(), stop: None }
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Queue) -> Result<(), ProviderError> {
        self.reason(&delta, out);
        self.content(delta.content, out);
        out.text(&delta.refusal);
        self.cite(delta.annotations, out);
        for call in delta.tool_calls.into_elements() {
            let at = self.call(call.index.0, &call.id, call.function.0.as_ref(), out)?;
            if let Some(at) = at {
                self.reasoning.take_of_call(at, "extra_content", call.extra_content, out);
                self.reasoning.take_of_call(at, "provider_specific_fields", call.provider_specific_fields, out);
            }
        }
        if let Some(function) = &delta.function_call.0 {
            self.call(Some(0), "", Some(function), out)?;
        }
        Ok(())
    }

    /// Shows the words of reasoning, which some gateways send in several fields at once, and keeps all that may have to go
    /// back.
    fn reason(&mut self, delta: &Delta<'_>, out: &mut Queue) {
        let named = [
            (ReasoningField::ReasoningContent, &delta.reasoning_content),
            (ReasoningField::Reasoning, &delta.reasoning),
            (ReasoningField::ReasoningText, &delta.reasoning_text),
        ];
        match named.into_iter().find(|(_, words)| !words.is_empty()) {
            Some((field, words)) => {
                self.reasoning.came_as(field, words);
                out.thinking(words);
            }
            None => out.thinking(&words_of(delta.reasoning_details.or(delta.thinking_blocks))),
        }
        self.reasoning.take(DETAILS, delta.reasoning_details, out);
        self.reasoning.take("thinking_blocks", delta.thinking_blocks, out);
        self.reasoning.take("reasoning_opaque", delta.reasoning_opaque, out);
        self.reasoning.take("extra_content", delta.extra_content, out);
    }

    fn content(&mut self, content: Option<&RawValue>, out: &mut Queue) {
        let Some(json) = content.map(RawValue::get) else { return };
        let text_of = |json: &str| serde_json::from_str::<Text<'_>>(json).map(|text| text.to_string());
        let parts: Result<Vec<&RawValue>, _> = serde_json::from_str(json);
        let Ok(parts) = parts else {
            self.think.text(&text_of(json).unwrap_or_default(), out);
            return;
        };
        for part in parts.into_iter().map(RawValue::get) {
            match serde_json::from_str::<ContentPart<'_>>(part) {
                Ok(part) if &*part.kind == "thinking" => {
                    self.think.flush(out);
                    self.reasoning.came_as(ReasoningField::Content, &part.thinking);
                    out.thinking(&part.thinking);
                }
                Ok(part) => self.think.text(&part.text, out),
                Err(_) => self.think.text(&text_of(part).unwrap_or_default(), out),
            }
        }
    }

    fn cite(&mut self, annotations: List<Annotation<'_>>, out: &mut Queue) {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let cited = annotations.into_elements().filter_map(|annotation| annotation.url_citation.0);
        let hits: Vec<SearchHit> = cited
            .filter(|cited| !cited.url.is_empty())
            .map(|cited| SearchHit {
                url: cited.url.to_string(),
                title: cited.title.to_string(),
                age: None,
                excerpt: some(&cited.content),
            })
            .collect();
        if !hits.is_empty() {
            self.think.flush(out);
            out.push(StreamEvent::Served(ServedStep { kind: ServedKind::Cited { hits }, wire: Value::Null }));
        }
    }

    /// Takes a piece of a call, and returns the place of the call among those of the reply.
    fn call(
        &mut self,
        index: Option<i64>,
        id: &str,
        function: Option<&Function<'_>>,
        out: &mut Queue,
    ) -> Result<Option<usize>, ProviderError> {
        self.think.flush(out);
        let name = function.map_or("", |function| &function.name);
        let json = function.and_then(|function| function.arguments).map_or("", RawValue::get);
        if json.starts_with('"') {
            let text: Text<'_> = serde_json::from_str(json).map_err(|error| self.unreadable(&error))?;
            return Ok(self.calls.piece(index, id, name, &text, out));
        }
        Ok(self.calls.piece(index, id, name, if json == "null" { "" } else { json }, out))
    }

    fn count(&mut self, wire: &WireUsage<'_>, out: &mut Queue) {
        let details = wire.prompt_tokens_details.0.as_ref();
        let cached = details.and_then(|details| details.cached_tokens.tokens());
        let cached = cached.or_else(|| wire.prompt_cache_hit_tokens.tokens()).unwrap_or(0);
        let written = details.and_then(|details| details.cache_write_tokens.tokens()).unwrap_or(0);
        let usage = Usage {
            input: wire.prompt_tokens.tokens().unwrap_or(0).saturating_sub(cached).saturating_sub(written),
            output: wire.completion_tokens.tokens().unwrap_or(0),
            cache_read: cached,
            cache_write: written,
            ..Usage::default()
        };
        if usage != self.usage && usage != Usage::default() {
            self.usage = usage;
            out.push(StreamEvent::Usage(usage));
        }
    }

    fn unreadable(&self, error: &serde_json::Error) -> ProviderError {
        self.service.error(ErrorKind::Protocol, &format!("an unreadable chunk: {error}"))
    }
}

impl Decode for ChatDecoder {
    fn event(&mut self, data: &str, out: &mut Queue) -> Result<StreamProgress, ProviderError> {
        if data == "[DONE]" {
            return Ok(StreamProgress::Complete);
        }
        let chunk = object::<Chunk<'_>>(data).map_err(|error| self.unreadable(&error))?;
        let Some(chunk) = chunk else { return Ok(StreamProgress::Open) };
        if chunk.error.is_some() || &*chunk.object == "error" {
            return Err(self.service.stream_error(data));
        }
        if let Some(progress) = &chunk.prompt_progress.0
            && let (Some(read), Some(total)) = (progress.processed.tokens(), progress.total.tokens())
        {
            out.push(StreamEvent::PromptRead { read, total });
        }
        if let Some(usage) = &chunk.usage.0 {
            self.count(usage, out);
        }
        // Only one answer was asked for; of several choices the first is taken.
        let Some(choice) = chunk.choices.into_elements().next() else { return Ok(StreamProgress::Open) };
        if let Some(delta) = choice.delta.0.or(choice.message.0) {
            self.delta(delta, out)?;
        }
        if let Some(error) = choice.error {
            return Err(self.service.stream_error(error.get()));
        }
        if choice.finish_reason.is_empty() {
            return Ok(StreamProgress::Open);
        }
        self.stop = Some(choice.finish_reason.to_string());
        Ok(StreamProgress::Stopped)
    }

    fn take_refused(&mut self, reply: &str, out: &mut Queue) -> bool {
        let calls = calls_in(reply);
        for (at, (name, json)) in (0..).zip(&calls) {
            // No server counts so far.
            self.calls.piece(Some(i64::MAX - at), "", name, json, out);
        }
        !calls.is_empty()
    }

    fn finish(&mut self, out: &mut Queue) {
        self.think.flush(out);
        self.calls.finish(out);
        self.reasoning.finish(out);
        let natural = if self.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        let reason = match self.stop.as_deref() {
            // What was asked for counts, whatever the server calls it: many say "stop" after a tool call.
            None | Some("stop" | "tool_calls" | "function_call") => natural,
            Some("length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some("model_length") => StopReason::ContextWindow,
            Some(other) => StopReason::other(other),
        };
        out.push(StreamEvent::Stop(reason));
    }
}
