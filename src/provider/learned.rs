//! What an endpoint wants written differently: known by its row, or learned from its refusals.
//!
//! Owns the judgement whether a refusal speaks of a part that a request can do without, or have in another form. Leaves
//! sending again to `agent`. Invariant: a request is changed only for a model whose endpoint has refused the part, for the
//! life of the process; a refusal is explained this way only if its request held the part, so no request is sent again
//! twice for the same reason.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::Unsupported;
use super::output_room::output_room;
use super::{ErrorKind, ProviderError, Request};
use crate::message::{Attachment, Dialect, Message, ResultPart};

/// What stands in the place of a picture.
const NO_PICTURE: &str = "[image omitted: this model accepts none]";

/// A part of a request that a server may refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// `max_tokens`, which newer models call `max_completion_tokens`.
    MaxTokens,
    StreamOptions,
    /// Ids of tool calls in any other form than nine letters and digits.
    LongIds,
    /// `null` as the content of a message that only calls tools.
    NullContent,
    /// Tool calls without the reasoning that led to them.
    BareCalls,
    /// Reasoning that goes back with the message it came with.
    OwnReasoning,
    Pictures,
    Documents,
    Thinking,
    /// As many output tokens as were asked for.
    OutputTokens,
}

impl Feature {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::MaxTokens => "`max_tokens`",
            Self::StreamOptions => "`stream_options`",
            Self::LongIds => "these ids of tool calls",
            Self::NullContent => "messages without content",
            Self::BareCalls => "tool calls without their reasoning",
            Self::OwnReasoning => "its own reasoning in a request",
            Self::Pictures => "images",
            Self::Documents => "PDF documents",
            Self::Thinking => "reasoning settings",
            Self::OutputTokens => "so many output tokens",
        }
    }

    /// Returns `true` if the user misses something without it: the rest is only written in another form.
    #[must_use]
    pub fn is_missed(self) -> bool {
        matches!(self, Self::Pictures | Self::Documents | Self::Thinking)
    }

    fn is_named_in(self, words: &str) -> bool {
        let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
        match self {
            Self::MaxTokens => {
                has(&["max_completion_tokens"])
                    && has(&["max_tokens"])
                    && has(&["instead", "not supported", "unsupported"])
            }
            Self::StreamOptions => has(&["stream_options", "include_usage"]),
            Self::LongIds => has(&["length of 9", "a-z, a-z, 0-9"]),
            Self::NullContent => {
                has(&["content"])
                    && !has(&["reasoning", "thinking"])
                    && has(&["null", "none", "nil", "valid string", "a string", "str type", "required", "missing"])
            }
            Self::BareCalls => {
                has(&["reasoning_content", "reasoning content", "reasoning details", "reasoning_details", "signature"])
                    && has(&["missing", "must be", "preserved", "required", "not found"])
            }
            Self::OwnReasoning => {
                let is_back = has(&["reasoning_content", "reasoning_details", "reasoning_text", "thinking_blocks"])
                    || has(&["extra_content", "provider_specific_fields", "reasoning_opaque", "thinking` block"])
                    || has(&["message", "assistant", "content"]) && has(&["reasoning", "thinking", "signature"]);
                is_back && !has(&["effort", "budget", "missing", "passed back", "preserved"])
            }
            // A picture that is too large, or broken, says nothing of others.
            Self::Pictures => {
                has(&["image", "mmproj", "vision", "multimodal", "multi-modal"])
                    && !has(&["exceed", "too large", "dimension", "could not process", "decode", "corrupt", "base64"])
                    && !has(&["valid image", "unable to process", "image data", "image format", "truncated"])
            }
            Self::Documents => has(&["pdf", "document"]),
            Self::Thinking => has(&["thinking", "reasoning", "effort", "output_config"]),
            // Told by its numbers.
            Self::OutputTokens => false,
        }
    }
}

/// What the endpoint of a model wants written differently from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Habits {
    pub dialect: Dialect,
    refused: HashSet<Feature>,
}

impl Habits {
    #[must_use]
    pub fn of(dialect: Dialect) -> Self {
        Self { dialect, refused: HashSet::new() }
    }

    #[must_use]
    pub fn without(mut self, feature: Feature) -> Self {
        self.refused.insert(feature);
        self
    }

