//! Adding servers to a file and taking them out.
//!
//! Owns the two files that this program writes: its own `config.toml`, and `.mcp.json` of a project. Invariants: all else
//! in a file stays as it is, comments too; a file is replaced whole or not at all.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use super::sources::{MAX_PROJECT_FILE, read};
use crate::temporary;

/// The key of `config.toml`.
const OWN_KEY: &str = "mcp_servers";
/// The key of `.mcp.json`.
const PROJECT_KEY: &str = "mcpServers";

/// Adds a server to `.mcp.json`, or takes one out. Returns `false` if there is nothing to take out. Blocks.
///
/// # Errors
/// Returns why the file stays as it was.
pub fn edit_project_file(path: &Path, name: &str, entry: Option<Value>) -> Result<bool, String> {
    let mut document: Value = match read(path, MAX_PROJECT_FILE)? {
        Some(text) => serde_json::from_str(&text).map_err(|error| error.to_string())?,
        None => Value::Object(Map::new()),
    };
    let whole = document.as_object_mut().ok_or("it does not hold an object")?;
    let servers = whole.entry(PROJECT_KEY).or_insert_with(|| Value::Object(Map::new()));
    let servers = servers.as_object_mut().ok_or("its `mcpServers` is no object")?;
    match entry {
        Some(_) if servers.contains_key(name) => return Err(format!("it has a server `{name}` already")),
        Some(entry) => drop(servers.insert(name.to_owned(), entry)),
        None if servers.shift_remove(name).is_none() => return Ok(false),
        None => {}
    }
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    replace(path, &(text + "\n")).map(|()| true)
}

/// Adds a server to `config.toml`, or takes one out. Returns `false` if there is nothing to take out. Blocks.
///
/// # Errors
/// Returns why the file stays as it was.
pub fn edit_own_file(path: &Path, name: &str, entry: Option<&Value>) -> Result<bool, String> {
    let text = read(path, MAX_PROJECT_FILE)?.unwrap_or_default();
    let before = servers_in(&text)?;
    let new = match entry {
        Some(_) if before.contains_key(name) => return Err(format!("it has a server `{name}` already")),
        Some(entry) => {
            let table = serde_json::json!({ OWN_KEY: { name: entry } });
            let block = toml::to_string(&table).map_err(|error| error.to_string())?;
            let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            format!("{text}{end}{gap}{block}")
        }
        None if !before.contains_key(name) => return Ok(false),
        None => without(&text, name),
    };
    // What was written is what is read, and nothing else has changed.
    let by_hand = || format!("edit it by hand: its `{OWN_KEY}` is written in a way that is not understood here");
    let mut after = servers_in(&new).map_err(|_| by_hand())?;
    let mut wanted = before;
    match entry {
        Some(entry) => drop(wanted.insert(name.to_owned(), entry.clone())),
        None => drop(wanted.shift_remove(name)),
    }
    after.sort_keys();
    wanted.sort_keys();
    if after != wanted {
        return Err(by_hand());
    }
    replace(path, &new).map(|()| true)
}

fn servers_in(text: &str) -> Result<Map<String, Value>, String> {
    let document: Value = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    Ok(document.get(OWN_KEY).and_then(Value::as_object).cloned().unwrap_or_default())
}

/// Returns a text without the tables of a server.
fn without(text: &str, name: &str) -> String {
    let heads = [format!("{OWN_KEY}.{name}"), format!("{OWN_KEY}.\"{name}\""), format!("{OWN_KEY}.'{name}'")];
    let mut kept = String::with_capacity(text.len());
    let mut is_inside = false;
    for line in text.split_inclusive('\n') {
        let head =
            line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(head, _)| head.trim());
        if let Some(head) = head {
            let is_it =
                |own: &String| head == own || head.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('.'));
            is_inside = heads.iter().any(is_it);
        }
        if !is_inside {
            kept.push_str(line);
        }
    }
    kept
}

/// Puts a text in the place of a file. A link is not followed.
fn replace(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().ok_or("it has no folder")?;
    let written = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut new = temporary::file_within(folder, ".new-", "")?;
        if let Ok(facts) = std::fs::metadata(path) {
            new.as_file().set_permissions(facts.permissions())?;
        }
        new.write_all(text.as_bytes())?;
        new.as_file().sync_all()?;
        new.persist(path).map(drop).map_err(|error| error.error)
    };
    written().map_err(|error| format!("cannot write it: {error}"))
}
