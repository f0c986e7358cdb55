//! Every setting as a row: its name, how it is set, and what a project may do with it.
//!
//! Owns names, ranges and the trust in each origin. Leaves the syntax of files to `file`. Invariant: a value reaches
//! [`Config`] only through [`set`], so no layer can go around the rule for projects.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::json;

use super::{Config, Environment, LimitSettings, Loaded};
use crate::message::{Diagnostic, Dollars, is_variable, parse_tokens, split_list};
use crate::permission::{PermissionMode, Rule};
use crate::sandbox::Hosts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The user's own file.
    User,
    /// A file of the project, perhaps by a stranger.
    Project,
    Environment,
}

/// A value before anyone knows what it is for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Decimal(f64),
    Switch(bool),
    List(Vec<String>),
    /// Something no setting takes, by the name of its type.
    Other(&'static str),
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Number(_) => "a whole number",
            Self::Decimal(_) => "a number with a fraction",
            Self::Switch(_) => "true or false",
            Self::List(_) => "a list of strings",
            Self::Other(kind) => kind,
        }
    }
}

pub(super) struct SettingRow {
    /// Dotted name, as in the file.
    pub(super) name: &'static str,
    set: Setter,
    project: ProjectRule,
}

enum Setter {
    Text(fn(&mut Config, String) -> Result<(), String>),
    /// One of some words for what the first says.
    Choice(&'static str, &'static [&'static str], fn(&mut Config) -> &mut String),
    Number(RangeInclusive<u32>, fn(&mut LimitSettings, u32)),
    Switch(fn(&mut Config, bool)),
    /// A number in any spelling; nothing and 0 mean none.
    Amount(fn(&mut Config, Option<&str>) -> Result<(), String>),
    List(fn(&mut Config, Vec<String>) -> Result<(), String>),
}

enum ProjectRule {
    Free,
    /// Nothing, for the reason given.
    Never(&'static str),
    /// Lower the measure, which says how much the setting lets happen.
    Tighten(fn(&Config) -> u64),
    /// The same, of a limit.
    Limit(fn(&LimitSettings) -> u64),
}

/// Longest name that is compared with those that are known, in bytes.
const LONGEST_NAME: usize = 64;
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
        set: Setter::Text(|config, name| {
            config.model = Some(name).filter(|name| !name.trim().is_empty());
            Ok(())
        }),
        project: ProjectRule::Never("it decides who receives your files"),
    },
    SettingRow {
        name: "fallback_model",
        set: Setter::Text(|config, names| {
            config.fallback_models = model_names(&names);
            Ok(())
        }),
        project: ProjectRule::Never("it decides who receives your files"),
    },
    SettingRow {
        name: "compact_model",
        set: Setter::Text(|config, name| {
            config.compact_model = Some(name).filter(|name| !name.trim().is_empty());
            Ok(())
        }),
        project: ProjectRule::Never("it decides who receives your files"),
    },
    SettingRow {
        name: "reports",
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
        set: Setter::Text(|config, name| {
            config.judge_model = Some(name).filter(|name| !name.trim().is_empty());
            Ok(())
        }),
        project: ProjectRule::Never("it decides who receives your files"),
    },
    SettingRow {
        name: "permission_mode",
        set: Setter::Text(|config, name| {
            config.permission_mode = name.parse()?;
            Ok(())
        }),
        project: ProjectRule::Tighten(|config| config.permission_mode.leeway().into()),
    },
    SettingRow {
        name: "allowed_tools",
        set: Setter::List(|config, rules| add_rules(&mut config.allowed_tools, rules)),
        project: ProjectRule::Never("it lets things run without asking you"),
    },
    SettingRow {
        name: "ask_tools",
        set: Setter::List(|config, rules| add_rules(&mut config.ask_tools, rules)),
        project: ProjectRule::Free,
    },
    SettingRow {
        name: "disallowed_tools",
        set: Setter::List(|config, rules| add_rules(&mut config.disallowed_tools, rules)),
        project: ProjectRule::Free,
    },
    SettingRow {
        name: "keep_answers",
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
        set: Setter::List(|config, paths| add_paths(&mut config.additional_directories, paths)),
        project: ProjectRule::Never("these are your files"),
    },
    SettingRow {
        name: "tools.environment",
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
        set: Setter::Switch(|config, on| config.sandbox.enabled = on),
        project: ProjectRule::Tighten(|config| u64::from(!config.sandbox.enabled)),
    },
    SettingRow {
        name: "sandbox.write",
        set: Setter::List(|config, paths| add_paths(&mut config.sandbox.write, paths)),
        project: ProjectRule::Never("these are your files"),
    },
    SettingRow {
        name: "sandbox.hide",
        set: Setter::List(|config, paths| add_paths(&mut config.sandbox.hide, paths)),
        project: ProjectRule::Never("these are your files"),
    },
    SettingRow {
        name: "sandbox.hosts",
        set: Setter::List(|config, hosts| add_hosts(&mut config.sandbox.hosts, hosts)),
        project: ProjectRule::Never("it decides where your files can go"),
    },
    SettingRow {
        name: "web.hosts",
        set: Setter::List(|config, hosts| add_hosts(&mut config.web_hosts, hosts)),
        project: ProjectRule::Never("these are your servers"),
    },
    SettingRow {
        name: "sandbox.network",
        set: Setter::Switch(|config, on| config.sandbox.network = on),
        project: ProjectRule::Tighten(|config| u64::from(config.sandbox.network)),
    },
    SettingRow {
        name: "sandbox.untested_macos",
        set: Setter::Switch(|config, on| config.sandbox.untested_macos = on),
        project: ProjectRule::Tighten(|config| u64::from(config.sandbox.untested_macos)),
    },
    limit("limits.max_parallel", 1..=64, |l, n| l.max_parallel = n, |l| l.max_parallel.into()),
    limit("limits.max_per_request", 0..=1_000, |l, n| l.max_per_request = n, |l| l.max_per_request.into()),
    limit("limits.max_depth", 0..=5, |l, n| l.max_depth = n, |l| l.max_depth.into()),
    limit("limits.max_turns", 1..=10_000, |l, n| l.max_turns = n, |l| l.max_turns.into()),
    limit("limits.max_tool_calls", 1..=100_000, |l, n| l.max_tool_calls = n, |l| l.max_tool_calls.into()),
    limit(
        "limits.max_tool_calls_ceiling",
        0..=100_000,
        |l, n| l.max_tool_calls_ceiling = Some(n).filter(|calls| *calls > 0),
        |l| l.max_tool_calls_ceiling.unwrap_or(l.max_tool_calls).into(),
    ),
    limit("limits.idle_timeout_secs", 1..=86_400, |l, n| l.idle_timeout_secs = n.into(), |l| l.idle_timeout_secs),
    limit(
        "limits.wall_timeout_secs",
        0..=604_800,
        |l, n| l.wall_timeout_secs = Some(n.into()).filter(|secs| *secs > 0),
        |l| l.wall_timeout_secs.unwrap_or(u64::MAX),
    ),
    limit("limits.report_chars", 200..=200_000, |l, n| l.report_chars = n as usize, |l| l.report_chars as u64),
    limit("limits.result_chars", 1_000..=1_000_000, |l, n| l.result_chars = n as usize, |l| l.result_chars as u64),
    limit(
        "limits.min_task_chars",
        0..=10_000,
        |l, n| l.min_task_chars = n as usize,
        |l| u64::MAX - l.min_task_chars as u64,
    ),
    SettingRow {
        name: "limits.keep_days",
        set: Setter::Number(0..=36_500, |l, n| l.keep_days = Some(n).filter(|days| *days > 0)),
        project: ProjectRule::Never("it deletes your sessions"),
    },
    SettingRow {
        name: "limits.keep_mb",
        set: Setter::Number(0..=1_000_000, |l, n| l.keep_mb = Some(n).filter(|mb| *mb > 0)),
        project: ProjectRule::Never("it deletes your sessions"),
    },
    SettingRow {
        name: "limits.auto_compact_percent",
        set: Setter::Number(0..=95, |l, n| l.auto_compact_percent = n),
        project: ProjectRule::Never("it decides how often conversations are summarized"),
    },
    SettingRow {
        name: "limits.budget_tokens",
        set: Setter::Amount(|config, text| {
            config.limits.budget.tokens = text.map(parse_tokens).transpose()?;
            Ok(())
        }),
        project: ProjectRule::Tighten(|config| config.limits.budget.tokens.unwrap_or(u64::MAX)),
    },
    SettingRow {
        name: "limits.budget_usd",
        set: Setter::Amount(|config, text| {
            config.limits.budget.usd = text.map(str::parse).transpose()?;
            Ok(())
        }),
        project: ProjectRule::Tighten(|config| config.limits.budget.usd.map_or(u64::MAX, Dollars::millionths)),
    },
    SettingRow {
        name: "ui.theme",
        set: Setter::Text(|config, name| {
            config.ui.theme = name;
            Ok(())
        }),
        project: ProjectRule::Free,
    },
    choice("ui.layout", "layout", &LAYOUTS, |config| &mut config.ui.layout, ProjectRule::Free),
    choice(
        "ui.editing",
        "keys",
        &["emacs", "vi"],
        |config| &mut config.ui.editing,
        ProjectRule::Never("these are your keys"),
    ),
    choice("ui.notify", "way to notify", &NOTIFIERS, |config| &mut config.ui.notify, ProjectRule::Free),
    switch("ui.mouse", |config, on| config.ui.mouse = on),
    switch("ui.ascii", |config, on| config.ui.ascii = on),
    switch("ui.pictures", |config, on| config.ui.pictures = on),
    switch("ui.program_status", |config, on| config.ui.program_status = on),
    switch("ui.reduced_motion", |config, on| config.ui.reduced_motion = on),
];

const fn limit(
    name: &'static str,
    range: RangeInclusive<u32>,
    set: fn(&mut LimitSettings, u32),
    measure: fn(&LimitSettings) -> u64,
) -> SettingRow {
    SettingRow { name, set: Setter::Number(range, set), project: ProjectRule::Limit(measure) }
}

const fn choice(
    name: &'static str,
    what: &'static str,
    words: &'static [&'static str],
    field: fn(&mut Config) -> &mut String,
    project: ProjectRule,
) -> SettingRow {
    SettingRow { name, set: Setter::Choice(what, words, field), project }
}

