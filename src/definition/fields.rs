//! The values of single fields, and what is said about those that cannot be used.
//!
//! Owns diagnostics and the lines they point to. Leaves which fields there are to `load`. Invariant: a value that is
//! there and cannot be used is told, at its line where that can be found, with what to write instead.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Map, Value};

use super::frontmatter::{self, Fields, FrontmatterRead};
use super::keys::{self, FieldKeys};
use super::{AgentDefinition, Isolation, NamedServer, Parsed, Source};
use crate::message::{Diagnostic, sanitize_line};
use crate::permission::PermissionMode;

/// Modes of Claude Code that this program does not have, and those in their place that let no more happen. Where there is none,
/// the mode of the session holds.
const FOREIGN_MODES: [(&str, Option<PermissionMode>); 4] = [
    ("dontAsk", Some(PermissionMode::Default)),
    ("manual", Some(PermissionMode::Default)),
    ("delegate", Some(PermissionMode::Plan)),
    ("auto", None),
];
/// Characters that are kept of a field that nothing acts on.
const IDLE_CHARS: usize = 200;
/// Keys that are doubted in one file.
const MAX_DOUBTS: usize = 5;

/// The fields of one file on their way to an agent.
pub(super) struct Reader<'a> {
    keys: FieldKeys,
    path: Option<PathBuf>,
    diagnostics: Vec<Diagnostic>,
    fields: Fields,
    block: &'a str,
    lines_before: usize,
}

impl<'a> Reader<'a> {
    /// Returns a reader that reports faults in this file.
    pub(super) fn of_file(path: Option<PathBuf>) -> Self {
        Self::with(keys::AGENT, path)
    }

    /// Returns a reader of the head of a skill.
    pub(super) fn of_skill(path: PathBuf) -> Self {
        Self::with(keys::SKILL, Some(path))
    }

    fn with(keys: FieldKeys, path: Option<PathBuf>) -> Self {
        Self { keys, path, diagnostics: Vec::new(), fields: Fields::new(), block: "", lines_before: 0 }
    }

    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    /// Takes what was read of a block that stands after so many lines.
    pub(super) fn take(&mut self, read: FrontmatterRead, block: &'a str, lines_before: usize) {
        (self.fields, self.block, self.lines_before) = (read.fields, block, lines_before);
        self.take_synonyms();
        if let Some((line, error)) = read.error {
            let hint = "Fields were read one by one; quote the value, or write it as a block after `|`";
            self.report(lines_before + line, format!("the frontmatter is not valid YAML ({error}). {hint}."));
        }
    }

