//! The way of events from an agent to everyone who listens.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::mpsc;

use super::{AgentEvent, EventKind};
use crate::message::AgentId;

/// Sends the events of one session to its listeners over bounded channels.
///
/// Sending waits for room: a slow listener slows the agents, no event is dropped, and memory stays bounded. A
/// listener that is gone is passed over.
#[derive(Debug, Clone)]
pub struct Sink {
    listeners: Arc<[mpsc::Sender<Arc<AgentEvent>>]>,
}

impl Sink {
    /// Returns a sink that sends to each of the listeners, in this order.
    #[must_use]
    pub fn new(listeners: Vec<mpsc::Sender<Arc<AgentEvent>>>) -> Self {
        Self { listeners: listeners.into() }
    }

    /// Tells everyone what happened to `agent`, now.
    pub async fn send(&self, agent: AgentId, kind: EventKind) {
        let event = Arc::new(AgentEvent { agent, at: Timestamp::now(), kind });
        for listener in self.listeners.iter() {
            let _ = listener.send(Arc::clone(&event)).await;
        }
    }
}
