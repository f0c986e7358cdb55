//! Plugins: folders that bring skills, commands, agents, hooks and MCP servers along, under a name of their own.
//!
//! Owns which are installed, where their parts lie, and the files of their hooks and servers. Leaves finding them anew to
//! `plugins`, reading skills and agents to `skill` and `library`, and what hooks and servers are to `services`. Source of
//! the formats: the documentation of Claude Code, whose list of installed plugins is read as it is. Invariants: no part
//! lies outside of its plugin's folder; a plugin that is switched off brings nothing, but that a project cannot switch off
//! the hooks of the user's; a list that cannot be read is said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{DirBounds, text_file};
use crate::message::{Diagnostic, sanitize_line};
use crate::permission::Owner;

/// Plugins that are read.
const MAX_PLUGINS: usize = 200;
/// What a plugin says of itself, and its usual files of hooks and servers.
const MANIFEST: &str = ".claude-plugin/plugin.json";
const HOOKS: &str = "hooks/hooks.json";
const SERVERS: &str = ".mcp.json";
/// Paths that one part of a manifest may name.
const MAX_PATHS: usize = 100;

/// A plugin that is in use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plugin {
    /// What stands before the names of its parts.
    pub name: String,
    /// Its folder, links resolved.
    pub root: PathBuf,
    /// What holds for its files if it lies in the project, where others may have put it.
    pub bounds: Option<DirBounds>,
    /// Files and folders of skills.
    pub skills: Vec<PathBuf>,
    pub commands: Vec<PathBuf>,
    pub agents: Vec<PathBuf>,
    /// What its files say of hooks, as settings do.
    pub hooks: Vec<(PathBuf, Value)>,
    /// What its files say of MCP servers: each by its name.
    pub servers: Vec<(PathBuf, Value)>,
}

/// Where plugins are found.
#[derive(Debug, Clone)]
pub struct PluginPlaces {
    /// `~/.claude`, or what stands for it.
    pub claude: Option<PathBuf>,
    /// Root of the project, links resolved.
    pub project: Option<PathBuf>,
    /// Who the files of the project have to belong to.
    pub owner: Owner,
    /// Folders of single plugins (`--plugin-dir`).
    pub given: Vec<PathBuf>,
}

