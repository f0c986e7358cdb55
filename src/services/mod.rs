//! The one place that names concrete types: puts a session together for a front end.
//!
//! Owns the wiring of configuration, providers, tools, catalog, log and tree. Leaves every decision to them. Invariant:
//! [`bootstrap`] reads small files only, so that the first frame need not wait; all else happens in [`start`].

mod agents;
mod allowed;
mod bootstrap;
mod claude_setup;
mod command_words;
mod connection;
mod demo;
mod earlier;
mod external;
mod foreign;
mod guards;
mod hooks;
mod http_hooks;
pub mod keyring;
pub mod keys;
mod limits;
mod mcp;
mod models;
mod permissions;
mod read_back;
mod resume;
mod rewind;
mod rules;
mod ruling;
mod run_files;
mod sandbox;
mod saved_session;
pub mod servers;
mod session_handles;
mod settings;
mod setup_notes;
mod setup_programs;
mod sign_in;
mod signals;
mod status_line;
mod tool_hooks;
mod trust;
mod worktrees;

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use jiff::Zoned;
use tokio::sync::mpsc;

use agents::AgentFiles;
pub use bootstrap::{Bootstrap, FrontEnd, GivenSetup, Options, SessionKind, Subagents, bootstrap, known_names};
use claude_setup::ClaudeSetup;
use connection::{ConnectMeans, LeadModel};
pub use demo::REQUEST as DEMO_REQUEST;
pub use foreign::{ForeignItem, ForeignKind, foreign_items};
pub use guards::{check_guards, check_sandbox, lost_guards};
pub use mcp::{ConfiguredServers, test_servers};
pub use models::{ModelOffers, reached_services};
pub use resume::{Resume, session_named, summaries};
pub use rewind::plan_rewind;
pub use rules::SessionRules;
pub use ruling::{PermissionCheck, check_permission, rules_in_force};
pub use sandbox::why_no_sandbox;
pub use saved_session::SavedSession;
use servers::KnownServers;
pub use session_handles::SessionHandles;
pub use settings::{SessionSettings, SettingsSummary};
pub use signals::{EndSignal, SignalEvent, Signals};
pub use status_line::StatusLineRunner;
pub use trust::check_trust;

use crate::agent::{LogEvent, Place, Sink};
use crate::config::{self, Config, Paths};
use crate::definition::{AgentDefinition, WatchedFiles};
use crate::message::Diagnostic;
use crate::offline::Pace;
use crate::permission::Approver;
use crate::provider::choice::ModelPreferences;
use crate::provider::rate_limiter::RateLimiters;
use crate::provider::table::ProviderEnv;
use crate::session::{PromptFacts, SessionMeta, Store};
use crate::subagent::{
    AgentInput, ApprovalQueue, Conversation, GivenPrompts, KeepReport, Launchers, PromptEnvironment, Reconnect,
    SessionEffort, SessionSkills, Tree, TreeSetup, Unattended,
};
use crate::tool::{Shell, schema_of};

/// Events that may wait for a listener before agents wait for it.
pub const EVENT_CAPACITY: usize = 1_024;

pub struct Started {
    pub conversation: Conversation,
    pub session: String,
    pub kept: SessionHandles,
}

/// Starts a session. Boxed, because the future is as large as all that it puts together.
pub fn start(bootstrap: Bootstrap, listener: mpsc::Sender<Arc<LogEvent>>) -> BoxFuture<'static, Started> {
    Box::pin(put_together(bootstrap, listener))
}

