//! Writes requests for the Gemini API.
//!
//! Owns the mapping of messages to contents. Invariants: a signature stands on the part that bore it; the results of calls
//! stand together, right behind the calls, each under the name of its call; no text is blank but one that only carries a
//! signature.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::{bearer, schema};
use crate::message::{
    AssistantMessage, Attachment, Block, Effort, Message, ResultPart, ToolCall, ToolResult, ToolSpec, WireFormat,
};
use crate::provider::wire_api::{PendingPictures, WireInput, identifier};
use crate::provider::{Request, model, signature};

const NAME_CHARS: usize = 64;
/// What stands in the place of a signature that there is none of: the call was made by another model. The API then does
/// not look for one.
const NOT_SIGNED: &str = "skip_thought_signature_validator";
/// The number of tokens to think that lets the model decide itself.
const UP_TO_THE_MODEL: i64 = -1;
/// The most that every model takes.
const MAX_BUDGET: u32 = 24_576;
const MIN_BUDGET: u32 = 1_024;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerateBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    generation_config: GenerationConfig,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters_json_schema: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: CallingConfig,
}

#[derive(Serialize)]
struct CallingConfig {
    mode: &'static str,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Kind<'a> {
    Text(&'a str),
    InlineData(Blob<'a>),
    FunctionCall { id: Cow<'a, str>, name: Cow<'a, str>, args: WireInput<'a> },
    FunctionResponse { id: Cow<'a, str>, name: Cow<'a, str>, response: Response<'a> },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

/// What a tool has said: the API wants an object, and reads these two keys as what they are called.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

impl<'a> Part<'a> {
    fn new(kind: Kind<'a>) -> Self {
        Self { kind, thought: false, thought_signature: None }
    }

    fn attached(picture: &'a Attachment) -> Self {
        Self::new(Kind::InlineData(Blob { mime_type: picture.media_type, data: &picture.data }))
    }
}

impl<'a> GenerateBody<'a> {
    /// Returns the request with the settings for thinking if it may have them.
    pub(super) fn new(request: &'a Request, may_think: bool) -> Self {
        // The service reads tools from its cache as long as they are the same, also where none may be called.
        let offered = if request.tools.is_empty() { &request.withheld } else { &request.tools };
        let is_withheld = request.tools.is_empty() && !offered.is_empty();
        let function_declarations: Vec<Declaration<'_>> = offered.iter().map(declare).collect();
        let system = Some(&*request.system).filter(|system| !system.trim().is_empty());
        Self {
            system_instruction: system.map(|text| Content { role: None, parts: vec![Part::new(Kind::Text(text))] }),
            generation_config: GenerationConfig {
                max_output_tokens: request.max_output_tokens,
                thinking_config: if may_think { thinking(request) } else { None },
            },
            tools: if offered.is_empty() { Vec::new() } else { vec![Tools { function_declarations }] },
            tool_config: is_withheld.then_some(ToolConfig { function_calling_config: CallingConfig { mode: "NONE" } }),
            contents: contents(request),
        }
    }

    pub(super) fn sets_thinking(&self) -> bool {
        self.generation_config.thinking_config.is_some()
    }
}

/// Returns how the model is asked to think, which it then shows; `None` for one that does not.
fn thinking(request: &Request) -> Option<ThinkingConfig> {
    let level = |effort: Effort| match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::XHigh | Effort::Max => "high",
    };
    let thinking = model::thinking_of(&request.model);
    let (thinking_budget, thinking_level) = match (thinking, request.thinking_tokens) {
        (Some(model::Thinking::Budget), Some(tokens)) => (Some(i64::from(tokens.min(MAX_BUDGET))), None),
        (Some(model::Thinking::Budget), None) => {
            (Some(request.effort.map_or(UP_TO_THE_MODEL, |effort| budget(request, effort))), None)
        }
        // It thinks as little as it can.
        (Some(model::Thinking::Adaptive), Some(0)) => (None, Some(level(Effort::Low))),
        (Some(model::Thinking::Adaptive), _) => (None, request.effort.map(level)),
        (None, _) => (None, Some(level(request.effort?))),
    };
    Some(ThinkingConfig { include_thoughts: thinking_budget != Some(0), thinking_budget, thinking_level })
}

/// Returns how many of the output tokens may be thought: a part of them, since the answer needs room as well.
fn budget(request: &Request, effort: Effort) -> i64 {
    let most = request.max_output_tokens;
    let share = match effort {
        Effort::Low => most / 8,
        Effort::Medium => most / 4,
        Effort::High => most / 2,
        Effort::XHigh => most / 4 * 3,
        Effort::Max => most / 8 * 7,
    };
    i64::from(share.clamp(MIN_BUDGET, MAX_BUDGET))
}

fn declare(spec: &ToolSpec) -> Declaration<'_> {
    Declaration {
        name: name(&spec.name),
        description: &spec.description,
        parameters_json_schema: schema::accepted(&spec.input_schema),
    }
}

fn contents(request: &Request) -> Vec<Content<'_>> {
    let mut contents = Vec::with_capacity(request.messages.len());
    let mut pictures = PendingPictures::of(request);
    let mut names: HashMap<&str, &str> = HashMap::new();
    let wants_proof = model::thinking_of(&request.model) == Some(model::Thinking::Adaptive);
    for message in &request.messages {
        let (role, parts) = match message.as_ref() {
            Message::User { text } => {
                let mut parts: Vec<Part<'_>> = pictures.named_in(text).into_iter().map(Part::attached).collect();
                parts.extend(spoken(text));
                ("user", parts)
            }
            Message::ToolResults { results } => ("user", answers(results, &names, &mut pictures)),
            Message::Assistant(reply) => {
                names.extend(reply.tool_calls().map(|call| (call.id.as_str(), call.name.as_str())));
                ("model", said(reply, wants_proof))
            }
        };
        if !parts.is_empty() {
            contents.push(Content { role: Some(role), parts });
        }
    }
    contents
}

fn spoken(text: &str) -> Option<Part<'_>> {
    (!text.trim().is_empty()).then(|| Part::new(Kind::Text(text)))
}

/// Returns the parts of a reply, each with the signature that it bore.
fn said(reply: &AssistantMessage, wants_proof: bool) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::with_capacity(reply.content.len());
    let mut next: Option<&str> = None;
    let mut has_called = false;
    for block in &reply.content {
        match block {
            Block::Text { text } => parts.extend(spoken(text)),
            Block::Thinking { text, signature: Some(kept) } => {
                let Some(kept) = signature::of_format(WireFormat::Gemini, kept) else { continue };
                let alone = |text, thought, proof| Part {
                    thought,
                    thought_signature: Some(proof),
                    ..Part::new(Kind::Text(text))
                };
                if let Some(proof) = kept.strip_prefix(bearer::CALL) {
                    next = Some(proof);
                } else if let Some(proof) = kept.strip_prefix(bearer::THOUGHT) {
                    parts.push(alone(text, true, proof));
                } else if let Some(proof) = kept.strip_prefix(bearer::EMPTY) {
                    parts.push(alone("", false, proof));
                } else if let Some(proof) = kept.strip_prefix(bearer::TEXT) {
                    match parts.last_mut() {
                        Some(last @ Part { kind: Kind::Text(_), thought: false, thought_signature: None }) => {
                            last.thought_signature = Some(proof);
                        }
                        _ => parts.push(alone("", false, proof)),
                    }
                }
            }
            Block::ToolCall(call) => {
                let not_signed = (wants_proof && !has_called).then_some(NOT_SIGNED);
                has_called = true;
                parts.push(Part { thought_signature: next.take().or(not_signed), ..Part::new(called(call)) });
            }
            Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::Served(_) => {}
        }
    }
    parts
}

fn called(call: &ToolCall) -> Kind<'_> {
    Kind::FunctionCall { id: id(&call.id), name: name(&call.name), args: (&call.input).into() }
}