const fn switch(name: &'static str, set: fn(&mut Config, bool)) -> SettingRow {
    SettingRow { name, set: Setter::Switch(set), project: ProjectRule::Free }
}

/// Sets one value, if its origin may. The error says what is wrong; the setting is then as it was.
pub(super) fn set(config: &mut Config, row: &SettingRow, value: Value, origin: Origin) -> Result<(), String> {
    if let (Origin::Project, ProjectRule::Never(why)) = (origin, &row.project) {
        return Err(refusal(row.name, why));
    }
    let mut changed = config.clone();
    assign(&mut changed, row, value).map_err(|error| format!("`{}`: {error}", row.name))?;
    let is_laxer = match &row.project {
        ProjectRule::Tighten(measure) => measure(&changed) > measure(config),
        ProjectRule::Limit(measure) => measure(&changed.limits) > measure(&config.limits),
        ProjectRule::Free | ProjectRule::Never(_) => false,
    };
    if is_laxer && origin == Origin::Project {
        return Err(refusal(row.name, "it would be laxer than your own setting"));
    }
    *config = changed;
    Ok(())
}

pub(super) fn refusal(name: &str, why: &str) -> String {
    format!("a project may not set `{name}`: {why}. Ignored; set it in your own config.toml if you want it.")
}

fn assign(config: &mut Config, row: &SettingRow, value: Value) -> Result<(), String> {
    let expected = match &row.set {
        Setter::Text(_) | Setter::Choice(..) => "a string",
        Setter::Number(..) => "a whole number",
        Setter::Switch(_) => "true or false",
        Setter::Amount(_) => "a number",
        Setter::List(_) => "a list of strings",
    };
    match (&row.set, value) {
        (Setter::Text(set), Value::Text(text)) => set(config, text),
        (Setter::Choice(what, words, field), Value::Text(text)) => {
            if !words.contains(&text.as_str()) {
                return Err(format!("unknown {what} `{text}`; one of {}", words.join(", ")));
            }
            *field(config) = text;
            Ok(())
        }
        (Setter::Switch(set), Value::Switch(on)) => {
            set(config, on);
            Ok(())
        }
        (Setter::List(set), Value::List(items)) => set(config, items),
        (Setter::Amount(set), Value::Text(text)) => set_amount(*set, config, &text),
        (Setter::Amount(set), Value::Number(number)) => set_amount(*set, config, &number.to_string()),
        (Setter::Amount(set), Value::Decimal(number)) => set_amount(*set, config, &number.to_string()),
        (Setter::Number(range, set), Value::Number(number)) => {
            let fits = u32::try_from(number).ok().filter(|number| range.contains(number));
            let number = fits.ok_or_else(|| {
                format!("{number} is out of range; it goes from {} to {}", range.start(), range.end())
            })?;
            set(&mut config.limits, number);
            Ok(())
        }
        (_, value) => Err(format!("expects {expected}, found {}", value.kind())),
    }
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

fn set_amount(
    set: fn(&mut Config, Option<&str>) -> Result<(), String>,
    config: &mut Config,
    text: &str,
) -> Result<(), String> {
    let text = text.trim();
    set(config, Some(text).filter(|text| !text.is_empty() && !matches!(*text, "0" | "0.0")))
}

/// Applies `BELVEDERE_<NAME>` for every row: `limits.max_turns` is `BELVEDERE_LIMITS_MAX_TURNS`. An empty variable
/// counts as unset.
pub(super) fn apply_environment(loaded: &mut Loaded, environment: &Environment) {
    for row in ROWS {
        let variable = variable_of(row.name);
        let Some(text) = environment.get(&variable).filter(|text| !text.is_empty()) else { continue };
        let result = parse(row, text).and_then(|value| set(&mut loaded.config, row, value, Origin::Environment));
        if let Err(error) = result {
            loaded.diagnostics.push(Diagnostic::new(format!("{variable}: {error}. Ignored.")));
        }
    }
}

/// Returns the variable of the environment that sets this.
#[must_use]
pub fn variable_of(name: &str) -> String {
    format!("BELVEDERE_{}", name.replace('.', "_").to_uppercase())
}

/// Returns `true` if a setting is a number in any spelling.
pub(super) fn takes_numbers(row: &SettingRow) -> bool {
    matches!(row.set, Setter::Amount(_))
}

/// Returns the JSON Schema of what a setting takes.
pub(super) fn schema_of(row: &SettingRow) -> serde_json::Value {
    match &row.set {
        Setter::Text(_) => match row.name {
            "reports" => json!({"enum": ["send", "ask"]}),
            "keep_answers" => json!({"enum": ["state", "settings"]}),
            "permission_mode" => json!({"enum": PermissionMode::ALL.map(PermissionMode::name)}),
            _ => json!({"type": "string"}),
        },
        Setter::Choice(_, words, _) => json!({"enum": words}),
        Setter::Number(range, _) => json!({"type": "integer", "minimum": range.start(), "maximum": range.end()}),
        Setter::Switch(_) => json!({"type": "boolean"}),
        Setter::Amount(_) => json!({"type": ["number", "string"]}),
        Setter::List(_) => json!({"type": "array", "items": {"type": "string"}}),
    }
}

pub(super) fn parse(row: &SettingRow, text: &str) -> Result<Value, String> {
    match row.set {
        Setter::Text(_) | Setter::Choice(..) | Setter::Amount(_) => Ok(Value::Text(text.to_owned())),
        Setter::Number(..) => {
            text.trim().parse().map(Value::Number).map_err(|_| format!("expects a whole number, found `{text}`"))
        }
        Setter::Switch(_) => match text.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(Value::Switch(true)),
            "0" | "false" | "no" | "off" => Ok(Value::Switch(false)),
            _ => Err(format!("expects true or false, found `{text}`")),
        },
        Setter::List(_) => Ok(Value::List(split_list(text, ['(', ')'], |c| c == ',').map(str::to_owned).collect())),
    }
}

/// Returns a key without its section.
fn leaf(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the known name nearest to `name`, if one is near enough to be meant.
pub fn nearest(name: &str) -> Option<&'static str> {
    let sections = ["limits", "ui", "keys", "aliases", "tools", "providers", "mcp_servers"];
    let known: Vec<&str> = ROWS.iter().map(|row| row.name).chain(sections).collect();
    // The comparison takes time by the square of the length.
    let near = if name.len() > LONGEST_NAME { Vec::new() } else { similar::get_close_matches(name, &known, 1, 0.7) };
    // That the section is right makes no key of it like another one.
    near.first().copied().filter(|near| !similar::get_close_matches(leaf(name), &[leaf(near)], 1, 0.65).is_empty())
}
