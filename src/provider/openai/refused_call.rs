//! A tool call that the server has refused in our place, such as Groq's `tool_use_failed`.
//!
//! Owns the reading of what the model wrote. Leaves to the tool itself whether it takes the call: the model then hears what
//! was wrong, and mends it. Invariant: only what is a call, and nothing else, is read as one.

use serde_json::Value;

/// A name and the text of an input.
pub(super) type WrittenCall = (String, String);

/// Returns the calls that a model has written; none if it wrote something else.
pub(super) fn calls_in(written: &str) -> Vec<WrittenCall> {
    let calls = match serde_json::from_str(written.trim()) {
        Ok(Value::Array(all)) => all.iter().map(call).collect(),
        Ok(one) => call(&one).map(|call| vec![call]),
        Err(_) => None,
    };
    calls.unwrap_or_default()
}

fn call(written: &Value) -> Option<WrittenCall> {
    let call = written.get("function").unwrap_or(written);
    let name = call.get("name")?.as_str().filter(|name| !name.is_empty())?;
    let json = match call.get("arguments").or_else(|| call.get("parameters")) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(json)) => json.clone(),
        Some(input) => input.to_string(),
    };
    Some((name.to_owned(), json))
}
