//! From a model's JSON to a tool's typed input, with errors the model can mend.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::file::path::one_line;
use super::{Args, ToolOutput};
use crate::message::loose_name;

/// Decodes the arguments of a call. A `null` counts as left out, and where that does not fit, a value in the wrong wrapping
/// counts as what it holds: `"5"` as 5, `5.0` as 5, `"true"` as true, and a list written as a string as the list. A
/// parameter in another spelling, such as `allowedTools`, counts as the one it names.
///
/// # Errors
/// Returns a failed output that names the fault and the fields the tool has.
pub(super) fn parse_input<T: DeserializeOwned + JsonSchema + 'static>(
    tool: &str,
    args: &Args,
) -> Result<T, ToolOutput> {
    // The usual case copies nothing but what the tool keeps.
    if !args.values().any(Value::is_null)
        && let Ok(input) = T::deserialize(args)
    {
        return Ok(input);
    }
    let given: Args =
        args.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Ok(input) = T::deserialize(&given) {
        return Ok(input);
    }
    let schema = schema_of::<T>();
    let fields: Vec<&str> =
        schema["properties"].as_object().map(|all| all.keys().map(String::as_str).collect()).unwrap_or_default();
    let mut given: Args = given.into_iter().map(|(name, value)| (respelt(name, args, &fields), value)).collect();
    for (name, value) in &mut given {
        if let Some(meant) =
            schema["properties"][name.as_str()]["type"].as_str().and_then(|kind| unwrapped(value, kind))
        {
            *value = meant;
        }
    }
    let words = match T::deserialize(&given) {
        Ok(input) => return Ok(input),
        Err(error) => match unknown::<T>(given, &error.to_string()).as_slice() {
            [] => format!("invalid input: {error}."),
            names => without(names, &fields),
        },
    };
    let required = schema["required"].as_array().map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    Err(ToolOutput::error(format!(
        "{tool}: {words} Parameters: {}. Required: {}. Call again with corrected input.",
        fields.join(", "),
        required.filter(|names| !names.is_empty()).map_or_else(|| "none".to_owned(), |names| names.join(", ")),
    )))
}

/// Letters of the shortest parameter whose spelling may differ: `-A` and `-a` are two.
const MIN_LETTERS: usize = 3;
/// Bytes of the longest name that is compared with others.
const LONGEST: usize = 40;

/// Returns the field that a parameter names in another spelling, if the call does not have that one as well.
fn respelt(name: String, args: &Args, fields: &[&str]) -> String {
    let letters = loose_name(&name);
    let is_it = |field: &&&str| loose_name(field) == letters && !args.contains_key(**field);
    match fields.iter().find(is_it) {
        Some(field) if letters.len() >= MIN_LETTERS && !fields.contains(&name.as_str()) => (*field).to_owned(),
        _ => name,
    }
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
        let near = similar::get_close_matches(name.as_str(), fields, 1, 0.6);
        let near = near.first().filter(|_| name.len() <= LONGEST);
        let near = near.map(|near| format!(" Did you mean `{near}`?"));
        format!("unknown parameter `{}`; nothing was done.{}", one_line(name, LONGEST), near.unwrap_or_default())
    };
    names.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Returns the value of type `kind` that `value` holds, if it is of another type.
fn unwrapped(value: &Value, kind: &str) -> Option<Value> {
    match (kind, value) {
        ("integer", Value::String(text)) => text.trim().parse::<u64>().ok().map(Value::from),
        ("integer", Value::Number(number)) => {
            let text = number.to_string();
            text.strip_suffix(".0")?.parse::<u64>().ok().map(Value::from)
        }
        ("boolean", Value::String(text)) => text.trim().to_ascii_lowercase().parse::<bool>().ok().map(Value::from),
        ("array", Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_array),
        ("string", Value::Number(number)) => Some(Value::from(number.to_string())),
        _ => None,
    }
}

/// Returns the JSON Schema of a tool's input, inlined and in the plainest form, as model APIs want it: no titles, no
/// formats, optional fields without a `null` alternative, and choices as `enum`. It is worked out once for each type:
/// every request holds it.
#[must_use]
pub fn schema_of<T: JsonSchema + 'static>() -> Value {
    static KNOWN: Mutex<BTreeMap<TypeId, Value>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(TypeId::of::<T>()).or_insert_with(generate::<T>).clone()
}

fn generate<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        // The root's description is that of the Rust type; the tool has its own.
        root.shift_remove("description");
    }
    schema
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for note in ["title", "format"] {
                if map.get(note).is_some_and(Value::is_string) {
                    map.shift_remove(note);
                }
            }
            if map.get("default").is_some_and(|value| value.is_null() || value == "") {
                map.shift_remove("default");
            }
            // What is allowed anyway need not be said.
            if map.get("additionalProperties") == Some(&Value::Bool(true)) {
                map.shift_remove("additionalProperties");
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                // A choice that is of no type costs the whole request at some services.
                if let Some(Value::Array(choices)) = map.get_mut("enum") {
                    choices.retain(|choice| !choice.is_null());
                }
            }
            if let Some(Value::Array(types)) = map.get("type") {
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    map.insert("type".to_owned(), only);
                }
            }
            if let Some(choices) = constants(map) {
                map.shift_remove("oneOf");
                map.insert("type".to_owned(), Value::from("string"));
                map.insert("enum".to_owned(), choices);
            }
            map.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Returns the values of a `oneOf` whose members are all constants.
fn constants(map: &Map<String, Value>) -> Option<Value> {
    map.get("oneOf")?
        .as_array()?
        .iter()
        .map(|choice| choice.get("const").cloned())
        .collect::<Option<Vec<_>>>()
        .map(Value::from)
}
