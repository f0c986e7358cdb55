//! Who answers: from what the user wishes and what is configured to one service and one model.
//!
//! Owns the order `--model` > config > the key that is set > a local server > offline, and the forms of a model's name.
//! Leaves the services to `table` and asking local servers to `discover`. Invariant: [`choose`] is pure; what it cannot
//! serve is an error that says what to set or write instead.

use std::sync::Arc;

use reqwest::Url;

use super::http::{Http, is_loopback, is_private, without_secrets};
use super::rate_limiter::RateLimiters;
use super::service::Credential;
use super::table::{ProviderEnv, ProviderTable, RequiredService, is_home};
use super::{Model, Provider, Service, Transport, model};
use crate::message::ProviderRow;

/// Name of the built-in model, in the place of a service.
const OFFLINE: &str = "offline";
/// Longest name that is compared with those that are known, in bytes.
const LONGEST_NAME: usize = 64;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelPreferences {
    pub flag: Option<String>,
    pub config: Option<String>,
    /// What settings made for another program name; it counts where its service is at hand.
    pub settings: Option<String>,
    pub env: ProviderEnv,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// This service; [`connect`] makes the provider.
    Connect(ModelEndpoint),
    /// Whichever of these servers answers `find_local_server`.
    Probe {
        endpoints: Vec<Endpoint>,
        /// The model the server must have; `None` for any.
        model: Option<String>,
        /// What the user asked for; then finding no server is [`ChoiceError::NoServer`]. `None` if nothing was asked
        /// for; then the offline model answers.
        wish: Option<String>,
        /// Why services that are set up in part are not among them.
        left_out: Vec<ChoiceError>,
    },
    Offline,
}

/// A service at an address, with what authenticates requests to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub provider: Arc<ProviderRow>,
    pub base: Url,
    pub credential: Credential,
    pub transport: Arc<Transport>,
    /// Whether the user named it, and it is not a guess.
    pub is_named: bool,
}

/// An endpoint and the model to use there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEndpoint {
    pub endpoint: Endpoint,
    pub model: String,
    /// The size of its context in tokens, if its server has said it.
    pub context_window: Option<u64>,
}

impl Endpoint {
    fn new(row: &Arc<ProviderRow>, env: &ProviderEnv) -> Result<Self, ChoiceError> {
        let (base, is_named) = env.base(row)?;
        let (credential, transport) = (env.credential(row), env.transport(row)?);
        let service = Service::new(row.clone(), credential.clone());
        if let Some(header) = service.key_header().filter(|header| transport.headers.contains_key(*header)) {
            let (name, hint) = (&row.name, service.key_hint());
            let words =
                format!("`providers.{name}`: `headers` sets `{header}`, and so does {hint}. Remove one of both.");
            return Err(ChoiceError::Unusable { words });
        }
        Ok(Self { provider: row.clone(), base, credential, transport, is_named })
    }

    /// Returns where a service is asked that the user has access to; the address counts as named.
    pub(super) fn at_hand(row: &Arc<ProviderRow>, env: &ProviderEnv) -> Result<Self, ChoiceError> {
        let endpoint = Self::new(row, env)?;
        Ok(Self { is_named: endpoint.is_named || !row.local, ..endpoint })
    }

    /// Returns the service as errors show it. No key and no header goes to an address that is only guessed.
    pub(super) fn service(&self) -> Service {
        let (credential, transport) = if self.is_named {
            (self.credential.clone(), self.transport.clone())
        } else {
            (Credential::None, Arc::default())
        };
        Service::new(self.provider.clone(), credential).over(transport).at(&self.base)
    }

    /// Returns `true` if the service is at its own address, and no variable leads elsewhere.
    pub(super) fn is_at_home(&self) -> bool {
        is_home(&self.provider, &self.base)
    }

    pub fn place(&self) -> String {
        self.service().shown().to_owned()
    }

