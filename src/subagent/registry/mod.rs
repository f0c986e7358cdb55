//! Every subagent of the conversation, living or ended, and where its report goes.
//!
//! Owns who waits for whom. Leaves runs to `run_guard` and starting them to `spawn`. Invariants: a report is handed over
//! once: to the call that waits for it, or to the inbox of the agent above; a number that was given is never given to
//! another agent.

pub(super) mod approvals;
pub(super) mod saved;

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::agent::{
    Agent, Cancel, EventKind, Inbox, InboxMessage, Outcome, PendingReport, RunMode, Spawn, Status, StopCause, Urgency,
};
use crate::message::{AgentId, MessageId};
use crate::subagent::main_agent::connection::{ModelRequest, ModelScope, ResolveModel};
use crate::subagent::tree::{Parent, Tree};
use crate::subagent::workspace::IsolationSpec;

/// All of them, by number.
pub(in crate::subagent) type Registry = BTreeMap<AgentId, AgentEntry>;

pub(in crate::subagent) struct AgentEntry {
    pub(in crate::subagent) name: String,
    pub(in crate::subagent) agent_type: String,
    pub(in crate::subagent) parent: AgentId,
    pub(in crate::subagent) run_mode: RunMode,
    pub(in crate::subagent) wants_report: bool,
    /// Takes its report to the call that waits for it.
    pub(in crate::subagent) waiter: Option<oneshot::Sender<ChildResult>>,
    pub(in crate::subagent) running: Option<RunHandle>,
    /// How often it was begun.
    pub(in crate::subagent) runs: u32,
    /// What it takes to run it once more.
    pub(in crate::subagent) template: Template,
    /// What came of it last.
    pub(in crate::subagent) last: Option<ChildResult>,
}

/// How a living subagent is reached.
#[derive(Clone)]
pub(in crate::subagent) struct RunHandle {
    pub(in crate::subagent) cancel: Cancel,
    pub(in crate::subagent) work: Cancel,
    pub(in crate::subagent) inbox: Inbox,
    pub(in crate::subagent) since: Instant,
}

impl AgentEntry {
    /// Lets another model answer it from its next run on, and says so in a sentence.
    fn use_model(&mut self, name: &str, resolve: &ResolveModel) -> String {
        let Template::Ready(template) = &mut self.template else {
            return format!("{} keeps its model: resume the agent first.", self.name);
        };
        let own = &template.own;
        let request = ModelRequest { name, scope: ModelScope::Anywhere, parent: &own.connection, main: &own.main };
        match resolve(&request) {
            Ok(connection) => {
                let words = format!("{} uses {} starting with its next run.", self.name, connection.model.display);
                template.agent.provider = connection.provider.clone();
                template.agent.model = connection.model.clone();
                template.own.connection = connection;
                words
            }
            Err(why) => format!("{} keeps its model: {why}", self.name),
        }
    }

    /// Returns what its parent's inbox notes of its report, where no call waits for it.
    pub(in crate::subagent) fn pending_report(&self) -> PendingReport {
        match self.run_mode {
            RunMode::Foreground => PendingReport::Awaited,
            RunMode::Background => PendingReport::Expected,
        }
    }
}

impl RunHandle {
    pub(in crate::subagent) fn of(agent: &Agent) -> Self {
        Self {
            cancel: agent.cancel.clone(),
            work: agent.work.clone(),
            inbox: agent.inbox.clone(),
            since: Instant::now(),
        }
    }
}

/// What is known of it for another run.
pub(in crate::subagent) enum Template {
    Ready(Box<AgentTemplate>),
    /// It worked in an earlier run of the program; what it may do is looked up when it goes on.
    Saved(Box<Spawn>),
}

impl Template {
    pub(in crate::subagent) fn ready(&self) -> Option<&AgentTemplate> {
        match self {
            Self::Ready(template) => Some(template),
            Self::Saved(_) => None,
        }
    }
}

/// What it takes to run a subagent once more.
pub(in crate::subagent) struct AgentTemplate {
    pub(in crate::subagent) agent: Agent,
    /// What it can hand on.
    pub(in crate::subagent) own: Parent,
    /// What it takes to have it work apart, if it is to.
    pub(in crate::subagent) isolation: Option<IsolationSpec>,
}

/// What comes back from a delegation.
#[derive(Debug, Clone)]
pub(in crate::subagent) struct ChildResult {
    pub(in crate::subagent) report: String,
    pub(in crate::subagent) outcome: Outcome,
}

impl Tree {
    /// Stops one subagent and all below it.
    pub fn stop(&self, agent: AgentId, cause: StopCause) {
        if let Some(running) = self.running(agent) {
            running.cancel.stop(cause);
        }
    }

