//! Finds a model server: at the usual ports of this machine, or where the user says that one is.
//!
//! Owns the judgement whether an answer comes from a model server, and the words for one that cannot
//! be used. Leaves what to do with the find to `choice`. Invariants: all addresses are asked at once, each within its
//! time; an unrelated web server on one of the ports does not count.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesOrdered;
use serde::Deserialize;

use super::choice::{Endpoint, ModelEndpoint};
use super::http::Http;
use super::openai::normalised;
use super::{ErrorKind, ProviderError};
use crate::message::{WireFormat, sanitize_line};

/// How long to look for servers on this machine unasked.
pub const BUDGET: Duration = Duration::from_millis(200);
/// How long to wait for the list of a server that the user named: to reach it, and for its answer.
pub const NAMED_TIMEOUT: Duration = Duration::from_secs(20);
/// Models of a server that an error names.
const NAMED_MODELS: usize = 5;
/// Where a service lists its models.
const ANTHROPIC_LIST: &str = "/models";
/// Longest list of models that is read.
const LIST_CAP: usize = 1024 * 1024;

/// An address where no model was found that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    pub endpoint: Endpoint,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It does not list its models: the error, and the status of its answer if there is one.
    Refused(ProviderError, Option<u16>),
    /// It answers too late.
    Late,
    /// What it answers is no list of models.
    NoList,
    /// It does not have the model; holds those it has.
    Lacks(Vec<String>),
}

impl Miss {
    /// Returns `true` if a model server is there, as far as is known.
    pub fn is_server(&self) -> bool {
        match &self.why {
            Why::Refused(_, status) => matches!(status, Some(401 | 403 | 503)),
            Why::Lacks(models) => !models.is_empty(),
            Why::Late | Why::NoList => false,
        }
    }

    /// Says what is wrong and what to do. `wanted` is the model that it should have had.
    pub fn words(&self, wanted: Option<&str>) -> String {
        let Endpoint { provider, base, .. } = &self.endpoint;
        let (place, name, key) = (self.endpoint.place(), &provider.name, self.endpoint.service().key_hint());
        let name_one = format!("name one with --model {name}/NAME");
        match &self.why {
            Why::Refused(error, Some(status)) if error.kind == ErrorKind::Authentication => {
                format!("{place} answered {status}: check {key}.")
            }
            Why::Refused(error, Some(status)) if error.kind == ErrorKind::MissingKey => {
                let start =
                    if self.endpoint.is_named { String::new() } else { format!(" and start with --model {name}") };
                format!("{place} answered {status}: set {key}{start}.")
            }
            Why::Refused(_, Some(status @ (404 | 405))) => {
                format!(
                    "{place} does not list its models ({status} for {}/models): {name_one}.",
                    normalised(base).path()
                )
            }
            Why::Refused(_, Some(503)) => format!("{place} is still loading its model (503): try again in a moment."),
            Why::Refused(error, Some(_)) => format!("{error} To use it without listing its models, {name_one}."),
            Why::Refused(error, None) => error.to_string(),
            Why::Late => format!("{place} did not list its models in time: {name_one}."),
            Why::NoList => {
                format!("{place} did not answer with a list of models: check the address, or {name_one}.")
            }
            Why::Lacks(models) => {
                let missing = wanted.map_or_else(|| "no text model".to_owned(), |wanted| format!("no model {wanted}"));
                let mut has =
                    models.iter().take(NAMED_MODELS).map(|id| sanitize_line(id)).collect::<Vec<_>>().join(", ");
                if models.len() > NAMED_MODELS {
                    has = format!("{has} and {} more", models.len() - NAMED_MODELS);
                }
                let has = if models.is_empty() { "none".to_owned() } else { has };
                format!("{place} has {missing}; it has {has}.")
            }
        }
    }
}

/// Asks all endpoints at once and returns the first, in their order, that has a model; else why each of them has none.
///
/// With `wanted`, only a server that has this model counts; otherwise its first model that writes text is taken. One
/// that the user named gets its own time, the others get `budget`. On failure, returns what was found in place of a
/// model.
pub async fn find_local_server(
    endpoints: &[Endpoint],
    wanted: Option<&str>,
    budget: Duration,
) -> Result<ModelEndpoint, Vec<Miss>> {
    let mut answers: FuturesOrdered<_> = endpoints
        .iter()
        .map(|endpoint| async move {
            let time = if endpoint.is_named { NAMED_TIMEOUT.max(budget) } else { budget };
            let miss = |why| Miss { endpoint: endpoint.clone(), why };
            // To fetch a key may take longer: the user may have to unlock it.
            endpoint.service().key().await.map_err(|error| miss(Why::Refused(error, None)))?;
            let models = tokio::time::timeout(time, models_of(endpoint)).await.unwrap_or(Err(Why::Late));
            let models = models.map_err(miss)?;
            let fits = |id: &&String| wanted.map_or_else(|| writes_text(id), |wanted| is_same_model(id, wanted));
            match models.iter().find(fits).cloned() {
                Some(model) => Ok(ModelEndpoint { endpoint: endpoint.clone(), model }),
                None => Err(miss(Why::Lacks(models))),
            }
        })
        .collect();
    let mut misses = Vec::new();
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(server) => return Ok(server),
            Err(miss) => misses.push(miss),
        }
    }
    Err(misses)
}

/// Returns the ids of the models that a service lists and that write text.
pub(super) async fn listed(endpoint: &Endpoint) -> Result<Vec<String>, Why> {
    let mut models = match endpoint.provider.wire {
        WireFormat::OpenAi | WireFormat::Responses => models_of(endpoint).await?,
        WireFormat::Anthropic => {
            let http = Http::new(endpoint.service(), &endpoint.base);
            let body =
                http.get(ANTHROPIC_LIST, LIST_CAP).await.map_err(|(error, status)| Why::Refused(error, status))?;
            let listing: Listing = serde_json::from_slice(&body).map_err(|_| Why::NoList)?;
            listing.data.unwrap_or_default().into_iter().map(|model| model.id).collect()
        }
    };
    models.retain(|id| writes_text(id));
    Ok(models)
}

#[derive(Deserialize)]
struct Listing {
    #[serde(default)]
    object: String,
    /// Ollama sends null where there is none.
    data: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

async fn models_of(endpoint: &Endpoint) -> Result<Vec<String>, Why> {
    let http = Http::at(endpoint.service(), normalised(&endpoint.base));
    let body = http.get("/models", LIST_CAP).await.map_err(|(error, status)| Why::Refused(error, status))?;
    let listing: Listing = serde_json::from_slice(&body).map_err(|_| Why::NoList)?;
    if listing.object != "list" {
        return Err(Why::NoList);
    }
    Ok(listing.data.unwrap_or_default().into_iter().map(|model| model.id).collect())
}

/// Ollama lists `qwen3:latest` for what people call `qwen3`.
fn is_same_model(id: &str, wanted: &str) -> bool {
    id == wanted || id.strip_suffix(":latest") == Some(wanted)
}

/// Returns `true` if the name is that of a model that writes text, and not vectors, speech or rankings.
fn writes_text(id: &str) -> bool {
    let id = id.to_lowercase();
    let others = ["embed", "bge-", "minilm", "gte-", "e5-", "rerank", "whisper", "tts", "clip"];
    !id.is_empty() && !others.iter().any(|word| id.contains(word))
}
