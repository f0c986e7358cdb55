//! What of a settings file counts beside permissions: hooks, variables for commands, the model, a line
//! for the foot of the screen.
//!
//! Owns which keys count, which are known and do nothing here, and which are neither. Leaves what they mean to `hook` and
//! `services`. Source: the reference of Claude Code's settings. Invariant: each key of a file is one of the three, and named.

use serde_json::{Map, Value};

use super::hook_shape;
use super::http_hook_lists::FileHttpHookLists;
use super::rows::model_names;
use super::sandbox_wishes::SandboxWishes;
use super::server_lists::FileServerLists;
use super::settings_file::is_on;
use crate::message::Effort;

/// What a file says besides permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the file")]
pub struct MoreSettings {
    /// As written.
    pub hooks: Option<Value>,
    /// Whether no hooks run.
    pub disables_hooks: bool,
    /// Whether only the organization's hooks run.
    pub only_managed_hooks: bool,
    pub model: Option<String>,
    /// A command line that prints the key of the service.
    pub key_helper: Option<String>,
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
    /// Whether a call that would ask is refused instead.
    pub denies_questions: bool,
    /// Whether skills run no commands.
    pub bars_skill_commands: bool,
    /// Skills that are off, or that only the user calls, each with the word for it.
    pub skill_overrides: Vec<(String, String)>,
    /// Whether flags that bring plugins, agents and servers are refused.
    pub bars_sideloading: bool,
    /// The MCP servers that may be used, if there is a list, and those that may not.
    pub servers: FileServerLists,
    /// Which addresses hooks may be, and which variables their headers may hold.
    pub http_hooks: FileHttpHookLists,
    /// What it asks of the sandbox.
    pub sandbox: SandboxWishes,
    /// What is wrong with those that count: the key, and what is wrong with it.
    pub errors: Vec<(String, String)>,
    /// The same where something may be let happen because of it.
    pub lost: Vec<(String, String)>,
}

/// A command that writes rows for the foot of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLineCommand {
    pub command: String,
    /// Columns before each row.
    pub padding: u16,
    /// Whether it runs outside of the sandbox, or inside, if it says so.
    pub outside: Option<bool>,
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
const USED: [&str; 26] = [
    "$schema",
    "apiKeyHelper",
    "permissions",
    "allowManagedPermissionRulesOnly",
    "hooks",
    "disableAllHooks",
    "allowManagedHooksOnly",
    "allowedHttpHookUrls",
    "httpHookAllowedEnvVars",
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
    "sandbox",
    "allowedMcpServers",
    "deniedMcpServers",
    "allowManagedMcpServersOnly",
    "disableSkillShellExecution",
    "skillOverrides",
    "disableSideloadFlags",
];

/// Keys of `permissions` that count.
const USED_PERMISSIONS: [&str; 7] = [
    "allow",
    "ask",
    "deny",
    "additionalDirectories",
    "defaultMode",
    "disableBypassPermissionsMode",
    "denyInsteadOfPrompting",
];

/// Keys of `permissions` that do nothing here by themselves.
const UNUSED_PERMISSIONS: [&str; 6] = [
    "blockReadsExemptPaths",
    "blockReadsOutsideWorkingDirectories",
    "blockWritesOutsideWorkingDirectories",
    "disableAutoMode",
    "workingDirectoriesAsGiven",
    "workingDirectoriesExclude",
];