    #[must_use]
    pub fn takes(&self, feature: Feature) -> bool {
        !self.refused.contains(&feature)
    }

    /// Returns the request without the pictures and documents that are not taken.
    pub(super) fn fit(&self, request: Request) -> Request {
        let request = if self.takes(Feature::Documents) { request } else { without_documents(request) };
        if self.takes(Feature::Pictures) { request } else { without_pictures(request) }
    }
}

/// A request that was refused.
pub(super) struct RefusedRequest<'a> {
    pub(super) model: &'a str,
    /// What it held that a server may refuse.
    pub(super) held: &'a [Feature],
    pub(super) max_output_tokens: u32,
    /// Bytes of its body.
    pub(super) size: usize,
}

/// What the models of one endpoint do not take. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Learned(Arc<Mutex<HashMap<String, Lessons>>>);

#[derive(Debug, Default)]
struct Lessons {
    refused: HashSet<Feature>,
    /// The most output tokens that may be asked for, by the size of requests from which this holds.
    output: Vec<(usize, u32)>,
}

impl Learned {
    /// Returns how requests to this model are written.
    pub(super) fn habits(&self, model: &str, dialect: Dialect) -> Habits {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Habits { dialect, refused: known.get(model).map(|lessons| lessons.refused.clone()).unwrap_or_default() }
    }

    /// Returns the most output tokens that a request of this size may ask for, if that is known.
    pub(super) fn most_output(&self, model: &str, size: usize) -> Option<u32> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bounds = known.get(model)?.output.iter().filter(|(from, _)| size >= *from);
        bounds.map(|(_, most)| *most).min()
    }

    /// Returns why a request failed, and remembers what is not taken.
    pub(super) fn explain(&self, error: ProviderError, request: &RefusedRequest<'_>) -> ProviderError {
        use ErrorKind::{BadRequest, ContextTooLong, Internal, Overloaded};
        let words = error.detail.to_lowercase();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = match error.kind {
            BadRequest | Internal | Overloaded => {
                request.held.iter().copied().find(|feature| feature.is_named_in(&words))
            }
            _ => None,
        };
        let (feature, is_news) = if let Some(feature) = named {
            let lessons = known.entry(request.model.to_owned()).or_default();
            (feature, lessons.refused.insert(feature))
        } else if matches!(error.kind, BadRequest | ContextTooLong)
            && let Some(room) = output_room(&words, request.max_output_tokens)
        {
            // What the rest of the context leaves holds for a conversation of this length.
            let from = if room.depends_on_input { request.size } else { 0 };
            known.entry(request.model.to_owned()).or_default().output.push((from, room.tokens));
            (Feature::OutputTokens, true)
        } else {
            return error;
        };
        let unsupported = Some(Box::new(Unsupported { model: request.model.to_owned(), feature, is_news }));
        let ProviderError { provider, detail, .. } = error;
        ProviderError { unsupported, ..ProviderError::new(ErrorKind::Unsupported, provider, detail) }
    }
}

pub(super) fn has_documents(request: &Request) -> bool {
    request.attachments.values().any(Attachment::is_document)
}

fn without_documents(mut request: Request) -> Request {
    Arc::make_mut(&mut request.attachments).retain(|_, attachment| !attachment.is_document());
    request
}

pub(super) fn has_pictures(request: &Request) -> bool {
    request.attachments.values().any(|attachment| !attachment.is_document())
        || request.messages.iter().any(|message| holds_picture(message))
}

/// Returns the request with a line of text in the place of each picture.
fn without_pictures(mut request: Request) -> Request {
    request.attachments = Arc::default();
    for message in &mut request.messages {
        if holds_picture(message)
            && let Message::ToolResults { results } = Arc::make_mut(message)
        {
            for part in results.iter_mut().flat_map(|result| &mut result.content) {
                if let ResultPart::Image { .. } = part {
                    *part = ResultPart::Text { text: NO_PICTURE.to_owned() };
                }
            }
        }
    }
    request
}

fn holds_picture(message: &Message) -> bool {
    let Message::ToolResults { results } = message else { return false };
    let mut parts = results.iter().flat_map(|result| &result.content);
    parts.any(|part| matches!(part, ResultPart::Image { .. }))
}
