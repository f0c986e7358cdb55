//! One run of a subagent between its beginning and its end, as a task of its own.
//!
//! Owns the promise that every run that was announced is reported to have ended, once, and that its report is handed over.
//! Leaves the run itself to `agent`, and who gets the report to `registry`.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::agent::{Agent, Author, Cancel, EventKind, Outcome, Status, StopCause, run};
use crate::message::{AgentId, MessageId, Transcript};
use crate::subagent::registry::ChildResult;
use crate::subagent::run::read_back::transcript_of;
use crate::subagent::run::report::{ReportSource, cut, report};
use crate::subagent::spawn::slot_queue::SlotQueue;
use crate::subagent::tree::Tree;

/// How long the keeping of a whole report may take.
const KEEPING: Duration = Duration::from_secs(10);

pub(in crate::subagent) enum RunInput {
    /// A task, in a conversation of its own.
    Task(String),
    /// The next message in a conversation that had ended.
    Next {
        text: String,
        by: Author,
        message: Option<MessageId>,
        /// How many runs it had before.
        runs: u32,
    },
}

/// A run that was announced: one end is emitted for it, whatever becomes of those who wait.
pub(in crate::subagent) struct RunGuard {
    tree: Tree,
    id: AgentId,
    name: String,
    agent_type: String,
    cancel: Cancel,
    state: RunGuardState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunGuardState {
    Open,
    Ended,
    Delivered,
}

impl RunGuard {
    /// Begins a run of a subagent that the registry holds as running.
    pub(in crate::subagent) fn begin(tree: &Tree, agent: &Agent, (name, agent_type): (&str, &str)) -> Self {
        Self {
            tree: tree.clone(),
            id: agent.id,
            name: name.to_owned(),
            agent_type: agent_type.to_owned(),
            cancel: agent.cancel.clone(),
            state: RunGuardState::Open,
        }
    }

    /// Runs the agent to its end once its turn has come in `slot`, and hands over what came of it.
    pub(in crate::subagent) async fn supervise(mut self, agent: Agent, slot: SlotQueue, input: RunInput) {
        let ended = AssertUnwindSafe(Box::pin(self.run(&agent, slot, input))).catch_unwind().await;
        let outcome = ended.unwrap_or_else(|_| {
            tracing::error!(agent = %self.id, "a subagent panicked");
            Outcome::broken()
        });
        self.end(&outcome).await;
        self.deliver(outcome).await;
    }

    /// Emits the end, unless that was done.
    pub(in crate::subagent) async fn end(&mut self, outcome: &Outcome) {
        if self.state == RunGuardState::Open {
            self.tree.commands().end_of(self.id).await;
            let ended = EventKind::Ended { outcome: outcome.clone() };
            self.tree.sink().emit_until(self.id, ended, &self.cancel).await;
            self.state = RunGuardState::Ended;
        }
    }

