//! The way of events from an agent to everyone who listens.
//!
//! Owns waiting for slow listeners. Invariants: no event is dropped, and one listener hears the events of one agent in
//! their order; memory is bounded, because only the few events that follow a stop may wait outside of a channel.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{AgentEvent, Cancel, EventKind, StopCause};
use crate::message::AgentId;

/// How long an agent that was stopped waits for a listener without room. What it still has to say then follows on its
/// own, so that no listener keeps an agent from ending.
const LISTENER_GRACE: Duration = Duration::from_millis(500);

/// Sends the events of one session to its listeners over bounded channels.
///
/// Sending waits for room: a slow listener slows the agents, no event is dropped, and memory stays bounded. A
/// listener that is gone is passed over.
#[derive(Debug, Clone)]
pub struct Sink {
    listeners: Arc<[Listener]>,
}

impl Sink {
    /// Returns a sink that sends to each of the listeners, in this order.
    #[must_use]
    pub fn new(listeners: Vec<mpsc::Sender<Arc<AgentEvent>>>) -> Self {
        Self { listeners: listeners.into_iter().map(|sender| Listener { sender, late: Late::default() }).collect() }
    }

    /// Tells everyone what happened to `agent`, now. Waits for as long as a listener has no room.
    pub async fn send(&self, agent: AgentId, kind: EventKind) {
        self.send_until(agent, kind, &Cancel::default()).await;
    }

    /// Tells everyone what happened to `agent`, now. A listener without room gets it later: the commands of the user do
    /// not wait for a slow one.
    pub async fn send_unhindered(&self, agent: AgentId, kind: EventKind) {
        let over = Cancel::default();
        over.stop(StopCause::User);
        self.send_until(agent, kind, &over).await;
    }

    /// Tells everyone what happened to `agent`, now. Once `stop` is asked for, a listener without room gets the event
    /// later, and the caller goes on.
    pub async fn send_until(&self, agent: AgentId, kind: EventKind, stop: &Cancel) {
        let event = Arc::new(AgentEvent { agent, at: Timestamp::now(), kind });
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

/// Waits until a stopped agent need not wait any longer.
async fn patience(stop: &Cancel) {
    stop.cancelled().await;
    sleep(LISTENER_GRACE).await;
}

/// Events that could not be waited for. While it is not empty a task hands them on.
type Late = Arc<Mutex<VecDeque<Arc<AgentEvent>>>>;

#[derive(Debug)]
struct Listener {
    sender: mpsc::Sender<Arc<AgentEvent>>,
    late: Late,
}

impl Listener {
    fn is_behind(&self) -> bool {
        !lock(&self.late).is_empty()
    }

    fn send_late(&self, event: Arc<AgentEvent>) {
        let mut late = lock(&self.late);
        late.push_back(event);
        if late.len() == 1 {
            tokio::spawn(hand_on(self.sender.clone(), Arc::clone(&self.late)));
        }
    }
}

/// Hands on what waits, until nothing does or the listener is gone.
async fn hand_on(listener: mpsc::Sender<Arc<AgentEvent>>, late: Late) {
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

fn lock(late: &Late) -> MutexGuard<'_, VecDeque<Arc<AgentEvent>>> {
    late.lock().unwrap_or_else(PoisonError::into_inner)
}
