//! What an endpoint does not take: learned from its refusals, and left out of the requests after that.
//!
//! Owns the judgement whether a refusal speaks of a part that a request can do without. Leaves sending again to `agent`.
//! Invariant: a part is left out only for a model whose endpoint has refused it, for the life of the process; a refusal
//! is explained this way only if its request held the part, so no request is sent again twice for the same reason.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::Unsupported;
use super::{ErrorKind, ProviderError, Request};
use crate::message::{Attachment, Message, ResultPart};

/// What stands in the place of a picture.
const NO_PICTURE: &str = "[image omitted: this model accepts none]";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    Pictures,
    Documents,
    Thinking,
}

impl Feature {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Pictures => "images",
            Self::Documents => "PDF documents",
            Self::Thinking => "reasoning settings",
        }
    }

    fn is_named_in(self, words: &str) -> bool {
        let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
        match self {
            // A picture that is too large, or broken, says nothing of others.
            Self::Pictures => {
                has(&["image", "mmproj", "vision", "multimodal", "multi-modal"])
                    && !has(&["exceed", "too large", "dimension", "could not process", "decode", "corrupt", "base64"])
            }
            Self::Documents => has(&["pdf", "document"]),
            Self::Thinking => has(&["thinking", "reasoning", "effort", "output_config"]),
        }
    }
}

/// What the models of one endpoint do not take. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Learned(Arc<Mutex<HashSet<(String, Feature)>>>);

impl Learned {
    /// Returns `true` if requests to this model go without this.
    pub(super) fn lacks(&self, model: &str, feature: Feature) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().any(|(id, lacking)| id == model && *lacking == feature)
    }

    /// Returns why a request to `model` failed that held these features, and remembers what is not taken.
    pub(super) fn explain(&self, error: ProviderError, model: &str, held: &[Feature]) -> ProviderError {
        if !matches!(error.kind, ErrorKind::BadRequest | ErrorKind::Internal | ErrorKind::Overloaded) {
            return error;
        }
        let words = error.detail.to_lowercase();
        let Some(feature) = held.iter().copied().find(|feature| feature.is_named_in(&words)) else { return error };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = known.insert((model.to_owned(), feature));
        let unsupported = Some(Box::new(Unsupported { model: model.to_owned(), feature, is_news }));
        let ProviderError { provider, detail, .. } = error;
        ProviderError { unsupported, ..ProviderError::new(ErrorKind::Unsupported, provider, detail) }
    }
}

pub(super) fn has_documents(request: &Request) -> bool {
    request.attachments.values().any(Attachment::is_document)
}

/// Returns the request without the documents in it.
pub(super) fn without_documents(mut request: Request) -> Request {
    Arc::make_mut(&mut request.attachments).retain(|_, attachment| !attachment.is_document());
    request
}

pub(super) fn has_pictures(request: &Request) -> bool {
    request.attachments.values().any(|attachment| !attachment.is_document())
        || request.messages.iter().any(|message| holds_picture(message))
}

/// Returns the request with a line of text in the place of each picture.
pub(super) fn without_pictures(mut request: Request) -> Request {
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
