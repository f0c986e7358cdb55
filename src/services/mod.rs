//! The one place that names concrete types: puts a session together for a front end.
//!
//! Owns the wiring of configuration, providers, tools, catalog, log and tree. Leaves every decision to them. Invariant:
//! [`bootstrap`] reads small files only, so that the first frame need not wait; all else happens in [`start`].

mod agents;
mod allowed;
mod broken;
mod connection;
mod demo;
mod limits;
mod read_back;
pub mod servers;
mod signals;
mod worktrees;

use agents::AgentFiles;
pub use demo::REQUEST as DEMO_REQUEST;
pub use signals::{EndSignal, EndSignals};

use connection::{ConnectMeans, LeadModel};
use servers::KnownServers;
use worktrees::AbortOnDrop;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::{AgentEvent, EventKind, Place, Sink};
use crate::config::{self, Config, Overrides, Paths, ProjectRoot};
use crate::definition::{AgentDefinition, AgentDirs, Library, Parsed, Roots};
use crate::message::{AgentId, BudgetLimit, Diagnostic, sanitize_line, serialize_path};
use crate::offline::Pace;
use crate::permission::{Approver, Grant, GrantOrigin, Grants, PermissionMode, Permissions, Project};
use crate::provider::choice::ModelPreferences;
use crate::provider::rate_limiter::RateLimiters;
use crate::session::{Allowed, Secrets, Store, Writer, log};
use crate::subagent::{
    AGENT_TOOL, AgentInput, ApprovalQueue, Conversation, KeepReport, PromptEnvironment, TASK_TOOLS, Tree, TreeSetup,
    Unattended, UserDirs,
};
use crate::tool::{Shell, schema_of, standard_tools};

/// Events that may wait for a listener before agents wait for it.
pub const EVENT_CAPACITY: usize = 1_024;

/// How long the end of the program waits for the disk.
const DISK_GRACE: Duration = Duration::from_secs(2);

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder to work in.
    pub directory: PathBuf,
    /// The model, as `provider/name`.
    pub model: Option<String>,
    /// The permission mode.
    pub mode: Option<PermissionMode>,
    /// What is allowed in advance.
    pub grants: Vec<Grant>,
    /// Most model calls of the main agent for one message.
    pub max_turns: Option<u32>,
    /// What all agents may use together, beyond what the configuration says.
    pub budget: BudgetLimit,
    /// Which front end shows it.
    pub front_end: FrontEnd,
    /// Whether the agents work or play.
    pub kind: SessionKind,
    /// Agents given on the command line (`--agents`).
    pub agents: Vec<Parsed>,
    /// The agent that the main agent works as (`--agent`).
    pub agent: Option<String>,
    /// The file of this program, by which it starts the supervisors of commands.
    pub program: PathBuf,
}

/// Which front end a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// A screen, with someone before it.
    Screen,
    /// Lines on standard output, with someone who answers on standard input.
    Plain,
    /// Standard output, with nobody to ask.
    Headless,
}

/// Whether the agents work or play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// Real models, real tools.
    Live,
    /// The script of the demonstration.
    Demo,
}

/// What is known before anything starts.
#[derive(Debug)]
pub struct Bootstrap {
    /// What was asked for.
    pub options: Options,
    /// The settings in force.
    pub config: Config,
    /// Faults the user should see.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the program keeps its files, if there is such a place.
    pub paths: Option<Paths>,
    /// Where the agents work.
    pub place: Place,
    /// What of that is a project.
    pub ground: ProjectRoot,
    /// The kinds of agents there are. Until [`start`] only those that need no file.
    pub library: Arc<Library>,
    /// The definition that the main agent works as.
    pub agent: Option<Arc<AgentDefinition>>,
    /// What the environment says about subagents.
    pub subagents: Subagents,
    /// Where the session is kept, if there is such a place. Nothing lies there yet.
    pub store: Option<Store>,
}

