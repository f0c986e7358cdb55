//! The Chat Completions API, as OpenAI, Ollama, llama.cpp, LM Studio, vLLM, OpenRouter and DeepSeek speak it.
//!
//! Owns the address, the headers and the two directions of the wire: `wire` writes requests, `decode` reads answers.
//! Leaves transport to `http`. Invariant: differences between servers are values ([`Dialect`]) or are borne by the
//! decoder without knowing the server.

use reqwest::Url;

use super::learned::{has_documents, has_pictures};
use super::service::Service;
use super::wire_api::WireApi;
use super::{ErrorKind, Feature, Feed, ProviderError, Request};
use crate::message::Dialect;

mod decode;
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

/// Returns the body of a request as servers of this dialect want it. Returns a bad-request error if a tool's schema
/// cannot be written as JSON.
pub fn request_body(
    request: &Request,
    dialect: Dialect,
    may_think: bool,
) -> Result<(Vec<u8>, Vec<Feature>), ProviderError> {
    let json = serde_json::to_vec(&wire::ChatBody::new(request, dialect, may_think))
        .map_err(|error| ProviderError::new(ErrorKind::BadRequest, "openai", error.to_string()))?;
    let thinking = (may_think && request.effort.is_some()).then_some(Feature::Thinking);
    let documents = has_documents(request).then_some(Feature::Documents);
    let pictures = has_pictures(request).then_some(Feature::Pictures);
    Ok((json, [thinking, documents, pictures].into_iter().flatten().collect()))
}

pub fn feed(service: Service) -> Feed {
    Feed::new(service.clone(), Box::new(decode::ChatDecoder::new(service)))
}
