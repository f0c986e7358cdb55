//! Where servers are configured, and which of them count.
//!
//! Owns the files, their order, and what the settings say of a project's servers. Leaves an entry's grammar to `entry`, and
//! whether a project is believed to `services`. Source of the formats: the documentation of Claude Code. Invariants: a
//! file or an entry that cannot be used is named, and the others work; what a project brings never takes the place of
//! what the user has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::config::{McpConfig, McpScope};
use super::entry;
use super::names::server_prefix;
use crate::message::{Diagnostic, ServerLists, expand_variables, sanitize_line};
use crate::whole_file::read_plain_text;

/// Bytes of a project's file: a cloned repository can hold anything.
pub(super) const MAX_PROJECT_FILE: u64 = 1 << 20;
/// Bytes of `~/.claude.json`, which also holds what its program remembers.
const MAX_USER_FILE: u64 = 64 << 20;
/// Servers of one file.
const MAX_SERVERS: usize = 100;

/// Says what a variable of the environment holds.
type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Where servers are looked for.
#[derive(Clone, Default)]
pub struct McpSources {
    /// The root of the project, where there is one.
    pub project: Option<PathBuf>,
    pub cwd: PathBuf,
    /// `~/.claude.json`, wherever it lies.
    pub claude: Option<PathBuf>,
    /// What this start was given, and whether there are no others.
    pub given: Entries,
    pub only_given: bool,
    /// What the configuration of this program holds, and its file.
    pub own: Vec<(String, Value)>,
    pub own_file: Option<PathBuf>,
    /// Those of plugins.
    pub plugins: Vec<PluginServers>,
    pub choice: ProjectChoice,
    /// Which servers settings let be used at all.
    pub lists: ServerLists,
    /// Variables that hold keys of ours.
    pub keys: Vec<String>,
    pub variables: Option<Variables>,
}

impl fmt::Debug for McpSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} {:?}", self.project, self.claude, self.own_file)
    }
}

/// What the settings say about the servers of `.mcp.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectChoice {
    /// If there are any, only these are started.
    pub enabled: Vec<String>,
    pub disabled: Vec<String>,
    /// Whether all that are not disabled are started, whatever else is listed.
    pub all: bool,
}

impl ProjectChoice {
    fn off(&self, name: &str) -> Option<String> {
        let is_in = |list: &[String]| list.iter().any(|listed| listed == name);
        if is_in(&self.disabled) {
            Some("your settings list it in `disabledMcpjsonServers`".to_owned())
        } else if !self.all && !self.enabled.is_empty() && !is_in(&self.enabled) {
            Some("your settings have `enabledMcpjsonServers`, without it".to_owned())
        } else {
            None
        }
    }
}

/// Servers as a file of a plugin names them.
#[derive(Debug, Clone)]
pub struct PluginServers {
    pub file: PathBuf,
    pub found: FoundServers,
    /// Whether the plugin lies in the project.
    pub is_projects: bool,
}

/// Servers as they are written in one file.
#[derive(Debug, Clone, Default)]
pub struct FoundServers {
    pub entries: Vec<(String, Value)>,
    pub diagnostics: Vec<Diagnostic>,
}

impl FoundServers {
    /// Adds the servers of a file whose names are not taken.
    fn add(&mut self, servers: Map<String, Value>, path: &Path) {
        for (name, entry) in servers.into_iter().take(MAX_SERVERS) {
            if self.entries.iter().any(|(known, _)| server_prefix(known) == server_prefix(&name)) {
                let shown = sanitize_line(&name);
                let words = format!("the MCP server {shown} is left out: project has one of that name.");
                self.diagnostics.push(Diagnostic::in_file(path, words));
            } else {
                self.entries.push((name, entry));
            }
        }
    }

    /// Returns what each would do, for a question about all of them.
    pub fn shown(&self) -> impl Iterator<Item = String> {
        self.entries.iter().map(|(name, entry)| {
            let words = entry.as_object().map(entry::shown).unwrap_or_default();
            format!("{name}: {words}")
        })
    }

    /// Returns the names of those that this holds for, of what [`shown`](Self::shown) says.
    fn names_of(&self, is_meant: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let names = self.entries.iter().zip(self.shown()).filter(|(_, shown)| is_meant(shown));
        names.map(|((name, _), _)| name.as_str()).collect()
    }
}