/// What the environment says about subagents.
#[derive(Debug, Clone, Default)]
pub struct Subagents {
    /// The model of those for which the call names none.
    pub model: Option<String>,
    /// The user's own folders.
    pub user_dirs: UserDirs,
}

impl Bootstrap {
    /// Returns the file of the messages sent in this project; the demonstration keeps none.
    #[must_use]
    pub fn history_file(&self) -> Option<PathBuf> {
        let paths = self.paths.as_ref().filter(|_| self.options.kind == SessionKind::Live)?;
        Some(crate::session::history_file(&paths.state_dir, &self.place.project))
    }

    /// Returns the file of the program's log.
    #[must_use]
    pub fn log_file(&self) -> Option<PathBuf> {
        self.paths.as_ref().map(|paths| log::path(&paths.state_dir))
    }
}

/// Reads the configuration and finds the project.
///
/// # Errors
/// Returns an error if the working directory does not exist.
pub fn bootstrap(options: Options) -> anyhow::Result<Bootstrap> {
    let cwd = std::fs::canonicalize(&options.directory)
        .with_context(|| format!("{} cannot be entered", options.directory.display()))?;
    anyhow::ensure!(cwd.is_dir(), "{} is not a folder", cwd.display());
    let environment = config::Environment::of_process();
    let ground = ProjectRoot::around(&cwd, &environment, config::user(&environment));
    let overrides = Overrides {
        model: options.model.clone(),
        permission_mode: options.mode,
        max_turns: None,
        budget: options.budget,
        allowed_tools: options.grants.clone(),
    };
    let (paths, homeless) = match Paths::resolve(&environment) {
        Ok(paths) => (Some(paths), None),
        Err(error) => (None, Some(Diagnostic::new(error.to_string()))),
    };
    let loaded = config::load(paths.as_ref(), &ground.root, &environment, &overrides);
    let told = ground.notices().into_iter().map(Diagnostic::new);
    let diagnostics = homeless.into_iter().chain(told).chain(loaded.diagnostics).collect();
    let project = Arc::new(ground.root.clone());
    let place = Place { cwd: Arc::new(cwd), project: project.clone(), origin: project };
    let library =
        Arc::new(Library::new(agent_dirs(&environment, &place, &ground), options.agents.clone(), tool_names()));
    let agent = options.agent.as_deref().map(|name| lead_definition(&library, name)).transpose()?;
    let subagents = Subagents {
        model: environment.get("CLAUDE_CODE_SUBAGENT_MODEL").map(str::to_owned),
        user_dirs: user_dirs(&environment),
    };
    let config = loaded.config;
    let secrets = Secrets::new(connection::provider_env(&config).secrets());
    let new_store = |paths: &Paths| Store::new(&paths.state_dir, &place.project, Timestamp::now(), secrets);
    let store = paths.as_ref().map(new_store);
    Ok(Bootstrap { options, config, diagnostics, paths, place, ground, library, agent, subagents, store })
}

/// Finds the definition that the main agent shall work as, before anything is on the screen.
fn lead_definition(library: &Library, name: &str) -> anyhow::Result<Arc<AgentDefinition>> {
    library.reload();
    let catalog = library.catalog();
    catalog.get(name).with_context(|| {
        let names: Vec<String> = catalog.names().iter().map(|name| sanitize_line(name).into_owned()).collect();
        format!("there is no agent `{name}`; there are {}", names.join(", "))
    })
}

fn user_dirs(environment: &config::Environment) -> UserDirs {
    let home = environment.home();
    let claude = environment.directory("CLAUDE_CONFIG_DIR").or_else(|| Some(home.as_ref()?.join(".claude")));
    UserDirs { home, claude }
}

/// A session that runs.
pub struct Started {
    /// The main agent and its user.
    pub conversation: Conversation,
    /// Name of the session.
    pub session: String,
    /// What is still being kept.
    pub kept: SessionHandles,
}

