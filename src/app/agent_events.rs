//! What an agent's event changes on the screen, besides the agent itself.
//!
//! Owns the way of an event to the parts it concerns: approvals, queued messages, worktrees, the model, notifications
//! and the terminal's title. Leaves the agent's own life to `agents`. Invariant: text of an agent whose pane is not
//! open makes no frame.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::agents::Folded;
use super::keymap::Context;
use super::overlay::rewind;
use super::settings::{effort, models, skills};
use super::{
    Action, AgentTree, App, Armed, Effect, Event, Focus, ModelFact, ModelState, Popup, ProgramStatus, Setup, lists,
};
use crate::agent::{AgentEvent, Author, EventKind, KeptWorktree, LogEvent, SessionEvent, ToolEvent, WorktreeNews};
use crate::app::overlay::trust;
use crate::message::{AgentId, Spent, reveal_line, sanitize_line};
use crate::session::Unsent;

/// Returns `true` if what the terminal is told may have to change with an event.
pub(super) fn may_change_status(event: &Event) -> bool {
    match event {
        Event::Log(event) => event.of_agent().is_none_or(|event| !event.kind.is_passing()),
        Event::Drawn(_) | Event::Wakeup => false,
        _ => true,
    }
}

/// What an earlier run of the program left besides its events.
#[derive(Debug)]
pub struct Earlier<'a> {
    /// What was used before the first of the events.
    pub spent: &'a Spent,
    pub unsent: &'a Unsent,
    /// The agents of whom more was recorded than the events tell.
    pub cut: &'a BTreeSet<AgentId>,
}

/// The longest time between two events of an earlier run of the program that its clocks show.
const LONGEST_GAP: Duration = Duration::from_mins(1);

impl App {
    /// Returns a screen that shows what an earlier run of the program left, as if it had just happened. Nobody is notified,
    /// and nothing is asked of the world.
    #[must_use]
    pub fn restored(setup: Setup, events: &[Arc<LogEvent>], earlier: &Earlier<'_>) -> Self {
        let Earlier { spent, unsent, cut } = earlier;
        let (now, mode) = (setup.now, setup.mode);
        let gap = |pair: &[Arc<LogEvent>]| {
            let gap = pair[1].at().duration_since(pair[0].at());
            Duration::try_from(gap).unwrap_or_default().min(LONGEST_GAP)
        };
        let whole: Duration = events.windows(2).map(gap).sum();
        // A machine that was just started knows no earlier time.
        let mut at = now.checked_sub(whole).unwrap_or(now);
        let mut app = Self::new(Setup { now: at, ..setup });
        app.agents.add_spent(spent);
        app.agents.set_cut(cut);
        let gaps = std::iter::once(Duration::ZERO).chain(events.windows(2).map(gap));
        for (event, gap) in events.iter().zip(gaps) {
            at = (at + gap).min(now);
            app.out.begin(at, &Event::Refresh);
            app.on_log(event);
        }
        app.out.begin(now, &Event::Refresh);
        app.out.clear_flash();
        app.say_interrupted();
        // What a plan has changed then holds no more.
        app.status.mode = mode;
        app.commands.forget_all();
        app.agents.cut_off_commands();
        // What a rewound message was is not what was being written at the end.
        app.messages.composer_mut().set_text("");
        app.messages.restore(unsent);
        let _ = app.out.take_effects();
        app
    }

    /// Says what broke off with an earlier run of the program, and how it goes on.
    fn say_interrupted(&mut self) {
        let key = self.keys.keymap().chord_of(Context::Agents, Action::ResumeAll).unwrap_or_default();
        let text = match self.agents.interrupted().filter(|agent| !agent.id.is_main()).count() {
            0 if self.agents.interrupted().next().is_none() => return,
            0 => "The answer was interrupted. Resume it with /resume all, or say what to do instead.".to_owned(),
            1 => format!("1 agent was interrupted. Resume it with {key} in the agents, or with /resume all."),
            count => {
                format!("{count} agents were interrupted. Resume them with {key} in the agents, or with /resume all.")
            }
        };
        self.notice(&text);
    }

    pub(super) fn on_log(&mut self, event: &LogEvent) {
        match event {
            LogEvent::Agent(event) => self.on_agent(event),
            LogEvent::Session { event, .. } => {
                self.out.redraw();
                self.on_session(event);
                self.record_activity(AgentId::MAIN);
            }
        }
    }

