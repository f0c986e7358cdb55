//! One child between its spawn and its end.
//!
//! Owns the promise that every child that was told of is told to have ended, once. Leaves the run itself to `agent`.

use tokio::runtime::Handle;

use super::tree::{Living, Tree};
use crate::agent::{Cancel, EventKind, Inbox, Outcome, Status, StopCause};
use crate::message::AgentId;

/// A child between its spawn and its end. However those who wait for it fare, it is told of one end.
pub(super) struct Life {
    tree: Tree,
    id: AgentId,
    cancel: Cancel,
    state: LifeState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LifeState {
    Open,
    Ended,
}

impl Life {
    pub(super) fn begin(tree: &Tree, id: AgentId, cancel: Cancel, inbox: Inbox) -> Self {
        tree.enter(id, Living { cancel: cancel.clone(), inbox });
        Self { tree: tree.clone(), id, cancel, state: LifeState::Open }
    }

    /// Notes that its end was told of.
    pub(super) fn has_ended(mut self) {
        self.state = LifeState::Ended;
    }

    /// Tells of its end.
    pub(super) async fn end(self, outcome: &Outcome) {
        let ended = EventKind::Ended { outcome: outcome.clone() };
        self.tree.sink().send_until(self.id, ended, &self.cancel).await;
        self.has_ended();
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.cancel.stop(StopCause::Parent);
        let (tree, id) = (self.tree.clone(), self.id);
        match (self.state, Handle::try_current()) {
            (LifeState::Open, Ok(runtime)) => {
                let (sink, cancel) = (self.tree.sink().clone(), self.cancel.clone());
                runtime.spawn(async move {
                    let outcome = Outcome::unstarted(Status::Cancelled, "Stopped with the agent above it.");
                    sink.send_until(id, EventKind::Ended { outcome }, &cancel).await;
                    tree.leave(id);
                });
            }
            _ => tree.leave(id),
        }
    }
}

/// Stops an agent for which nobody waits any more.
pub(super) struct StopOnDrop(pub(super) Cancel);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop(StopCause::Parent);
    }
}
