//! From the text of one settings file to what it says of permissions.
//!
//! Owns which shapes a value may have, and what is said of others. Leaves which files there are to `settings`, and the other
//! keys to `more_settings`. Invariant: beside a value that cannot be used all others hold, and one that may have forbidden
//! something is reported as a lost guard.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::json::{self, kind};
use super::more_settings::MoreSettings;
use super::restrictions;
use super::{SettingsTier, file};
use crate::message::{Diagnostic, sanitize_line};

/// What one file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub tier: SettingsTier,
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    /// Folders that are worked in beside the project, as written.
    pub directories: Vec<String>,
    /// See [`PermissionMode`](crate::permission::PermissionMode); it may be a name that only Claude Code knows.
    pub(super) mode: Option<String>,
    /// Whether nobody may let everything happen.
    pub(super) forbids_bypass: bool,
    /// Whether only the organization's rules count.
    pub(super) is_alone: bool,
    /// Servers of `.mcp.json` that are to be started, that are not, and whether all others are.
    pub enabled_servers: Vec<String>,
    pub disabled_servers: Vec<String>,
    pub enables_all_servers: bool,
    /// What else counts.
    pub more: MoreSettings,
    /// What is wrong with the file.
    pub errors: Vec<Diagnostic>,
}

impl SettingsFile {
    /// Returns the folder that its relative paths begin at: the one that `.claude` lies in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        let own = self.path.parent().unwrap_or(&self.path);
        own.parent().filter(|_| own.file_name().is_some_and(|name| name == ".claude")).unwrap_or(own)
    }
}

/// Reads a file. One that is not there, or says nothing, is none.
///
/// # Errors
/// Returns why nothing of it can be used.
pub(super) fn read(tier: SettingsTier, path: &Path) -> Result<Option<SettingsFile>, Diagnostic> {
    let Some(text) = file::read_config_file(path).map_err(Diagnostic::losing_guard)? else { return Ok(None) };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        // A file that says nothing has lost nothing.
        return Ok(None);
    }
    parse(tier, path, text).map(Some)
}

/// Reads the text of a file.
///
/// # Errors
/// Returns why nothing of it can be used.
pub(super) fn parse(tier: SettingsTier, path: &Path, text: &str) -> Result<SettingsFile, Diagnostic> {
    let keys = json::object(text, path).map_err(|mut error| {
        error.message = format!("{}. None of its rules, hooks and other settings hold.", sanitize_line(&error.message));
        error.losing_guard()
    })?;
    let mut reader = Reader { path, text, errors: Vec::new() };
    let none = Map::new();
    let section = match keys.get("permissions") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(section)) => section,
        Some(other) => {
            reader.lose("permissions", &format!("is {}, no object: none of its rules hold", kind(other)));
            &none
        }
    };
    let [deny, ask] = ["deny", "ask"].map(|key| reader.list(section, "permissions.", key, Use::Forbids));
    let [allow, directories] =
        ["allow", "additionalDirectories"].map(|key| reader.list(section, "permissions.", key, Use::Lets));
    let mode = reader.mode(section.get("defaultMode"));
    let (enabled, reported) = (keys.get("enabledMcpjsonServers"), reader.errors.len());
    let enabled_servers = reader.list(&keys, "", "enabledMcpjsonServers", Use::Lets);
    // A list of which nothing is left would let all of them start.
    if enabled_servers.is_empty() && enabled.is_some_and(|value| *value != Value::Array(Vec::new()) && !value.is_null())
    {
        reader.errors.truncate(reported);
        reader.lose("enabledMcpjsonServers", "names no server: all of .mcp.json would start");
    }
    let disabled_servers = reader.list(&keys, "", "disabledMcpjsonServers", Use::Forbids);
    let more = MoreSettings::of(&keys);
    for (key, words) in &more.errors {
        reader.note(key, words);
    }
    for (key, words) in &more.lost {
        reader.lose(key, words);
    }
    for (key, words) in restrictions::unmet(&keys, tier) {
        reader.lose(&key, &words);
    }
    Ok(SettingsFile {
        path: path.to_path_buf(),
        tier,
        allow,
        ask,
        deny,
        directories,
        mode,
        forbids_bypass: is_on(section.get("disableBypassPermissionsMode")),
        is_alone: is_on(keys.get("allowManagedPermissionRulesOnly")),
        enabled_servers,
        disabled_servers,
        enables_all_servers: keys.get("enableAllProjectMcpServers") == Some(&Value::Bool(true)),
        more,
        errors: reader.errors,
    })
}

/// Returns `true` if a restriction is set. A value that makes no sense sets it.
pub(super) fn is_on(value: Option<&Value>) -> bool {
    !matches!(value, None | Some(Value::Null | Value::Bool(false)))
}

/// What the entries of a list do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// They keep something from happening.
    Forbids,
    Lets,
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn note(&mut self, key: &str, words: &str) {
        let end = if words.ends_with('?') { "" } else { "." };
        let error = Diagnostic::in_file(self.path, sanitize_line(&format!("`{key}` {words}{end}")).into_owned());
        self.errors.push(match json::offset_of(self.text, key) {
            Some(at) => error.at(self.text, at),
            None => error,
        });
    }

    fn lose(&mut self, key: &str, words: &str) {
        self.note(key, words);
        if let Some(error) = self.errors.last_mut() {
            error.loses_guard = true;
        }
    }

    /// Reads a list of texts. A single text is a list of one.
    fn list(&mut self, keys: &Map<String, Value>, prefix: &str, key: &str, what: Use) -> Vec<String> {
        let name = format!("{prefix}{key}");
        let mut say = |words: String| match what {
            Use::Forbids => self.lose(&name, &words),
            Use::Lets => self.note(&name, &words),
        };
        match keys.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => {
                let mut texts = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    match item.as_str() {
                        Some(text) => texts.push(text.to_owned()),
                        None => say(format!("has {} in the place of entry {}: it does nothing", kind(item), at + 1)),
                    }
                }
                texts
            }
            Some(other) => {
                say(format!("is {}, no list: none of it holds", kind(other)));
                Vec::new()
            }
        }
    }

    fn mode(&mut self, value: Option<&Value>) -> Option<String> {
        match value? {
            Value::Null => None,
            Value::String(name) => Some(name.clone()),
            other => {
                self.lose("permissions.defaultMode", &format!("is {}, no name of a mode", kind(other)));
                None
            }
        }
    }
}