/// The session's log on its way to the disk.
#[derive(Debug, Default)]
pub struct SessionHandles {
    writer: Option<Writer>,
    log: Option<log::LogGuard>,
    /// Puts changed agent files in force and tells of them.
    agents: Option<AgentFiles>,
    /// Tells of changed grants.
    announcer: Option<AbortOnDrop>,
    /// Looks at what earlier runs have left.
    looking: Option<AbortOnDrop>,
    /// Writes what was allowed for the project.
    allowing: Option<JoinHandle<()>>,
}

impl SessionHandles {
    /// Returns how many events the log has dealt with.
    fn handled(&self) -> Option<watch::Receiver<u64>> {
        self.writer.as_ref().map(Writer::handled)
    }

    /// Waits, within bounds, until everything is on the disk. The conversation must be gone by then.
    /// Returns what the user should know of what is not kept.
    pub async fn finish(self) -> Option<String> {
        // They hold ends of the channels whose end is waited for.
        drop(self.agents);
        for task in [self.announcer, self.looking].into_iter().flatten() {
            task.end().await;
        }
        if let Some(mut allowing) = self.allowing
            && timeout(DISK_GRACE, &mut allowing).await.is_err()
        {
            allowing.abort();
            tracing::warn!("the disk is too slow; what was allowed last is not kept");
        }
        let lost = match self.writer {
            None => None,
            Some(writer) => timeout(DISK_GRACE, writer.finish())
                .await
                .unwrap_or_else(|_| Some("The disk is too slow; the end of the session is not kept.".to_owned())),
        };
        drop(self.log);
        lost
    }
}

/// Facts kept about a session.
#[derive(Debug, Serialize)]
struct Meta {
    v: u32,
    version: &'static str,
    started: Timestamp,
    #[serde(serialize_with = "serialize_path")]
    cwd: PathBuf,
    #[serde(serialize_with = "serialize_path")]
    project: PathBuf,
}

