//! Writes requests for the Responses API.
//!
//! Owns the mapping of messages to items. Invariants: writing takes time linear in the size of the request; no text is
//! blank but where the API wants one; arguments are always the text of a JSON object; reasoning stands right before what
//! the model said or called after it, or stays away: the API refuses it anywhere else.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::message::{AssistantMessage, Block, Effort, Message, PDF, ResultPart, ToolResult, ToolSpec, WireFormat};
use crate::provider::wire_api::{PendingPictures, WireInput, identifier, result_text};
use crate::provider::{Request, SearchBounds, model, signature};

const NAME_CHARS: usize = 64;

#[derive(Serialize)]
pub(super) struct ResponsesBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    store: bool,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    summary: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// Strict schemas would have to name every field as required.
        strict: bool,
    },
    /// The service's own search.
    #[serde(rename = "web_search")]
    Search {
        #[serde(skip_serializing_if = "Option::is_none")]
        filters: Option<Filters<'a>>,
    },
}

/// Sites that alone may be found.
#[derive(Serialize)]
struct Filters<'a> {
    allowed_domains: &'a [String],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
    },
    Reasoning {
        /// Older sessions have kept none.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        summary: Vec<Summary<'a>>,
        encrypted_content: &'a str,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
}

/// What was said. The model's own words are a string: as parts they would need the id under which the service gave them.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Part<'a> {
    #[serde(rename = "input_text")]
    Text { text: Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image { image_url: String, detail: &'static str },
    #[serde(rename = "input_file")]
    File { filename: &'static str, file_data: String },
}

impl Part<'_> {
    /// Returns a picture, or a document.
    fn attached(media_type: &str, data: &str) -> Self {
        let url = format!("data:{media_type};base64,{data}");
        if media_type == PDF {
            Self::File { filename: "document.pdf", file_data: url }
        } else {
            Self::Image { image_url: url, detail: "auto" }
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Summary<'a> {
    SummaryText { text: &'a str },
}

/// What a tool has answered: a string where that will do.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl<'a> ResponsesBody<'a> {
    /// Returns the request with the settings for reasoning if it may have them.
    pub(super) fn new(request: &'a Request, may_think: bool) -> Self {
        // A model that does not reason refuses the settings, and reasoning of another one.
        let reasons = may_think && (model::can_reason(&request.model) || request.effort.is_some());
        let effort = request.effort.map(|effort| effort.min(Effort::XHigh).name());
        // The service reads tools from its cache as long as they are the same, also where none may be called.
        let offered = if request.tools.is_empty() { &request.withheld } else { &request.tools };
        Self {
            model: &request.model,
            instructions: Some(&*request.system).filter(|system| !system.trim().is_empty()),
            max_output_tokens: request.max_output_tokens,
            reasoning: reasons.then_some(Reasoning { effort, summary: "auto" }),
            include: reasons.then_some(["reasoning.encrypted_content"]),
            store: false,
            stream: true,
            tools: offered.iter().map(offer).chain(request.search.as_ref().map(search)).collect(),
            tool_choice: (request.tools.is_empty() && !offered.is_empty()).then_some("none"),
            input: items(request, reasons),
        }
    }

    pub(super) fn sets_reasoning(&self) -> bool {
        self.reasoning.is_some()
    }
}

fn offer(spec: &ToolSpec) -> Tool<'_> {
    Tool::Function { name: &spec.name, description: &spec.description, parameters: &spec.input_schema, strict: false }
}

fn search(bounds: &SearchBounds) -> Tool<'_> {
    let allowed_domains = bounds.allowed_domains.as_slice();
    Tool::Search { filters: (!allowed_domains.is_empty()).then_some(Filters { allowed_domains }) }
}

fn items(request: &Request, reasons: bool) -> Vec<Item<'_>> {
    let mut items = Vec::with_capacity(request.messages.len());
    let mut pictures = PendingPictures::of(request);
    for message in &request.messages {
        match message.as_ref() {
            Message::User { text } if text.trim().is_empty() => {}
            Message::User { text } => {
                let named = pictures.named_in(text).into_iter();
                let shown = named.map(|picture| Part::attached(picture.media_type, &picture.data));
                let content = shown.chain([Part::Text { text: Cow::Borrowed(text) }]).collect();
                items.push(Item::Message { role: "user", content: Content::Parts(content) });
            }
            Message::ToolResults { results } => {
                items.extend(results.iter().map(|result| answer(result, &mut pictures)));
            }
            Message::Assistant(reply) => push_reply(&mut items, reply, reasons),
        }
    }
    items
}

fn push_reply<'a>(items: &mut Vec<Item<'a>>, reply: &'a AssistantMessage, reasons: bool) {
    for block in &reply.content {
        match block {
            Block::Text { text } if !text.trim().is_empty() => {
                items.push(Item::Message { role: "assistant", content: Content::Text(text) });
            }
            Block::Thinking { text, signature: Some(kept) } if reasons => {
                let proof = signature::of_format(WireFormat::Responses, kept);
                let summary = if text.is_empty() { Vec::new() } else { vec![Summary::SummaryText { text }] };
                let item = |kept: &'a str| kept.split_once(':').map_or((None, kept), |(id, proof)| (Some(id), proof));
                items.extend(proof.map(item).map(|(id, encrypted_content)| Item::Reasoning {
                    id,
                    summary,
                    encrypted_content,
                }));
            }
            Block::ToolCall(call) => items.push(Item::FunctionCall {
                call_id: id(&call.id),
                name: identifier(&call.name, NAME_CHARS, "unnamed"),
                arguments: serde_json::to_string(&WireInput::from(&call.input)).unwrap_or_else(|_| "{}".to_owned()),
            }),
            Block::Text { .. } | Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::Served(_) => {}
        }
    }
    // All that there is of a reply that was cut off early.
    while matches!(items.last(), Some(Item::Reasoning { .. })) {
        items.pop();
    }
}

fn answer<'a>(result: &'a ToolResult, pending: &mut PendingPictures<'_>) -> Item<'a> {
    let pictures = result.content.iter().filter_map(|part| match part {
        ResultPart::Image { media_type, data } => Some(Part::attached(media_type, data)),
        ResultPart::Attached { number } => {
            pending.take(*number).map(|picture| Part::attached(picture.media_type, &picture.data))
        }
        ResultPart::Text { .. } => None,
    });
    let mut parts: Vec<Part<'_>> = pictures.collect();
    let text = result_text(result);
    let output = if parts.is_empty() {
        Output::Text(text)
    } else {
        parts.insert(0, Part::Text { text });
        Output::Parts(parts)
    };
    Item::FunctionCallOutput { call_id: id(&result.call_id), output }
}

fn id(text: &str) -> Cow<'_, str> {
    identifier(text, NAME_CHARS, "_")
}
