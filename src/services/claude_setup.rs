//! The user's set-up of Claude Code: which service it asks, for which models, with which headers and which key.
//!
//! Owns what its variables and its `apiKeyHelper` mean here. Leaves whose files count to `settings`, and what is done with
//! a service to `provider`. Invariants: nothing of a project is part of it; what cannot be done as it says is an error of the
//! service that it names, and no other service answers instead.

use std::collections::BTreeMap;

use reqwest::Url;

use super::settings::SessionSettings;
use crate::config::{Config, Environment};
use crate::message::{ModelSetup, ModelSizes, ProviderRow, TransportSettings};
use crate::provider::model;
use crate::provider::table::{ProviderTable, RequiredService};

/// Variables of a settings file that say who answers, and how. Others are for commands alone.
const VARIABLES: [&str; 33] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_BETAS",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_FOUNDRY_RESOURCE",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_REGION",
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
    "CLAUDE_CODE_EFFORT_LEVEL",
    "CLAUDE_CODE_MAX_CONTEXT_TOKENS",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "CLOUD_ML_REGION",
    "MAX_THINKING_TOKENS",
];

/// Services of clouds, each with the variable that chooses it.
const CLOUDS: [(&str, &str); 3] = [
    ("bedrock", "CLAUDE_CODE_USE_BEDROCK"),
    ("vertex", "CLAUDE_CODE_USE_VERTEX"),
    ("foundry", "CLAUDE_CODE_USE_FOUNDRY"),
];

/// The service that is meant where no cloud is chosen.
const HOME: &str = "anthropic";

/// What prints a token of Google for the account that other programs use on this machine.
pub(super) const GOOGLE_TOKEN: &str = "gcloud auth application-default print-access-token";

/// The variable of more headers, which may hold keys.
pub(super) const HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";

/// The header that asks for features of the Messages API.
const BETA_HEADER: &str = "anthropic-beta";

/// Returns `true` if a variable of a settings file says who answers, or how.
pub(super) fn is_about_service(variable: &str) -> bool {
    VARIABLES.contains(&variable)
}

/// Returns `true` if a project that sets the variable would choose who gets the user's files and keys. Such a name stands
/// for nothing else.
pub(super) fn chooses_service(variable: &str) -> bool {
    is_about_service(variable) && (variable.starts_with("ANTHROPIC_") || variable.starts_with("CLAUDE_CODE_USE_"))
}

/// The set-up as variables and settings give it.
pub(super) struct ClaudeSetup<'a> {
    environment: &'a Environment,
    settings: &'a SessionSettings,
    /// The service that it is about, and the variable that chooses it among others.
    service: &'static str,
    chosen_by: Option<&'static str>,
}

impl<'a> ClaudeSetup<'a> {
    /// Takes an environment in which the variables of settings are set.
    pub(super) fn new(environment: &'a Environment, settings: &'a SessionSettings) -> Self {
        let chosen = CLOUDS.into_iter().find(|(_, variable)| is_on(environment.get(variable)));
        let (service, chosen_by) = chosen.map_or((HOME, None), |(service, variable)| (service, Some(variable)));
        Self { environment, settings, service, chosen_by }
    }

    fn get(&self, variable: &str) -> Option<&str> {
        self.environment.get(variable).map(str::trim).filter(|value| !value.is_empty())
    }

    fn number<T: std::str::FromStr>(&self, variable: &str) -> Option<T> {
        self.get(variable)?.parse().ok()
    }

