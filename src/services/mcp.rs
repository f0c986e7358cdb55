//! The MCP servers of a session: where they are configured, how they are started, and who hears of them.
//!
//! Leaves what a server is to `mcp`, processes to `tool`, and trust to `trust`. Invariants: nobody waits for a server; what
//! a project brings is started only once the user trusts it, and as it was when they looked.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::run_files::{RunPlace, run_files, trusted_as};
use super::setup_programs::{SetupProgram, SetupPrograms, WorksOn};
use super::sign_in::sign_ins;
use super::worktrees::AbortOnDrop;
use super::{Bootstrap, Options, SessionKind, sandbox, say, secret_variables};
use crate::agent::{SessionEvent, Sink};
use crate::config::{Config, Environment, MANAGED, Paths, ProjectRoot, SettingSources, SettingsFile, server_lists};
use crate::definition::{AgentDefinition, NamedServer, Plugin};
use crate::launched::{CallingProgram, LaunchedProgram, RunningProgram};
use crate::mcp::{
    FoundServers, Launch, McpConfig, McpFacts, McpServers, McpSetup, McpSources, McpStart, PluginServers,
    ProjectChoice, SignIns,
};
use crate::message::{Diagnostic, ServerLists, sanitize_line};
use crate::permission::{BroughtItem, BroughtKind, FolderTrust};
use crate::provider::table::ProviderEnv;
use crate::sandbox::Sandbox;
use crate::tool::{ServedProgram, Shell};

/// How long the start of a session waits for the user's list of servers.
const READ_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the servers of a session wait before they start.
pub(super) const HEAD_START: Duration = Duration::from_millis(300);
/// How long a test waits beyond the time that a server has to start.
const TEST_GRACE: Duration = Duration::from_secs(5);
/// Smallest time between two events about servers.
const NEWS_INTERVAL: Duration = Duration::from_millis(200);

/// The servers that are configured, as far as that is known before a session starts.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredServers {
    pub sources: McpSources,
    /// Those of the project.
    pub project: FoundServers,
    /// Those that the file of the main agent (`--agent`) defines.
    pub of_main_agent: Vec<(String, Value)>,
    /// Those that an editor names for its session. They are the user's own.
    pub of_client: Vec<(String, Value)>,
    pub sign_ins: SignIns,
}

impl ConfiguredServers {
    /// Finds out where servers are configured, and reads the project's. Blocks; it is a small file.
    #[must_use]
    pub fn find(
        (environment, paths, config): (&Environment, Option<&Paths>, &Config),
        (cwd, ground): (&Path, &ProjectRoot),
        (settings, plugins, layers): (&[SettingsFile], &[Plugin], SettingSources),
        services: &ProviderEnv,
    ) -> Self {
        let claude = environment.directory("CLAUDE_CONFIG_DIR").or_else(|| environment.home());
        let variables = environment.clone();
        let lists = |of: fn(&SettingsFile) -> &[String]| settings.iter().flat_map(of).cloned().collect();
        let sources = McpSources {
            given: Vec::new(),
            only_given: false,
            project: ground.is_project.then(|| ground.root.clone()),
            cwd: cwd.to_path_buf(),
            claude: claude.map(|dir| dir.join(".claude.json")),
            own: config.mcp_servers.clone(),
            own_file: paths.map(Paths::config_file),
            plugins: plugins.iter().flat_map(servers_of).collect(),
            choice: ProjectChoice {
                enabled: lists(|file| &file.enabled_servers),
                disabled: lists(|file| &file.disabled_servers),
                all: settings.iter().any(|file| file.enables_all_servers),
            },
            lists: lists_of(settings),
            keys: secret_variables(services, config),
            variables: Some(Arc::new(move |name| variables.get(name).map(str::to_owned))),
        };
        let project = if layers.project { sources.of_project() } else { FoundServers::default() };
        Self { sources, project, ..Self::default() }
    }

    /// Adds the servers of the command line, keeps sign-ins, and lets users sign in.
    #[must_use]
    pub(super) fn started_with(mut self, options: &Options, paths: Option<&Paths>) -> Self {
        self.sources.given.clone_from(&options.given.servers);
        self.sources.only_given = options.given.only_these_servers;
        let project = self.sources.project.clone().into_iter().collect();
        let sign_ins = sign_ins(paths, &options.secrets, (project, self.sources.keys.clone()));
        Self { sign_ins, ..self }
    }

    /// Adds the servers that the main agent's file defines, unless it is the project's: nobody was shown their commands.
    #[must_use]
    pub fn with_main_agent(mut self, definition: Option<&AgentDefinition>) -> Self {
        let of_user = definition.filter(|definition| !definition.source.tier.is_of_project());
        let named = of_user.and_then(|definition| definition.mcp_servers.as_ref());
        self.of_main_agent = named
            .into_iter()
            .flatten()
            .filter_map(|server| match server {
                NamedServer::Inline(name, entry) => Some((name.clone(), entry.clone())),
                NamedServer::Known(_) => None,
            })
            .collect();
        self
    }

