//! What an agent's event changes on the screen, besides the agent itself.
//!
//! Owns approvals, queued messages, the model's choice, notifications and the terminal's title. Leaves the agent's
//! own life to `agents`. Invariant: text of an agent whose pane is not open makes no frame.

use super::agents::Folded;
use super::cells::CellKind;
use super::panes::PaneSize;
use super::status::{Flash, FlashSubject, ModelFact, ModelState};
use super::{App, Armed, Attention, Effect, Event, Focus, Phase, Popup};
use crate::agent::{AgentEvent, Author, EventKind, LogEvent, SessionEvent, ToolEvent};
use crate::message::{AgentId, reveal_line, sanitize_line};
use crate::permission::{AccessKind, ActiveGrant, ApprovalId};

/// Returns `true` if the terminal's title may have to change with an event.
pub(super) fn may_retitle(event: &Event) -> bool {
    match event {
        Event::Log(event) => event.of_agent().is_none_or(|event| !event.kind.is_passing()),
        Event::Drawn(_) | Event::Wakeup => false,
        _ => true,
    }
}

impl App {
    /// Applies an entry of the session's log.
    pub(super) fn on_log(&mut self, event: &LogEvent, effects: &mut Vec<Effect>) {
        match event {
            LogEvent::Agent(event) => self.on_agent(event, effects),
            LogEvent::Session { event, .. } => self.on_session(event, effects),
        }
    }

    fn on_session(&mut self, event: &SessionEvent, effects: &mut Vec<Effect>) {
        self.dirty = true;
        match event {
            SessionEvent::ModelChosen { provider, display, context_window, note } => {
                let model = ModelFact {
                    provider: sanitize_line(provider).into_owned(),
                    display: sanitize_line(display).into_owned(),
                    context_window: *context_window,
                    note: note.as_ref().map(|note| sanitize_line(note).into_owned()),
                };
                // Too late for the welcome: the note becomes a line of the conversation.
                if let Some(note) = model.note.clone().filter(|_| !self.agents.main().cells.is_empty()) {
                    self.notice(&note);
                }
                self.status.model = ModelState::Chosen(model);
            }
            SessionEvent::ModelSearch { place } => {
                self.status.model = ModelState::Searching(Some(sanitize_line(place).into_owned()));
            }
            SessionEvent::NoModel { reason } => {
                self.notice(reason);
                self.status.model = ModelState::Missing(sanitize_line(reason).into_owned());
            }
            SessionEvent::GrantsChanged { grants } => self.grants_changed(grants),
            SessionEvent::AgentsChanged { changes } => self.agents_changed(changes, effects),
            SessionEvent::BudgetChanged { limit } => self.agents.set_budget(*limit),
            SessionEvent::Worktrees { kept } => self.worktrees_changed(kept),
            SessionEvent::Cleared => {
                self.agents.clear(self.now);
                self.forget_lives();
                self.forget_timeline();
                self.forget_targets(effects);
            }
        }
        self.record_activity(AgentId::MAIN);
    }

    /// Takes in what happened to an agent.
    fn on_agent(&mut self, event: &AgentEvent, effects: &mut Vec<Effect>) {
        self.wizard_hears(event);
        self.on_worktree_event(event);
        let now = self.now;
        let phase = self.agents.get(event.agent).map(|agent| agent.phase);
        let folded = self.agents.fold(event, now);
        if folded == Folded::Ignored {
            self.on_refusal(event);
            return;
        }
        self.dirty |= self.shows(event) || phase != self.agents.get(event.agent).map(|agent| agent.phase);
        match &event.kind {
            EventKind::UserMessage { text, by: Author::User } if event.agent.is_main() => self.delivered(text),
            EventKind::UserMessage { text, by: Author::User } => self.mark_read(event.agent, text),
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => {
                let asker = self.agents.get(request.id.agent).filter(|agent| !agent.has_ended());
                if asker.is_some_and(|agent| !self.agents.is_of_cleared(agent.id)) && self.approvals.ask(request) {
                    let who = self.agents.lineage(event.agent);
                    self.notify(format!("{who} needs your permission: {}", reveal_line(&request.act())), effects);
                }
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { id, by_grant, .. }) => {
                if *by_grant {
                    self.allowed_too(id);
                }
                self.approvals.settle(id);
                if matches!(&self.popup, Some(Popup::Comment { id: asked, .. }) if asked == id) {
                    self.popup = None;
                    self.inform("the question is no longer open");
                }
                self.leave_empty_approvals();
            }
            _ => {}
        }
        self.on_agent_command(event);
        if folded == Folded::Ended {
            self.approvals.withdraw(event.agent);
            self.leave_empty_approvals();
            if event.agent.is_main() {
                // What else was asked for is still meant: `ctrl+c` quits an idle program too.
                if self.armed.take_if(|(armed, _)| *armed == Armed::Interrupt).is_some() {
                    self.flash = None;
                }
                self.notify("The answer is complete".to_owned(), effects);
            } else {
                self.target_ended(event.agent);
            }
        }
        self.record_activity(event.agent);
    }

