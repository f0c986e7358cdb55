//! Sending subagents out, waiting for them, and having them go on.
//!
//! Owns the way from an admitted call to its report, and what becomes of a wait that is given up. Leaves refusals to
//! `admission`, runs to `life` and reports to `roster`. Invariant: a subagent is on screen before anything is waited for.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::admission::Admitted;
use super::life::{Life, Opening};
use super::limits::Refusal;
use super::line::Line;
use super::prompt;
use super::roster::{Delivered, Living, Member, Report, Roster};
use super::task::AgentInput;
use super::tree::{Parent, Tree};
use crate::agent::{Agent, Author, Cancel, Debt, EventKind, Ground, Inbox, Spawn};
use crate::message::AgentId;

/// What a child is sent out for.
pub(super) struct Errand<'a> {
    pub(super) call_id: &'a str,
    pub(super) description: &'a str,
    /// The message that its transcript begins with.
    pub(super) task: String,
    pub(super) ground: Ground,
    /// Whether any agent wants its report.
    pub(super) report: Report,
}

/// A child that is under way.
pub(super) struct Sent {
    tree: Tree,
    pub(super) id: AgentId,
    pub(super) name: String,
    /// Its report; without a sender it goes elsewhere.
    report: oneshot::Receiver<Delivered>,
}

/// What a delegation comes to for the one who delegates.
pub(super) enum Delivery {
    Report(Delivered),
    /// It works on; its report arrives as a message.
    Background {
        name: String,
    },
}

/// How long the user's commands wait for one that has ended to hand its report over.
const HANDING_OVER: Duration = Duration::from_secs(2);

/// What asks a subagent to go on that was not told what to do.
const GO_ON: &str = "Go on where you stopped, and finish your task. Then report as you were asked to.";

impl Tree {
    /// Runs a subagent from spawn, or from where it ended, to its report. `stop` gives the wait up.
    pub(super) async fn delegate(
        &self,
        parent: &Parent,
        input: &AgentInput,
        call_id: &str,
        stop: CancellationToken,
    ) -> Result<Delivery, Refusal> {
        let ground = if input.run_in_background { Ground::Background } else { Ground::Foreground };
        let sent = if let Some(wanted) = &input.resume {
            let id = self.child_of(parent.id, wanted)?;
            self.reserve()?;
            let next = prompt::task(&input.prompt, input.context.as_deref());
            self.send_again(id, ground, (next, Author::Parent)).await?
        } else {
            let admitted = self.admit(parent, input)?;
            let ground = if admitted.definition.background { Ground::Background } else { ground };
            let errand = Errand {
                call_id,
                description: &input.description,
                task: prompt::task(&input.prompt, input.context.as_deref()),
                ground,
                report: Report::Wanted,
            };
            self.send_out(parent, admitted, errand).await
        };
        Ok(sent.wait(stop).await)
    }

    /// Has a subagent that has ended go on in the background, at the user's request. What keeps it from that is told.
    pub(super) async fn resume(&self, agent: AgentId, text: Option<String>) {
        let words = match text {
            Some(text) => (text, Author::User),
            None => (GO_ON.to_owned(), Author::Program),
        };
        if self.living(agent).is_some_and(|living| living.inbox.is_closed()) {
            // Its end is told, and its report still on the way.
            let _ = timeout(HANDING_OVER, self.ended_one(agent)).await;
        }
        if let Err(refusal) = self.send_again(agent, Ground::Background, words).await {
            self.sink().send_unhindered(agent, EventKind::Notice { text: refusal.to_string() }).await;
        }
    }