    /// Asks one subagent to report in one last turn without tools.
    pub fn wrap_up(&self, agent: AgentId) {
        if let Some(running) = self.running(agent) {
            running.work.stop(StopCause::User);
        }
    }

    /// Lets another model answer a subagent from its next run on, and says so.
    pub(in crate::subagent) async fn use_model(&self, agent: AgentId, name: &str) {
        let said = {
            let mut registry = self.registry();
            let Some(entry) = registry.get_mut(&agent) else { return };
            entry.use_model(name, &self.setup().resolve_model)
        };
        self.sink().notify(said).await;
    }

    /// Stops every subagent, and returns those that worked.
    pub fn stop_all(&self, cause: StopCause) -> Vec<AgentId> {
        let running = |(id, entry): (&AgentId, &AgentEntry)| Some((*id, entry.running.clone()?));
        let all: Vec<(AgentId, RunHandle)> = self.registry().iter().filter_map(running).collect();
        let stop = |(id, running): (AgentId, RunHandle)| {
            running.cancel.stop(cause);
            id
        };
        all.into_iter().map(stop).collect()
    }

    /// Stops a subagent for which nobody waits any more, if its call did until now.
    pub(in crate::subagent) fn stop_waited(&self, agent: AgentId) {
        let waited =
            self.registry().get(&agent).filter(|entry| entry.waiter.is_some()).map(|entry| entry.running.clone());
        if let Some(running) = waited.flatten() {
            running.cancel.stop(StopCause::Parent);
        }
    }

    /// Stops the subagents that an agent waits for although no call of it does: those that were moved back to the
    /// foreground.
    pub(in crate::subagent) fn stop_moved(&self, parent: AgentId) {
        let registry = self.registry();
        let waited = registry.values().filter(|entry| entry.parent == parent && entry.run_mode == RunMode::Foreground);
        for entry in waited.filter(|entry| entry.waiter.is_none() && entry.wants_report) {
            if let Some(running) = &entry.running {
                running.cancel.stop(StopCause::User);
            }
        }
    }

    /// Sends a message to one subagent. An ended one does not read it; the event of its end, before or after, shows
    /// that to the sender.
    pub(in crate::subagent) fn send_message(&self, agent: AgentId, message: InboxMessage) {
        if let Some(running) = self.running(agent) {
            let _ = running.inbox.push(message);
        }
    }

    /// Takes back a message of the user's that one subagent has not read.
    pub(in crate::subagent) fn untell(&self, agent: AgentId, id: MessageId) {
        if let Some(running) = self.running(agent) {
            running.inbox.take_back(id);
        }
    }

    /// Waits until no subagent lives.
    pub(in crate::subagent) async fn settled(&self) {
        loop {
            let mut ended = std::pin::pin!(self.ended().notified());
            ended.as_mut().enable();
            if self.registry().values().all(|entry| entry.running.is_none()) {
                return;
            }
            ended.await;
        }
    }

    /// Forgets all subagents but those that were `stopped` for it, which can be resumed. Nobody wants their reports, nor
    /// those of any that is still on its way to its end.
    pub(in crate::subagent) fn forget(&self, stopped: &[AgentId]) {
        let mut registry = self.registry();
        registry.retain(|id, entry| entry.running.is_some() || stopped.contains(id));
        registry.values_mut().for_each(|entry| entry.wants_report = false);
        self.inbox().clear();
    }

    /// Wants no report any more of these subagents and those after them.
    pub(in crate::subagent) fn disown_from(&self, first: Option<AgentId>) {
        let Some(first) = first else { return };
        self.registry().range_mut(first..).for_each(|(_, entry)| entry.wants_report = false);
        self.inbox().forget_reports_from(first);
    }

    /// Returns `true` if a subagent lives.
    pub(in crate::subagent) fn is_busy(&self) -> bool {
        self.registry().values().any(|entry| entry.running.is_some())
    }

    pub(in crate::subagent) fn running(&self, agent: AgentId) -> Option<RunHandle> {
        self.registry().get(&agent)?.running.clone()
    }

    /// Moves one living subagent to the background or back. Its parent goes on, or waits before it goes on.
    pub(in crate::subagent) async fn move_to(&self, agent: AgentId, run_mode: RunMode) {
        if self.place_on(agent, run_mode) == Moved::Yes {
            self.sink().emit_unhindered(agent, EventKind::Moved { run_mode }).await;
        }
    }

