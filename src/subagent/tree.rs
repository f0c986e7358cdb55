//! The live tree: what it is made of, and what all its agents share.
//!
//! Owns numbers, places and the count of spawns. Leaves starting to `spawn`, who exists to `registry` and runs to
//! `run_guard`. Invariant: what does not fit waits for a place of its depth, visible as queued.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};

use crate::agent::{
    Agent, Budget, Cancel, CommandReporter, EventKind, Inbox, InboxMessage, LastWords, Outcome, Place, SessionEvent,
    Sink, Status, Urgency,
};
use crate::definition::Catalog;
use crate::hook::{Hooks, OwnHooks};
use crate::mcp::McpServers;
use crate::memory::MemorySources;
use crate::message::{AgentId, BudgetLimit, Usage, sanitize_line};
use crate::permission::{Approver, BroughtItem, Permissions, ToolKind};
use crate::sandbox::SandboxChange;
use crate::session::{PictureStore, Secrets};
use crate::subagent::effort::SessionEffort;
use crate::subagent::limits::{Refusal, TreeLimits};
use crate::subagent::main_agent::connection::{Connection, ResolveModel};
use crate::subagent::registry::Registry;
use crate::subagent::run::read_back::ReadBack;
use crate::subagent::run::review::ReportReview;
use crate::subagent::servers::{AgentServers, ServerReach};
use crate::subagent::skills::SessionSkills;
use crate::subagent::spawn::capabilities::{Capabilities, Delegation};
use crate::subagent::spawn::launchers::Launchers;
use crate::subagent::spawn::memory::UserDirs;
use crate::subagent::spawn::prompt::PromptEnvironment;
use crate::subagent::tools::agent_tool::{AGENT_TOOL, AgentTool};
use crate::subagent::tools::offer::Offers;
use crate::subagent::tools::skill_tool::{SKILL_TOOL, SkillTool};
use crate::subagent::tools::{ask_tools, task_tools};
use crate::subagent::workspace::{Workspace, WorktreeRegistry};
use crate::tool::{BackgroundCommands, FileCopies, Freshness, Shell, ToolSet, Writers};
use crate::worktree::Worktrees;

/// How long a subagent waits for the MCP servers that its own file defines.
const OWN_SERVERS_WAIT: Duration = Duration::from_secs(20);

/// Keeps a report that was too long for the parent and returns where it lies.
pub type KeepReport = Arc<dyn Fn(String, String) -> BoxFuture<'static, Option<PathBuf>> + Send + Sync>;

/// What the user trusts of the folder.
#[derive(Debug)]
pub struct TrustAnswer {
    /// All that was listed; nothing for a no.
    pub trusted: Vec<BroughtItem>,
    /// Told once it is in force.
    pub taken_in: oneshot::Sender<()>,
}

pub struct TreeSetup {
    pub catalog: Arc<Catalog>,
    pub limits: TreeLimits,
    /// What all its agents may use together.
    pub budget: Budget,
    /// Tools of the main agent; children get a part of them.
    pub tools: ToolSet,
    pub place: Place,
    pub permissions: Permissions,
    /// Who is asked otherwise.
    pub approver: Arc<dyn Approver>,
    pub sink: Sink,
    /// What of a tool's output nobody gets to see.
    pub secrets: Secrets,
    pub environment: PromptEnvironment,
    /// How a named model is found.
    pub resolve_model: ResolveModel,
    /// The model of all subagents for which the call names none (`CLAUDE_CODE_SUBAGENT_MODEL`).
    pub subagent_model: Option<String>,
    /// The models that answer a turn that an agent's own does not answer.
    pub fallback_models: Vec<String>,
    /// How the models think.
    pub effort: SessionEffort,
    /// The model that summarizes conversations; `None` leaves it to the one that answers.
    pub compact_model: Option<String>,
    /// Who looks at reports before they are read.
    pub review: ReportReview,
    pub user_dirs: UserDirs,
    /// Where memory files are looked for.
    pub memory: MemorySources,
    /// What runs when something happens.
    pub hooks: Hooks,
    /// What can be called by name.
    pub skills: SessionSkills,
    /// How a long report is kept: called with the agent's name and the report.
    pub keep_report: KeepReport,
    /// Where subagents can work apart; `None` where nothing can be kept.
    pub worktrees: Option<Arc<Worktrees>>,
    /// How the log of one that ended is read back, to go on with it.
    pub read_back: ReadBack,
    /// Where files are copied to before agents change them.
    pub copies: FileCopies,
    /// Where pictures are kept.
    pub pictures: PictureStore,
    /// Where it goes what the user trusts of the folder; `None` where nothing depends on it.
    pub trusting: Option<mpsc::UnboundedSender<TrustAnswer>>,
    /// How commands of the user's own are run, and what those of agents run in.
    pub shell: Shell,
    /// The MCP servers of the session.
    pub servers: McpServers,
    /// How programs are started that are agents of their own, and what runs agents somewhere else.
    pub launchers: Launchers,
}

