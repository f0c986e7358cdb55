//! A whole session in a temporary project: the real loop, tree and tools behind a provider that a test chooses.

mod api;
mod dice;
mod memory_log;
mod picture;
mod request;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use belvedere::agent::{AgentEvent, AtEnd, Budget, EventKind, Limits, LogEvent, Outcome, Place, SessionEvent, Sink};
use belvedere::definition::{AgentDefinition, Catalog};
use belvedere::external::LaunchExternal;
use belvedere::hook::Hooks;
use belvedere::mcp::McpServers;
use belvedere::memory::MemorySources;
use belvedere::message::{AgentId, LauncherSettings, MessageId, UserText};
use belvedere::permission::{Grants, PermissionMode, Permissions, RuleSet};
use belvedere::provider::{Model, Provider};
use belvedere::sandbox::{DeniedPaths, Hosts, Sandbox, SandboxPlaces, SandboxState};
use belvedere::session::Secrets;
use belvedere::subagent::{
    ApprovalQueue, Command, Connecting, Connection, Conversation, KeepReport, Launchers, ModelScope, PromptEnvironment,
    ReadBack, ReportReview, SessionEffort, SessionSkills, Tree, TreeLimits, TreeSetup, Unattended, UserDirs, connected,
};
use belvedere::tool::{FileCopies, ProjectStates, Shell, ToolSet};
use belvedere::worktree::Worktrees;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

pub(crate) use api::{Api, Planned};
pub(crate) use dice::Dice;
pub(crate) use picture::png;
pub(crate) use request::read_request;

/// How long a test waits for something that has to happen; also in paused time, where it costs nothing.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Makes a repository of a folder, with one commit of all its files.
fn make_repository(root: &std::path::Path) {
    git(root, ["init", "-q", "-b", "main"]);
    git(root, ["add", "-A"]);
    git(root, ["commit", "-q", "-m", "first"]);
}

/// Returns the tools of the program, with the real binary as the supervisor of commands.
pub(crate) fn standard_tools() -> ToolSet {
    tools_of(&shell())
}

/// Returns the tools whose commands a shell runs, and which fetch nothing of this machine.
pub(crate) fn tools_of(shell: &Shell) -> ToolSet {
    belvedere::tool::standard_tools(
        shell,
        &belvedere::tool::Fetcher::default(),
        &belvedere::tool::LanguageServers::default(),
        &belvedere::tool::EditorFiles::default(),
    )
}

/// Starts a server on loopback and returns its `host:port`.
pub(crate) async fn serve(router: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    place
}

pub(crate) fn shell() -> Shell {
    Shell::new(env!("CARGO_BIN_EXE_belvedere"), &[], &[])
}

/// Returns a sandbox and the shell that runs commands in it, with its files in `folder` and a home there; `None` where the
/// system has none, which is not what tests are about.
pub(crate) async fn sandboxed(folder: &std::path::Path, hosts: &[&str]) -> Option<(Sandbox, Shell)> {
    sandboxed_without(folder, DeniedPaths::default(), hosts).await
}

/// Returns the same where rules deny some files.
pub(crate) async fn sandboxed_without(
    folder: &std::path::Path,
    denied: DeniedPaths,
    hosts: &[&str],
) -> Option<(Sandbox, Shell)> {
    sandboxed_at(folder, SandboxPlaces { denied, ..SandboxPlaces::default() }, hosts).await
}

/// Returns the same with more said of its places.
pub(crate) async fn sandboxed_at(
    folder: &std::path::Path,
    places: SandboxPlaces,
    hosts: &[&str],
) -> Option<(Sandbox, Shell)> {
    let denied = places.denied.clone();
    let has_own_tmp = !folder.starts_with("/tmp");
    let places = SandboxPlaces { home: Some(folder.join("home")), has_own_tmp, ..places };
    let hosts = Hosts::new(hosts.iter().map(|host| (*host).to_owned()));
    let sandbox = Sandbox::new(places, folder.join("cache"), hosts, true).unwrap();
    let shell = shell().without(denied).with_sandbox(sandbox.clone());
    match shell.check_sandbox().await {
        None => Some((sandbox, shell)),
        Some(why) => {
            assert_eq!(sandbox.state(), SandboxState::Unavailable(why));
            None
        }
    }
}

/// Returns what keeps reports in a folder, in the time that a disk takes.
fn keep_in(folder: &std::path::Path) -> KeepReport {
    let folder = folder.to_path_buf();
    Arc::new(move |name, report| {
        let path = folder.join(format!("{name}.report.md"));
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            tokio::fs::write(&path, report).await.ok().map(|()| path)
        })
    })
}

