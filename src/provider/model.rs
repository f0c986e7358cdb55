//! The catalog of models: aliases, sizes and prices, from `assets/models.toml`.
//!
//! Owns what is known of a model before anything is asked of a service. Leaves choosing one to `choice`. Invariant: an
//! unknown model is no error; it gets sizes that most models bear and no price.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::choice::PROVIDERS;
use super::{Model, Price};
use crate::message::Effort;

/// Cap on output tokens for a model that is not in the catalog.
pub const DEFAULT_OUTPUT: u32 = 8_192;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    alias: Vec<Alias>,
    model: Vec<Entry>,
    default: toml::Table,
    sizes: BTreeMap<String, Sizes>,
}

/// The models of one service by size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    small: String,
    medium: String,
    large: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Alias {
    name: String,
    provider: String,
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    prefix: String,
    provider: String,
    display: Option<String>,
    context: u64,
    output: u32,
    price: Option<Price>,
    effort: Option<Effort>,
}

// The file is compiled in and a test reads every alias of it, so the empty default is never met.
static CATALOG: LazyLock<Catalog> =
    LazyLock::new(|| toml::from_str(include_str!("../../assets/models.toml")).unwrap_or_default());

/// Returns what is known of the provider's model `id`, which may be an alias of that provider.
#[must_use]
pub fn lookup(provider: &str, id: &str) -> Model {
    let id = alias_id(provider, id).unwrap_or(id);
    let entry = entry_of(id);
    // A service that resells a model sets its own prices.
    let own = entry.filter(|entry| entry.provider == provider).and_then(|entry| entry.price);
    let price = if is_free(provider, id) { Some(Price::FREE) } else { own };
    let display = entry.and_then(|entry| entry.display.clone());
    // A local server runs the model in the context its owner has set up.
    let context_window = entry.filter(|_| !is_local(provider)).map(|entry| entry.context);
    Model {
        id: id.to_owned(),
        display: display.unwrap_or_else(|| short(id).to_owned()),
        context_window,
        max_output_tokens: entry.map_or(DEFAULT_OUTPUT, |entry| entry.output),
        price,
        max_effort: entry.filter(|entry| entry.provider == provider).and_then(|entry| entry.effort),
    }
}

/// Returns the model that `wish`, an alias or an id from an agent file or a tool call, means at this provider; `None`
/// if it is the alias or the model of another provider, which this one cannot serve.
#[must_use]
pub fn resolve(provider: &str, wish: &str) -> Option<Model> {
    let wish = of_provider(provider, wish.trim())?;
    if alias_id(provider, wish).is_none()
        && let Some(id) = sized(provider, wish)
    {
        return Some(lookup(provider, id));
    }
    if alias_id(provider, wish).is_none() {
        let elsewhere = home_of(wish).is_some_and(|home| home != provider);
        if alias(wish).is_some() || (elsewhere && !serves_any_model(provider)) {
            return None;
        }
    }
    Some(lookup(provider, wish))
}

/// Returns `true` if the word stands for a size of model, which every service has in its own way.
#[must_use]
pub fn is_size(word: &str) -> bool {
    size_of(word).is_some()
}

/// Returns `true` if it is known which models of the service have which size.
#[must_use]
pub fn has_sizes(provider: &str) -> bool {
    CATALOG.sizes.contains_key(provider)
}

fn size_of(word: &str) -> Option<fn(&Sizes) -> &str> {
    match word.to_ascii_lowercase().as_str() {
        "haiku" | "quick" => Some(|sizes| &sizes.small),
        "sonnet" => Some(|sizes| &sizes.medium),
        "opus" | "fable" => Some(|sizes| &sizes.large),
        _ => None,
    }
}

fn sized(provider: &str, word: &str) -> Option<&'static str> {
    let size = size_of(word)?;
    CATALOG.sizes.get(provider).map(size)
}

/// Takes the provider's own name off a wish such as `anthropic/haiku`; `None` if another provider is named, or nothing
/// is left. A reseller's ids begin with the names of makers, and belong to it whole.
fn of_provider<'w>(provider: &str, wish: &'w str) -> Option<&'w str> {
    let id = match wish.split_once('/') {
        Some((head, rest)) if head.eq_ignore_ascii_case(provider) => rest.trim(),
        Some((head, _)) if PROVIDERS.iter().any(|name| head.eq_ignore_ascii_case(name)) => {
            return serves_any_model(provider).then_some(wish);
        }
        _ => wish,
    };
    // Claude Code writes the size of the context behind the name.
    let id = id.strip_suffix("[1m]").unwrap_or(id);
    (!id.is_empty()).then_some(id)
}

/// Returns the provider and id that an alias stands for.
#[must_use]
pub fn alias(name: &str) -> Option<(&'static str, &'static str)> {
    let found = CATALOG.alias.iter().find(|alias| alias.name.eq_ignore_ascii_case(name))?;
    Some((&found.provider, &found.id))
}

/// Returns the aliases of all providers.
pub fn aliases() -> impl Iterator<Item = &'static str> {
    CATALOG.alias.iter().map(|alias| alias.name.as_str())
}

/// Returns the provider that makes the model with this id, where the catalog knows it.
#[must_use]
pub fn home_of(id: &str) -> Option<&'static str> {
    let entry = CATALOG.model.iter().find(|entry| id.starts_with(&entry.prefix))?;
    Some(&entry.provider)
}

/// Returns the id of the model a provider is used with when nothing else is said.
#[must_use]
pub fn default_id(provider: &str) -> Option<&'static str> {
    CATALOG.default.get(provider).and_then(toml::Value::as_str)
}

fn alias_id(provider: &str, name: &str) -> Option<&'static str> {
    let mut of_provider = CATALOG.alias.iter().filter(|alias| alias.provider == provider);
    of_provider.find(|alias| alias.name.eq_ignore_ascii_case(name)).map(|alias| alias.id.as_str())
}

fn entry_of(id: &str) -> Option<&'static Entry> {
    // Resellers write `anthropic/claude-sonnet-4.5` for what is `claude-sonnet-4-5` at home.
    let dashed = short(id).replace('.', "-");
    let fits = |entry: &&Entry| [id, short(id), dashed.as_str()].iter().any(|id| id.starts_with(&entry.prefix));
    CATALOG.model.iter().filter(fits).max_by_key(|entry| entry.prefix.len())
}

fn short(id: &str) -> &str {
    id.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(id)
}

/// Returns `true` if the service is a server that the user runs.
pub(super) fn is_local(provider: &str) -> bool {
    matches!(provider, "ollama" | "lmstudio" | "llamacpp")
}

/// Returns `true` if nobody is paid for a request: the machine is the user's own, or nothing is asked of anyone. What Ollama
/// passes on to its own cloud is not free, and its price is not known.
fn is_free(provider: &str, id: &str) -> bool {
    let passed_on = id.ends_with("-cloud") || id.ends_with(":cloud");
    matches!(provider, "offline" | "demo") || (is_local(provider) && !passed_on)
}

fn serves_any_model(provider: &str) -> bool {
    is_local(provider) || provider == "openrouter"
}
