//! What settings files say beside permissions, as a session uses it.
//!
//! Owns whose word counts. Leaves the format to `config` and `hook`. Invariant: what a project says acts only once the user
//! trusts it, and never takes away what others have set.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::claude_setup::{chooses_service, is_about_service};
use super::hooks;
use super::run_files::{RunPlace, run_files, trusted_as};
use crate::config::{HttpHookLists, MoreSettings, SettingsFile, SettingsKey, SettingsTier, StatusLineCommand};
use crate::definition::Plugin;
use crate::definition::skill::SkillLimits;
use crate::hook::{HookHandler, HookNotice, HookReach, HookSource, Hooks};
use crate::message::{Diagnostic, Effort};
use crate::permission::{BroughtItem, BroughtKind, FolderTrust};

/// Something that a file says, and whether the file comes with the project.
#[derive(Debug, Clone)]
struct Said<T> {
    value: T,
    is_projects: bool,
}

/// What settings files say beside permissions.
#[derive(Debug, Clone, Default)]
pub struct SessionSettings {
    pub(super) hooks: Vec<HookHandler>,
    pub(super) reach: HookReach,
    /// What hooks that are addresses may be.
    pub(super) http_hooks: HttpHookLists,
    /// The stronger ones later.
    variables: Vec<Said<(String, String)>>,
    /// The model to use; a project's file cannot choose who reads the conversation, and at what price.
    model: Option<String>,
    /// What says who answers, and prints the key, with the same restriction.
    service_variables: BTreeMap<String, String>,
    key_helper: Option<KeyHelper>,
    /// The models that stand in for it, with the same restriction.
    fallback_models: Option<Vec<String>>,
    /// How hard it thinks, and whether it is not to think at all, with the same restriction: both have their price.
    effort: Option<Effort>,
    never_thinks: Option<bool>,
    /// The strongest first.
    status_lines: Vec<Said<StatusLineCommand>>,
    denies_questions: bool,
    skill_limits: SkillLimits,
    files: Vec<SettingsSummary>,
    /// What is said of files that cannot be used.
    unread: Vec<Diagnostic>,
}

/// A command line of a settings file that prints the key of the service.
#[derive(Debug, Clone)]
pub(super) struct KeyHelper {
    pub(super) command: String,
    pub(super) file: PathBuf,
}

/// What a settings file names, and whose it is.
#[derive(Debug, Clone)]
pub struct SettingsSummary {
    pub path: PathBuf,
    pub tier: SettingsTier,
    pub keys: Vec<(String, SettingsKey)>,
}

fn variable_item((name, value): &(String, String)) -> BroughtItem {
    BroughtItem::new(BroughtKind::Variable, format!("{name}={value}"))
}

/// Returns what the user trusts who trusts a status line.
pub(super) fn status_line_text(line: &StatusLineCommand) -> String {
    let outside = if line.outside == Some(true) { " [outside the sandbox]" } else { "" };
    format!("status line{outside}: {}", line.command)
}

fn status_line_item(line: &StatusLineCommand, root: &Path) -> BroughtItem {
    trusted_as(BroughtKind::Hook, status_line_text(line), (&line.command, Some(RunPlace::at(root))))
}

fn hook_item(hook: &HookHandler, root: &Path) -> BroughtItem {
    hooks::item(hook, RunPlace { root, plugin: hook.source.plugin.as_deref() })
}

/// Says what of a project's file chooses no service here.
fn not_taken(more: &MoreSettings) -> impl Iterator<Item = String> {
    let variables = more.variables.iter().filter(|(name, _)| chooses_service(name));
    let keys = variables
        .map(|(name, _)| format!("env.{name}"))
        .chain(more.key_helper.as_ref().map(|_| "apiKeyHelper".to_owned()));
    keys.map(|key| format!("`{key}` chooses no service here: a project may not decide who gets your files and keys."))
}

