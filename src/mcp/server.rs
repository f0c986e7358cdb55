//! The life of one server: started, connected, lost, tried again, ended.
//!
//! Owns when it is tried again, and what is known of it. Leaves the protocol to `client`. Invariants: one connection at a
//! time; whatever ends it, its process has ended before the next begins.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::transport::auth::AuthClient;
use rmcp::{Peer, RoleClient};
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::bounded::bounded;
use super::calling::server_stream;
use super::client::{self, Listener, McpConnection, Offered, Unconnected};
use super::config::{McpConfig, McpWay};
use super::facts::{McpFacts, McpState};
use super::names::McpToolInfo;
use super::reading::McpPrompt;
use super::remote::{self, SseError, SseTransport};
use super::sign_in::SignIn;
use super::{McpError, McpSetup, McpStart};
use crate::launched::{ProgramLog, RunningProgram};

/// How often a server is tried before the user has to ask for it.
const MAX_TRIES: u32 = 5;
/// The first pause before it is tried again; each is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// One that was up for so long begins anew with its tries.
const STEADY: Duration = Duration::from_mins(1);
/// How long a connection may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);
/// Lines of its log that are shown.
const SHOWN_LINES: usize = 30;
/// How long a dying process may take to have its last words read.
const LAST_WORDS: Duration = Duration::from_millis(200);

pub(super) struct Server {
    config: McpConfig,
    log: ProgramLog,
    held: Mutex<Held>,
    /// Notified when it is to be started anew.
    wanted: Notify,
    /// Notified when the user wants to sign in.
    login: Notify,
    stop: CancellationToken,
    changed: watch::Sender<()>,
    task: Mutex<Option<AbortHandle>>,
    /// Cancelled once nothing is left of it.
    over: CancellationToken,
}

struct Held {
    state: McpState,
    peer: Option<Peer<RoleClient>>,
    offered: Offered,
}

/// A server that answers.
struct Live {
    connection: McpConnection,
    process: Option<Box<dyn RunningProgram>>,
    reading: Option<JoinHandle<()>>,
    changed: Arc<Notify>,
}

/// Why a connection ended.
enum Ending {
    Lost(String),
    Restart,
    /// The user has to sign in.
    SignIn,
    Stopped,
}

impl Server {
    /// Starts a server beside the caller, unless it is not to be started.
    pub(super) fn start(config: McpConfig, setup: McpSetup, changed: watch::Sender<()>) -> Arc<Self> {
        let state = config.off.clone().map_or(McpState::Starting, McpState::Off);
        let is_off = config.off.is_some();
        let server = Arc::new(Self {
            config,
            log: ProgramLog::default(),
            held: Mutex::new(Held { state, peer: None, offered: Offered::default() }),
            wanted: Notify::new(),
            login: Notify::new(),
            stop: CancellationToken::new(),
            changed,
            task: Mutex::new(None),
            over: CancellationToken::new(),
        });
        if is_off {
            server.over.cancel();
            return server;
        }
        let running = Arc::clone(&server);
        let task = tokio::spawn(async move {
            let _over = running.over.clone().drop_guard();
            running.run(&setup).await;
        });
        *server.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        server
    }

