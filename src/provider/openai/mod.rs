//! The Chat Completions API, as OpenAI, Ollama, llama.cpp, LM Studio, vLLM, OpenRouter and DeepSeek speak it.
//!
//! Owns the address, the headers and the two directions of the wire: `wire` writes requests, `decode` reads answers.
//! Leaves transport to `http`. Invariant: differences between servers are values ([`Dialect`]) or are borne by the
//! decoder without knowing the server.

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
pub struct OpenAi {
    http: Http,
    dialect: Dialect,
}

impl OpenAi {
    /// Returns a provider for the API at `base`. Without a path, `/v1` is meant; a key is optional.
    #[must_use]
    pub fn new(service: Service, base: &Url) -> Self {
        let http = Http::new(service, normalised(base));
        Self { dialect: http.dialect(), http }
    }

    #[must_use]
    pub fn behind(self, gate: RateLimiter) -> Self {
        Self { http: self.http.behind(gate), ..self }
    }
}

/// Returns the address below which `/chat/completions` and `/models` lie.
pub(super) fn normalised(base: &Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    let path = if path.is_empty() { "/v1".to_owned() } else { path.to_owned() };
    let mut base = base.clone();
    base.set_path(&path);
    base
}

impl Provider for OpenAi {
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
            let held: Vec<Feature> = has_pictures(&request).then_some(Feature::Pictures).into_iter().collect();
            let body = request_body(&request, self.dialect)?;
            let answer = self.http.post("/chat/completions", &[], body).await;
            let answer = answer.map_err(|error| learned.explain(error, &request.model, &held))?;
            let feed = feed(self.http.service().clone()).bounded(ReplySize::of_tokens(request.max_output_tokens));
            stream::events(self.http.clone(), answer, feed).await
        })
    }
}

/// Returns the body of a request as servers of this dialect want it. Returns a bad-request error if a tool's schema
/// cannot be written as JSON.
pub fn request_body(request: &Request, dialect: Dialect) -> Result<Vec<u8>, ProviderError> {
    serde_json::to_vec(&wire::ChatBody::new(request, dialect))
        .map_err(|error| ProviderError::new(ErrorKind::BadRequest, "openai", error.to_string()))
}

pub fn feed(service: Service) -> Feed {
    Feed::new(service.clone(), Box::new(decode::ChatDecoder::new(service)))
}