impl SessionSettings {
    /// Gathers what the files say, the strongest first, and what is wrong with it.
    pub(super) fn gather(files: &[SettingsFile], unread: &[Diagnostic], plugins: &[Plugin]) -> (Self, Vec<Diagnostic>) {
        let (mut all, mut diagnostics) = (Self { unread: unread.to_vec(), ..Self::default() }, Vec::new());
        all.http_hooks = HttpHookLists::of(files);
        for file in files {
            let (more, is_projects) = (&file.more, file.tier.is_projects());
            let is_managed = file.tier == SettingsTier::Managed;
            let (path, tier, mut keys) = (file.path.clone(), file.tier, more.keys.clone());
            let of_users = ["apiKeyHelper", "model", "fallbackModel", "effortLevel", "alwaysThinkingEnabled"];
            let is_idle = |key: &str| is_projects && of_users.contains(&key);
            for (_, kind) in keys.iter_mut().filter(|(key, _)| is_idle(key)) {
                *kind = SettingsKey::Unused;
            }
            all.denies_questions |= more.denies_questions;
            all.skill_limits.bars_commands |= more.bars_skill_commands;
            // A project's file switches nothing on that another one has switched off: each of them counts.
            all.skill_limits.overrides.extend(more.skill_overrides.iter().cloned());
            all.files.push(SettingsSummary { path, tier, keys });
            diagnostics.extend(file.errors.iter().cloned());
            // What a lost one is about is said already.
            let is_said = |error: &String| {
                let lost = more.lost.iter().filter_map(|(key, _)| key.strip_prefix("hooks"));
                lost.map(|event| event.trim_start_matches('.')).any(|event| error.contains(event))
            };
            let mut say = |text: String| diagnostics.push(Diagnostic::in_file(&file.path, text));
            if is_projects {
                not_taken(more).for_each(&mut say);
            } else {
                all.take_service(file);
            }
            if let Some(hooks) = &more.hooks {
                let place = file.path.to_string_lossy().into_owned().into();
                let source = HookSource { place, is_projects, is_managed, plugin: None };
                let (handlers, errors) = HookHandler::read(hooks, &source);
                all.hooks.extend(handlers);
                errors.into_iter().filter(|error| !is_said(error)).for_each(&mut say);
            }
            match (more.disables_hooks, file.tier) {
                (false, _) => {}
                (true, SettingsTier::Managed) => all.reach.none = true,
                (true, SettingsTier::Given | SettingsTier::User) => all.reach.only_managed = true,
                // A stranger's file does not switch off the user's guards.
                (true, SettingsTier::Local | SettingsTier::Project) => all.reach.without_projects = true,
            }
            all.status_lines.extend(more.status_line.clone().map(|value| Said { value, is_projects }));
            if !is_projects && all.model.is_none() {
                all.model.clone_from(&more.model);
            }
            if !is_projects && all.fallback_models.is_none() {
                all.fallback_models.clone_from(&more.fallback_models);
            }
            if !is_projects {
                all.effort = all.effort.or(more.effort);
                all.never_thinks = all.never_thinks.or(more.never_thinks);
            }
            all.reach.only_managed |= more.only_managed_hooks && is_managed;
            let variables = more.variables.iter().cloned().map(|value| Said { value, is_projects });
            all.variables = variables.chain(all.variables).collect();
        }
        diagnostics.extend(all.use_plugins(plugins));
        (all, diagnostics)
    }

    /// Takes what a file of the user or the organization says of the service; what stronger ones say stays.
    fn take_service(&mut self, file: &SettingsFile) {
        for (name, value) in file.more.variables.iter().filter(|(name, _)| is_about_service(name)) {
            self.service_variables.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let helper = || Some(KeyHelper { command: file.more.key_helper.clone()?, file: file.path.clone() });
        self.key_helper = self.key_helper.take().or_else(helper);
    }

    /// Returns the variables that say who answers, and how.
    pub(super) fn service_variables(&self) -> &BTreeMap<String, String> {
        &self.service_variables
    }

    /// Returns what prints the key of the service.
    pub(super) fn key_helper(&self) -> Option<&KeyHelper> {
        self.key_helper.as_ref()
    }

    /// Names the hooks of these plugins and of no others. Returns what is wrong with them.
    pub(super) fn use_plugins(&mut self, plugins: &[Plugin]) -> Vec<Diagnostic> {
        self.hooks.retain(|hook| hook.source.plugin.is_none());
        plugins.iter().flat_map(|plugin| self.add_plugin(plugin)).collect()
    }

    /// Adds the hooks of a plugin, which are the user's, who has installed it, unless it lies in the project. Returns what is wrong with them.
    fn add_plugin(&mut self, plugin: &Plugin) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        for (file, hooks) in &plugin.hooks {
            let place = file.to_string_lossy().into_owned().into();
            let (is_projects, plugin) = (plugin.is_projects(), Some(plugin.root.as_path().into()));
            let source = HookSource { place, is_projects, is_managed: false, plugin };
            let (handlers, errors) = HookHandler::read(hooks, &source);
            self.hooks.extend(handlers);
            diagnostics.extend(errors.into_iter().map(|error| Diagnostic::in_file(file, error)));
        }
        diagnostics
    }