    /// Returns the service that it is about.
    pub(super) fn service(&self) -> &'static str {
        self.service
    }

    /// Returns `true` if a settings file says where the service is.
    pub(super) fn is_placed_by_settings(&self) -> bool {
        self.chosen_by.is_none() && self.settings.service_variables().contains_key("ANTHROPIC_BASE_URL")
    }

    /// Returns `true` if tokens for the service come from Google's own program where nothing else is set up.
    pub(super) fn asks_google(&self) -> bool {
        self.service == "vertex" && !is_on(self.get("CLAUDE_CODE_SKIP_VERTEX_AUTH"))
    }

    /// Returns the services with the models that it names; those that the user has described for this program stay as
    /// they are.
    pub(super) fn table(&self, table: ProviderTable, config: &Config) -> ProviderTable {
        let is_own = config.providers.iter().any(|row| row.name == self.service);
        match table.get(self.service) {
            Some(row) if !is_own => {
                let row = self.row(row.as_ref().clone());
                table.replacing(row)
            }
            _ => table,
        }
    }

    fn row(&self, mut row: ProviderRow) -> ProviderRow {
        if let Some(base) = self.get("ANTHROPIC_VERTEX_BASE_URL").filter(|_| self.service == "vertex")
            && let Ok(url) = format!("{}{VERTEX_PLACE}", base.trim_end_matches('/')).parse()
        {
            row.url = url;
        }
        if CLOUDS.iter().any(|(name, _)| *name == self.service) && self.skips_key() {
            row.key_env = None;
        }
        let moved: Option<Url> = row.url_env.as_deref().and_then(|variable| self.get(variable)?.parse().ok());
        let is_gateway = moved.is_some_and(|url| url.host_str() != row.url.host_str());
        let of_size = |size: &str| self.get(&format!("ANTHROPIC_DEFAULT_{size}_MODEL")).map(str::to_owned);
        let main = self.get("ANTHROPIC_MODEL").map(str::to_owned);
        // A gateway that is asked for one model of its own has none of the usual names.
        let is_usual = |name: &str| model::alias(name).is_some() || model::home_of(name) == Some(HOME);
        let otherwise = main.clone().filter(|name| is_gateway && !is_usual(name));
        let small = of_size("HAIKU").or_else(|| self.get("ANTHROPIC_SMALL_FAST_MODEL").map(str::to_owned));
        let [small, medium, large] =
            [small, of_size("SONNET"), of_size("OPUS")].map(|name| name.or_else(|| otherwise.clone()));
        let mut names = BTreeMap::new();
        for (size, words) in
            [(&small, &["haiku", "quick"][..]), (&medium, &["sonnet", "opusplan"]), (&large, &["opus", "best"])]
        {
            names.extend(words.iter().filter_map(|word| Some(((*word).to_owned(), size.clone()?))));
        }
        names.extend(of_size("FABLE").or_else(|| large.clone()).map(|name| ("fable".to_owned(), name)));
        if let Some(usual) = &row.sizes {
            let [small, medium, large] = [(small, &usual.small), (medium, &usual.medium), (large, &usual.large)]
                .map(|(own, usual)| own.unwrap_or_else(|| usual.clone()));
            if self.chosen_by.is_some() {
                let words = [("haiku", &small), ("quick", &small), ("sonnet", &medium), ("opusplan", &medium)];
                let more = [("opus", &large), ("best", &large), ("fable", &large)];
                for (word, name) in words.into_iter().chain(more) {
                    names.entry(word.to_owned()).or_insert_with(|| name.clone());
                }
            }
            row.model = main.or(Some(medium.clone()));
            row.sizes = Some(ModelSizes { small, medium, large });
        }
        let window = || self.number("CLAUDE_CODE_AUTO_COMPACT_WINDOW");
        row.set_up = ModelSetup {
            names,
            max_output_tokens: self.number("CLAUDE_CODE_MAX_OUTPUT_TOKENS").filter(|tokens| *tokens > 0),
            context_window: self.number("CLAUDE_CODE_MAX_CONTEXT_TOKENS").or_else(window).filter(|_| is_gateway),
            is_gateway,
            cache_ttl: row.set_up.cache_ttl,
        };
        row
    }

    fn skips_key(&self) -> bool {
        is_on(self.get(&format!("CLAUDE_CODE_SKIP_{}_AUTH", self.service.to_ascii_uppercase())))
    }

    /// Returns the model that it names, as `provider/name`; without a name of its own, `model` of the settings.
    pub(super) fn model(&self) -> Option<String> {
        let named = self.get("ANTHROPIC_MODEL");
        let is_elsewhere = self.get("ANTHROPIC_BASE_URL").is_some() || self.chosen_by.is_some();
        let of_settings = self.settings.model().map(str::trim).filter(|name| !name.eq_ignore_ascii_case("default"));
        match named.or(of_settings.filter(|_| is_elsewhere)) {
            Some(name) => Some(format!("{}/{name}", self.service)),
            None if self.chosen_by.is_some() => Some(self.service.to_owned()),
            None => of_settings.map(str::to_owned),
        }
    }

    /// Returns the service that it chooses among others, which then answers or nothing does.
    pub(super) fn required(&self) -> Option<RequiredService> {
        let variable = self.chosen_by?;
        let gateway = self.get("ANTHROPIC_BEDROCK_BASE_URL").filter(|_| self.service == "bedrock");
        let unusable = gateway.map(|_| {
            "ANTHROPIC_BEDROCK_BASE_URL names a gateway in the format of Bedrock, which Belvedere does not speak: set \
             ANTHROPIC_BASE_URL to the gateway's Messages API and unset CLAUDE_CODE_USE_BEDROCK, or choose a model with \
             --model PROVIDER/NAME."
                .to_owned()
        });
        Some(RequiredService { variable, service: self.service, unusable })
    }

    /// Returns how its service is reached: what the configuration says, with its headers. On failure, returns why a header
    /// cannot be sent.
    pub(super) fn transport(&self, own: Option<&TransportSettings>) -> Option<Result<TransportSettings, String>> {
        let (headers, betas) = (self.get(HEADERS), self.get("ANTHROPIC_BETAS"));
        if headers.is_none() && betas.is_none() {
            return None;
        }
        Some(with_headers(own.cloned().unwrap_or_default(), headers.unwrap_or_default(), betas))
    }
}

/// Adds headers to how a service is reached. On failure, returns why one cannot be sent.
fn with_headers(
    mut transport: TransportSettings,
    headers: &str,
    betas: Option<&str>,
) -> Result<TransportSettings, String> {
    let mut given = BTreeMap::new();
    let lines = headers.lines().map(str::trim);
    for (at, line) in lines.filter(|line| !line.is_empty()).enumerate() {
        let (name, value) = line.split_once(':').map(|(name, value)| (name.trim(), value.trim())).ok_or_else(|| {
            format!("header {} of ANTHROPIC_CUSTOM_HEADERS cannot be sent: write `Name: value`, one a line", at + 1)
        })?;
        given.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    if let Some(betas) = betas {
        let named = given.get(BETA_HEADER).map(|value| format!("{value},")).unwrap_or_default();
        given.insert(BETA_HEADER.to_owned(), format!("{named}{betas}"));
    }
    for (name, value) in given.iter().filter(|(name, _)| !transport.headers.contains_key(*name)).collect::<Vec<_>>() {
        transport.add_header(name, value).map_err(|why| format!("ANTHROPIC_CUSTOM_HEADERS: {why}"))?;
    }
    Ok(transport)
}

/// What stands behind the address of a gateway to Vertex AI, with the words that variables take the place of.
const VERTEX_PLACE: &str = "/projects/my-project/locations/my-region";

/// Returns `true` if a switch is on, as Claude Code reads it.
fn is_on(value: Option<&str>) -> bool {
    value.is_some_and(|value| !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off"))
}