    pub(super) fn config(&self) -> &McpConfig {
        &self.config
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> McpState {
        self.held().state.clone()
    }

    pub(super) fn peer(&self) -> Option<Peer<RoleClient>> {
        self.held().peer.clone().filter(|peer| !peer.is_transport_closed())
    }

    pub(super) fn tools(&self) -> Vec<Arc<McpToolInfo>> {
        let held = self.held();
        if held.peer.is_some() { held.offered.tools.clone() } else { Vec::new() }
    }

    pub(super) fn prompts(&self) -> Vec<McpPrompt> {
        let held = self.held();
        if held.peer.is_some() { held.offered.prompts.clone() } else { Vec::new() }
    }

    /// Returns what it says of its use.
    pub(super) fn instructions(&self) -> Option<String> {
        let held = self.held();
        held.peer.as_ref().and_then(|_| held.offered.instructions.clone())
    }

    pub(super) fn facts(&self) -> McpFacts {
        let held = self.held();
        let offered = &held.offered;
        McpFacts {
            name: self.config.name.clone(),
            scope: self.config.scope.word().to_owned(),
            shown: self.config.shown.clone(),
            state: held.state.clone(),
            version: offered.version.clone(),
            instructions: offered.instructions.clone(),
            tools: offered.tools.iter().map(|tool| tool.name.clone()).collect(),
            prompts: offered.prompts.clone(),
            resources: offered.resources.clone(),
            problems: offered.errors.clone(),
            log: self.log.last(SHOWN_LINES),
        }
    }

    pub(super) fn restart(&self) {
        self.enter(McpState::Starting);
        self.wanted.notify_one();
    }

    /// Lets the user sign in. Returns `false` if it does not wait for that.
    pub(super) fn login(&self) -> bool {
        let state = self.state();
        if matches!(state, McpState::SignIn(_)) {
            self.login.notify_one();
        }
        matches!(state, McpState::SignIn(_) | McpState::SigningIn(_))
    }

    /// Hands on what came of a request. A server that wants the user to sign in again is started anew, and says so.
    pub(super) fn heeding<T>(&self, answer: Result<T, McpError>) -> Result<T, McpError> {
        if matches!(answer, Err(McpError::SignIn)) {
            self.restart();
        }
        answer
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    pub(super) async fn ended(&self) {
        self.over.cancelled().await;
    }

    /// Ends it without waiting: what it holds is dropped.
    pub(super) fn abort(&self) {
        if let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }

    fn enter(&self, state: McpState) {
        {
            let mut held = self.held();
            if state != McpState::Connected {
                held.peer = None;
            }
            held.state = state;
        }
        self.changed.send_replace(());
    }

    async fn run(&self, setup: &McpSetup) {
        let mut tries = 0;
        let mut was_up = false;
        tokio::select! {
            biased;
            () = self.stop.cancelled() => return,
            () = self.wanted.notified() => {}
            () = sleep(setup.head_start) => {}
        }
        loop {
            self.enter(McpState::Starting);
            let began = Instant::now();
            let made = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                made = self.connect(setup) => made,
            };
            let ending = match made {
                Ok(live) => {
                    was_up = true;
                    self.attend(live).await
                }
                Err(Unconnected::SignIn) if setup.sign_ins.can(&self.config) => Ending::SignIn,
                Err(why) => Ending::Lost(why.to_string()),
            };
            let why = match ending {
                Ending::Stopped => return,
                Ending::Restart => {
                    tries = 0;
                    continue;
                }
                Ending::SignIn => {
                    if !self.sign_in(setup).await {
                        return;
                    }
                    tries = 0;
                    continue;
                }
                Ending::Lost(why) => why,
            };
            self.log.note(&why);
            tries = if was_up && began.elapsed() >= STEADY { 1 } else { tries + 1 };
            // A program that never came up would not come up the next time.
            let goes_on = tries < MAX_TRIES && (was_up || self.config.way.is_remote());
            let pause = FIRST_PAUSE * 2_u32.pow(tries.saturating_sub(1));
            self.enter(if goes_on { McpState::Waiting(why) } else { McpState::Failed(why) });
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = self.wanted.notified() => tries = 0,
                () = sleep(pause), if goes_on => {}
            }
        }
    }