/// What a session is made of.
pub(crate) struct Parts {
    /// What `/sandbox` is about.
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) servers: McpServers,
    /// How programs are started that are agents of their own; without it none is.
    pub(crate) external: Option<LaunchExternal>,
    /// What runs agents somewhere else.
    pub(crate) launchers: Vec<LauncherSettings>,
    /// Who looks at reports before they are read.
    pub(crate) review: ReportReview,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: ToolSet,
    pub(crate) mode: PermissionMode,
    pub(crate) limits: TreeLimits,
    pub(crate) budget: Budget,
    pub(crate) pictures: belvedere::session::PictureStore,
    pub(crate) model: Model,
    pub(crate) main_limits: Limits,
    pub(crate) catalog: Catalog,
    pub(crate) secrets: Secrets,
    pub(crate) subagent_model: Option<String>,
    pub(crate) fallback_models: Vec<String>,
    pub(crate) effort: SessionEffort,
    pub(crate) compact_model: Option<String>,
    /// In place of what is known of the folder.
    pub(crate) environment: Option<PromptEnvironment>,
    /// Whether nobody answers questions.
    pub(crate) unattended: bool,
    /// What the main agent works as.
    pub(crate) lead: Option<Arc<AgentDefinition>>,
    /// What the project is before anything starts.
    pub(crate) project: Project,
    /// In place of a new folder.
    pub(crate) folder: Option<TempDir>,
    /// In place of the git on the `PATH`.
    pub(crate) git: Option<PathBuf>,
    /// Where memory files are looked for.
    pub(crate) memory: MemorySources,
    /// What runs when something happens.
    pub(crate) hooks: Hooks,
    /// What can be called by name.
    pub(crate) skills: SessionSkills,
    /// The rules of the settings.
    pub(crate) rules: RuleSet,
    /// Files of the project before anything starts: path and content.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Heard before the session's own listener.
    pub(crate) listeners: Vec<mpsc::Sender<Arc<LogEvent>>>,
    /// In place of what keeps long reports in a folder.
    pub(crate) keep_report: Option<KeepReport>,
    /// In place of the provider, one that is still being looked for.
    pub(crate) connecting: Option<Connecting>,
    /// What the main agent does that has answered.
    pub(crate) at_end: AtEnd,
    /// In place of the log in memory.
    pub(crate) read_back: Option<ReadBack>,
}

impl Parts {
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Self {
        let limits = TreeLimits::default();
        let main_limits = Limits { max_turns: None, max_tool_calls: None, ..limits.child.clone() };
        Self {
            provider,
            sandbox: None,
            servers: McpServers::default(),
            external: None,
            launchers: Vec::new(),
            memory: MemorySources::default(),
            skills: SessionSkills::default(),
            rules: RuleSet::default(),
            tools: standard_tools(),
            mode: PermissionMode::Default,
            limits,
            budget: Budget::default(),
            pictures: belvedere::session::PictureStore::default(),
            model: model(),
            main_limits,
            catalog: Catalog::builtin(),
            secrets: Secrets::default(),
            subagent_model: None,
            fallback_models: Vec::new(),
            effort: SessionEffort::default(),
            compact_model: None,
            review: ReportReview::default(),
            environment: None,
            unattended: false,
            lead: None,
            project: Project::Folder,
            folder: None,
            git: None,
            hooks: Hooks::default(),
            files: Vec::new(),
            listeners: Vec::new(),
            keep_report: None,
            connecting: None,
            at_end: AtEnd::Leave,
            read_back: None,
        }
    }
}

fn permissions(root: &Path, mode: PermissionMode, rules: RuleSet) -> Permissions {
    let project = belvedere::permission::Project::at(root.to_path_buf());
    Permissions::new(project, mode, Grants::default()).under(rules)
}

/// What a project is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Project {
    /// A folder.
    Folder,
    /// A repository with one commit of all files.
    Repository,
}

/// A running session.
pub(crate) struct Session {
    pub(crate) project: TempDir,
    pub(crate) reports: TempDir,
    pub(crate) home: TempDir,
    /// Where its worktrees and copies lie.
    _state: TempDir,
    pub(crate) copies: FileCopies,
    commands: mpsc::UnboundedSender<Command>,
    events: mpsc::Receiver<Arc<LogEvent>>,
    /// Everything that has happened so far.
    pub(crate) log: Vec<Arc<LogEvent>>,
    /// What of that has happened to agents.
    pub(crate) seen: Vec<Arc<AgentEvent>>,
    /// How often something was said to the main agent.
    said: Cell<u64>,
    /// Ends once the session has.
    pub(crate) driver: tokio::task::JoinHandle<()>,
}

