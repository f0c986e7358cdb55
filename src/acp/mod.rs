//! The front end for editors: the Agent Client Protocol on standard input and output.
//!
//! Owns the connection, which methods there are, and the sessions of one client. Leaves a session to `session` and JSON-RPC
//! to `wire`. Invariants: standard output has nothing but the protocol; whatever the client sends, it gets an answer or an
//! error, and the process goes on; once its input has ended, every session is ended and nothing is left running.

mod approvals;
mod children;
mod client;
mod commands;
mod files;
mod folder;
mod open;
mod prompt;
mod session;
mod settings;
mod shown;
mod trusting;
mod turns;
mod updates;
mod wire;

/// The types of the protocol.
mod schema {
    pub(super) use agent_client_protocol_schema::ProtocolVersion;
    pub(super) use agent_client_protocol_schema::v1::*;
}

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::client::Client;
use self::folder::ClientFolder;
use self::open::{RunningSession, SessionRequest, Which};
use self::schema::{
    AGENT_METHOD_NAMES, AgentCapabilities, AuthenticateRequest, CancelNotification, CancelRequestNotification,
    CloseSessionRequest, Error, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
    LoadSessionRequest, McpCapabilities, Meta, NewSessionRequest, PROTOCOL_LEVEL_METHOD_NAMES, PromptCapabilities,
    PromptRequest, ProtocolVersion, RequestId, ResumeSessionRequest, SessionCapabilities, SessionCloseCapabilities,
    SessionId, SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use self::session::SessionInput;
use self::wire::{Incoming, Params, invalid, saying};
use crate::message::extension;
use crate::services::{Options, Signals};
use crate::session::log::LogGuard;

/// Messages of the client that may wait.
const INCOMING: usize = 16;
/// Sessions that one client may have open.
const MAX_SESSIONS: usize = 32;
/// How long sessions may take to end, which have limits of their own.
const ENDING: Duration = Duration::from_secs(20);
/// How long the client may take to read what is left.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves one client until its input ends, and returns the exit status: that of a signal, if one comes.
pub async fn run(
    options: Options,
    (input, output): (impl AsyncRead + Unpin + Send + 'static, impl AsyncWrite + Unpin + Send + 'static),
    signals: &mut Signals,
) -> u8 {
    let (client, writing) = Client::new(output);
    let (messages, mut incoming) = mpsc::channel(INCOMING);
    let closing = client.clone();
    let reading = tokio::spawn(async move {
        if let Err(error) = wire::read(BufReader::with_capacity(64 << 10, input), messages).await {
            tracing::warn!(%error, "the client's input broke");
        }
        closing.close();
    });
    let mut server = Server {
        options,
        client: client.clone(),
        is_initialized: false,
        reads_files: false,
        open: HashMap::new(),
        opening: JoinSet::new(),
        folder: ClientFolder::default(),
        log: None,
    };
    let status = loop {
        tokio::select! {
            biased;
            signal = signals.next_end() => break signal.exit_status(),
            () = client.went_deaf() => break 0,
            Some(opened) = server.opening.join_next() => server.opened(opened.ok()).await,
            message = incoming.recv() => match message {
                Some(message) => server.take(message).await,
                None => break 0,
            },
        }
    };
    reading.abort();
    client.close();
    let ending = async {
        let _ = timeout(ENDING, server.end()).await;
        drop(client);
        // Nobody may be reading.
        let _ = timeout(LAST_WORDS, writing).await;
    };
    tokio::select! {
        biased;
        // A second signal does not wait.
        signal = signals.next_end() => return signal.exit_status(),
        () = ending => {}
    }
    status
}

/// What came of opening a session: the request, and the answer if it is an error.
type Opened = (RequestId, Result<RunningSession, Error>);

struct Server {
    options: Options,
    client: Client,
    is_initialized: bool,
    /// Whether it says what files hold that it has open.
    reads_files: bool,
    open: HashMap<SessionId, RunningSession>,
    opening: JoinSet<Opened>,
    /// What it has sent to be worked in.
    folder: ClientFolder,
    log: Option<LogGuard>,
}

impl Server {
    async fn take(&mut self, message: Incoming) {
        match message {
            Incoming::Request { id, .. } if !self.client.begin(&id) => {
                // An error with its number would pass for the answer to the first.
                let why = format!("a request with the id {id} is not answered yet");
                let error = saying(Error::invalid_request(), why);
                self.client.send(wire::answer::<()>(&RequestId::Null, Err(error))).await;
            }
            Incoming::Request { id, method, params } => {
                if let Err(error) = self.request(id.clone(), &method, &params).await {
                    self.client.refuse(&id, error).await;
                }
            }
            Incoming::Notification { method, params } => self.notified(&method, &params).await,
            Incoming::Answer { id, result } => self.client.answered(&id, result),
            Incoming::Unclear { id, error } => self.client.send(wire::answer::<()>(&id, Err(error))).await,
        }
    }

    /// Does what a request asks for. An error is the answer to it.
    async fn request(&mut self, id: RequestId, method: &str, params: &Params) -> Result<(), Error> {
        let names = AGENT_METHOD_NAMES;
        if method == names.initialize {
            let InitializeRequest { protocol_version, client_info, client_capabilities, .. } = params.read()?;
            self.reads_files = client_capabilities.fs.read_text_file;
            tracing::info!(?protocol_version, ?client_info, "a client");
            self.is_initialized = true;
            return self.reply(&id, capabilities()).await;
        }
        if !self.is_initialized {
            return Err(saying(Error::invalid_request(), "`initialize` comes first"));
        }
        if method == extension::PING {
            return self.reply(&id, json!({})).await;
        }
        if method == names.authenticate {
            let AuthenticateRequest { .. } = params.read()?;
            return Err(invalid(
                "there is nothing to sign in to: set the key of a service, or store it with `belvedere keys set NAME`",
            ));
        }
        let reads_files = self.reads_files;
        if method == names.session_new {
            let NewSessionRequest { cwd, mcp_servers: servers, meta, .. } = params.read()?;
            let agent = meta.and_then(|mut meta| meta.remove(extension::AGENTS));
            return self.open(id, SessionRequest { cwd, servers, reads_files, which: Which::New(agent) });
        }
        if method == names.session_load {
            let LoadSessionRequest { cwd, mcp_servers: servers, session_id, .. } = params.read()?;
            return self.open(id, SessionRequest { cwd, servers, reads_files, which: Which::Load(session_id) });
        }
        if method == names.session_resume {
            let ResumeSessionRequest { cwd, mcp_servers: servers, session_id, .. } = params.read()?;
            return self.open(id, SessionRequest { cwd, servers, reads_files, which: Which::Resume(session_id) });
        }
        if method == names.session_list {
            let wanted: ListSessionsRequest = params.read()?;
            let listed = tokio::task::spawn_blocking(move || open::list(&wanted)).await;
            return self.reply(&id, listed.map_err(|_| Error::internal_error())?).await;
        }
        if self.folder.take(&self.client, &id, (method, params))? {
            return Ok(());
        }
        let (session, input) = asked_of_session(id, method, params)?;
        let running = self.open.get(&session).ok_or_else(|| Error::session_not_found(session.clone()))?;
        let taken = running.inputs.send(input).await;
        taken.map_err(|_| Error::session_not_found(session))
    }

    async fn notified(&mut self, method: &str, params: &Params) {
        if method == AGENT_METHOD_NAMES.session_cancel {
            let Ok(CancelNotification { session_id, .. }) = params.read() else { return };
            if let Some(running) = self.open.get(&session_id) {
                let _ = running.inputs.send(SessionInput::Cancel).await;
            }
        } else if method == PROTOCOL_LEVEL_METHOD_NAMES.cancel_request {
            let Ok(CancelRequestNotification { request_id, .. }) = params.read() else { return };
            for running in self.open.values() {
                let _ = running.inputs.send(SessionInput::CancelPrompt { request: request_id.clone() }).await;
            }
        }
        // Others ask for nothing.
    }

    async fn reply(&self, id: &RequestId, result: impl Serialize) -> Result<(), Error> {
        let line = self.client.answer(id, Ok(result));
        self.client.send(line).await;
        Ok(())
    }

    /// Starts to open a session: others go on meanwhile.
    fn open(&mut self, id: RequestId, wanted: SessionRequest) -> Result<(), Error> {
        self.open.retain(|_, running| !running.ended.is_finished());
        if self.open.len() + self.opening.len() >= MAX_SESSIONS {
            return Err(invalid(format!("{MAX_SESSIONS} sessions are open; close one first")));
        }
        let (options, client) = (self.options.clone(), self.client.clone());
        self.opening.spawn(async move {
            let opened = Box::pin(open::open(options, client, id.clone(), wanted)).await;
            (id, opened)
        });
        Ok(())
    }

    async fn opened(&mut self, opened: Option<Opened>) {
        match opened {
            Some((_, Ok(mut running))) => {
                self.log = self.log.take().or(running.log.take());
                self.open.insert(running.id.clone(), running);
            }
            Some((id, Err(error))) => self.client.refuse(&id, error).await,
            None => tracing::error!("a session could not be opened"),
        }
    }

    /// Ends all sessions at once, those too that are only being opened.
    async fn end(mut self) {
        while let Some(opened) = self.opening.join_next().await {
            self.opened(opened.ok()).await;
        }
        let (inputs, ended): (Vec<_>, Vec<_>) =
            self.open.into_values().map(|running| (running.inputs, running.ended)).unzip();
        drop(inputs);
        for session in ended {
            let _ = session.await;
        }
        // Nobody works in it any more.
        self.folder.end().await;
    }
}

/// Reads what a client asks of one of its sessions.
fn asked_of_session(request: RequestId, method: &str, params: &Params) -> Result<(SessionId, SessionInput), Error> {
    let names = AGENT_METHOD_NAMES;
    Ok(if method == names.session_prompt {
        let PromptRequest { session_id, prompt, .. } = params.read()?;
        (session_id, SessionInput::Prompt { request, prompt })
    } else if method == names.session_set_mode {
        let SetSessionModeRequest { session_id, mode_id, .. } = params.read()?;
        (session_id, SessionInput::SetMode { request, mode: mode_id.0.to_string() })
    } else if method == names.session_set_config_option {
        let SetSessionConfigOptionRequest { session_id, config_id, value, .. } = params.read()?;
        let value = value.as_value_id().map(|value| value.0.to_string());
        (session_id, SessionInput::SetOption { request, option: config_id.0.to_string(), value })
    } else if method == names.session_close {
        let CloseSessionRequest { session_id, .. } = params.read()?;
        (session_id, SessionInput::Close { request })
    } else {
        return Err(Error::method_not_found().data(serde_json::json!({ "method": method })));
    })
}

/// Says what there is. A client that knows only later versions of the protocol is told the one that is spoken here.
fn capabilities() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let agent = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
        .session_capabilities(sessions)
        .meta(Meta::from_iter([extension::FOLDERS, extension::AGENTS].map(|name| (name.to_owned(), json!(1)))));
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(agent)
        .agent_info(Implementation::new("belvedere", env!("CARGO_PKG_VERSION")).title("Belvedere".to_owned()))
}