    fn all(&self, trust: &FolderTrust) -> (Vec<McpConfig>, Vec<Diagnostic>) {
        self.sources.all(&self.project, |shown| trust.uses(&self.item(shown.to_owned())))
    }

    /// Returns what the project brings, in plugins too.
    pub(super) fn brought(&self) -> impl Iterator<Item = BroughtItem> {
        self.project.shown().map(|shown| self.item(shown)).chain(self.brought_in_plugins())
    }

    /// Returns the servers of plugins that lie in the project. Blocks.
    pub(super) fn brought_in_plugins(&self) -> impl Iterator<Item = BroughtItem> {
        let of_plugins = self.sources.plugins.iter().filter(|servers| servers.is_projects);
        of_plugins.flat_map(|servers| servers.found.shown()).map(|shown| self.item(shown))
    }

    fn item(&self, shown: String) -> BroughtItem {
        let command = shown.split_once(": ").map_or(shown.as_str(), |(_, command)| command).to_owned();
        trusted_as(BroughtKind::Server, shown, (&command, self.sources.project.as_deref().map(RunPlace::at)))
    }

    /// Knows the servers of these plugins and of no others.
    pub(super) fn use_plugins(&mut self, plugins: &[Plugin]) {
        self.sources.plugins = plugins.iter().flat_map(servers_of).collect();
    }

    /// Makes the servers there are those that are configured. Returns once the files are read, or too slow.
    pub(super) async fn put_in_force(
        &self,
        servers: &McpServers,
        (trust, sandbox): (&FolderTrust, Option<&Sandbox>),
        sink: &Sink,
    ) {
        let (configured, servers, trust, sandbox) = (self.clone(), servers.clone(), trust.clone(), sandbox.cloned());
        let reading = tokio::task::spawn_blocking(move || {
            let (mut configs, mut diagnostics) = configured.all(&trust);
            let of_agent = configured.of_main_agent.iter().map(|server| (server, "main agent"));
            let of_client = configured.of_client.iter().map(|server| (server, "editor"));
            for ((name, entry), whose) in of_agent.chain(of_client) {
                match servers.entry(name, entry) {
                    Ok(config) => {
                        configs.retain(|known| known.name != config.name);
                        configs.push(config);
                    }
                    Err(why) => diagnostics.push(Diagnostic::new(format!(
                        "the MCP server {} of the {whose} is left out: {}.",
                        sanitize_line(name),
                        sanitize_line(&why)
                    ))),
                }
            }
            if let (Some(sandbox), Some(root)) = (sandbox, &configured.sources.project) {
                sandbox.protect(configs.iter().flat_map(|server| run_files(&server.shown, RunPlace::at(root))));
            }
            servers.set(configs);
            diagnostics
        });
        if let Ok(Ok(diagnostics)) = timeout(READ_TIMEOUT, reading).await {
            say(&diagnostics, sink).await;
        }
    }
}

/// Returns which servers settings let be used. An organization that hands out servers of its own wants no others.
fn lists_of(settings: &[SettingsFile]) -> ServerLists {
    let mut lists = server_lists(settings);
    if Path::new(MANAGED).join("managed-mcp.json").symlink_metadata().is_ok() {
        lists.allowed.push(Vec::new());
    }
    lists
}

/// Returns the servers of a plugin by file, each under the plugin's name.
fn servers_of(plugin: &Plugin) -> impl Iterator<Item = PluginServers> {
    plugin.servers.iter().map(|(file, servers)| {
        let each = servers.as_object().into_iter().flatten();
        let named = each.map(|(name, entry)| (format!("plugin:{}:{name}", plugin.name), entry.clone()));
        let found = FoundServers { entries: named.collect(), diagnostics: Vec::new() };
        PluginServers { file: file.clone(), found, is_projects: plugin.is_projects() }
    })
}

/// Returns the servers of a session, none of which is started yet.
pub(super) fn of_session(
    (shell, programs): (&Shell, &SetupPrograms),
    (cwd, configured): (&Path, &ConfiguredServers),
    (kind, program): (SessionKind, Option<&CallingProgram>),
    head_start: Duration,
) -> McpServers {
    if kind == SessionKind::Demo {
        return McpServers::default();
    }
    let launch = launcher((shell.clone(), programs.clone()), cwd.to_path_buf());
    McpServers::new(McpSetup {
        launch,
        head_start,
        sources: configured.sources.clone(),
        sign_ins: configured.sign_ins.clone(),
        program: program.cloned(),
    })
}

