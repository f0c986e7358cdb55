//! Answers to open questions, and the choice of an entry of a popup.
//!
//! Owns the way from a key to an answer. Leaves the queue to `approvals` and the timing to `guard`. Invariants: an answer
//! goes to the question that stood on screen, never to the one behind it; a yes goes only to what was shown in full.

use crate::agent::WorktreeAct;
use crate::app::action::Action;
use crate::app::agent_files::FileRequest;
use crate::app::approvals::Hidden;
use crate::app::input::Taken;
use crate::app::key::Mods;
use crate::app::layout::QuestionRoom;
use crate::app::question::{QuestionSeen, wanted_rows};
use crate::app::{App, Effect, Event, Expanded, Focus, Motion, PaletteAct, Popup};
use crate::permission::{Answer, ApprovalId, GrantOrigin};
use crate::subagent::Command;

impl App {
    /// Looks at the open questions without answering.
    pub(in crate::app) fn look_at_question(&mut self, action: Action) {
        match action {
            Action::NextQuestion => self.approvals.turn(1),
            Action::PreviousQuestion => self.approvals.turn(-1),
            _ => {
                self.approvals.expanded = match self.approvals.expanded {
                    Expanded::No => Expanded::Yes,
                    Expanded::Yes => Expanded::No,
                };
            }
        }
    }

    /// Answers the question that is shown, once it is certain that the key was meant for it. A yes shows it in full first.
    pub(in crate::app) fn answer(&mut self, action: Action) {
        let Some(request) = self.approvals.shown() else {
            self.inform("no question is open");
            return;
        };
        let (id, grant) = (request.id.clone(), request.grant.is_some());
        let request_is_whole = request.is_shown_whole();
        if self.popup.is_some() {
            self.inform("close this first, to see what is asked");
            return;
        }
        if !self.approvals.guard.lets_answer(self.approvals.since()) {
            self.refuse_haste(&id);
            return;
        }
        if self.may_be_vi() {
            self.inform("in vi keys this may be esc and a letter: f6 first, then answer");
            return;
        }
        let answer = match action {
            Action::ApproveOnce => Answer::Once,
            Action::ApproveAlways | Action::ApproveProject if !grant => {
                self.warn("this can only be allowed once");
                return;
            }
            Action::ApproveAlways => Answer::Always,
            Action::ApproveProject => Answer::Project,
            Action::DenyWithComment => {
                self.popup = Some(Popup::Comment { id, text: crate::app::LineEdit::default() });
                return;
            }
            _ => Answer::No { comment: None },
        };
        let is_yes = !matches!(answer, Answer::No { .. });
        if is_yes && !request_is_whole {
            self.warn("part of this cannot be shown: it can only be refused");
            return;
        }
        match self.approvals.hidden() {
            Hidden::Rows if is_yes => {
                self.approvals.show_more();
                self.approvals.expanding = true;
            }
            Hidden::Everything if is_yes => self.warn("make the terminal larger to answer yes"),
            _ => self.approvals.guard.hold(id, answer, self.now),
        }
    }

    /// Says once for a question that a key came too early to be meant for it.
    fn refuse_haste(&mut self, id: &ApprovalId) {
        if self.approvals.guard.refuse(id) {
            self.inform("too quick: read it first, then answer");
        }
    }

    /// Returns `true` if the key may be an escape and a letter, which a terminal sends like a letter with alt.
    fn may_be_vi(&self) -> bool {
        let alt = self.approvals.guard.key.is_some_and(|key| key.mods.contains(Mods::ALT));
        alt && self.focus == Focus::Composer && self.composer.vi_mode().is_some()
    }

    /// Takes note of an input, which shows an answer that still waits to be part of a burst; anything else lets an answer
    /// pass whose time has come.
    pub(in crate::app) fn guard_answers(&mut self, event: &Event, effects: &mut Vec<Effect>) {
        if let Event::Input(input) = event {
            if let Some(held) = self.approvals.guard.pressed(input, self.now) {
                self.refuse_haste(&held.id);
            }
            return;
        }
        let Some(held) = self.approvals.guard.take_due(self.now) else { return };
        if self.approvals.is_open(&held.id) {
            self.approvals.settle(&held.id);
            effects.push(Effect::Engine(Command::Answer { id: held.id, answer: held.answer }));
            self.leave_empty_approvals();
            self.dirty = true;
        }
    }

    /// Takes in what a frame showed of the question, and how many rows the conversation has where it leaves some blank.
    pub(in crate::app) fn on_question_drawn(&mut self, shown: Option<QuestionSeen>, talk_rows: Option<u16>) {
        if self.approvals.is_empty() {
            return;
        }
        let before = self.approval_rows();
        let unseen = self.approvals.drawn(shown, self.now);
        if talk_rows.is_some() {
            self.approvals.talk_rows = talk_rows;
        }
        if let Some(unseen) = unseen.filter(|_| std::mem::take(&mut self.approvals.expanding)) {
            self.inform(match unseen {
                0 => "shown in full: press again to allow",
                _ => "press again to see the rest",
            });
        }
        self.dirty |= self.approval_rows() != before;
    }

