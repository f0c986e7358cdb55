//! What settings files of Claude Code say about permissions, and what else of them counts here.
//!
//! Owns which files there are, their order, and the mode that they come to. Leaves reading one to `settings_file`, the rules
//! to `permission`, and whether a project's are believed to `services`. Source of the format: the reference of Claude Code's
//! settings. Invariant: a file that cannot be read is named as one that may have forbidden something.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::settings_file::{self, SettingsFile};
use super::{Environment, Loaded, ProjectRoot, SettingSources, file};
use crate::message::Diagnostic;
use crate::permission::PermissionMode;
use crate::whole_file::{FileRights, WrittenFile, replace_whole};

/// Where an organization puts settings that nobody overrides.
pub const MANAGED: &str =
    if cfg!(target_os = "macos") { "/Library/Application Support/ClaudeCode" } else { "/etc/claude-code" };

/// Whose settings a file holds. The order is the one in which their rules are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingsTier {
    /// The organization's.
    Managed,
    /// Given on the command line, for this start.
    Given,
    /// The user's for this project, in it.
    Local,
    /// The project's.
    Project,
    /// The user's for all projects.
    User,
}

impl SettingsTier {
    /// Says whose it is, in a word or two.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Managed => "organization",
            Self::Given => "command line",
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
        }
    }

    /// Returns `true` if the file comes with the project, perhaps from a stranger.
    #[must_use]
    pub fn is_projects(self) -> bool {
        matches!(self, Self::Local | Self::Project)
    }
}

/// Reads settings given on the command line: a file, or the JSON itself.
///
/// # Errors
/// Returns why they cannot be used.
pub fn given_settings(given: &str, directory: &Path) -> Result<SettingsFile, Diagnostic> {
    let (path, text) = given_json(given, directory, "--settings")?;
    let file = settings_file::parse(SettingsTier::Given, &path, &text)?;
    // Whoever writes a flag counts on all of it.
    file.errors.iter().find(|error| error.loses_guard).cloned().map_or(Ok(file), Err)
}

/// Returns what a flag gives as JSON, or as the path of a file with it, and the path to name in errors.
///
/// # Errors
/// Returns that there is no such file, or that it cannot be read.
pub fn given_json(given: &str, directory: &Path, flag: &str) -> Result<(PathBuf, String), Diagnostic> {
    if given.trim_start().starts_with('{') {
        return Ok((PathBuf::from(flag), given.to_owned()));
    }
    let path = directory.join(given);
    let text = file::read_config_file(&path)?
        .ok_or_else(|| Diagnostic::in_file(&path, format!("there is no such file ({flag}).")))?;
    Ok((path, text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned)))
}