    /// Begins an admitted subagent, which is told of.
    pub(super) async fn send_out(&self, parent: &Parent, admitted: Admitted, errand: Errand<'_>) -> Sent {
        let Errand { call_id, description, task, ground, report: wanted } = errand;
        let definition = admitted.definition.clone();
        let (id, name) = self.next_name(&definition.name);
        let line = Line::stand(self.pool(parent.depth + 1));
        let cancel = parent.cancel.child();
        let memory = self.recall(&definition, &cancel).await;
        let note = admitted.note.clone();
        let (agent, kit) = self.child(parent, admitted, memory.as_ref(), (id, &name, cancel.clone()));
        let (waiter, report) = oneshot::channel();
        self.enlist(
            parent.id,
            Member {
                name: name.clone(),
                agent_type: definition.name.clone(),
                parent: parent.id,
                ground,
                report: wanted,
                waiter: (ground == Ground::Foreground).then_some(waiter),
                living: Some(Living::of(&agent)),
                runs: 1,
                kit,
                last: None,
            },
            id,
        );
        let life = Life::begin(self, &agent, (&name, &definition.name));
        let sent = Sent { tree: self.clone(), id, name: name.clone(), report };
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
            ground,
        };
        self.sink().send_until(id, EventKind::Spawned(spawn), &cancel).await;
        if let Some(text) = note {
            self.sink().send_until(id, EventKind::Notice { text }, &cancel).await;
        }
        tokio::spawn(life.live(agent, line, Opening::Task(task)));
        sent
    }

    fn enlist(&self, parent: AgentId, member: Member, id: AgentId) {
        let mut roster = self.roster();
        if member.ground == Ground::Background
            && let Some(inbox) = self.inbox_in(&roster, parent)
        {
            inbox.owe(Debt::Expected);
        }
        roster.insert(id, member);
    }

    /// Begins another run of a subagent that has ended, in the same pane.
    pub(super) async fn send_again(
        &self,
        id: AgentId,
        ground: Ground,
        (text, by): (String, Author),
    ) -> Result<Sent, Refusal> {
        let (waiter, report) = oneshot::channel();
        let waiter = (ground == Ground::Foreground).then_some(waiter);
        let (agent, name, agent_type, run) = self.revive(id, ground, waiter)?;
        let line = Line::stand(self.pool(agent.depth));
        let life = Life::begin(self, &agent, (&name, &agent_type));
        let sent = Sent { tree: self.clone(), id, name, report };
        self.sink().send_until(id, EventKind::Resumed { run, ground }, &agent.cancel).await;
        tokio::spawn(life.live(agent, line, Opening::Next { text, by, runs: run - 1 }));
        Ok(sent)
    }

    /// Counts an ended subagent as living again, with what its new run is made of.
    fn revive(
        &self,
        id: AgentId,
        ground: Ground,
        waiter: Option<oneshot::Sender<Delivered>>,
    ) -> Result<(Agent, String, String, u32), Refusal> {
        let mut roster = self.roster();
        let parent = roster
            .get(&id)
            .map(|member| member.parent)
            .ok_or(Refusal::NoSuchAgent { wanted: id.to_string(), known: String::from("none by this number") })?;
        let above = roster.get(&parent).and_then(|member| member.living.as_ref()).map(|living| living.cancel.clone());
        let inbox = self.inbox_in(&roster, parent);
        let owed = inbox_above(&roster, id);
        let Some(member) = roster.get_mut(&id) else { return Err(Refusal::StillWorks { name: id.to_string() }) };
        if member.living.is_some() {
            return Err(Refusal::StillWorks { name: member.name.clone() });
        }
        let cancel = above.map_or_else(Cancel::default, |above| above.child());
        let own = Parent { cancel: cancel.clone(), ..member.kit.own.clone() };
        let agent = Agent {
            tools: self.offered_tools(own),
            inbox: owed,
            work: cancel.child(),
            cancel,
            ..member.kit.agent.clone()
        };
        member.living = Some(Living::of(&agent));
        member.runs += 1;
        member.ground = ground;
        member.waiter = waiter;
        if let (Ground::Background, Report::Wanted, Some(inbox)) = (ground, member.report, inbox) {
            inbox.owe(Debt::Expected);
        }
        Ok((agent, member.name.clone(), member.agent_type.clone(), member.runs))
    }

    /// Finds a subagent of an agent by its name or number.
    pub(super) fn child_of(&self, parent: AgentId, wanted: &str) -> Result<AgentId, Refusal> {
        let roster = self.roster();
        let own = || {
            let of = roster.iter().filter(|(_, member)| member.parent == parent);
            of.filter(|(_, member)| member.report == Report::Wanted)
        };
        let wanted = wanted.trim();
        own().find(|(id, member)| member.name == wanted || wanted.parse() == Ok(id.0)).map(|(id, _)| *id).ok_or_else(
            || {
                let known: Vec<&str> = own().map(|(_, member)| member.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Refusal::NoSuchAgent { wanted: wanted.to_owned(), known }
            },
        )
    }
}

/// Returns a new inbox for an agent whose subagents of an earlier run may still work for it.
fn inbox_above(roster: &Roster, parent: AgentId) -> Inbox {
    let inbox = Inbox::default();
    let own = roster.values().filter(|member| member.parent == parent && member.report == Report::Wanted);
    for member in own.filter(|member| member.living.is_some() && member.waiter.is_none()) {
        inbox.owe(member.debt());
    }
    inbox
}

impl Sent {
    /// Waits for the report, or until it is to arrive otherwise. Once the wait is given up, the subagent is stopped and
    /// its end waited for.
    pub(super) async fn wait(mut self, stop: CancellationToken) -> Delivery {
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
            Ok(delivered) => Delivery::Report(delivered),
            Err(_) => Delivery::Background { name },
        }
    }

    fn give_up(&self) {
        self.tree.stop_waited(self.id);
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.give_up();
    }
}