    pub(super) fn into_parsed(self, source: Source, definition: Option<AgentDefinition>) -> Parsed {
        let lines = ["tools", "disallowedTools", "model", "hooks"].map(|key| self.line_of(key));
        Parsed { source, definition, diagnostics: self.diagnostics, lines }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(super) fn report(&mut self, line: usize, message: String) {
        self.diagnostics.push(Diagnostic { path: self.path.clone(), line: Some(line), ..Diagnostic::new(message) });
    }

    /// Reports a fault of a field.
    pub(super) fn report_at(&mut self, key: &str, message: String) {
        match self.line_of(key) {
            Some(line) => self.report(line, message),
            None => self.report_head(message),
        }
    }

    /// Reports a field that may have kept the file from something, and for which it is given up.
    pub(super) fn report_lost(&mut self, key: &str, message: String) {
        self.report_at(key, message);
        if let Some(last) = self.diagnostics.last_mut() {
            last.loses_guard = true;
        }
    }

    pub(super) fn report_head(&mut self, message: impl Into<String>) {
        self.report(self.lines_before.max(1), message.into());
    }

    /// Returns the line of a field, if it stands in one of its own.
    fn line_of(&self, key: &str) -> Option<usize> {
        let is_it = |line: &str| {
            self.keys.at_start_of(line.trim_start()).is_some_and(|(written, known)| known == key || written == key)
        };
        let loosely = || self.keys.canonical(key).is_none();
        let at = self.block.lines().position(|line| is_it(line) || (loosely() && line.starts_with(key)))?;
        Some(self.lines_before + at + 1)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(|value| !value.is_null())
    }

    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    /// Returns a field as it stands in the file.
    pub(super) fn raw(&self, key: &str) -> Option<String> {
        self.fields.get(key).and_then(|_| frontmatter::raw_text(self.block, key, self.keys))
    }

    /// Returns a field that holds any text. A value that YAML takes for something else is taken as it is written.
    pub(super) fn prose(&self, key: &str) -> Option<String> {
        match self.fields.get(key)? {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            value => self.raw(key).or_else(|| scalar(value)),
        }
    }

    /// Returns a field that holds a text or a number.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let value = self.value(key)?;
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            self.report_at(key, format!("`{key}` must be a single value; ignored. Write one word after the colon."));
            return None;
        }
        scalar(value)
    }

    /// Returns a field that holds one of a few words.
    pub(super) fn parsed<T: FromStr<Err = String>>(&mut self, key: &str) -> Option<T> {
        let text = self.text(key).filter(|text| !matches!(text.as_str(), "auto" | "inherit"))?;
        let value: Result<T, String> = text.parse();
        if let Err(error) = &value {
            self.report_at(key, format!("{}; using the session's.", sanitize_line(error)));
        }
        value.ok()
    }

    /// Returns a field that holds a number from 1.
    pub(super) fn number(&mut self, key: &str) -> Option<u64> {
        let text = self.text(key)?;
        let number = text.parse().ok().filter(|number| (1..=u64::from(u32::MAX)).contains(number));
        if number.is_none() {
            let text = sanitize_line(&text).into_owned();
            self.report_at(key, format!("`{key}: {text}` is not a positive whole number; using the default."));
        }
        number
    }

    /// Returns a field that holds names of servers, or servers.
    pub(super) fn servers(&mut self, key: &str) -> Option<Vec<NamedServer>> {
        let value = self.value(key)?.clone();
        let inline = |table: Map<String, Value>| -> Vec<NamedServer> {
            table.into_iter().map(|(name, entry)| NamedServer::Inline(name, entry)).collect()
        };
        let known = |name: &str| NamedServer::Known(name.trim().to_owned());
        let mut servers = Vec::new();
        match value {
            Value::String(names) => {
                servers.extend(names.split(',').filter(|name| !name.trim().is_empty()).map(known));
            }
            Value::Object(table) => servers.extend(inline(table)),
            Value::Array(entries) => {
                for entry in entries {
                    match entry {
                        Value::String(name) => servers.push(known(&name)),
                        Value::Object(table) => servers.extend(inline(table)),
                        _ => self.report_at(key, format!("an entry of `{key}` is no name and no server; left out.")),
                    }
                }
            }
            _ => self.report_at(key, format!("`{key}` must be a list of names; the agent gets no MCP server.")),
        }
        Some(servers)
    }

    /// Returns a field that limits the agent by a number from 1. `Err` says that there is one and nobody knows which; that was
    /// reported.
    pub(super) fn limit(&mut self, key: &str) -> Result<Option<u64>, ()> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = scalar(value).unwrap_or_else(|| value.to_string());
        let number = text.parse().ok().filter(|number| (1..=u64::from(u32::MAX)).contains(number));
        number.map(Some).ok_or_else(|| {
            let text = sanitize_line(&text).into_owned();
            self.report_lost(key, format!("`{key}: {text}` is not a positive whole number. Correct it. File skipped."));
        })
    }

    /// Returns the mode and, if it stands for one that this program does not have, the field as written.
    pub(super) fn permission_mode(&mut self) -> (Option<PermissionMode>, Option<(String, String)>) {
        const KEY: &str = "permissionMode";
        let foreign = self.value(KEY).and_then(scalar);
        let foreign =
            foreign.and_then(|text| FOREIGN_MODES.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(&text)));
        match foreign {
            Some((name, mode)) => {
                let instead = mode.map_or_else(|| "the session's mode".to_owned(), |mode| format!("`{mode}`"));
                self.report_at(KEY, format!("`{KEY}: {name}` is not supported; using {instead}."));
                (mode, Some((KEY.to_owned(), name.to_owned())))
            }
            None if self.has(KEY) => (self.mode_or_strictest(KEY), None),
            None => (None, None),
        }
    }

    /// Returns the mode that a field names. One that cannot be told is the one that only reads.
    fn mode_or_strictest(&mut self, key: &str) -> Option<PermissionMode> {
        let text = self.value(key).and_then(scalar).unwrap_or_default();
        if matches!(text.as_str(), "auto" | "inherit") {
            return None;
        }
        let mode: Result<PermissionMode, String> = text.parse();
        if let Err(error) = &mode {
            self.report_at(key, format!("{}; the agent only reads, as in `plan`.", sanitize_line(error)));
        }
        Some(mode.unwrap_or(PermissionMode::Plan))
    }

    /// Returns what keeps the agent apart. `Err` says that something is to and nobody knows what; that was reported.
    pub(super) fn isolation(&mut self) -> Result<Option<Isolation>, ()> {
        const KEY: &str = "isolation";
        let Some(value) = self.value(KEY) else { return Ok(None) };
        let text = scalar(value).unwrap_or_else(|| value.to_string());
        if matches!(text.to_ascii_lowercase().as_str(), "none" | "false") {
            return Ok(None);
        }
        Isolation::named(&text).map(Some).ok_or_else(|| {
            let text = sanitize_line(&text).into_owned();
            let words = "is not supported; write `worktree`, or the name of a launcher. File skipped.";
            self.report_lost(KEY, format!("`{KEY}: {text}` {words}"));
        })
    }

    /// Returns `true` if a field that is on or off is on.
    pub(super) fn take_switch(&mut self, key: &str) -> bool {
        match self.text(key).map(|text| text.to_ascii_lowercase()).as_deref() {
            Some("true" | "yes" | "on") => true,
            None | Some("false" | "no" | "off") => false,
            Some(other) => {
                let other = sanitize_line(other).into_owned();
                self.report_at(key, format!("`{key}: {other}` is neither `true` nor `false`; using `false`."));
                false
            }
        }
    }

    /// Returns `true` if a field is on that keeps something from happening. A value that is neither on nor off is on.
    pub(super) fn restricts(&mut self, key: &str) -> bool {
        let Some(value) = self.value(key) else { return false };
        match scalar(value).map(|text| text.to_ascii_lowercase()).as_deref() {
            Some("false" | "no" | "off") => false,
            Some("true" | "yes" | "on") => true,
            _ => {
                self.report_at(key, format!("`{key}` is neither `true` nor `false`; using `true`."));
                true
            }
        }
    }

    /// Takes fields for those that they are meant to be, where they say which tools there are.
    fn take_synonyms(&mut self) {
        let other: Vec<(String, &'static str)> =
            self.fields.keys().filter_map(|key| Some((key.clone(), self.keys.synonym(key)?))).collect();
        for (written, known) in other {
            // Of two that differ, neither is chosen: the file is not used.
            let is_the_same = self.fields.get(known) == self.fields.get(&written);
            if self.fields.contains_key(known) && !is_the_same {
                continue;
            }
            let Some(value) = self.fields.remove(&written).filter(|_| !is_the_same) else { continue };
            self.fields.insert(known.to_owned(), value);
            let shown = sanitize_line(&written).into_owned();
            self.report_at(&written, format!("`{shown}` is read as `{known}`. Write `{known}`."));
        }
    }

    /// Says which fields of a skill are known ones with a slip.
    pub(super) fn doubt_slips(&mut self) {
        let unknown = self.fields.keys().filter(|key| self.keys.canonical(key).is_none());
        let slips: Vec<(String, &str)> =
            unknown.filter_map(|key| Some((sanitize_line(key).into_owned(), self.keys.meant(key)?))).collect();
        for (key, meant) in slips.into_iter().take(MAX_DOUBTS) {
            self.report_at(&key, format!("unknown field `{key}`; ignored. Did you mean `{meant}`?"));
        }
    }

    /// Returns an unknown field that may be meant to keep tools away.
    pub(super) fn unknown_limit(&self) -> Option<String> {
        let unknown = self.fields.iter().filter(|(key, value)| self.keys.canonical(key).is_none() && !value.is_null());
        let mut unknown = unknown.filter(|(key, _)| self.keys.may_limit(key));
        unknown.next().map(|(key, _)| sanitize_line(key).into_owned())
    }

    /// Returns the hooks of the agent; `None` if what they would check cannot be told.
    pub(super) fn hooks(&mut self, source: &Source) -> Option<Vec<(Value, Source)>> {
        match self.value("hooks").cloned() {
            None => Some(Vec::new()),
            Some(hooks @ Value::Object(_)) => Some(vec![(hooks, source.clone())]),
            Some(_) => {
                let words = "`hooks` is not an object of events. Write it as in settings. File skipped.";
                self.report_lost("hooks", words.to_owned());
                None
            }
        }
    }

    /// Returns fields that nothing acts on, as written.
    pub(super) fn idle(&self, keys: &[&str]) -> Vec<(String, String)> {
        let short = |value: &Value| -> String {
            let text = match value {
                Value::Array(items) if items.iter().all(|item| scalar(item).is_some()) => {
                    items.iter().filter_map(scalar).collect::<Vec<_>>().join(", ")
                }
                value => scalar(value).unwrap_or_else(|| value.to_string()),
            };
            sanitize_line(&text).chars().take(IDLE_CHARS).collect()
        };
        keys.iter().filter_map(|key| Some(((*key).to_owned(), short(self.value(key)?)))).collect()
    }

    /// Warns of fields that nothing acts on: one of them may be a restriction.
    pub(super) fn report_idle(&mut self, idle: &[(String, String)]) {
        for (key, _) in idle {
            self.report_at(key, format!("`{key}` is not supported; ignored."));
        }
    }

    /// Warns of keys that look like known ones, and of known ones that other programs would not know.
    pub(super) fn doubt_unknown_keys(&mut self) {
        let unknown = self.fields.keys().filter(|key| self.keys.canonical(key).is_none());
        let unknown: Vec<(String, Option<&str>)> =
            unknown.map(|key| (sanitize_line(key).into_owned(), self.keys.meant(key))).take(MAX_DOUBTS).collect();
        for (key, meant) in unknown {
            let hint = meant.map(|meant| format!(" Did you mean `{meant}`?"));
            self.report_at(&key, format!("unknown field `{key}`; ignored.{}", hint.unwrap_or_default()));
        }
        for (line, written, known) in self.spelt_otherwise().into_iter().take(MAX_DOUBTS) {
            self.report(
                line,
                format!("`{written}` is read as `{known}`. Other programs are stricter: write `{known}`."),
            );
        }
    }

    /// Finds known keys in another spelling, each with its line.
    fn spelt_otherwise(&self) -> Vec<(usize, String, &'static str)> {
        let lines = self.block.lines().enumerate();
        let keys =
            lines.filter_map(|(at, line)| self.keys.at_start_of(line).map(|(written, known)| (at, written, known)));
        let bare = |written: &str| written.trim().trim_matches(['"', '\'']).to_owned();
        let mut found: Vec<(usize, String, &'static str)> = Vec::new();
        for (at, written, known) in keys {
            // The first decides, as in the recovery; what follows may be part of a text.
            if found.iter().all(|(_, _, taken)| *taken != known) {
                found.push((self.lines_before + at + 1, bare(written), known));
            }
        }
        found.retain(|(_, written, known)| written != known && self.fields.contains_key(*known));
        found
    }
}

/// Returns a value that is neither nothing nor several.
pub(super) fn scalar(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(on) => on.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}
