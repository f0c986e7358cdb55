//! The catalog of services and models: rows, aliases and prices, from `assets/models.toml`.
//!
//! Owns what is known of a model before anything is asked of a service. Leaves choosing one to `choice`. Invariant: an
//! unknown model is no error; it gets sizes that most models bear and no price.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use toml::Spanned;

use super::table::ProviderTable;
use super::{Model, Price};
use crate::message::{Effort, ModelSizes, ProviderRow};

/// Cap on output tokens for a model that is not in the catalog.
pub const DEFAULT_OUTPUT: u32 = 8_192;
/// The same once its replies were cut off there.
const MOST_OUTPUT: u32 = 32_768;

/// What Claude Code writes behind the name of a model for its context of a million tokens.
const LONG_MARK: &str = "[1m]";
const LONG_CONTEXT: u64 = 1_000_000;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    providers: BTreeMap<Spanned<String>, ProviderRow>,
    alias: Vec<Alias>,
    model: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Alias {
    name: String,
    provider: String,
    id: String,
    /// Whether it is understood and not offered: a word for another alias, or the id of a model that is no longer served.
    #[serde(default)]
    unlisted: bool,
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
    /// Whether it takes `xhigh`, if it takes what lies above.
    #[serde(default = "yes")]
    xhigh: bool,
    /// Whether it sees pictures.
    #[serde(default = "yes")]
    vision: bool,
    thinking: Option<Thinking>,
}

impl Entry {
    /// Returns the most effort it can be asked for. One that is told how many tokens to think takes any effort as a number
    /// of them.
    fn most_effort(&self) -> Option<Effort> {
        self.effort.or_else(|| (self.thinking == Some(Thinking::Budget)).then_some(Effort::Max))
    }
}

/// How a model is asked to think, where it does so only if it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Thinking {
    /// It decides itself how much.
    Adaptive,
    /// It is told how many tokens it may use.
    Budget,
}

fn yes() -> bool {
    true
}

// The file is compiled in and a test reads every alias of it, so the empty default is never met.
static CATALOG: LazyLock<Catalog> =
    LazyLock::new(|| toml::from_str(include_str!("../../assets/models.toml")).unwrap_or_default());

static ROWS: LazyLock<Vec<Arc<ProviderRow>>> = LazyLock::new(|| {
    let mut rows: Vec<_> = CATALOG.providers.iter().collect();
    // A table forgets the order in which its keys were written; the places of the keys tell it.
    rows.sort_by_key(|(name, _)| name.span().start);
    rows.into_iter().filter_map(|(name, row)| row.clone().named(name.get_ref()).ok().map(Arc::new)).collect()
});

/// Returns the services of the file, in its order.
pub(super) fn builtin_rows() -> &'static [Arc<ProviderRow>] {
    &ROWS
}

impl Model {
    /// Returns a model that runs in this program and costs nothing.
    #[must_use]
    pub fn built_in(name: &str) -> Self {
        Self {
            id: name.to_owned(),
            display: name.to_owned(),
            context_window: None,
            max_output_tokens: DEFAULT_OUTPUT,
            most_output_tokens: DEFAULT_OUTPUT,
            price: Some(Price::FREE),
            max_effort: None,
            takes_xhigh: true,
            is_effort_known: true,
            sees: Some(false),
        }
    }
}

