//! Finding the answer of a hook in what it has printed.
//!
//! Pure. Owns where JSON may stand, and how its words are read. Leaves what they mean to `verdict`. Source: the reference of
//! Claude Code's hooks.

use std::time::Duration;

use serde_json::{Map, Value};

/// What a hook has printed.
#[derive(Debug, PartialEq)]
pub(super) enum HookAnswer<'a> {
    Text(&'a str),
    Json(Map<String, Value>),
    /// JSON behind other text, which is meant to be read as text; but a no in it is a no.
    Within(Map<String, Value>, &'a str),
    /// It begins like JSON and is none.
    Broken,
}

impl<'a> HookAnswer<'a> {
    pub(super) fn find(printed: &'a str) -> Self {
        let text = without_declaration(printed).trim();
        if text.starts_with('{') {
            return first_object(text).map_or(Self::Broken, Self::Json);
        }
        let mut starts =
            text.match_indices('\n').map(|(at, _)| text[at..].trim_start()).filter(|rest| rest.starts_with('{'));
        match starts.find_map(first_object) {
            Some(object) => Self::Within(object, text),
            None => Self::Text(text),
        }
    }
}

fn first_object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::Deserializer::from_str(text).into_iter::<Value>().next()? {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Returns what follows the line by which a hook declares that nothing waits for it.
fn without_declaration(printed: &str) -> &str {
    let (first, rest) = printed.trim_start().split_once('\n').unwrap_or((printed, ""));
    if declared_async(first).is_some() { rest } else { printed }
}

/// A hook's word that nothing is to wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AsyncDeclaration {
    /// For how long it may go on, as far as it says so.
    pub(super) within: Option<Duration>,
}

/// Reads a first line of output, which may declare that nothing is to wait for the hook.
pub(super) fn declared_async(line: &str) -> Option<AsyncDeclaration> {
    let Ok(Value::Object(said)) = serde_json::from_str(line.trim()) else { return None };
    let within = said.get("asyncTimeout").and_then(Value::as_u64).map(Duration::from_millis);
    (said.get("async") == Some(&Value::Bool(true))).then_some(AsyncDeclaration { within })
}

/// Returns a word of an answer, in small letters; what is no word, as it is written.
pub(super) fn word(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.trim().to_ascii_lowercase()).filter(|text| !text.is_empty()),
        Some(other) => Some(other.to_string()),
    }
}

/// Returns `true` for a no, however it is written.
pub(super) fn is_no(value: Option<&Value>) -> bool {
    matches!(word(value).as_deref(), Some("false" | "no" | "0"))
}
