//! One answer of the main agent, or one summary of its conversation.
//!
//! Owns what one of them takes, from a model that is still looked for to a panic. Leaves which comes next to `conversation`.
//! Invariant: whatever happens, its last event is `Ended`, and the conversation comes back valid.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;

use crate::agent::{Agent, Author, EventKind, Outcome, Status, compact, run};
use crate::message::{AgentId, MessageId, Transcript, UserText};
use crate::subagent::main_agent::MainAgent;
use crate::subagent::main_agent::connection::Connecting;
use crate::subagent::tree::Tree;

/// What the main agent does with its conversation.
pub(super) enum Task {
    /// It answers the last message, which is still to be emitted if it is the user's.
    Answer(Option<(MessageId, UserText)>),
    /// A summary takes the place of what was said.
    Compact(CompactRequest),
}

impl Task {
    /// Returns what the user has said, if it may call a skill.
    pub(super) fn spoken(&self) -> Option<Arc<str>> {
        match self {
            Self::Answer(Some((_, said))) => said.calling().map(Into::into),
            Self::Answer(None) | Self::Compact(_) => None,
        }
    }
}

pub(super) struct CompactRequest {
    /// What to keep above all.
    pub(super) wish: Option<String>,
}

/// What came of a task.
pub(super) struct Answered {
    pub(super) outcome: Outcome,
    pub(super) transcript: Transcript,
    /// Why hooks have kept the message from being answered.
    pub(super) refused: Option<String>,
}

/// What it takes to carry out one task.
pub(super) struct Answering {
    pub(super) tree: Tree,
    pub(super) lead: MainAgent,
}

impl Answering {
    pub(super) async fn run(self, connecting: Connecting, task: Task, transcript: Transcript) -> Answered {
        if let Task::Answer(Some((id, said))) = &task {
            self.emit(EventKind::UserMessage { text: said.text.clone(), by: Author::User, id: Some(*id) }).await;
        }
        let before = transcript.clone();
        if let Ok(answered) = AssertUnwindSafe(Box::pin(self.work(connecting, &task, transcript))).catch_unwind().await
        {
            return answered;
        }
        tracing::error!("the main agent panicked");
        let outcome = Outcome::broken();
        self.emit(EventKind::Ended { outcome: outcome.clone() }).await;
        Answered { outcome, transcript: before, refused: None }
    }

    async fn work(&self, connecting: Connecting, task: &Task, transcript: Transcript) -> Answered {
        let connection = tokio::select! {
            biased;
            () = self.lead.cancel.cancelled() => None,
            connection = connecting => Some(connection),
        };
        let outcome = match connection {
            Some(Ok(connection)) => match self.tree.lead(&self.lead, connection).await {
                Ok(agent) => match self.answer(&agent, task, transcript.clone()).await {
                    Ok((outcome, transcript)) => return Answered { outcome, transcript, refused: None },
                    Err(why) => {
                        let outcome = Outcome::unstarted(Status::Failed, &why);
                        return self.unanswered(outcome, transcript, Some(why)).await;
                    }
                },
                Err(refusal) => Outcome::unstarted(Status::Failed, &refusal.to_string()),
            },
            Some(Err(reason)) => Outcome::unstarted(Status::Failed, &reason),
            None => Outcome::unstarted(Status::Cancelled, "Stopped while looking for a model."),
        };
        self.unanswered(outcome, transcript, None).await
    }

    /// Carries the task out. `Err` says why hooks keep a message from being answered.
    async fn answer(
        &self,
        agent: &Agent,
        task: &Task,
        mut transcript: Transcript,
    ) -> Result<(Outcome, Transcript), String> {
        let message = match task {
            Task::Compact(request) => return Ok(compact(agent, transcript, request.wish.as_deref()).await),
            Task::Answer(message) => message,
        };
        let mut said = tokio::select! {
            biased;
            () = agent.cancel.cancelled() => Vec::new(),
            said = self.lead.hooks.take(&self.tree, &self.lead.definition) => said,
        };
        if let Some((_, text)) = message {
            match agent.submit_prompt(&text.text).await {
                Ok(more) => {
                    said.extend(more);
                    let own = self.tree.main_capabilities(&self.lead.definition, None).ok();
                    let reach = own.map(|own| own.mention_reach());
                    said.extend(self.tree.server_texts(reach, text, &self.lead.cancel.token()).await);
                }
                Err(why) => {
                    self.lead.hooks.put_back(said);
                    return Err(why);
                }
            }
        }
        for text in said {
            transcript.push_user(text.clone());
            self.emit(EventKind::UserMessage { text, by: Author::Program, id: None }).await;
        }
        Ok(run(agent, transcript).await)
    }

    async fn unanswered(&self, outcome: Outcome, transcript: Transcript, refused: Option<String>) -> Answered {
        self.emit(EventKind::Started).await;
        self.emit(EventKind::Ended { outcome: outcome.clone() }).await;
        Answered { outcome, transcript, refused }
    }

    async fn emit(&self, kind: EventKind) {
        self.tree.setup().sink.emit_until(AgentId::MAIN, kind, &self.lead.cancel).await;
    }
}
