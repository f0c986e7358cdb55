//! The live tree: who exists, who may be spawned, and how one of them is stopped.
//!
//! Spawning is concurrent and visible at once; what does not fit waits, visible as queued. A child's task is owned
//! here: as long as it has not returned, the child has not ended.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::admission::Admitted;
use super::connection::{Connection, ResolveModel};
use super::life::{Life, StopOnDrop};
use super::limits::{Refusal, TreeLimits};
use super::loadout::{Delegation, Loadout};
use super::memory::UserDirs;
use super::prompt::{self, Surroundings};
use super::report::{ReportSource, cut, report};
use super::task::{AgentInput, AgentTool};
use crate::agent::{
    Agent, Author, Budget, Cancel, EventKind, Ground, Inbox, LastWords, Outcome, Place, Sink, Spawn, Status, StopCause,
    run,
};
use crate::definition::Catalog;
use crate::message::{AgentId, Transcript, Usage};
use crate::permission::{Approver, Permissions};
use crate::session::Secrets;
use crate::tool::ToolSet;

/// Keeps a report that was too long for the parent and returns where it lies.
pub type KeepReport = Arc<dyn Fn(String, String) -> BoxFuture<'static, Option<PathBuf>> + Send + Sync>;

/// Everything a tree is made of.
pub struct TreeSetup {
    /// The agents on offer.
    pub catalog: Arc<Catalog>,
    /// Limits of the tree.
    pub limits: TreeLimits,
    /// What all its agents may use together.
    pub budget: Budget,
    /// Tools of the main agent; children get a part of them.
    pub tools: ToolSet,
    /// Where the agents work.
    pub place: Place,
    /// What they may do.
    pub permissions: Permissions,
    /// Who is asked otherwise.
    pub approver: Arc<dyn Approver>,
    /// Where events go.
    pub sink: Sink,
    /// What of a tool's output nobody gets to see.
    pub secrets: Secrets,
    /// Facts for the prompts.
    pub surroundings: Surroundings,
    /// How a named model is found.
    pub resolve_model: ResolveModel,
    /// The model of all subagents for which the call names none (`CLAUDE_CODE_SUBAGENT_MODEL`).
    pub subagent_model: Option<String>,
    /// The user's own folders.
    pub user_dirs: UserDirs,
    /// How a long report is kept: called with the agent's name and the report.
    pub keep_report: KeepReport,
}

/// A handle to the tree; clones share it.
#[derive(Clone)]
pub struct Tree(Arc<Shared>);

struct Shared {
    setup: TreeSetup,
    next_id: AtomicU32,
    spawned_for_request: AtomicU32,
    /// One pool for each depth: a parent that waits for its children then never holds what they wait for.
    pools: Vec<Arc<Semaphore>>,
    live: Mutex<HashMap<AgentId, Living>>,
    /// Told of each end.
    ended: Notify,
}

/// How a living subagent is reached.
#[derive(Clone)]
pub(super) struct Living {
    pub(super) cancel: Cancel,
    pub(super) inbox: Inbox,
}

/// The agent that delegates.
#[derive(Clone)]
pub struct Parent {
    /// Its number.
    pub id: AgentId,
    /// Its depth.
    pub depth: u32,
    /// Who answers it.
    pub connection: Connection,
    /// Who answers the main agent.
    pub main: Connection,
    /// What it can hand on.
    pub loadout: Loadout,
    /// Its cancel token; children hang below it.
    pub cancel: Cancel,
}

/// What comes back from a delegation.
#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) report: String,
    pub(super) outcome: Outcome,
}

/// What a child is sent out for.
pub(super) struct Errand<'a> {
    pub(super) call_id: &'a str,
    pub(super) description: &'a str,
    /// The message that its transcript begins with.
    pub(super) task: String,
}

/// A child that has come back.
pub(super) struct Returned {
    name: String,
    outcome: Outcome,
    transcript: Transcript,
}

impl Tree {
    /// Returns an empty tree.
    #[must_use]
    pub fn new(setup: TreeSetup) -> Self {
        // The user's own errands need a place also where models may not delegate.
        let pools =
            (0..setup.limits.max_depth.max(1)).map(|_| Arc::new(Semaphore::new(setup.limits.max_parallel.max(1))));
        Self(Arc::new(Shared {
            pools: pools.collect(),
            setup,
            next_id: AtomicU32::new(1),
            spawned_for_request: AtomicU32::new(0),
            live: Mutex::default(),
            ended: Notify::new(),
        }))
    }

