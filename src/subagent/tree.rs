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

use super::life::{Life, StopOnDrop};
use super::limits::{Refusal, TreeLimits};
use super::prompt::{self, Surroundings};
use super::report::{ReportSource, cut, report};
use super::task::{AGENT_TOOL, AgentInput, AgentTool};
use crate::agent::{Agent, Cancel, EventKind, Limits, Outcome, Place, Sink, Spawn, Status, StopCause, run};
use crate::definition::{AgentDefinition, Catalog, ToolsField};
use crate::message::{AgentId, Transcript, Usage, canonical_name};
use crate::permission::{Approver, Permissions};
use crate::provider::{Model, Provider};
use crate::session::Secrets;
use crate::tool::{Freshness, ToolSet};

/// Who answers an agent.
#[derive(Clone)]
pub struct Connection {
    /// The service.
    pub provider: Arc<dyn Provider>,
    /// The model.
    pub model: Arc<Model>,
}

/// Finds the connection for a model that a call or a definition names; `Err` says what is wrong with the name.
pub type ResolveModel = Arc<dyn Fn(&str, &Connection) -> Result<Connection, String> + Send + Sync>;

/// Keeps a report that was too long for the parent and returns where it lies.
pub type KeepReport = Arc<dyn Fn(String, String) -> BoxFuture<'static, Option<PathBuf>> + Send + Sync>;

/// Everything a tree is made of.
pub struct TreeSetup {
    /// The agents on offer.
    pub catalog: Arc<Catalog>,
    /// Limits of the tree.
    pub limits: TreeLimits,
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
    live: Mutex<HashMap<AgentId, Cancel>>,
    /// Told of each end.
    ended: Notify,
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
    /// Its cancel token; children hang below it.
    pub cancel: Cancel,
}

/// What comes back from a delegation.
#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) report: String,
    pub(super) outcome: Outcome,
}