/// Returns what is known of the service's model `id`, which may be an alias of that service.
pub fn lookup(row: &ProviderRow, id: &str) -> Model {
    let (named, has_mark) = (without_window(id), id.ends_with(LONG_MARK));
    let full = alias_id(row, named).unwrap_or(named);
    // What stands for a short name may have the mark, too.
    let id = without_window(full);
    let is_long = has_mark || id != full;
    let entry = entry_of(id);
    // A service that resells a model sets its own prices, and takes effort in its own way.
    let own = entry.filter(|entry| entry.provider == row.name);
    // Its maker's models are told how hard to think as they are there.
    let alike = own.or_else(|| entry.filter(|entry| row.models_of.as_ref() == Some(&entry.provider)));
    // What a local server passes on to a cloud is not free, and its price is not known.
    let is_free = row.local && !id.ends_with("-cloud") && !id.ends_with(":cloud");
    let display = entry.and_then(|entry| entry.display.clone());
    Model {
        id: id.to_owned(),
        display: display.unwrap_or_else(|| short(id).to_owned()),
        // A local server runs the model in the context its owner has set up.
        context_window: set_up_window(row, is_long).or_else(|| entry.filter(|_| !row.local).map(|entry| entry.context)),
        max_output_tokens: row.set_up.max_output_tokens.unwrap_or(entry.map_or(DEFAULT_OUTPUT, |entry| entry.output)),
        most_output_tokens: row.set_up.max_output_tokens.unwrap_or(entry.map_or(MOST_OUTPUT, |entry| entry.output)),
        price: if is_free {
            Some(Price::FREE)
        } else {
            own.and_then(|entry| entry.price).map(|price| searching(price, row))
        },
        max_effort: alike.and_then(Entry::most_effort),
        takes_xhigh: alike.is_none_or(|entry| entry.xhigh),
        is_effort_known: alike.is_some(),
        sees: entry.map(|entry| entry.vision),
    }
}

/// Returns a name without the mark by which Claude Code asks for a context of a million tokens.
fn without_window(id: &str) -> &str {
    id.strip_suffix(LONG_MARK).unwrap_or(id)
}

/// Returns the size of the context behind a gateway, where only the user's set-up knows it.
fn set_up_window(row: &ProviderRow, is_long: bool) -> Option<u64> {
    let set_up = &row.set_up;
    set_up.context_window.or_else(|| (is_long && set_up.is_gateway).then_some(LONG_CONTEXT))
}

/// Returns the price with what the service asks for its own searches.
fn searching(price: Price, row: &ProviderRow) -> Price {
    Price { searches: row.web_search.as_ref().map_or(0.0, |search| f64::from(search.price)), ..price }
}

/// Returns the model that `wish`, an alias or an id from an agent file or a tool call, means at this service; `None`
/// if it is the alias or the model of another service, which this one cannot serve.
pub fn resolve(table: &ProviderTable, row: &ProviderRow, wish: &str) -> Option<Model> {
    let wish = of_provider(table, row, wish.trim())?;
    if alias_id(row, wish).is_none() {
        if let (Some(size), Some(sizes)) = (size_of(wish), &row.sizes) {
            return Some(lookup(row, size(sizes)));
        }
        let elsewhere = home_of(wish).is_some_and(|home| home != row.name && row.models_of.as_deref() != Some(home));
        let is_open = wish.contains(':') || row.set_up.is_gateway;
        let unknown = home_of(wish).is_none() && is_catalogued(row) && !is_open;
        if alias(wish).is_some() || ((elsewhere || unknown) && !serves_any_model(row)) {
            return None;
        }
    }
    Some(lookup(row, wish))
}

/// Returns `true` if an id or a word can be meant for some service: an alias, a size, the beginning of a known model, or
/// a name with a service or a version in it.
pub fn is_known(wish: &str) -> bool {
    let own = ["main", "task", "inherit"].iter().any(|word| wish.eq_ignore_ascii_case(word));
    own || alias(wish).is_some() || is_size(wish) || entry_of(wish).is_some() || wish.contains(['/', ':', '['])
}

/// Returns `true` if the word stands for a size of model, which every service has in its own way.
pub fn is_size(word: &str) -> bool {
    size_of(word).is_some()
}

fn size_of(word: &str) -> Option<fn(&ModelSizes) -> &str> {
    match without_window(word).to_ascii_lowercase().as_str() {
        "haiku" | "quick" => Some(|sizes| &sizes.small),
        "sonnet" | "opusplan" => Some(|sizes| &sizes.medium),
        "opus" | "fable" | "best" => Some(|sizes| &sizes.large),
        _ => None,
    }
}