    /// Returns the host that gets a key or a password in clear over a network on which others may read along, if one
    /// does: plain `http://` to a host that is neither this machine nor at a private address.
    pub fn exposed_host(&self) -> Option<&str> {
        let has_login = !self.base.username().is_empty() || self.base.password().is_some();
        let has_secret = has_login || self.credential != Credential::None || !self.transport.headers.is_empty();
        let host = self.base.host_str()?;
        let is_exposed =
            has_secret && self.base.scheme() == "http" && !is_loopback(&self.base) && !is_private(&self.base);
        is_exposed.then_some(host)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error(
        "{provider} needs an API key: set {variable}, run belvedere keys set {provider}, or choose another model with --model {}.",
        forms()
    )]
    MissingKey { provider: String, variable: String },
    #[error("{provider} needs to know where it is: set {variable}, or choose another model with --model {}.", forms())]
    MissingPlace { provider: String, variable: String },
    /// A provider was named that has no model of its own to fall back on.
    #[error("{provider} needs a model name: --model {provider}/NAME.")]
    MissingModel { provider: String },
    #[error("{variable} is not a URL ({value}). Write it like http://host:port/v1.")]
    BadAddress { variable: String, value: String },
    /// No server that was asked has what was wished for.
    #[error(
        "No model {wish:?}{question} Start its server, set its service's key, or choose another model with --model {}.",
        forms()
    )]
    NoServer {
        wish: String,
        /// The end of the sentence: the question whether a known name is meant.
        question: String,
    },
    /// Nobody is there to see that the offline model answers in the place of one.
    #[error("{}No model connected. {advice}", reason.as_ref().map(|reason| format!("{reason} ")).unwrap_or_default())]
    NoModel { reason: Option<String>, advice: String },
    #[error("{words}")]
    Unusable { words: String },
}

fn forms() -> &'static str {
    "PROVIDER/NAME, such as ollama/qwen3, or an alias, such as sonnet"
}

impl ChoiceError {
    /// Returns the error for a wish that no server fulfils.
    #[must_use]
    pub fn no_server(wish: String, table: &ProviderTable) -> Self {
        Self::NoServer { question: meant_instead(&wish, table), wish }
    }
}

/// Returns the end of a sentence: the question whether a known name like this one is meant, else a full stop.
pub fn meant_instead(wish: &str, table: &ProviderTable) -> String {
    let (head, rest) = wish.split_once('/').map_or((wish, None), |(head, rest)| (head, Some(rest)));
    let head: String = head.trim().to_ascii_lowercase();
    let mut known: Vec<&str> = model::aliases().filter(|_| rest.is_none()).collect();
    known.extend(table.rows().map(|row| row.name.as_str()));
    known.push(OFFLINE);
    let near =
        if head.len() > LONGEST_NAME { Vec::new() } else { similar::get_close_matches(head.as_str(), &known, 1, 0.7) };
    match (near.first(), rest) {
        (Some(near), _) if *near == head => ".".to_owned(),
        (Some(near), Some(rest)) => format!("; did you mean {near}/{}?", rest.trim()),
        (Some(near), None) => format!("; did you mean {near}?"),
        (None, _) => ".".to_owned(),
    }
}

/// Decides who answers. Returns an error if what was asked for cannot be served. A choice that nobody asked for never
/// fails on a missing key.
pub fn choose(wishes: &ModelPreferences) -> Result<ModelChoice, ChoiceError> {
    let wish = wishes.flag.as_deref().or(wishes.config.as_deref()).map(str::trim).filter(|wish| !wish.is_empty());
    if let Some(wish) = wish {
        return wished(wish, &wishes.env);
    }
    let of_settings = wishes.settings.as_deref().map(|wish| wished(wish.trim(), &wishes.env));
    match (of_settings, &wishes.env.required) {
        (_, Some(RequiredService { unusable: Some(words), .. })) => Err(ChoiceError::Unusable { words: words.clone() }),
        (Some(Ok(choice @ ModelChoice::Connect(_))), _) => Ok(choice),
        (Some(Err(error)), Some(RequiredService { variable, .. })) => {
            Err(ChoiceError::Unusable { words: format!("{variable} chooses the service. {error}") })
        }
        _ => configured(&wishes.env),
    }
}

/// Makes the provider of a chosen endpoint, behind its rate limiter, and starts to set up TLS in the background where it
/// is needed.
pub fn connect(chosen: ModelEndpoint, rate_limiters: &RateLimiters) -> (Arc<dyn Provider>, Model) {
    let gate = rate_limiters.of(&chosen.endpoint);
    let Endpoint { provider: row, base, credential, transport, .. } = chosen.endpoint;
    let mut model = model::lookup(&row, &chosen.model);
    model.context_window = chosen.context_window.or(model.context_window);
    if is_loopback(&base) && !row.local {
        // What a gateway asks for it, if anything, is not known.
        model.price = None;
    }
    let provider = Http::new(Service::new(row, credential).over(transport), &base).behind(gate);
    provider.warm();
    (Arc::new(provider), model)
}

