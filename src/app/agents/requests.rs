//! What the user does to one subagent's life besides stopping it: to the background and back, one last turn, another
//! run.
//!
//! Owns what was asked of an agent and is not true yet. Leaves doing it to the engine, and messages to `messages`.
//! Invariant: what an agent is and does is known from its events alone; what was asked is forgotten with the event that
//! makes it true, or that says why it cannot be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::{AgentView, Agents};
use crate::agent::{AgentEvent, EventKind, RunMode, Status};
use crate::app::outbox::Outbox;
use crate::app::{Armed, ToolCell};
use crate::message::format::{clock, counted};
use crate::message::{AgentId, MessageId, UserText};
use crate::subagent::Command;

/// How long a tool runs before it is asked about: most end before a second press.
const WORTH_A_QUESTION: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(in crate::app) struct PendingRequests {
    /// Those that were to be moved, and where to.
    moving: BTreeMap<AgentId, RunMode>,
    /// Those that were asked to report.
    wrapping: BTreeSet<AgentId>,
    /// Ended agents that were asked to resume.
    resuming: BTreeSet<AgentId>,
    stopping: BTreeSet<AgentId>,
}

impl PendingRequests {
    fn forget(&mut self, id: AgentId) {
        self.moving.remove(&id);
        self.wrapping.remove(&id);
        self.resuming.remove(&id);
        self.stopping.remove(&id);
    }

    pub(in crate::app) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns `true` if an agent was asked to go on after its end and has not begun to.
    pub(in crate::app) fn is_resuming(&self, id: AgentId) -> bool {
        self.resuming.contains(&id)
    }

    /// Returns `true` if an agent reads nothing more unless it is resumed.
    pub(in crate::app) fn is_over(&self, agent: &AgentView) -> bool {
        agent.has_ended() && !self.is_resuming(agent.id)
    }

    /// Stops an agent and says what stops with it.
    pub(in crate::app) fn stop(&mut self, id: AgentId, agents: &Agents, out: &mut Outbox) {
        let Some(agent) = agents.get(id) else { return };
        let name = &agent.name;
        if agent.has_ended() {
            out.inform(format!("{name} has already ended"));
            return;
        }
        let below = agents.below(id).filter(|agent| !agent.has_ended()).count();
        out.send(Command::Stop { agent: id });
        self.stopping.insert(id);
        out.inform(match below {
            0 => format!("stopping {name}"),
            below => format!("stopping {name} and its {}", counted(below, "subagent")),
        });
    }

    /// Moves an agent to the background, or back to where its parent waits for it.
    pub(in crate::app) fn change_mode(&mut self, id: AgentId, agents: &Agents, out: &mut Outbox) {
        let Some(agent) = agents.get(id) else { return };
        let name = &agent.name;
        if agent.has_ended() {
            out.inform(format!("{name} has ended; its report is in its pane"));
            return;
        }
        // A second press before the engine has answered means the way back.
        let run_mode = match self.moving.get(&id).copied().unwrap_or(agent.run_mode) {
            RunMode::Foreground => RunMode::Background,
            RunMode::Background => RunMode::Foreground,
        };
        let parent = agent.parent.and_then(|parent| agents.get(parent)).unwrap_or(agents.main());
        if run_mode == RunMode::Foreground && !parent.is_active() {
            out.inform(format!("{} is idle; it gets {name}'s report anyway", parent.name));
            return;
        }
        self.moving.insert(id, run_mode);
        out.send(Command::Move { agent: id, run_mode });
        out.inform(match run_mode {
            RunMode::Background => format!("{name} moved to the background; its report will arrive as a message"),
            RunMode::Foreground => format!("{} is waiting for {name} again", parent.name),
        });
    }

    /// Asks an agent to report in one last turn; at the second press where that would interrupt a command.
    pub(in crate::app) fn wrap_up_at_key(&mut self, key: &str, id: AgentId, agents: &Agents, out: &mut Outbox) {
        let lasting =
            |(tool, since): (&ToolCell, Instant)| (tool.name.clone(), out.now().saturating_duration_since(since));
        let tool = agents.get(id).and_then(AgentView::tool_in_flight).map(lasting);
        match tool.filter(|(_, lasting)| *lasting >= WORTH_A_QUESTION) {
            Some((tool, lasting)) if !self.wrapping.contains(&id) && !out.take_armed(Armed::WrapUp(id)) => {
                let text = format!("{key} again interrupts {tool} ({}) to report now", clock(lasting));
                out.arm(Armed::WrapUp(id), &text);
            }
            _ => self.wrap_up(id, agents, out),
        }
    }

    /// Asks an agent to report in one last turn.
    pub(in crate::app) fn wrap_up(&mut self, id: AgentId, agents: &Agents, out: &mut Outbox) {
        let Some(agent) = agents.get(id) else { return };
        let name = &agent.name;
        if agent.has_ended() {
            out.inform(format!("{name} has already ended"));
        } else if agent.last_turn.is_some() {
            out.inform(format!("{name} is already writing its report"));
        } else if !self.wrapping.insert(id) {
            out.inform(format!("{name} is already wrapping up; x stops it now"));
        } else {
            out.send(Command::WrapUp { agent: id });
            out.inform(if agent.has_begun() {
                format!("{name} is wrapping up")
            } else {
                format!("{name} will not start")
            });
        }
    }

    /// Asks an agent that has ended to go on.
    pub(in crate::app) fn resume(&mut self, id: AgentId, message: Option<(MessageId, UserText)>, out: &mut Outbox) {
        self.resuming.insert(id);
        out.send(Command::Resume { agent: id, message });
    }

    /// Asks agents to go on, one after the other.
    pub(in crate::app) fn resume_all(&mut self, agents: Vec<AgentId>, out: &mut Outbox) {
        self.resuming.extend(agents.iter().filter(|id| !id.is_main()));
        out.send(Command::ResumeAll { agents });
    }

    /// Takes in that something asked for is true. Returns `true` if an agent has ended because the user stopped it.
    pub(in crate::app) fn apply(&mut self, event: &AgentEvent) -> bool {
        let id = event.agent;
        match &event.kind {
            EventKind::Moved { .. } => drop(self.moving.remove(&id)),
            EventKind::Ended { outcome } => {
                let was_stopped = self.stopping.contains(&id) && outcome.status == Status::Cancelled;
                self.forget(id);
                return was_stopped;
            }
            EventKind::Resumed { .. } => self.forget(id),
            _ => {}
        }
        false
    }

    pub(in crate::app) fn refused(&mut self, id: AgentId) {
        self.forget(id);
    }
}
