//! What of a settings file counts beside permissions: hooks, variables for commands, the model, a line
//! for the foot of the screen.
//!
//! Owns which keys count, which are known and do nothing here, and which are neither. Leaves what they mean to `hook` and
//! `services`. Source: the reference of Claude Code's settings. Invariant: each key of a file is one of the three, and named.

use serde_json::{Map, Value};

use super::rows::model_names;
use crate::message::Effort;

/// What a file says besides permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MoreSettings {
    /// As written.
    pub hooks: Option<Value>,
    /// Whether no hooks run.
    pub disables_hooks: bool,
    /// Whether only the organization's hooks run.
    pub only_managed_hooks: bool,
    pub model: Option<String>,
    /// Models that stand in for that one, in their order.
    pub fallback_models: Option<Vec<String>>,
    /// How hard the model thinks.
    pub effort: Option<Effort>,
    /// Whether it is to answer without thinking, where a file says either.
    pub never_thinks: Option<bool>,
    pub status_line: Option<StatusLineCommand>,
    /// Variables for commands.
    pub variables: Vec<(String, String)>,
    /// Every key of the file, in its order.
    pub keys: Vec<(String, SettingsKey)>,
    /// What is wrong with those that count.
    pub errors: Vec<String>,
}

/// A command that writes rows for the foot of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLineCommand {
    pub command: String,
    /// Columns before each row.
    pub padding: u16,
}

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsKey {
    Used,
    /// Claude Code has it; it does nothing here.
    Unused,
    Unknown,
}

/// Keys that count.
const USED: [&str; 16] = [
    "$schema",
    "permissions",
    "allowManagedPermissionRulesOnly",
    "hooks",
    "disableAllHooks",
    "allowManagedHooksOnly",
    "env",
    "model",
    "fallbackModel",
    "effortLevel",
    "alwaysThinkingEnabled",
    "statusLine",
    "enabledMcpjsonServers",
    "disabledMcpjsonServers",
    "enableAllProjectMcpServers",
    "enabledPlugins",
];

/// Keys of `permissions` that count.
const USED_PERMISSIONS: [&str; 6] =
    ["allow", "ask", "deny", "additionalDirectories", "defaultMode", "disableBypassPermissionsMode"];

/// Keys of Claude Code that do nothing here.
#[rustfmt::skip]
const UNUSED: [&str; 64] = [
    "agent", "allowManagedMcpServersOnly", "allowedHttpHookUrls", "allowedMcpServers",
    "apiKeyHelper", "attribution", "autoCompactEnabled", "autoConnectIde", "autoMemoryDirectory", "autoMemoryEnabled",
    "autoMode", "autoUpdates", "autoUpdatesChannel", "availableModels", "awsAuthRefresh", "awsCredentialExport",
    "blockedMarketplaces", "channelsEnabled", "claudeMdExcludes", "cleanupPeriodDays", "companyAnnouncements",
    "defaultShell", "deniedMcpServers", "disableAutoMode", "disableDeepLinkRegistration", "disableSkillShellExecution",
    "editorMode", "extraKnownMarketplaces", "fastMode", "fastModePerSessionOptIn", "feedbackSurveyRate",
    "fileCheckpointingEnabled", "fileSuggestion", "forceLoginMethod", "forceLoginOrgUUID", "gcpAuthRefresh",
    "httpHookAllowedEnvVars", "includeCoAuthoredBy", "includeGitInstructions", "language", "minimumVersion",
    "modelOverrides", "otelHeadersHelper", "outputStyle", "pluginConfigs", "plansDirectory", "preferredNotifChannel",
    "prefersReducedMotion", "promptSuggestionEnabled", "respectGitignore", "sandbox", "showThinkingSummaries",
    "showTurnDuration", "skipDangerousModePermissionPrompt", "skipWebFetchPreflight", "spinnerTipsEnabled",
    "spinnerTipsOverride", "spinnerVerbs", "strictKnownMarketplaces", "teammateMode", "terminalProgressBarEnabled",
    "theme", "verbose", "voiceEnabled",
];

/// Variables of one file that count.
const MAX_VARIABLES: usize = 500;

impl MoreSettings {
    pub(super) fn of(keys: &Map<String, Value>) -> Self {
        let mut read = Self::default();
        for (key, value) in keys {
            read.keys.push((key.clone(), kind_of(key)));
            if let ("permissions", Value::Object(keys)) = (key.as_str(), value) {
                let without = keys.keys().filter(|key| !USED_PERMISSIONS.contains(&key.as_str()));
                read.keys.extend(without.map(|key| (format!("permissions.{key}"), kind_of(key))));
            }
            match (key.as_str(), value) {
                ("hooks", hooks) => read.hooks = Some(hooks.clone()),
                ("disableAllHooks", Value::Bool(on)) => read.disables_hooks = *on,
                ("allowManagedHooksOnly", Value::Bool(on)) => read.only_managed_hooks = *on,
                ("model", Value::String(name)) if !name.trim().is_empty() => read.model = Some(name.clone()),
                ("fallbackModel", value) if fallback_models(value).is_some() => {
                    read.fallback_models = fallback_models(value);
                }
                ("effortLevel", Value::String(word)) if Effort::choice(word).is_ok() => {
                    read.effort = Effort::choice(word).unwrap_or_default();
                }
                ("alwaysThinkingEnabled", Value::Bool(on)) => read.never_thinks = Some(!on),
                ("statusLine", value) if status_line(value).is_some() => read.status_line = status_line(value),
                ("env", Value::Object(variables)) => read.take_variables(variables),
                (
                    "disableAllHooks"
                    | "allowManagedHooksOnly"
                    | "env"
                    | "fallbackModel"
                    | "model"
                    | "statusLine"
                    | "effortLevel"
                    | "alwaysThinkingEnabled",
                    _,
                ) => {
                    read.errors.push(format!("`{key}` has a value that is not understood; it does nothing."));
                }
                _ => {}
            }
        }
        read
    }

    fn take_variables(&mut self, variables: &Map<String, Value>) {
        for (name, value) in variables.iter().take(MAX_VARIABLES) {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(on) => on.to_string(),
                _ => {
                    self.errors.push(format!("`env.{name}` is no text; it is not set."));
                    continue;
                }
            };
            if value.contains('\0') {
                self.errors.push(format!("`env.{name}` holds a NUL; it is not set."));
            } else {
                self.variables.push((name.clone(), value));
            }
        }
    }
}

/// Reads the models that stand in for another one: a name, or a list of them.
fn fallback_models(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(names) => Some(model_names(names)),
        Value::Array(names) if names.iter().all(Value::is_string) => {
            Some(model_names(&names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")))
        }
        _ => None,
    }
}

fn status_line(value: &Value) -> Option<StatusLineCommand> {
    let kind = value.get("type").map_or(Some("command"), Value::as_str);
    let command = value.get("command")?.as_str().filter(|line| !line.trim().is_empty() && !line.contains('\0'))?;
    let padding = value.get("padding").and_then(Value::as_u64).unwrap_or(0).min(20);
    let padding = u16::try_from(padding).unwrap_or(0);
    (kind == Some("command")).then(|| StatusLineCommand { command: command.to_owned(), padding })
}

fn kind_of(key: &str) -> SettingsKey {
    if USED.contains(&key) {
        SettingsKey::Used
    } else if UNUSED.contains(&key) {
        SettingsKey::Unused
    } else {
        SettingsKey::Unknown
    }
}
