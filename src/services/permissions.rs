//! What agents of a session may do without a question, and the tools they do it with.
//!
//! Owns putting answers, rules, folders and the sandbox together. Leaves each of them to its own module.

use std::time::Duration;

use tokio::sync::mpsc;

use super::rules::SessionRules;
use super::settings::SessionSettings;
use super::setup_programs::SetupPrograms;
use super::worktrees::AbortOnDrop;
use super::{
    ConfiguredServers, Options, SessionHandles, SessionKind, allowed, external, hooks, mcp, sandbox, say, trust,
};
use crate::agent::{Place, Sink};
use crate::config::{Config, Paths, ProjectRoot};
use crate::definition::WatchedFiles;
use crate::external::LaunchExternal;
use crate::hook::Hooks;
use crate::mcp::McpServers;
use crate::memory::MemoryTrust;
use crate::permission::{ActiveGrant, FolderTrust, Grant, GrantOrigin, Grants, Permissions, Project};
use crate::sandbox::Hosts;
use crate::session::{Allowed, Secrets, Store, TrustedItems};
use crate::subagent::TrustAnswer;
use crate::tool::{Fetcher, LanguageServers, SearchEngine, Shell, ToolSet, standard_tools};

/// What the rights of a session are made of.
pub(super) struct MadeOf<'a> {
    pub(super) options: &'a Options,
    pub(super) config: &'a Config,
    pub(super) rules: SessionRules,
    pub(super) trust: FolderTrust,
    pub(super) settings: SessionSettings,
    /// Who is told what the user trusts of memory files.
    pub(super) memory: MemoryTrust,
    pub(super) servers: ConfiguredServers,
    pub(super) paths: Option<&'a Paths>,
    pub(super) ground: &'a ProjectRoot,
    pub(super) place: &'a Place,
    pub(super) files: WatchedFiles,
    pub(super) store: Option<&'a Store>,
    /// Answers of the session that goes on.
    pub(super) answered: Vec<ActiveGrant>,
    pub(super) secrets: &'a Secrets,
    /// What searches the web where no service does.
    pub(super) engine: Option<SearchEngine>,
}

/// What the main agent may do, and how.
pub(super) struct Rights {
    pub(super) permissions: Permissions,
    pub(super) shell: Shell,
    pub(super) tools: ToolSet,
    pub(super) hooks: Hooks,
    /// The MCP servers, on their way.
    pub(super) servers: McpServers,
    pub(super) launch_external: LaunchExternal,
    /// Where it goes what the user trusts of the folder.
    pub(super) trusting: mpsc::UnboundedSender<TrustAnswer>,
}

/// Returns the rights of the main agent, and has what changes in them kept and told.
pub(super) async fn of_session(made_of: MadeOf<'_>, kept: &mut SessionHandles, sink: &Sink) -> Rights {
    let permissions = permissions(&made_of, kept, sink).await;
    let MadeOf { options, config, rules, trust, settings, memory, servers, paths, ground, place, .. } = made_of;
    let MadeOf { files, engine, store, .. } = made_of;
    let keys = servers.sources.keys.clone();
    let shell = sandbox::shell((options, config, paths, ground), (&rules, &trust, &settings), keys, kept, sink).await;
    let in_force = rules.ruleset(&trust);
    let fetcher = Fetcher::new(Hosts::new(config.web_hosts.iter().cloned())).searching_by(engine);
    let looking = LanguageServers::new(config.language_servers.clone(), shell.clone());
    kept.language_servers = looking.clone();
    let tools = standard_tools(&shell, &fetcher, &looking, &options.given.editor)
        .filtered(|tool| !in_force.takes_away(tool))
        .chosen(options.given.tools.clone());
    let servers = if options.kind == SessionKind::Live { servers } else { ConfiguredServers::default() };
    // One request waits for them, so that nothing is gained by a late start.
    let head_start = if options.front_end.is_for_programs() { Duration::ZERO } else { mcp::HEAD_START };
    let programs = SetupPrograms::new(files.library.trust().clone(), place.project.clone());
    let program = options.given.program.as_ref();
    let running = mcp::of_session((&shell, &programs), (&place.cwd, &servers), (options.kind, program), head_start);
    let (sources, project) = (servers.sources.clone(), place.project.as_ref().clone());
    let keys = sources.keys.clone();
    let launch_external = external::launcher(shell.clone(), sources, programs.clone(), project);
    let answering = (program, &running);
    let hooks = hooks::of_session(&settings, (&shell, programs.clone(), keys), answering, (store, place, options.kind));
    let found = trust::TrustParts {
        trust,
        rules,
        files,
        memory,
        settings,
        hooks: hooks.clone(),
        programs,
        shell: shell.clone(),
        servers,
        running: running.clone(),
    };
    let trusting = trust::attend(found, (paths, place), (&permissions, sink), kept).await;
    Rights { permissions, shell, tools, hooks, servers: running, launch_external, trusting }
}

async fn permissions(made_of: &MadeOf<'_>, kept: &mut SessionHandles, sink: &Sink) -> Permissions {
    let MadeOf { options, rules, trust, paths, ground, .. } = made_of;
    let allowed = paths.filter(|_| options.kind == SessionKind::Live);
    let allowed = allowed.map(|paths| Allowed::new(&paths.state_dir, &ground.root));
    // They are the user's for this project.
    let known = allowed.as_ref().filter(|_| options.given.sources.local);
    let (answers, errors) = known.map(Allowed::read).unwrap_or_default();
    say(&errors, sink).await;
    let grants = Grants::default()
        .with(GrantOrigin::Program, reports_grant(made_of.store))
        .with_active(answers)
        .with_active(made_of.answered.iter().cloned());
    let project = project(ground, *paths).with_others(rules.directories(trust));
    let permissions = Permissions::new(project, made_of.config.permission_mode, grants);
    let mut permissions = rules.permissions(permissions, trust);
    if let Some(allowed) = allowed {
        let root = ground.root.clone();
        let trusted = paths.map(|paths| TrustedItems::new(&paths.state_dir, &root));
        let settings = trusted.filter(|_| made_of.config.keeps_rules).map(|trusted| (root, trusted));
        let keeper = allowed::Keeper { allowed, settings, watch: kept.watch.clone() };
        let (keeper, task) = allowed::keeper(keeper, made_of.secrets.clone(), sink.clone());
        (permissions, kept.allowing) = (permissions.kept_by(keeper), Some(task));
    }
    kept.announcer = Some(AbortOnDrop(allowed::announcer(&permissions, sink.clone())));
    permissions
}

/// Returns what agents may read without a question. What the program itself keeps and obeys is no plain file, wherever
/// it lies.
fn project(ground: &ProjectRoot, paths: Option<&Paths>) -> Project {
    if !ground.is_project {
        return Project::none();
    }
    let mut project = Project::at(ground.root.clone());
    let own = paths.map(|paths| [&paths.config_dir, &paths.state_dir, &paths.cache_dir]);
    project.guard(own.into_iter().flatten().map(|dir| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.clone())));
    project
}

/// Whole reports lie outside the project; the agents may read them all the same.
fn reports_grant(store: Option<&Store>) -> Option<Grant> {
    store.map(|store| Grant::Below(store.reports_dir()))
}