    /// Returns `true` if an event may change what is on screen.
    fn shows(&self, event: &AgentEvent) -> bool {
        if !event.kind.is_passing() {
            return true;
        }
        // The clock of whoever was silent is on screen, and moves with the next tick.
        if event.kind == EventKind::Alive {
            return false;
        }
        if event.agent.is_main() {
            return self.full.is_none() && self.agent_files.is_none() && !self.shows_timeline();
        }
        self.visible.iter().any(|(agent, size)| *agent == event.agent && *size > PaneSize::Row)
    }

    /// A message has reached the main agent: it waits no longer.
    fn delivered(&mut self, text: &str) {
        match self.queued.iter().position(|queued| queued == text) {
            Some(at) => {
                self.queued.remove(at);
            }
            // The engine may hand over several messages as one.
            None if self.had_read(AgentId::MAIN, text) => {}
            None => self.queued.retain(|queued| !text.contains(queued.as_str())),
        }
        self.pane_mut(AgentId::MAIN).scroll.follow();
    }

    fn grants_changed(&mut self, grants: &[ActiveGrant]) {
        self.grants = grants.to_vec();
        self.grants.sort_by_key(|given| given.origin);
        if let Some(Popup::Permissions { chosen }) = &mut self.popup {
            *chosen = (*chosen).min(self.grants.len().saturating_sub(1));
        }
    }

    /// Says that an answer has settled a question besides the one it was given to.
    fn allowed_too(&mut self, id: &ApprovalId) {
        let Some(request) = self.approvals.find(id) else { return };
        let noun = match request.access.kind {
            AccessKind::Write { .. } => "edit",
            AccessKind::Execute { .. } => "command",
            AccessKind::Read { .. } | AccessKind::Nothing => "call",
        };
        let before = self.also_allowed.filter(|(_, until)| self.now <= *until).map_or(0, |(count, _)| count);
        let count = before + 1;
        self.also_allowed = Some((count, self.now + std::time::Duration::from_secs(1)));
        let plural = if count == 1 { "" } else { "s" };
        self.inform(format!("{count} waiting {noun}{plural} allowed too · /permissions"));
    }

    pub(super) fn leave_empty_approvals(&mut self) {
        if self.focus == Focus::Approvals && self.approvals.is_empty() {
            self.focus = self.home();
        }
    }

    fn notify(&self, text: String, effects: &mut Vec<Effect>) {
        if self.attention == Attention::Elsewhere {
            effects.push(Effect::Notify(text));
        }
    }

    /// Sets the terminal's title if it should say something else.
    pub(super) fn retitle(&mut self, effects: &mut Vec<Effect>) {
        let running = self.agents.running().count();
        let title = if self.approvals.is_empty() {
            match (self.agents.main().is_active(), running) {
                (false, 0) => "belvedere".to_owned(),
                (_, 0) => "belvedere: working".to_owned(),
                (_, 1) => "belvedere: 1 agent".to_owned(),
                (_, count) => format!("belvedere: {count} agents"),
            }
        } else {
            "⚠ belvedere needs you".to_owned()
        };
        if title != self.title {
            self.title.clone_from(&title);
            effects.push(Effect::SetTitle(title));
        }
    }

    /// Adds a line to the conversation.
    pub(super) fn notice(&mut self, text: &str) {
        self.agents.main_mut().cells.push(CellKind::Notice { text: sanitize_line(text).into_owned() });
        self.dirty = true;
    }

    /// Adds a line about something that went wrong to the conversation.
    pub(super) fn error(&mut self, text: &str) {
        self.agents.main_mut().cells.push(CellKind::Error { text: crate::message::sanitize(text).into_owned() });
        self.dirty = true;
    }

    /// Shows a message that passes by itself.
    pub(super) fn inform(&mut self, text: impl Into<String>) {
        self.flash = Some(Flash::info(text, self.now));
        self.dirty = true;
    }

    /// Shows a message that passes by itself, and which something else asks for by what it is about.
    pub(super) fn inform_about(&mut self, about: FlashSubject, text: impl Into<String>) {
        self.flash = Some(Flash::info(text, self.now).about(about));
        self.dirty = true;
    }

    /// Shows a warning that passes by itself.
    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.flash = Some(Flash::warning(text, self.now));
        self.dirty = true;
    }

    /// Names what runs, for questions about stopping it: how many first, because the names may be cut.
    pub(super) fn running_words(&self) -> String {
        let names: Vec<&str> = self.agents.running().map(|agent| agent.name.as_str()).collect();
        let subagents = match names.len() {
            0 => None,
            1..=3 => Some(names.join(", ")),
            count => Some(format!("{count} subagents: {}", names.join(", "))),
        };
        let main = (!matches!(self.agents.main().phase, Phase::Idle | Phase::Ended(_))).then_some("the main agent");
        match (main, subagents) {
            (None, None) => "nothing".to_owned(),
            (Some(main), None) => main.to_owned(),
            (None, Some(subagents)) => subagents,
            (Some(main), Some(subagents)) => format!("{main} and {subagents}"),
        }
    }
}
