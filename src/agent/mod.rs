//! THE loop, for every agent: ask the model, run its tools, emit what happens, until it has answered.
//!
//! Owns the [`Agent`] value, its events, and the driver [`run`]. Leaves spawning of subagents to `subagent`, and the
//! meaning of events on a screen to the front ends. Invariants: main agent and subagent differ in values only; the
//! decisions are pure (`turn`, `step`); whatever ends a run, the transcript it returns is valid.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::hook::AgentHooks;
use crate::memory::GivenMemory;
use crate::message::{AgentId, Reasoning};
use crate::permission::{Approver, Permissions};
use crate::provider::{Model, Provider};
use crate::session::{PictureStore, Secrets};
use crate::tool::{BackgroundCommands, Freshness, ToolSet};

mod aside;
mod asking;
mod attempt;
mod author;
pub mod budget;
mod commands;
mod context;
mod disk;
mod dispatch;
mod driver;
mod event;
mod external;
mod hook_judge;
mod hooks;
mod inbox;
mod open_run;
mod outcome;
mod repetition;
mod run;
mod searching;
mod shown;
mod sink;
mod skill;
mod spawn;
pub mod step;
mod stream;
mod text_calls;
pub mod turn;
mod watchdog;
mod worktrees;

pub use crate::message::Spent;
pub use author::{Author, shown_of_program};
pub use budget::Budget;
pub use commands::CommandReporter;
pub use context::summary::summary_in;
pub use context::{ContextEvent, ContextPart, ContextUse, PartKind};
pub use disk::read_from_disk;
pub use driver::{compact, run};
pub use event::{
    AgentEvent, EventKind, Hold, LogEvent, RewoundFile, RunMode, SessionEvent, ToolEvent, TurnEvent, changed_words,
    rewound_words,
};
pub use external::{ExternalAgent, ExternalSessionName, RemoteAgent};
pub use hook_judge::{FindHookModel, HookJudges};
pub use hooks::{HookListener, context_words};
pub use inbox::{AtEnd, Inbox, InboxMessage, PendingReport, Urgency};
pub use open_run::LastRun;
pub use outcome::{FileTally, LastWords, Outcome, Status, StopCause};
pub use sink::Sink;
pub use skill::{ForkedSkill, SkillHost};
pub use spawn::{Bounds, Spawn, SpawnOptions};
pub use worktrees::{KeptFile, KeptWorktree, WorktreeAct, WorktreeNews};

#[derive(Clone)]
pub struct Agent {
    pub id: AgentId,
    /// How many agents stand above it; 0 for the main agent.
    pub depth: u32,
    pub system: Arc<str>,
    pub provider: Arc<dyn Provider>,
    pub model: Arc<Model>,
    /// Who answers a turn that its model does not answer, in this order.
    pub fallbacks: Arc<[SideModel]>,
    /// Who summarizes its conversation, if it does not do so itself.
    pub summarizer: Option<SideModel>,
    /// Who judges whether its report carries instructions, if anyone does.
    pub judge: Option<SideModel>,
    /// Who answers the questions of its hooks.
    pub judges: HookJudges,
    /// How the model shall think; models that do not know it are not asked.
    pub reasoning: Reasoning,
    pub tools: ToolSet,
    pub place: Place,
    pub permissions: Permissions,
    /// Who is asked otherwise.
    pub approver: Arc<dyn Approver>,
    pub freshness: Arc<Freshness>,
    /// Which memory files it has been given.
    pub memory: GivenMemory,
    /// What runs when something happens to it.
    pub hooks: AgentHooks,
    /// Which skills its user can call; `None` for an agent that nobody speaks to.
    pub skills: Option<Arc<dyn SkillHost>>,
    /// What the user has said that its run begins with.
    pub spoken: Option<Arc<str>>,
    pub limits: Limits,
    /// The pictures of the session.
    pub pictures: PictureStore,
    /// The program that does its work, if that is another one.
    pub external: Option<Arc<ExternalAgent>>,
    /// What it may use together with all others.
    pub budget: Budget,
    pub sink: Sink,
    /// What of a tool's output neither its model nor anyone else gets to see.
    pub secrets: Secrets,
    pub inbox: Inbox,
    /// Its commands that go on by themselves, among those of all.
    pub commands: BackgroundCommands,
    /// What it does when it has answered while subagents still work for it.
    pub at_end: AtEnd,
    /// Stops it, for a stated cause.
    pub cancel: Cancel,
    /// Below `cancel`: stops its work, but leaves it one turn without tools to report in.
    pub work: Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Working directory, absolute, symlinks resolved.
    pub cwd: Arc<std::path::PathBuf>,
    /// Root of the project, absolute, symlinks resolved.
    pub project: Arc<std::path::PathBuf>,
    /// Root of the project of the session: another one than `project` in a worktree that was made from it.
    pub origin: Arc<std::path::PathBuf>,
}

/// A model that is asked beside the conversation, for a summary or a judgment; `Err` says why the one that was named cannot.
pub type SideModel = Result<(Arc<dyn Provider>, Arc<Model>), String>;

/// When an agent has to stop. `None` means no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub max_turns: Option<u32>,
    pub max_tool_calls: Option<u32>,
    pub idle_timeout: Option<Duration>,
    pub wall_timeout: Option<Duration>,
    /// Characters of one tool result that reach the model.
    pub result_chars: usize,
    /// Percent of the context from which the conversation is shortened; 0 leaves it until it no longer fits.
    pub auto_compact_percent: u32,
    /// Tokens of the context that it works in, where the model's is larger or not known.
    pub context_window: Option<u64>,
}

impl Agent {
    /// Returns the launcher that runs it somewhere else.
    pub fn launcher(&self) -> Option<&str> {
        Some(&self.external.as_ref()?.remote.as_ref()?.launcher)
    }

    pub fn bounds(&self) -> Bounds {
        Bounds {
            max_turns: self.limits.max_turns,
            max_tool_calls: self.limits.max_tool_calls,
            context_window: self.model.context_window,
            mode: Some(self.permissions.ceiling()),
            scopes: self.permissions.rules().scopes(),
        }
    }
}

/// A cancel token that remembers why. The first cause wins.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    token: CancellationToken,
    cause: Arc<std::sync::OnceLock<StopCause>>,
}

impl Cancel {
    /// Returns a token that is cancelled with this one, but not the other way round.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { token: self.token.child_token(), cause: Arc::default() }
    }

    pub fn stop(&self, cause: StopCause) {
        let _ = self.cause.set(cause);
        self.token.cancel();
    }

    /// Returns the cause if a stop was asked for; a stop that came from above counts as asked by the parent.
    pub fn cause(&self) -> Option<StopCause> {
        self.token.is_cancelled().then(|| self.cause.get().copied().unwrap_or(StopCause::Parent))
    }

    pub async fn cancelled(&self) {
        self.token.cancelled().await;
    }

    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}
