//! Hooks: what the user, a project or an agent file has run when something happens.
//!
//! Owns the format of Claude Code's settings, which hooks run when, and what their answers mean. Leaves starting processes
//! to `tool`, asking models and the moments to `agent`, and putting both together to `services`. Invariants: a project's hook runs only as the
//! user has seen and trusted it; what a hook prints is bounded and sanitized before anybody reads it.

mod answer;
mod callback;
mod command;
mod condition;
mod event;
mod handler;
mod log;
mod matcher;
mod question;
mod run;
mod tool_input;
mod verdict;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use handler::HookKey;

pub use command::{HookCommand, HookPlace, HookRequest, HookToolCall};
pub use event::HookEvent;
pub use handler::{HookHandler, HookSource, OnFailure};
pub use log::HookLog;
pub use question::{HookJudge, HookQuestion};
pub use run::{HookMoment, HookProcess, HookResult, RunHook};
pub use tool_input::{hook_tool_input, hook_tool_response};
pub use verdict::{HookEnd, HookExit, HookPermission, HookRun, HookVerdict};

/// The hooks of a session; clones share them. The default has none.
#[derive(Clone, Default)]
pub struct Hooks(Arc<HookState>);

#[derive(Default)]
struct HookState {
    /// Those of settings files and plugins, in the order in which they are asked.
    handlers: RwLock<Arc<[Arc<HookHandler>]>>,
    reach: HookReach,
    /// What the session is for hooks; `None` where none run.
    session: Option<HookSession>,
    /// What the user trusts of the project's hooks.
    trusted: RwLock<BTreeSet<String>>,
    /// Those that run once and have run.
    spent: Mutex<HashSet<HookKey>>,
    /// Ends those that nobody waits for.
    stop: CancellationToken,
    waiting: TaskTracker,
    ended: OnceLock<()>,
}

/// Which hooks may run at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookReach {
    /// Those of the organization alone (`allowManagedHooksOnly`, or the user's `disableAllHooks`).
    pub only_managed: bool,
    /// None of the project's (its own `disableAllHooks`).
    pub without_projects: bool,
    /// None at all (the organization's `disableAllHooks`).
    pub none: bool,
}

/// Says where the transcript of an agent lies.
pub type TranscriptPlace = Arc<dyn Fn(Option<&str>) -> PathBuf + Send + Sync>;

/// What hooks are told of a session, and by whom they are run.
#[derive(Clone)]
pub struct HookSession {
    pub id: String,
    pub project: PathBuf,
    /// Returns where the transcript of an agent lies, `None` being the main one; empty if none is kept.
    pub transcript: TranscriptPlace,
    pub run: RunHook,
}

/// A hook as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookNotice {
    pub at: HookEvent,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub matcher: String,
    pub command: String,
    /// The file that names it.
    pub source: String,
    /// Where it runs; `None` where that is not known before it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<HookPlace>,
    /// Why it does not run; `None` if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<String>,
}

impl Hooks {
    #[must_use]
    pub fn new(handlers: Vec<HookHandler>, reach: HookReach, session: HookSession) -> Self {
        Self(Arc::new(HookState {
            handlers: RwLock::new(handlers.into_iter().map(Arc::new).collect()),
            reach,
            session: Some(session),
            ..HookState::default()
        }))
    }

    /// Returns hooks of which none runs, to list them.
    #[must_use]
    pub fn unstarted(handlers: Vec<HookHandler>, reach: HookReach) -> Self {
        let handlers = RwLock::new(handlers.into_iter().map(Arc::new).collect());
        Self(Arc::new(HookState { handlers, reach, ..HookState::default() }))
    }

    fn handlers(&self) -> Arc<[Arc<HookHandler>]> {
        self.0.handlers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes these the hooks of settings files and plugins.
    pub fn set(&self, handlers: Vec<HookHandler>) {
        *self.0.handlers.write().unwrap_or_else(PoisonError::into_inner) = handlers.into_iter().map(Arc::new).collect();
    }

    fn session(&self) -> Option<&HookSession> {
        self.0.session.as_ref()
    }

    /// Lets a project's hooks run that say this, and no others.
    pub fn trust(&self, texts: impl IntoIterator<Item = String>) {
        *self.0.trusted.write().unwrap_or_else(PoisonError::into_inner) = texts.into_iter().collect();
    }

    fn lets_run(&self, handler: &HookHandler) -> bool {
        self.idle_reason(handler).is_none()
    }

    fn idle_reason(&self, handler: &HookHandler) -> Option<&'static str> {
        let (reach, source) = (self.0.reach, &handler.source);
        if reach.none || (reach.only_managed && !source.is_managed) {
            return Some("switched off");
        }
        if !source.is_projects {
            return None;
        }
        if reach.without_projects {
            return Some("switched off");
        }
        let trusted = self.0.trusted.read().unwrap_or_else(PoisonError::into_inner);
        (!trusted.contains(&handler.trust_text())).then_some("not trusted")
    }

    fn is_spent(&self, handler: &HookHandler) -> bool {
        handler.is_once && self.spent().contains(&handler.key())
    }

    /// Notes that a hook runs now. Returns `false` if it was to run once and has.
    fn spend(&self, handler: &HookHandler) -> bool {
        !handler.is_once || self.spent().insert(handler.key())
    }