async fn put_together(bootstrap: Bootstrap, listener: mpsc::Sender<Arc<LogEvent>>) -> Started {
    let files = bootstrap.files();
    let Bootstrap { options, config, diagnostics, paths, place, ground, library, skills, agent, rules, .. } = bootstrap;
    let Bootstrap { settings, trust, memory, servers, services, engine, subagents, watch, store, saved, shell, .. } =
        bootstrap;
    let (secrets, rate_limiters) = (options.secrets.clone(), RateLimiters::default());
    let disk = paths.as_ref().zip(store.as_ref());
    let (environment, meta) = begun(&place, &options, agent.as_deref(), saved.as_deref());
    let (mut kept, listeners) = session_handles::keep(disk, saved.as_deref(), meta, &secrets, (listener, watch)).await;
    let session = store.as_ref().map_or_else(|| "unkept".to_owned(), |store| dir_name(store.dir()));
    let sink = Sink::new(listeners, secrets.clone());
    say(&diagnostics, &sink).await;
    let (approvals, approver) = approver(options.front_end, &settings);
    attend_earlier((&options, &config), (paths.as_ref(), store.as_ref(), &place), saved.is_none(), &sink).await;
    let (settings_model, fallback_models, effort) = wished(&options, &config, &settings);
    kept.agents = agent_files(options.kind, files.clone(), &sink).await;
    let made_of = permissions::MadeOf {
        options: &options,
        config: &config,
        rules,
        trust,
        settings,
        memory: memory.trust.clone(),
        servers,
        paths: paths.as_ref(),
        ground: &ground,
        place: &place,
        files,
        store: store.as_ref(),
        answered: saved.as_deref().map(SavedSession::answers).unwrap_or_default(),
        secrets: &secrets,
        engine,
    };
    let (rights, demo) = (permissions::of_session(made_of, &mut kept, &sink).await, demo::DemoParts::of(options.kind));
    let tree = Tree::new(TreeSetup {
        catalog: Arc::new(library.catalog().clone()),
        limits: limits::of_tree(&config),
        budget: limits::budget(&config, &sink).await,
        tools: demo.as_ref().map_or(rights.tools, |parts| parts.tools.clone()),
        environment,
        worktrees: worktrees::of_session(paths.as_ref(), store.as_ref(), options.kind, &ground),
        place,
        permissions: rights.permissions,
        approver,
        sink: sink.clone(),
        secrets,
        resolve_model: connection::resolver(services.clone(), config.aliases.clone(), rate_limiters.clone()),
        subagent_model: subagents.model,
        fallback_models,
        effort,
        compact_model: config.compact_model.clone(),
        review: limits::review(&config),
        user_dirs: subagents.user_dirs,
        memory,
        hooks: rights.hooks,
        skills: SessionSkills { catalog: skills.catalog().clone(), session: session.clone() },
        keep_report: report_keeper(store.clone()),
        read_back: read_back::reader(store.clone(), kept.handled()),
        trusting: Some(rights.trusting),
        servers: rights.servers,
        launchers: Launchers::new(rights.launch_external, &config.launchers),
        shell: shared(&shell, rights.shell),
        pictures: store.as_ref().map(Store::pictures).unwrap_or_default(),
        copies: rewind::copies(store.as_ref(), paths.as_ref().filter(|_| demo.is_none()), &ground),
    });
    prepare_schemas(&tree);
    let earlier = SavedSession::take_over(saved, &tree).await;
    kept.looking = worktrees::look(&tree, options.front_end);
    let wishes = wishes(&options, &config, (settings_model, services));
    let means = connect_means(&options, rate_limiters, paths.as_ref(), &tree);
    let (resolve, limits) = (tree.setup().resolve_model.clone(), limits::of_main(&config, options.max_turns));
    let reconnect = connection::reconnect(&wishes, config.aliases.clone(), &resolve, &means, &sink);
    let lead = LeadModel { definition: agent.clone().filter(|_| options.model.is_none()), resolve };
    let connecting = match demo {
        Some(parts) => parts.connecting(sink),
        None => connection::connecting(wishes, lead, means, sink),
    };
    let conversation = Conversation::new(tree, approvals, connecting, limits).continuing(earlier);
    Started { conversation: at_front(conversation, &options, (agent, reconnect)), session, kept }
}

/// Shares how programs are run with what runs them beside the agents.
fn shared(place: &OnceLock<Shell>, shell: Shell) -> Shell {
    place.get_or_init(|| shell).clone()
}

/// Returns the variables that hold keys.
fn secret_variables(services: &ProviderEnv, config: &Config) -> Vec<String> {
    let search = config.web_search.iter().filter_map(|(settings, _)| settings.key_variable());
    services.table.secret_variables().chain(search).chain([claude_setup::HEADERS]).map(str::to_owned).collect()
}

/// Starts to read agent files. A demonstration has none.
async fn agent_files(kind: SessionKind, files: WatchedFiles, sink: &Sink) -> Option<AgentFiles> {
    match kind {
        SessionKind::Live => Some(AgentFiles::read(files, sink).await),
        SessionKind::Demo => None,
    }
}

/// Returns what prompts say of the place, and describes the session for its folder.
fn begun(
    place: &Place,
    options: &Options,
    agent: Option<&AgentDefinition>,
    saved: Option<&SavedSession>,
) -> (PromptEnvironment, SessionMeta) {
    let environment = prompt_environment(place, options.given.prompts.clone(), saved);
    let facts = PromptFacts { date: environment.date.clone(), branch: environment.branch.clone() };
    let forked_from = saved.and_then(|saved| saved.forked_from.clone());
    let meta = SessionMeta::new(place.cwd.as_ref().clone(), place.project.as_ref().clone(), forked_from)
        .demo(options.kind == SessionKind::Demo)
        .working_as(agent.map(|agent| agent.name.clone()))
        .begun_with(Some(facts));
    (environment, meta)
}

/// Looks after the sessions that came before, and says what became of them to who begins a new one.
async fn attend_earlier(
    (options, config): (&Options, &Config),
    (paths, store, place): (Option<&Paths>, Option<&Store>, &Place),
    is_new: bool,
    sink: &Sink,
) {
    let Some(paths) = paths.filter(|_| options.kind == SessionKind::Live) else { return };
    let place = (paths.state_dir.as_path(), place.project.as_path(), store.map(Store::dir));
    let says = is_new && !options.front_end.is_for_programs();
    earlier::attend(place, says, limits::retention(config), sink).await;
}

