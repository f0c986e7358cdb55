//! Writes requests for the Messages API.
//!
//! Owns the mapping of messages to content blocks and the places of the cache breakpoints. Invariants: everything is
//! borrowed, so writing a request takes time linear in its size; roles alternate; a tool's results open their message;
//! no text is blank; a thinking block carries its signature or stays away.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::message::{
    AssistantMessage, Attachment, Block, Dialect, Effort, Message, PDF, ResultPart, ServedKind, ServedStep, ToolResult,
    ToolSpec, WireFormat,
};
use crate::provider::wire_api::{self, PendingPictures, WireInput};
use crate::provider::{Feature, Habits, Request, SearchBounds, model, signature};

/// What a failed tool without a word is said to have said: the API refuses an error without content.
const SILENT_FAILURE: &str = "(failed without a message)";

/// What stands in the place of a picture that is too old, or lost: a result needs content.
const NOT_SENT: &str = "[not sent with this request]";

/// How often the service may search for one answer.
const MAX_SEARCHES: u32 = 3;

/// The version of the API, as Vertex AI calls it.
const VERTEX_VERSION: &str = "vertex-2023-10-16";

/// Longest name of a parameter of a tool.
const PARAMETER_CHARS: usize = 64;

/// The smallest budget for thinking that the API takes.
const MIN_BUDGET: u32 = 1_024;

#[derive(Serialize)]
pub(super) struct MessagesBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Content<'a>; 1]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Offered<'a> {
    Tool(Tool<'a>),
    Search(SearchTool<'a>),
}

/// The service's own search. It takes a list of one kind only.
#[derive(Serialize)]
struct SearchTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    max_uses: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_domains: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_domains: Option<&'a [String]>,
}

impl<'a> SearchTool<'a> {
    fn new(bounds: &'a SearchBounds) -> Self {
        let allowed_domains = Some(&*bounds.allowed_domains).filter(|list| !list.is_empty());
        let blocked_domains =
            Some(&*bounds.blocked_domains).filter(|list| !list.is_empty() && allowed_domains.is_none());
        let (kind, name) = ("web_search_20250305", "web_search");
        Self { kind, name, max_uses: MAX_SEARCHES, allowed_domains, blocked_domains }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Cache>,
}

/// A cache breakpoint: what stands before it, and it, is kept for the next request.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Cache {
    Ephemeral {
        /// How long, if not for five minutes. What is kept longer has to stand first, so all of a request are alike.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttl: Option<&'static str>,
    },
}

impl Cache {
    fn of(request: &Request) -> Self {
        Self::Ephemeral { ttl: request.waits_long.then_some("1h") }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Thinking {
    /// Unless asked for a summary, models that think unasked do so without a word, not even between two tools.
    Adaptive {
        display: &'static str,
    },
    Enabled {
        budget_tokens: u32,
    },
    Disabled,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Choice {
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: Role,
    content: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Cache>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        citations: Vec<&'a Value>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: WireInput<'a>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Kind<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// A step of the service, as it came.
    #[serde(untagged)]
    Served(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
}

impl<'a> Kind<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { text, citations: Vec::new() }
    }
}

impl<'a> MessagesBody<'a> {
    /// Returns the request with the settings for reasoning if it may have them: a gateway may lead to a model without it.
    pub(super) fn new(request: &'a Request, habits: &Habits) -> Self {
        let may_think = habits.takes(Feature::Thinking);
        let mut messages = turns(request, ReturnedThinking::of(habits));
        for turn in messages.iter_mut().rev().filter(|turn| turn.role == Role::User).take(2) {
            if let Some(last) = turn.content.last_mut() {
                last.cache_control = Some(Cache::of(request));
            }
        }
        let mut tools: Vec<Tool<'a>> = request.tools.iter().map(offer).collect();
        let mut tool_choice = None;
        if tools.is_empty() && request.search.is_none() {
            // The API wants every tool that a conversation mentions to be defined, also where none may be called. It reads
            // tools and system prompt from its cache as long as the tools are the same.
            tools = if request.withheld.is_empty() {
                mentioned(request)
            } else {
                request.withheld.iter().map(offer).collect()
            };
            tool_choice = (!tools.is_empty()).then_some(Choice::None);
        }
        if let Some(last) = tools.last_mut() {
            last.cache_control = Some(Cache::of(request));
        }
        let mut tools: Vec<Offered<'a>> = tools.into_iter().map(Offered::Tool).collect();
        if let Some(bounds) = &request.search {
            tools.push(Offered::Search(SearchTool::new(bounds)));
        }
        let thinking = if may_think { Thinking::of(request, &messages) } else { None };
        let effort = request.effort.filter(|_| may_think && !model::counts_effort(&request.model));
        let system = Some(&*request.system).filter(|system| !system.trim().is_empty());
        Self {
            anthropic_version: None,
            model: Some(&request.model),
            max_tokens: request.max_output_tokens,
            stream: true,
            thinking,
            output_config: effort.map(|effort| OutputConfig { effort: effort.name() }),
            system: system.map(|text| [Content { kind: Kind::text(text), cache_control: Some(Cache::of(request)) }]),
            tools,
            tool_choice,
            messages,
        }
    }

    /// Returns the request without what its address says, and with what a header says elsewhere.
    pub(super) fn for_vertex(self) -> Self {
        Self { anthropic_version: Some(VERTEX_VERSION), model: None, ..self }
    }

    /// Returns `true` if it holds thoughts of the model.
    pub(super) fn returns_thinking(&self) -> bool {
        let mut blocks = self.messages.iter().flat_map(|turn| &turn.content);
        blocks.any(|block| matches!(block.kind, Kind::Thinking { .. } | Kind::RedactedThinking { .. }))
    }

    /// Returns `true` if it says whether and how hard to think.
    pub(super) fn sets_thinking(&self) -> bool {
        self.thinking.is_some() || self.output_config.is_some()
    }
}

/// Which thoughts go back with the replies that they came with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReturnedThinking {
    Signed,
    /// Services that imitate the API sign none, and some want all.
    Own,
    Nothing,
}

impl ReturnedThinking {
    fn of(habits: &Habits) -> Self {
        match habits.dialect {
            _ if !habits.takes(Feature::OwnReasoning) => Self::Nothing,
            Dialect::Anthropic => Self::Signed,
            _ => Self::Own,
        }
    }