/// A handle to the tree; clones share it.
#[derive(Clone)]
pub struct Tree(Arc<Shared>);

struct Shared {
    setup: TreeSetup,
    next_id: AtomicU32,
    spawned_for_request: AtomicU32,
    /// One pool for each depth: a parent that waits for its children then never holds what they wait for.
    pools: Vec<Arc<Semaphore>>,
    registry: Mutex<Registry>,
    /// Messages to the main agent, at work and at rest.
    inbox: Inbox,
    /// Who of the agents wrote which file last.
    writers: Writers,
    /// Notified of each end.
    ended: Notify,
    worktree_registry: WorktreeRegistry,
    /// Commands that go on by themselves, of all its agents.
    commands: BackgroundCommands,
}

#[derive(Clone)]
pub struct Parent {
    pub id: AgentId,
    pub depth: u32,
    /// Who answers it.
    pub connection: Connection,
    /// Who answers the main agent.
    pub main: Connection,
    pub capabilities: Capabilities,
    /// Which agents it has been offered.
    pub offers: Arc<Offers>,
    /// Its cancel token; children hang below it.
    pub cancel: Cancel,
    /// Where it works, if not among the project's files.
    pub(in crate::subagent) workspace: Option<Workspace>,
}

impl Tree {
    /// Hands on what the user trusts of the folder, and returns once it is in force: what is said next is said with it.
    pub(in crate::subagent) async fn trust_folder(&self, trusted: Vec<BroughtItem>) {
        let (taken_in, in_force) = oneshot::channel();
        let sent = self.setup().trusting.as_ref().map(|trusting| trusting.send(TrustAnswer { trusted, taken_in }));
        // Nobody listens any more once the program ends.
        if matches!(sent, Some(Ok(()))) {
            let _ = in_force.await;
        }
    }

    #[must_use]
    pub fn new(setup: TreeSetup) -> Self {
        // The user's own requests need a place also where models may not delegate.
        let pools =
            (0..setup.limits.max_depth.max(1)).map(|_| Arc::new(Semaphore::new(setup.limits.max_parallel.max(1))));
        Self(Arc::new(Shared {
            pools: pools.collect(),
            worktree_registry: WorktreeRegistry::new(setup.worktrees.clone()),
            next_id: AtomicU32::new(1),
            spawned_for_request: AtomicU32::new(0),
            registry: Mutex::default(),
            inbox: Inbox::lasting(),
            writers: Writers::keeping(setup.copies.clone())
                .beside(setup.shell.sandbox().map(|sandbox| sandbox.watch().clone()).unwrap_or_default()),
            setup,
            ended: Notify::new(),
            commands: BackgroundCommands::default(),
        }))
    }

    pub(in crate::subagent) fn writers(&self) -> &Writers {
        &self.0.writers
    }

    pub(in crate::subagent) fn worktree_registry(&self) -> &WorktreeRegistry {
        &self.0.worktree_registry
    }

    /// Returns the commands that go on by themselves, of all its agents.
    pub(in crate::subagent) fn commands(&self) -> &BackgroundCommands {
        &self.0.commands
    }

    pub fn setup(&self) -> &TreeSetup {
        &self.0.setup
    }

    /// Returns the file knowledge of an agent that has read no file. Its siblings see what it writes under this name.
    pub(in crate::subagent) fn freshness(&self, name: &str) -> Arc<Freshness> {
        Arc::new(Freshness::new(name, &self.0.writers))
    }

    /// Returns the number that the next subagent gets.
    pub(in crate::subagent) fn next_agent(&self) -> AgentId {
        AgentId(self.0.next_id.load(Ordering::Relaxed))
    }

    pub fn catalog(&self) -> &Catalog {
        &self.0.setup.catalog
    }

    /// Starts counting spawns anew: a new user message is being answered.
    pub fn begin_request(&self) {
        self.0.spawned_for_request.store(0, Ordering::Relaxed);
    }

    pub(in crate::subagent) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.0.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the main agent what has changed since its conversation began, with the next message that it gets.
    pub fn tell_changes(&self) {
        if let Some(text) = self.setup().environment.changes() {
            let message = InboxMessage { urgency: Urgency::Later, ..InboxMessage::of_program(&text) };
            // It is closed only once the session ends.
            let _ = self.inbox().push(message);
        }
    }