    /// Waits until the user has signed in, or has it tried again. Returns `false` if the server is stopped.
    async fn sign_in(&self, setup: &McpSetup) -> bool {
        let name = &self.config.name;
        let how = format!("to sign in: /mcp login {name} (in a shell: belvedere mcp login {name})");
        let mut state = McpState::SignIn(how.clone());
        loop {
            self.enter(state);
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return false,
                () = self.wanted.notified() => return true,
                () = self.login.notified() => {}
            }
            let signing_in = async {
                let sign_in = SignIn::begin(&self.config, &setup.sign_ins).await?;
                self.enter(McpState::SigningIn(sign_in.address().to_owned()));
                setup.sign_ins.show(sign_in.address());
                sign_in.finish().await
            };
            let ended = tokio::select! {
                biased;
                () = self.stop.cancelled() => return false,
                () = self.wanted.notified() => return true,
                ended = signing_in => ended,
            };
            match ended {
                Ok(()) => return true,
                Err(why) => {
                    self.log.note(&why);
                    state = McpState::SignIn(format!("{why} · {how}"));
                }
            }
        }
    }

    async fn connect(&self, setup: &McpSetup) -> Result<Live, Unconnected> {
        let changed = Arc::new(Notify::new());
        let listener = Listener { log: self.log.clone(), changed: changed.clone() };
        let within = self.config.start_timeout;
        match &self.config.way {
            McpWay::Stdio { command, args, env } => {
                let launched = (setup.launch)(McpStart {
                    name: self.config.name.clone(),
                    shown: self.config.shown.clone(),
                    command: command.clone(),
                    args: args.clone(),
                    env: env.clone(),
                    is_projects: self.config.is_projects,
                    outside: self.config.outside,
                });
                let launched = launched.await;
                let launched = launched.map_err(|error| format!("cannot start {command}: {error}"))?;
                let reading = tokio::spawn(self.log.clone().follow(launched.log));
                let (reader, writer) = tokio::io::split(launched.stream);
                let transport = (bounded(reader, self.log.clone()), writer);
                match client::connect(transport, listener, within).await {
                    Ok(connection) => {
                        let process = Some(launched.process);
                        Ok(Live { connection, process, reading: Some(reading), changed })
                    }
                    Err(why) => {
                        launched.process.end().await;
                        // Its last words say why.
                        let _ = timeout(LAST_WORDS, reading).await;
                        Err(Unconnected::Failed(self.with_last_words(why.to_string())))
                    }
                }
            }
            McpWay::Calling => {
                let program = setup.program.clone().ok_or_else(|| "no program drives this session".to_owned())?;
                let transport = tokio::io::split(server_stream(program, &self.config.name));
                let connection = client::connect(transport, listener, within).await?;
                Ok(Live { connection, process: None, reading: None, changed })
            }
            McpWay::Http { url, headers } => {
                let connection = match setup.sign_ins.manager(&self.config).await? {
                    None => {
                        let transport = remote::streamable(url, headers, |client| client).await?;
                        client::connect(transport, listener, within).await?
                    }
                    Some(manager) => {
                        let through = |client| AuthClient::new(client, manager);
                        let transport = remote::streamable(url, headers, through).await?;
                        client::connect(transport, listener, within).await?
                    }
                };
                Ok(Live { connection, process: None, reading: None, changed })
            }
            McpWay::Sse { url, headers } => {
                let manager = setup.sign_ins.manager(&self.config).await?;
                let opening = timeout(within, SseTransport::open(url, headers, manager));
                let opened = opening.await.map_err(|_| format!("no answer within {} s", within.as_secs()))?;
                let transport = opened.map_err(|error| match error {
                    SseError::SignIn => Unconnected::SignIn,
                    SseError::Failed(why) => Unconnected::Failed(why),
                })?;
                let connection = client::connect(transport, listener, within).await?;
                Ok(Live { connection, process: None, reading: None, changed })
            }
        }
    }

    fn with_last_words(&self, why: String) -> String {
        match self.log.last_said() {
            Some(line) => format!("{why}: {}", line.chars().take(200).collect::<String>()),
            None => why,
        }
    }

    /// Keeps a connection until it ends, and ends what is left of it.
    async fn attend(&self, live: Live) -> Ending {
        let Live { connection, process, reading, changed } = live;
        let (peer, closing) = (connection.peer().clone(), connection.cancellation_token());
        let mut closed = Box::pin(connection.waiting());
        let mut is_closed = false;
        let ending = loop {
            let looking = async {
                let offered = client::offered(&peer, &self.config.name).await;
                self.take_in(&peer, offered);
                changed.notified().await;
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break Ending::Stopped,
                () = self.wanted.notified() => break Ending::Restart,
                _ = &mut closed => {
                    is_closed = true;
                    break Ending::Lost("it has ended".to_owned());
                }
                () = looking => {}
            }
        };
        self.held().peer = None;
        if !is_closed {
            closing.cancel();
            let _ = timeout(CLOSE_LIMIT, &mut closed).await;
        }
        drop(closed);
        if let Some(process) = process {
            process.end().await;
        }
        if let Some(reading) = reading {
            let _ = timeout(LAST_WORDS, reading).await;
        }
        match ending {
            Ending::Lost(why) => Ending::Lost(self.with_last_words(why)),
            ending => ending,
        }
    }

    fn take_in(&self, peer: &Peer<RoleClient>, offered: Offered) {
        for error in &offered.errors {
            self.log.note(error);
        }
        {
            let mut held = self.held();
            held.peer = Some(peer.clone());
            held.offered = offered;
        }
        self.enter(McpState::Connected);
    }
}
