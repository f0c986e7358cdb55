//! What the user does to one subagent's life besides stopping it: to the background and back, one last turn, another
//! run.
//!
//! Owns what was asked of an agent and is not true yet. Leaves doing it to the engine, and messages to `steering`.
//! Invariant: what an agent is and does is known from its events alone; what was asked is forgotten with the event that
//! makes it true, or that says why it cannot be.

use std::collections::{BTreeMap, BTreeSet};

use super::action::Action;
use super::keymap::Context;
use super::{AgentState, AgentView, App, Effect, Focus};
use crate::agent::{AgentEvent, EventKind, RunMode, Status};
use crate::message::{AgentId, sanitize_line};
use crate::subagent::Command;

/// What was asked of subagents.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    /// Those that were to be moved, and where to.
    moving: BTreeMap<AgentId, RunMode>,
    /// Those that were asked to report.
    wrapping: BTreeSet<AgentId>,
    /// Those that were asked to go on after their end.
    resuming: BTreeSet<AgentId>,
    /// Those that were to be stopped, one by one.
    stopping: BTreeSet<AgentId>,
}

impl PendingRequests {
    fn forget(&mut self, id: AgentId) {
        self.moving.remove(&id);
        self.wrapping.remove(&id);
        self.resuming.remove(&id);
        self.stopping.remove(&id);
    }
}

impl App {
    /// Returns an agent's state as its title says it.
    #[must_use]
    pub fn state_of(&self, agent: &AgentView) -> AgentState {
        if agent.has_ended() && self.is_resuming(agent.id) {
            return AgentState::Resuming;
        }
        AgentState::of(agent, self.approvals.of(agent.id), self.now)
    }

    /// Returns `true` if an agent was asked to go on after its end and has not begun to.
    pub(super) fn is_resuming(&self, id: AgentId) -> bool {
        self.requests.resuming.contains(&id)
    }

    /// Returns `true` if an agent reads nothing more unless it is resumed.
    pub(super) fn is_over(&self, agent: &AgentView) -> bool {
        agent.has_ended() && !self.is_resuming(agent.id)
    }

    /// Carries out an act on the agent that has the focus.
    pub(super) fn act_on_agent(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some(id) = self.focused_agent() else { return };
        match action {
            Action::WrapUp => self.wrap_up(id, effects),
            Action::Resume => self.resume(id, effects),
            _ => self.change_ground(id, effects),
        }
    }

    /// Carries out a slash command that names an agent by its number or its name.
    pub(super) fn slash_life(&mut self, name: &str, argument: &str, effects: &mut Vec<Effect>) {
        let (wanted, said) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        let agent = self.agents.children().find(|agent| wanted.parse() == Ok(agent.id.0) || agent.name == wanted);
        let Some(agent) = agent else {
            self.warn(format!("write /{name} with the number of an agent, such as /{name} 3; /tasks lists them"));
            return;
        };
        let (id, over) = (agent.id, self.is_over(agent));
        if self.composer.text().starts_with('/') {
            // The composer may be given to the agent, and this is no draft.
            self.composer.take();
        }
        match name {
            "wrapup" => self.wrap_up(id, effects),
            "resume" if over && !said.trim().is_empty() => self.resume_with(id, said.trim().to_owned(), effects),
            "resume" => self.resume(id, effects),
            _ => self.change_ground(id, effects),
        }
    }

    /// Moves an agent to the background, or back to where its parent waits for it.
    fn change_ground(&mut self, id: AgentId, effects: &mut Vec<Effect>) {
        let Some(agent) = self.agents.get(id) else { return };
        let name = agent.name.clone();
        if agent.has_ended() {
            self.inform(format!("{name} has ended; its report is in its pane"));
            return;
        }
        // A second press before the engine has answered means the way back.
        let ground = match self.requests.moving.get(&id).copied().unwrap_or(agent.ground) {
            RunMode::Foreground => RunMode::Background,
            RunMode::Background => RunMode::Foreground,
        };
        let parent = agent.parent.and_then(|parent| self.agents.get(parent)).unwrap_or(self.agents.main());
        if ground == RunMode::Foreground && !parent.is_active() {
            let parent = parent.name.clone();
            self.inform(format!("{parent} is idle: the report of {name} reaches it anyway"));
            return;
        }
        let text = match ground {
            RunMode::Background => format!("{name} moved to the background; its report arrives as a message"),
            RunMode::Foreground => format!("{} waits for {name} before it goes on", parent.name),
        };
        self.requests.moving.insert(id, ground);
        effects.push(Effect::Engine(Command::Move { agent: id, ground }));
        self.inform(text);
    }

