//! `belvedere models`: the models of the services that can be reached from here.
//!
//! Owns what it prints. Leaves asking services to `services`. Invariant: only services are asked that `/model` would ask.

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;

use crate::cli::agents::CommandFailure;
use crate::cli::keys::say;
use crate::headless::exit;
use crate::message::format::tokens;
use crate::message::{escaped_json, sanitize_line};
use crate::provider::offer::OfferedModel;
use crate::services::{Bootstrap, ModelOffers};

/// What follows `belvedere models`.
#[derive(Debug, Clone, Args)]
pub struct ModelsArgs {
    /// Only models whose names hold this
    pub filter: Option<String>,
    /// Write JSON to standard output instead of text
    #[arg(long)]
    pub json: bool,
}

/// Asks the services at hand, and writes what they have.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub async fn run(bootstrap: Bootstrap, args: ModelsArgs) -> Result<u8, CommandFailure> {
    let mut models = ModelOffers::of(&bootstrap).listed().await;
    let filter = args.filter.unwrap_or_default().to_lowercase();
    models.retain(|model| {
        model.name().to_lowercase().contains(&filter) || model.display.to_lowercase().contains(&filter)
    });
    let text = if args.json {
        let all: Vec<_> = models.iter().map(as_json).collect();
        let text = serde_json::to_string_pretty(&all).map_err(|error| (exit::FAILED, error.into()))?;
        escaped_json(text) + "\n"
    } else {
        table(&models)
    };
    say(&text).map_err(|error| (exit::FAILED, error))
}

fn as_json(model: &OfferedModel) -> serde_json::Value {
    json!({
        "name": model.name(),
        "provider": model.provider,
        "id": model.id,
        "display": model.display,
        "context_window": model.context_window,
        "usd_per_million": model.price.map(|price| json!({
            "input": price.input,
            "output": price.output,
            "cache_read": price.cache_read,
            "cache_write": price.cache_write,
        })),
        "listed": model.is_listed,
    })
}

fn table(models: &[OfferedModel]) -> String {
    let names: Vec<String> = models.iter().map(|model| sanitize_line(&model.name()).into_owned()).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, model) in names.iter().zip(models) {
        let window = model.context_window.map_or_else(|| "-".to_owned(), tokens);
        let price = match model.price {
            Some(price) if price.input == 0.0 && price.output == 0.0 => "free".to_owned(),
            Some(price) => format!("${} in, ${} out per million", price.input, price.output),
            None => "price unknown".to_owned(),
        };
        let known = if model.is_listed { "" } else { "  (not listed)" };
        let _ = writeln!(out, "{name:width$}  {window:>6}  {price}{known}");
    }
    if models.is_empty() {
        out.push_str("No such model here. To see which services have a key: belvedere keys\n");
    }
    out
}