    /// Returns how many rows the open question would like (its heading, its details, why and its keys), and how much of
    /// the screen it may take.
    pub(in crate::app) fn approval_rows(&self) -> (u16, QuestionRoom) {
        const AROUND: u16 = 3;
        let Some(request) = self.approvals.shown() else { return (0, QuestionRoom::Half) };
        let room = match (self.approvals.expanded, self.approvals.talk_rows) {
            (Expanded::Yes, _) => QuestionRoom::Whole,
            (Expanded::No, Some(rows)) if self.agents.is_empty() => QuestionRoom::Blank(rows),
            _ => QuestionRoom::Half,
        };
        // What the composer and the status line take of that is cut by the layout.
        let most = room.rows(self.size.height, self.size.height).saturating_sub(AROUND).max(1);
        let columns = usize::from(self.size.width.saturating_sub(4).max(1));
        let rows = wanted_rows(request, columns, usize::from(most));
        (u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(AROUND), room)
    }

    /// Returns how many entries the open popup offers.
    pub(in crate::app) fn popup_entries(&self) -> usize {
        match &self.popup {
            Some(Popup::Palette { query, .. }) => {
                crate::app::palette(&self.keymap, self.context_behind_popup(), query.text()).len()
            }
            Some(Popup::Agents { .. }) => self.agents.len(),
            Some(Popup::Themes { .. }) => self.themes().len(),
            Some(Popup::Permissions { .. }) => self.grants.len(),
            Some(Popup::Worktrees { .. }) => self.kept_worktrees().len(),
            Some(Popup::DuplicateAgent { .. }) => self.agent_places.homes().len(),
            _ => 0,
        }
    }

    /// Takes back the chosen grant, if an answer gave it.
    pub(in crate::app) fn remove(&mut self, effects: &mut Vec<Effect>) -> Taken {
        if let Some(Popup::Worktrees { chosen }) = self.popup {
            self.ask_in_list(chosen, WorktreeAct::Discard, effects);
            return Taken::Yes;
        }
        let Some(Popup::Permissions { chosen }) = self.popup else { return Taken::No };
        let Some(given) = self.grants.get(chosen).cloned() else { return Taken::Yes };
        if given.origin.is_answer() {
            effects.push(Effect::Engine(Command::Forget { grant: given.grant, holder: given.holder }));
        } else {
            self.inform(match given.origin {
                GrantOrigin::Config => "this comes from your config.toml; change it there",
                _ => "this comes from the command line; start without it",
            });
        }
        Taken::Yes
    }

    /// Takes the chosen entry of the popup, or what was typed into it.
    pub(in crate::app) fn accept(&mut self, effects: &mut Vec<Effect>) {
        match self.popup.take() {
            Some(Popup::Palette { query, chosen }) => {
                let context = self.context_behind_popup();
                let entries = crate::app::palette(&self.keymap, context, query.text());
                match entries.get(chosen).map(|entry| entry.act) {
                    Some(PaletteAct::Command(name, _)) => {
                        let _ = self.run_slash(name.trim_start_matches('/'), effects);
                    }
                    Some(PaletteAct::Action(action)) if self.act(action, effects) == Taken::No => {
                        self.inform("not now");
                    }
                    Some(PaletteAct::Action(_)) | None => {}
                }
            }
            Some(Popup::Agents { chosen }) => {
                if let Some(id) = self.agents.children().nth(chosen).map(|agent| agent.id) {
                    self.focus = Focus::Agents;
                    self.chosen = Some(id);
                    self.full = Some(id);
                }
            }
            Some(Popup::Themes { chosen }) => {
                if let Some(name) = self.themes().get(chosen).cloned() {
                    self.use_theme(name, effects);
                }
            }
            Some(Popup::Worktrees { chosen }) => self.show_worktree(chosen),
            Some(Popup::DuplicateAgent { source, name, chosen }) => {
                if let Some((tier, _)) = self.agent_places.homes().get(chosen).copied() {
                    effects.push(Effect::AgentFiles(FileRequest::Duplicate { source, name, tier }));
                }
            }
            Some(Popup::Comment { id, text }) => {
                if !self.approvals.is_open(&id) {
                    self.inform("the question is no longer open");
                    return;
                }
                let comment = Some(text.text().trim().to_owned()).filter(|text| !text.is_empty());
                self.approvals.settle(&id);
                effects.push(Effect::Engine(Command::Answer { id, answer: Answer::No { comment } }));
                if self.approvals.is_empty() {
                    self.focus = self.home();
                }
            }
            Some(Popup::Search { agent, query }) => {
                let sought = Some(query.text().to_owned()).filter(|text| !text.is_empty());
                let found = sought.is_some();
                self.pane_mut(agent).search = sought;
                if found {
                    self.request_scroll(agent, Motion::FindLast);
                }
            }
            Some(
                Popup::Wizard
                | Popup::DeleteAgent { .. }
                | Popup::Help { .. }
                | Popup::Prompt { .. }
                | Popup::Permissions { .. }
                | Popup::Cost { .. }
                | Popup::Text { .. },
            )
            | None => {}
        }
    }
}