    fn on_session(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::ModelChosen { provider, id, display, context_window, note } => {
                let model = ModelFact {
                    provider: sanitize_line(provider).into_owned(),
                    id: sanitize_line(id).into_owned(),
                    display: sanitize_line(display).into_owned(),
                    context_window: *context_window,
                    note: note.as_ref().map(|note| sanitize_line(note).into_owned()),
                };
                // Too late for the welcome: the note becomes a line of the conversation, unless it was said before.
                let said = self.status.model.note().map(str::to_owned);
                let is_news = |note: &String| !self.agents.main().cells.is_empty() && said.as_ref() != Some(note);
                if let Some(note) = model.note.clone().filter(is_news) {
                    self.notice(&note);
                }
                self.status.model = ModelState::Chosen(model);
                models::chosen(self);
            }
            SessionEvent::EffortChosen { wish, sent } => effort::settled(self, *wish, *sent),
            SessionEvent::ModelSearch { place } => {
                self.status.model = ModelState::Searching(Some(sanitize_line(place).into_owned()));
            }
            SessionEvent::NoModel { reason } => {
                if models::refused(self, reason) {
                    return;
                }
                self.notice(reason);
                self.status.model = ModelState::Missing(sanitize_line(reason).into_owned());
            }
            SessionEvent::GrantsChanged { grants } => {
                self.approvals.set_grants(grants);
                self.overlay.clamp_choice(&lists::GRANTS, grants.len() + self.rules().len());
            }
            SessionEvent::RulesChanged { rules } => {
                self.approvals.set_rules(rules);
                self.overlay.clamp_choice(&lists::GRANTS, self.grants().len() + rules.len());
            }
            SessionEvent::FolderTrust { trust } => trust::found(self, trust),
            SessionEvent::HooksChanged { hooks } => self.status.hooks.take_notices(hooks),
            SessionEvent::SandboxChanged { facts } => self.status.sandbox = Some(facts.clone()),
            SessionEvent::ServersChanged { servers } => {
                self.settings.servers.clone_from(servers);
                self.messages.set_servers(servers);
            }
            SessionEvent::AgentsChanged { changes } => self.agent_files.on_changes(changes, &mut self.out),
            SessionEvent::ModeChanged { mode } => {
                self.status.mode = *mode;
                self.out.inform(format!("permission mode: {}", mode.word()));
            }
            SessionEvent::SkillsChanged { changes } => skills::changed(self, changes),
            SessionEvent::BudgetChanged { limit } => self.agents.set_budget(*limit),
            SessionEvent::Worktrees { kept } => self.on_kept_worktrees(kept),
            SessionEvent::Rewound { messages, files, left } => rewind::rewound(self, *messages, files, left),
            SessionEvent::Cleared => {
                self.commands.forget_ended();
                self.leave_empty_regions();
                self.agents.clear(self.out.now());
                self.requests.clear();
                self.forget_timeline();
                self.messages.forget_gone(&self.agents, &mut self.out);
                self.update_prompt_label();
            }
        }
    }

    fn record_activity(&mut self, agent: AgentId) {
        let tree = AgentTree {
            agents: &self.agents,
            approvals: &self.approvals,
            requests: &self.requests,
            target: self.messages.target(),
            now: self.out.now(),
        };
        self.timeline.record_activity(agent, &tree);
    }

    fn on_agent(&mut self, event: &AgentEvent) {
        let is_open = self.overlay.wizard_is_open();
        self.overlay.wizard_mut().apply(event, self.agent_files.listing(), is_open, &mut self.out);
        self.on_worktree_event(event);
        let now = self.out.now();
        if let EventKind::Command(command) = &event.kind {
            self.commands.apply(event, command, now);
            self.out.redraw();
        }
        let phase = self.agents.get(event.agent).map(|agent| agent.phase);
        let folded = self.agents.fold(event, now);
        if folded == Folded::Ignored {
            self.on_refusal(event);
            return;
        }
        let changed = phase != self.agents.get(event.agent).map(|agent| agent.phase);
        self.out.redraw_if(changed || self.shows(event));
        self.on_kind(event);
        models::note_latency(self, event);
        self.on_answered_request(event);
        if folded == Folded::Ended {
            self.on_end(event.agent);
        }
        self.record_activity(event.agent);
    }

    fn on_kind(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::UserMessage { by: Author::User, id, .. } => {
                if let Some(id) = id {
                    self.messages.mark_read(event.agent, *id, &self.agents, &mut self.out);
                }
                if event.agent.is_main() {
                    self.view.pane_mut(AgentId::MAIN).scroll.follow();
                    self.view.file_ended(&self.agents);
                    self.commands.forget_ended();
                    self.leave_empty_regions();
                }
            }
            EventKind::Hook { ran } => self.status.hooks.take_run(ran),
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => {
                let asker = self.agents.get(request.id.agent).filter(|agent| !agent.has_ended());
                if asker.is_some_and(|agent| !self.agents.is_of_cleared(agent.id))
                    && self.approvals.ask(request, self.out.now())
                {
                    let who = self.agents.lineage(event.agent);
                    self.notify(format!("{who} needs your permission: {}", reveal_line(&request.act())));
                }
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { id, by_grant, .. }) => {
                if *by_grant {
                    self.approvals.allowed_too(id, &mut self.out);
                }
                self.approvals.settle(id);
                let is_open = match self.overlay.popup() {
                    Some(Popup::Comment { id: asked, .. }) => asked == id,
                    Some(Popup::Questions(form)) => form.id == *id,
                    _ => false,
                };
                if is_open {
                    self.overlay.close();
                    self.out.inform("the question is no longer open");
                }
                self.leave_empty_regions();
            }
            _ => {}
        }
    }

    fn on_end(&mut self, id: AgentId) {
        self.approvals.withdraw(id);
        self.leave_empty_regions();
        if id.is_main() {
            // What else was asked for is still meant: `ctrl+c` quits an idle program too.
            if self.out.disarm_if(Armed::Interrupt) {
                self.out.clear_flash();
            }
            self.notify("The answer is complete".to_owned());
        } else {
            self.messages.target_ended(id, &self.agents, &mut self.out);
            self.update_prompt_label();
        }
    }

    /// Takes in that something asked of an agent is true, or will not be.
    fn on_answered_request(&mut self, event: &AgentEvent) {
        if self.requests.apply(event) {
            self.say_stopped(event.agent);
        }
        if matches!(event.kind, EventKind::Resumed { .. }) {
            // Its next report is news again.
            self.view.pane_mut(event.agent).seen_at = None;
            self.update_prompt_label();
        }
    }

    /// Says that an agent has stopped, and how it goes on.
    fn say_stopped(&mut self, id: AgentId) {
        let Some(name) = self.agents.get(id).map(|agent| &agent.name) else { return };
        let key = self.keys.keymap().chord_of(Context::Agents, Action::Resume);
        self.out.answer(match key.filter(|_| self.view.focus() == Focus::Agents) {
            Some(key) => format!("{name} stopped · {key} resumes"),
            None => format!("{name} stopped · /resume {id} resumes"),
        });
    }

    /// Takes in a notice to an agent that has ended: it says why something asked for cannot be.
    fn on_refusal(&mut self, event: &AgentEvent) {
        let EventKind::Notice { text } = &event.kind else { return };
        let Some(agent) = self.agents.get(event.agent).filter(|agent| agent.has_ended()) else { return };
        self.requests.refused(agent.id);
        self.messages.give_back(agent.id);
        self.out.warn(format!("{}: {}", agent.name, sanitize_line(text)));
        self.update_prompt_label();
    }

    /// Takes in what concerns a worktree beyond the agent's own pane: its number may be forgotten by now.
    fn on_worktree_event(&mut self, event: &AgentEvent) {
        let EventKind::Worktree { news } = &event.kind else { return };
        self.agents.kept_mut().apply(news);
        self.say_of_worktree(event.agent, news);
    }

    fn on_kept_worktrees(&mut self, kept: &[KeptWorktree]) {
        if let Some(found) = self.agents.kept_mut().set(kept) {
            let what = match found {
                1 => "1 unmerged worktree".to_owned(),
                _ => format!("{found} unmerged worktrees"),
            };
            self.notice(&format!("{what} from an earlier run: /worktrees"));
        }
        self.overlay.clamp_choice(&lists::WORKTREES, kept.len());
        if kept.is_empty() && self.overlay.chosen_in(&lists::WORKTREES).is_some() {
            self.overlay.close();
        }
    }

    /// Adds what the user wants to know of a worktree to the conversation.
    fn say_of_worktree(&mut self, agent: AgentId, news: &WorktreeNews) {
        let known = self.agents.get(agent).filter(|agent| !agent.id.is_main()).map(|agent| agent.name.clone());
        let last = || news.branch().and_then(|branch| branch.rsplit('/').next()).unwrap_or_default().to_owned();
        let text = format!("{}: {}", known.unwrap_or_else(last), news.words().join("\n  "));
        let first = text.lines().next().unwrap_or_default();
        match news {
            WorktreeNews::Making | WorktreeNews::Made { .. } | WorktreeNews::Removed => {}
            WorktreeNews::Kept(_) => self.notice(&format!("{text} · /merge {agent} or /discard {agent}")),
            WorktreeNews::Merged { .. } | WorktreeNews::Discarded { .. } => {
                self.out.answer(first);
                self.notice(&text);
            }
            WorktreeNews::Conflicts { .. } | WorktreeNews::Refused { .. } => {
                self.out.warn(first);
                self.error(&text);
            }
        }
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
            return self.view.full().is_none() && self.agent_files.view().is_none() && !self.shows_timeline();
        }
        self.view.shows_pane(event.agent)
    }

    fn notify(&mut self, text: String) {
        if !self.clock.is_attended() {
            self.out.push(Effect::Notify(text));
        }
    }

    /// Tells the terminal how the agents are, if that has changed.
    pub(super) fn tell_status(&mut self) {
        let status = ProgramStatus::of(&self.agents, &self.approvals);
        if status != self.told {
            self.told.clone_from(&status);
            self.out.push(Effect::TellStatus(Box::new(status)));
        }
    }
}
