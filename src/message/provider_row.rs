//! A service that answers for models, as a row of data: where it is, how it is spoken to, which variable holds its key.
//!
//! Owns the keys of a row and what each may hold. Leaves the built-in rows to `assets/models.toml`, those of the user to
//! `config`, and what is done with them to `provider`. Invariant: a row holds no key, only the name of its variable.

use std::collections::BTreeMap;

use reqwest::Url;
use reqwest::header::HeaderName;
use serde::{Deserialize, Deserializer};

use super::ServiceSearch;

/// Names that stand for something else in the place of a provider.
const RESERVED: [&str; 3] = ["offline", "demo", "scripted"];
const MAX_NAME_CHARS: usize = 40;
/// A service, as `[providers.NAME]` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderRow {
    /// What stands before the `/` of a model: the name of the table.
    #[serde(skip)]
    pub name: String,
    /// What people call it, if not by its name.
    pub display: Option<String>,
    pub wire: WireFormat,
    #[serde(deserialize_with = "web_address")]
    pub url: Url,
    /// Words of `url` that the values of variables take the place of, such as a region.
    #[serde(default)]
    pub url_words: BTreeMap<String, String>,
    /// Variable that puts another address in the place of `url`.
    pub url_env: Option<String>,
    /// Variable that says where the server is: `host`, `host:port`, `:port` or an address.
    pub host_env: Option<String>,
    pub key_env: Option<String>,
    /// Other variables that may hold the key, if that one is not set.
    #[serde(default)]
    pub other_key_envs: Vec<String>,
    /// Header that carries the key, if not the one of the wire format.
    pub key_header: Option<String>,
    /// Variable that holds a token, which is sent as `Authorization: Bearer` in the place of a key.
    pub token_env: Option<String>,
    /// The model that is used when none is named.
    pub model: Option<String>,
    /// What it has for the words that stand for a size of model.
    pub sizes: Option<ModelSizes>,
    #[serde(default)]
    pub dialect: Dialect,
    /// Ends of the names of other hosts that speak this dialect.
    #[serde(default)]
    pub dialect_hosts: Vec<String>,
    /// Whether the user runs it: it costs nothing, needs no key and says itself which models it has.
    #[serde(default)]
    pub local: bool,
    /// The built-in service whose models it serves as they are there.
    pub models_of: Option<String>,
    /// Whether it has the models of all makers.
    #[serde(default)]
    pub any_model: bool,
    /// Whether it reads PDF documents.
    #[serde(default)]
    pub documents: bool,
    /// How it searches the web itself, if it does.
    pub web_search: Option<ServiceSearch>,
    /// What the user's set-up of another program says of its models.
    #[serde(skip)]
    pub set_up: ModelSetup,
}

/// What the user's set-up of another program says of a service's models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelSetup {
    /// Models by the short names that stand for them, in small letters.
    pub names: BTreeMap<String, String>,
    /// Most output tokens to ask for.
    pub max_output_tokens: Option<u32>,
    /// The size of the context in tokens.
    pub context_window: Option<u64>,
    /// Whether a gateway answers, which may have models of any name.
    pub is_gateway: bool,
    /// How long it is to keep what it has read.
    pub cache_ttl: CacheTtl,
}

/// How long a service is to keep what it has read of a conversation, where it can be told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheTtl {
    /// An hour once a conversation waits for subagents, and five minutes before.
    #[default]
    Auto,
    FiveMinutes,
    Hour,
}

impl CacheTtl {
    /// Returns the name, as settings have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::FiveMinutes => "5m",
            Self::Hour => "1h",
        }
    }

    /// Returns the one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Auto, Self::FiveMinutes, Self::Hour].into_iter().find(|ttl| ttl.name() == name)
    }
}

/// How a service is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireFormat {
    /// The Messages API.
    Anthropic,
    /// The Chat Completions API.
    OpenAi,
    /// The Responses API.
    Responses,
    /// The API of Gemini.
    Gemini,
    /// The Messages API as Google's Vertex AI serves it: the model is part of the address.
    #[serde(rename = "anthropic-vertex")]
    AnthropicVertex,
}

