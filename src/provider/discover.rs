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
use super::lenient::Text;
use super::openai::normalised;
use super::{ErrorKind, ProviderError};
use crate::message::{WireFormat, sanitize_line};

/// How long to look for servers on this machine unasked.
pub const BUDGET: Duration = Duration::from_millis(200);
/// How long to wait for the list of a server that the user named: to reach it, and for its answer.
pub const NAMED_TIMEOUT: Duration = Duration::from_secs(20);
/// Models of a server that an error names.
const NAMED_MODELS: usize = 5;
/// Where a service lists its models: all at once, as far as it lets us.
const ANTHROPIC_LIST: &str = "/models?limit=1000";
const GEMINI_LIST: &str = "/models?pageSize=1000";
/// Longest list of models that is read.
pub(super) const LIST_CAP: usize = 1024 * 1024;
/// Smallest context that a list is believed, in tokens.
pub(super) const LEAST_WINDOW: u64 = 1_024;

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
            let fits = |model: &&ListedModel| {
                wanted.map_or_else(|| writes_text(&model.id), |wanted| is_same_model(&model.id, wanted))
            };
            match models.iter().find(fits).cloned() {
                Some(ListedModel { id: model, context_window }) => {
                    Ok(ModelEndpoint { endpoint: endpoint.clone(), model, context_window })
                }
                None => Err(miss(Why::Lacks(models.into_iter().map(|model| model.id).collect()))),
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

/// A model as its service lists it: each in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedModel {
    pub(super) id: String,
    /// In tokens, where the service says it.
    pub(super) context_window: Option<u64>,
}

/// Returns the models that a service lists and that write text.
pub(super) async fn listed(endpoint: &Endpoint) -> Result<Vec<ListedModel>, Why> {
    let mut models = match endpoint.provider.wire {
        WireFormat::OpenAi | WireFormat::Responses => models_of(endpoint).await?,
        WireFormat::Anthropic => {
            let body = list(&Http::new(endpoint.service(), &endpoint.base), ANTHROPIC_LIST).await?;
            read::<Listing<'_>>(&body)?.models()
        }
        // It lists none.
        WireFormat::AnthropicVertex => return Err(Why::NoList),
        WireFormat::Gemini => {
            let body = list(&Http::new(endpoint.service(), &endpoint.base), GEMINI_LIST).await?;
            read::<GeminiListing<'_>>(&body)?.models()
        }
    };
    models.retain(|model| writes_text(&model.id));
    Ok(models)
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Listing<'a> {
    #[serde(default)]
    object: String,
    /// Ollama sends null where there is none.
    data: Option<Vec<Listed<'a>>>,
}

/// A model of a list. Each service has its own word for the size of the context.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Listed<'a> {
    id: String,
    #[serde(default, alias = "context_window", alias = "max_context_length", alias = "max_model_len")]
    #[serde(alias = "max_input_tokens")]
    context_length: Text<'a>,
}

impl Listing<'_> {
    fn models(self) -> Vec<ListedModel> {
        let model = |listed: Listed<'_>| ListedModel { context_window: window(&listed.context_length), id: listed.id };
        self.data.unwrap_or_default().into_iter().map(model).collect()
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct GeminiListing<'a> {
    models: Vec<GeminiListed<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct GeminiListed<'a> {
    name: String,
    #[serde(default)]
    input_token_limit: Text<'a>,
    #[serde(default)]
    supported_generation_methods: Option<Vec<String>>,
}

impl GeminiListing<'_> {
    fn models(self) -> Vec<ListedModel> {
        let answers = |listed: &GeminiListed<'_>| {
            let methods = listed.supported_generation_methods.as_ref();
            methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
        };
        let model = |listed: GeminiListed<'_>| ListedModel {
            id: listed.name.strip_prefix("models/").unwrap_or(&listed.name).to_owned(),
            context_window: window(&listed.input_token_limit),
        };
        self.models.into_iter().filter(answers).map(model).collect()
    }
}

/// Returns the size of a context as a list says it; a model that holds next to nothing is a mistake of the list.
fn window(tokens: &Text<'_>) -> Option<u64> {
    tokens.tokens().filter(|tokens| *tokens >= LEAST_WINDOW)
}

async fn list(http: &Http, path: &str) -> Result<Vec<u8>, Why> {
    http.get(path, LIST_CAP).await.map_err(|(error, status)| Why::Refused(error, status))
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Why> {
    serde_json::from_slice(body).map_err(|_| Why::NoList)
}

pub(super) async fn models_of(endpoint: &Endpoint) -> Result<Vec<ListedModel>, Why> {
    let body = list(&Http::at(endpoint.service(), normalised(&endpoint.base)), "/models").await?;
    let listing: Listing<'_> = read(&body)?;
    if listing.object == "list" { Ok(listing.models()) } else { Err(Why::NoList) }
}

/// Ollama lists `qwen3:latest` for what people call `qwen3`.
pub(super) fn is_same_model(id: &str, wanted: &str) -> bool {
    id == wanted || id.strip_suffix(":latest") == Some(wanted)
}

/// Returns `true` if the name is that of a model that writes text, and not vectors, speech or rankings.
fn writes_text(id: &str) -> bool {
    let id = id.to_lowercase();
    let others = ["embed", "bge-", "minilm", "gte-", "e5-", "rerank", "whisper", "tts", "clip", "-image"];
    !id.is_empty() && !others.iter().any(|word| id.contains(word))
}