fn no_program() -> std::io::Error {
    std::io::Error::other("no program is started here")
}

/// Looks for memory files of the user below this folder, if those of the project are looked for.
fn below(memory: MemorySources, home: &Path) -> MemorySources {
    if !memory.is_project {
        return memory;
    }
    MemorySources { claude: Some(home.join(".claude")), home: Some(home.to_path_buf()), ..memory }
}

impl Session {
    pub(crate) fn start(parts: Parts) -> Self {
        let project = parts.folder.unwrap_or_else(|| tempfile::tempdir().unwrap());
        let reports = tempfile::tempdir().unwrap();
        let root = Arc::new(project.path().canonicalize().unwrap());
        let home_dir = tempfile::tempdir().unwrap();
        let home = home_dir.path().canonicalize().unwrap();
        put_files(&root, parts.files);
        if parts.project == Project::Repository {
            make_repository(&root);
        }
        let state = tempfile::tempdir().unwrap();
        let mut worktrees = Worktrees::new(state.path().join("worktrees"), "session");
        if let Some(program) = parts.git {
            worktrees = worktrees.with_program(program);
        }
        let (sender, events) = mpsc::channel(64);
        let (commands, orders) = mpsc::unbounded_channel();
        let approvals = ApprovalQueue::default();
        let (log, logged) = memory_log::start();
        let copies = copies(&root, state.path());
        let tree = Tree::new(TreeSetup {
            shell: parts.sandbox.map_or_else(shell, |sandbox| shell().with_sandbox(sandbox)),
            servers: parts.servers,
            launchers: Launchers::new(
                parts.external.unwrap_or_else(|| Arc::new(|_| Box::pin(async { Err(no_program()) }))),
                &parts.launchers,
            ),
            catalog: Arc::new(parts.catalog),
            limits: parts.limits,
            budget: parts.budget,
            tools: parts.tools,
            place: Place { cwd: root.clone(), project: root.clone(), origin: root.clone() },
            permissions: permissions(&root, parts.mode, parts.rules),
            approver: if parts.unattended { Arc::new(Unattended) } else { Arc::new(approvals.clone()) },
            sink: Sink::new([log].into_iter().chain(parts.listeners).chain([sender]).collect(), parts.secrets.clone()),
            secrets: parts.secrets,
            environment: parts.environment.unwrap_or_else(|| environment(&root)),
            resolve_model: Arc::new(resolve_model),
            subagent_model: parts.subagent_model,
            fallback_models: parts.fallback_models,
            effort: parts.effort,
            compact_model: parts.compact_model,
            skills: parts.skills,
            memory: below(parts.memory, &home),
            hooks: parts.hooks,
            user_dirs: UserDirs { home: Some(home.clone()), claude: Some(home.join(".claude")) },
            keep_report: parts.keep_report.unwrap_or_else(|| keep_in(reports.path())),
            read_back: parts.read_back.unwrap_or_else(|| logged.read_back()),
            worktrees: Some(Arc::new(worktrees)),
            copies: copies.clone(),
            pictures: parts.pictures,
            trusting: None,
            review: parts.review,
        });
        let connection = Connection { provider: parts.provider, model: Arc::new(parts.model) };
        let connecting = parts.connecting.unwrap_or_else(|| connected(connection));
        let conversation = Conversation::new(tree, approvals, connecting, parts.main_limits);
        let conversation = match parts.lead {
            Some(definition) => conversation.working_as(definition),
            None => conversation,
        };
        let conversation = match parts.at_end {
            AtEnd::WaitForReports => conversation.waiting_for_reports(),
            AtEnd::Leave => conversation,
        };
        let driver = tokio::spawn(conversation.drive(orders));
        Self {
            project,
            reports,
            home: home_dir,
            _state: state,
            copies,
            commands,
            events,
            log: Vec::new(),
            seen: Vec::new(),
            said: Cell::new(0),
            driver,
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.project.path().canonicalize().unwrap()
    }

    pub(crate) fn send(&self, command: Command) {
        self.commands.send(command).unwrap();
    }

    pub(crate) fn say(&self, text: &str) {
        self.said.set(self.said.get() + 1);
        self.send(Command::Send { id: MessageId(self.said.get()), text: UserText::typed(text) });
    }

    /// Waits for an event of an agent and returns what `pick` makes of it.
    pub(crate) async fn wait<T>(&mut self, mut pick: impl FnMut(&AgentEvent) -> Option<T>) -> T {
        self.wait_log(|event| event.of_agent().and_then(&mut pick)).await
    }

    /// Waits for an event of the session and returns what `pick` makes of it.
    pub(crate) async fn wait_session<T>(&mut self, mut pick: impl FnMut(&SessionEvent) -> Option<T>) -> T {
        self.wait_log(|event| event.of_session().and_then(&mut pick)).await
    }

    async fn wait_log<T>(&mut self, mut pick: impl FnMut(&LogEvent) -> Option<T>) -> T {
        loop {
            let event =
                timeout(TIMEOUT, self.events.recv()).await.expect("nothing happens").expect("the session ended");
            self.seen.extend(event.of_agent().cloned().map(Arc::new));
            self.log.push(event.clone());
            if let Some(found) = pick(&event) {
                return found;
            }
        }
    }

    /// Waits until the agent has ended.
    pub(crate) async fn ended(&mut self, agent: AgentId) -> Outcome {
        self.wait(|event| match &event.kind {
            EventKind::Ended { outcome } if event.agent == agent => Some(outcome.clone()),
            _ => None,
        })
        .await
    }

    /// Says something and waits for the answer.
    pub(crate) async fn ask(&mut self, text: &str) -> Outcome {
        self.say(text);
        self.ended(AgentId::MAIN).await
    }

    /// Returns the events of one agent so far.
    pub(crate) fn of(&self, agent: AgentId) -> impl Iterator<Item = &EventKind> {
        self.seen.iter().filter(move |event| event.agent == agent).map(|event| &event.kind)
    }

    /// Ends the session; whoever listened is gone.
    pub(crate) fn hang_up(self) -> Self {
        let (commands, _) = mpsc::unbounded_channel();
        let (_, events) = mpsc::channel(1);
        Self { commands, events, ..self }
    }

    /// Ends the session and waits for its end; returns all events.
    pub(crate) async fn quit(self) -> Vec<Arc<AgentEvent>> {
        let Self { commands, mut events, mut seen, driver, .. } = self;
        drop(commands);
        let rest = async {
            while let Some(event) = events.recv().await {
                seen.extend(event.of_agent().cloned().map(Arc::new));
            }
        };
        timeout(TIMEOUT, rest).await.expect("the session does not end");
        timeout(TIMEOUT, driver).await.expect("the session does not end").unwrap();
        seen
    }
}

fn resolve_model(wish: &belvedere::subagent::ModelRequest<'_>) -> Result<Connection, String> {
    match wish.name {
        "missing" => Err("There is no model `missing`.".to_owned()),
        "main" => Ok(wish.main.clone()),
        // Every other model exists, where the wish may reach.
        name => {
            let id = if wish.scope == ModelScope::Here { format!("here/{name}") } else { name.to_owned() };
            let model = Model { id, display: name.to_owned(), ..Model::clone(&wish.parent.model) };
            Ok(Connection { provider: wish.parent.provider.clone(), model: Arc::new(model) })
        }
    }
}

/// Writes the files of a project.
fn copies(root: &std::path::Path, state: &std::path::Path) -> FileCopies {
    FileCopies::below(state.join("files")).with_states(ProjectStates::of(root.to_path_buf(), state.join("states")))
}

fn put_files(root: &std::path::Path, files: Vec<(&'static str, String)>) {
    for (path, content) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// Runs git in a folder as someone with a name.
pub(crate) fn git<const N: usize>(folder: &std::path::Path, args: [&str; N]) -> String {
    let who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"];
    let output = std::process::Command::new("git").current_dir(folder).args(who).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn model() -> Model {
    Model {
        id: "test-model".to_owned(),
        display: "test".to_owned(),
        context_window: Some(200_000),
        max_output_tokens: 4_096,
        most_output_tokens: 4_096,
        price: None,
        max_effort: None,
        takes_xhigh: true,
        is_effort_known: true,
        sees: None,
    }
}

fn environment(root: &std::path::Path) -> PromptEnvironment {
    PromptEnvironment {
        cwd: root.to_path_buf(),
        project: root.to_path_buf(),
        platform: "test".to_owned(),
        date: "2026-01-01".to_owned(),
        begun: None,
        branch: None,
        given: belvedere::subagent::GivenPrompts::default(),
    }
}
