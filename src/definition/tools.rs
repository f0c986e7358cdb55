//! The lists of tools in agent files.
//!
//! Owns how such a list is written and which names there are. Leaves what an entry allows to `permission`. Invariant: a
//! list that is not understood gives no tools, never all.

use serde_json::Value;

use super::fields::{Reader, scalar};
use crate::message::{canonical_name, sanitize_line, split_list};

/// Bytes of the longest name that is compared with others.
const LONGEST: usize = 40;

/// Returns the entries of `tools`; `None` if there is no such field.
pub(super) fn allowed(reader: &mut Reader<'_>) -> Option<Vec<String>> {
    list(reader, "tools", "the agent gets no tools.")
}

/// Returns the entries of `disallowedTools` in all spellings; `None` if what one of them blocks cannot be told.
pub(super) fn disallowed(reader: &mut Reader<'_>) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for key in ["disallowedTools", "disallowed-tools", "disallowed_tools"] {
        if !is_whole(reader.value(key)) {
            reader
                .report_lost(key, format!("what `{key}` blocks is unknown. Write `{key}: Write, Edit`. File skipped."));
            return None;
        }
        all.extend(reader.value(key).map(names_of).unwrap_or_default());
    }
    Some(all)
}

/// Returns `true` if each entry of a list can be read, or if there is none.
pub(super) fn is_whole(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::String(_)) => true,
        Some(Value::Array(items)) => items.iter().all(|entry| entry.is_null() || item(entry).is_some()),
        Some(_) => false,
    }
}

/// Returns the entries of a field; `outcome` says what comes of one that is no list.
pub(super) fn list(reader: &mut Reader<'_>, key: &str, outcome: &str) -> Option<Vec<String>> {
    let value = reader.value(key)?;
    let is_list = matches!(value, Value::String(_) | Value::Array(_));
    let names = names_of(value);
    if !is_list {
        reader.report_at(key, format!("`{key}` must be a list, or names separated by commas; {outcome}"));
    }
    Some(names)
}

/// Returns the names in a list, or in a text between commas that stand outside parentheses: a scope such as
/// `Bash(git log:*, git show:*)` holds commas of its own, which cut it in two where YAML reads the list.
fn names_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => entries(&items.iter().filter_map(item).collect::<Vec<_>>().join(", ")),
        Value::String(text) => entries(text),
        _ => Vec::new(),
    }
}

/// Returns an item of a list. `Bash(npm: test)` is a pair to YAML.
fn item(value: &Value) -> Option<String> {
    match value {
        Value::Object(pairs) => {
            let pair = pairs.iter().map(|(key, value)| format!("{key}: {}", scalar(value).unwrap_or_default()));
            pair.reduce(|all, one| format!("{all}, {one}"))
        }
        Value::Array(items) => Some(items.iter().map(item).collect::<Option<Vec<_>>>()?.join(", ")),
        value => scalar(value),
    }
}

fn entries(text: &str) -> Vec<String> {
    let names = split_list(text, ['(', ')'], |c| matches!(c, ',' | '\n')).map(bare);
    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    match names.as_slice() {
        // A blank before a parenthesis must not set `Bash (git log:*)` free of its scope.
        [one] if !one.contains('(') => one.split(' ').map(bare).filter(|name| !name.is_empty()).collect(),
        _ => names.iter().flat_map(|name| scopes_of(name)).collect(),
    }
}

/// Returns an entry without what lists are written with. Nothing more comes off it when it is read once more: a name that
/// stands for no tool would become one.
fn bare(entry: &str) -> String {
    let entry = sanitize_line(entry).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut bare = entry.as_str();
    loop {
        let less = bare.trim_start_matches("- ").trim_matches(['"', '\'', '`', ' ']);
        if less == bare {
            return bare.to_owned();
        }
        bare = less;
    }
}

/// Returns an entry for each of several scopes: `Bash(git log:*, git show:*)` is two. A comma without a blank belongs to
/// a command, and kinds of agents stay together.
fn scopes_of(entry: &str) -> Vec<String> {
    let several = entry.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?)));
    match several.filter(|(tool, scopes)| scopes.contains(", ") && canonical_name(tool) != "Agent") {
        Some((tool, scopes)) => scopes.split(", ").map(|scope| format!("{tool}({})", scope.trim())).collect(),
        None => vec![entry.to_owned()],
    }
}

/// Returns `true` if an entry of `tools` names one of the `known` tools. Patterns of MCP servers (`mcp__…`) are left to
/// those.
pub fn knows_tool(entry: &str, known: &[String]) -> bool {
    bare_name(entry).starts_with("mcp__") || is_here(entry, known)
}

/// Returns `true` if an entry gives an agent one of the `known` tools.
pub(super) fn is_here(entry: &str, known: &[String]) -> bool {
    let bare = bare_name(entry);
    bare == "*" || known.iter().any(|known| known.eq_ignore_ascii_case(bare))
}

pub(super) fn bare_name(entry: &str) -> &str {
    canonical_name(entry.split('(').next().unwrap_or_default())
}

/// Returns the known tool whose name is most like that of an entry.
pub(super) fn nearest<'a>(entry: &str, known: &'a [String]) -> Option<&'a str> {
    let wanted = bare_name(entry).to_lowercase();
    let names: Vec<String> = known.iter().map(|known| known.to_lowercase()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = similar::get_close_matches(wanted.as_str(), &names, 1, 0.6);
    let best = near.first().filter(|_| wanted.len() <= LONGEST)?;
    known.get(names.iter().position(|name| name == best)?).map(String::as_str)
}
