//! Spawning subagents, waiting for them, and resuming them.
//!
//! Owns the way from an admitted call to its report, and what becomes of a wait that is given up. Leaves refusals to
//! `admission`, runs to `run_guard` and reports to `registry`. Invariant: a subagent is on screen before anything is waited for.

pub(super) mod admission;
pub(super) mod capabilities;
pub(super) mod hooks;
pub(super) mod launchers;
pub(super) mod memory;
pub(super) mod memory_files;
pub(super) mod prompt;
pub(super) mod slot_queue;

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Author, Cancel, EventKind, Inbox, PendingReport, RunMode, Spawn, SpawnOptions};
use crate::definition::Isolation;
use crate::message::{AgentId, MessageId};
use crate::subagent::limits::Refusal;
use crate::subagent::registry::{AgentEntry, ChildResult, Registry, RunHandle, Template};
use crate::subagent::run::run_guard::{RunGuard, RunInput};
use crate::subagent::spawn::admission::Admitted;
use crate::subagent::spawn::hooks::untrusted_note;
use crate::subagent::spawn::slot_queue::SlotQueue;
use crate::subagent::tools::agent_tool::AgentInput;
use crate::subagent::tree::{Parent, Tree};

pub(in crate::subagent) struct SpawnRequest<'a> {
    pub(in crate::subagent) call_id: &'a str,
    pub(in crate::subagent) description: &'a str,
    /// The message that its transcript begins with.
    pub(in crate::subagent) task: String,
    pub(in crate::subagent) run_mode: RunMode,
    pub(in crate::subagent) wants_report: bool,
    pub(in crate::subagent) options: Box<SpawnOptions>,
}

pub(in crate::subagent) struct ChildHandle {
    tree: Tree,
    pub(in crate::subagent) id: AgentId,
    pub(in crate::subagent) name: String,
    /// Its report; without a sender it goes elsewhere.
    report: oneshot::Receiver<ChildResult>,
}

/// The result of a delegation for the agent that delegates.
pub(in crate::subagent) enum SpawnResult {
    Report(Box<ChildResult>),
    /// It works on; its report arrives as a message.
    Background {
        name: String,
    },
}

/// How long the user's commands wait for one that has ended to hand its report over, after its worktree was looked through and
/// its report judged.
const HANDING_OVER: Duration = Duration::from_mins(1);

/// The message that resumes a subagent when the user gives none.
pub(in crate::subagent) const GO_ON: &str =
    "Continue where you stopped and finish your task. Then report as you were asked to.";

impl Tree {
    /// Runs a subagent from spawn, or from where it ended, to its report. `stop` gives the wait up.
    pub(in crate::subagent) async fn delegate(
        &self,
        parent: &Parent,
        input: &AgentInput,
        call_id: &str,
        stop: CancellationToken,
    ) -> Result<SpawnResult, Refusal> {
        let run_mode = if input.run_in_background { RunMode::Background } else { RunMode::Foreground };
        let sent = if let Some(wanted) = &input.resume {
            let id = self.child_of(parent.id, wanted)?;
            self.make_ready(id, parent).await?;
            self.reserve()?;
            let next = prompt::task(&input.prompt, input.context.as_deref());
            self.resume_run(id, run_mode, (next, Author::Parent, None)).await?
        } else {
            let admitted = self.admit(parent, input)?;
            let run_mode = if admitted.definition.background { RunMode::Background } else { run_mode };
            let request = SpawnRequest {
                call_id,
                description: &input.title(),
                task: prompt::task(&input.prompt, input.context.as_deref()),
                run_mode,
                wants_report: true,
                options: Box::new(input.options()),
            };
            self.spawn(parent, admitted, request).await
        };
        Ok(sent.wait(stop).await)
    }

