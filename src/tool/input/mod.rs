//! From a model's JSON to a tool's typed input, with errors the model can mend.
//!
//! Owns what counts as not given, which values count as what they hold, and which parameters are passed over. Leaves names to
//! `parameters` and schemas to `schema`. Invariant: a parameter that is not understood is refused, unless nothing of what
//! is done could hang on it.

mod parameters;
mod schema;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::parameters::{fields_of, is_beside_the_point, meant, wrapped};
pub use self::schema::schema_of;
use super::file::path::one_line;
use super::{Args, ToolOutput};

/// Bytes of the longest name that is compared with others, or shown.
const LONGEST: usize = 40;
/// How alike a name has to be to one that may be meant.
const LIKENESS: f32 = 0.8;
/// Words that stand for nothing where a choice is expected.
const NOTHING: [&str; 4] = ["none", "null", "undefined", "n/a"];

/// What a call says under the tool's own names, and what the model is to know of how it was read.
pub struct PlainArgs<'a> {
    pub args: Cow<'a, Args>,
    pub notes: Vec<String>,
}

/// Puts the arguments of a call under the tool's own names. What is empty, or zero where that is below the least, counts as not
/// given; a value in the wrong wrapping counts as what it holds: `"5"` as 5, `5.0` as 5, `"true"` as true, a list
/// written as a string as the list. What cannot change what is done is left out, with a note.
pub(super) fn plain_args<'a>(tool: &str, schema: &Value, args: &'a Args) -> PlainArgs<'a> {
    let properties = &schema["properties"];
    let is_closed = schema["additionalProperties"] == Value::Bool(false);
    if !is_closed {
        let given =
            || args.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone()));
        let has_null = args.values().any(Value::is_null);
        let args = if has_null { Cow::Owned(given().collect()) } else { Cow::Borrowed(args) };
        return PlainArgs { args, notes: Vec::new() };
    }
    if args.iter().all(|(name, value)| is_plain(&properties[name.as_str()], value)) {
        return PlainArgs { args: Cow::Borrowed(args), notes: Vec::new() };
    }
    let fields = fields_of(tool, properties);
    let inner = wrapped(args, &fields);
    let args = inner.as_ref().unwrap_or(args);
    let (mut plain, mut notes, mut ignored) = (Args::new(), Vec::new(), Vec::new());
    for (name, value) in args {
        let name = meant(tool, name, args, &fields);
        let value = holding(&properties[name], value);
        let value = value.as_ref();
        if counts_as_missing(schema, name, value) {
            continue;
        }
        if !fields.contains(&name) && is_beside_the_point(tool, name, value) {
            ignored.push(format!("`{}`", one_line(name, LONGEST)));
            continue;
        }
        if properties[name]["type"] == "string" && tool == "Write" && (value.is_object() || value.is_array()) {
            notes.push(format!("`{name}` was a JSON value, and is written as indented JSON."));
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            plain.insert(name.to_owned(), Value::String(text + "\n"));
            continue;
        }
        plain.insert(name.to_owned(), value.clone());
    }
    if !ignored.is_empty() {
        notes.push(format!("Ignored: {}, which {tool} does not have.", ignored.join(", ")));
    }
    PlainArgs { args: Cow::Owned(plain), notes }
}

/// Returns `true` for a value that is as its field wants it.
fn is_plain(field: &Value, value: &Value) -> bool {
    match (field["type"].as_str(), value) {
        (Some("string"), Value::String(text)) => !text.trim().is_empty() && field.get("enum").is_none(),
        (Some("integer"), Value::Number(number)) => number.as_u64().is_some_and(|number| number > 0),
        (Some("boolean"), Value::Bool(_)) => true,
        (Some("array"), Value::Array(items)) => !items.is_empty(),
        _ => false,
    }
}

/// Returns `true` if a value says no more than that nothing is given.
fn counts_as_missing(schema: &Value, name: &str, value: &Value) -> bool {
    let field = &schema["properties"][name];
    let is_required = schema["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name));
    let is_below = |number: u64| field["minimum"].as_u64().is_some_and(|least| number < least);
    match value {
        Value::Null => true,
        _ if is_required => false,
        Value::String(text) => {
            let is_choice = |text: &str| field["enum"].as_array().is_none_or(|all| all.iter().any(|one| one == text));
            text.trim().is_empty() || NOTHING.iter().any(|word| text.eq_ignore_ascii_case(word)) && !is_choice(text)
        }
        Value::Array(items) => items.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0) && is_below(0),
        Value::Bool(_) | Value::Object(_) => false,
    }
}