    /// Returns the block of a thought, if it goes back.
    fn block<'a>(self, text: &'a str, kept: Option<&'a str>, is_own: bool) -> Option<Kind<'a>> {
        let proof = kept.and_then(|kept| signature::of_format(WireFormat::Anthropic, kept));
        let is_unsigned = self == Self::Own && is_own && kept.is_none() && !text.is_empty();
        let signature = proof.or(is_unsigned.then_some(""))?;
        (self != Self::Nothing).then_some(Kind::Thinking { thinking: text, signature })
    }
}

impl Thinking {
    fn of(request: &Request, turns: &[Turn<'_>]) -> Option<Self> {
        match model::thinking_of(&request.model)? {
            // Many that decide themselves think unasked.
            model::Thinking::Adaptive if request.thinking_tokens == Some(0) => Some(Self::Disabled),
            model::Thinking::Adaptive => Some(Self::Adaptive { display: "summarized" }),
            model::Thinking::Budget if goes_on_without_thought(turns) => None,
            model::Thinking::Budget => budget(request).map(|budget_tokens| Self::Enabled { budget_tokens }),
        }
    }
}

/// Returns how many of the output tokens may be thought: a part of them, since the answer needs room as well.
fn budget(request: &Request) -> Option<u32> {
    let most = request.max_output_tokens;
    if let Some(tokens) = request.thinking_tokens {
        let has_room = tokens > 0 && most >= 2 * MIN_BUDGET;
        return has_room.then(|| tokens.clamp(MIN_BUDGET, most - MIN_BUDGET));
    }
    let share = match request.effort {
        Some(Effort::Low) => most / 8,
        Some(Effort::Medium) => most / 4,
        None | Some(Effort::High) => most / 2,
        Some(Effort::XHigh) => most / 4 * 3,
        Some(Effort::Max) => most / 8 * 7,
    };
    (most >= 2 * MIN_BUDGET).then_some(share.max(MIN_BUDGET))
}

/// Returns `true` if the calls whose results come last belong to a reply that did not begin with a thought, as after a
/// change of the model. The API refuses to let a model think from there on.
fn goes_on_without_thought(turns: &[Turn<'_>]) -> bool {
    let is_result = |content: &Content<'_>| matches!(content.kind, Kind::ToolResult { .. });
    let asks = |turn: &Turn<'_>| turn.role == Role::User && !turn.content.iter().any(is_result);
    let reply = turns.iter().rposition(asks).map_or(0, |asked| asked + 1);
    let first = turns.get(reply).and_then(|turn| turn.content.first());
    first.is_some_and(|first| !matches!(first.kind, Kind::Thinking { .. } | Kind::RedactedThinking { .. }))
}

fn offer(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        name: Cow::Borrowed(&spec.name),
        description: &spec.description,
        input_schema: with_plain_names(&spec.input_schema),
        cache_control: None,
    }
}

/// Returns a schema without the parameters whose names the API does not take: it would refuse the whole request.
fn with_plain_names(schema: &Value) -> Cow<'_, Value> {
    let is_plain = |name: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        !name.is_empty() && name.len() <= PARAMETER_CHARS && name.chars().all(fits)
    };
    if schema["properties"].as_object().is_none_or(|all| all.keys().all(|name| is_plain(name))) {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    if let Some(all) = schema["properties"].as_object_mut() {
        all.retain(|name, _| is_plain(name));
    }
    if let Some(names) = schema["required"].as_array_mut() {
        names.retain(|name| name.as_str().is_some_and(is_plain));
    }
    Cow::Owned(schema)
}

fn mentioned(request: &Request) -> Vec<Tool<'_>> {
    let mut tools: Vec<Tool<'_>> = Vec::new();
    let replies = request.messages.iter().filter_map(|message| match message.as_ref() {
        Message::Assistant(reply) => Some(reply),
        _ => None,
    });
    for call in replies.flat_map(AssistantMessage::tool_calls) {
        let name = identifier(&call.name);
        if tools.iter().all(|tool| tool.name != name) {
            let input_schema = Cow::Owned(serde_json::json!({"type": "object"}));
            tools.push(Tool { name, description: "Not available now.", input_schema, cache_control: None });
        }
    }
    tools
}

fn turns(request: &Request, returned: ReturnedThinking) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::with_capacity(request.messages.len());
    let mut pictures = PendingPictures::of(request);
    for message in &request.messages {
        let (role, content) = match message.as_ref() {
            Message::User { text } => (Role::User, said(text, &mut pictures)),
            Message::ToolResults { results } => {
                (Role::User, results.iter().map(|result| result_block(result, &mut pictures)).collect())
            }
            Message::Assistant(reply) => (Role::Assistant, reply_blocks(reply, returned)),
        };
        let content: Vec<Content<'_>> =
            content.into_iter().map(|kind: Kind<'_>| Content { kind, cache_control: None }).collect();
        if content.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ => turns.push(Turn { role, content }),
        }
    }
    for turn in turns.iter_mut().filter(|turn| turn.role == Role::User) {
        turn.content.sort_by_key(|content| !matches!(content.kind, Kind::ToolResult { .. }));
    }
    trim_open_end(&mut turns);
    turns
}