/// Emits how the servers are, whenever that changes.
pub(super) fn announcer(servers: &McpServers, sink: Sink) -> AbortOnDrop {
    let (mut changes, servers) = (servers.changes(), servers.clone());
    AbortOnDrop(tokio::spawn(async move {
        let mut said = Vec::new();
        loop {
            let facts = servers.facts();
            if facts != said {
                said.clone_from(&facts);
                sink.emit_session(SessionEvent::ServersChanged { servers: facts }).await;
            }
            if changes.changed().await.is_err() {
                return;
            }
            sleep(NEWS_INTERVAL).await;
            changes.mark_unchanged();
        }
    }))
}

pub(super) struct Served(pub(super) ServedProgram);

impl RunningProgram for Served {
    fn end(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.0.end().boxed()
    }
}

/// Returns what starts servers: below a supervisor, where they belong, with the variables that commands get and those of
/// their entries.
pub(super) fn launcher((shell, programs): (Shell, SetupPrograms), cwd: PathBuf) -> Launch {
    Arc::new(move |server: McpStart| {
        let (shell, programs, cwd) = (shell.clone(), programs.clone(), cwd.clone());
        async move {
            let McpStart { name, shown, command, args, env, is_projects, outside } = server;
            let program = SetupProgram {
                kind: BroughtKind::Server,
                text: format!("{name}: {shown}"),
                command: shown,
                plugin: None,
                is_projects,
                outside,
            };
            let start = programs.start(program, (cwd.clone(), WorksOn::Messages, true)).await;
            let start = start.map_err(io::Error::other)?;
            // What was written for the folder means it elsewhere, too.
            let args = if start.cwd == cwd { args } else { args.into_iter().map(|arg| absolute(arg, &cwd)).collect() };
            let (program, stream, log) = shell.serve((command, args), env, (start.cwd, &start.bounds)).await?;
            let process = Box::new(Served(program));
            Ok::<_, io::Error>(LaunchedProgram { stream, log: Box::new(log), process })
        }
        .boxed()
    })
}

/// Returns an argument that names a place in a folder in full.
fn absolute(arg: String, cwd: &Path) -> String {
    let is_relative = |text: &str| matches!(text, "." | "..") || text.starts_with("./") || text.starts_with("../");
    let full = |text: &str| cwd.join(text.trim_start_matches("./")).to_string_lossy().into_owned();
    match arg.split_once('=') {
        _ if arg == "." => cwd.to_string_lossy().into_owned(),
        _ if is_relative(&arg) => full(&arg),
        Some((option, path)) if option.starts_with('-') && is_relative(path) => format!("{option}={}", full(path)),
        _ => arg,
    }
}

impl Bootstrap {
    /// Returns the MCP servers that are configured here, and what is wrong with others. Blocks.
    #[must_use]
    pub fn known_mcp_servers(&self) -> (Vec<McpConfig>, Vec<Diagnostic>) {
        self.servers.all(&self.trust)
    }

    /// Returns one of them. Blocks.
    ///
    /// # Errors
    /// Returns that there is none of that name.
    pub fn mcp_server(&self, name: &str) -> anyhow::Result<McpConfig> {
        let known = self.known_mcp_servers().0.into_iter().find(|server| server.name == name);
        known.ok_or_else(|| anyhow::anyhow!("no MCP server {name:?} here; see belvedere mcp list"))
    }
}

/// Starts servers, finds out what they offer, and ends them.
///
/// # Errors
/// Returns that there is none of that name.
pub async fn test_servers(bootstrap: &Bootstrap, name: Option<&str>) -> anyhow::Result<Vec<McpFacts>> {
    let (mut configs, _) = bootstrap.known_mcp_servers();
    configs.retain(|config| name.is_none_or(|name| config.name == name));
    anyhow::ensure!(
        !configs.is_empty(),
        "no MCP server {}; see belvedere mcp list",
        name.map_or_else(|| "is configured".to_owned(), |name| format!("{name:?} here"))
    );
    let keys: Vec<String> = bootstrap.services.table.secret_variables().map(str::to_owned).collect();
    let shell = sandbox::shell_beside(bootstrap, &keys);
    let programs = SetupPrograms::new(bootstrap.library.trust().clone(), bootstrap.place.project.clone());
    let (place, kind) = ((bootstrap.place.cwd.as_path(), &bootstrap.servers), (SessionKind::Live, None));
    let servers = of_session((&shell, &programs), place, kind, Duration::ZERO);
    let longest = configs.iter().map(|config| config.start_timeout).max().unwrap_or_default();
    servers.set(configs);
    servers.settled(|_| true, longest + TEST_GRACE).await;
    let facts = servers.facts();
    servers.end().await;
    Ok(facts)
}