/// Decodes the arguments of a call.
///
/// # Errors
/// Returns a failed output that names the fault and the fields the tool has.
pub(super) fn parse_input<T: DeserializeOwned + JsonSchema + 'static>(
    tool: &str,
    args: &Args,
) -> Result<T, ToolOutput> {
    // The usual case copies nothing but what the tool keeps.
    let schema = schema_of::<T>();
    let plain = plain_args(tool, &schema, args).args;
    let error = match T::deserialize(&*plain) {
        Ok(input) => return Ok(input),
        Err(error) => error.to_string(),
    };
    let fields: Vec<&str> =
        schema["properties"].as_object().map(|all| all.keys().map(String::as_str).collect()).unwrap_or_default();
    let words = match unknown::<T>(plain.into_owned(), &error).as_slice() {
        [] => format!("invalid input: {}.", in_plain_words(&error)),
        names => without(names, &fields),
    };
    let required = schema["required"].as_array().map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    Err(ToolOutput::error(format!(
        "{tool}: {words} Parameters: {}. Required: {}. Call again with corrected input.",
        fields.join(", "),
        required.filter(|names| !names.is_empty()).map_or_else(|| "none".to_owned(), |names| names.join(", ")),
    )))
}

/// Says what was expected in the words of JSON instead of those of Rust.
fn in_plain_words(error: &str) -> String {
    let Some((before, expected)) = error.split_once("expected ") else { return error.to_owned() };
    let kind = match expected {
        "usize" | "u64" | "u32" => "a number from 0",
        "i64" | "i32" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        _ if expected.starts_with("struct ") || expected.starts_with("internally tagged enum ") => "an object",
        other => other,
    };
    let before = before.replace("invalid type: map", "invalid type: object").replace("type: sequence", "type: list");
    format!("{before}expected {kind}")
}

/// Returns the parameters that the input has no field for. `error` is what was said of the first.
fn unknown<T: DeserializeOwned>(mut given: Args, error: &str) -> Vec<String> {
    let name = |error: &str| Some(error.strip_prefix("unknown field `")?.split_once("`, expected")?.0.to_owned());
    let mut names = Vec::new();
    let mut next = name(error);
    // The field of a value within a value stays where it is.
    while let Some(found) = next.filter(|found| given.shift_remove(found).is_some()) {
        names.push(found);
        next = T::deserialize(&given).err().and_then(|error| name(&error.to_string()));
    }
    names
}

/// Says which parameters there are not, and which may be meant.
fn without(names: &[String], fields: &[&str]) -> String {
    let one = |name: &String| {
        let near = similar::get_close_matches(name.as_str(), fields, 1, LIKENESS);
        let near = near.first().filter(|_| name.len() <= LONGEST);
        let near = near.map(|near| format!(" Did you mean `{near}`?"));
        format!("unknown parameter `{}`; nothing was done.{}", one_line(name, LONGEST), near.unwrap_or_default())
    };
    names.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Returns what a value holds, if its field wants another type.
fn holding<'a>(field: &Value, value: &'a Value) -> Cow<'a, Value> {
    let held = match (field["type"].as_str(), value) {
        (Some("integer"), Value::String(text)) => text.trim().parse::<u64>().ok().map(Value::from),
        (Some("integer"), Value::Number(number)) => {
            let text = number.to_string();
            text.strip_suffix(".0").and_then(|text| text.parse::<u64>().ok()).map(Value::from)
        }
        (Some("boolean"), Value::String(text)) => {
            text.trim().to_ascii_lowercase().parse::<bool>().ok().map(Value::from)
        }
        (Some("array"), Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_array),
        (Some("string"), Value::Number(number)) => Some(Value::from(number.to_string())),
        _ => None,
    };
    held.map_or(Cow::Borrowed(value), Cow::Owned)
}
