//! The servers of a session, or of one agent: started beside everything else, kept, and ended together.
//!
//! Owns which there are and what each offers. Leaves the life of one to `server`. Invariants: no lock is held while
//! anything is waited for; whoever asks for a server that is not there waits for a bounded time.

use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::client;
use super::config::{McpConfig, McpScope};
use super::entry;
use super::facts::{McpFacts, McpState};
use super::names::McpToolInfo;
use super::reading::{self, McpPrompt};
use super::server::Server;
use super::{McpContent, McpError, McpReply, McpSources, SignIns};
use crate::launched::{CallingProgram, LaunchedProgram};

/// How long a call waits for a server that is starting.
const START_WAIT: Duration = Duration::from_secs(15);
/// How long the first request of a session without a screen waits for servers. As long as Claude Code does.
const ONE_REQUEST_WAIT: Duration = Duration::from_secs(5);
/// How long servers may take to end with the session.
const END_LIMIT: Duration = Duration::from_secs(1);

/// Starts the program of a server.
pub type Launch = Arc<dyn Fn(McpStart) -> BoxFuture<'static, io::Result<LaunchedProgram>> + Send + Sync>;

/// A server whose program is to be started.
#[derive(Debug, Clone)]
pub struct McpStart {
    pub name: String,
    /// As in [`McpConfig`].
    pub shown: String,
    pub command: String,
    pub args: Vec<String>,
    /// Variables of its own beside those that every command gets.
    pub env: Vec<(String, String)>,
    pub is_projects: bool,
    pub outside: Option<bool>,
}

/// By what servers are reached.
#[derive(Clone)]
pub struct McpSetup {
    pub launch: Launch,
    /// How long servers wait before they start, so that the first frame and the first request have the processor.
    pub head_start: Duration,
    /// What the entries of agent files may name.
    pub sources: McpSources,
    pub sign_ins: SignIns,
    /// The program that has servers of its own in it.
    pub program: Option<CallingProgram>,
}

/// A handle to servers; clones share them. The default has none, and starts none.
#[derive(Clone, Default)]
pub struct McpServers(Arc<Shared>);

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().iter().map(|server| server.config())).finish()
    }
}

#[derive(Default)]
struct Shared {
    setup: Option<McpSetup>,
    servers: RwLock<Vec<Arc<Server>>>,
    changed: watch::Sender<()>,
}

impl McpServers {
    #[must_use]
    pub fn new(setup: McpSetup) -> Self {
        let (servers, changed) = Default::default();
        Self(Arc::new(Shared { setup: Some(setup), servers, changed }))
    }

    /// Returns other servers that are reached in the same way; none yet.
    #[must_use]
    pub fn others(&self) -> Self {
        self.0.setup.clone().map_or_else(Self::default, Self::new)
    }