    /// Resumes an ended subagent in the background, at the user's request. Emits a notice if that cannot be.
    pub(in crate::subagent) async fn resume(&self, agent: AgentId, message: Option<(MessageId, String)>) {
        let words = match message {
            Some((id, text)) => (text, Author::User, Some(id)),
            None => (GO_ON.to_owned(), Author::Program, None),
        };
        if self.running(agent).is_some_and(|running| running.inbox.is_closed()) {
            // Its end was emitted; its report is still on the way.
            let _ = timeout(HANDING_OVER, self.ended_one(agent)).await;
        }
        if let Err(refusal) = self.resume_run(agent, RunMode::Background, words).await {
            self.sink().emit_unhindered(agent, EventKind::Notice { text: refusal.to_string() }).await;
        }
    }

    pub(in crate::subagent) async fn spawn(
        &self,
        parent: &Parent,
        admitted: Admitted,
        request: SpawnRequest<'_>,
    ) -> ChildHandle {
        let SpawnRequest { call_id, description, task, run_mode, wants_report, mut options } = request;
        // Where it runs is part of what is resumed, and shown.
        if let Some(isolation @ Isolation::Launcher(_)) = &admitted.isolation {
            options.isolation = Some(isolation.clone());
        }
        let definition = admitted.definition.clone();
        let (id, name) = self.next_name(&definition.name);
        let slot =
            SlotQueue::join(self.places(parent.depth + 1, admitted.isolation.as_ref().and_then(Isolation::launcher)));
        let cancel = parent.cancel.child();
        let memory = self.recall(&definition, &cancel).await;
        let mut notes = admitted.notes.clone();
        let (agent, template) = self.child(parent, admitted, memory.as_ref(), (id, &name, cancel.clone()));
        notes.extend(agent.hooks.untrusted().map(|hook| untrusted_note(&definition, &hook)));
        let (waiter, report) = oneshot::channel();
        self.register(
            parent.id,
            AgentEntry {
                name: name.clone(),
                agent_type: definition.name.clone(),
                parent: parent.id,
                run_mode,
                wants_report,
                waiter: (run_mode == RunMode::Foreground).then_some(waiter),
                running: Some(RunHandle::of(&agent)),
                runs: 1,
                template: Template::Ready(Box::new(template)),
                last: None,
            },
            id,
        );
        let guard = RunGuard::begin(self, &agent, (&name, &definition.name));
        let sent = ChildHandle { tree: self.clone(), id, name: name.clone(), report };
        let spawn = Spawn {
            parent: parent.id,
            call_id: call_id.to_owned(),
            name,
            agent_type: definition.name.clone(),
            color: definition.color.clone(),
            description: description.trim().to_owned(),
            prompt: task.clone(),
            model: agent.model.display.clone(),
            tools: agent.tools.names().map(str::to_owned).collect(),
            bounds: agent.bounds(),
            run_mode,
            options,
        };
        self.sink().emit_until(id, EventKind::Spawned(spawn), &cancel).await;
        for text in notes {
            self.sink().emit_until(id, EventKind::Notice { text }, &cancel).await;
        }
        tokio::spawn(guard.supervise(agent, slot, RunInput::Task(task)));
        sent
    }

    fn register(&self, parent: AgentId, entry: AgentEntry, id: AgentId) {
        let mut registry = self.registry();
        if entry.run_mode == RunMode::Background
            && let Some(inbox) = self.inbox_in(&registry, parent)
        {
            inbox.expect(PendingReport::Expected);
        }
        registry.insert(id, entry);
    }

    /// Begins another run of a subagent that has ended, in the same pane.
    pub(in crate::subagent) async fn resume_run(
        &self,
        id: AgentId,
        run_mode: RunMode,
        (text, by, message): (String, Author, Option<MessageId>),
    ) -> Result<ChildHandle, Refusal> {
        let (waiter, report) = oneshot::channel();
        let waiter = (run_mode == RunMode::Foreground).then_some(waiter);
        let (agent, name, agent_type, run) = self.revive(id, run_mode, waiter)?;
        let slot = SlotQueue::join(self.places(agent.depth, agent.launcher()));
        let guard = RunGuard::begin(self, &agent, (&name, &agent_type));
        let sent = ChildHandle { tree: self.clone(), id, name, report };
        self.sink().emit_until(id, EventKind::Resumed { run, run_mode }, &agent.cancel).await;
        tokio::spawn(guard.supervise(agent, slot, RunInput::Next { text, by, message, runs: run - 1 }));
        Ok(sent)
    }