#[derive(Deserialize)]
struct ProjectFile {
    #[serde(rename = "mcpServers", default)]
    servers: Map<String, Value>,
}

/// Reads servers in the format of `.mcp.json`.
///
/// # Errors
/// Returns what is wrong with it.
pub fn given_servers(text: &str) -> Result<Vec<(String, Value)>, String> {
    let mut file: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match file.remove("mcpServers") {
        Some(Value::Object(servers)) => Ok(servers.into_iter().collect()),
        _ => Err("it has no object `mcpServers`".to_owned()),
    }
}

/// What is read of `~/.claude.json`. The rest is passed over.
#[derive(Deserialize)]
struct UserFile<'a> {
    #[serde(rename = "mcpServers", default)]
    servers: Map<String, Value>,
    #[serde(borrow, default)]
    projects: BTreeMap<String, &'a RawValue>,
}

impl McpSources {
    /// Returns the file of the project's servers.
    #[must_use]
    pub fn project_file(&self) -> Option<PathBuf> {
        self.project.as_ref().map(|root| root.join(".mcp.json"))
    }

    /// Reads `.mcp.json` of the project, in each folder from the working directory up to its root; of two servers of one name
    /// the nearer one counts. Blocks; these are small files.
    #[must_use]
    pub fn of_project(&self) -> FoundServers {
        let mut found = FoundServers::default();
        let Some(root) = &self.project else { return found };
        let inside = self.cwd.ancestors().take_while(|folder| folder.starts_with(root) && folder != root);
        for path in inside.chain([root.as_path()]).map(|folder| folder.join(".mcp.json")) {
            let read = read(&path, MAX_PROJECT_FILE).and_then(|text| match text {
                None => Ok(Map::new()),
                Some(text) => {
                    let file: ProjectFile = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                    Ok(file.servers)
                }
            });
            match read {
                Ok(servers) => found.add(servers, &path),
                Err(why) => found.diagnostics.push(left_out(&path, &why)),
            }
        }
        found
    }

    /// Reads the user's own servers and adds those of the project, which were read before; `trusts` says of what is shown
    /// of one whether it may be started. Blocks.
    #[must_use]
    pub fn all(&self, project: &FoundServers, trusts: impl Fn(&str) -> bool) -> (Vec<McpConfig>, Vec<Diagnostic>) {
        let mut reader = Reader { sources: self, servers: Vec::new(), diagnostics: Vec::new() };
        reader.add(&self.given, McpScope::Given, None);
        if self.only_given {
            return (reader.servers, reader.diagnostics);
        }
        reader.add(&self.own, McpScope::Own, self.own_file.as_deref());
        if let Some(path) = &self.claude {
            match self.of_user(path) {
                Ok((local, user)) => {
                    reader.add(&local, McpScope::Local, Some(path));
                    reader.add(&user, McpScope::User, Some(path));
                }
                Err(why) => reader.diagnostics.push(left_out(path, &why)),
            }
        }
        for PluginServers { file, found, is_projects } in &self.plugins {
            let trusted = found.names_of(|shown| !is_projects || trusts(shown));
            for server in reader.add(&found.entries, McpScope::Plugin, Some(file)) {
                server.is_projects = *is_projects;
                server.heed_trust(&trusted);
            }
        }
        reader.diagnostics.extend(project.diagnostics.iter().cloned());
        let trusted = project.names_of(trusts);
        for server in reader.add(&project.entries, McpScope::Project, self.project_file().as_deref()) {
            server.off = self.choice.off(&server.name).or(server.off.take());
            server.heed_trust(&trusted);
        }
        (reader.servers, reader.diagnostics)
    }

    /// Returns the servers of `~/.claude.json` for this project, and for all.
    fn of_user(&self, path: &Path) -> Result<(Entries, Entries), String> {
        let Some(text) = read(path, MAX_USER_FILE)? else { return Ok(Default::default()) };
        let file: UserFile<'_> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let root = self.project.iter().map(PathBuf::as_path);
        let mut local = Vec::new();
        for place in std::iter::once(self.cwd.as_path()).chain(root) {
            let raw = file.projects.get(place.to_string_lossy().as_ref());
            // An entry there that has another shape is none of servers.
            let project: Option<ProjectFile> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
            for (name, entry) in project.map(|project| project.servers).unwrap_or_default() {
                if local.iter().all(|(known, _)| *known != name) {
                    local.push((name, entry));
                }
            }
        }
        Ok((local, file.servers.into_iter().collect()))
    }

