//! The schemas of tools, against the rules of strict services.

use std::sync::Arc;

use belvedere::provider::scripted::Scripted;
use serde_json::Value;

use crate::support::{Parts, Session};

/// Returns what strict services would refuse in the schema of a tool.
pub(crate) fn faults(schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    // Anthropic and OpenAI: an object, and no union at the top.
    if schema["type"] != "object" {
        faults.push(format!("the top is no object: {schema}"));
    }
    for union in ["anyOf", "oneOf", "allOf", "enum", "not"] {
        if schema.get(union).is_some() {
            faults.push(format!("{union} at the top"));
        }
    }
    look(schema, schema, "", &mut faults);
    faults
}

fn look(schema: &Value, root: &Value, place: &str, faults: &mut Vec<String>) {
    let mut fault = |what: &str| faults.push(format!("{place}: {what}: {schema}"));
    // llama.cpp, draft 2020-12 as Anthropic reads it.
    let Some(keys) = schema.as_object() else { return fault("no object") };
    let known = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let types: Vec<&str> = match &schema["type"] {
        Value::Null => Vec::new(),
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().map(|name| name.as_str().unwrap_or("?")).collect(),
        _ => vec!["?"],
    };
    if types.iter().any(|name| !known.contains(name)) {
        fault("an unknown type");
    }
    // Moonshot: each choice is of the type; Gemini behind gateways: no empty choice.
    let fits = |value: &Value| types.is_empty() || types.iter().any(|name| is_of(value, name));
    if let Some(choices) = keys.get("enum") {
        let choices = choices.as_array().map(Vec::as_slice).unwrap_or_default();
        if choices.is_empty() || !choices.iter().all(fits) {
            fault("choices of another type");
        }
    }
    if !keys.get("default").is_none_or(fits) {
        fault("a default of another type");
    }
    let unions = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| keys.get(key));
    if !types.is_empty() && unions.clone().next().is_some() {
        fault("a type beside a union");
    }
    if unions.clone().any(|parts| parts.as_array().is_none_or(Vec::is_empty)) {
        fault("a union of nothing");
    }
    // OpenAI.
    if types == ["array"] && !keys.get("items").is_some_and(Value::is_object) {
        fault("an array without items");
    }
    for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
        if keys.get(key).is_some_and(|value| !value.is_number()) {
            fault("a bound that is no number");
        }
    }
    if keys.get("format").is_some_and(|format| !format.is_string()) {
        fault("a format that is no text");
    }
    // llama.cpp: a pattern is whole, and a reference leads somewhere.
    let is_whole = |text: &str| text.starts_with('^') && text.ends_with('$');
    if keys.get("pattern").is_some_and(|pattern| !pattern.as_str().is_some_and(is_whole)) {
        fault("a pattern of a part");
    }
    let leads = |place: &str| place.strip_prefix('#').is_some_and(|place| root.pointer(place).is_some());
    if keys.get("$ref").is_some_and(|place| !place.as_str().is_some_and(leads)) {
        fault("a reference to nothing");
    }
    // Gemini: what is required is there.
    if let (Some(required), Some(properties)) = (keys.get("required"), keys.get("properties")) {
        let names = required.as_array().map(Vec::as_slice).unwrap_or_default();
        if required.as_array().is_none()
            || !names.iter().all(|name| properties.get(name.as_str().unwrap_or("")).is_some())
        {
            fault("a required name that is not there");
        }
    }
    for (name, inner) in inner(keys) {
        look(inner, root, &format!("{place}/{name}"), faults);
    }
}

/// Returns the schemas within a schema, each under a name.
fn inner(keys: &serde_json::Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut all = Vec::new();
    for key in ["properties", "$defs", "definitions"] {
        let named = keys.get(key).and_then(Value::as_object).into_iter().flatten();
        all.extend(named.map(|(name, inner)| (name.as_str(), inner)));
    }
    for key in ["items", "additionalProperties"] {
        let found = keys.get(key).filter(|inner| !(key == "additionalProperties" && inner.is_boolean()));
        all.extend(found.map(|inner| (key, inner)));
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        all.extend(keys.get(key).and_then(Value::as_array).into_iter().flatten().map(|inner| (key, inner)));
    }
    all
}

/// Returns `true` if a value is of a type.
fn is_of(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || (name == "integer" && !number.is_f64()),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

#[tokio::test]
async fn no_tool_of_the_program_has_a_schema_that_a_strict_service_refuses() {
    let provider = Arc::new(Scripted::from_jsonl(r#"{"steps": [{"say": "ok"}]}"#).unwrap());
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("go").await;
    let requests = provider.requests();
    let tools = &requests[0].tools;
    assert!(tools.len() >= 10, "all tools are offered");
    for tool in tools.iter() {
        assert_eq!(faults(&tool.input_schema), Vec::<String>::new(), "{}", tool.name);
    }
    session.quit().await;
}