    fn spent(&self) -> MutexGuard<'_, HashSet<HookKey>> {
        self.0.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the hooks of the settings. `is_outside` says whether the command of one runs outside of the sandbox.
    pub fn notices(&self, is_outside: impl Fn(&HookHandler) -> Option<bool>) -> Vec<HookNotice> {
        let notice = |handler: &Arc<HookHandler>| HookNotice {
            place: handler.command.place(|| is_outside(handler)),
            at: handler.event,
            matcher: handler.matcher_text.clone(),
            command: handler.command.shown(),
            source: handler.source.place.to_string(),
            idle: self.idle_reason(handler).map(str::to_owned),
        };
        self.handlers().iter().map(notice).collect()
    }

    /// Returns the hooks of an agent: those of the session, and `own` ones.
    #[must_use]
    pub fn of_agent(&self, own: &OwnHooks, id: Option<&str>, agent_type: Option<&str>) -> AgentHooks {
        AgentHooks {
            hooks: self.clone(),
            own: own.own.iter().map(|handler| heard(handler.clone(), id)).collect(),
            lent: own.lent.clone(),
            agent_id: id.map(Arc::from),
            agent_type: agent_type.map(Arc::from),
            ..AgentHooks::default()
        }
    }

    /// Returns what ends hooks that nobody waits for.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.0.stop.clone()
    }

    /// Has something done that hooks have begun and nobody waits for, until the session ends.
    pub fn go_on(&self, work: impl Future<Output = ()> + Send + 'static) {
        if self.0.ended.get().is_none() {
            self.0.waiting.spawn(work);
        }
    }

    /// Ends what nobody waits for.
    pub async fn end(&self) {
        let _ = self.0.ended.set(());
        self.0.stop.cancel();
        self.0.waiting.close();
        self.0.waiting.wait().await;
    }
}

/// Returns a hook as an agent has it: for a subagent, its end is meant.
fn heard(handler: Arc<HookHandler>, id: Option<&str>) -> Arc<HookHandler> {
    match handler.event {
        HookEvent::Stop if id.is_some() => {
            Arc::new(HookHandler { event: HookEvent::SubagentStop, ..HookHandler::clone(&handler) })
        }
        _ => handler,
    }
}

/// The hooks of skills that an agent carries out now; clones share them.
type LentHooks = Arc<RwLock<Vec<Arc<HookHandler>>>>;

/// The hooks that an agent's file names, and those of its skills. Those about tools hold for the agents below it too: a guard
/// would be none otherwise.
#[derive(Clone, Default)]
pub struct OwnHooks {
    own: Arc<[Arc<HookHandler>]>,
    lent: LentHooks,
}

impl OwnHooks {
    #[must_use]
    pub fn new(handlers: Vec<HookHandler>) -> Self {
        Self { own: handlers.into_iter().map(Arc::new).collect(), lent: LentHooks::default() }
    }

    /// Returns what of these holds for an agent below, with that one's own.
    #[must_use]
    pub fn handed_on(&self, own: Vec<HookHandler>) -> Self {
        let lent = self.lent.read().unwrap_or_else(PoisonError::into_inner).clone();
        let above = self.own.iter().cloned().chain(lent).filter(|handler| handler.event.is_about_tools());
        Self { own: above.chain(own.into_iter().map(Arc::new)).collect(), lent: LentHooks::default() }
    }
}

/// The hooks of one agent. The default has none.
#[derive(Clone, Default)]
pub struct AgentHooks {
    hooks: Hooks,
    own: Arc<[Arc<HookHandler>]>,
    lent: LentHooks,
    /// `None` for the main agent.
    agent_id: Option<Arc<str>>,
    agent_type: Option<Arc<str>>,
    /// Those that do not run, by what is trusted of them.
    left_out: Arc<[String]>,
    /// Whether its agent judges for a hook: those about its tools run, and ask no model in turn.
    is_judging: bool,
}

impl AgentHooks {
    /// Returns the same hooks without those of which this is trusted.
    #[must_use]
    pub fn without(self, left_out: Vec<String>) -> Self {
        Self { left_out: left_out.into(), ..self }
    }

    /// Returns the hooks of an agent that judges for one of these.
    #[must_use]
    pub fn for_judging(&self) -> Self {
        Self { is_judging: true, ..self.clone() }
    }

    #[must_use]
    pub fn session_hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Returns the name of the agent's kind.
    #[must_use]
    pub fn agent_type(&self) -> &str {
        self.agent_type.as_deref().unwrap_or_default()
    }

    /// Lists the agent's own hooks that wait for the user's trust.
    pub fn untrusted(&self) -> impl Iterator<Item = String> {
        self.own.iter().filter(|handler| self.waits(handler)).map(|handler| handler.trust_text())
    }

    fn waits(&self, handler: &HookHandler) -> bool {
        self.hooks.idle_reason(handler) == Some("not trusted")
    }

    /// Adds the hooks of a skill, until [`AgentHooks::end_lending`]. Returns those that wait for the user's trust.
    pub fn lend(&self, handlers: Vec<HookHandler>) -> Vec<String> {
        let waiting = handlers.iter().filter(|handler| self.waits(handler)).map(HookHandler::trust_text).collect();
        let handlers = handlers.into_iter().map(|handler| heard(Arc::new(handler), self.agent_id.as_deref()));
        self.lent.write().unwrap_or_else(PoisonError::into_inner).extend(handlers);
        waiting
    }

    /// Takes all hooks of skills away but the first so many.
    pub fn end_lending(&self, kept: usize) {
        self.lent.write().unwrap_or_else(PoisonError::into_inner).truncate(kept);
    }

    /// Returns how many hooks of skills there are.
    #[must_use]
    pub fn lent(&self) -> usize {
        self.lent.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}