/// Reads the settings files of the user, of the project and of the organization, which has its files in `managed`, and
/// puts those of the command line among them. The project's are those of every folder from `cwd` up to its root, the
/// nearest first. Layers that are not among the sources are left out. What cannot be read at all is in the second list.
pub fn settings_files(
    managed: &Path,
    environment: &Environment,
    (ground, cwd): (&ProjectRoot, &Path),
    (given, sources): (Option<SettingsFile>, SettingSources),
) -> (Vec<SettingsFile>, Vec<Diagnostic>) {
    let user = environment.directory("CLAUDE_CONFIG_DIR").or_else(|| Some(environment.home()?.join(".claude")));
    let mut files = vec![(SettingsTier::Managed, managed.join("managed-settings.json"))];
    files.extend(parts(&managed.join("managed-settings.d")).map(|path| (SettingsTier::Managed, path)));
    for own in ground.folders(cwd).filter(|_| ground.is_project).map(|folder| folder.join(".claude")) {
        files.push((SettingsTier::Local, own.join("settings.local.json")));
        files.push((SettingsTier::Project, own.join("settings.json")));
    }
    // In a project that is the home itself, a file counts once.
    let user = user.map(|dir| dir.join("settings.json")).filter(|path| files.iter().all(|(_, known)| known != path));
    files.extend(user.map(|path| (SettingsTier::User, path)));
    let (mut all, mut diagnostics) = (Vec::new(), Vec::new());
    for (tier, path) in files.into_iter().filter(|(tier, _)| sources.read(*tier)) {
        match settings_file::read(tier, &path) {
            Ok(settings) => all.extend(settings),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    let managed = all.iter().filter(|settings: &&SettingsFile| settings.tier == SettingsTier::Managed).count();
    all.splice(managed..managed, given);
    if all.iter().any(|settings| settings.is_alone && settings.tier == SettingsTier::Managed) {
        for settings in all.iter_mut().filter(|settings| settings.tier != SettingsTier::Managed) {
            (settings.allow, settings.ask, settings.deny) = Default::default();
        }
    }
    (all, diagnostics)
}

/// Returns the files of a folder of settings, in the order of their names.
fn parts(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    paths.into_iter()
}

/// Puts the mode in force that settings of some tiers name, the nearest to the project last. What a project says makes
/// it stricter only.
pub(super) fn apply_mode(loaded: &mut Loaded, settings: &[SettingsFile], is_meant: fn(SettingsTier) -> bool) {
    for file in settings.iter().rev().filter(|file| is_meant(file.tier)) {
        let Some(name) = &file.mode else { continue };
        let mut say = |text: String| loaded.diagnostics.push(Diagnostic::in_file(&file.path, text));
        let wanted = match name.as_str() {
            "auto" | "dontAsk" | "manual" => {
                say(format!("`defaultMode` `{name}` works as `default` here: commands run in the sandbox."));
                PermissionMode::Default
            }
            name => match name.parse() {
                Ok(PermissionMode::BypassPermissions) => {
                    say(format!("`defaultMode` `{name}` is not taken over. Start with --permission-mode {name}."));
                    continue;
                }
                Ok(wanted) => wanted,
                Err(error) => {
                    let lost = Diagnostic::in_file(&file.path, format!("`defaultMode`: {error}. Ignored."));
                    loaded.diagnostics.push(lost.losing_guard());
                    continue;
                }
            },
        };
        let mode = &mut loaded.config.permission_mode;
        *mode = if file.tier.is_projects() { mode.stricter(wanted) } else { wanted };
    }
}

/// Keeps the mode below what the organization forbids.
pub(super) fn apply_ceiling(loaded: &mut Loaded, settings: &[SettingsFile]) {
    let Some(file) = settings.iter().find(|file| file.forbids_bypass) else { return };
    let config = &mut loaded.config;
    config.forbids_bypass = true;
    if config.permission_mode == PermissionMode::BypassPermissions {
        config.permission_mode = PermissionMode::Default;
        let text = "the mode bypassPermissions is switched off here; the mode is default.".to_owned();
        loaded.diagnostics.push(Diagnostic::in_file(&file.path, text));
    }
}

/// Adds a rule that allows to a file of settings, or takes it out, and leaves all else in it as it is. Blocks.
///
/// # Errors
/// Returns why the file stays as it was: it lies behind a link out of `root`, is no settings, or cannot be written.
pub fn set_allow_rule(root: &Path, path: &Path, rule: &str, is_allowed: bool) -> io::Result<Option<WrittenFile>> {
    let no_settings = || io::Error::other("it does not hold settings that could be changed");
    let folder = path.parent().ok_or_else(no_settings)?;
    std::fs::create_dir_all(folder)?;
    if !std::fs::canonicalize(folder)?.starts_with(root) {
        return Err(io::Error::other("its folder lies outside of the project"));
    }
    let text = file::read_config_file(path).map_err(|error| io::Error::other(error.message))?.unwrap_or_default();
    let mut document: Value = match text.trim() {
        "" => Value::Object(Map::new()),
        text => serde_json::from_str(text)?,
    };
    let permissions = document.as_object_mut().ok_or_else(no_settings)?;
    let permissions = permissions.entry("permissions").or_insert_with(|| Value::Object(Map::new()));
    let allow = permissions.as_object_mut().ok_or_else(no_settings)?;
    let allow = allow.entry("allow").or_insert_with(|| Value::Array(Vec::new()));
    let allow = allow.as_array_mut().ok_or_else(no_settings)?;
    if allow.iter().any(|known| known == rule) == is_allowed {
        return Ok(None);
    }
    allow.retain(|known| known != rule);
    if is_allowed {
        allow.push(rule.into());
    }
    let text = serde_json::to_string_pretty(&document)? + "\n";
    replace_whole(path, text.as_bytes(), FileRights::AsBefore)?;
    Ok(Some(WrittenFile { path: path.to_path_buf(), text }))
}
