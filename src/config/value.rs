//! What a setting is, by its name: its value in JSON, where it stands, and the schema of all of them.
//!
//! Owns the values as they are written. Leaves names and what they take to `layer`. Invariant: each row of the table has a
//! value here, and each default fits its own schema.

use serde_json::{Map, Value, json};

use super::layer::schema_of;
use super::rows::ROWS;
use super::{Config, Environment, LimitSettings, variable_of};
use crate::message::{Dollars, Effort};

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
    let Config { sandbox, ui, limits, .. } = config;
    Some(match name {
        "model" => json!(config.model),
        "fallback_model" => {
            json!(Some(config.fallback_models.join(", ")).filter(|names| !names.is_empty()))
        }
        "effort" => json!(config.effort.map_or("default", Effort::name)),
        "compact_model" => json!(config.compact_model),
        "reports" => json!(if config.asks_reports { "ask" } else { "send" }),
        "judge_model" => json!(config.judge_model),
        "permission_mode" => json!(config.permission_mode.name()),
        "allowed_tools" => json!(config.allowed_tools),
        "ask_tools" => json!(config.ask_tools),
        "disallowed_tools" => json!(config.disallowed_tools),
        "keep_answers" => json!(if config.keeps_rules { "settings" } else { "state" }),
        "additional_directories" => json!(config.additional_directories),
        "tools.environment" => json!(config.tool_environment),
        "sandbox.enabled" => json!(sandbox.enabled),
        "sandbox.write" => json!(sandbox.write),
        "sandbox.hide" => json!(sandbox.hide),
        "sandbox.hosts" => json!(sandbox.hosts),
        "sandbox.network" => json!(sandbox.network),
        "sandbox.untested_macos" => json!(sandbox.untested_macos),
        "web.hosts" => json!(config.web_hosts),
        "ui.theme" => json!(ui.theme),
        "ui.layout" => json!(ui.layout),
        "ui.editing" => json!(ui.editing),
        "ui.notify" => json!(ui.notify),
        "ui.mouse" => json!(ui.mouse),
        "ui.ascii" => json!(ui.ascii),
        "ui.pictures" => json!(ui.pictures),
        "ui.program_status" => json!(ui.program_status),
        "ui.reduced_motion" => json!(ui.reduced_motion),
        name => limit(limits, name.strip_prefix("limits.")?)?,
    })
}

fn limit(limits: &LimitSettings, name: &str) -> Option<Value> {
    Some(match name {
        "max_parallel" => json!(limits.max_parallel),
        "max_per_request" => json!(limits.max_per_request),
        "max_depth" => json!(limits.max_depth),
        "max_turns" => json!(limits.max_turns),
        "max_tool_calls" => json!(limits.max_tool_calls),
        "max_tool_calls_ceiling" => json!(limits.max_tool_calls_ceiling.unwrap_or(0)),
        "idle_timeout_secs" => json!(limits.idle_timeout_secs),
        "wall_timeout_secs" => json!(limits.wall_timeout_secs.unwrap_or(0)),
        "report_chars" => json!(limits.report_chars),
        "result_chars" => json!(limits.result_chars),
        "thinking_tokens" => json!(limits.thinking_tokens),
        "min_task_chars" => json!(limits.min_task_chars),
        "auto_compact_percent" => json!(limits.auto_compact_percent),
        "keep_days" => json!(limits.keep_days.unwrap_or(0)),
        "keep_mb" => json!(limits.keep_mb.unwrap_or(0)),
        "budget_tokens" => json!(limits.budget.tokens.unwrap_or(0)),
        "budget_usd" => json!(limits.budget.usd.map_or(0.0, Dollars::into)),
        _ => return None,
    })
}

/// Returns where a setting has its value from: of the files, these are the texts.
#[must_use]
pub fn setting_place(name: &str, (user, project): (&str, &str), environment: &Environment) -> SettingPlace {
    let is_in = |text: &str| {
        let table = toml::from_str::<toml::Table>(text).unwrap_or_default();
        let found = name.split('.').try_fold(toml::Value::Table(table), |value, key| value.get(key).cloned());
        found.is_some()
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
        if let Some(value) = setting_value(&defaults, row.name).filter(|value| !value.is_null()) {
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
