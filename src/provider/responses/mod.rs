//! The Responses API, as OpenAI, Azure OpenAI and servers that imitate them speak it.
//!
//! Owns the address, the headers and the two directions of the wire: `wire` writes requests, `decode` reads answers.
//! Leaves transport to `http`. Invariant: nothing is kept at the service; each request holds the whole conversation, with
//! the model's reasoning as the service encrypted it.

use reqwest::Url;

use super::learned::{Habits, has_documents, has_pictures};
use super::openai;
use super::service::Service;
use super::wire_api::WireApi;
use super::{ErrorKind, Feature, Feed, ProviderError, Request};

mod decode;
mod wire;

pub(super) const API: WireApi =
    WireApi { base, path: |_| "/responses".to_owned(), headers: &[], body: request_body, feed };

/// Returns the address below which `/responses` and `/models` lie.
fn base(base: &Url) -> Url {
    let mut base = base.clone();
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/responses").unwrap_or(path).to_owned();
    base.set_path(&path);
    openai::normalised(&base)
}

/// Returns the body of a request. Returns a bad-request error if a tool's schema cannot be written as JSON.
pub fn request_body(request: &Request, habits: &Habits) -> Result<(Vec<u8>, Vec<Feature>), ProviderError> {
    let body = wire::ResponsesBody::new(request, habits.takes(Feature::Thinking));
    let pictures = has_pictures(request).then_some(Feature::Pictures);
    let documents = has_documents(request).then_some(Feature::Documents);
    let held =
        documents.into_iter().chain(pictures).chain(body.sets_reasoning().then_some(Feature::Thinking)).collect();
    let json = serde_json::to_vec(&body)
        .map_err(|error| ProviderError::new(ErrorKind::BadRequest, "openai", error.to_string()))?;
    Ok((json, held))
}

pub fn feed(service: Service) -> Feed {
    Feed::new(service.clone(), Box::new(decode::ResponsesDecoder::new(service)))
}