    /// Moves the subagents that an agent waits for to the background.
    pub(in crate::subagent) async fn release(&self, parent: AgentId) {
        let waited: Vec<AgentId> = {
            let registry = self.registry();
            let of = registry.iter().filter(|(_, entry)| entry.parent == parent && entry.running.is_some());
            of.filter(|(_, entry)| entry.run_mode == RunMode::Foreground).map(|(id, _)| *id).collect()
        };
        for agent in waited {
            self.move_to(agent, RunMode::Background).await;
        }
    }

    fn place_on(&self, agent: AgentId, run_mode: RunMode) -> Moved {
        let mut registry = self.registry();
        let Some(parent) = registry.get(&agent).map(|entry| entry.parent) else { return Moved::No };
        let inbox = self.inbox_in(&registry, parent);
        let Some(entry) = registry.get_mut(&agent).filter(|entry| entry.running.is_some()) else { return Moved::No };
        let may = entry.run_mode != run_mode && entry.wants_report;
        let Some(inbox) = inbox.filter(|_| may) else { return Moved::No };
        match (run_mode, entry.waiter.take()) {
            // Its call returns when nobody can send to it any more.
            (RunMode::Background, Some(_)) => inbox.expect(PendingReport::Expected),
            (RunMode::Background, None) => {
                inbox.expect(PendingReport::Expected);
                inbox.resolve(PendingReport::Awaited);
            }
            (RunMode::Foreground, _) => {
                inbox.expect(PendingReport::Awaited);
                inbox.resolve(PendingReport::Expected);
            }
        }
        entry.run_mode = run_mode;
        Moved::Yes
    }

    pub(in crate::subagent) fn inbox_in(&self, registry: &Registry, agent: AgentId) -> Option<Inbox> {
        if agent.is_main() {
            return Some(self.inbox().clone());
        }
        registry.get(&agent)?.running.as_ref().map(|running| running.inbox.clone())
    }

    /// Hands over what came of a run, and counts the subagent as living no more.
    pub(in crate::subagent) fn deliver(&self, agent: AgentId, delivered: ChildResult) {
        let mut registry = self.registry();
        let Some(entry) = registry.get_mut(&agent) else { return };
        let running = entry.running.take();
        let cause = running.as_ref().and_then(|running| running.cancel.cause());
        let unread = running.map(|running| running.inbox.unread_reports()).filter(|_| entry.wants_report);
        entry.last = Some(delivered.clone());
        let (parent, debt) = (entry.parent, entry.pending_report());
        if let Some(waiter) = entry.waiter.take() {
            // Whoever does not wait any more was stopped with all below it.
            let _ = waiter.send(delivered);
        } else if entry.wants_report {
            self.post(&registry, (agent, parent), (delivered, cause), debt);
        }
        unread.into_iter().flatten().for_each(|message| self.hand_up(&registry, parent, message));
        drop(registry);
        self.ended().notify_waiters();
    }

    /// Leaves a report with the nearest agent above that can still read it.
    fn post(
        &self,
        registry: &Registry,
        (agent, parent): (AgentId, AgentId),
        (delivered, cause): (ChildResult, Option<StopCause>),
        debt: PendingReport,
    ) {
        let message = match (delivered.outcome.status, cause) {
            (Status::Cancelled, Some(StopCause::Quit)) => None,
            (Status::Cancelled, Some(StopCause::Parent)) if went_down(registry, parent) => None,
            // Whom the user has stopped nobody needs to be woken for.
            (Status::Cancelled, _) => Some(InboxMessage::report(agent, delivered.report, Urgency::Later)),
            _ => Some(InboxMessage::report(agent, delivered.report, Urgency::NextStep)),
        };
        if let Some(message) = message {
            self.hand_up(registry, parent, message);
        }
        if let Some(inbox) = self.inbox_in(registry, parent) {
            inbox.resolve(debt);
        }
    }

    /// Sends a message to this agent, or with the nearest above it that can still read it.
    fn hand_up(&self, registry: &Registry, mut above: AgentId, mut message: InboxMessage) {
        loop {
            message = match self.inbox_in(registry, above).map(|inbox| inbox.push(message.clone())) {
                Some(Ok(())) => return,
                Some(Err(unread)) => unread,
                None => message,
            };
            if above.is_main() {
                return;
            }
            above = registry.get(&above).map_or(AgentId::MAIN, |entry| entry.parent);
        }
    }
}

/// Returns `true` if an agent was itself stopped, so that it need not know what stopped with it.
fn went_down(registry: &Registry, parent: AgentId) -> bool {
    let above = registry.get(&parent);
    above.is_some_and(|above| above.running.as_ref().is_none_or(|running| running.cancel.cause().is_some()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moved {
    Yes,
    No,
}