    pub(in crate::subagent) fn inbox(&self) -> &Inbox {
        &self.0.inbox
    }

    pub(in crate::subagent) fn ended(&self) -> &Notify {
        &self.0.ended
    }

    /// Returns what the main agent can hand on if it is no definition's.
    pub fn all_capabilities(&self) -> Capabilities {
        let setup = self.setup();
        Capabilities {
            tools: setup.tools.clone(),
            servers: setup.servers.clone().into(),
            delegation: if setup.tools.take(AGENT_TOOL) { self.depth_allows(0) } else { Delegation::Closed },
            skills: if setup.tools.take(SKILL_TOOL) { Delegation::Open } else { Delegation::Closed },
            permissions: setup.permissions.clone(),
            hooks: OwnHooks::default(),
        }
    }

    /// Says whether an agent at this depth may have subagents.
    pub(in crate::subagent) fn depth_allows(&self, depth: u32) -> Delegation {
        if depth < self.setup().limits.max_depth { Delegation::Open } else { Delegation::Closed }
    }

    /// Returns the tools that an agent is offered: its own, `Agent` if it may have subagents, and those that reach its
    /// subagents and commands.
    pub fn offered_tools(&self, agent: Parent) -> ToolSet {
        let reach = ServerReach {
            servers: agent.capabilities.servers.clone(),
            permissions: agent.capabilities.permissions.clone(),
            offer: agent.offers.servers.clone(),
        };
        let permissions = agent.capabilities.permissions.clone();
        let own = agent.capabilities.tools.clone();
        let (id, delegates) = (agent.id, agent.capabilities.delegation == Delegation::Open);
        let runs_commands = own.names().any(|name| own.kind_of(name) == ToolKind::Execute);
        // A definition that lists its tools has these and no others.
        let asks = id.is_main() && own.names().count() == self.setup().tools.names().count();
        let tools = own.offered(agent.connection.provider.web_search().is_some());
        let mut tools = reach.join(tools, &agent.connection.model);
        if agent.capabilities.skills == Delegation::Open && !self.usable_skills(&agent).is_empty() {
            tools = tools.with(Arc::new(SkillTool::new(self.clone(), agent.clone())));
        }
        let tools = if delegates { tools.with(Arc::new(AgentTool::new(self.clone(), agent))) } else { tools };
        let about = task_tools::tools(self, id, delegates, runs_commands);
        let asks = if asks { ask_tools::tools(self).to_vec() } else { Vec::new() };
        let more = about.chain(asks).filter(|tool| self.setup().tools.take(tool.name()));
        more.fold(tools, |tools, tool| tools.with(tool)).filtered(|tool| permissions.may_offer(tool))
    }

    /// Counts a spawn, if one more may be made for this request.
    pub(in crate::subagent) fn reserve(&self) -> Result<(), Refusal> {
        let limit = self.setup().limits.max_per_request;
        let reserve = |count: u32| (count < limit).then_some(count + 1);
        let reserved = self.0.spawned_for_request.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve);
        reserved.map(drop).map_err(|_| Refusal::TooMany { limit })
    }

    /// Returns the next number and the name that a subagent of this type gets with it.
    pub(in crate::subagent) fn next_name(&self, agent_type: &str) -> (AgentId, String) {
        let id = AgentId(self.0.next_id.fetch_add(1, Ordering::Relaxed));
        (id, format!("{agent_type}-{}", id.0))
    }

    /// Gives no number up to this one to another subagent.
    pub(in crate::subagent) fn skip_number(&self, taken: AgentId) {
        self.0.next_id.fetch_max(taken.0.saturating_add(1), Ordering::Relaxed);
    }

    pub(in crate::subagent) fn sink(&self) -> &Sink {
        &self.0.setup.sink
    }

    pub(in crate::subagent) fn pool(&self, depth: u32) -> Option<Arc<Semaphore>> {
        self.0.pools.get(depth.checked_sub(1)? as usize).cloned()
    }
}

impl Tree {
    /// Runs a command of the user's own. The main agent reads what it printed with whatever comes next.
    pub(in crate::subagent) async fn run_for_user(&self, line: &str) {
        let setup = self.setup();
        let told = (setup.sink.clone(), self.inbox().clone(), setup.secrets.clone());
        let host = CommandReporter::host(self.commands().clone(), AgentId::MAIN, told);
        if let Err(why) = host.run_for_user(&setup.shell, line, &setup.place.cwd).await {
            self.sink().emit_unhindered(AgentId::MAIN, EventKind::Notice { text: format!("Not run: {why}.") }).await;
        }
    }
}

