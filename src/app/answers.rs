//! Answers to open questions, and the choice of an entry of a popup.
//!
//! Owns the way from a key to an answer. Leaves the queue to `approvals`. Invariant: an answer goes to the question
//! that stood on screen, never to the one behind it.

use super::action::Action;
use super::agent_files::FileRequest;
use super::diff_rows::count_rows;
use super::keys::Taken;
use super::{App, Effect, Expanded, Focus, Motion, PaletteAct, Popup};
use crate::agent::WorktreeAct;
use crate::permission::{Answer, ApprovalRequest, GrantOrigin, Preview};
use crate::subagent::{Children, Command};

/// Most rows of a question's details that are shown unasked; no more than a fifth of the screen.
const BRIEF_ROWS: usize = 8;

impl App {
    /// Looks at the open questions without answering.
    pub(super) fn look_at_question(&mut self, action: Action) {
        match action {
            Action::NextQuestion => self.approvals.turn(1, self.now),
            Action::PreviousQuestion => self.approvals.turn(-1, self.now),
            _ => {
                self.approvals.expanded = match self.approvals.expanded {
                    Expanded::No => Expanded::Yes,
                    Expanded::Yes => Expanded::No,
                };
            }
        }
    }

    /// Answers the question that is shown.
    pub(super) fn answer(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some(request) = self.approvals.shown().cloned() else {
            self.inform("no question is open");
            return;
        };
        if self.popup.is_some() {
            self.inform("close this first, to see what is asked");
            return;
        }
        if !self.approvals.is_ripe(self.now) || self.regions().approvals.is_empty() {
            return;
        }
        let answer = match action {
            Action::ApproveOnce => Answer::Once,
            Action::ApproveAlways | Action::ApproveProject if request.grant.is_none() => {
                self.warn("this can only be allowed once");
                return;
            }
            Action::ApproveAlways => Answer::Always,
            Action::ApproveProject => Answer::Project,
            Action::DenyWithComment => {
                self.popup = Some(Popup::Comment { id: request.id.clone(), text: super::LineEdit::default() });
                return;
            }
            _ => Answer::No { comment: None },
        };
        if let Some(request) = self.approvals.take_shown(self.now) {
            effects.push(Effect::Engine(Command::Answer { id: request.id, answer }));
        }
        if self.focus == Focus::Approvals && self.approvals.is_empty() {
            self.focus = self.home();
        }
    }

    /// Returns how many rows the open question would like: its heading, its details, why and its keys.
    pub(super) fn approval_rows(&self) -> u16 {
        let Some(request) = self.approvals.shown() else { return 0 };
        let most = match self.approvals.expanded {
            Expanded::No => BRIEF_ROWS.min(usize::from(self.size.height / 8)).max(1),
            Expanded::Yes => usize::from(self.size.height),
        };
        let shown = detail_rows(request, usize::from(self.size.width.saturating_sub(4).max(1)), most);
        u16::try_from(shown + 3).unwrap_or(u16::MAX)
    }

    /// Returns how many entries the open popup offers.
    pub(super) fn popup_entries(&self) -> usize {
        match &self.popup {
            Some(Popup::Palette { query, .. }) => {
                super::palette(&self.keymap, self.context_behind_popup(), query.text()).len()
            }
            Some(Popup::Agents { .. }) => self.agents.len(),
            Some(Popup::Themes { .. }) => self.themes().len(),
            Some(Popup::Permissions { .. }) => self.grants.len(),
            Some(Popup::Worktrees { .. }) => self.kept_worktrees().len(),
            Some(Popup::DuplicateAgent { .. }) => self.agent_places.homes().len(),
            Some(Popup::Interrupt { .. }) => 2,
            _ => 0,
        }
    }

    /// Takes back the chosen grant, if an answer gave it.
    pub(super) fn remove(&mut self, effects: &mut Vec<Effect>) -> Taken {
        if let Some(Popup::Worktrees { chosen }) = self.popup {
            self.ask_in_list(chosen, WorktreeAct::Discard, effects);
            return Taken::Yes;
        }
        let Some(Popup::Permissions { chosen }) = self.popup else { return Taken::No };
        let Some(given) = self.grants.get(chosen).cloned() else { return Taken::Yes };
        if given.origin.is_answer() {
            effects.push(Effect::Engine(Command::Forget(given.grant)));
        } else {
            self.inform(match given.origin {
                GrantOrigin::Config => "this comes from your config.toml; change it there",
                _ => "this comes from the command line; start without it",
            });
        }
        Taken::Yes
    }

    /// Takes the chosen entry of the popup, or what was typed into it.
    pub(super) fn accept(&mut self, effects: &mut Vec<Effect>) {
        match self.popup.take() {
            Some(Popup::Palette { query, chosen }) => {
                let context = self.context_behind_popup();
                let entries = super::palette(&self.keymap, context, query.text());
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
                self.approvals.settle(&id, self.now);
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
            Some(Popup::Interrupt { chosen }) => {
                self.interrupt_with(if chosen == 0 { Children::Keep } else { Children::Stop }, effects);
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

/// Counts the rows of a question's details at a width, no further than `most`.
fn detail_rows(request: &ApprovalRequest, columns: usize, most: usize) -> usize {
    let wrapped = |text: &str| -> usize {
        text.lines().map(|line| unicode_width::UnicodeWidthStr::width(line).div_ceil(columns).max(1)).sum()
    };
    let title = wrapped(&request.title).max(1);
    let preview = match &request.preview {
        Some(Preview::Diff(diff)) => count_rows(diff, columns, most.saturating_sub(title)),
        Some(Preview::Note { text }) => wrapped(text),
        None => 0,
    };
    (title + preview).min(most)
}
