//! The Chat Completions API, as OpenAI, Ollama, llama.cpp, LM Studio, vLLM, OpenRouter and DeepSeek speak it.
//!
//! Owns the address, the headers and the two directions of the wire: `wire` writes requests, `decode` reads answers.
//! Leaves transport to `http`. Invariant: differences between servers are values ([`Dialect`]) or are borne by the
//! decoder without knowing the server.

use futures::future::BoxFuture;
use reqwest::Url;

use super::http::{Auth, Http};
use super::learned::{Feature, has_pictures, without_pictures};
use super::service::Service;
use super::stream;
use super::{EventStream, Feed, Provider, ProviderError, RateLimiter, ReplySize, Request};

mod decode;
mod wire;

/// Address of OpenAI's own API.
pub const BASE: &str = "https://api.openai.com/v1";

/// What servers want written differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI itself: the cap on output is `max_completion_tokens`.
    OpenAi,
    /// DeepSeek: the reasoning of every message has to come back with its tool calls.
    DeepSeek,
    /// Everyone else: the cap is `max_tokens`, reasoning stays away.
    Compatible,
}

/// A model over the Chat Completions API.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    dialect: Dialect,
}

impl OpenAi {
    /// Returns a provider for the API at `base`. Without a path, `/v1` is meant; a key is optional.
    #[must_use]
    pub fn new(service: Service, base: &Url) -> Self {
        let base = normalised(base);
        let dialect = match base.host_str() {
            Some(host) if host == "api.openai.com" || host.ends_with(".openai.azure.com") => Dialect::OpenAi,
            Some("api.deepseek.com") => Dialect::DeepSeek,
            _ if service.name == "deepseek" => Dialect::DeepSeek,
            _ => Dialect::Compatible,
        };
        let auth = service.key.clone().map_or(Auth::None, Auth::Bearer);
        Self { http: Http::new(service, base, auth), dialect }
    }

    /// Puts it behind a rate limiter that others may share.
    #[must_use]
    pub fn behind(self, gate: RateLimiter) -> Self {
        Self { http: self.http.behind(gate), ..self }
    }

    /// Sets up TLS in the background, so that the first request need not wait for it.
    pub fn warm(&self) {
        self.http.warm();
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
        &self.http.service().name
    }

    fn gate(&self) -> Option<&RateLimiter> {
        Some(self.http.gate())
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

/// Returns the body of a request as servers of this dialect want it.
///
/// # Errors
/// Returns a bad-request error if a tool's schema cannot be written as JSON.
pub fn request_body(request: &Request, dialect: Dialect) -> Result<Vec<u8>, ProviderError> {
    serde_json::to_vec(&wire::ChatBody::new(request, dialect))
        .map_err(|error| ProviderError::BadRequest { provider: "openai".to_owned(), detail: error.to_string() })
}

/// Returns a decoder for the bytes of an answer.
#[must_use]
pub fn feed(service: Service) -> Feed {
    Feed::new(service.clone(), Box::new(decode::ChatDecoder::new(service)))
}
