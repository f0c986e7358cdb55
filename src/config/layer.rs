//! Setting one of the settings: what each kind of row takes, and from whom.
//!
//! Owns the kinds of rows and the trust in each origin. Leaves the rows to `rows` and the syntax of files to `file`.
//! Invariant: a value reaches [`Config`] only through [`set`], so no layer can go around the rule for projects.

use std::ops::RangeInclusive;

use serde_json::json;

use super::restrictions::looks_restricting;
use super::rows::ROWS;
use super::{Config, Environment, LimitSettings, Loaded};
use crate::message::{Diagnostic, Effort, split_list};
use crate::permission::PermissionMode;

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

/// Returns the value of a setting, as a file would have it; `null` where it has none.
pub(super) type Getter = fn(&Config) -> serde_json::Value;

pub(super) struct SettingRow {
    /// Dotted name, as in the file.
    pub(super) name: &'static str,
    pub(super) get: Getter,
    pub(super) set: Setter,
    pub(super) project: ProjectRule,
}

pub(super) enum Setter {
    Text(fn(&mut Config, String) -> Result<(), String>),
    /// One of some words for what the first says.
    Choice(&'static str, &'static [&'static str], fn(&mut Config) -> &mut String),
    Number(RangeInclusive<u32>, fn(&mut LimitSettings, u32)),
    Switch(fn(&mut Config, bool)),
    /// A number in any spelling; nothing and 0 mean none.
    Amount(fn(&mut Config, Option<&str>) -> Result<(), String>),
    List(fn(&mut Config, Vec<String>) -> Result<(), String>),
}

pub(super) enum ProjectRule {
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

/// Why a setting stays as it was, in words for the user.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unset {
    /// Its origin may not set it.
    Refused(String),
    /// The value is none that it takes.
    Misread(String),
}

impl Unset {
    pub(super) fn words(self) -> String {
        let (Self::Refused(words) | Self::Misread(words)) = self;
        words
    }

    /// Returns `true` if a limit that was meant does not hold.
    pub(super) fn loses_guard(&self, row: &SettingRow) -> bool {
        matches!(self, Self::Misread(_)) && row.is_guard()
    }
}

/// Settings that limit, beside those that a project may tighten.
const GUARDS: [&str; 5] = ["ask_tools", "disallowed_tools", "judge_model", "sandbox.hide", "limits.thinking_tokens"];
/// The one that a project may tighten and that limits nothing but the price.
const NO_GUARD: &str = "effort";

impl SettingRow {
    /// Returns `true` if a value of it keeps something from happening: without it, more may.
    pub(super) fn is_guard(&self) -> bool {
        GUARDS.contains(&self.name)
            || self.name != NO_GUARD && matches!(self.project, ProjectRule::Tighten(_) | ProjectRule::Limit(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.set, Setter::List(_))
    }
}

/// Returns `true` if an unknown key may be meant to limit something: by its name, or by the section that it stands in.
pub(super) fn may_be_guard(name: &str) -> bool {
    let near = nearest(name).and_then(|near| ROWS.iter().find(|row| row.name == near));
    let section = name.split('.').next().unwrap_or_default();
    near.is_some_and(SettingRow::is_guard)
        || matches!(nearest(name), Some("limits"))
        || matches!(section, "limits" | "sandbox")
        || looks_restricting(name)
}

/// Sets one value, if its origin may. The error says what is wrong; the setting is then as it was.
pub(super) fn set(config: &mut Config, row: &SettingRow, value: Value, origin: Origin) -> Result<(), Unset> {
    if let (Origin::Project, ProjectRule::Never(why)) = (origin, &row.project) {
        return Err(Unset::Refused(refusal(row.name, why)));
    }
    let mut changed = config.clone();
    assign(&mut changed, row, value).map_err(|error| Unset::Misread(format!("`{}`: {error}", row.name)))?;
    let is_laxer = match &row.project {
        ProjectRule::Tighten(measure) => measure(&changed) > measure(config),
        ProjectRule::Limit(measure) => measure(&changed.limits) > measure(&config.limits),
        ProjectRule::Free | ProjectRule::Never(_) => false,
    };
    if is_laxer && origin == Origin::Project {
        return Err(Unset::Refused(refusal(row.name, "it would be laxer than your own setting")));
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
        let values = match parse(row, text) {
            Ok(Value::List(items)) => items.into_iter().map(|item| Ok(Value::List(vec![item]))).collect(),
            Ok(value) => vec![Ok(value)],
            Err(error) => vec![Err(Unset::Misread(error))],
        };
        for value in values {
            let result = value.and_then(|value| set(&mut loaded.config, row, value, Origin::Environment));
            let Err(error) = result else { continue };
            let loses_guard = error.loses_guard(row);
            let said = Diagnostic::new(format!("{variable}: {}. Ignored.", error.words()));
            loaded.diagnostics.push(Diagnostic { loses_guard, ..said });
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
            "effort" => {
                json!({"enum": Effort::ALL.map(Effort::name).into_iter().chain(["default"]).collect::<Vec<_>>()})
            }
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