/// Returns by what a model is connected.
fn connect_means(options: &Options, rate_limiters: RateLimiters, paths: Option<&Paths>, tree: &Tree) -> ConnectMeans {
    let known = KnownServers::new(paths.map(|paths| paths.state_dir.as_path()));
    let effort = tree.setup().effort.clone();
    ConnectMeans { pace: pace(options.front_end), rate_limiters, known, effort, needs_model: needs_model(options) }
}

/// Returns `true` if a program reads the answer, to which the rules of the offline model would look like a model's.
fn needs_model(options: &Options) -> bool {
    let is_driven = options.given.program.is_some();
    is_driven || options.front_end == FrontEnd::Headless && !io::stdout().is_terminal()
}

/// Works the schemas out, once: the first request need not wait for that.
fn prepare_schemas(tree: &Tree) {
    let tools = tree.setup().tools.clone();
    tokio::task::spawn_blocking(move || drop((tools.specs(), schema_of::<AgentInput>())));
}

/// Returns a conversation as this front end needs it, with a main agent that works as the definition, if there is one, and
/// with a choice of models, unless it is the demonstration.
fn at_front(
    conversation: Conversation,
    options: &Options,
    (agent, reconnect): (Option<Arc<AgentDefinition>>, Reconnect),
) -> Conversation {
    let conversation = match options.kind {
        SessionKind::Live => conversation.reconnecting_by(reconnect),
        SessionKind::Demo => conversation,
    };
    let conversation = match agent {
        Some(definition) => conversation.working_as(definition),
        None => conversation,
    };
    match options.front_end {
        // Programs and editors show what happens while they wait for an answer.
        FrontEnd::Headless | FrontEnd::Program => conversation.waiting_for_reports(),
        FrontEnd::Screen | FrontEnd::Plain => conversation,
    }
}

/// Returns which models were asked for.
fn wishes(options: &Options, config: &Config, (settings, env): (Option<String>, ProviderEnv)) -> ModelPreferences {
    let meant = |model: &Option<String>| connection::meant(model.clone(), &config.aliases);
    ModelPreferences { flag: meant(&options.model), config: meant(&config.model), settings: meant(&settings), env }
}

/// Returns what settings files and the configuration say of models: the one that settings files name, those that stand in
/// for others, and how they think.
fn wished(
    options: &Options,
    config: &Config,
    settings: &SessionSettings,
) -> (Option<String>, Vec<String>, SessionEffort) {
    let environment = config::Environment::of_process().with(settings.service_variables());
    let own = Some(config.fallback_models.as_slice()).filter(|named| !named.is_empty());
    let fallbacks = own.unwrap_or(settings.fallback_models()).to_vec();
    let effort = limits::effort(config, settings, (options.effort, options.given.thinking_tokens), &environment);
    (ClaudeSetup::new(&environment, settings).model(), fallbacks, effort)
}

/// Returns how fast the offline model speaks.
fn pace(front_end: FrontEnd) -> Pace {
    if front_end == FrontEnd::Screen { Pace::Reading } else { Pace::Instant }
}

/// Returns the queue of questions, and who is asked: the user, or nobody.
fn approver(front_end: FrontEnd, settings: &SessionSettings) -> (ApprovalQueue, Arc<dyn Approver>) {
    let approvals = ApprovalQueue::default();
    match front_end {
        FrontEnd::Screen | FrontEnd::Plain | FrontEnd::Program if !settings.denies_questions() => {
            (approvals.clone(), Arc::new(approvals))
        }
        _ => (approvals, Arc::new(Unattended)),
    }
}

/// Faults of the configuration that are reported one by one. A file of a stranger may hold thousands, and nobody may be
/// listening yet.
const MAX_NOTICES: usize = 20;

/// Reports what is wrong with what the session begins with.
async fn say(errors: &[Diagnostic], sink: &Sink) {
    for text in notices(errors) {
        sink.notify(text).await;
    }
}

fn notices(errors: &[Diagnostic]) -> impl Iterator<Item = String> {
    let rest = errors.len().saturating_sub(MAX_NOTICES);
    let rest = (rest > 0).then(|| format!("… and {rest} more problems in the configuration."));
    errors.iter().take(MAX_NOTICES).map(ToString::to_string).chain(rest)
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

fn prompt_environment(place: &Place, given: GivenPrompts, saved: Option<&SavedSession>) -> PromptEnvironment {
    let begun = saved.and_then(|saved| saved.begun.clone());
    PromptEnvironment {
        begun: begun.map(|PromptFacts { date, branch }| (date, branch)),
        cwd: place.cwd.as_ref().clone(),
        project: place.project.as_ref().clone(),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        date: Zoned::now().date().to_string(),
        branch: config::git_branch(&place.project),
        given,
    }
}
