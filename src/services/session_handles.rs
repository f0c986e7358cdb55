//! What must be finished at the end of a session: its log on the way to the disk, and the tasks beside it.
//!
//! Owns which file an event belongs to, and the time that the end may take. Leaves the files to `session`. Invariant: a
//! slow disk does not hold up the end of the program.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::agents::AgentFiles;
use super::saved_session::SavedSession;
use super::worktrees::AbortOnDrop;
use crate::agent::{AgentEvent, EventKind, LogEvent};
use crate::config::Paths;
use crate::mcp::McpServers;
use crate::message::{AgentId, Diagnostic};
use crate::sandbox::{Intrusion, PlaceWatch};
use crate::session::{MAIN, Route, Secrets, SessionMeta, Store, Writer, log};
use crate::tool::LanguageServers;

/// How long the end of the program waits for the disk.
const DISK_GRACE: Duration = Duration::from_secs(2);

/// The session's log on its way to the disk.
#[derive(Debug, Default)]
pub struct SessionHandles {
    writer: Option<Writer>,
    log: Option<log::LogGuard>,
    /// Puts changed agent files in force and emits them.
    pub(super) agents: Option<AgentFiles>,
    /// Emits changed grants.
    pub(super) announcer: Option<AbortOnDrop>,
    /// Looks at what earlier runs have left.
    pub(super) looking: Option<AbortOnDrop>,
    /// Finds out whether there is a sandbox.
    pub(super) checking: Option<AbortOnDrop>,
    /// Writes what was allowed for the project.
    pub(super) allowing: Option<JoinHandle<()>>,
    /// Emits how the MCP servers are.
    pub(super) servers: Option<AbortOnDrop>,
    /// The MCP servers, which end with the session.
    pub(super) running_servers: McpServers,
    /// The language servers, which end with the session.
    pub(super) language_servers: LanguageServers,
    /// Says what appears where no command may write.
    pub(super) places: Option<AbortOnDrop>,
    pub(super) watch: PlaceWatch,
    /// Writes whether the folder is trusted.
    pub(super) trusting: Option<JoinHandle<()>>,
}

impl SessionHandles {
    pub(super) fn handled(&self) -> Option<watch::Receiver<u64>> {
        self.writer.as_ref().map(Writer::handled)
    }

    /// Takes what keeps the program's log open, for whoever outlives the session.
    pub fn take_log(&mut self) -> Option<log::LogGuard> {
        self.log.take()
    }

    /// Waits, within bounds, until everything is on the disk. The conversation must be gone by then.
    /// Returns what the user should know of what is not kept, and of what was moved aside.
    pub async fn finish(self) -> Option<String> {
        // They hold ends of the channels whose end is waited for.
        drop(self.agents);
        tokio::join!(self.running_servers.end(), self.language_servers.end());
        for task in [self.announcer, self.looking, self.checking, self.servers, self.places].into_iter().flatten() {
            task.end().await;
        }
        for mut task in [self.allowing, self.trusting].into_iter().flatten() {
            if timeout(DISK_GRACE, &mut task).await.is_ok() {
                continue;
            }
            task.abort();
            tracing::warn!("the disk is too slow: your last answer was not saved");
        }
        let lost = match self.writer {
            None => None,
            Some(writer) => timeout(DISK_GRACE, writer.finish())
                .await
                .unwrap_or_else(|_| Some("The disk is too slow: the end of the session was not saved.".to_owned())),
        };
        drop(self.log);
        let moved = Intrusion::still_there(&self.watch.found());
        let said: Vec<String> = lost.into_iter().chain(moved).collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }
}

/// Opens the session's log and returns it with everyone who listens, the log first.
pub(super) async fn keep(
    kept: Option<(&Paths, &Store)>,
    saved: Option<&SavedSession>,
    meta: SessionMeta,
    secrets: &Secrets,
    (listener, watch): (mpsc::Sender<Arc<LogEvent>>, PlaceWatch),
) -> (SessionHandles, Vec<mpsc::Sender<Arc<LogEvent>>>) {
    let Some((paths, store)) = kept else {
        return (SessionHandles { watch, ..SessionHandles::default() }, vec![listener]);
    };
    let directives = std::env::var(log::VARIABLE).ok();
    let log = log::start(&paths.state_dir, directives.as_deref(), secrets.clone());
    let front_end = listener.clone();
    let on_error = move |error: Diagnostic| {
        let kind = EventKind::Notice { text: error.to_string() };
        let notice = AgentEvent { agent: AgentId::MAIN, at: Timestamp::now(), kind };
        // The writer's thread may wait: it is no part of the runtime.
        let _ = front_end.blocking_send(Arc::new(LogEvent::Agent(notice)));
    };
    let names = saved.map(|saved| saved.names.clone()).unwrap_or_default();
    let (sender, writer) = Writer::spawn(store.clone(), meta, router(names), on_error);
    for event in saved.into_iter().flat_map(|saved| &saved.missing) {
        // The front end has them already. It fails only where nothing can be kept.
        let _ = sender.send(Arc::clone(event)).await;
    }
    (SessionHandles { writer: Some(writer), log, watch, ..SessionHandles::default() }, vec![sender, listener])
}

/// Returns what finds the file of an event: that of its agent, by the agent's name. Deltas are left out: the message
/// that ends the turn holds them whole, and a secret that is cut in two by a delta could not be recognised.
fn router(names: HashMap<AgentId, Arc<str>>) -> impl FnMut(&Arc<LogEvent>) -> Option<Route> + Send + 'static {
    let mut names = names;
    names.insert(AgentId::MAIN, MAIN.into());
    move |event| {
        let agent = match &**event {
            LogEvent::Agent(AgentEvent { agent, kind: EventKind::Spawned(spawn), .. }) => {
                names.insert(*agent, spawn.name.as_str().into());
                *agent
            }
            LogEvent::Agent(event) => event.agent,
            LogEvent::Session { .. } => AgentId::MAIN,
        };
        let agent = names.get(&agent).filter(|_| !event.is_unkept()).cloned()?;
        Some(Route { agent, is_indexed: event.is_landmark() })
    }
}