    /// Reads the entry of an agent file.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn entry(&self, name: &str, entry: &Value) -> Result<McpConfig, String> {
        let setup = self.0.setup.as_ref().ok_or("there are no MCP servers here")?;
        entry::read(name, entry, McpScope::Agent, &setup.sources)
    }

    /// Makes these the servers there are. Those that stay as they are go on; others are ended, and started.
    pub fn set(&self, configs: Vec<McpConfig>) {
        let Some(setup) = &self.0.setup else { return };
        let mut servers = self.0.servers.write().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *servers);
        for config in configs {
            let same = before.iter().position(|server| *server.config() == config);
            servers.push(match same {
                Some(at) => before.swap_remove(at),
                None => Server::start(config, setup.clone(), self.0.changed.clone()),
            });
        }
        drop(servers);
        stop_all(&before);
        self.0.changed.send_replace(());
    }

    fn all(&self) -> Vec<Arc<Server>> {
        self.0.servers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn find(&self, name: &str) -> Result<Arc<Server>, McpError> {
        let is_meant = |server: &&Arc<Server>| server.config().name == name;
        self.all().iter().find(is_meant).cloned().ok_or_else(|| McpError::Unknown(name.to_owned()))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.servers.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns each server's name and how it is.
    #[must_use]
    pub fn states(&self) -> Vec<(String, McpState)> {
        self.all().iter().map(|server| (server.config().name.clone(), server.state())).collect()
    }

    /// Returns how each is configured. Values may be secrets.
    #[must_use]
    pub fn configs(&self) -> Vec<McpConfig> {
        self.all().iter().map(|server| server.config().clone()).collect()
    }

    /// Returns what is known of each.
    #[must_use]
    pub fn facts(&self) -> Vec<McpFacts> {
        self.all().iter().map(|server| server.facts()).collect()
    }

    /// Returns the tools of all that are connected, in the order of the servers. Of two with one name the first counts.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<McpToolInfo>> {
        let mut tools: Vec<Arc<McpToolInfo>> = Vec::new();
        for tool in self.all().iter().flat_map(|server| server.tools()) {
            if tools.iter().all(|known| known.name != tool.name) {
                tools.push(tool);
            }
        }
        tools
    }

    /// Returns a receiver that wakes when a server has changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Starts a server anew, whatever it is at.
    ///
    /// # Errors
    /// Returns that there is none of that name, or why it is not to be started.
    pub fn restart(&self, name: &str) -> Result<(), McpError> {
        let server = self.find(name)?;
        if let McpState::Off(why) = server.state() {
            return Err(McpError::NotConnected { server: name.to_owned(), why });
        }
        server.restart();
        Ok(())
    }

    /// Lets the user sign in to a server; its state says where. Returns `false` if it does not wait for that.
    ///
    /// # Errors
    /// Returns that there is none of that name.
    pub fn login(&self, name: &str) -> Result<bool, McpError> {
        self.find(name).map(|server| server.login())
    }

    /// Waits for what a conversation of one request would otherwise come too late for: until no server is on its way any
    /// more, for 5 seconds at most, and not at all if the user's environment says so.
    pub async fn ready_for_one_request(&self) {
        if self.0.setup.as_ref().is_some_and(|setup| !setup.sources.never_waited_for()) {
            self.settled(|_| true, ONE_REQUEST_WAIT).await;
        }
    }

    /// Waits until no server that `counts` is on its way any more, for so long at most.
    pub async fn settled(&self, counts: impl Fn(&str) -> bool, within: Duration) {
        let mut changes = self.changes();
        let settling = async {
            while self.states().iter().any(|(name, state)| *state == McpState::Starting && counts(name)) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = timeout(within, settling).await;
    }

    /// Calls a tool of a server, which is waited for if it is starting, and started if it has ended.
    ///
    /// # Errors
    /// Returns why there is no answer.
    pub async fn call(
        &self,
        (server, tool): (&str, &str),
        args: Map<String, Value>,
        stop: &CancellationToken,
    ) -> Result<McpReply, McpError> {
        let server = self.find(server)?;
        let peer = self.connected(&server, stop).await?;
        server.heeding(client::call(&peer, (tool, args), server.config().call_timeout, stop).await)
    }

    /// Returns the prompts of all that are connected, each with its server.
    #[must_use]
    pub fn prompts(&self) -> Vec<(String, McpPrompt)> {
        let of = |server: &Arc<Server>| {
            let name = server.config().name.clone();
            server.prompts().into_iter().map(move |prompt| (name.clone(), prompt)).collect::<Vec<_>>()
        };
        self.all().iter().flat_map(of).collect()
    }

    /// Returns what the connected ones say of their use, each with its server.
    #[must_use]
    pub fn instructions(&self) -> Vec<(String, String)> {
        let of = |server: &Arc<Server>| Some((server.config().name.clone(), server.instructions()?));
        self.all().iter().filter_map(of).collect()
    }

    /// Reads a resource of a server.
    ///
    /// # Errors
    /// Returns why there is no answer.
    pub async fn read(&self, server: &str, uri: &str, stop: &CancellationToken) -> Result<Vec<McpContent>, McpError> {
        let server = self.find(server)?;
        let peer = self.connected(&server, stop).await?;
        server.heeding(reading::read(&peer, uri, server.config().call_timeout, stop).await)
    }

    /// Returns the text of a prompt of a server.
    ///
    /// # Errors
    /// Returns why there is no answer.
    pub async fn prompt(
        &self,
        (server, prompt): (&str, &str),
        arguments: Map<String, Value>,
        stop: &CancellationToken,
    ) -> Result<Vec<McpContent>, McpError> {
        let server = self.find(server)?;
        let peer = self.connected(&server, stop).await?;
        server.heeding(reading::prompt(&peer, (prompt, arguments), server.config().call_timeout, stop).await)
    }

    async fn connected(
        &self,
        server: &Server,
        stop: &CancellationToken,
    ) -> Result<rmcp::Peer<rmcp::RoleClient>, McpError> {
        if server.peer().is_none() && !matches!(server.state(), McpState::Off(_) | McpState::Starting) {
            server.restart();
        }
        let name = server.config().name.as_str();
        tokio::select! {
            biased;
            () = stop.cancelled() => return Err(McpError::Stopped),
            () = self.settled(|other| other == name, START_WAIT) => {}
        }
        server.peer().ok_or_else(|| {
            let state = server.state();
            let why = state.why().map_or_else(|| state.word().to_owned(), str::to_owned);
            McpError::NotConnected { server: name.to_owned(), why }
        })
    }

    /// Ends all servers, within bounds.
    pub async fn end(&self) {
        let servers = std::mem::take(&mut *self.0.servers.write().unwrap_or_else(PoisonError::into_inner));
        stop_all(&servers);
        let ending = async {
            for server in &servers {
                server.ended().await;
            }
        };
        if timeout(END_LIMIT, ending).await.is_err() {
            // What is left of them goes at once, with what holds it.
            for server in &servers {
                server.abort();
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let servers = std::mem::take(self.servers.get_mut().unwrap_or_else(PoisonError::into_inner));
        stop_all(&servers);
    }
}

fn stop_all(servers: &[Arc<Server>]) {
    for server in servers {
        server.stop();
    }
}
