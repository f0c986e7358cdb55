//! The Messages API of Anthropic, version 2023-06-01.
//!
//! Owns the address, the headers and the two directions of the wire: `wire` writes requests, `decode` reads answers.
//! Leaves transport to `http`. Invariant: what it sends passes the API's own checks, whatever the transcript holds.

use futures::future::BoxFuture;
use reqwest::Url;

use super::http::Http;
use super::learned::{Feature, has_pictures, without_pictures};
use super::service::Service;
use super::stream;
use super::{ErrorKind, EventStream, Feed, Provider, ProviderError, RateLimiter, ReplySize, Request};
use crate::message::Dialect;

mod decode;
mod wire;

#[derive(Debug, Clone)]
pub struct Anthropic {
    http: Http,
}

impl Anthropic {
    /// Returns a provider for the API at `base`, which may end in `/`, `/v1` or neither.
    #[must_use]
    pub fn new(service: Service, base: &Url) -> Self {
        let mut base = base.clone();
        let path = base.path().trim_end_matches('/');
        let path = path.strip_suffix("/messages").unwrap_or(path);
        let path = format!("{}/v1", path.strip_suffix("/v1").unwrap_or(path));
        base.set_path(&path);
        Self { http: Http::new(service, base) }
    }

    #[must_use]
    pub fn behind(self, gate: RateLimiter) -> Self {
        Self { http: self.http.behind(gate) }
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.http.service().row.name
    }

    fn gate(&self) -> Option<&RateLimiter> {
        Some(self.http.gate())
    }

    fn warm(&self) {
        self.http.warm();
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        Box::pin(async move {
            let learned = self.http.learned();
            let lacks_pictures = learned.lacks(&request.model, Feature::Pictures);
            let request = if lacks_pictures { without_pictures(request) } else { request };
            let mut body = wire::MessagesBody::new(&request);
            if learned.lacks(&request.model, Feature::Thinking) {
                body.forgo_thinking();
            }
            let mut held = Vec::new();
            // A gateway may lead to a model of another maker; the service itself means what it says.
            if self.http.dialect() != Dialect::Anthropic {
                held.extend(has_pictures(&request).then_some(Feature::Pictures));
                held.extend(body.sets_thinking().then_some(Feature::Thinking));
            }
            let body = written(&body)?;
            let answer = self.http.post("/messages", &[("anthropic-version", "2023-06-01")], body).await;
            let answer = answer.map_err(|error| learned.explain(error, &request.model, &held))?;
            let feed = feed(self.http.service().clone()).bounded(ReplySize::of_tokens(request.max_output_tokens));
            stream::events(self.http.clone(), answer, feed).await
        })
    }
}

/// Returns the body of a request as the API wants it. Returns a bad-request error if a tool's schema cannot be written
/// as JSON.
pub fn request_body(request: &Request) -> Result<Vec<u8>, ProviderError> {
    written(&wire::MessagesBody::new(request))
}

fn written(body: &wire::MessagesBody<'_>) -> Result<Vec<u8>, ProviderError> {
    serde_json::to_vec(body).map_err(|error| ProviderError::new(ErrorKind::BadRequest, "anthropic", error.to_string()))
}

pub fn feed(service: Service) -> Feed {
    Feed::new(service.clone(), Box::new(decode::MessagesDecoder::new(service)))
}
