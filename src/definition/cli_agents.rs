//! Agents given as JSON on the command line.
//!
//! Owns the form `{"name": {"description": …, "prompt": …}}`. Leaves the fields to `load`. Invariant: an entry that
//! cannot be used is told as a file would be; only what is no JSON object at all is refused.

use serde_json::{Map, Value};

use super::{Parsed, Source, Tier, load};
use crate::message::{Diagnostic, sanitize_line};

/// Reads the agents of `--agents`. On failure, returns what is wrong with the JSON and where, and how it should look.
pub fn parse_cli_agents(json: &str) -> Result<Vec<Parsed>, String> {
    const FORM: &str = r#"expected {"name": {"description": "…", "prompt": "…"}}"#;
    let agents: Map<String, Value> = serde_json::from_str(json).map_err(|error| format!("{error}; {FORM}"))?;
    Ok(agents.into_iter().map(|(name, fields)| of_entry(name, fields)).collect())
}

fn of_entry(name: String, fields: Value) -> Parsed {
    let source = Source { tier: Tier::CommandLine, path: None };
    let place = format!("`{}` in --agents: ", sanitize_line(&name));
    let Value::Object(mut fields) = fields else {
        let message = format!("{place}not an object. Write {{\"description\": \"…\", \"prompt\": \"…\"}}.");
        return Parsed::broken(source, Diagnostic::new(message));
    };
    let prompt = fields.shift_remove("prompt");
    fields.insert("name".to_owned(), Value::String(name));
    let mut parsed = load::of_fields(fields, prompt.as_ref().and_then(Value::as_str).unwrap_or_default(), source);
    for error in &mut parsed.diagnostics {
        error.line = None;
        error.message.insert_str(0, &place);
    }
    parsed
}