    /// Returns the hooks of plugins that lie in the project. Blocks.
    pub(super) fn brought_in_plugins(&self, root: &Path) -> Vec<BroughtItem> {
        let hooks = self.hooks.iter().filter(|hook| hook.source.is_projects && hook.source.plugin.is_some());
        hooks.map(|hook| hook_item(hook, root)).collect()
    }

    /// Returns what of this the project brings that acts. Blocks.
    pub(super) fn brought(&self, root: &Path) -> Vec<BroughtItem> {
        let hooks = self.hooks.iter().filter(|hook| hook.source.is_projects);
        let hooks = hooks.map(|hook| hook_item(hook, root));
        let variables = self.variables.iter().filter(|said| said.is_projects);
        let variables = variables.map(|said| variable_item(&said.value));
        let line = self.status_lines.iter().filter(|said| said.is_projects);
        hooks.chain(variables).chain(line.map(|said| status_line_item(&said.value, root))).collect()
    }

    /// Returns the variables for commands.
    pub(super) fn variables(&self, trust: &FolderTrust) -> Vec<(String, String)> {
        let mut set: Vec<(String, String)> = Vec::new();
        let is_meant = |said: &&Said<_>| !said.is_projects || trust.uses(&variable_item(&said.value));
        for said in self.variables.iter().filter(is_meant) {
            set.retain(|(name, _)| *name != said.value.0);
            set.push(said.value.clone());
        }
        set
    }

    /// Returns the commands that may write the foot of the screen, the strongest first, and whether each comes with the
    /// project; none where hooks are switched off.
    pub(super) fn status_lines(&self) -> Vec<(StatusLineCommand, bool)> {
        let is_off =
            |is_projects| self.reach.none || self.reach.only_managed || is_projects && self.reach.without_projects;
        let on = self.status_lines.iter().filter(|said| !is_off(said.is_projects));
        on.map(|said| (said.value.clone(), said.is_projects)).collect()
    }

    /// Returns the programs and scripts of the project that hooks and status lines run. Blocks.
    pub(super) fn run_files(&self, root: &Path) -> BTreeSet<PathBuf> {
        let hooks = self.hooks.iter().map(|hook| (hook.command.program_line(), hook.source.plugin.as_deref()));
        let lines = hooks.chain(self.status_lines.iter().map(|said| (said.value.command.clone(), None)));
        lines.flat_map(|(line, plugin)| run_files(&line, RunPlace { root, plugin })).collect()
    }

    /// Returns the model that the user's or the organization's settings name.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the models that they name to stand in for another one.
    #[must_use]
    pub fn fallback_models(&self) -> &[String] {
        self.fallback_models.as_deref().unwrap_or_default()
    }

    /// Returns how hard they let the model think.
    #[must_use]
    pub fn effort(&self) -> Option<Effort> {
        self.effort
    }

    /// Returns `true` if they keep the model from thinking.
    #[must_use]
    pub fn keeps_from_thinking(&self) -> bool {
        self.never_thinks == Some(true)
    }

    /// Returns what is kept from skills.
    #[must_use]
    pub fn skill_limits(&self) -> SkillLimits {
        self.skill_limits.clone()
    }

    /// Returns `true` if what would ask is refused instead.
    #[must_use]
    pub fn denies_questions(&self) -> bool {
        self.denies_questions
    }

    /// Returns `true` if hooks of the program that drives the session run.
    #[must_use]
    pub fn runs_given_hooks(&self) -> bool {
        !self.reach.none && !self.reach.only_managed
    }

    /// Lists the files, the strongest first.
    pub fn files(&self) -> impl Iterator<Item = &SettingsSummary> {
        self.files.iter()
    }

    /// Returns what is said of files that cannot be used.
    pub fn unread(&self) -> &[Diagnostic] {
        &self.unread
    }

    /// Lists the hooks of the files, and which of them would run.
    pub fn hook_notices(&self, trust: &FolderTrust) -> Vec<HookNotice> {
        let hooks = Hooks::unstarted(self.hooks.clone(), self.reach);
        super::hooks::put_in_force(&hooks, trust);
        hooks.notices(|_| None)
    }
}
