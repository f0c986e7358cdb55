//! What a tool of a server takes, in a form that every service of models reads.
//!
//! Owns what is mended in a stranger's schema. Leaves to `provider` what one wire format alone wants. Invariants: the result
//! is the schema of an object, without a union at its top; it is never narrower than what the server has said, which checks
//! each call itself; what lies too deep takes anything.

use serde_json::{Map, Value, json};

/// Depth below which a schema takes anything.
const MAX_DEPTH: usize = 24;
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// Types by the names that other languages have for them.
const OTHER_TYPES: [(&str, &str); 10] = [
    ("bool", "boolean"),
    ("dict", "object"),
    ("double", "number"),
    ("float", "number"),
    ("int", "integer"),
    ("list", "array"),
    ("long", "integer"),
    ("map", "object"),
    ("str", "string"),
    ("text", "string"),
];
/// Keywords whose values are lists of schemas.
const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords that no service needs, or that some refuse; a server checks them itself.
const DROPPED: [&str; 12] = [
    "$comment",
    "$id",
    "$schema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "patternProperties",
    "then",
    "unevaluatedProperties",
];

/// Returns the schema as it is offered, or why no call of the tool could be written.
pub(super) fn fitting(schema: &Value) -> Result<Value, &'static str> {
    let given = match schema {
        Value::Null | Value::Bool(true) => return Ok(json!({"type": "object"})),
        Value::Object(given) => given,
        _ => return Err("its input schema is not an object"),
    };
    let root = Root(given);
    let mut fit = mended(given, root, 0);
    flatten(&mut fit, root, 0);
    match fit.get("type").cloned() {
        None => {}
        Some(Value::Array(types)) if types.iter().any(|name| name == "object") => {}
        Some(Value::String(name)) if name == "object" => {}
        Some(_) => return Err("its input is not an object"),
    }
    fit.insert("type".to_owned(), "object".into());
    fit.shift_remove("enum");
    fit.shift_remove("const");
    Ok(Value::Object(fit))
}

/// The schema that references lead into.
#[derive(Clone, Copy)]
struct Root<'a>(&'a Map<String, Value>);

impl<'a> Root<'a> {
    /// Returns what a reference to a definition of the same schema names.
    fn find(self, reference: &str) -> Option<&'a Map<String, Value>> {
        let (place, name) = reference.strip_prefix("#/")?.split_once('/')?;
        let is_place = place == "$defs" || place == "definitions";
        self.0.get(place).filter(|_| is_place)?.get(name)?.as_object()
    }
}

/// Puts what lies in a union at the top, or behind a reference there, into the top itself.
fn flatten(schema: &mut Map<String, Value>, root: Root<'_>, depth: usize) {
    if depth >= MAX_DEPTH {
        return;
    }
    if let Some(found) = schema.shift_remove("$ref").and_then(|place| root.find(place.as_str()?)) {
        let mut there = mended(found, root, 0);
        flatten(&mut there, root, depth + 1);
        add(schema, there, true);
    }
    for union in UNIONS {
        let Some(Value::Array(parts)) = schema.shift_remove(union) else { continue };
        let mut parts: Vec<Map<String, Value>> = parts
            .into_iter()
            .filter_map(|part| if let Value::Object(part) = part { Some(part) } else { None })
            .collect();
        for part in &mut parts {
            flatten(part, root, depth + 1);
        }
        // One that is not an object stands for a call that nobody can make.
        parts.retain(|part| part.get("type").is_none_or(|name| name == "object"));
        let is_every = union == "allOf";
        let required =
            |part: &Map<String, Value>| part.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let common: Vec<Value> = parts
            .first()
            .map(|first| {
                let others = &parts[1..];
                required(first)
                    .into_iter()
                    .filter(|name| others.iter().all(|part| required(part).contains(name)))
                    .collect()
            })
            .unwrap_or_default();
        for part in parts {
            add(schema, part, is_every);
        }
        if !is_every {
            require(schema, common);
        }
    }
}

/// Adds what a part of a schema says. What both know is taken from the first.
fn add(schema: &mut Map<String, Value>, part: Map<String, Value>, also_required: bool) {
    for (key, value) in part {
        match (key.as_str(), schema.get_mut(&key), value) {
            ("required", _, Value::Array(names)) if also_required => require(schema, names),
            ("properties" | "$defs" | "definitions", Some(Value::Object(there)), Value::Object(more)) => {
                for (name, value) in more {
                    there.entry(name).or_insert(value);
                }
            }
            ("properties" | "$defs" | "definitions" | "description" | "type", None, value) => {
                drop(schema.insert(key, value));
            }
            // What is closed in one part of a union is open in another.
            _ => {}
        }
    }
    schema.shift_remove("additionalProperties");
}

fn require(schema: &mut Map<String, Value>, names: Vec<Value>) {
    let mut all = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    if !all.is_empty() {
        schema.insert("required".to_owned(), all.into());
    }
}

