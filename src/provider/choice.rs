//! Who answers: from what the user wishes and what is configured to one service and one model.
//!
//! Owns the order `--model` > config > the key that is set > a local server > offline, and the forms of a model's name.
//! Leaves asking local servers to `discover`. Invariant: [`choose`] is pure; what it cannot serve is an error that says
//! what to set or write instead.

use std::net::IpAddr;
use std::sync::Arc;

use reqwest::Url;

use super::anthropic::{self, Anthropic, Credential};
use super::discover::{LocalEndpoint, LocalServer, local_endpoints};
use super::http::{is_loopback, without_secrets};
use super::openai::{self, OpenAi};
use super::rate_limiter::RateLimiters;
use super::{Model, Provider, Secret, Service, model};

/// The names that may stand before the `/` of a model.
pub const PROVIDERS: [&str; 8] =
    ["anthropic", "openai", "openrouter", "deepseek", "ollama", "lmstudio", "llamacpp", "offline"];

/// Longest name that is compared with those that are known, in bytes.
const LONGEST_NAME: usize = 64;
const OPENROUTER_BASE: &str = "https://openrouter.ai/api/v1";
const DEEPSEEK_BASE: &str = "https://api.deepseek.com";

/// What the environment says about providers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderEnv {
    /// `ANTHROPIC_API_KEY`
    pub anthropic_key: Option<Secret>,
    /// `ANTHROPIC_AUTH_TOKEN`
    pub anthropic_token: Option<Secret>,
    /// `ANTHROPIC_BASE_URL`
    pub anthropic_base: Option<String>,
    /// `OPENAI_API_KEY`
    pub openai_key: Option<Secret>,
    /// `OPENAI_BASE_URL`
    pub openai_base: Option<String>,
    /// `OPENROUTER_API_KEY`
    pub openrouter_key: Option<Secret>,
    /// `DEEPSEEK_API_KEY`
    pub deepseek_key: Option<Secret>,
    /// `OLLAMA_HOST`
    pub ollama_host: Option<String>,
    /// `OLLAMA_API_KEY`
    pub ollama_key: Option<Secret>,
    /// `LMSTUDIO_API_KEY`
    pub lmstudio_key: Option<Secret>,
    /// `LLAMACPP_API_KEY`
    pub llamacpp_key: Option<Secret>,
}

impl ProviderEnv {
    /// Reads the environment of this process. Blank variables count as not set.
    #[must_use]
    pub fn from_env() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        let key = |name: &str| text(name).as_deref().and_then(Secret::new);
        Self {
            anthropic_key: key("ANTHROPIC_API_KEY"),
            anthropic_token: key("ANTHROPIC_AUTH_TOKEN"),
            anthropic_base: text("ANTHROPIC_BASE_URL"),
            openai_key: key("OPENAI_API_KEY"),
            openai_base: text("OPENAI_BASE_URL"),
            openrouter_key: key("OPENROUTER_API_KEY"),
            deepseek_key: key("DEEPSEEK_API_KEY"),
            ollama_host: text("OLLAMA_HOST"),
            ollama_key: key("OLLAMA_API_KEY"),
            lmstudio_key: key("LMSTUDIO_API_KEY"),
            llamacpp_key: key("LLAMACPP_API_KEY"),
        }
    }
}

impl ProviderEnv {
    /// Returns every key and token, so that they can be kept out of logs.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let hosted =
            [&self.anthropic_key, &self.anthropic_token, &self.openai_key, &self.openrouter_key, &self.deepseek_key];
        let all = hosted.into_iter().chain([&self.ollama_key, &self.lmstudio_key, &self.llamacpp_key]);
        all.flatten().map(|secret| secret.expose().to_owned())
    }

    /// Returns where servers of the usual names are, each with its own key.
    fn local_endpoints(&self) -> Vec<LocalEndpoint> {
        let mut endpoints = local_endpoints(self.ollama_host.as_deref());
        for endpoint in &mut endpoints {
            endpoint.key = match endpoint.name.as_str() {
                "ollama" => self.ollama_key.clone(),
                "lmstudio" => self.lmstudio_key.clone(),
                "llamacpp" => self.llamacpp_key.clone(),
                _ => None,
            };
        }
        endpoints
    }

    /// Returns `true` if a service is asked at another address on this machine, where its prices say nothing.
    #[must_use]
    pub fn is_behind_gateway(&self, provider: &str) -> bool {
        let base = match provider {
            "anthropic" => &self.anthropic_base,
            "openai" => &self.openai_base,
            _ => return false,
        };
        base.as_ref().and_then(|base| base.trim().parse().ok()).is_some_and(|base: Url| is_loopback(&base))
    }
}

