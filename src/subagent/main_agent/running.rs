//! The present answer of the main agent, while it runs and once it has ended.
//!
//! Owns waiting for it. Leaves what it is to `answer`, and what follows to `conversation`. Invariant: it is taken out once.

use tokio::task::JoinHandle;

use crate::agent::{Cancel, Outcome};
use crate::message::{AgentId, Transcript};
use crate::subagent::main_agent::answer::Answered;

pub(super) struct Running {
    pub(super) cancel: Cancel,
    pub(super) task: JoinHandle<Answered>,
    /// What becomes of the conversation once the answer has ended.
    pub(super) then: Then,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    /// It was cleared meanwhile, and these subagents with it were stopped.
    Forget(Vec<AgentId>),
}

pub(super) struct Finished {
    pub(super) answered: Answered,
    pub(super) then: Then,
}

/// Waits for the present answer; for ever if there is none.
pub(super) async fn finished(running: &mut Option<Running>) -> Finished {
    let Some(present) = running else { return std::future::pending().await };
    let ended = (&mut present.task).await;
    let then = std::mem::replace(&mut present.then, Then::GoOn);
    *running = None;
    // It fails only if the program's threads end before it.
    let broken = |_| Answered { outcome: Outcome::broken(), transcript: Transcript::default(), refused: None };
    Finished { answered: ended.unwrap_or_else(broken), then }
}