    async fn run(&mut self, agent: &Agent, slot: SlotQueue, input: RunInput) -> Outcome {
        let has_user_spoken = matches!(&input, RunInput::Next { by, .. } if by.is_user());
        let (transcript, text, by, id) = match input {
            RunInput::Task(task) => (Transcript::with_task(task.clone()), task, Author::User, None),
            RunInput::Next { text, by, message, runs } => match self.read_back(agent, runs).await {
                Ok(mut transcript) => {
                    transcript.push_user(text.clone());
                    (transcript, text, by, message)
                }
                Err(why) => {
                    let stopped = agent.cancel.cause().is_some();
                    let status = if stopped { Status::Cancelled } else { Status::Failed };
                    let reason = format!("Cannot resume: {why}");
                    return Outcome::unstarted(status, &reason);
                }
            },
        };
        let place = slot.acquire(&agent.work).await;
        let spoken = has_user_spoken.then(|| text.as_str().into());
        // Emitted also for one that never begins: resumed later, it continues with this.
        agent.sink.emit_until(agent.id, EventKind::UserMessage { text, by, id }, &agent.cancel).await;
        let Some(_place) = place else {
            let outcome = match agent.cancel.cause() {
                Some(StopCause::Parent) => Outcome::unstarted(Status::Cancelled, "Stopped together with its parent."),
                Some(_) => Outcome::unstarted(Status::Cancelled, "Stopped before it started."),
                None => Outcome::unstarted(Status::Cancelled, "Wrapped up before it started."),
            };
            return outcome;
        };
        let servers = self.tree.servers_of(self.id);
        let equipped = self.tree.with_own_servers(agent, &servers).await;
        let agent = equipped.as_ref().unwrap_or(agent);
        let outcome = match self.tree.enter_worktree(agent).await {
            Ok(apart) => {
                let agent = Agent { spoken, ..self.tree.briefed(apart.as_ref().unwrap_or(agent)).await };
                let (outcome, _) = run(&agent, transcript).await;
                self.state = RunGuardState::Ended;
                outcome
            }
            Err(outcome) => outcome,
        };
        servers.end().await;
        outcome
    }

    async fn read_back(&self, agent: &Agent, runs: u32) -> Result<Transcript, String> {
        let reading = (self.tree.setup().read_back)(self.name.clone(), runs);
        tokio::select! {
            biased;
            () = agent.cancel.cancelled() => Err("stopped before it started.".to_owned()),
            read = reading => read.map(|events| {
                if let Some(external) = &agent.external {
                    external.session.recall(&events);
                }
                transcript_of(&events)
            }),
        }
    }

    async fn deliver(mut self, outcome: Outcome) {
        let project = self.tree.project_of(self.id);
        let worktree = self.tree.finalize_worktree(self.id).await;
        let whole = report(&ReportSource {
            name: &self.name,
            agent_type: &self.agent_type,
            outcome: &outcome,
            project: &project,
            worktree: worktree.as_deref(),
        });
        let who = (self.id, self.name.as_str());
        // Before anything is kept: agents may read what is kept without a question.
        let readable = self.tree.reviewed(who, whole, outcome.doubt.as_deref(), &self.cancel).await;
        let report = self.shortened(readable).await;
        self.state = RunGuardState::Delivered;
        self.tree.deliver(self.id, ChildResult { report, outcome });
    }

    /// Cuts what may be read of a report to its most characters, and keeps the whole of it.
    async fn shortened(&self, readable: String) -> String {
        let setup = self.tree.setup();
        let limit = setup.limits.report_chars;
        if readable.chars().nth(limit).is_none() {
            return readable;
        }
        // The parent gets what was cut also if this breaks.
        let keeping = async { (setup.keep_report)(self.name.clone(), readable.clone()).await };
        let kept = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            kept = timeout(KEEPING, AssertUnwindSafe(keeping).catch_unwind()) => match kept {
                Ok(Ok(kept)) => kept,
                Ok(Err(_)) => {
                    tracing::error!("saving a report panicked");
                    None
                }
                Err(_) => {
                    tracing::warn!("saving a report timed out");
                    None
                }
            },
        };
        cut(&readable, limit, kept.as_deref())
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        if self.state == RunGuardState::Delivered {
            return;
        }
        self.cancel.stop(StopCause::Parent);
        let (tree, id, state) = (self.tree.clone(), self.id, self.state);
        let outcome = Outcome::unstarted(Status::Cancelled, "Stopped together with its parent.");
        let delivered = ChildResult { report: String::new(), outcome: outcome.clone() };
        match (state, Handle::try_current()) {
            (RunGuardState::Open, Ok(runtime)) => {
                let cancel = self.cancel.clone();
                runtime.spawn(async move {
                    tree.sink().emit_until(id, EventKind::Ended { outcome }, &cancel).await;
                    tree.deliver(id, delivered);
                });
            }
            _ => tree.deliver(id, delivered),
        }
    }
}
