//! One answer of the main agent, or one summary of its conversation.
//!
//! Owns what one of them takes, from a model that is still looked for to a panic. Leaves which comes next to `conversation`.
//! Invariant: whatever happens, its last event is `Ended`, and the conversation comes back valid.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

use crate::agent::{Author, EventKind, Outcome, Status, compact, run};
use crate::message::{AgentId, MessageId, Transcript};
use crate::subagent::main_agent::MainAgent;
use crate::subagent::main_agent::conversation::Connecting;
use crate::subagent::tree::Tree;

/// What the main agent does with its conversation.
pub(super) enum Task {
    /// It answers the last message, which is still to be emitted if it is the user's.
    Answer(Option<(MessageId, String)>),
    /// A summary takes the place of what was said.
    Compact(CompactRequest),
}

pub(super) struct CompactRequest {
    /// What to keep above all.
    pub(super) wish: Option<String>,
}

/// What it takes to carry out one task.
pub(super) struct Answering {
    pub(super) tree: Tree,
    pub(super) lead: MainAgent,
}

impl Answering {
    pub(super) async fn run(self, connecting: Connecting, task: Task, transcript: Transcript) -> (Outcome, Transcript) {
        if let Task::Answer(Some((id, text))) = &task {
            self.emit(EventKind::UserMessage { text: text.clone(), by: Author::User, id: Some(*id) }).await;
        }
        let before = transcript.clone();
        if let Ok(answered) = AssertUnwindSafe(self.work(connecting, &task, transcript)).catch_unwind().await {
            return answered;
        }
        tracing::error!("the main agent panicked");
        let outcome = Outcome::broken();
        self.emit(EventKind::Ended { outcome: outcome.clone() }).await;
        (outcome, before)
    }

    async fn work(&self, connecting: Connecting, task: &Task, transcript: Transcript) -> (Outcome, Transcript) {
        let connection = tokio::select! {
            biased;
            () = self.lead.cancel.cancelled() => None,
            connection = connecting => Some(connection),
        };
        let outcome = match connection {
            Some(Ok(connection)) => match self.tree.lead(&self.lead, connection).await {
                Ok(agent) => {
                    return match task {
                        Task::Compact(request) => compact(&agent, transcript, request.wish.as_deref()).await,
                        Task::Answer(_) => run(&agent, transcript).await,
                    };
                }
                Err(refusal) => Outcome::unstarted(Status::Failed, &refusal.to_string()),
            },
            Some(Err(reason)) => Outcome::unstarted(Status::Failed, &reason),
            None => Outcome::unstarted(Status::Cancelled, "Stopped while looking for a model."),
        };
        self.emit(EventKind::Started).await;
        self.emit(EventKind::Ended { outcome: outcome.clone() }).await;
        (outcome, transcript)
    }

    async fn emit(&self, kind: EventKind) {
        self.tree.setup().sink.emit_until(AgentId::MAIN, kind, &self.lead.cancel).await;
    }
}