/// Starts a session. `listener` hears of everything that happens in it.
pub async fn start(bootstrap: Bootstrap, listener: mpsc::Sender<Arc<AgentEvent>>) -> Started {
    let Bootstrap { options, config, diagnostics, paths, place, ground, library, agent, subagents, store } = bootstrap;
    let (environment, rate_limiters) = (connection::provider_env(&config), RateLimiters::default());
    let secrets = Secrets::new(environment.secrets());
    let (mut kept, listeners) = keep(paths.as_ref().zip(store.as_ref()), &place, &secrets, listener);
    let sink = Sink::new(listeners);
    for text in notices(&diagnostics) {
        sink.send(AgentId::MAIN, EventKind::Notice { text }).await;
    }
    broken::announce(options.front_end, store.clone(), &sink).await;
    let approvals = ApprovalQueue::default();
    let approver = approver(options.front_end, &approvals);
    if options.kind == SessionKind::Live {
        kept.agents = Some(AgentFiles::read(&library, &sink).await);
    }
    let allowed = paths.as_ref().filter(|_| options.kind == SessionKind::Live);
    let allowed = allowed.map(|paths| Allowed::new(&paths.state_dir, &place.project));
    let grants = grants(&options, &config, allowed.as_ref(), store.as_ref(), &sink).await;
    let mut permissions = Permissions::new(project(&ground, paths.as_ref()), config.permission_mode, grants);
    if let Some(allowed) = allowed {
        let (keeper, task) = allowed::keeper(allowed, secrets.clone(), sink.clone());
        (permissions, kept.allowing) = (permissions.kept_by(keeper), Some(task));
    }
    kept.announcer = Some(AbortOnDrop(allowed::announcer(&permissions, sink.clone())));
    let demo = demo::DemoParts::of(options.kind);
    let keys: Vec<String> = environment.table.secret_variables().map(str::to_owned).collect();
    let shell = Shell::new(&options.program, &config.tool_environment, &keys);
    let tree = Tree::new(TreeSetup {
        catalog: Arc::new(library.catalog().clone()),
        limits: limits::of_tree(&config),
        budget: limits::budget(&config, &sink).await,
        tools: demo.as_ref().map_or_else(|| standard_tools(&shell), |parts| parts.tools.clone()),
        environment: prompt_environment(&place),
        worktrees: worktrees::of_session(paths.as_ref(), store.as_ref(), options.kind, &ground),
        place,
        permissions,
        approver,
        sink: sink.clone(),
        secrets,
        resolve_model: connection::resolver(environment.clone(), config.aliases.clone(), rate_limiters.clone()),
        subagent_model: subagents.model,
        user_dirs: subagents.user_dirs,
        keep_report: report_keeper(store.clone()),
        read_back: read_back::reader(store.clone(), kept.handled()),
    });
    kept.looking = worktrees::look(&tree, options.front_end);
    let tools = tree.setup().tools.clone();
    // The schemas are worked out once; the first request need not wait for that.
    tokio::task::spawn_blocking(move || drop((tools.specs(), schema_of::<AgentInput>())));
    let pace = if options.front_end == FrontEnd::Screen { Pace::Reading } else { Pace::Instant };
    let is_demo = demo.is_some();
    let wishes = ModelPreferences {
        flag: connection::meant(options.model.clone(), &config.aliases),
        config: connection::meant(config.model.clone(), &config.aliases),
        env: environment,
    };
    let known = KnownServers::new(paths.as_ref().map(|paths| paths.state_dir.as_path()));
    let means = ConnectMeans { pace, rate_limiters, known };
    let resolve = tree.setup().resolve_model.clone();
    let reconnect = connection::reconnect(&wishes, config.aliases.clone(), &resolve, &means, &sink);
    let connecting = if let Some(parts) = demo {
        parts.connecting(sink)
    } else {
        let definition = agent.clone().filter(|_| options.model.is_none());
        connection::connecting(wishes, LeadModel { definition, resolve }, means, sink)
    };
    let limits = limits::of_main(&config, options.max_turns);
    let session = store.as_ref().map_or_else(|| "unkept".to_owned(), |store| dir_name(store.dir()));
    let conversation = Conversation::new(tree, approvals, connecting, limits);
    let conversation = if is_demo { conversation } else { conversation.reconnecting_by(reconnect) };
    let conversation = match agent {
        Some(definition) => conversation.working_as(definition),
        None => conversation,
    };
    let conversation = match options.front_end {
        FrontEnd::Headless => conversation.waiting_for_reports(),
        FrontEnd::Screen | FrontEnd::Plain => conversation,
    };
    Started { conversation, session, kept }
}