/// Returns a schema without what is wrong in it.
fn mended(schema: &Map<String, Value>, root: Root<'_>, depth: usize) -> Map<String, Value> {
    let mut fit = Map::new();
    if depth >= MAX_DEPTH {
        return fit;
    }
    for (key, value) in schema {
        if let Some(value) = mended_keyword(key, value, root, depth) {
            fit.insert(key.clone(), value);
        }
    }
    // Some services want the type in the parts of a union or beside it, and never in both places.
    if depth > 0 && fit.contains_key("type") && UNIONS.iter().any(|union| fit.contains_key(*union)) {
        if fit.get("type").is_some_and(|name| name == "object") {
            flatten(&mut fit, root, depth);
        } else {
            fit.retain(|key, _| !UNIONS.contains(&key.as_str()));
        }
    }
    if fit.get("type").is_some_and(|name| name == "array") && !fit.contains_key("items") {
        fit.insert("items".to_owned(), json!({}));
    }
    keep_choices_of_type(&mut fit);
    if let Some(Value::Array(names)) = fit.get("required") {
        let is_known = |name: &&Value| {
            let all = fit.get("properties").and_then(Value::as_object);
            // A name from another part of a union is known there.
            all.is_none_or(|all| name.as_str().is_some_and(|name| all.contains_key(name)))
        };
        let known: Vec<Value> = names.iter().filter(is_known).cloned().collect();
        fit.insert("required".to_owned(), known.into());
    }
    fit
}

/// Returns a keyword's value as it may stand, or `None` if it is left out.
fn mended_keyword(key: &str, value: &Value, root: Root<'_>, depth: usize) -> Option<Value> {
    let deeper = |value: &Value| match value {
        Value::Object(schema) => Some(Value::Object(mended(schema, root, depth + 1))),
        Value::Bool(true) | Value::Null => Some(json!({})),
        _ => None,
    };
    match key {
        _ if DROPPED.contains(&key) => None,
        "type" => type_of(value),
        "properties" | "$defs" | "definitions" => {
            let all = value.as_object()?.iter();
            Some(Value::Object(all.filter_map(|(name, schema)| Some((name.clone(), deeper(schema)?))).collect()))
        }
        "items" if value.is_array() => Some(json!({})),
        "additionalProperties" if value.is_boolean() => Some(value.clone()),
        "items" | "additionalProperties" | "contains" | "propertyNames" => deeper(value),
        "prefixItems" => Some(value.as_array()?.iter().filter_map(deeper).collect()),
        key if UNIONS.contains(&key) => {
            let parts: Vec<Value> = value.as_array()?.iter().filter_map(deeper).collect();
            (!parts.is_empty()).then(|| parts.into())
        }
        "required" => value.as_array().map(|names| names.iter().filter(|name| name.is_string()).cloned().collect()),
        "enum" => value.as_array().filter(|choices| !choices.is_empty()).map(|choices| choices.clone().into()),
        "exclusiveMinimum" | "exclusiveMaximum" | "minimum" | "maximum" | "multipleOf" => {
            value.is_number().then(|| value.clone())
        }
        "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => {
            value.is_u64().then(|| value.clone())
        }
        // Grammars of local servers are made of whole patterns only.
        "pattern" => {
            let is_whole = |text: &&str| text.starts_with('^') && text.ends_with('$') && !text.contains("(?");
            value.as_str().filter(is_whole).map(Value::from)
        }
        "title" | "description" | "format" => value.as_str().map(Value::from),
        "$ref" => root.find(value.as_str()?).map(|_| value.clone()),
        _ => Some(value.clone()),
    }
}

/// Returns the types that there are, under their own names.
fn type_of(value: &Value) -> Option<Value> {
    let known = |name: &str| {
        let name = name.to_lowercase();
        let other = OTHER_TYPES.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
        other.or_else(|| TYPES.into_iter().find(|ours| *ours == name))
    };
    match value {
        Value::String(name) => known(name).map(Value::from),
        Value::Array(names) => {
            let mut all: Vec<&str> = names.iter().filter_map(Value::as_str).filter_map(known).collect();
            all.dedup();
            match all.as_slice() {
                [] => None,
                [only] => Some(Value::from(*only)),
                all => Some(all.to_vec().into()),
            }
        }
        _ => None,
    }
}

/// Leaves out choices that are of none of the types: some services refuse the whole request for one.
fn keep_choices_of_type(schema: &mut Map<String, Value>) {
    let types: Vec<String> = match schema.get("type") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
        _ => return,
    };
    let is_of = |choice: &Value| types.iter().any(|name| is_of_type(choice, name));
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(is_of);
        if choices.is_empty() {
            schema.shift_remove("enum");
        }
    }
    if schema.get("default").is_some_and(|value| !is_of(value)) {
        schema.shift_remove("default");
    }
    if schema.get("const").is_some_and(|value| !is_of(value)) {
        schema.shift_remove("const");
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || name == "integer" && !number.is_f64(),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}
