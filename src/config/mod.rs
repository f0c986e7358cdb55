//! What the user has chosen: defaults < user file < project file < environment < flags.
//!
//! Owns the settings, their layers and where the program keeps its files. Leaves the meaning of key bindings to
//! `app` and of limits to `subagent`. Invariants: of a file with a fault all else holds, and what may have been a limit is
//! reported as a lost guard; a project file comes with a cloned repository and can only make the program stricter.

mod edit;
mod file;
mod git;
mod git_entries;
mod hook_shape;
mod http_hook_lists;
mod json;
mod launchers;
mod layer;
mod more_settings;
mod paths;
mod project;
mod restrictions;
mod rows;
mod sandbox_wishes;
mod server_lists;
mod setting_sources;
mod settings;
mod settings_file;
mod transport;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::message::{
    BudgetLimit, CacheTtl, Diagnostic, Effort, KeySettings, LanguageServerSettings, LauncherSettings, ProviderRow,
    SearchSettings, TransportSettings,
};
use crate::permission::PermissionMode;
use layer::Origin;

pub use edit::{edited, may_be_secret};
pub use file::read_config_file;
pub use git::{git_branch, obeyed_by_git};
pub use http_hook_lists::HttpHookLists;
pub use layer::{nearest as nearest_setting, variable_of};
pub use more_settings::{MoreSettings, SettingsKey, StatusLineCommand};
pub use paths::{Environment, Paths, PathsError};
pub use project::{ProjectRoot, user};
pub use sandbox_wishes::SandboxLimits;
pub use server_lists::server_lists;
pub use setting_sources::SettingSources;
pub use settings::{MANAGED, SettingsTier, given_json, given_settings, set_allow_rule, settings_files};
pub use settings_file::SettingsFile;
pub use value::{SettingPlace, config_schema, setting_names, setting_place, setting_value};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The model to use, as `provider/name`; `None` lets the program choose.
    pub model: Option<String>,
    /// The models that answer a turn that an agent's own does not answer, in this order.
    pub fallback_models: Vec<String>,
    /// How hard the models think where no agent file says it; `None` leaves it to the services.
    pub effort: Option<Effort>,
    /// The model that summarizes conversations; `None` leaves it to the one whose conversation it is.
    pub compact_model: Option<String>,
    /// How long services are to keep what they have read of a conversation.
    pub cache_ttl: CacheTtl,
    /// Whether the user looks at each report before it is read.
    pub asks_reports: bool,
    /// The model that judges whether reports carry instructions; `None` asks none.
    pub judge_model: Option<String>,
    pub permission_mode: PermissionMode,
    pub limits: LimitSettings,
    pub ui: Ui,
    pub keys: Keys,
    /// Whether an organization forbids the mode in which everything is allowed.
    pub forbids_bypass: bool,
    /// Rules as written: what happens without a question, what always asks, what never happens.
    pub allowed_tools: Vec<String>,
    pub ask_tools: Vec<String>,
    pub disallowed_tools: Vec<String>,
    /// Whether answers for the project are kept in the project's own settings, as rules.
    pub keeps_rules: bool,
    /// Folders that are worked in beside the project, absolute or below `~`.
    pub additional_directories: Vec<PathBuf>,
    /// Variables of the environment that commands get beside the usual ones; `NAME_*` is all that begin so.
    pub tool_environment: Vec<String>,
    pub sandbox: SandboxSettings,
    /// Hosts of this machine and its network that pages may be fetched from.
    pub web_hosts: Vec<String>,
    /// What is searched with where the model's service does not search itself, and where its key is.
    pub web_search: Option<(SearchSettings, KeySettings)>,
    /// What says which errors a file has after an edit.
    pub language_servers: Vec<LanguageServerSettings>,
    /// What runs agents somewhere else.
    pub launchers: Vec<LauncherSettings>,
    pub aliases: Aliases,
    pub providers: Vec<ProviderRow>,
    /// Where services have their keys, by their names.
    pub service_keys: BTreeMap<String, KeySettings>,
    /// How services are reached beside their addresses, by their names.
    pub transports: BTreeMap<String, TransportSettings>,
    /// MCP servers of the user's file, each as it is written there.
    pub mcp_servers: Vec<(String, serde_json::Value)>,
}

/// What commands run in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub enabled: bool,
    /// Paths that commands may write to beside the project, absolute or below `~`.
    pub write: Vec<PathBuf>,
    /// Paths that commands may not read beside the usual ones, absolute or below `~`.
    pub hide: Vec<PathBuf>,
    /// Paths of the home that they may read although they begin with a dot, absolute or below `~`.
    pub read: Vec<PathBuf>,
    /// Hosts that commands may reach.
    pub hosts: Vec<String>,
    /// Whether commands have the network.
    pub network: bool,
    /// Whether the sandbox of macOS is used, which nobody has tested.
    pub untested_macos: bool,
    /// Paths that commands may not change; like those that they may not read, they may be patterns.
    pub deny_write: Vec<PathBuf>,
    /// Variables that commands do not get.
    pub hidden_variables: Vec<String>,
    pub limits: SandboxLimits,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            write: Vec::new(),
            hide: Vec::new(),
            read: Vec::new(),
            hosts: Vec::new(),
            network: false,
            untested_macos: false,
            deny_write: Vec::new(),
            hidden_variables: Vec::new(),
            limits: SandboxLimits::default(),
        }
    }
}

/// Names for models, in lower case, and what each stands for: `provider/name` or `name`.
pub type Aliases = BTreeMap<String, String>;

