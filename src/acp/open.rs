//! Opens sessions for a client: new ones, and earlier ones that go on.
//!
//! Owns what a client may say of a session, and what it is told at the start. Leaves putting it together to `services`.
//! Invariant: servers that the client names are the user's own, for this session only; what the folder brings waits for the
//! user's trust, and the client is told so.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::approvals::OpenApprovals;
use super::client::Client;
use super::files;
use super::schema::{
    Error, ListSessionsRequest, ListSessionsResponse, LoadSessionResponse, McpServer, NewSessionResponse, RequestId,
    ResumeSessionResponse, SessionId, SessionInfo,
};
use super::session::{Driven, EditorSession, SessionInput};
use super::settings::EditorChoices;
use super::trusting::Trusting;
use super::turns::Turns;
use super::updates::Updates;
use super::wire::invalid;
use crate::agent::LogEvent;
use crate::config::{Environment, Paths};
use crate::definition::parse_cli_agents;
use crate::message::sanitize_line;
use crate::services::{
    self, Bootstrap, EVENT_CAPACITY, ModelOffers, Options, Resume, SavedSession, SessionKind, Started, summaries,
};
use crate::session::Store;

/// How long the answer to a client waits for the model.
const MODEL_WAIT: Duration = Duration::from_secs(2);
/// Sessions that are listed at most.
const MAX_LISTED: usize = 200;
/// What a client may ask of a session before it is heard.
const INPUTS: usize = 16;

