//! Reading one configuration file: TOML with the place of every key.
//!
//! Owns reading, syntax and unknown keys. Leaves the meaning of keys to `layer`. Invariant: beside what cannot be used all
//! else holds.

use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer};

use super::Loaded;
use super::launchers::LauncherEntry;
use super::layer::{self, Origin, SettingRow, Value};
use super::rows::ROWS;
use super::transport;
use crate::message::{
    Diagnostic, KeySettings, LanguageServerSettings, ProviderRow, SearchSettings, Secret, split_list,
};
use crate::whole_file::read_plain_text;

/// Far more than any configuration needs.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a configuration file; `None` if there is none.
///
/// # Errors
/// Returns why nothing of it can be used.
pub fn read_config_file(path: &Path) -> Result<Option<String>, Diagnostic> {
    let left_out = |why: String| Diagnostic::in_file(path, format!("{why}. The file is skipped."));
    read_plain_text(path, MAX_BYTES).map(Some).or_else(|error| match error.kind() {
        _ if is_absent(&error) && leads_nowhere(path) => {
            Err(left_out("it is a link to nothing, or lies behind one".to_owned()))
        }
        _ if is_absent(&error) => Ok(None),
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge | ErrorKind::InvalidData => Err(left_out(error.to_string())),
        _ => Err(left_out(format!("cannot read it: {error}"))),
    })
}

fn is_readable_by_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o044 != 0)
}

/// Returns `true` if a file is missing because a link to it, or to its folder, leads to nothing.
fn leads_nowhere(path: &Path) -> bool {
    let is_loose = |path: &Path| path.symlink_metadata().is_ok_and(|facts| facts.is_symlink()) && !path.exists();
    is_loose(path) || path.parent().is_some_and(is_loose)
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

pub(super) fn apply(loaded: &mut Loaded, text: &str, path: &Path, origin: Origin) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut walk = Walk { loaded, text, path, origin };
    match DeTable::parse(text) {
        Ok(table) => walk.table("", table.get_ref()),
        Err(error) => {
            let start = error.span().map_or(0, |span| span.start);
            let words = error.message().trim_end_matches('.');
            let readable = readable_before(text, start);
            let from = readable.matches('\n').count() + 1;
            walk.lose(start..start, format!("{words}. Nothing from line {from} on holds, whatever it limits."));
            if let Ok(table) = DeTable::parse(readable) {
                walk.table("", table.get_ref());
            }
        }
    }
}

/// Lines that are given up, one by one, in the search for those that can be read.
const MAX_LINES_BACK: usize = 200;

/// Returns the lines of a file that can be read, of those before a fault.
fn readable_before(text: &str, at: usize) -> &str {
    let mut before = text.get(..at).unwrap_or_default();
    for _ in 0..MAX_LINES_BACK {
        before = before.rfind('\n').map_or("", |end| &before[..=end]);
        if before.is_empty() || DeTable::parse(before).is_ok() {
            return before;
        }
        before = &before[..before.len() - 1];
    }
    ""
}

/// A table whose keys have no fixed names. None is for a project to set.
struct OpenTable {
    name: &'static str,
    why_not_project: &'static str,
    read: fn(&mut Walk<'_>, &DeTable<'_>),
}

const OPEN_TABLES: [OpenTable; 7] = [
    OpenTable {
        name: "keys",
        why_not_project: "a key that means yes to you must not mean something else here",
        read: |walk, table| walk.keys(table),
    },
    OpenTable {
        name: "aliases",
        why_not_project: "it decides who receives your files",
        read: |walk, table| walk.aliases(table),
    },
    OpenTable {
        name: "providers",
        why_not_project: "it decides who receives your files and keys",
        read: |walk, table| walk.providers(table),
    },
    OpenTable { name: "lsp", why_not_project: "it starts programs", read: |walk, table| walk.language_servers(table) },
    OpenTable {
        name: "launchers",
        why_not_project: "it starts programs; an agent file may name a launcher of yours",
        read: |walk, table| walk.launchers(table),
    },
    OpenTable {
        name: "web.search",
        why_not_project: "it decides who learns what is searched for",
        read: |walk, table| walk.search(table),
    },
    OpenTable {
        name: "mcp_servers",
        why_not_project: "it starts programs; a project has its servers in .mcp.json",
        read: |walk, table| walk.mcp_servers(table),
    },
];

/// Returns the entries of a table as they are written.
pub(super) fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Reads one table, and gives it its name. An error comes with its place.
fn entry<T: DeserializeOwned, S>(
    table: Spanned<DeTable<'_>>,
    (name, place): (&str, Range<usize>),
    named: impl Fn(T, &str) -> Result<S, String>,
) -> Result<S, (Range<usize>, String)> {
    let read = T::deserialize(Deserializer::from(table));
    let read = read.map_err(|error| (error.span().unwrap_or(place.clone()), error.message().to_owned()))?;
    named(read, name).map_err(|error| (place, error))
}