/// A spawn that passed every check.
pub(super) struct Admitted {
    pub(super) definition: Arc<AgentDefinition>,
    pub(super) connection: Connection,
    pub(super) tools: ToolSet,
    /// Whether it gets the `Agent` tool.
    pub(super) delegates: bool,
    pub(super) limits: Limits,
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
        let cancel = self.live().get(&agent).cloned();
        if let Some(cancel) = cancel {
            cancel.stop(cause);
        }
    }

    /// Stops every subagent.
    pub fn stop_all(&self, cause: StopCause) {
        let all: Vec<Cancel> = self.live().values().cloned().collect();
        for cancel in all {
            cancel.stop(cause);
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

    fn live(&self) -> std::sync::MutexGuard<'_, HashMap<AgentId, Cancel>> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a subagent as living.
    pub(super) fn enter(&self, agent: AgentId, cancel: Cancel) {
        self.live().insert(agent, cancel);
    }

    /// Counts a subagent as living no more.
    pub(super) fn leave(&self, agent: AgentId) {
        self.live().remove(&agent);
        self.0.ended.notify_waiters();
    }

    /// Returns the tools of an agent at this depth: its own, and `Agent` if it may have children.
    #[must_use]
    pub fn with_agent_tool(&self, tools: &ToolSet, parent: Parent) -> ToolSet {
        if parent.depth >= self.0.setup.limits.max_depth {
            return tools.clone();
        }
        tools.with(Arc::new(AgentTool::new(self.clone(), parent)))
    }

    /// Runs a subagent from spawn to report.
    pub(super) async fn delegate(
        &self,
        parent: &Parent,
        input: &AgentInput,
        call_id: &str,
    ) -> Result<Delivered, Refusal> {
        let admitted = self.admit(parent, input)?;
        let errand = Errand {
            call_id,
            description: &input.description,
            task: prompt::task(&input.prompt, input.context.as_deref()),
        };
        let Returned { name, outcome, transcript } = self.send_out(parent, &admitted, errand).await;
        let whole = report(&ReportSource {
            name: &name,
            agent_type: &admitted.definition.name,
            outcome: &outcome,
            transcript: &transcript,
            project: &self.0.setup.place.project,
        });
        Ok(Delivered { report: self.bounded(name, whole).await, outcome })
    }

    /// Runs an admitted subagent from its spawn, which is told of, to its end.
    pub(super) async fn send_out(&self, parent: &Parent, admitted: &Admitted, errand: Errand<'_>) -> Returned {
        let Errand { call_id, description, task } = errand;
        let (id, name) = self.next_name(&admitted.definition.name);
        let cancel = parent.cancel.child();
        let life = Life::begin(self, id, cancel.clone());
        let agent = self.agent(parent, admitted, id, cancel.clone());
        let spawn = Spawn {
            parent: parent.id,
            call_id: call_id.to_owned(),
            name: name.clone(),
            agent_type: admitted.definition.name.clone(),
            color: admitted.definition.color.clone(),
            description: description.trim().to_owned(),
            prompt: task.clone(),
            model: admitted.connection.model.display.clone(),
            tools: agent.tools.names().map(str::to_owned).collect(),
        };
        self.sink().send_until(id, EventKind::Spawned(spawn), &cancel).await;
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

    /// Checks everything that can be refused, the count last so that a refusal costs nothing.
    fn admit(&self, parent: &Parent, input: &AgentInput) -> Result<Admitted, Refusal> {
        let limits = &self.0.setup.limits;
        if parent.depth >= limits.max_depth {
            return Err(Refusal::TooDeep { limit: limits.max_depth });
        }
        let chars = input.prompt.trim().chars().count();
        if chars < limits.min_task_chars {
            return Err(Refusal::TooBrief { chars, least: limits.min_task_chars });
        }
        let wanted = input.subagent_type.as_deref().unwrap_or("general-purpose");
        let definition = self.catalog().get(wanted).ok_or_else(|| Refusal::UnknownType {
            wanted: wanted.to_owned(),
            available: self.catalog().names().join(", "),
        })?;
        let allowed = input.allowed_tools.as_deref();
        let delegates = parent.depth + 1 < limits.max_depth && may_delegate(&definition, allowed);
        let tools = match self.tools_for(&definition, allowed) {
            Err(Refusal::NoTools { .. }) if delegates => ToolSet::default(),
            tools => tools?,
        };
        let connection = self.connection_for(parent, &definition, input)?;
        let reserve = |count: u32| (count < limits.max_per_request).then_some(count + 1);
        self.0
            .spawned_for_request
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve)
            .map_err(|_| Refusal::TooMany { limit: limits.max_per_request })?;
        let child = Limits {
            max_turns: definition.max_turns.or(limits.child.max_turns),
            max_tool_calls: [input.max_tool_calls.map(|calls| calls.max(1)), limits.child.max_tool_calls]
                .into_iter()
                .flatten()
                .min(),
            ..limits.child.clone()
        };
        Ok(Admitted { definition, connection, tools, delegates, limits: child })
    }

    /// Filters the tools by the definition and then by the call. If entries were named and none is left, says why of
    /// each.
    pub(super) fn tools_for(
        &self,
        definition: &AgentDefinition,
        allowed: Option<&[String]>,
    ) -> Result<ToolSet, Refusal> {
        let all = &self.0.setup.tools;
        let mut tools = match &definition.tools {
            ToolsField::All => all.clone(),
            ToolsField::List(names) => all.filtered(|tool| is_listed(names, tool)),
        };
        tools = tools.filtered(|tool| !is_listed(&definition.disallowed_tools, tool));
        if let Some(allowed) = allowed {
            tools = tools.filtered(|tool| is_listed(allowed, tool));
        }
        let named = match (allowed, &definition.tools) {
            (Some(allowed), _) => allowed,
            (None, ToolsField::List(names)) => names.as_slice(),
            (None, ToolsField::All) => &[],
        };
        if !tools.is_empty() || named.is_empty() {
            return Ok(tools);
        }
        let reasons = named.iter().map(|entry| match all.find(tool_name(entry)) {
            None if canonical_name(tool_name(entry)) == AGENT_TOOL => format!("{entry} would nest too deep"),
            None => format!("{entry} is no tool"),
            Some(_) => format!("{entry} is not among the tools of this agent"),
        });
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        Err(Refusal::NoTools { agent: definition.name.clone(), reasons })
    }

    fn connection_for(
        &self,
        parent: &Parent,
        definition: &AgentDefinition,
        input: &AgentInput,
    ) -> Result<Connection, Refusal> {
        let wanted = input.model.as_deref().or(definition.model.as_deref()).filter(|model| *model != "inherit");
        let mut connection = match wanted {
            None => parent.connection.clone(),
            Some(model) => (self.0.setup.resolve_model)(model, &parent.connection).map_err(Refusal::UnknownModel)?,
        };
        if let Some(cap) = input.max_tokens {
            let mut model = Model::clone(&connection.model);
            model.max_output_tokens = model.max_output_tokens.min(cap.max(1));
            connection.model = Arc::new(model);
        }
        Ok(connection)
    }

    fn agent(&self, parent: &Parent, admitted: &Admitted, id: AgentId, cancel: Cancel) -> Agent {
        let setup = &self.0.setup;
        let depth = parent.depth + 1;
        let own = Parent { id, depth, connection: admitted.connection.clone(), cancel: cancel.clone() };
        let tools =
            if admitted.delegates { self.with_agent_tool(&admitted.tools, own) } else { admitted.tools.clone() };
        let permissions =
            if admitted.definition.reads_only() { setup.permissions.reading_only() } else { setup.permissions.clone() };
        Agent {
            id,
            depth,
            system: setup.surroundings.child_prompt(&admitted.definition, setup.limits.report_chars),
            provider: admitted.connection.provider.clone(),
            model: admitted.connection.model.clone(),
            tools,
            place: setup.place.clone(),
            permissions,
            approver: setup.approver.clone(),
            freshness: Arc::new(Freshness::default()),
            limits: admitted.limits.clone(),
            sink: setup.sink.clone(),
            secrets: setup.secrets.clone(),
            cancel,
        }
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
            agent.sink.send_until(agent.id, EventKind::UserMessage { text: task }, &agent.cancel).await;
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

/// Tells whether the definition, narrowed by the call, has the `Agent` tool.
fn may_delegate(definition: &AgentDefinition, allowed: Option<&[String]>) -> bool {
    let listed = match &definition.tools {
        ToolsField::All => true,
        ToolsField::List(names) => is_listed(names, AGENT_TOOL),
    };
    listed
        && !is_listed(&definition.disallowed_tools, AGENT_TOOL)
        && allowed.is_none_or(|names| is_listed(names, AGENT_TOOL))
}

/// Tells whether a list of tool names, some with scopes such as `Bash(git log:*)`, names the tool.
fn is_listed(names: &[String], tool: &str) -> bool {
    names.iter().any(|entry| entry == "*" || canonical_name(tool_name(entry)).eq_ignore_ascii_case(tool))
}

fn tool_name(entry: &str) -> &str {
    entry.split('(').next().unwrap_or_default().trim()
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