/// Everything that bears on the choice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelPreferences {
    /// The model named on the command line.
    pub flag: Option<String>,
    /// The model named in the config.
    pub config: Option<String>,
    /// The environment.
    pub env: ProviderEnv,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// This service; [`connect`] makes the provider.
    Connect(Endpoint),
    /// Whichever of these servers answers `find_local_server`.
    Probe {
        /// Where to look.
        endpoints: Vec<LocalEndpoint>,
        /// The model the server must have; `None` for any.
        model: Option<String>,
        /// What the user asked for; then finding no server is [`ChoiceError::NoServer`]. `None` if nothing was asked
        /// for; then the offline model answers.
        wish: Option<String>,
    },
    /// The built-in model.
    Offline,
}

/// A service, its key and the model to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Name of the service.
    pub provider: String,
    /// How it is spoken to.
    pub api: Api,
    /// Address of its API.
    pub base: Url,
    /// Id of the model.
    pub model: String,
}

impl Endpoint {
    /// Returns the host that gets a key or a password in clear over a network on which others may read along, if one
    /// does: plain `http://` to a host that is neither this machine nor at a private address.
    #[must_use]
    pub fn exposed_host(&self) -> Option<&str> {
        let has_key = match &self.api {
            Api::Anthropic(credential) => *credential != Credential::None,
            Api::OpenAi(key) => key.is_some(),
        };
        let has_secret = has_key || !self.base.username().is_empty() || self.base.password().is_some();
        let host = self.base.host_str()?;
        let is_exposed = has_secret && self.base.scheme() == "http" && !is_loopback(&self.base) && !is_private(host);
        is_exposed.then_some(host)
    }
}

/// Returns `true` for an address that is used within a house only. A name may lead anywhere.
fn is_private(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(address)) => address.is_private() || address.is_link_local(),
        Ok(IpAddr::V6(address)) => address.is_unique_local() || address.is_unicast_link_local(),
        Err(_) => false,
    }
}

/// The wire formats, with what authenticates a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Api {
    /// Messages API of Anthropic.
    Anthropic(Credential),
    /// Chat Completions API.
    OpenAi(Option<Secret>),
}

impl From<LocalServer> for Endpoint {
    fn from(server: LocalServer) -> Self {
        let LocalServer { endpoint: LocalEndpoint { name, base, key, .. }, model } = server;
        Self { provider: name, api: Api::OpenAi(key), base, model }
    }
}

/// Why no choice could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// The service needs a key.
    #[error("{provider} needs a key: set {variable}, or choose another model with --model {}.", forms())]
    MissingKey {
        /// The service.
        provider: String,
        /// Environment variable to set.
        variable: String,
    },
    /// A provider was named that has no model of its own to fall back on.
    #[error("{provider} needs the name of a model: --model {provider}/NAME.")]
    MissingModel {
        /// The service.
        provider: String,
    },
    /// A base URL cannot be read.
    #[error("{variable} is not an address ({value}). It has to look like http://host:port/v1.")]
    BadAddress {
        /// Environment variable it came from.
        variable: String,
        /// What it holds.
        value: String,
    },
    /// No server that was asked has what was wished for.
    #[error(
        "Nothing answers for {wish}{} Start its server, set the key of its service, or choose another model with --model {}.",
        meant_instead(wish),
        forms()
    )]
    NoServer {
        /// What was asked for.
        wish: String,
    },
    /// The server that was asked cannot be used.
    #[error("{words}")]
    Unusable {
        /// What is wrong and what to do.
        words: String,
    },
}

fn forms() -> &'static str {
    "PROVIDER/NAME, such as ollama/qwen3, or an alias, such as sonnet"
}

/// Returns the end of a sentence: the question whether a known name like this one is meant, if there is one.
fn meant_instead(wish: &str) -> String {
    let (head, rest) = wish.split_once('/').map_or((wish, None), |(head, rest)| (head, Some(rest)));
    let head: String = head.trim().to_ascii_lowercase();
    let known: Vec<&str> =
        if rest.is_some() { PROVIDERS.to_vec() } else { model::aliases().chain(PROVIDERS).collect() };
    let near =
        if head.len() > LONGEST_NAME { Vec::new() } else { similar::get_close_matches(head.as_str(), &known, 1, 0.7) };
    match (near.first(), rest) {
        (Some(near), _) if *near == head => ".".to_owned(),
        (Some(near), Some(rest)) => format!(": did you mean {near}/{}?", rest.trim()),
        (Some(near), None) => format!(": did you mean {near}?"),
        (None, _) => ".".to_owned(),
    }
}

