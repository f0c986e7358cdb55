//! Agents given as JSON on the command line.
//!
//! Owns the form `{"name": {"description": …, "prompt": …}}`. Leaves the fields to `load`. Invariant: what is no such
//! object is refused whole, because nobody would look for a diagnostic of what they have just typed.

use serde_json::{Map, Value};

use super::{Parsed, Source, Tier, load};

/// Reads the agents of `--agents`.
///
/// # Errors
/// Returns what is wrong with the JSON, and how it should look.
pub fn parse_given(json: &str) -> Result<Vec<Parsed>, String> {
    const FORM: &str = r#"write it as {"name": {"description": "…", "prompt": "…"}}"#;
    let agents: Map<String, Value> = serde_json::from_str(json).map_err(|fault| format!("{fault}; {FORM}"))?;
    let parsed = agents.into_iter().map(|(name, fields)| {
        let Value::Object(mut fields) = fields else { return Err(format!("`{name}` is not an object; {FORM}")) };
        let prompt = fields.remove("prompt").and_then(|prompt| prompt.as_str().map(str::to_owned)).unwrap_or_default();
        fields.insert("name".to_owned(), Value::String(name));
        // JSON on one line is YAML, so that a field means here what it means in a file.
        let text = format!("---\n{}\n---\n{prompt}", Value::Object(fields));
        Ok(load::parse(&text, Source { tier: Tier::CommandLine, path: None }))
    });
    parsed.collect()
}