    /// Returns what the tree is made of.
    #[must_use]
    pub fn setup(&self) -> &TreeSetup {
        &self.0.setup
    }

    /// Returns the agents on offer.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.0.setup.catalog
    }

    /// Starts counting spawns anew: a new user message is being answered.
    pub fn begin_request(&self) {
        self.0.spawned_for_request.store(0, Ordering::Relaxed);
    }

    /// Stops one subagent and all below it.
    pub fn stop(&self, agent: AgentId, cause: StopCause) {
        let living = self.live().get(&agent).cloned();
        if let Some(living) = living {
            living.cancel.stop(cause);
        }
    }

    /// Leaves a message for one subagent, which reads it before its next request. One that has ended does not hear it;
    /// its end, told of before or after, is how the sender knows.
    pub(super) fn tell(&self, agent: AgentId, text: String) {
        if let Some(living) = self.live().get(&agent) {
            living.inbox.put(text);
        }
    }

    /// Takes back the messages that one subagent has not read.
    pub(super) fn untell(&self, agent: AgentId) {
        if let Some(living) = self.live().get(&agent) {
            // The sender still has them.
            let _ = living.inbox.take();
        }
    }

    /// Stops every subagent.
    pub fn stop_all(&self, cause: StopCause) {
        let all: Vec<Living> = self.live().values().cloned().collect();
        for living in all {
            living.cancel.stop(cause);
        }
    }

    /// Waits until no subagent lives.
    pub(super) async fn settled(&self) {
        loop {
            let ended = self.0.ended.notified();
            if self.live().is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn live(&self) -> std::sync::MutexGuard<'_, HashMap<AgentId, Living>> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a subagent as living.
    pub(super) fn enter(&self, agent: AgentId, living: Living) {
        self.live().insert(agent, living);
    }

    /// Counts a subagent as living no more.
    pub(super) fn leave(&self, agent: AgentId) {
        self.live().remove(&agent);
        self.0.ended.notify_waiters();
    }

    /// Returns what the main agent can hand on if it is no definition's.
    #[must_use]
    pub fn whole_loadout(&self) -> Loadout {
        let setup = self.setup();
        Loadout { tools: setup.tools.clone(), delegation: self.depth_allows(0), permissions: setup.permissions.clone() }
    }

    /// Tells whether an agent at this depth may have subagents.
    pub(super) fn depth_allows(&self, depth: u32) -> Delegation {
        if depth < self.setup().limits.max_depth { Delegation::Open } else { Delegation::Closed }
    }

    /// Returns the tools that an agent is offered: its own, and `Agent` if it may have subagents.
    #[must_use]
    pub fn offered_tools(&self, agent: Parent) -> ToolSet {
        let tools = agent.loadout.tools.clone();
        match agent.loadout.delegation {
            Delegation::Closed => tools,
            Delegation::Open => tools.with(Arc::new(AgentTool::new(self.clone(), agent))),
        }
    }

    /// Counts a spawn, if one more may be made for this request.
    pub(super) fn reserve(&self) -> Result<(), Refusal> {
        let limit = self.setup().limits.max_per_request;
        let reserve = |count: u32| (count < limit).then_some(count + 1);
        let reserved = self.0.spawned_for_request.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve);
        reserved.map(drop).map_err(|_| Refusal::TooMany { limit })
    }

    /// Runs a subagent from spawn to report.
    pub(super) async fn delegate(
        &self,
        parent: &Parent,
        input: &AgentInput,
        call_id: &str,
    ) -> Result<Delivered, Refusal> {
        let admitted = self.admit(parent, input)?;
        let definition = admitted.definition.clone();
        let errand = Errand {
            call_id,
            description: &input.description,
            task: prompt::task(&input.prompt, input.context.as_deref()),
        };
        let Returned { name, outcome, transcript } = self.send_out(parent, admitted, errand).await;
        let whole = report(&ReportSource {
            name: &name,
            agent_type: &definition.name,
            outcome: &outcome,
            transcript: &transcript,
            project: &self.0.setup.place.project,
        });
        Ok(Delivered { report: self.bounded(name, whole).await, outcome })
    }

    /// Runs an admitted subagent from its spawn, which is told of, to its end.
    pub(super) async fn send_out(&self, parent: &Parent, admitted: Admitted, errand: Errand<'_>) -> Returned {
        let Errand { call_id, description, task } = errand;
        let definition = admitted.definition.clone();
        let (id, name) = self.next_name(&definition.name);
        let cancel = parent.cancel.child();
        let memory = self.recall(&definition, &cancel).await;
        let note = admitted.note.clone();
        let agent = self.child(parent, admitted, memory.as_ref(), (id, cancel.clone()));
        let life = Life::begin(self, id, cancel.clone(), agent.inbox.clone());
        let spawn = Spawn {
            parent: parent.id,
            call_id: call_id.to_owned(),
            name: name.clone(),
            agent_type: definition.name.clone(),
            color: definition.color.clone(),
            description: description.trim().to_owned(),
            prompt: task.clone(),
            model: agent.model.display.clone(),
            tools: agent.tools.names().map(str::to_owned).collect(),
            bounds: agent.bounds(),
            ground: Ground::Foreground,
        };
        self.sink().send_until(id, EventKind::Spawned(spawn), &cancel).await;
        if let Some(text) = note {
            self.sink().send_until(id, EventKind::Notice { text }, &cancel).await;
        }
        let (outcome, transcript) = self.live_out(agent, task, life).await;
        Returned { name, outcome, transcript }
    }

    /// Returns the next number and the name that a subagent of this type gets with it.
    pub(super) fn next_name(&self, agent_type: &str) -> (AgentId, String) {
        let id = AgentId(self.0.next_id.fetch_add(1, Ordering::Relaxed));
        (id, format!("{agent_type}-{}", id.0))
    }

    pub(super) fn sink(&self) -> &Sink {
        &self.0.setup.sink
    }

    /// Waits for a place, then runs the agent as a task of its own until that has returned. If nobody waits for it any
    /// more, the agent is stopped and ends on its own.
    async fn live_out(&self, agent: Agent, task: String, life: Life) -> (Outcome, Transcript) {
        let transcript = Transcript::with_task(task.clone());
        let before = transcript.clone();
        let Some(place) = self.place(agent.depth, &agent.cancel).await else {
            let outcome = Outcome::unstarted(Status::Cancelled, "Stopped before it began.");
            life.end(&outcome).await;
            return (outcome, transcript);
        };
        let _stop = StopOnDrop(agent.cancel.clone());
        let running = tokio::spawn(async move {
            let _place = place;
            agent
                .sink
                .send_until(agent.id, EventKind::UserMessage { text: task, by: Author::User }, &agent.cancel)
                .await;
            if let Ok(result) = AssertUnwindSafe(run(&agent, transcript.clone())).catch_unwind().await {
                life.has_ended();
                return result;
            }
            tracing::error!(agent = %agent.id, "a subagent broke");
            let outcome = Outcome::broken();
            life.end(&outcome).await;
            (outcome, transcript)
        });
        // It fails only if the program's threads end before it.
        running.await.unwrap_or_else(|_| (Outcome::broken(), before))
    }

    async fn place(&self, depth: u32, cancel: &Cancel) -> Option<OwnedSemaphorePermit> {
        let pool = self.0.pools.get(depth.checked_sub(1)? as usize)?.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            place = pool.acquire_owned() => place.ok(),
        }
    }

    async fn bounded(&self, name: String, whole: String) -> String {
        let limit = self.0.setup.limits.report_chars;
        if whole.chars().nth(limit).is_none() {
            return whole;
        }
        let kept = (self.0.setup.keep_report)(name, whole.clone()).await;
        cut(&whole, limit, kept.as_deref())
    }
}

impl Outcome {
    /// Returns the outcome of a run that a fault of this program ended.
    pub(super) fn broken() -> Self {
        Self::unstarted(Status::Failed, "The agent broke inside (a fault of this program).")
    }

    /// Returns the outcome of a run that never began.
    pub(super) fn unstarted(status: Status, reason: &str) -> Self {
        Self {
            status,
            text: String::new(),
            words: LastWords::Partial,
            reason: Some(reason.to_owned()),
            turns: 0,
            tool_calls: 0,
            usage: Usage::default(),
            cost_usd: None,
            elapsed_ms: 0,
            files: crate::agent::FileTally::default(),
        }
    }
}