/// Keys of Claude Code that do nothing here. Those of them that restrict are in `restrictions`.
#[rustfmt::skip]
const UNUSED: [&str; 161] = [
    "additionalMarketplaces", "advisorModel", "agent", "agentPushNotifEnabled", "allowAllClaudeAiMcps",
    "allowClaudeInChromeWithManagedMcp", "allowedChannelPlugins", "allowedMarketplaces",
    "allowedProviders", "allowNestedModelAccessUnderForceLogin", "appendPlugins",
    "askUserQuestionTimeout", "attribution", "attributionProject", "attributionProjectPolicy", "autoCompactEnabled",
    "autoCompactWindow", "autoConnectIde", "autoContinueAtUsageLimit", "autoDreamEnabled", "autoMemoryDirectory",
    "autoMemoryEnabled", "autoMode", "autoScrollEnabled", "autoUpdates", "autoUpdatesChannel", "autoUploadSessions",
    "availableModels", "availableModelsMatch", "awsAuthRefresh", "awsCredentialExport", "bashEditDiffEnabled",
    "bashOutputMaxChars", "blockedMarketplaces", "channelsEnabled", "claudeMd", "claudeMdExcludes",
    "cleanupPeriodDays", "companyAnnouncements", "crossSessionInbound", "daemonColdStart", "defaultShell",
    "defaultView", "deniedModels", "desktopMcpServersListScope", "desktopSessionCleanupPeriodDays", "dialogExpiry",
    "disableAgentView", "disableArtifact", "disableAutoMode", "disableBundledSkills", "disableClaudeAiConnectors",
    "disableCommandPluginSources", "disableDeepLinkRegistration", "disableRemoteControl", "disableReplyCheck",
    "disableWindowsBashCommandSplit", "disableWorkflows", "downloadsMirrorUrl", "editorMode",
    "emojiCompletionEnabled", "enableArtifact", "enableWorkflows", "enforceAvailableModels", "extraKnownMarketplaces",
    "fastMode", "fastModePerSessionOptIn", "feedbackDrafts", "feedbackSurveyRate", "fileCheckpointingEnabled",
    "fileSuggestion", "footerLinksRegexes", "forceLoginGatewayUrl", "forceLoginMethod", "forceLoginOrgUUID",
    "forceRemoteSettingsRefresh", "gatewayInternalNetworks", "gcpAuthRefresh",
    "idleCompaction", "includeCoAuthoredBy", "includeGitInstructions", "inputNeededNotifEnabled",
    "isolatePeerMachines", "keybindingFlavor", "language", "managedMcpServers", "managedSourcesBehavior",
    "maxEffortLevel", "maxProseWidth", "minimumVersion", "modelOverrides", "modelPicker", "modelPricing",
    "modelSettings", "otelHeadersHelper", "outputStyle", "parentSettingsBehavior", "plansDirectory", "pluginConfigs",
    "pluginSuggestionMarketplaces", "pluginTrustMessage", "policyHelper", "precomputeCompactionEnabled",
    "preferredNotifChannel", "prefersReducedMotion", "prependPlugins", "processWrapper", "promptCacheTtl",
    "promptSuggestionEnabled", "proxyAuthHelper", "prUrlTemplate", "remote", "remoteControlAtStartup",
    "requiredMaximumVersion", "requiredMinimumVersion", "respectGitignore", "respondToBashCommands",
    "showClearContextOnPlanAccept", "showMessageTimestamps", "showThinkingSummaries", "showTurnDuration",
    "skillListingBudgetFraction", "skillListingMaxDescChars", "skipAutoPermissionPrompt",
    "skipDangerousModePermissionPrompt", "skipWebFetchPreflight", "spellcheck", "spinnerTipsEnabled",
    "spinnerTipsOverride", "spinnerVerbs", "sshConfigs", "sshHostCommands", "strictKnownMarketplaces",
    "strictPluginOnlyCustomization", "subagentPromptCacheTtl", "subagentStatusLine", "switchModelsOnFlag",
    "syncClaudeAiPlugins", "syncClaudeAiSkills", "syntaxHighlightingDisabled", "taskOutputMaxChars", "teammateMode",
    "terminalProgressBarEnabled", "terminalTitleFromRename", "theme", "timeFormat", "timeZone", "todoFeatureEnabled",
    "tui", "ultracode", "useAutoModeDuringPlan", "verbose", "viewMode", "vimInsertModeRemaps", "voice",
    "voiceEnabled", "wheelScrollAccelerationEnabled", "workflowKeywordTriggerEnabled", "workflowSizeGuideline",
    "worktree", "wslInheritsWindowsSettings",
];

/// Variables of one file that count.
const MAX_VARIABLES: usize = 500;

