//! The table of settings: each with its name, its value as a file would have it, how it is set, and what a project may do
//! with it.
//!
//! Owns what each setting takes and what follows for it. Leaves setting one to `layer`. Invariant: no two rows share a name.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::json;

use super::layer::{Getter, ProjectRule, Setter, SettingRow};
use super::{Config, LimitSettings};
use crate::message::{CacheTtl, Dollars, Effort, is_variable, parse_tokens};
use crate::permission::Rule;
use crate::sandbox::Hosts;

const NOTIFIERS: [&str; 5] = ["auto", "bell", "osc9", "osc777", "off"];
const LAYOUTS: [&str; 5] = ["auto", "side", "below", "rail", "hidden"];

/// Most models that are asked in the place of one.
const MAX_FALLBACKS: usize = 3;

/// Reads names of models with commas between them.
pub(super) fn model_names(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).take(MAX_FALLBACKS).collect()
}

pub(super) const ROWS: &[SettingRow] = &[
    SettingRow {
        name: "model",
        get: |config| json!(config.model),
        set: Setter::Text(|config, name| {
            config.model = Some(name).filter(|name| !name.trim().is_empty());
            Ok(())
        }),
        project: ProjectRule::Never("it decides who receives your files"),
    },
    SettingRow {
        name: "fallback_model",
        get: |config| json!(Some(config.fallback_models.join(", ")).filter(|names| !names.is_empty())),
        set: Setter::Text(|config, names| {
            config.fallback_models = model_names(&names);
            Ok(())
        }),
        project: ProjectRule::Never("it decides who receives your files"),
    },
    SettingRow {
        name: "effort",
        get: |config| json!(config.effort.map_or("default", Effort::name)),
        set: Setter::Text(|config, word| {
            config.effort = if word.trim().is_empty() { None } else { Effort::choice(&word)? };
            Ok(())
        }),
        // What services do unasked costs as much as `high`.
        project: ProjectRule::Tighten(|config| config.effort.unwrap_or(Effort::High) as u64),
    },
    SettingRow {
        name: "compact_model",
        get: |config| json!(config.compact_model),
        set: Setter::Text(|config, name| {
            config.compact_model = Some(name).filter(|name| !name.trim().is_empty());
            Ok(())
        }),
        project: ProjectRule::Never("it decides who receives your files"),
    },
    SettingRow {
        name: "cache_ttl",
        get: |config| json!(config.cache_ttl.name()),
        set: Setter::Text(|config, word| {
            let unknown = || format!("unknown word `{word}`; one of auto, 5m, 1h");
            config.cache_ttl = CacheTtl::named(&word).ok_or_else(unknown)?;
            Ok(())
        }),
        project: ProjectRule::Never("what a service keeps has its price"),
    },
    SettingRow {
        name: "reports",
        get: |config| json!(if config.asks_reports { "ask" } else { "send" }),
        set: Setter::Text(|config, word| {
            config.asks_reports = match word.as_str() {
                "send" => false,
                "ask" => true,
                _ => return Err(format!("unknown word `{word}`; one of send, ask")),
            };
            Ok(())
        }),
        project: ProjectRule::Tighten(|config| u64::from(!config.asks_reports)),
    },
    SettingRow {
        name: "judge_model",
        get: |config| json!(config.judge_model),
        set: Setter::Text(|config, name| {
            config.judge_model = Some(name).filter(|name| !name.trim().is_empty());
            Ok(())
        }),
        project: ProjectRule::Never("it decides who receives your files"),
    },
    SettingRow {
        name: "permission_mode",
        get: |config| json!(config.permission_mode.name()),
        set: Setter::Text(|config, name| {
            config.permission_mode = name.parse()?;
            Ok(())
        }),
        project: ProjectRule::Tighten(|config| config.permission_mode.leeway().into()),
    },
    SettingRow {
        name: "allowed_tools",
        get: |config| json!(config.allowed_tools),
        set: Setter::List(|config, rules| add_rules(&mut config.allowed_tools, rules)),
        project: ProjectRule::Never("it lets things run without asking you"),
    },
    SettingRow {
        name: "ask_tools",
        get: |config| json!(config.ask_tools),
        set: Setter::List(|config, rules| add_rules(&mut config.ask_tools, rules)),
        project: ProjectRule::Free,
    },
    SettingRow {
        name: "disallowed_tools",
        get: |config| json!(config.disallowed_tools),
        set: Setter::List(|config, rules| add_rules(&mut config.disallowed_tools, rules)),
        project: ProjectRule::Free,
    },
    SettingRow {
        name: "keep_answers",
        get: |config| json!(if config.keeps_rules { "settings" } else { "state" }),
        set: Setter::Text(|config, word| {
            config.keeps_rules = match word.as_str() {
                "state" => false,
                "settings" => true,
                _ => return Err(format!("unknown word `{word}`; one of state, settings")),
            };
            Ok(())
        }),
        project: ProjectRule::Never("it decides where your answers are kept"),
    },
    SettingRow {
        name: "additional_directories",
        get: |config| json!(config.additional_directories),
        set: Setter::List(|config, paths| add_paths(&mut config.additional_directories, paths)),
        project: ProjectRule::Never("these are your files"),
    },
    SettingRow {
        name: "tools.environment",
        get: |config| json!(config.tool_environment),
        set: Setter::List(|config, names| {
            if let Some(name) = names.iter().find(|name| !is_variable(name.strip_suffix('*').unwrap_or(name))) {
                return Err(format!(
                    "`{name}` is not a variable name; write `NAME`, or `NAME_*` for all that begin so"
                ));
            }
            config.tool_environment.extend(names);
            Ok(())
        }),
        project: ProjectRule::Never("it shows your variables to commands"),
    },
    SettingRow {
        name: "sandbox.enabled",
        get: |config| json!(config.sandbox.enabled),
        set: Setter::Switch(|config, on| config.sandbox.enabled = on),
        project: ProjectRule::Tighten(|config| u64::from(!config.sandbox.enabled)),
    },
    SettingRow {
        name: "sandbox.write",
        get: |config| json!(config.sandbox.write),
        set: Setter::List(|config, paths| add_paths(&mut config.sandbox.write, paths)),
        project: ProjectRule::Never("these are your files"),
    },
    SettingRow {
        name: "sandbox.hide",
        get: |config| json!(config.sandbox.hide),
        set: Setter::List(|config, paths| add_paths(&mut config.sandbox.hide, paths)),
        project: ProjectRule::Never("these are your files"),
    },
    SettingRow {
        name: "sandbox.read",
        get: |config| json!(config.sandbox.read),
        set: Setter::List(|config, paths| add_paths(&mut config.sandbox.read, paths)),
        project: ProjectRule::Never("these are your files"),
    },
    SettingRow {
        name: "sandbox.hosts",
        get: |config| json!(config.sandbox.hosts),
        set: Setter::List(|config, hosts| add_hosts(&mut config.sandbox.hosts, hosts)),
        project: ProjectRule::Never("it decides where your files can go"),
    },
    SettingRow {
        name: "web.hosts",
        get: |config| json!(config.web_hosts),
        set: Setter::List(|config, hosts| add_hosts(&mut config.web_hosts, hosts)),
        project: ProjectRule::Never("these are your servers"),
    },
    SettingRow {
        name: "sandbox.network",
        get: |config| json!(config.sandbox.network),
        set: Setter::Switch(|config, on| config.sandbox.network = on),
        project: ProjectRule::Tighten(|config| u64::from(config.sandbox.network)),
    },
    SettingRow {
        name: "sandbox.untested_macos",
        get: |config| json!(config.sandbox.untested_macos),
        set: Setter::Switch(|config, on| config.sandbox.untested_macos = on),
        project: ProjectRule::Tighten(|config| u64::from(config.sandbox.untested_macos)),
    },
    limit(
        "limits.max_parallel",
        |config| json!(config.limits.max_parallel),
        1..=64,
        |l, n| l.max_parallel = n,
        |l| l.max_parallel.into(),
    ),
    limit(
        "limits.max_per_request",
        |config| json!(config.limits.max_per_request),
        0..=1_000,
        |l, n| l.max_per_request = n,
        |l| l.max_per_request.into(),
    ),
    limit(
        "limits.max_depth",
        |config| json!(config.limits.max_depth),
        0..=5,
        |l, n| l.max_depth = n,
        |l| l.max_depth.into(),
    ),
    limit(
        "limits.max_turns",
        |config| json!(config.limits.max_turns),
        1..=10_000,
        |l, n| l.max_turns = n,
        |l| l.max_turns.into(),
    ),
    limit(
        "limits.max_tool_calls",
        |config| json!(config.limits.max_tool_calls),
        1..=100_000,
        |l, n| l.max_tool_calls = n,
        |l| l.max_tool_calls.into(),
    ),
    limit(
        "limits.max_tool_calls_ceiling",
        |config| json!(config.limits.max_tool_calls_ceiling.unwrap_or(0)),
        0..=100_000,
        |l, n| l.max_tool_calls_ceiling = Some(n).filter(|calls| *calls > 0),
        |l| l.max_tool_calls_ceiling.unwrap_or(l.max_tool_calls).into(),
    ),
    limit(
        "limits.idle_timeout_secs",
        |config| json!(config.limits.idle_timeout_secs),
        1..=86_400,
        |l, n| l.idle_timeout_secs = n.into(),
        |l| l.idle_timeout_secs,
    ),
    limit(
        "limits.wall_timeout_secs",
        |config| json!(config.limits.wall_timeout_secs.unwrap_or(0)),
        0..=604_800,
        |l, n| l.wall_timeout_secs = Some(n.into()).filter(|secs| *secs > 0),
        |l| l.wall_timeout_secs.unwrap_or(u64::MAX),
    ),
    limit(
        "limits.report_chars",
        |config| json!(config.limits.report_chars),
        200..=200_000,
        |l, n| l.report_chars = n as usize,
        |l| l.report_chars as u64,
    ),
    limit(
        "limits.result_chars",
        |config| json!(config.limits.result_chars),
        1_000..=1_000_000,
        |l, n| l.result_chars = n as usize,
        |l| l.result_chars as u64,
    ),
    SettingRow {
        name: "limits.thinking_tokens",
        get: |config| json!(config.limits.thinking_tokens),
        set: Setter::Number(0..=1_000_000, |l, n| l.thinking_tokens = Some(n)),
        project: ProjectRule::Never("it decides what thinking costs"),
    },
    limit(
        "limits.min_task_chars",
        |config| json!(config.limits.min_task_chars),
        0..=10_000,
        |l, n| l.min_task_chars = n as usize,
        |l| u64::MAX - l.min_task_chars as u64,
    ),
    SettingRow {
        name: "limits.keep_days",
        get: |config| json!(config.limits.keep_days.unwrap_or(0)),
        set: Setter::Number(0..=36_500, |l, n| l.keep_days = Some(n).filter(|days| *days > 0)),
        project: ProjectRule::Never("it deletes your sessions"),
    },
    SettingRow {
        name: "limits.keep_mb",
        get: |config| json!(config.limits.keep_mb.unwrap_or(0)),
        set: Setter::Number(0..=1_000_000, |l, n| l.keep_mb = Some(n).filter(|mb| *mb > 0)),
        project: ProjectRule::Never("it deletes your sessions"),
    },
    SettingRow {
        name: "limits.auto_compact_percent",
        get: |config| json!(config.limits.auto_compact_percent),
        set: Setter::Number(0..=95, |l, n| l.auto_compact_percent = n),
        project: ProjectRule::Never("it decides how often conversations are summarized"),
    },
    SettingRow {
        name: "limits.budget_tokens",
        get: |config| json!(config.limits.budget.tokens.unwrap_or(0)),
        set: Setter::Amount(|config, text| {
            config.limits.budget.tokens = text.map(parse_tokens).transpose()?;
            Ok(())
        }),
        project: ProjectRule::Tighten(|config| config.limits.budget.tokens.unwrap_or(u64::MAX)),
    },
    SettingRow {
        name: "limits.budget_usd",
        get: |config| json!(config.limits.budget.usd.map_or(0.0, Dollars::into)),
        set: Setter::Amount(|config, text| {
            config.limits.budget.usd = text.map(str::parse).transpose()?;
            Ok(())
        }),
        project: ProjectRule::Tighten(|config| config.limits.budget.usd.map_or(u64::MAX, Dollars::millionths)),
    },
    SettingRow {
        name: "ui.theme",
        get: |config| json!(config.ui.theme),
        set: Setter::Text(|config, name| {
            config.ui.theme = name;
            Ok(())
        }),
        project: ProjectRule::Free,
    },
    choice(
        "ui.layout",
        |config| json!(config.ui.layout),
        "layout",
        &LAYOUTS,
        |config| &mut config.ui.layout,
        ProjectRule::Free,
    ),
    choice(
        "ui.editing",
        |config| json!(config.ui.editing),
        "keys",
        &["emacs", "vi"],
        |config| &mut config.ui.editing,
        ProjectRule::Never("these are your keys"),
    ),
    choice(
        "ui.notify",
        |config| json!(config.ui.notify),
        "way to notify",
        &NOTIFIERS,
        |config| &mut config.ui.notify,
        ProjectRule::Free,
    ),
    switch("ui.mouse", |config| json!(config.ui.mouse), |config, on| config.ui.mouse = on),
    switch("ui.ascii", |config| json!(config.ui.ascii), |config, on| config.ui.ascii = on),
    switch("ui.pictures", |config| json!(config.ui.pictures), |config, on| config.ui.pictures = on),
    switch("ui.program_status", |config| json!(config.ui.program_status), |config, on| config.ui.program_status = on),
    switch("ui.reduced_motion", |config| json!(config.ui.reduced_motion), |config, on| config.ui.reduced_motion = on),
];