/// Key bindings as written: context, then action, then its chords.
pub type Keys = BTreeMap<String, BTreeMap<String, Vec<String>>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// Subagents that run at the same time; the rest wait.
    pub max_parallel: u32,
    /// Subagents spawned while one user message is answered, in the whole tree.
    pub max_per_request: u32,
    /// How deep the tree may grow; at 1 a subagent cannot spawn.
    pub max_depth: u32,
    pub max_turns: u32,
    /// Tool calls of one run, unless its call asks for another number.
    pub max_tool_calls: u32,
    /// The most that a call may ask for; `None` is [`Self::max_tool_calls`].
    pub max_tool_calls_ceiling: Option<u32>,
    /// Longest silence of model and tools, in seconds.
    pub idle_timeout_secs: u64,
    /// Longest run, in seconds; `None` is no limit.
    pub wall_timeout_secs: Option<u64>,
    /// Characters of a report that reach the parent.
    pub report_chars: usize,
    /// Characters of one tool result that reach a model.
    pub result_chars: usize,
    /// Tokens of an answer that may be thought, for models that are told their number; 0 is none.
    pub thinking_tokens: Option<u32>,
    /// Characters a task must have at least.
    pub min_task_chars: usize,
    /// Percent of a model's context from which a conversation is shortened; 0 leaves it until it no longer fits.
    pub auto_compact_percent: u32,
    /// Days that a session is kept after its last use; `None` keeps them all.
    pub keep_days: Option<u32>,
    /// Megabytes (10^6 bytes) of all sessions; beyond them the oldest go. `None` is no limit.
    pub keep_mb: Option<u32>,
    pub budget: BudgetLimit,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            max_parallel: 8,
            max_per_request: 20,
            max_depth: 1,
            max_turns: 50,
            max_tool_calls: 100,
            max_tool_calls_ceiling: None,
            idle_timeout_secs: 600,
            wall_timeout_secs: None,
            report_chars: 8_000,
            result_chars: 50_000,
            thinking_tokens: None,
            min_task_chars: 30,
            auto_compact_percent: 85,
            keep_days: Some(30),
            keep_mb: Some(2_000),
            budget: BudgetLimit::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the file")]
pub struct Ui {
    /// Name of the theme; `auto` follows the terminal's background.
    pub theme: String,
    /// Where the agents stand: one of `auto`, `side`, `below`, `rail`, `hidden`.
    pub layout: String,
    /// Whose keys edit the message: `emacs` or `vi`.
    pub editing: String,
    /// How the user is notified while looking elsewhere: `auto`, `bell`, `osc9`, `osc777`, `off`.
    pub notify: String,
    pub mouse: bool,
    pub ascii: bool,
    /// Whether pictures are shown where the terminal can.
    pub pictures: bool,
    /// Whether the terminal is told how the agents are, where it wants to know.
    pub program_status: bool,
    /// Whether nothing moves that need not.
    pub reduced_motion: bool,
}

impl Default for Ui {
    fn default() -> Self {
        Self {
            theme: "auto".into(),
            layout: "auto".into(),
            editing: "emacs".into(),
            notify: "auto".into(),
            mouse: true,
            ascii: false,
            pictures: true,
            program_status: true,
            reduced_motion: false,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    pub model: Option<String>,
    /// As written: names with commas between them.
    pub fallback_model: Option<String>,
    pub permission_mode: Option<PermissionMode>,
    pub max_turns: Option<u32>,
    /// See [`LimitSettings::budget`]; a limit that is `None` stays as it is.
    pub budget: BudgetLimit,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    pub config: Config,
    /// Faults for the user to see, in the order of the layers.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads and merges all layers. `paths` is `None` where no place for the user's file is known: the other layers hold even
/// so. `folders` are those of the project, its root last, `settings` what other programs' files say.
pub fn load(
    (paths, folders): (Option<&Paths>, &[&Path]),
    environment: &Environment,
    settings: &[SettingsFile],
    flags: &Overrides,
) -> Loaded {
    let mut loaded = Loaded::default();
    settings::apply_mode(&mut loaded, settings, |tier| !tier.is_projects());
    if let Some(paths) = paths {
        apply_file(&mut loaded, &paths.config_file(), Origin::User);
    }
    settings::apply_mode(&mut loaded, settings, SettingsTier::is_projects);
    for project in folders.iter().rev() {
        apply_file(&mut loaded, &project.join(".belvedere/config.toml"), Origin::Project);
    }
    sandbox_wishes::apply(&mut loaded.config, settings, folders.last().copied());
    layer::apply_environment(&mut loaded, environment);
    apply_flags(&mut loaded.config, flags);
    settings::apply_ceiling(&mut loaded, settings);
    loaded
}

/// Returns what is wrong with a configuration file of the user's. Blocks.
#[must_use]
pub fn config_errors(path: &Path) -> Vec<Diagnostic> {
    let mut loaded = Loaded::default();
    apply_file(&mut loaded, path, Origin::User);
    loaded.diagnostics
}

fn apply_file(loaded: &mut Loaded, path: &Path, origin: Origin) {
    match file::read_config_file(path) {
        Ok(Some(text)) => file::apply(loaded, &text, path, origin),
        Ok(None) => {}
        Err(error) => loaded.diagnostics.push(error.losing_guard()),
    }
}

fn apply_flags(config: &mut Config, flags: &Overrides) {
    if let Some(model) = &flags.model {
        config.model = Some(model.clone());
    }
    if let Some(names) = &flags.fallback_model {
        config.fallback_models = rows::model_names(names);
    }
    config.permission_mode = flags.permission_mode.unwrap_or(config.permission_mode);
    config.limits.max_turns = flags.max_turns.unwrap_or(config.limits.max_turns);
    let (budget, wanted) = (&mut config.limits.budget, flags.budget);
    *budget = BudgetLimit { tokens: wanted.tokens.or(budget.tokens), usd: wanted.usd.or(budget.usd) };
}
