//! The lists of MCP servers in a settings file: those that may be used, and those that may not.
//!
//! Owns their form and how those of several files add up. Leaves what an entry matches to `message`. Invariant: an entry that
//! is not understood allows nothing; one that is to deny is reported as lost.

use serde_json::{Map, Value};

use super::settings_file::is_on;
use super::{SettingsFile, SettingsTier, json};
use crate::message::{ServerLists, ServerPattern};

/// The lists of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileServerLists {
    pub allowed: Option<Vec<ServerPattern>>,
    pub denied: Vec<ServerPattern>,
    /// Whether only the organization's list of allowed ones counts.
    pub only_managed: bool,
}

impl FileServerLists {
    pub(super) fn of(keys: &Map<String, Value>, lost: &mut Vec<(String, String)>) -> Self {
        let mut list = |key: &str, forbids: bool| {
            let value = keys.get(key).filter(|value| !value.is_null())?;
            let Value::Array(items) = value else {
                lost.push((key.to_owned(), format!("is {}, no list of servers", json::kind(value))));
                return Some(Vec::new());
            };
            let mut patterns = Vec::new();
            for (at, item) in items.iter().enumerate() {
                match pattern(item) {
                    Some(pattern) => patterns.push(pattern),
                    None if forbids => lost.push((key.to_owned(), format!("names no server in entry {}", at + 1))),
                    None => {}
                }
            }
            Some(patterns)
        };
        Self {
            allowed: list("allowedMcpServers", false),
            denied: list("deniedMcpServers", true).unwrap_or_default(),
            only_managed: is_on(keys.get("allowManagedMcpServersOnly")),
        }
    }
}

fn pattern(entry: &Value) -> Option<ServerPattern> {
    let text = |key: &str| entry[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    if let Some(name) = text("serverName") {
        return Some(ServerPattern::Name(name));
    }
    if let Some(url) = text("serverUrl") {
        return Some(ServerPattern::Url(url));
    }
    let words = entry["serverCommand"].as_array()?;
    let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
    words.filter(|words| !words.is_empty()).map(ServerPattern::Command)
}

/// Returns what the lists of all files come to. A project's list allows nothing that the user's does not.
#[must_use]
pub fn server_lists(files: &[SettingsFile]) -> ServerLists {
    let is_managed = |file: &SettingsFile| file.tier == SettingsTier::Managed;
    let only_managed = files.iter().any(|file| is_managed(file) && file.more.servers.only_managed);
    let counts = |file: &&SettingsFile| !only_managed || is_managed(file);
    let allowed = |is_projects: bool| {
        let those = files.iter().filter(counts).filter(|file| file.tier.is_projects() == is_projects);
        those.filter_map(|file| file.more.servers.allowed.clone()).reduce(|all, more| [all, more].concat())
    };
    ServerLists {
        allowed: allowed(false).into_iter().chain(allowed(true)).collect(),
        denied: files.iter().flat_map(|file| file.more.servers.denied.clone()).collect(),
    }
}