/// The list of installed plugins, in both of its versions.
#[derive(Debug, Default, Deserialize)]
struct InstalledPlugins {
    #[serde(default)]
    plugins: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Installation {
    install_path: PathBuf,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    project_path: Option<PathBuf>,
}

/// A plugin that the user has installed.
#[derive(Debug, Default)]
struct InstalledPlugin {
    /// What it is installed as.
    name: Option<String>,
    path: PathBuf,
    /// Whether the project's settings switch it off.
    is_off_here: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PluginSettings {
    #[serde(default)]
    enabled_plugins: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
struct Manifest {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    skills: Value,
    #[serde(default)]
    commands: Value,
    #[serde(default)]
    agents: Value,
    #[serde(default)]
    hooks: Value,
    #[serde(default, rename = "mcpServers")]
    servers: Value,
}

impl Plugin {
    /// Finds the plugins in use: those of the command line, then those that are installed. Blocks.
    #[must_use]
    pub fn find(places: &PluginPlaces) -> (Vec<Self>, Vec<Diagnostic>) {
        let (mut plugins, mut errors) = (Vec::<Self>::new(), Vec::new());
        let installed = installed(places, &mut errors);
        let given =
            places.given.iter().map(|path| InstalledPlugin { path: path.clone(), ..InstalledPlugin::default() });
        for InstalledPlugin { path, name, is_off_here } in given.chain(installed) {
            let read = Self::read(&path, name.as_deref(), places, &mut errors);
            let read = if is_off_here { read.and_then(Self::guards) } else { read };
            match read {
                Some(plugin)
                    if plugins.len() < MAX_PLUGINS && plugins.iter().all(|known| known.name != plugin.name) =>
                {
                    plugins.push(plugin);
                }
                _ => {}
            }
        }
        (plugins, errors)
    }

    /// Returns what of it a project cannot switch off: a stranger's file does not take the user's guards away.
    fn guards(self) -> Option<Self> {
        let Self { name, root, bounds, hooks, .. } = self;
        (!hooks.is_empty()).then(|| Self { name, root, bounds, hooks, ..Self::default() })
    }

    fn read(path: &Path, known_as: Option<&str>, places: &PluginPlaces, errors: &mut Vec<Diagnostic>) -> Option<Self> {
        let root = match path.canonicalize() {
            Ok(root) if root.is_dir() => root,
            Ok(_) => {
                errors.push(Diagnostic::in_file(path, "not a folder, so no plugin. Name the folder of one."));
                return None;
            }
            Err(error) => {
                errors.push(Diagnostic::in_file(path, format!("plugin skipped: {error}. Install it again.")));
                return None;
            }
        };
        let project = places.project.as_ref().filter(|project| root.starts_with(project));
        let bounds = project.map(|project| DirBounds { root: project.clone(), owner: places.owner });
        let own_file = root.join(MANIFEST);
        let manifest: Manifest = json(&own_file, errors).unwrap_or_default();
        let folder = root.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = manifest.name.as_deref().or(known_as).map(str::to_owned).or(folder)?;
        let name = sanitize_line(name.trim()).replace([':', '/', ' ', '<', '>', '`', '"'], "-");
        let parts = |usual: &str, named: &Value| {
            let usual = root.join(usual);
            // What lies in the usual folder is found there.
            let others = named_paths(&root, named).into_iter().filter(|path| match path.strip_prefix(&usual) {
                Ok(inside) if usual.ends_with("skills") => inside.components().count() > 1,
                Ok(_) => false,
                Err(_) => true,
            });
            std::iter::once(usual.clone()).chain(others).collect::<Vec<_>>()
        };
        let (skills, commands) = (parts("skills", &manifest.skills), parts("commands", &manifest.commands));
        let agents = parts("agents", &manifest.agents);
        let mut said = |usual, named: &Value, key| said(&root, &own_file, (usual, named, key), errors);
        let hooks = said(HOOKS, &manifest.hooks, "hooks");
        let servers = said(SERVERS, &manifest.servers, "mcpServers");
        (!name.is_empty()).then_some(Self { name, root, bounds, skills, commands, agents, hooks, servers })
    }

    /// Returns the files that say what it brings.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        let usual = [MANIFEST, HOOKS, SERVERS].map(|file| self.root.join(file));
        usual.into_iter().chain(self.hooks.iter().chain(&self.servers).map(|(file, _)| file.clone()))
    }

    /// Returns `true` if it lies in the project: what it brings is then used as what the project brings.
    #[must_use]
    pub fn is_projects(&self) -> bool {
        self.bounds.is_some()
    }
}

impl PluginPlaces {
    /// Returns the list of what is installed.
    fn list(&self) -> Option<PathBuf> {
        self.claude.as_ref().map(|claude| claude.join("plugins/installed_plugins.json"))
    }

    /// Returns the settings that switch plugins on and off.
    fn settings(&self) -> impl Iterator<Item = PathBuf> {
        let of_project = self.project.as_ref().map(|project| project.join(".claude"));
        self.claude.iter().chain(&of_project).flat_map(|folder| settings_in(folder)).collect::<Vec<_>>().into_iter()
    }

    pub(super) fn is_settings(&self, path: &Path) -> bool {
        self.settings().any(|settings| settings == path)
    }

    /// Returns what is wrong with files that say which plugins there are. Blocks.
    pub(super) fn unread(&self) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        for file in self.list().into_iter().chain(self.settings()) {
            let _: Option<Value> = json(&file, &mut errors);
        }
        errors
    }

    /// Returns what says which plugins there are.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.list().into_iter().chain(self.settings()).chain(self.given.iter().cloned())
    }
}

fn settings_in(folder: &Path) -> [PathBuf; 2] {
    ["settings.json", "settings.local.json"].map(|name| folder.join(name))
}