const fn limit(
    name: &'static str,
    get: Getter,
    range: RangeInclusive<u32>,
    set: fn(&mut LimitSettings, u32),
    measure: fn(&LimitSettings) -> u64,
) -> SettingRow {
    SettingRow { name, get, set: Setter::Number(range, set), project: ProjectRule::Limit(measure) }
}

const fn choice(
    name: &'static str,
    get: Getter,
    what: &'static str,
    words: &'static [&'static str],
    field: fn(&mut Config) -> &mut String,
    project: ProjectRule,
) -> SettingRow {
    SettingRow { name, get, set: Setter::Choice(what, words, field), project }
}

const fn switch(name: &'static str, get: Getter, set: fn(&mut Config, bool)) -> SettingRow {
    SettingRow { name, get, set: Setter::Switch(set), project: ProjectRule::Free }
}

/// Adds rules to a list.
fn add_rules(list: &mut Vec<String>, rules: Vec<String>) -> Result<(), String> {
    rules.iter().try_for_each(|rule| Rule::check(rule)).map_err(|error| error.to_string())?;
    list.extend(rules);
    Ok(())
}

fn add_hosts(list: &mut Vec<String>, hosts: Vec<String>) -> Result<(), String> {
    if let Some(host) = hosts.iter().find(|host| !Hosts::is_host(host)) {
        return Err(format!("`{host}` is no host; write `example.com`, `example.com:8080` or `*.example.com`"));
    }
    list.extend(hosts);
    Ok(())
}

/// Adds paths, absolute or below the home, to a list.
fn add_paths(list: &mut Vec<PathBuf>, paths: Vec<String>) -> Result<(), String> {
    if let Some(path) = paths.iter().find(|path| !path.starts_with('/') && !path.starts_with("~/")) {
        return Err(format!("`{path}` is no absolute path; begin it with / or ~/"));
    }
    list.extend(paths.into_iter().map(PathBuf::from));
    Ok(())
}
