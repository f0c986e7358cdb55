//! What a tool takes, in the part of JSON Schema that the Gemini API knows.
//!
//! Owns what is left out of a schema, and what is written another way. Invariants: the result is never narrower than the
//! schema; a schema from a server of tools, however deep or odd, costs time and depth within bounds.

use serde_json::{Map, Value};

/// Keywords that the API reads. One that it does not know can cost the whole request.
const KNOWN: [&str; 17] = [
    "$anchor",
    "$id",
    "$ref",
    "additionalProperties",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "prefixItems",
    "propertyOrdering",
    "required",
    "title",
    "type",
];
/// Keywords whose values are schemas by name.
const NAMED: [(&str, &str); 3] = [("properties", "properties"), ("$defs", "$defs"), ("definitions", "$defs")];
/// Keywords whose values are lists of schemas of which one holds.
const CHOICES: [&str; 2] = ["anyOf", "oneOf"];
/// Depth below which a schema takes anything.
const MAX_DEPTH: usize = 24;

/// Returns a schema as the API takes it.
pub(super) fn accepted(schema: &Value) -> Value {
    let accepted = clean(schema, 0);
    let is_object = accepted.get("type").is_some_and(|kind| kind == "object");
    // Nothing but an object can be the arguments of a call.
    if is_object || accepted.get("$ref").is_some() {
        return accepted;
    }
    let mut object = Map::new();
    object.insert("type".to_owned(), "object".into());
    if let Value::Object(rest) = accepted {
        object.extend(rest.into_iter().filter(|(key, _)| key != "type"));
    }
    Value::Object(object)
}

fn clean(schema: &Value, depth: usize) -> Value {
    let mut cleaned = gather(schema, depth);
    if let Some(reference) = cleaned.get("$ref").cloned() {
        // Beside a reference, only keywords that begin like it are allowed.
        cleaned.retain(|key, _| key.starts_with('$'));
        if let Some(place) = reference.as_str().and_then(|place| place.strip_prefix("#/definitions/")) {
            cleaned.insert("$ref".to_owned(), format!("#/$defs/{place}").into());
        }
    }
    if let Some(names) = cleaned.get("required").and_then(Value::as_array) {
        let known = known_names(names, cleaned.get("properties"));
        cleaned.insert("required".to_owned(), known);
    }
    Value::Object(cleaned)
}

/// Returns the keywords that are known, each cleaned.
fn gather(schema: &Value, depth: usize) -> Map<String, Value> {
    let mut gathered = Map::new();
    // `true` takes anything; so does what lies too deep.
    for (key, value) in schema.as_object().filter(|_| depth < MAX_DEPTH).into_iter().flatten() {
        take(key, value, depth, &mut gathered);
    }
    gathered
}

fn take(key: &str, value: &Value, depth: usize, to: &mut Map<String, Value>) {
    if let Some((_, name)) = NAMED.iter().find(|(keyword, _)| *keyword == key) {
        let Some(schemas) = value.as_object() else { return };
        let cleaned = schemas.iter().map(|(name, schema)| (name.clone(), clean(schema, depth + 1)));
        match to.get_mut(*name) {
            Some(Value::Object(there)) => there.extend(cleaned),
            _ => drop(to.insert((*name).to_owned(), Value::Object(cleaned.collect()))),
        }
    } else if CHOICES.contains(&key) {
        if let Some(schemas) = value.as_array() {
            to.insert("anyOf".to_owned(), schemas.iter().map(|schema| clean(schema, depth + 1)).collect());
        }
    } else if key == "allOf" {
        // What all of them say together is said at once, as far as the API has words for it.
        for part in value.as_array().into_iter().flatten() {
            merge(gather(part, depth + 1), to);
        }
    } else if key == "const" {
        if value.is_string() || value.is_number() {
            to.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
        }
    } else if key == "items" || key == "additionalProperties" {
        let cleaned = if value.is_boolean() { value.clone() } else { clean(value, depth + 1) };
        to.insert(key.to_owned(), cleaned);
    } else if key == "prefixItems" {
        if let Some(schemas) = value.as_array() {
            to.insert(key.to_owned(), schemas.iter().map(|schema| clean(schema, depth + 1)).collect());
        }
    } else if key == "enum" {
        // It knows texts and numbers; a choice among others is none that it could keep to.
        let fits = |choices: &&Vec<Value>| choices.iter().all(|choice| choice.is_string() || choice.is_number());
        if let Some(choices) = value.as_array().filter(fits) {
            to.insert(key.to_owned(), choices.clone().into());
        }
    } else if KNOWN.contains(&key) {
        to.insert(key.to_owned(), value.clone());
    }
}

fn merge(part: Map<String, Value>, to: &mut Map<String, Value>) {
    for (key, value) in part {
        match (to.get_mut(&key), value) {
            (Some(Value::Object(there)), Value::Object(more)) => there.extend(more),
            (Some(Value::Array(there)), Value::Array(more)) if key == "required" => there.extend(more),
            (Some(_), _) => {}
            (None, value) => drop(to.insert(key, value)),
        }
    }
}

/// Returns the names that the properties have: the API refuses others.
fn known_names(names: &[Value], properties: Option<&Value>) -> Value {
    let is_known =
        |name: &&Value| name.as_str().is_some_and(|name| properties.is_some_and(|all| all.get(name).is_some()));
    names.iter().filter(is_known).cloned().collect()
}
