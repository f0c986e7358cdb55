//! The Messages API of Anthropic, version 2023-06-01.
//!
//! Owns the address, the headers and the two directions of the wire: `wire` writes requests, `decode` reads answers.
//! Leaves transport to `http`. Invariant: what it sends passes the API's own checks, whatever the transcript holds.

use reqwest::Url;

use super::learned::{Habits, has_documents, has_pictures};
use super::service::Service;
use super::wire_api::{WireApi, path_segment};
use super::{ErrorKind, Feature, Feed, ProviderError, Request};
use crate::message::Dialect;

mod decode;
mod served;
mod wire;

pub(super) const API: WireApi = WireApi {
    base: api_base,
    path: |_| "/messages".to_owned(),
    headers: &[("anthropic-version", "2023-06-01")],
    body: request_body,
    feed,
};

/// The same over Vertex AI: the model is named by the path, and the version in the body.
pub(super) const VERTEX: WireApi =
    WireApi { base: Url::clone, path: vertex_path, headers: &[], body: vertex_body, feed };

fn vertex_path(model: &str) -> String {
    format!("/publishers/anthropic/models/{}:streamRawPredict", path_segment(model))
}

/// Returns the address below which `/messages` lies; `base` may end in `/`, `/v1` or neither.
fn api_base(base: &Url) -> Url {
    let mut base = base.clone();
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/messages").unwrap_or(path);
    let path = format!("{}/v1", path.strip_suffix("/v1").unwrap_or(path));
    base.set_path(&path);
    base
}

/// Returns the body of a request as the API wants it. Returns a bad-request error if a tool's schema cannot be written
/// as JSON.
pub fn request_body(request: &Request, habits: &Habits) -> Result<(Vec<u8>, Vec<Feature>), ProviderError> {
    finished(request, habits, &wire::MessagesBody::new(request, habits))
}

/// Returns the body of a request as Vertex AI wants it. Returns an error as [`request_body`] does.
pub fn vertex_body(request: &Request, habits: &Habits) -> Result<(Vec<u8>, Vec<Feature>), ProviderError> {
    finished(request, habits, &wire::MessagesBody::new(request, habits).for_vertex())
}

fn finished(
    request: &Request,
    habits: &Habits,
    body: &wire::MessagesBody<'_>,
) -> Result<(Vec<u8>, Vec<Feature>), ProviderError> {
    // One with too many pages would fail every later request of the conversation.
    let mut held: Vec<Feature> = has_documents(request).then_some(Feature::Documents).into_iter().collect();
    held.extend(body.returns_thinking().then_some(Feature::OwnReasoning));
    // A gateway may lead to a model of another maker; the service itself means what it says.
    if habits.dialect != Dialect::Anthropic {
        held.extend(has_pictures(request).then_some(Feature::Pictures));
        held.extend(body.sets_thinking().then_some(Feature::Thinking));
    }
    let json = serde_json::to_vec(body)
        .map_err(|error| ProviderError::new(ErrorKind::BadRequest, "anthropic", error.to_string()))?;
    Ok((json, held))
}

pub fn feed(service: Service) -> Feed {
    Feed::new(service.clone(), Box::new(decode::MessagesDecoder::new(service)))
}
