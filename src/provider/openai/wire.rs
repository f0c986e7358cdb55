//! Writes requests for the Chat Completions API.
//!
//! Owns the mapping of messages. Invariants: writing takes time linear in the size of the request; user messages never
//! follow each other, because the templates of some local models refuse that; no text is blank but where the API wants
//! one; arguments are always the text of a JSON object, because some servers parse them again.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::forms::Forms;
use super::reasoning::{ReasoningField, thoughts_of};
use crate::message::{
    AssistantMessage, Block, Dialect, Effort, Message, PDF, ResultPart, SearchForm, ToolCall, ToolResult,
};
use crate::provider::wire_api::{PendingPictures, WireInput, identifier, result_text};
use crate::provider::{Feature, Habits, Request};

const NAME_CHARS: usize = 64;

#[derive(Serialize)]
pub(super) struct ChatBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    return_progress: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_search_options: Option<NoOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plugins: Vec<Plugin>,
    messages: Vec<Turn<'a>>,
}

/// `{}`: the search as the service has set it up.
#[derive(Serialize)]
struct NoOptions {}

#[derive(Serialize)]
#[serde(tag = "id", rename_all = "lowercase")]
enum Plugin {
    Web {},
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", content = "function", rename_all = "lowercase")]
enum Tool<'a> {
    Function { name: &'a str, description: &'a str, parameters: &'a Value },
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Turn<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Said<'a>,
    },
    Assistant {
        content: Option<Spoken<'a>>,
        /// What the server gave with the message, and wants back.
        #[serde(flatten)]
        state: Map<String, Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: Cow<'a, str>,
    },
}

/// What the model said, with its thoughts where these are a part of it.
#[derive(Serialize)]
#[serde(untagged)]
enum Spoken<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<SpokenPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SpokenPart<'a> {
    Thinking { thinking: [Part<'a>; 1] },
    Text { text: Cow<'a, str> },
}

/// What the user said: a string where that will do, because not every server takes a list.
#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
    File { file: FileData },
}

impl Part<'_> {
    fn image(media_type: &str, data: &str) -> Self {
        let url = format!("data:{media_type};base64,{data}");
        if media_type == PDF {
            Self::File { file: FileData { filename: "document.pdf", file_data: url } }
        } else {
            Self::ImageUrl { image_url: ImageUrl { url } }
        }
    }
}

#[derive(Serialize)]
struct FileData {
    filename: &'static str,
    file_data: String,
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
#[serde(tag = "type", content = "function", rename_all = "lowercase")]
enum CallBody<'a> {
    Function { name: Cow<'a, str>, arguments: String },
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    #[serde(flatten)]
    body: CallBody<'a>,
    #[serde(flatten)]
    state: Map<String, Value>,
}

impl<'a> ChatBody<'a> {
    /// Returns the request, and which forms of it a server may refuse.
    pub(super) fn new(request: &'a Request, habits: &Habits) -> (Self, Vec<Feature>) {
        let tools = request.tools.iter().map(|spec| Tool::Function {
            name: &spec.name,
            description: &spec.description,
            parameters: &spec.input_schema,
        });
        let mut forms = Forms::new(habits, &request.model);
        let messages = turns(request, &mut forms);
        let has_old_name = forms.holds(Feature::MaxTokens);
        let most = request.max_output_tokens;
        let body = Self {
            model: &request.model,
            max_tokens: has_old_name.then_some(most),
            max_completion_tokens: (!has_old_name).then_some(most),
            stream: true,
            stream_options: forms.holds(Feature::StreamOptions).then_some(StreamOptions { include_usage: true }),
            return_progress: habits.dialect == Dialect::LlamaCpp,
            reasoning_effort: request.effort.filter(|_| habits.takes(Feature::Thinking)).map(Effort::name),
            tools: tools.collect(),
            web_search_options: searches(request, SearchForm::Options).then_some(NoOptions {}),
            plugins: searches(request, SearchForm::Plugin).then_some(Plugin::Web {}).into_iter().collect(),
            messages,
        };
        (body, forms.held)
    }
}

fn searches(request: &Request, form: SearchForm) -> bool {
    request.search.as_ref().is_some_and(|bounds| bounds.form == form)
}

fn turns<'a>(request: &'a Request, forms: &mut Forms<'_>) -> Vec<Turn<'a>> {
    let mut turns = Vec::with_capacity(request.messages.len() + 1);
    let mut pictures = PendingPictures::of(request);
    if !request.system.trim().is_empty() {
        turns.push(Turn::System { content: &request.system });
    }
    for message in &request.messages {
        match message.as_ref() {
            Message::User { text } if text.trim().is_empty() => {}
            Message::User { text } => say(&mut turns, text, &mut pictures),
            Message::ToolResults { results } => answer(&mut turns, results, &mut pictures, forms),
            Message::Assistant(reply) => turns.extend(assistant(reply, forms)),
        }
    }
    turns
}

/// Appends what the user said, to the message before if that is the user's too.
fn say<'a>(turns: &mut Vec<Turn<'a>>, text: &'a str, pictures: &mut PendingPictures<'_>) {
    let named = pictures.named_in(text).into_iter();
    let pictures: Vec<Part<'_>> = named.map(|picture| Part::image(picture.media_type, &picture.data)).collect();
    if !pictures.is_empty() {
        let words = Part::Text { text: Cow::Borrowed(text) };
        let parts = pictures.into_iter().chain([words]);
        match turns.pop() {
            Some(Turn::User { content: Said::Text(before) }) => {
                let content = Said::Parts(std::iter::once(Part::Text { text: before }).chain(parts).collect());
                turns.push(Turn::User { content });
            }
            Some(Turn::User { content: Said::Parts(mut before) }) => {
                before.extend(parts);
                turns.push(Turn::User { content: Said::Parts(before) });
            }
            last => {
                turns.extend(last);
                turns.push(Turn::User { content: Said::Parts(parts.collect()) });
            }
        }
        return;
    }
    match turns.last_mut() {
        Some(Turn::User { content: Said::Text(before) }) => {
            let before = before.to_mut();
            before.push_str("\n\n");
            before.push_str(text);
        }
        Some(Turn::User { content: Said::Parts(parts) }) => parts.push(Part::Text { text: Cow::Borrowed(text) }),
        _ => turns.push(Turn::User { content: Said::Text(Cow::Borrowed(text)) }),
    }
}