impl Outcome {
    pub(in crate::subagent) fn broken() -> Self {
        Self::unstarted(Status::Failed, "The agent failed: internal error in Belvedere; see its log.")
    }

    /// Returns the outcome of a run that never began.
    pub(in crate::subagent) fn unstarted(status: Status, reason: &str) -> Self {
        Self {
            status,
            text: String::new(),
            words: LastWords::Partial,
            reason: Some(reason.to_owned()),
            turns: 0,
            tool_calls: 0,
            usage: Usage::default(),
            cost_usd: None,
            elapsed_ms: 0,
            tools_run: BTreeMap::new(),
            files: crate::agent::FileTally::default(),
            doubt: None,
        }
    }
}

impl Tree {
    /// Changes the sandbox for the commands of all agents from now on, and says what holds then.
    pub(in crate::subagent) async fn change_sandbox(&self, change: SandboxChange) {
        let Some(sandbox) = self.setup().shell.sandbox().cloned() else {
            return self.sink().notify("There is no sandbox here: commands ask before they run.".to_owned()).await;
        };
        sandbox.change(&change);
        let root = self.setup().place.project.clone();
        let Ok(facts) = tokio::task::spawn_blocking(move || sandbox.facts(&root)).await else { return };
        let said = match change {
            SandboxChange::AllowHost(host) => format!("Commands in the sandbox can reach {host} in this session."),
            SandboxChange::Turn { .. } => facts.summary(),
        };
        self.sink().notify(said).await;
        self.sink().emit_session_unhindered(SessionEvent::SandboxChanged { facts }).await;
    }

    /// Says what a command in the sandbox may do with a path, or whether it reaches a host.
    pub(in crate::subagent) async fn test_sandbox(&self, what: String) {
        let Some(sandbox) = self.setup().shell.sandbox().cloned() else { return };
        let Place { cwd, project, .. } = self.setup().place.clone();
        let looking = move || sandbox.about(&what, &cwd, &project);
        if let Ok(said) = tokio::task::spawn_blocking(looking).await {
            self.sink().notify(said).await;
        }
    }

    /// Returns the MCP servers that a subagent reaches.
    pub(in crate::subagent) fn servers_of(&self, id: AgentId) -> AgentServers {
        let registry = self.registry();
        let template = registry.get(&id).and_then(|entry| entry.template.ready());
        template.map(|template| template.own.capabilities.servers.clone()).unwrap_or_default()
    }

    /// Starts the MCP servers of a subagent's own, and returns it with their tools; `None` if it has none, or is another
    /// program, which starts them itself.
    pub(in crate::subagent) async fn with_own_servers(&self, agent: &Agent, servers: &AgentServers) -> Option<Agent> {
        if agent.external.is_some() {
            return None;
        }
        let begun = tokio::select! {
            biased;
            () = agent.work.cancelled() => false,
            begun = servers.begin(OWN_SERVERS_WAIT) => begun,
        };
        let own = {
            let registry = self.registry();
            let template = registry.get(&agent.id).and_then(|entry| entry.template.ready());
            template.map(|template| Parent { cancel: agent.cancel.clone(), ..template.own.clone() })
        };
        let own = own.filter(|_| begun)?;
        Some(Agent { tools: self.offered_tools(own), ..agent.clone() })
    }

    /// Signs the user in to a server, and says where that goes on.
    pub(in crate::subagent) async fn sign_in(&self, server: &str) {
        let name = sanitize_line(server);
        let said = match self.setup().servers.login(server) {
            Ok(true) => format!(
                "Sign in to {name} in your browser: /mcp {name} shows the address, /mcp login {name} again copies it."
            ),
            Ok(false) => format!("{name} does not wait for you to sign in; see /mcp."),
            Err(error) => format!("{}.", sanitize_line(&error.to_string())),
        };
        self.sink().notify(said).await;
    }

    /// Says how the MCP servers are, and starts one anew if it is named, or says why not.
    pub(in crate::subagent) async fn look_at_servers(&self, restart: Option<String>) {
        if let Some(name) = restart
            && let Err(error) = self.setup().servers.restart(&name)
        {
            self.sink().notify(format!("{}.", sanitize_line(&error.to_string()))).await;
        }
        let servers = self.setup().servers.facts();
        self.sink().emit_session_unhindered(SessionEvent::ServersChanged { servers }).await;
    }

    /// Changes what all agents may use together. Requests that wait for it are looked at again.
    pub(in crate::subagent) async fn set_budget(&self, limit: BudgetLimit) {
        self.setup().budget.set_limit(limit);
        self.sink().emit_session_unhindered(SessionEvent::BudgetChanged { limit }).await;
    }
}
