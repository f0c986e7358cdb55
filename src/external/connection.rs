//! One program that is an agent: started, greeted, asked, and ended.
//!
//! Owns the order of the protocol. Leaves what to ask, and for how long an answer is waited for, to `agent`. Invariants:
//! requests before the first prompt have deadlines; what the program says while an earlier session is loaded is no news;
//! whatever becomes of the connection, the program ends with it.

use std::path::Path;
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::folder::{CameBack, IncomingChanges};
use super::lines::{Frame, Lines, RpcError, answer_line, call_line, refusal_line, write};
use super::prompt::{PromptEnd, prompt_blocks, prompt_end};
use super::request::{ExternalQuestion, ExternalRequest, RequestToken};
use super::servers::OfferedServer;
use super::silence::{SilenceWatch, due};
use super::update::ExternalUpdate;
use super::{ExternalError, ExternalStart, LaunchExternal};
use crate::launched::{ProgramLog, RunningProgram};
use crate::message::{Attachment, extension, sanitize_line};

/// How long a program may take to start: `npx` may have to fetch it first.
const START_LIMIT: Duration = Duration::from_mins(2);
/// How long a program may take to open a session, or to load one.
const SESSION_LIMIT: Duration = Duration::from_mins(1);
/// Messages that wait to be taken in, or to be sent.
const QUEUE: usize = 64;
/// Lines of its log that an error quotes.
const QUOTED: usize = 3;
/// Characters of an error that are kept.
const MAX_ERROR: usize = 400;
/// What the protocol calls a request that needs a sign-in.
const AUTH_REQUIRED: i64 = -32000;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStart {
    New,
    /// Goes on with this one, if the program can.
    Again(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalSession {
    pub id: String,
    /// Whether it knows what was said before.
    pub is_again: bool,
    /// The servers that it cannot reach, by their names.
    pub left_out: Vec<String>,
}

/// What comes from the program after a prompt.
#[derive(Debug)]
pub enum FromExternal {
    Update(ExternalUpdate),
    Request(Box<ExternalRequest>),
    /// The prompt is answered, or refused.
    Ended(Result<PromptEnd, ExternalError>),
    /// What has changed in the folder that it was sent.
    Changes(CameBack),
    /// It does not answer: the way to it may be cut.
    Silent,
    /// It answers again.
    Heard,
    Closed(ExternalError),
}

enum Incoming {
    Response { id: Value, result: Result<Value, RpcError> },
    Update { session: String, update: ExternalUpdate },
    Request(Box<ExternalRequest>),
    Closed(String),
}

/// A program that runs, and the way to it. It ends when this is dropped.
#[expect(clippy::struct_excessive_bools, reason = "each is something that the program can")]
pub struct ExternalConnection {
    outgoing: mpsc::Sender<String>,
    /// Nothing more is said to it.
    closing: CancellationToken,
    incoming: mpsc::Receiver<Incoming>,
    process: Box<dyn RunningProgram>,
    tasks: [JoinHandle<()>; 3],
    log: ProgramLog,
    requests: i64,
    session: String,
    /// The number of the prompt that it answers.
    prompt: Option<i64>,
    can_load: bool,
    can_resume: bool,
    can_reach: acp::McpCapabilities,
    /// Whether it takes images in prompts.
    pub takes_images: bool,
    /// Whether it takes a folder to work in.
    pub takes_folders: bool,
    /// Whether it works as an agent that is described to it.
    pub takes_agents: bool,
    /// Its silence, if it is one that answers when it is asked about it.
    pub(super) silence: Option<SilenceWatch>,
    /// What has changed in its folder, on its way here.
    pub(super) changes: Option<IncomingChanges>,
    /// A way to sign in that needs nobody: by a key in its environment.
    key_method: Option<String>,
}

impl Drop for ExternalConnection {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl ExternalConnection {
    /// Starts a program and greets it, until `stop`.
    ///
    /// # Errors
    /// Returns why it cannot be spoken to; nothing of it is left running then.
    pub async fn open(
        launch: &LaunchExternal,
        start: ExternalStart,
        stop: &CancellationToken,
    ) -> Result<Self, ExternalError> {
        let launched = launch(start).await.map_err(|error| ExternalError::NotStarted(error.to_string()))?;
        let log = ProgramLog::default();
        let (reader, writer) = tokio::io::split(launched.stream);
        let (outgoing, to_write) = mpsc::channel(QUEUE);
        let (said, incoming) = mpsc::channel(QUEUE);
        let closing = CancellationToken::new();
        let tasks = [
            tokio::spawn(log.clone().follow(launched.log)),
            tokio::spawn(write(writer, to_write, closing.clone())),
            tokio::spawn(read(Lines::new(reader, log.clone()), said, outgoing.clone())),
        ];
        let mut opened = Self {
            outgoing,
            closing,
            incoming,
            process: launched.process,
            tasks,
            log,
            requests: 0,
            session: String::new(),
            prompt: None,
            can_load: false,
            can_resume: false,
            can_reach: acp::McpCapabilities::default(),
            takes_images: false,
            takes_folders: false,
            takes_agents: false,
            silence: None,
            changes: None,
            key_method: None,
        };
        let greeted = tokio::select! {
            biased;
            () = stop.cancelled() => Err(ExternalError::Stopped),
            greeted = opened.greet() => greeted,
        };
        match greeted {
            Ok(()) => Ok(opened),
            Err(error) => {
                opened.end().await;
                Err(error)
            }
        }
    }

    async fn greet(&mut self) -> Result<(), ExternalError> {
        let me = acp::Implementation::new("belvedere", env!("CARGO_PKG_VERSION")).title("Belvedere".to_owned());
        let hello = acp::InitializeRequest::new(agent_client_protocol_schema::ProtocolVersion::V1).client_info(me);
        let said = self.request("initialize", &hello, START_LIMIT).await?;
        let said: acp::InitializeResponse = read_answer("initialize", said)?;
        let version = said.protocol_version;
        if version != agent_client_protocol_schema::ProtocolVersion::V1 {
            return Err(ExternalError::Refused(format!("it speaks version {version} of the protocol, not version 1")));
        }
        self.can_load = said.agent_capabilities.load_session;
        self.can_resume = said.agent_capabilities.session_capabilities.resume.is_some();
        self.can_reach = said.agent_capabilities.mcp_capabilities.clone();
        self.takes_images = said.agent_capabilities.prompt_capabilities.image;
        let beyond = |name: &str| said.agent_capabilities.meta.as_ref().is_some_and(|meta| meta.contains_key(name));
        (self.takes_folders, self.takes_agents) = (beyond(extension::FOLDERS), beyond(extension::AGENTS));
        // Whatever one of ours makes of the question, it answers.
        self.silence = self.takes_folders.then(SilenceWatch::default);
        let ids = said.auth_methods.iter().map(|method| method.id().0.to_string());
        self.key_method = ids.into_iter().find(|id| id.contains("api") && id.contains("key"));
        Ok(())
    }

    /// Opens a session in a folder, or goes on with one, and hands it those of the servers that the program can reach. A new one
    /// works as the agent, if one is described.
    ///
    /// # Errors
    /// Returns why there is none.
    pub async fn begin(
        &mut self,
        cwd: &Path,
        start: &SessionStart,
        agent: Option<&Value>,
        servers: &[OfferedServer],
    ) -> Result<ExternalSession, ExternalError> {
        let (within, beyond): (Vec<_>, Vec<_>) = servers.iter().partition(|server| server.is_within(&self.can_reach));
        let left_out = beyond.into_iter().map(|server| server.name().to_owned()).collect();
        let servers: Vec<acp::McpServer> = within.into_iter().map(OfferedServer::wire).collect();
        if let SessionStart::Again(id) = start
            && self.load(id, cwd, &servers).await?
        {
            self.session.clone_from(id);
            return Ok(ExternalSession { id: id.clone(), is_again: true, left_out });
        }
        let meta = agent.map(|agent| acp::Meta::from_iter([(extension::AGENTS.to_owned(), agent.clone())]));
        let new = acp::NewSessionRequest::new(cwd).mcp_servers(servers).meta(meta);
        let opened = match self.request("session/new", &new, SESSION_LIMIT).await {
            Err(ExternalError::SignIn(why)) => {
                let Some(method) = self.key_method.clone() else { return Err(ExternalError::SignIn(why)) };
                self.request("authenticate", &json!({"methodId": method}), SESSION_LIMIT).await?;
                self.request("session/new", &new, SESSION_LIMIT).await
            }
            opened => opened,
        };
        let opened: acp::NewSessionResponse = read_answer("session/new", opened?)?;
        self.session = opened.session_id.0.to_string();
        Ok(ExternalSession { id: self.session.clone(), is_again: false, left_out })
    }

    /// Loads a session, if that is possible; only a lost connection is an error.
    async fn load(&mut self, id: &str, cwd: &Path, servers: &[acp::McpServer]) -> Result<bool, ExternalError> {
        let params = json!({"sessionId": id, "cwd": cwd, "mcpServers": servers});
        let method = match (self.can_resume, self.can_load) {
            (true, _) => "session/resume",
            (false, true) => "session/load",
            (false, false) => return Ok(false),
        };
        match self.request(method, &params, SESSION_LIMIT).await {
            Ok(_) => Ok(true),
            Err(error @ ExternalError::Closed(_)) => Err(error),
            Err(error) => {
                self.log.note(&format!("{method}: {error}"));
                Ok(false)
            }
        }
    }

    /// Asks something, and shows it these images. What comes of it is said by [`ExternalConnection::next`].
    ///
    /// # Errors
    /// Returns that it does not read what it is told.
    pub fn prompt(&mut self, text: &str, images: &[Attachment]) -> Result<(), ExternalError> {
        let params = json!({"sessionId": self.session, "prompt": prompt_blocks(text, images)});
        self.prompt = Some(self.send_request("session/prompt", &params)?);
        Ok(())
    }

    /// Asks it to stop what it does. The prompt still ends with an answer.
    ///
    /// # Errors
    /// Returns that it does not read what it is told.
    pub fn cancel(&self) -> Result<(), ExternalError> {
        self.send(call_line(None, "session/cancel", &json!({"sessionId": self.session})))
    }

    /// Answers a question.
    ///
    /// # Errors
    /// Returns that it does not read what it is told.
    pub fn answer(&self, token: &RequestToken, answer: &Value) -> Result<(), ExternalError> {
        self.send(answer_line(&token.0, answer))
    }

    /// Waits for what it says next. May be given up and called again at any time.
    pub async fn next(&mut self) -> FromExternal {
        loop {
            let incoming = tokio::select! {
                biased;
                incoming = self.incoming.recv() => incoming,
                step = due(self.silence.as_ref()) => match self.about_silence(step) {
                    Some(news) => return news,
                    None => continue,
                },
            };
            let was_silent = self.silence.as_mut().is_some_and(SilenceWatch::hear);
            match incoming {
                Some(Incoming::Update { session, update }) if session == self.session => {
                    return FromExternal::Update(update);
                }
                Some(Incoming::Request(request)) => return FromExternal::Request(request),
                Some(Incoming::Response { id, result }) if self.prompt.is_some_and(|prompt| id == json!(prompt)) => {
                    self.prompt = None;
                    return FromExternal::Ended(result.map_err(|error| refused(&error)).map(|end| prompt_end(&end)));
                }
                Some(Incoming::Response { id, result }) if self.is_of_changes(&id) => {
                    if let Some(news) = self.take_changes(result) {
                        return news;
                    }
                }
                Some(Incoming::Update { .. } | Incoming::Response { .. }) if was_silent => return FromExternal::Heard,
                Some(Incoming::Update { .. } | Incoming::Response { .. }) => {}
                Some(Incoming::Closed(why)) => return FromExternal::Closed(self.closed(&why)),
                None => return FromExternal::Closed(self.closed("it has ended")),
            }
        }
    }

    /// Ends its input, waits so long for it to end by itself, and then ends it and all that it has started. What only passes
    /// its input on has no other way to let the other side clean up.
    pub async fn close(mut self, limit: Duration) {
        self.closing.cancel();
        let ends = async { while !matches!(self.incoming.recv().await, Some(Incoming::Closed(_)) | None) {} };
        let _ = timeout(limit, ends).await;
        self.end().await;
    }

    /// Ends the program, and all that it has started.
    pub async fn end(self) {
        let mut this = self;
        let process = std::mem::replace(&mut this.process, Box::new(Gone));
        drop(this);
        process.end().await;
    }

    fn send(&self, line: String) -> Result<(), ExternalError> {
        use tokio::sync::mpsc::error::TrySendError;
        self.outgoing.try_send(line).map_err(|error| match error {
            TrySendError::Full(_) => self.closed("it does not read what it is told"),
            TrySendError::Closed(_) => self.closed("it has ended"),
        })
    }

    pub(super) fn send_request(&mut self, method: &str, params: &Value) -> Result<i64, ExternalError> {
        self.requests += 1;
        self.send(call_line(Some(&json!(self.requests)), method, params))?;
        Ok(self.requests)
    }

    /// Sends a request and waits for its answer. What else the program says meanwhile is no news.
    pub(super) async fn request(
        &mut self,
        method: &'static str,
        params: &impl serde::Serialize,
        limit: Duration,
    ) -> Result<Value, ExternalError> {
        let params = serde_json::to_value(params).unwrap_or_default();
        let id = json!(self.send_request(method, &params)?);
        let answer = async {
            loop {
                match self.incoming.recv().await {
                    Some(Incoming::Response { id: answered, result }) if answered == id => return Ok(result),
                    Some(Incoming::Closed(why)) => return Err(why),
                    None => return Err("it has ended".to_owned()),
                    Some(_) => {}
                }
            }
        };
        match timeout(limit, answer).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(refused(&error)),
            Ok(Err(why)) => Err(self.closed(&why)),
            Err(_) => Err(ExternalError::Late { method, limit: limit.as_secs() }),
        }
    }

    /// Says why the connection is lost, with what the program has written last.
    pub(super) fn closed(&self, why: &str) -> ExternalError {
        let last = self.log.last(QUOTED).join(" / ");
        let last: String = last.chars().take(MAX_ERROR).collect();
        ExternalError::Closed(if last.is_empty() { why.to_owned() } else { format!("{why}: {last}") })
    }
}

fn read_answer<T: serde::de::DeserializeOwned>(method: &str, answer: Value) -> Result<T, ExternalError> {
    serde_json::from_value(answer).map_err(|error| {
        let error = error.to_string();
        ExternalError::Refused(format!("its answer to `{method}` is not understood: {}", sanitize_line(&error)))
    })
}

pub(super) fn refused(error: &RpcError) -> ExternalError {
    let details = error.data.as_ref().and_then(|data| {
        let known = ["details", "message", "error"];
        data.as_str().or_else(|| known.iter().find_map(|key| data.get(*key)?.as_str()))
    });
    let words = match details {
        Some(details) if !error.message.contains(details) => format!("{}: {details}", error.message),
        _ => error.message.clone(),
    };
    let words: String = words.chars().take(MAX_ERROR).collect();
    let words = sanitize_line(&words).into_owned();
    if error.code == AUTH_REQUIRED { ExternalError::SignIn(words) } else { ExternalError::Refused(words) }
}

/// What stands in the place of a program that is being ended.
struct Gone;

impl RunningProgram for Gone {
    fn end(self: Box<Self>) -> futures::future::BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Reads what the program says, as fast as it is taken in.
async fn read(
    mut lines: Lines<tokio::io::ReadHalf<UnixStream>>,
    said: mpsc::Sender<Incoming>,
    outgoing: mpsc::Sender<String>,
) {
    loop {
        let incoming = match lines.next().await {
            Ok(Frame::Response { id, result }) => Some(Incoming::Response { id, result }),
            Ok(Frame::Notification { method, params }) => update_of(&method, &params),
            Ok(Frame::Request { id, method, params }) => match request_of(id, &method, &params) {
                Ok(request) => Some(Incoming::Request(Box::new(request))),
                Err(refusal) => {
                    let _ = outgoing.try_send(refusal);
                    None
                }
            },
            Err(why) => {
                let _ = said.send(Incoming::Closed(why)).await;
                return;
            }
        };
        if let Some(incoming) = incoming
            && said.send(incoming).await.is_err()
        {
            return;
        }
    }
}

fn update_of(method: &str, params: &RawValue) -> Option<Incoming> {
    if method != "session/update" {
        return None;
    }
    // A kind of news that this version does not know changes nothing.
    let update: acp::SessionNotification = serde_json::from_str(params.get()).ok()?;
    Some(Incoming::Update { session: update.session_id.0.to_string(), update: update.update.into() })
}

/// Reads a request; the error is the line that refuses it.
fn request_of(id: Value, method: &str, params: &RawValue) -> Result<ExternalRequest, String> {
    if method != "session/request_permission" {
        return Err(refusal_line(&id, METHOD_NOT_FOUND, "this client does not offer that"));
    }
    match serde_json::from_str(params.get()) {
        Ok(asked) => Ok(ExternalRequest { token: RequestToken(id), question: ExternalQuestion::of(asked) }),
        Err(error) => Err(refusal_line(&id, INVALID_PARAMS, &error.to_string())),
    }
}