    /// Checks an entry of the user's own.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn check(&self, name: &str, value: &Value) -> Result<(), String> {
        // Its variables may be set when it is started.
        let lenient = Self { variables: Some(Arc::new(|_| Some("x".to_owned()))), ..self.clone() };
        entry::read(name, value, McpScope::Own, &lenient).map(drop)
    }

    /// Returns what a variable holds. What a stranger may have written does not get our keys.
    pub(super) fn variable(&self, name: &str, scope: McpScope) -> Result<Option<String>, String> {
        if matches!(scope, McpScope::Project | McpScope::Agent | McpScope::Plugin)
            && self.keys.iter().any(|key| key == name)
        {
            return Err(format!("{name} holds the key of a service; put the server into your own configuration"));
        }
        Ok(self.variables.as_ref().and_then(|variables| variables(name)))
    }

    /// Fills the variables of a text. One that a project has written does not get our keys.
    ///
    /// # Errors
    /// Returns which variable it cannot have.
    pub fn fill(&self, text: &str, is_projects: bool) -> Result<String, String> {
        let scope = if is_projects { McpScope::Project } else { McpScope::User };
        expand_variables(text, &|name| self.variable(name, scope))
    }

    /// Returns `true` if `MCP_CONNECTION_NONBLOCKING` says that nothing waits for servers.
    pub(super) fn never_waited_for(&self) -> bool {
        let value = self.variables.as_ref().and_then(|variables| variables("MCP_CONNECTION_NONBLOCKING"));
        value.is_some_and(|value| matches!(value.trim(), "1" | "true"))
    }

    /// Returns a time that a variable gives in milliseconds.
    pub(super) fn millis(&self, name: &str) -> Option<Duration> {
        let value = self.variables.as_ref()?(name)?;
        value.trim().parse().ok().filter(|millis| *millis > 0).map(Duration::from_millis)
    }
}

type Entries = Vec<(String, Value)>;

struct Reader<'a> {
    sources: &'a McpSources,
    servers: Vec<McpConfig>,
    diagnostics: Vec<Diagnostic>,
}

impl McpConfig {
    /// Keeps it from being started unless it is one of those.
    fn heed_trust(&mut self, trusted: &BTreeSet<&str>) {
        if !trusted.contains(self.name.as_str()) {
            self.off = Some("you have not trusted it: /trust".to_owned());
        }
    }
}

impl Reader<'_> {
    /// Adds the servers of a file, and returns them.
    fn add(&mut self, entries: &[(String, Value)], scope: McpScope, file: Option<&Path>) -> &mut [McpConfig] {
        let before = self.servers.len();
        for (name, value) in entries.iter().take(MAX_SERVERS) {
            let shown = sanitize_line(name);
            let found = match self.servers.iter().find(|known| server_prefix(&known.name) == server_prefix(name)) {
                Some(known) => {
                    Err(format!("the MCP server {shown} is left out: {} has one of that name", known.scope.word()))
                }
                None => entry::read(name, value, scope, self.sources)
                    .map_err(|why| format!("the MCP server {shown} is left out: {}", sanitize_line(&why))),
            };
            match (found, file) {
                (Ok(server), _) => self.servers.push(server),
                (Err(why), Some(file)) => self.diagnostics.push(Diagnostic::in_file(file, why + ".")),
                (Err(why), None) => self.diagnostics.push(Diagnostic::new(why + ".")),
            }
        }
        &mut self.servers[before..]
    }
}

fn left_out(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::in_file(path, format!("{}. Its MCP servers are not used.", sanitize_line(why)))
}

/// Reads a file that may be missing, and may be anything.
pub(super) fn read(path: &Path, most: u64) -> Result<Option<String>, String> {
    let text = match read_plain_text(path, most) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::FileTooLarge) => {
            return Err(error.to_string());
        }
        Err(error) => return Err(format!("cannot read it: {error}")),
    };
    let text = text.strip_prefix('\u{feff}').map_or(text.as_str(), |rest| rest).to_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}