    /// Asks an agent to report in one last turn.
    fn wrap_up(&mut self, id: AgentId, effects: &mut Vec<Effect>) {
        let Some(agent) = self.agents.get(id) else { return };
        let name = agent.name.clone();
        if agent.has_ended() {
            self.inform(format!("{name} has ended already"));
        } else if agent.last_turn.is_some() {
            self.inform(format!("{name} is already writing its report"));
        } else if !self.requests.wrapping.insert(id) {
            self.inform(format!("{name} was asked already; x stops it at once"));
        } else {
            let text = if agent.has_begun() {
                format!("{name} calls no further tools and reports in one last turn")
            } else {
                format!("{name} ends before it has begun")
            };
            effects.push(Effect::Engine(Command::WrapUp { agent: id }));
            self.inform(text);
        }
    }

    /// Has an agent go on that has ended. One that has done all it was sent for needs to be told what is next.
    fn resume(&mut self, id: AgentId, effects: &mut Vec<Effect>) {
        let Some(agent) = self.agents.get(id) else { return };
        let name = agent.name.clone();
        if self.is_resuming(id) {
            self.inform(format!("{name} is being resumed"));
        } else if !agent.has_ended() {
            self.inform(format!("{name} is still at work; m writes to it"));
        } else if agent.outcome.as_ref().is_some_and(|outcome| outcome.status == Status::Completed) {
            self.chosen = Some(id);
            self.set_target(Some(id));
            self.focus = Focus::Composer;
            self.inform(format!("write what {name} shall do next"));
        } else {
            let unsent = self.has_draft(id);
            self.ask_to_resume(id, None, effects);
            self.inform(if unsent {
                format!("{name} goes on; what you wrote for it is still unsent (m)")
            } else {
                format!("{name} goes on where it stopped")
            });
        }
    }

    /// Has an agent go on that has ended, with a message that waits until it is read.
    pub(super) fn resume_with(&mut self, id: AgentId, text: String, effects: &mut Vec<Effect>) {
        self.queue_for(id, text.clone());
        if let Some(name) = self.agents.get(id).map(|agent| agent.name.clone()) {
            self.inform(format!("{name} goes on with your message"));
        }
        self.ask_to_resume(id, Some(text), effects);
    }

    fn ask_to_resume(&mut self, id: AgentId, text: Option<String>, effects: &mut Vec<Effect>) {
        self.requests.resuming.insert(id);
        self.update_prompt_label();
        effects.push(Effect::Engine(Command::Resume { agent: id, text }));
    }

    /// Takes in that something asked for is true, or will not be.
    pub(super) fn on_agent_command(&mut self, event: &AgentEvent) {
        let id = event.agent;
        match &event.kind {
            EventKind::Moved { .. } => drop(self.requests.moving.remove(&id)),
            EventKind::Ended { outcome } => {
                let was_stopped = self.requests.stopping.contains(&id) && outcome.status == Status::Cancelled;
                self.requests.forget(id);
                if was_stopped {
                    self.say_stopped(id);
                }
            }
            EventKind::Resumed { .. } => {
                self.requests.forget(id);
                // Its next report is news again.
                self.pane_mut(id).seen_at = None;
                self.update_prompt_label();
            }
            _ => {}
        }
    }

    /// Notes that the user has asked for the end of an agent.
    pub(super) fn will_stop(&mut self, id: AgentId) {
        self.requests.stopping.insert(id);
    }

    /// Says that an agent has stopped, and how it goes on.
    fn say_stopped(&mut self, id: AgentId) {
        let Some(name) = self.agents.get(id).map(|agent| agent.name.clone()) else { return };
        let key = self.keymap.chord_of(Context::Agents, Action::Resume).filter(|_| self.focus == Focus::Agents);
        self.inform(match key {
            Some(key) => format!("{name} stopped · {key} resumes"),
            None => format!("{name} stopped · /resume {id} resumes"),
        });
    }

    /// Takes in what is told of an agent that has ended: it says why something asked for cannot be.
    pub(super) fn on_refusal(&mut self, event: &AgentEvent) {
        let EventKind::Notice { text } = &event.kind else { return };
        let agent = self.agents.get(event.agent).filter(|agent| agent.has_ended());
        let Some(name) = agent.map(|agent| agent.name.clone()) else { return };
        self.requests.forget(event.agent);
        self.give_back(event.agent);
        self.update_prompt_label();
        self.warn(format!("{name}: {}", sanitize_line(text)));
    }

    /// Forgets what was asked of all subagents.
    pub(super) fn forget_lives(&mut self) {
        self.requests = PendingRequests::default();
    }
}