struct Walk<'a> {
    loaded: &'a mut Loaded,
    text: &'a str,
    path: &'a Path,
    origin: Origin,
}

impl Walk<'_> {
    fn report(&mut self, span: Range<usize>, message: String) {
        self.loaded.diagnostics.push(Diagnostic::in_file(self.path, message).at(self.text, span.start));
    }

    /// Reports something that may have limited what happens.
    fn lose(&mut self, span: Range<usize>, message: String) {
        self.report(span, message);
        if let Some(last) = self.loaded.diagnostics.last_mut() {
            last.loses_guard = true;
        }
    }

    /// Sets one value. Of a list, each entry counts by itself.
    fn set(&mut self, row: &SettingRow, (key, value): (Range<usize>, &DeValue<'_>)) {
        let mut values = Vec::new();
        match value {
            DeValue::Array(items) if row.is_list() => {
                for item in items {
                    let value = match item.get_ref().as_str() {
                        Some(text) => Value::List(vec![text.to_owned()]),
                        None => Value::Other("a list of something else"),
                    };
                    values.push((item.span(), value));
                }
            }
            DeValue::String(text) if row.is_list() => {
                self.report(key.clone(), format!("`{}` is a list: write [\"…\"]. It is read as one", row.name));
                let entries = split_list(text, ['(', ')'], |c| c == ',');
                values.extend(entries.map(|entry| (key.clone(), Value::List(vec![entry.to_owned()]))));
            }
            value => values.push((key, plain(value))),
        }
        for (span, value) in values {
            let Err(error) = layer::set(&mut self.loaded.config, row, value, self.origin) else { continue };
            if error.loses_guard(row) {
                self.lose(span, error.words());
            } else {
                self.report(span, error.words());
            }
        }
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in in_order(table) {
            let name = format!("{prefix}{}", key.get_ref());
            let section = format!("{name}.");
            let row = ROWS.iter().find(|row| row.name == name);
            let open = OPEN_TABLES.iter().find(|open| open.name == name);
            let is_section = open.is_some() || ROWS.iter().any(|row| row.name.starts_with(&section));
            match (row, open, value.get_ref()) {
                (Some(row), _, value) => self.set(row, (key.span(), value)),
                (None, Some(open), DeValue::Table(_)) if self.origin == Origin::Project => {
                    self.report(key.span(), layer::refusal(&name, open.why_not_project));
                }
                (None, Some(open), DeValue::Table(inner)) => (open.read)(self, inner),
                (None, _, DeValue::Table(inner)) if is_section => self.table(&section, inner),
                (None, ..) => {
                    let near = layer::nearest(&name);
                    let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                    let words = if is_section {
                        format!("`{name}` is a table: write `[{name}]`")
                    } else {
                        format!("unknown key `{name}`{hint}")
                    };
                    if layer::may_be_guard(&name) {
                        self.lose(key.span(), words);
                    } else {
                        self.report(key.span(), words);
                    }
                }
            }
        }
    }

    fn aliases(&mut self, aliases: &DeTable<'_>) {
        for (alias, model) in aliases {
            let name = alias.get_ref().trim().to_lowercase();
            match model.get_ref().as_str().map(str::trim).filter(|model| !model.is_empty()) {
                Some(model) => drop(self.loaded.config.aliases.insert(name, model.to_owned())),
                None => self.report(alias.span(), format!("`aliases.{name}` expects a model as a string")),
            }
        }
    }

    fn providers(&mut self, providers: &DeTable<'_>) {
        for (key, table) in in_order(providers) {
            let (name, span) = (key.get_ref(), key.span());
            let Some(mut keys) = table.get_ref().as_table().cloned() else {
                self.report(span, format!("`providers.{name}` is a table: write `[providers.{name}]`"));
                continue;
            };
            let transport = match transport::taken(&mut keys) {
                Ok(transport) => transport,
                Err((span, error)) => {
                    self.report(span, format!("`providers.{name}`: {error}. The provider is skipped."));
                    continue;
                }
            };
            let settings = self.key_settings(&format!("providers.{name}"), &mut keys);
            // A service that is known already needs no row.
            let row = if keys.is_empty() && (settings.is_some() || transport.is_some()) {
                Ok(None)
            } else {
                entry(Spanned::new(table.span(), keys), (name, span), ProviderRow::named).map(Some)
            };
            match row {
                Ok(row) => {
                    self.loaded.config.providers.extend(row);
                    self.loaded.config.service_keys.extend(settings.map(|settings| (name.to_string(), settings)));
                    self.loaded.config.transports.extend(transport.map(|transport| (name.to_string(), transport)));
                }
                Err((span, error)) => {
                    self.report(span, format!("`providers.{name}`: {error}. The provider is skipped."));
                }
            }
        }
    }

    fn language_servers(&mut self, servers: &DeTable<'_>) {
        let read = self.named_tables("lsp", servers, LanguageServerSettings::named);
        self.loaded.config.language_servers.extend(read);
    }

    fn launchers(&mut self, launchers: &DeTable<'_>) {
        let read = self.named_tables("launchers", launchers, LauncherEntry::named);
        self.loaded.config.launchers.extend(read);
    }

    /// Returns what the tables below another one say, each under its name. Says what is wrong with the others.
    fn named_tables<T: DeserializeOwned, S>(
        &mut self,
        kind: &str,
        tables: &DeTable<'_>,
        named: impl Fn(T, &str) -> Result<S, String>,
    ) -> Vec<S> {
        let mut read = Vec::new();
        for (key, table) in in_order(tables) {
            let (name, span) = (key.get_ref(), key.span());
            let Some(keys) = table.get_ref().as_table().cloned() else {
                self.report(span, format!("`{kind}.{name}` is a table: write `[{kind}.{name}]`"));
                continue;
            };
            match entry(Spanned::new(table.span(), keys), (name, span), &named) {
                Ok(settings) => read.push(settings),
                Err((span, error)) => self.report(span, format!("`{kind}.{name}`: {error}. It is skipped.")),
            }
        }
        read
    }

    fn search(&mut self, table: &DeTable<'_>) {
        let mut table = table.clone();
        let span = table.iter().map(|(key, _)| key.span()).min_by_key(|span| span.start).unwrap_or_default();
        let key = self.key_settings("web.search", &mut table).unwrap_or_default();
        let settings = SearchSettings::deserialize(Deserializer::from(Spanned::new(span.clone(), table)));
        let settings = settings.map_err(|error| (error.span().unwrap_or(span.clone()), error.message().to_owned()));
        match settings.and_then(|settings| settings.checked().map_err(|error| (span, error))) {
            Ok(settings) => self.loaded.config.web_search = Some((settings, key)),
            Err((span, error)) => self.report(span, format!("`web.search`: {error}. It is skipped.")),
        }
    }

    /// Takes the entries as they are: `mcp` knows what they mean.
    fn mcp_servers(&mut self, servers: &DeTable<'_>) {
        for (name, entry) in in_order(servers) {
            let Some(table) = entry.get_ref().as_table().cloned() else {
                let name = name.get_ref();
                self.report(entry.span(), format!("`mcp_servers.{name}` is a table: write `[mcp_servers.{name}]`"));
                continue;
            };
            match serde_json::Value::deserialize(Deserializer::from(Spanned::new(entry.span(), table))) {
                Ok(entry) => self.loaded.config.mcp_servers.push((name.get_ref().to_string(), entry)),
                Err(error) => self.report(name.span(), format!("`mcp_servers.{}`: {error}", name.get_ref())),
            }
        }
    }

    /// Takes out of the table of a service what says where its key is, if anything does.
    fn key_settings(&mut self, name: &str, table: &mut DeTable<'_>) -> Option<KeySettings> {
        let (command, key) = (table.remove("api_key_command"), table.remove("api_key"));
        if command.is_none() && key.is_none() {
            return None;
        }
        if let Some(key) = &key
            && is_readable_by_others(self.path)
        {
            let file = self.path.display();
            self.report(key.span(), format!("others can read this key: run chmod 600 {file}"));
        }
        let mut text = |key: &str, value: Option<Spanned<DeValue<'_>>>| {
            let value = value?;
            let text = value.get_ref().as_str().map(str::trim).filter(|text| !text.is_empty());
            if text.is_none() {
                // The value may be a key all the same.
                self.report(value.span(), format!("`{name}.{key}` expects a string"));
            }
            text.map(str::to_owned)
        };
        let command = text("api_key_command", command);
        Some(KeySettings { command, key: text("api_key", key).and_then(|key| Secret::new(&key)) })
    }

    fn keys(&mut self, contexts: &DeTable<'_>) {
        for (context, bindings) in contexts {
            let Some(bindings) = bindings.get_ref().as_table() else {
                let name = context.get_ref();
                self.report(context.span(), format!("`keys.{name}` is a table: write `[keys.{name}]`"));
                continue;
            };
            for (action, chords) in bindings {
                let chords = match plain(chords.get_ref()) {
                    Value::Text(chord) => vec![chord],
                    Value::List(chords) => chords,
                    _ => {
                        let name = action.get_ref();
                        self.report(action.span(), format!("`{name}` expects a key as a string, or a list of keys"));
                        continue;
                    }
                };
                let context = self.loaded.config.keys.entry(context.get_ref().to_string()).or_default();
                context.insert(action.get_ref().to_string(), chords);
            }
        }
    }
}

fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(on) => Value::Switch(*on),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("a number that is too large"), Value::Number),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>().map_or(Value::Other("a list of something else"), Value::List)
        }
        DeValue::Float(number) => {
            number.as_str().replace('_', "").parse().map_or(Value::Other("a number that is too large"), Value::Decimal)
        }
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Table(_) => Value::Other("a table"),
    }
}
