//! The way of events from an agent to everyone who listens.
//!
//! Owns waiting for slow listeners. Leaves what is masked to `shown`. Invariants: no event is dropped, and one listener
//! receives the events of one agent in their order; memory is bounded, because only the few events that follow a stop may
//! wait outside of a channel; no listener gets to see a secret.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{AgentEvent, Cancel, EventKind, LogEvent, SessionEvent, StopCause};
use crate::message::AgentId;
use crate::session::Secrets;

/// How long a stopped agent waits for a listener without room. What it still has to emit then follows on its own, so
/// that no listener keeps an agent from ending.
const LISTENER_GRACE: Duration = Duration::from_millis(500);

/// Sends the events of one session to its listeners over bounded channels.
///
/// Sending waits for room: a slow listener slows the agents, no event is dropped, and memory stays bounded. A
/// listener that is gone is passed over.
#[derive(Debug, Clone)]
pub struct Sink {
    listeners: Arc<[Listener]>,
    secrets: Secrets,
}

impl Sink {
    /// Returns a sink that sends to each of the listeners, in this order, with the secrets masked.
    #[must_use]
    pub fn new(listeners: Vec<mpsc::Sender<Arc<LogEvent>>>, secrets: Secrets) -> Self {
        let listeners = listeners.into_iter().map(|sender| Listener { sender, late: Late::default() });
        Self { listeners: listeners.collect(), secrets }
    }

    /// Emits what happened to an agent. Waits for as long as a listener has no room.
    pub async fn emit(&self, agent: AgentId, kind: impl Into<EventKind>) {
        self.emit_until(agent, kind, &Cancel::default()).await;
    }

    /// Emits what happened to an agent. A listener without room gets it later: the commands of the user do not wait for
    /// a slow one.
    pub async fn emit_unhindered(&self, agent: AgentId, kind: impl Into<EventKind>) {
        self.emit_until(agent, kind, &unhindered()).await;
    }

    /// Emits what happened to an agent. Once `stop` is asked for, a listener without room gets the event later, and the
    /// caller goes on.
    pub async fn emit_until(&self, agent: AgentId, kind: impl Into<EventKind>, stop: &Cancel) {
        self.send(LogEvent::Agent(AgentEvent { agent, at: Timestamp::now(), kind: kind.into() }), stop).await;
    }

    /// Emits what happened to the session. Waits for as long as a listener has no room.
    pub async fn emit_session(&self, event: SessionEvent) {
        self.send(LogEvent::Session { at: Timestamp::now(), event }, &Cancel::default()).await;
    }

    /// Emits what happened to the session. A listener without room gets it later.
    pub async fn emit_session_unhindered(&self, event: SessionEvent) {
        self.send(LogEvent::Session { at: Timestamp::now(), event }, &unhindered()).await;
    }

    pub async fn notify(&self, text: String) {
        self.emit(AgentId::MAIN, EventKind::Notice { text }).await;
    }

    async fn send(&self, event: LogEvent, stop: &Cancel) {
        let event = Arc::new(event.shown(&self.secrets));
        for listener in self.listeners.iter() {
            if stop.cause().is_some() && listener.is_behind() {
                listener.send_late(Arc::clone(&event));
                continue;
            }
            tokio::select! {
                biased;
                // It fails only if the listener is gone.
                _ = listener.sender.send(Arc::clone(&event)) => {}
                () = patience(stop) => listener.send_late(Arc::clone(&event)),
            }
        }
    }
}

fn unhindered() -> Cancel {
    let stopped = Cancel::default();
    stopped.stop(StopCause::User);
    stopped
}

/// Waits until a stopped agent need not wait any longer.
async fn patience(stop: &Cancel) {
    stop.cancelled().await;
    sleep(LISTENER_GRACE).await;
}

/// Events that could not be waited for. While it is not empty a task hands them on.
type Late = Arc<Mutex<VecDeque<Arc<LogEvent>>>>;

#[derive(Debug)]
struct Listener {
    sender: mpsc::Sender<Arc<LogEvent>>,
    late: Late,
}

impl Listener {
    fn is_behind(&self) -> bool {
        !lock(&self.late).is_empty()
    }

    fn send_late(&self, event: Arc<LogEvent>) {
        let mut late = lock(&self.late);
        late.push_back(event);
        if late.len() == 1 {
            tokio::spawn(hand_on(self.sender.clone(), Arc::clone(&self.late)));
        }
    }
}

/// Hands on what waits, until nothing does or the listener is gone.
async fn hand_on(listener: mpsc::Sender<Arc<LogEvent>>, late: Late) {
    loop {
        let Some(event) = lock(&late).front().cloned() else { return };
        let gone = listener.send(event).await.is_err();
        let mut late = lock(&late);
        // An event leaves only after it arrived: whoever finds the queue not empty relies on this task.
        late.pop_front();
        if gone {
            late.clear();
        }
        if late.is_empty() {
            return;
        }
    }
}

fn lock(late: &Late) -> MutexGuard<'_, VecDeque<Arc<LogEvent>>> {
    late.lock().unwrap_or_else(PoisonError::into_inner)
}
