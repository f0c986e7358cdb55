//! The context of one run: whose it is, what watches it, and how it says what happens.
//!
//! Owns which events were emitted when, and the run's last turn. Leaves the order of turns to `driver`, and limits on
//! time to `watchdog`. Invariant: every event of a run is emitted here, and waiting for a slow listener is not the
//! agent's own silence.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::watchdog::Watchdog;
use super::{Agent, EventKind, Status};
use crate::message::{AgentId, Usage};
use crate::tool::CommandHost;

/// How long an agent may be at work without an event.
const ALIVE_INTERVAL: Duration = Duration::from_secs(5);

pub(super) struct Run<'a> {
    pub(super) agent: &'a Agent,
    pub(super) started: Instant,
    pub(super) watchdog: Watchdog,
    /// Where its commands are left that go on by themselves.
    pub(super) commands: CommandHost,
    emitted: Mutex<Emitted>,
    /// How often each tool has run.
    counts: Mutex<BTreeMap<String, u32>>,
    pub(super) asides: Asides,
}

/// What a request has used, and what that cost.
type Spending = (Usage, Option<f64>);

/// What requests beside the turns have used, and cost, until the run counts it. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Asides(Arc<Mutex<Vec<Spending>>>);

struct Emitted {
    /// When the latest event was emitted.
    at: Instant,
    /// The status that the run ends with, once it was emitted that one turn is left.
    last_turn: Option<Status>,
}

impl<'a> Run<'a> {
    pub(super) fn new(agent: &'a Agent) -> Self {
        let started = Instant::now();
        let emitted = Mutex::new(Emitted { at: started, last_turn: None });
        let commands = agent.command_host();
        let (counts, asides) = Default::default();
        Self { agent, started, watchdog: Watchdog::new(started), commands, emitted, counts, asides }
    }

    /// Returns what asks models beside a run of this agent, which counts what that takes.
    pub(super) fn beside(agent: &'a Agent, asides: Asides) -> Self {
        Self { asides, ..Self::new(agent) }
    }

    pub(super) async fn emit(&self, kind: impl Into<EventKind>) {
        self.emitted().at = Instant::now();
        self.emit_for(self.agent.id, kind.into()).await;
    }

    /// Notes a sign of life that shows nothing, and emits it if there was no other event for a while.
    pub(super) async fn emit_alive(&self) {
        self.watchdog.heartbeat();
        let at = self.emitted().at;
        if at.elapsed() >= ALIVE_INTERVAL {
            self.emit(EventKind::Alive).await;
        }
    }

    /// Emits that one turn is left, once. Returns the status of the first call.
    pub(super) async fn emit_last_turn(&self, why: Status) -> Status {
        if let Some(first) = self.emitted().last_turn {
            return first;
        }
        self.emitted().last_turn = Some(why);
        self.emit(EventKind::LastTurn { why }).await;
        why
    }

    /// Emits a notice that concerns all agents.
    pub(super) async fn notify_user(&self, text: String) {
        self.emit_for(AgentId::MAIN, EventKind::Notice { text }).await;
    }

    async fn emit_for(&self, agent: AgentId, kind: EventKind) {
        self.watchdog.paused(self.agent.sink.emit_until(agent, kind, &self.agent.cancel)).await;
    }

    /// Emits what a request beside the turns has used, and keeps it for the run.
    pub(super) async fn count_aside(&self, usage: Usage, cost_usd: Option<f64>) {
        if usage == Usage::default() {
            return;
        }
        self.asides.0.lock().unwrap_or_else(PoisonError::into_inner).push((usage, cost_usd));
        self.emit(EventKind::Aside { usage, cost_usd }).await;
    }

    /// Returns what requests beside the turns have used since this was last asked.
    pub(super) fn take_asides(&self) -> Vec<(Usage, Option<f64>)> {
        std::mem::take(&mut self.asides.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a tool that begins to run.
    pub(super) fn count_tool(&self, name: &str) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default() += 1;
    }

    /// Returns how often each tool has run.
    pub(super) fn tools_run(&self) -> BTreeMap<String, u32> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn emitted(&self) -> MutexGuard<'_, Emitted> {
        self.emitted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
