//! The Chat Completions API, as OpenAI, Ollama, llama.cpp, LM Studio, vLLM, OpenRouter and DeepSeek speak it.
//!
//! Owns the address, the headers and the two directions of the wire: `wire` writes requests, `decode` reads answers.
//! Leaves transport to `http`. Invariant: differences between servers are values ([`Habits`]) or are borne by the
//! decoder without knowing the server.

use reqwest::Url;

use super::learned::{Habits, has_documents, has_pictures};
use super::service::Service;
use super::wire_api::WireApi;
use super::{ErrorKind, Feature, Feed, ProviderError, Request};

mod decode;
mod forms;
mod reasoning;
mod refused_call;
mod wire;

pub(super) const API: WireApi =
    WireApi { base: normalised, path: |_| "/chat/completions".to_owned(), headers: &[], body: request_body, feed };

/// Returns the address below which `/chat/completions` and `/models` lie. Without a path, `/v1` is meant.
pub(super) fn normalised(base: &Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    let path = if path.is_empty() { "/v1".to_owned() } else { path.to_owned() };
    let mut base = base.clone();
    base.set_path(&path);
    base
}

/// Returns the body of a request as a server with these habits wants it, and the features that it holds and that may be
/// refused. Returns a bad-request error if a tool's schema cannot be written as JSON.
pub fn request_body(request: &Request, habits: &Habits) -> Result<(Vec<u8>, Vec<Feature>), ProviderError> {
    let (body, state) = wire::ChatBody::new(request, habits);
    let json = serde_json::to_vec(&body)
        .map_err(|error| ProviderError::new(ErrorKind::BadRequest, "openai", error.to_string()))?;
    let thinking = (habits.takes(Feature::Thinking) && request.effort.is_some()).then_some(Feature::Thinking);
    let documents = has_documents(request).then_some(Feature::Documents);
    let pictures = has_pictures(request).then_some(Feature::Pictures);
    Ok((json, state.into_iter().chain([thinking, documents, pictures].into_iter().flatten()).collect()))
}

pub fn feed(service: Service) -> Feed {
    Feed::new(service.clone(), Box::new(decode::ChatDecoder::new(service)))
}