/// Returns who is asked: whoever sits in front of it, or nobody.
fn approver(front_end: FrontEnd, approvals: &ApprovalQueue) -> Arc<dyn Approver> {
    match front_end {
        FrontEnd::Screen | FrontEnd::Plain => Arc::new(approvals.clone()),
        FrontEnd::Headless => Arc::new(Unattended),
    }
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

/// Finds the folders of agent files.
#[must_use]
pub fn agent_dirs(environment: &config::Environment, place: &Place, ground: &ProjectRoot) -> AgentDirs {
    let (home, claude, kode) =
        (environment.home(), environment.directory("CLAUDE_CONFIG_DIR"), environment.directory("KODE_CONFIG_DIR"));
    AgentDirs::new(&Roots {
        home: home.as_deref(),
        claude: claude.as_deref(),
        kode: kode.as_deref(),
        cwd: &place.cwd,
        project: ground.is_project.then_some(ground.root.as_path()),
        owner: config::user(environment),
    })
}

/// Returns the names that the `tools` of an agent file may hold.
#[must_use]
pub fn tool_names() -> Vec<String> {
    standard_tools(&Shell::default()).names().chain([AGENT_TOOL]).chain(TASK_TOOLS).map(str::to_owned).collect()
}

/// Faults of the configuration that are told one by one. A file of a stranger may hold thousands, and nobody may be
/// listening yet.
const MAX_NOTICES: usize = 20;

fn notices(errors: &[Diagnostic]) -> impl Iterator<Item = String> {
    let rest = errors.len().saturating_sub(MAX_NOTICES);
    let rest = (rest > 0).then(|| format!("… and {rest} more faults in the configuration."));
    errors.iter().take(MAX_NOTICES).map(ToString::to_string).chain(rest)
}

/// Opens the session's log and returns it with everyone who listens, the log first.
fn keep(
    kept: Option<(&Paths, &Store)>,
    place: &Place,
    secrets: &Secrets,
    listener: mpsc::Sender<Arc<AgentEvent>>,
) -> (SessionHandles, Vec<mpsc::Sender<Arc<AgentEvent>>>) {
    let Some((paths, store)) = kept else { return (SessionHandles::default(), vec![listener]) };
    let directives = std::env::var(log::VARIABLE).ok();
    let log = log::start(&paths.state_dir, directives.as_deref(), secrets.clone());
    let meta = Meta {
        v: 1,
        version: env!("CARGO_PKG_VERSION"),
        started: Timestamp::now(),
        cwd: place.cwd.as_ref().clone(),
        project: place.project.as_ref().clone(),
    };
    let front_end = listener.clone();
    let on_error = move |error: Diagnostic| {
        let kind = EventKind::Notice { text: error.to_string() };
        // The writer's thread may wait: it is no part of the runtime.
        let _ = front_end.blocking_send(Arc::new(AgentEvent { agent: AgentId::MAIN, at: Timestamp::now(), kind }));
    };
    let (sender, writer) = Writer::spawn(store.clone(), meta, router(), on_error);
    (SessionHandles { writer: Some(writer), log, ..SessionHandles::default() }, vec![sender, listener])
}

/// Returns what finds the file of an event: that of its agent, by the agent's name. Deltas are left out: the message
/// that ends the turn holds them whole, and a secret that is cut in two by a delta could not be recognised.
fn router() -> impl FnMut(&Arc<AgentEvent>) -> Option<Arc<str>> + Send + 'static {
    let main: Arc<str> = "main".into();
    let mut names = std::collections::HashMap::from([(AgentId::MAIN, main)]);
    move |event| {
        if let EventKind::Spawned(spawn) = &event.kind {
            names.insert(event.agent, spawn.name.as_str().into());
        }
        names.get(&event.agent).filter(|_| !event.kind.is_unkept()).cloned()
    }
}

/// Gathers what is allowed in advance. The configuration holds what the command line adds to it.
async fn grants(
    options: &Options,
    config: &Config,
    allowed: Option<&Allowed>,
    store: Option<&Store>,
    sink: &Sink,
) -> Grants {
    let (answers, errors) = allowed.map(Allowed::read).unwrap_or_default();
    for text in notices(&errors) {
        sink.send(AgentId::MAIN, EventKind::Notice { text }).await;
    }
    Grants::default()
        .with(GrantOrigin::Program, reports_grant(store))
        .with(GrantOrigin::Flag, options.grants.iter().cloned())
        .with(GrantOrigin::Config, config.allowed_tools.iter().cloned())
        .with_active(answers)
}

/// Whole reports lie outside the project; the agents may read them all the same.
fn reports_grant(store: Option<&Store>) -> Option<Grant> {
    store.map(|store| Grant::Below(store.reports_dir()))
}

fn report_keeper(store: Option<Store>) -> KeepReport {
    Arc::new(move |name, report| {
        let store = store.clone();
        Box::pin(async move {
            let saved = tokio::task::spawn_blocking(move || store?.save_report(&name, &report).ok()).await;
            saved.ok().flatten()
        })
    })
}

fn dir_name(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn prompt_environment(place: &Place) -> PromptEnvironment {
    PromptEnvironment {
        cwd: place.cwd.as_ref().clone(),
        project: place.project.as_ref().clone(),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        date: Zoned::now().date().to_string(),
        branch: config::git_branch(&place.project),
    }
}