/// Returns the installed plugins that the user has not switched off.
fn installed(places: &PluginPlaces, errors: &mut Vec<Diagnostic>) -> Vec<InstalledPlugin> {
    let list = places.list().and_then(|list| json::<InstalledPlugins>(&list, errors)).unwrap_or_default();
    if list.plugins.is_empty() {
        return Vec::new();
    }
    // What is wrong with these files is said where their rules are read.
    let off = |folder: Option<PathBuf>| {
        let files = folder.iter().flat_map(|folder| settings_in(folder));
        let settings = files.filter_map(|file| json::<PluginSettings>(&file, &mut Vec::new()));
        let switches = settings.flat_map(|settings| settings.enabled_plugins);
        switches.filter(|(_, is_on)| *is_on == Value::Bool(false)).map(|(id, _)| id).collect::<BTreeSet<String>>()
    };
    let project = places.project.as_deref();
    let (off, off_here) = (off(places.claude.clone()), off(project.map(|project| project.join(".claude"))));
    let on = list.plugins.into_iter().filter(|(id, _)| !off.contains(id));
    on.filter_map(|(id, value)| {
        let is_off_here = off_here.contains(&id);
        let name = id.split('@').next().unwrap_or(&id).to_owned();
        let each = match value {
            Value::Array(each) => each,
            one => vec![one],
        };
        let mut each = each.into_iter().filter_map(|value| serde_json::from_value::<Installation>(value).ok());
        let path = each.find(|one| one.is_for(project))?.install_path;
        Some(InstalledPlugin { name: Some(name), path, is_off_here })
    })
    .collect()
}

impl Installation {
    /// Returns `true` if it was installed for all projects, or for this one.
    fn is_for(&self, project: Option<&Path>) -> bool {
        match self.scope.as_deref() {
            Some("project" | "local") => {
                let own = self.project_path.as_ref().and_then(|path| path.canonicalize().ok());
                own.is_some() && own.as_deref() == project
            }
            _ => true,
        }
    }
}

/// Reads a file that need not be there.
fn json<T: for<'de> Deserialize<'de>>(path: &Path, errors: &mut Vec<Diagnostic>) -> Option<T> {
    if !path.exists() {
        return None;
    }
    let read = text_file::content(path).and_then(|bytes| {
        let (text, _) = text_file::decoded(&bytes, path);
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| Diagnostic {
            line: Some(error.line()),
            ..Diagnostic::in_file(path, format!("not read: {}.", sanitize_line(&error.to_string())))
        })
    });
    // Without it, hooks that forbid something may not run.
    read.map_err(|error| errors.push(error.losing_guard())).ok()
}

/// Returns what files of a plugin say below a key: the usual one, those that its manifest names, and the manifest itself. The
/// plugin's folder stands in the place of the variable that names it.
fn said(
    root: &Path,
    own_file: &Path,
    (usual, named, key): (&str, &Value, &str),
    errors: &mut Vec<Diagnostic>,
) -> Vec<(PathBuf, Value)> {
    let mut files = vec![root.join(usual)];
    files.extend(named_paths(root, named).into_iter().filter(|path| *path != root.join(usual)));
    let before = errors.len();
    let read = files.into_iter().filter_map(|file| Some((file.clone(), json::<Value>(&file, errors)?)));
    let inline = named.is_object().then(|| (own_file.to_path_buf(), named.clone()));
    let all = read.chain(inline).map(|(file, value)| {
        // Some name the key once more, some do not.
        let value = value.get(key).filter(|inside| inside.is_object()).cloned().unwrap_or(value);
        (file, in_folder(value, &root.to_string_lossy()))
    });
    let all = all.collect();
    // A server that is missing forbids nothing.
    errors.iter_mut().skip(before).for_each(|error| error.loses_guard = key == "hooks");
    all
}

/// Returns a value with the folder of the plugin in its texts.
fn in_folder(value: Value, root: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("${CLAUDE_PLUGIN_ROOT}", root)),
        Value::Array(items) => items.into_iter().map(|item| in_folder(item, root)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, in_folder(value, root))).collect(),
        other => other,
    }
}

/// Returns the paths that a part of a manifest names, as far as they lie in the plugin's folder.
fn named_paths(root: &Path, named: &Value) -> Vec<PathBuf> {
    let texts: Vec<&str> = match named {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).take(MAX_PATHS).collect(),
        _ => Vec::new(),
    };
    let inside = |text: &str| {
        let path = Path::new(text);
        let is_below = path.components().all(|part| matches!(part, Component::CurDir | Component::Normal(_)));
        let path = root.join(path).canonicalize().ok()?;
        (is_below && path.starts_with(root)).then_some(path)
    };
    texts.into_iter().filter_map(inside).collect()
}