/// Returns the results of calls, then the pictures in them.
fn answers<'a>(
    results: &'a [ToolResult],
    names: &HashMap<&'a str, &'a str>,
    pictures: &mut PendingPictures<'a>,
) -> Vec<Part<'a>> {
    let (mut parts, mut shown) = (Vec::with_capacity(results.len()), Vec::new());
    for result in results {
        for part in &result.content {
            match part {
                ResultPart::Image { media_type, data } => {
                    shown.push(Part::new(Kind::InlineData(Blob { mime_type: media_type, data })));
                }
                ResultPart::Attached { number } => shown.extend(pictures.take(*number).map(Part::attached)),
                ResultPart::Text { .. } => {}
            }
        }
        let text = match result.content.as_slice() {
            [ResultPart::Text { text }] => Cow::Borrowed(text.as_str()),
            _ => Cow::Owned(result.joined_text()),
        };
        let response = if result.is_error { Response::Error(text) } else { Response::Output(text) };
        let name = name(names.get(result.call_id.as_str()).copied().unwrap_or_default());
        parts.push(Part::new(Kind::FunctionResponse { id: id(&result.call_id), name, response }));
    }
    parts.extend(shown);
    parts
}

fn name(text: &str) -> Cow<'_, str> {
    identifier(text, NAME_CHARS, "unnamed")
}

fn id(text: &str) -> Cow<'_, str> {
    identifier(text, NAME_CHARS, "_")
}