/// Decides who answers.
///
/// # Errors
/// Returns an error if what was asked for cannot be served. A choice that nobody asked for never fails on a missing key.
pub fn choose(wishes: &ModelPreferences) -> Result<ModelChoice, ChoiceError> {
    let wish = wishes.flag.as_deref().or(wishes.config.as_deref()).map(str::trim).filter(|wish| !wish.is_empty());
    match wish {
        Some(wish) => wished(wish, &wishes.env),
        None => configured(&wishes.env),
    }
}

/// Makes the provider of a chosen endpoint, behind its rate limiter, and starts to set up TLS in the background where it is needed.
#[must_use]
pub fn connect(endpoint: Endpoint, rate_limiters: &RateLimiters) -> (Arc<dyn Provider>, Model) {
    let gate = rate_limiters.of(&endpoint);
    let Endpoint { provider: name, api, base, model } = endpoint;
    let mut model = model::lookup(&name, &model);
    if is_loopback(&base) && !model::is_local(&name) {
        // What a gateway asks for it, if anything, is not known.
        model.price = None;
    }
    let is_secure = base.scheme() == "https";
    let provider: Arc<dyn Provider> = match api {
        Api::Anthropic(credential) => {
            let provider = Anthropic::new(&base, credential).behind(gate);
            if is_secure {
                provider.warm();
            }
            Arc::new(provider)
        }
        Api::OpenAi(key) => {
            let provider = OpenAi::new(Service::new(&name, key_variable(&name), key), &base).behind(gate);
            if is_secure {
                provider.warm();
            }
            Arc::new(provider)
        }
    };
    (provider, model)
}

fn wished(wish: &str, env: &ProviderEnv) -> Result<ModelChoice, ChoiceError> {
    let (head, rest) = wish.split_once('/').map_or((wish, ""), |(head, rest)| (head, rest.trim()));
    let head = head.trim().to_ascii_lowercase();
    if PROVIDERS.contains(&head.as_str()) {
        return of_provider(&head, Some(rest).filter(|name| !name.is_empty()), wish, env);
    }
    if let Some((provider, id)) = model::alias(wish) {
        return of_provider(provider, Some(id), wish, env);
    }
    match model::home_of(wish) {
        // A gateway may have the model of a service whose key is not set.
        Some(home) if has_access(home, env) || env.openai_base.is_none() => of_provider(home, Some(wish), wish, env),
        _ if env.openai_base.is_some() => of_provider("openai", Some(wish), wish, env),
        _ if wish.contains('/') && env.openrouter_key.is_some() => of_provider("openrouter", Some(wish), wish, env),
        _ => Ok(probe(env.local_endpoints(), Some(wish), wish)),
    }
}

fn probe(endpoints: Vec<LocalEndpoint>, model: Option<&str>, wish: &str) -> ModelChoice {
    ModelChoice::Probe { endpoints, model: model.map(str::to_owned), wish: Some(wish.to_owned()) }
}

fn has_access(provider: &str, env: &ProviderEnv) -> bool {
    match provider {
        "anthropic" => env.anthropic_key.is_some() || env.anthropic_token.is_some() || env.anthropic_base.is_some(),
        "openai" => env.openai_key.is_some() || env.openai_base.is_some(),
        "deepseek" => env.deepseek_key.is_some(),
        _ => false,
    }
}

fn of_provider(provider: &str, model: Option<&str>, wish: &str, env: &ProviderEnv) -> Result<ModelChoice, ChoiceError> {
    let model = model.map(|name| model::lookup(provider, name).id);
    let keyed = |key: &Option<Secret>, base: &str| {
        let key = key.clone().ok_or_else(|| missing_key(provider))?;
        let model = model.clone().or_else(|| model::default_id(provider).map(str::to_owned));
        let model = model.ok_or_else(|| ChoiceError::MissingModel { provider: provider.to_owned() })?;
        let base = address(base, "the built-in address")?;
        Ok(ModelChoice::Connect(Endpoint { provider: provider.to_owned(), api: Api::OpenAi(Some(key)), base, model }))
    };
    match provider {
        "offline" => Ok(ModelChoice::Offline),
        "anthropic" => claude(model, env),
        "openai" => gpt(model, Some(wish), env),
        "openrouter" => keyed(&env.openrouter_key, OPENROUTER_BASE),
        "deepseek" => keyed(&env.deepseek_key, DEEPSEEK_BASE),
        local => {
            let mut endpoints = env.local_endpoints();
            endpoints.retain(|endpoint| endpoint.name == local);
            for endpoint in &mut endpoints {
                endpoint.is_named = true;
            }
            match (endpoints.pop(), model) {
                (Some(LocalEndpoint { name, base, key, .. }), Some(model)) => {
                    Ok(ModelChoice::Connect(Endpoint { provider: name, api: Api::OpenAi(key), base, model }))
                }
                (endpoint, _) => Ok(probe(endpoint.into_iter().collect(), None, wish)),
            }
        }
    }
}