/// A conversation that ends with the model's own words must not end with white space.
fn trim_open_end(turns: &mut [Turn<'_>]) {
    if let Some(Turn { role: Role::Assistant, content }) = turns.last_mut()
        && let Some(Content { kind: Kind::Text { text, .. }, .. }) = content.last_mut()
    {
        *text = text.trim_end();
    }
}

fn text_block(text: &str) -> Option<Kind<'_>> {
    (!text.trim().is_empty()).then_some(Kind::text(text))
}

/// Returns the pictures that a text of the user names, then the text: a model sees best what it is asked about after that.
fn said<'a>(text: &'a str, pictures: &mut PendingPictures<'a>) -> Vec<Kind<'a>> {
    pictures.named_in(text).into_iter().map(picture).chain(text_block(text)).collect()
}

fn picture(picture: &Attachment) -> Kind<'_> {
    let source = Source::Base64 { media_type: picture.media_type, data: &picture.data };
    if picture.is_document() { Kind::Document { source } } else { Kind::Image { source } }
}

fn reply_blocks(reply: &AssistantMessage, returned: ReturnedThinking) -> Vec<Kind<'_>> {
    let mut content: Vec<Kind<'_>> = Vec::with_capacity(reply.content.len());
    for block in &reply.content {
        let kind = match block {
            Block::Text { text } => text_block(text),
            Block::Thinking { text, signature } => returned.block(text, signature.as_deref(), reply.origin.is_some()),
            Block::RedactedThinking { data } => {
                (returned != ReturnedThinking::Nothing).then_some(Kind::RedactedThinking { data })
            }
            Block::ToolCall(call) => Some(Kind::ToolUse {
                id: identifier(&call.id),
                name: identifier(&call.name),
                input: (&call.input).into(),
            }),
            // A step of another service is none of this one.
            Block::Served(step) if !step.wire.is_object() => None,
            Block::Served(ServedStep { kind: ServedKind::Cited { .. }, wire }) => {
                if let Some(Kind::Text { citations, .. }) = content.last_mut() {
                    citations.push(wire);
                }
                None
            }
            Block::Served(step) => Some(Kind::Served(&step.wire)),
        };
        content.extend(kind);
    }
    // The API refuses a message that ends in reasoning, which is all there is of a reply that was cut off early.
    while matches!(content.last(), Some(Kind::Thinking { .. } | Kind::RedactedThinking { .. })) {
        content.pop();
    }
    content
}

fn result_block<'a>(result: &'a ToolResult, pictures: &mut PendingPictures<'a>) -> Kind<'a> {
    let mut content: Vec<Kind<'_>> = result
        .content
        .iter()
        .filter_map(|part| match part {
            ResultPart::Text { text } => text_block(text),
            ResultPart::Attached { number } => Some(pictures.take(*number).map_or(Kind::text(NOT_SENT), picture)),
            ResultPart::Image { media_type, data } if media_type == PDF => {
                Some(Kind::Document { source: Source::Base64 { media_type, data } })
            }
            ResultPart::Image { media_type, data } => Some(Kind::Image { source: Source::Base64 { media_type, data } }),
        })
        .collect();
    if content.is_empty() && result.is_error {
        content.push(Kind::text(SILENT_FAILURE));
    }
    Kind::ToolResult { tool_use_id: identifier(&result.call_id), content, is_error: result.is_error }
}

fn identifier(text: &str) -> Cow<'_, str> {
    wire_api::identifier(text, 128, "_")
}
