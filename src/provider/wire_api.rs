//! What the wire formats differ in, and what they write alike.
//!
//! Owns the table row of a format, and the form in which names and inputs go back to a service. Leaves the rest of a
//! request and of an answer to each format, and sending to `http`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use reqwest::Url;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Feature, Feed, Habits, ProviderError, Request, Service, anthropic, gemini, openai, responses};
use crate::message::{Attachment, ResultPart, ToolInput, ToolResult, WireFormat, picture_numbers};

/// How one wire format is spoken.
pub(super) struct WireApi {
    /// Returns the address below which the paths of the API lie.
    pub(super) base: fn(&Url) -> Url,
    /// Returns where requests for a model go, with the query if there is one.
    pub(super) path: fn(&str) -> String,
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) body: BodyWriter,
    pub(super) feed: fn(Service) -> Feed,
}

/// Writes the body of a request as a server with these habits wants it. Returns it with the features that it holds and that
/// a server may refuse.
type BodyWriter = fn(&Request, &Habits) -> Result<(Vec<u8>, Vec<Feature>), ProviderError>;

impl WireApi {
    pub(super) fn of(wire: WireFormat) -> &'static Self {
        match wire {
            WireFormat::Anthropic => &anthropic::API,
            WireFormat::AnthropicVertex => &anthropic::VERTEX,
            WireFormat::OpenAi => &openai::API,
            WireFormat::Responses => &responses::API,
            WireFormat::Gemini => &gemini::API,
        }
    }
}

/// The pictures of a request that are not written yet: each goes once, where it is named first.
pub(super) struct PendingPictures<'a>(BTreeMap<u32, &'a Attachment>);

impl<'a> PendingPictures<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        Self(request.attachments.iter().map(|(number, picture)| (*number, picture)).collect())
    }

    pub(super) fn take(&mut self, number: u32) -> Option<&'a Attachment> {
        self.0.remove(&number)
    }

    /// Takes those that a text names, in its order.
    pub(super) fn named_in(&mut self, text: &str) -> Vec<&'a Attachment> {
        picture_numbers(text).into_iter().filter_map(|number| self.take(number)).collect()
    }
}

/// The input of a tool call. One that is no object is wrapped in one, so that the API takes it back and the model sees
/// what it wrote.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WireInput<'a> {
    Object(&'a Map<String, Value>),
    Malformed { malformed_input: &'a str },
}

impl<'a> From<&'a ToolInput> for WireInput<'a> {
    fn from(input: &'a ToolInput) -> Self {
        match input {
            ToolInput::Object(map) => Self::Object(map),
            ToolInput::Malformed(text) => Self::Malformed { malformed_input: text },
        }
    }
}

/// Returns a name or id as an API takes it back: letters, digits, `_` and `-`, and no more than `most` of them. A model may
/// have made one up that the API refuses, and every later request would fail with it.
pub(super) fn identifier<'a>(text: &'a str, most: usize, otherwise: &'static str) -> Cow<'a, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() {
        return Cow::Borrowed(otherwise);
    }
    if text.len() <= most && text.chars().all(fits) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().take(most).map(|c| if fits(c) { c } else { '_' }).collect())
}

/// Returns a name as one piece of a path: whoever chose it, it leads nowhere else.
pub(super) fn path_segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        // A piece of dots only would lead upwards.
        if byte.is_ascii_alphanumeric() || b"-_~@:".contains(&byte) || (byte == b'.' && !name.starts_with('.')) {
            segment.push(char::from(byte));
        } else {
            let _ = write!(segment, "%{byte:02X}");
        }
    }
    segment
}

/// Returns the text of a result. OpenAI's APIs know no failed results, so the text says it; and they want a text.
pub(super) fn result_text(result: &ToolResult) -> Cow<'_, str> {
    let text = match result.content.as_slice() {
        [ResultPart::Text { text }] => Cow::Borrowed(text.as_str()),
        _ => Cow::Owned(result.joined_text()),
    };
    match (text.trim().is_empty(), result.is_error) {
        (false, false) => text,
        (false, true) => Cow::Owned(format!("Error: {text}")),
        (true, true) => Cow::Borrowed("Error: (no message)"),
        (true, false) => Cow::Borrowed("(no output)"),
    }
}