/// What a client wants to open.
pub(super) struct SessionRequest {
    pub(super) cwd: PathBuf,
    pub(super) servers: Vec<McpServer>,
    /// Whether the client says what files hold that it has open.
    pub(super) reads_files: bool,
    pub(super) which: Which,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Which {
    /// A new one, whose main agent works as the one that is described, in the form of `--agents`.
    New(Option<Value>),
    /// An earlier one, whose conversation is told again.
    Load(SessionId),
    /// An earlier one, of which the client knows the conversation.
    Resume(SessionId),
}

impl Which {
    fn earlier(&self) -> Option<&SessionId> {
        match self {
            Self::New(_) => None,
            Self::Load(id) | Self::Resume(id) => Some(id),
        }
    }
}

/// A session that runs.
pub(super) struct RunningSession {
    pub(super) id: SessionId,
    pub(super) inputs: mpsc::Sender<SessionInput>,
    pub(super) ended: JoinHandle<()>,
    /// What keeps the program's log open, of the first session.
    pub(super) log: Option<crate::session::log::LogGuard>,
}

/// Opens a session. The answer to the request is the first line of a new one, and follows what is told again of another.
pub(super) async fn open(
    options: Options,
    client: Client,
    request: RequestId,
    wanted: SessionRequest,
) -> Result<RunningSession, Error> {
    let SessionRequest { cwd, servers, reads_files, which } = wanted;
    if !cwd.is_absolute() {
        return Err(invalid("`cwd` has to be an absolute path"));
    }
    let resume = which.earlier().map(|id| Resume { wanted: Some(id.0.to_string()), fork: false });
    let mut options = Options { directory: cwd, resume, ..options };
    if let Which::New(Some(agent)) = &which {
        work_as(&mut options, agent)?;
    }
    let name = Arc::new(OnceLock::new());
    if reads_files {
        options.given.editor = files::of_client(client.clone(), name.clone());
    }
    let reading = tokio::task::spawn_blocking(move || services::bootstrap(options));
    let bootstrap = reading.await.map_err(|_| Error::internal_error())?;
    let mut bootstrap = bootstrap.map_err(|error| invalid(sanitize_line(&format!("{error:#}"))))?;
    services::check_guards(&bootstrap).map_err(|error| invalid(sanitize_line(&error.to_string())))?;
    services::check_sandbox(&bootstrap).await.map_err(|error| invalid(sanitize_line(&error.to_string())))?;
    if let Some(wanted) = which.earlier() {
        // Words that another session has in it are no name.
        let name = bootstrap.store.as_ref().and_then(|store| store.dir().file_name());
        if name.is_none_or(|name| name.to_string_lossy() != *wanted.0) {
            return Err(Error::session_not_found(wanted.clone()));
        }
    }
    bootstrap.servers.of_client = servers.into_iter().filter_map(entry_of).collect();
    let saved = bootstrap.saved.clone();
    let (mut session, mut driven) = Box::pin(start(bootstrap, client)).await;
    let _ = name.set(session.id.clone());
    let first = first_events(&mut driven.events).await;
    for event in &first {
        session.choices.apply(event);
    }
    answer(&mut session, &request, &which, saved.as_deref());
    for event in &first {
        session.apply(event);
    }
    let (id, log) = (session.id.clone(), driven.kept.take_log());
    let (inputs, asked) = mpsc::channel(INPUTS);
    let ended = tokio::spawn(session.run(asked, driven));
    Ok(RunningSession { id, inputs, ended, log })
}

/// Has the main agent work as the one that the client describes: its word counts as that of the command line.
fn work_as(options: &mut Options, agent: &Value) -> Result<(), Error> {
    let parsed = parse_cli_agents(&agent.to_string()).map_err(|error| invalid(sanitize_line(&error)))?;
    let [agent] = parsed.try_into().map_err(|_| invalid("one agent is described, not several"))?;
    let Some(definition) = &agent.definition else {
        let why = agent.diagnostics.iter().map(|known| known.message.as_str()).collect::<Vec<_>>().join(" ");
        return Err(invalid(sanitize_line(&why)));
    };
    options.agent = Some(definition.name.clone());
    options.max_turns = definition.max_turns.or(options.max_turns);
    options.agents.push(agent);
    Ok(())
}

/// Answers the request for a session, behind what is told again.
fn answer(session: &mut EditorSession, request: &RequestId, which: &Which, saved: Option<&SavedSession>) {
    let (modes, options) = (session.choices.modes(), session.choices.options());
    session.told_options.clone_from(&options);
    match which {
        Which::New(_) => {
            let opened = NewSessionResponse::new(session.id.clone()).modes(modes).config_options(options);
            session.answer(request, Ok(opened));
        }
        Which::Load(_) => {
            let events = saved.map(|saved| [&saved.events[..], &saved.missing].concat()).unwrap_or_default();
            session.tell_again(&events);
            session.answer(request, Ok(LoadSessionResponse::new().modes(modes).config_options(options)));
        }
        Which::Resume(_) => {
            session.has_title = true;
            session.answer(request, Ok(ResumeSessionResponse::new().modes(modes).config_options(options)));
        }
    }
}

async fn start(bootstrap: Bootstrap, client: Client) -> (EditorSession, Driven) {
    let (listener, events) = mpsc::channel(EVENT_CAPACITY);
    let (commands, orders) = mpsc::unbounded_channel();
    let offers = ModelOffers::of(&bootstrap);
    let choices = EditorChoices::new(bootstrap.config.permission_mode, offers.known());
    let listed = (bootstrap.options.kind == SessionKind::Live).then(|| {
        let (sender, listed) = oneshot::channel();
        // Nobody waits any more once the session has ended.
        tokio::spawn(async move { sender.send(offers.listed().await) });
        listed
    });
    let (skills, cwd) = (bootstrap.skills.catalog().clone(), bootstrap.place.cwd.as_ref().clone());
    let pictures = bootstrap.store.as_ref().map(Store::pictures).unwrap_or_default();
    let Started { conversation, session, kept } = services::start(bootstrap, listener).await;
    let id = SessionId::new(session);
    let session = EditorSession {
        approvals: OpenApprovals::new(client.clone(), id.clone()),
        id,
        client,
        commands,
        choices,
        skills,
        pictures,
        updates: Updates::new(cwd.clone()),
        cwd,
        trusting: Trusting::default(),
        turns: Turns::default(),
        out: VecDeque::new(),
        listed,
        has_title: false,
        told_commands: None,
        told_options: Vec::new(),
    };
    let engine = tokio::spawn(conversation.drive(orders));
    (session, Driven { events, engine, kept })
}

/// Returns what happens until it is known which model answers, or until that takes too long.
async fn first_events(events: &mut mpsc::Receiver<Arc<LogEvent>>) -> Vec<Arc<LogEvent>> {
    let mut first = Vec::new();
    let settled = async {
        while let Some(event) = events.recv().await {
            let is_settled = EditorChoices::is_settled(&event);
            first.push(event);
            if is_settled {
                return;
            }
        }
    };
    let _ = timeout(MODEL_WAIT, settled).await;
    first
}

/// Returns a server as a configuration names it.
fn entry_of(server: McpServer) -> Option<(String, Value)> {
    match server {
        McpServer::Stdio(server) => {
            let env: Map<String, Value> = server.env.into_iter().map(|set| (set.name, set.value.into())).collect();
            Some((server.name, json!({ "command": server.command, "args": server.args, "env": env })))
        }
        McpServer::Http(server) => {
            let headers: Map<String, Value> =
                server.headers.into_iter().map(|header| (header.name, header.value.into())).collect();
            Some((server.name, json!({ "type": "http", "url": server.url, "headers": headers })))
        }
        McpServer::Sse(server) => {
            let headers: Map<String, Value> =
                server.headers.into_iter().map(|header| (header.name, header.value.into())).collect();
            Some((server.name, json!({ "type": "sse", "url": server.url, "headers": headers })))
        }
        // Nothing else was offered.
        _ => None,
    }
}

/// Lists earlier sessions, the latest first. Blocks.
pub(super) fn list(request: &ListSessionsRequest) -> ListSessionsResponse {
    let Ok(paths) = Paths::resolve(&Environment::of_process()) else { return ListSessionsResponse::new(Vec::new()) };
    let cwd = request.cwd.as_ref().map(|cwd| std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.clone()));
    let is_wanted = |folder: &PathBuf| cwd.as_ref().is_none_or(|cwd| cwd == folder);
    let found = summaries(&paths.state_dir, None).into_iter().filter(|summary| is_wanted(&summary.folder));
    let info = found.take(MAX_LISTED).map(|summary| {
        let at = Timestamp::now().checked_sub(summary.age).ok().map(|at| at.to_string());
        SessionInfo::new(summary.id, summary.folder).title(summary.title).updated_at(at)
    });
    ListSessionsResponse::new(info.collect())
}