impl MoreSettings {
    pub(super) fn of(keys: &Map<String, Value>) -> Self {
        let mut read = Self::default();
        for (key, value) in keys {
            read.keys.push((key.clone(), kind_of(key)));
            if let ("permissions", Value::Object(section)) = (key.as_str(), value) {
                let others = section.keys().filter(|key| kind_of_permission(key) != SettingsKey::Used);
                read.keys.extend(others.map(|key| (format!("permissions.{key}"), kind_of_permission(key))));
                read.denies_questions = is_on(section.get("denyInsteadOfPrompting"));
            }
            if !value.is_null() && !read.take(key, value) {
                read.errors.push((key.clone(), "has a value that is not understood; it does nothing".to_owned()));
            }
        }
        let lost = &mut read.lost;
        read.servers = FileServerLists::of(keys, lost);
        read.http_hooks = FileHttpHookLists::of(keys, lost);
        read.sandbox = SandboxWishes::of(keys.get("sandbox"), lost);
        read
    }

    /// Takes the value of a key. Returns `false` if it counts and is not understood.
    fn take(&mut self, key: &str, value: &Value) -> bool {
        match (key, value) {
            ("hooks", hooks) => {
                self.hooks = Some(hooks.clone());
                self.lost.extend(hook_shape::errors_in(hooks));
            }
            ("disableAllHooks", Value::Bool(on)) => self.disables_hooks = *on,
            // What makes no sense restricts.
            ("allowManagedHooksOnly", value) => self.only_managed_hooks = is_on(Some(value)),
            ("disableSkillShellExecution", value) => self.bars_skill_commands = is_on(Some(value)),
            ("disableSideloadFlags", value) => self.bars_sideloading = is_on(Some(value)),
            ("skillOverrides", Value::Object(skills)) => {
                let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.skill_overrides = skills.iter().map(|(name, value)| (name.clone(), word(value))).collect();
            }
            ("skillOverrides", _) => self.lost.push((key.to_owned(), "is no object of skills".to_owned())),
            ("model", Value::String(name)) if !name.trim().is_empty() => self.model = Some(name.clone()),
            ("apiKeyHelper", Value::String(line)) if !line.trim().is_empty() && !line.contains('\0') => {
                self.key_helper = Some(line.clone());
            }
            ("fallbackModel", value) => {
                self.fallback_models = fallback_models(value);
                return self.fallback_models.is_some();
            }
            ("effortLevel", Value::String(word)) if Effort::choice(word).is_ok() => {
                self.effort = Effort::choice(word).unwrap_or_default();
            }
            ("alwaysThinkingEnabled", Value::Bool(on)) => self.never_thinks = Some(!on),
            ("statusLine", value) => {
                self.status_line = status_line(value);
                return self.status_line.is_some();
            }
            ("env", Value::Object(variables)) => self.take_variables(variables),
            ("disableAllHooks" | "env" | "model" | "apiKeyHelper" | "effortLevel" | "alwaysThinkingEnabled", _) => {
                return false;
            }
            _ => {}
        }
        true
    }

    fn take_variables(&mut self, variables: &Map<String, Value>) {
        for (name, value) in variables.iter().take(MAX_VARIABLES) {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(on) => on.to_string(),
                _ => {
                    self.errors.push((format!("env.{name}"), "is no text; it is not set".to_owned()));
                    continue;
                }
            };
            if value.contains('\0') {
                self.errors.push((format!("env.{name}"), "holds a NUL; it is not set".to_owned()));
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
    let outside = value.get("outside").and_then(Value::as_bool);
    (kind == Some("command")).then(|| StatusLineCommand { command: command.to_owned(), padding, outside })
}

pub(super) fn kind_of_permission(key: &str) -> SettingsKey {
    if USED_PERMISSIONS.contains(&key) {
        SettingsKey::Used
    } else if UNUSED_PERMISSIONS.contains(&key) {
        SettingsKey::Unused
    } else {
        SettingsKey::Unknown
    }
}

pub(super) fn kind_of(key: &str) -> SettingsKey {
    if USED.contains(&key) {
        SettingsKey::Used
    } else if UNUSED.contains(&key) {
        SettingsKey::Unused
    } else {
        SettingsKey::Unknown
    }
}