    /// Counts an ended subagent as living again, with what its new run is made of.
    fn revive(
        &self,
        id: AgentId,
        run_mode: RunMode,
        waiter: Option<oneshot::Sender<ChildResult>>,
    ) -> Result<(Agent, String, String, u32), Refusal> {
        let mut registry = self.registry();
        let parent = registry
            .get(&id)
            .map(|entry| entry.parent)
            .ok_or(Refusal::NoSuchAgent { wanted: id.to_string(), known: String::from("none with that number") })?;
        let above =
            registry.get(&parent).and_then(|entry| entry.running.as_ref()).map(|running| running.cancel.clone());
        let reports_to = self.inbox_in(&registry, parent);
        let inbox = inbox_above(&registry, id);
        let Some(entry) = registry.get_mut(&id) else { return Err(Refusal::StillWorks { name: id.to_string() }) };
        if entry.running.is_some() {
            return Err(Refusal::StillWorks { name: entry.name.clone() });
        }
        let cancel = above.map_or_else(Cancel::default, |above| above.child());
        let Some(template) = entry.template.ready() else {
            return Err(Refusal::NotReady { name: entry.name.clone() });
        };
        let own = Parent { cancel: cancel.clone(), ..template.own.clone() };
        let skills = Some(self.skill_host(&own));
        let (tools, work) = (self.offered_tools(own), cancel.child());
        let agent = Agent { tools, skills, inbox, cancel, work, ..template.agent.clone() };
        entry.running = Some(RunHandle::of(&agent));
        entry.runs += 1;
        entry.run_mode = run_mode;
        entry.waiter = waiter;
        if let (RunMode::Background, true, Some(inbox)) = (run_mode, entry.wants_report, reports_to) {
            inbox.expect(PendingReport::Expected);
        }
        Ok((agent, entry.name.clone(), entry.agent_type.clone(), entry.runs))
    }

    /// Finds a subagent of an agent by its name or number.
    pub(in crate::subagent) fn child_of(&self, parent: AgentId, wanted: &str) -> Result<AgentId, Refusal> {
        let registry = self.registry();
        let own = || {
            let of = registry.iter().filter(|(_, entry)| entry.parent == parent);
            of.filter(|(_, entry)| entry.wants_report)
        };
        let wanted = wanted.trim();
        own().find(|(id, entry)| entry.name == wanted || wanted.parse() == Ok(id.0)).map(|(id, _)| *id).ok_or_else(
            || {
                let known: Vec<&str> = own().map(|(_, entry)| entry.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Refusal::NoSuchAgent { wanted: wanted.to_owned(), known }
            },
        )
    }
}

/// Returns a new inbox for an agent whose subagents of an earlier run may still work for it.
fn inbox_above(registry: &Registry, parent: AgentId) -> Inbox {
    let inbox = Inbox::default();
    let own = registry.values().filter(|entry| entry.parent == parent && entry.wants_report);
    for entry in own.filter(|entry| entry.running.is_some() && entry.waiter.is_none()) {
        inbox.expect(entry.pending_report());
    }
    inbox
}

impl ChildHandle {
    /// Waits for the report, or until it is to arrive otherwise. Once the wait is given up, the subagent is stopped and
    /// its end waited for.
    pub(in crate::subagent) async fn wait(mut self, stop: CancellationToken) -> SpawnResult {
        let name = self.name.clone();
        let came = tokio::select! {
            biased;
            came = &mut self.report => came,
            () = stop.cancelled() => {
                self.give_up();
                (&mut self.report).await
            }
        };
        match came {
            Ok(delivered) => SpawnResult::Report(Box::new(delivered)),
            Err(_) => SpawnResult::Background { name },
        }
    }

    fn give_up(&self) {
        self.tree.stop_waited(self.id);
    }
}

impl Drop for ChildHandle {
    fn drop(&mut self) {
        self.give_up();
    }
}