/// Takes the service's own name off a wish such as `anthropic/haiku`; `None` if another service is named, or nothing is
/// left. A reseller's ids begin with the names of makers, and belong to it whole.
fn of_provider<'w>(table: &ProviderTable, row: &ProviderRow, wish: &'w str) -> Option<&'w str> {
    let id = match wish.split_once('/') {
        Some((head, rest)) if head.eq_ignore_ascii_case(&row.name) => rest.trim(),
        Some((head, _)) if table.get(head).is_some() || head.eq_ignore_ascii_case("offline") => {
            return serves_any_model(row).then_some(wish);
        }
        _ => wish,
    };
    let id = without_window(id);
    (!id.is_empty()).then_some(id)
}

/// Returns `true` for a service of whose models the catalog knows how their names begin.
fn is_catalogued(row: &ProviderRow) -> bool {
    CATALOG.model.iter().any(|entry| entry.provider == row.name)
}

fn serves_any_model(row: &ProviderRow) -> bool {
    row.local || row.any_model
}

/// Returns the provider and id that an alias stands for.
pub fn alias(name: &str) -> Option<(&'static str, &'static str)> {
    let name = without_window(name);
    let found = CATALOG.alias.iter().find(|alias| alias.name.eq_ignore_ascii_case(name))?;
    Some((&found.provider, &found.id))
}

pub fn aliases() -> impl Iterator<Item = &'static str> {
    CATALOG.alias.iter().filter(|alias| !alias.unlisted).map(|alias| alias.name.as_str())
}

/// Returns the models that short names mean at a service.
pub(super) fn aliases_of(row: &ProviderRow) -> impl Iterator<Item = &'static str> {
    CATALOG.alias.iter().filter(|alias| alias.provider == row.name && !alias.unlisted).map(|alias| alias.id.as_str())
}

/// Returns the provider that makes the model with this id, where the catalog knows it.
pub fn home_of(id: &str) -> Option<&'static str> {
    let entry = CATALOG.model.iter().find(|entry| id.starts_with(&entry.prefix))?;
    Some(&entry.provider)
}

fn alias_id<'r>(row: &'r ProviderRow, name: &str) -> Option<&'r str> {
    if let Some(id) = row.set_up.names.get(&name.to_ascii_lowercase()) {
        return Some(id);
    }
    let mut own = CATALOG.alias.iter().filter(|alias| alias.provider == row.name);
    own.find(|alias| alias.name.eq_ignore_ascii_case(name)).map(|alias| alias.id.as_str())
}

/// Returns what the maker of the model with this id asks for it.
pub fn list_price(id: &str) -> Option<Price> {
    entry_of(id)?.price
}

/// Returns how the model with this id is asked to think.
pub(super) fn thinking_of(id: &str) -> Option<Thinking> {
    entry_of(id)?.thinking
}

/// Returns `true` if the model with this id is known to reason.
pub(super) fn can_reason(id: &str) -> bool {
    entry_of(id).is_some_and(|entry| entry.effort.is_some() || entry.thinking.is_some())
}

/// Returns `true` if the only way to tell the model with this id how hard to think is a number of tokens.
pub(super) fn counts_effort(id: &str) -> bool {
    entry_of(id).is_some_and(|entry| entry.effort.is_none() && entry.thinking == Some(Thinking::Budget))
}

fn entry_of(id: &str) -> Option<&'static Entry> {
    // Resellers write `anthropic/claude-sonnet-4.5` for what is `claude-sonnet-4-5` at home.
    let dashed = short(id).replace('.', "-");
    // Bedrock writes `global.anthropic.claude-sonnet-4-5` for the same.
    let bare = id.rsplit_once("anthropic.").map_or(id, |(_, bare)| bare);
    let fits = |entry: &&Entry| [id, short(id), &dashed, bare].iter().any(|id| id.starts_with(&entry.prefix));
    CATALOG.model.iter().filter(fits).max_by_key(|entry| entry.prefix.len())
}

fn short(id: &str) -> &str {
    id.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(id)
}