fn assistant<'a>(reply: &'a AssistantMessage, forms: &mut Forms<'_>) -> Option<Turn<'a>> {
    let mut state = forms.state(reply);
    let calls = reply.tool_calls().enumerate();
    let tool_calls: Vec<Call<'_>> =
        calls.map(|(at, call)| written(call, state.calls.remove(&at).unwrap_or_default(), forms)).collect();
    let mut texts = reply.content.iter().filter_map(|block| match block {
        Block::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let said = texts.next().map(|first| match texts.next() {
        None => Cow::Borrowed(first),
        Some(_) => Cow::Owned(reply.text()),
    });
    if said.is_none() && tool_calls.is_empty() {
        return None;
    }
    let thoughts = thoughts_of(reply);
    let content = if state.field == Some(ReasoningField::Content) && !thoughts.is_empty() {
        let thought = SpokenPart::Thinking { thinking: [Part::Text { text: Cow::Owned(thoughts) }] };
        let said = said.map(|text| SpokenPart::Text { text });
        Some(Spoken::Parts([thought].into_iter().chain(said).collect()))
    } else {
        said.map(Spoken::Text)
    };
    let content = content.or_else(|| (!forms.holds(Feature::NullContent)).then_some(Spoken::Text(Cow::Borrowed(""))));
    Some(Turn::Assistant { content, state: state.message, tool_calls })
}

fn written<'a>(call: &'a ToolCall, state: Map<String, Value>, forms: &mut Forms<'_>) -> Call<'a> {
    let arguments = serde_json::to_string(&WireInput::from(&call.input)).unwrap_or_else(|_| "{}".to_owned());
    let name = identifier(&call.name, NAME_CHARS, "unnamed");
    Call { id: forms.id(&call.id), body: CallBody::Function { name, arguments }, state }
}

/// Appends the results, and their pictures as a message of the user: the API takes none in a result.
fn answer<'a>(
    turns: &mut Vec<Turn<'a>>,
    results: &'a [ToolResult],
    pending: &mut PendingPictures<'_>,
    forms: &mut Forms<'_>,
) {
    let mut pictures = Vec::new();
    for result in results {
        for part in &result.content {
            match part {
                ResultPart::Image { media_type, data } => pictures.push(Part::image(media_type, data)),
                ResultPart::Attached { number } => {
                    let picture = pending.take(*number);
                    pictures.extend(picture.map(|picture| Part::image(picture.media_type, &picture.data)));
                }
                ResultPart::Text { .. } => {}
            }
        }
        turns.push(Turn::Tool { tool_call_id: forms.id(&result.call_id), content: result_text(result) });
    }
    if !pictures.is_empty() {
        pictures.insert(0, Part::Text { text: Cow::Borrowed("Images from the tool results above:") });
        turns.push(Turn::User { content: Said::Parts(pictures) });
    }
}