impl WireFormat {
    /// Returns `true` for the APIs of OpenAI, which many servers imitate, and which list the models of a server.
    #[must_use]
    pub fn is_openai(self) -> bool {
        matches!(self, Self::OpenAi | Self::Responses)
    }
}

/// What a service wants written differently from others that speak its wire format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Nothing. Of Chat Completions: the cap is `max_tokens`, reasoning stays away.
    #[default]
    Compatible,
    /// Anthropic itself: a refusal means what it says, and no model of another maker stands behind it.
    Anthropic,
    /// OpenAI itself: it is spoken to over the Responses API, which those that imitate it may not have.
    OpenAi,
    /// The reasoning of every message has to come back with its tool calls.
    DeepSeek,
    /// Gemini, which wants a signature on the first call of each reply.
    Gemini,
    /// Ids of tool calls have nine letters and digits.
    Mistral,
    /// It hands on the state of each maker's reasoning in one form.
    OpenRouter,
    /// It says how far it has read a prompt, if it is asked to.
    LlamaCpp,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSizes {
    pub small: String,
    pub medium: String,
    pub large: String,
}

impl ProviderRow {
    /// Returns the row under its name. On failure, returns what is wrong with the name or a key, and what to write
    /// instead.
    pub fn named(mut self, name: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(fits) {
            return Err("the name of a provider is made of a-z, 0-9, `-`, `_` and `.`".to_owned());
        }
        if RESERVED.contains(&name) {
            return Err("this name has another meaning; choose another one".to_owned());
        }
        let named = [&self.url_env, &self.host_env, &self.key_env, &self.token_env].into_iter().flatten();
        for variable in named.chain(&self.other_key_envs).chain(self.url_words.values()) {
            if !is_variable(variable) {
                // Nor is it shown: it may be a key.
                return Err("a variable name is made of A-Z, 0-9 and `_`; a key itself is `api_key`".to_owned());
            }
        }
        if let Some(word) = self.url_words.keys().find(|word| word.is_empty() || !self.url.as_str().contains(*word)) {
            return Err(format!("`url` has no `{word}`; the words of `url_words` stand in it, in small letters"));
        }
        let is_header = |name: &str| HeaderName::from_bytes(name.as_bytes()).is_ok();
        if let Some(header) = self.key_header.as_ref().filter(|header| !is_header(header)) {
            return Err(format!("`{header}` is not a header name"));
        }
        name.clone_into(&mut self.name);
        Ok(self)
    }

    pub fn display(&self) -> &str {
        self.display.as_deref().unwrap_or(&self.name)
    }

    /// Returns the header that carries the key; in `authorization`, `Bearer` stands before it.
    pub fn key_header(&self) -> &str {
        self.key_header.as_deref().unwrap_or(match self.wire {
            WireFormat::Anthropic => "x-api-key",
            WireFormat::OpenAi | WireFormat::Responses | WireFormat::AnthropicVertex => "authorization",
            WireFormat::Gemini => "x-goog-api-key",
        })
    }

    /// Returns what to set so that a key is sent.
    pub fn key_hint(&self) -> String {
        self.key_env.clone().unwrap_or_else(|| format!("`key_env` of `[providers.{}]`", self.name))
    }

    /// Returns the variables that hold keys, in the order in which they count.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        [&self.token_env, &self.key_env].into_iter().flatten().chain(&self.other_key_envs).map(String::as_str)
    }
}

/// Returns `true` if this can be the name of an environment variable.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|sign| sign == '_' || sign.is_ascii_alphanumeric())
}

pub(super) fn web_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Url, D::Error> {
    let text = String::deserialize(deserializer)?;
    let url: Option<Url> = text.trim().parse().ok();
    let is_web = |url: &Url| {
        let is_bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty()) && is_bare
    };
    url.filter(is_web).ok_or_else(|| {
        // A password may stand in it.
        let shown = text.trim().rsplit('@').next().unwrap_or_default().split('?').next().unwrap_or_default();
        serde::de::Error::custom(format!("`{shown}` is not an address; write http://host:port/v1, without a password"))
    })
}