fn claude(model: Option<String>, env: &ProviderEnv) -> Result<ModelChoice, ChoiceError> {
    let credential = match (&env.anthropic_key, &env.anthropic_token, &env.anthropic_base) {
        (Some(key), _, _) => Credential::Key(key.clone()),
        (None, Some(token), _) => Credential::Token(token.clone()),
        // A gateway adds its own key.
        (None, None, Some(_)) => Credential::None,
        (None, None, None) => return Err(missing_key("anthropic")),
    };
    let base = address(env.anthropic_base.as_deref().unwrap_or(anthropic::BASE), "ANTHROPIC_BASE_URL")?;
    let model = model.or_else(|| model::default_id("anthropic").map(str::to_owned));
    let model = model.ok_or_else(|| ChoiceError::MissingModel { provider: "anthropic".to_owned() })?;
    Ok(ModelChoice::Connect(Endpoint {
        provider: "anthropic".to_owned(),
        api: Api::Anthropic(credential),
        base,
        model,
    }))
}

fn gpt(model: Option<String>, wish: Option<&str>, env: &ProviderEnv) -> Result<ModelChoice, ChoiceError> {
    if env.openai_key.is_none() && env.openai_base.is_none() {
        return Err(missing_key("openai"));
    }
    let base = address(env.openai_base.as_deref().unwrap_or(openai::BASE), "OPENAI_BASE_URL")?;
    let is_own = base.host_str() == Some("api.openai.com");
    let key = env.openai_key.clone();
    let name = "openai".to_owned();
    // Which models another server has, only that server knows.
    let model = match model {
        None if is_loopback(&base) || !(is_own || key.is_some()) => {
            let endpoints = vec![LocalEndpoint { name, base: openai::normalised(&base), key, is_named: true }];
            return Ok(ModelChoice::Probe {
                endpoints,
                model: None,
                wish: Some(wish.map_or_else(|| format!("OPENAI_BASE_URL ({})", without_secrets(&base)), str::to_owned)),
            });
        }
        model => model.or_else(|| model::default_id("openai").map(str::to_owned)),
    };
    let model = model.ok_or_else(|| ChoiceError::MissingModel { provider: name.clone() })?;
    Ok(ModelChoice::Connect(Endpoint { provider: name, api: Api::OpenAi(key), base, model }))
}

/// Chooses when nothing was asked for.
fn configured(env: &ProviderEnv) -> Result<ModelChoice, ChoiceError> {
    if env.anthropic_key.is_some() || env.anthropic_token.is_some() {
        return claude(None, env);
    }
    if env.openai_key.is_some() || env.openai_base.is_some() {
        return gpt(None, None, env);
    }
    for (provider, key) in [("openrouter", &env.openrouter_key), ("deepseek", &env.deepseek_key)] {
        if key.is_some() {
            return of_provider(provider, None, provider, env);
        }
    }
    if env.anthropic_base.is_some() {
        return claude(None, env);
    }
    Ok(ModelChoice::Probe { endpoints: env.local_endpoints(), model: None, wish: None })
}

fn missing_key(provider: &str) -> ChoiceError {
    ChoiceError::MissingKey { provider: provider.to_owned(), variable: key_variable(provider).to_owned() }
}

/// Returns the environment variable that holds the key of a service.
pub(super) fn key_variable(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "ANTHROPIC_API_KEY",
        "ollama" => "OLLAMA_API_KEY",
        "lmstudio" => "LMSTUDIO_API_KEY",
        "llamacpp" => "LLAMACPP_API_KEY",
        "openrouter" => "OPENROUTER_API_KEY",
        "deepseek" => "DEEPSEEK_API_KEY",
        _ => "OPENAI_API_KEY",
    }
}

fn address(text: &str, variable: &str) -> Result<Url, ChoiceError> {
    // A name and a password may stand before the host.
    let value = text.trim().rsplit('@').next().unwrap_or_default();
    let bad = || ChoiceError::BadAddress { variable: variable.to_owned(), value: value.to_owned() };
    let url: Url = text.trim().parse().map_err(|_| bad())?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty());
    if is_web { Ok(url) } else { Err(bad()) }
}
