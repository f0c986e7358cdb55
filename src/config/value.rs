//! What a setting is, by its name: its value in JSON, where it stands, and the schema of all of them.
//!
//! Owns the schema. Leaves names, values and what they take to `rows` and `layer`. Invariant: each default fits its own
//! schema.

use serde_json::{Map, Value, json};

use super::layer::schema_of;
use super::rows::ROWS;
use super::{Config, Environment, variable_of};

/// Where a setting has its value from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingPlace {
    Default,
    User,
    Project,
    Environment,
}

impl SettingPlace {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "config.toml",
            Self::Project => "project",
            Self::Environment => "environment",
        }
    }
}

/// Returns the names of all settings, in their order.
pub fn setting_names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// Returns the value of a setting, as a file would have it; `null` where it has none. `None` if there is no such setting.
#[must_use]
pub fn setting_value(config: &Config, name: &str) -> Option<Value> {
    ROWS.iter().find(|row| row.name == name).map(|row| (row.get)(config))
}

/// Returns where a setting has its value from, of the files or elsewhere.
#[must_use]
pub fn setting_place(
    name: &str,
    (user, project): (&toml::Table, &toml::Table),
    environment: &Environment,
) -> SettingPlace {
    let is_in = |table: &toml::Table| {
        let (first, others) = name.split_once('.').map_or((name, ""), |(first, others)| (first, others));
        let mut others = others.split('.').filter(|key| !key.is_empty());
        table.get(first).and_then(|value| others.try_fold(value, |value, key| value.get(key))).is_some()
    };
    if environment.get(&variable_of(name)).is_some_and(|text| !text.is_empty()) {
        SettingPlace::Environment
    } else if is_in(project) {
        SettingPlace::Project
    } else if is_in(user) {
        SettingPlace::User
    } else {
        SettingPlace::Default
    }
}

/// Returns the JSON Schema of a configuration file, for editors.
#[must_use]
pub fn config_schema() -> Value {
    let defaults = Config::default();
    let mut root = Map::new();
    for row in ROWS {
        let mut schema = schema_of(row);
        if let Some(value) = Some((row.get)(&defaults)).filter(|value| !value.is_null()) {
            schema["default"] = value;
        }
        put(&mut root, &row.name.split('.').collect::<Vec<_>>(), schema);
    }
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let table_of = |inner: &Value| json!({"type": "object", "additionalProperties": inner});
    for (name, schema) in [
        ("aliases", table_of(&text)),
        ("keys", table_of(&table_of(&json!({"anyOf": [text, texts]})))),
        ("providers", table_of(&json!({"type": "object"}))),
        ("mcp_servers", table_of(&json!({"type": "object"}))),
        (
            "lsp",
            table_of(&json!({
                "type": "object",
                "required": ["command", "extensions"],
                "properties": {"command": text, "args": texts, "extensions": texts},
            })),
        ),
        (
            "launchers",
            table_of(&json!({
                "type": "object",
                "required": ["command"],
                "properties": {
                    "command": {"anyOf": [text, texts]},
                    "folder": {"enum": ["none", "git", "rsync"], "default": "none"},
                    "to": text,
                    "include": texts,
                    "exclude": texts,
                    "at_once": {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 8},
                    "env": table_of(&text),
                },
            })),
        ),
        (
            "web.search",
            json!({
                "type": "object",
                "required": ["engine"],
                "properties": {"engine": {"enum": ["searxng", "brave"]}, "url": text, "key_env": text},
            }),
        ),
    ] {
        put(&mut root, &name.split('.').collect::<Vec<_>>(), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Belvedere",
        "type": "object",
        "additionalProperties": false,
        "properties": root,
    })
}

/// Puts the schema of a name into the properties of its section.
fn put(properties: &mut Map<String, Value>, path: &[&str], schema: Value) {
    let [section, rest @ ..] = path else { return };
    if rest.is_empty() {
        properties.insert((*section).to_owned(), schema);
        return;
    }
    let section = properties
        .entry((*section).to_owned())
        .or_insert_with(|| json!({"type": "object", "additionalProperties": false, "properties": {}}));
    if let Some(inner) = section["properties"].as_object_mut() {
        put(inner, rest, schema);
    }
}