fn wished(wish: &str, env: &ProviderEnv) -> Result<ModelChoice, ChoiceError> {
    let (head, rest) = wish.split_once('/').map_or((wish, ""), |(head, rest)| (head.trim(), rest.trim()));
    if head.eq_ignore_ascii_case(OFFLINE) {
        return Ok(ModelChoice::Offline);
    }
    let hosted = || env.table.rows().filter(|row| !row.local);
    let open_gateway = || hosted().find(|row| row.set_up.is_gateway && env.is_moved(row));
    // To a gateway, the names of services may be parts of the names of models.
    let is_name_of_gateway = |row| !rest.is_empty() && !env.has_access(row) && open_gateway().is_some();
    if let Some(row) = env.table.get(head).filter(|row| !is_name_of_gateway(row)) {
        return at(row, Some(rest).filter(|name| !name.is_empty()), Some(wish), env);
    }
    if let Some((provider, _)) = model::alias(wish) {
        let provider =
            env.required.as_ref().filter(|_| model::is_size(wish)).map_or(provider, |required| required.service);
        if let Some(row) = env.table.get(provider) {
            return at(row, Some(wish), Some(wish), env);
        }
    }
    let openai = || hosted().find(|row| row.wire.is_openai() && env.is_moved(row));
    let gateway = || openai().or_else(open_gateway);
    let reseller = || hosted().find(|row| wish.contains('/') && row.any_model && env.has_access(row));
    let found = match model::home_of(wish).and_then(|home| env.table.get(home)) {
        // A gateway may have the model of a service whose key is not set.
        Some(home) if env.has_access(home) || gateway().is_none() => Some(home),
        _ => gateway().or_else(reseller),
    };
    if let Some(row) = found {
        return at(row, Some(wish), Some(wish), env);
    }
    let wish = Some(wish.to_owned());
    probe(wish.clone(), wish, env, Vec::new())
}

fn configured(env: &ProviderEnv) -> Result<ModelChoice, ChoiceError> {
    let hosted = || env.table.rows().filter(|row| !row.local);
    // An address alone counts as much as a key where the server can be asked what it has.
    let is_ready = |row: &&Arc<ProviderRow>| {
        env.credential(row) != Credential::None
            || env.lacks_key_header(row)
            || row.wire.is_openai() && env.is_moved(row)
    };
    // A key may be there for another program, which knows where the service is.
    let is_placed = |row: &&Arc<ProviderRow>| !matches!(env.base(row), Err(ChoiceError::MissingPlace { .. }));
    let placed = || hosted().filter(is_placed);
    // Whatever else is wrong with the first one is an error: the user means that service, and no other one answers.
    if let Some(row) = placed().find(is_ready).or_else(|| placed().find(|row| env.has_access(row))) {
        return at(row, None, None, env);
    }
    let unplaced = hosted().filter(is_ready).filter_map(|row| env.base(row).err()).collect();
    probe(None, None, env, unplaced)
}

/// Returns the choice of whichever local server has the model.
fn probe(
    model: Option<String>,
    wish: Option<String>,
    env: &ProviderEnv,
    mut left_out: Vec<ChoiceError>,
) -> Result<ModelChoice, ChoiceError> {
    let mut endpoints = Vec::new();
    for row in env.table.rows().filter(|row| row.local) {
        match env.transport(row) {
            Ok(_) => endpoints.push(Endpoint::new(row, env)?),
            Err(error) => left_out.push(error),
        }
    }
    Ok(ModelChoice::Probe { endpoints, model, wish, left_out })
}

/// Chooses this service, for a wish that led to it.
fn at(
    row: &Arc<ProviderRow>,
    model: Option<&str>,
    wish: Option<&str>,
    env: &ProviderEnv,
) -> Result<ModelChoice, ChoiceError> {
    let provider = row.name.clone();
    env.transport(row)?;
    if !env.has_access(row) {
        return Err(ChoiceError::MissingKey { provider, variable: row.key_hint() });
    }
    let endpoint = Endpoint { is_named: true, ..Endpoint::new(row, env)? };
    // Which models a server has that is not the service itself, only that server knows.
    let is_unknown =
        !is_home(row, &endpoint.base) && (is_loopback(&endpoint.base) || endpoint.credential == Credential::None);
    let must_ask = row.wire.is_openai() && (row.model.is_none() || is_unknown);
    if model.is_none() && must_ask {
        let name = row.url_env.clone().filter(|_| env.is_moved(row)).unwrap_or(provider);
        let wish = wish.map_or_else(|| format!("{name} ({})", without_secrets(&endpoint.base)), str::to_owned);
        return Ok(ModelChoice::Probe {
            endpoints: vec![endpoint],
            model: None,
            wish: Some(wish),
            left_out: Vec::new(),
        });
    }
    let name = model.or(row.model.as_deref()).ok_or(ChoiceError::MissingModel { provider })?;
    let Model { id, context_window, .. } = model::lookup(row, name);
    let context_window = env.listed_window(&row.name, &id).or(context_window);
    Ok(ModelChoice::Connect(ModelEndpoint { endpoint, model: id, context_window }))
}
