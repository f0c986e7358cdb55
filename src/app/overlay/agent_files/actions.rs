//! What keys and mouse do in the view of all agents.
//!
//! Owns what may be done with which agent, and the words why not. Leaves doing it to `tui::perform`. Invariants:
//! nothing is deleted without a question that names the file; what is part of the program is never changed.

use ratatui::layout::Position;

use super::view::{AgentFilesPage, AgentFilesTyping, PendingWork};
use super::{AgentFileRow, AgentFilesView, FileRequest};
use crate::app::action::Action;
use crate::app::input::Taken;
use crate::app::key::{Key, Mouse, MouseKind};
use crate::app::keymap::{Context, Keymap};
use crate::app::{App, Effect, Focus, Popup};
use crate::definition::{DefinitionState, Listed, Tier};
use crate::message::sanitize_line;

/// Rows that one turn of the wheel moves.
const WHEEL: isize = 3;

impl App {
    /// Opens the view of all agents.
    pub(in crate::app) fn open_agent_files(&mut self, effects: &mut Vec<Effect>) {
        self.agent_files = Some(AgentFilesView::new(&self.listing));
        effects.push(Effect::AgentFiles(FileRequest::List));
    }

    /// Carries out an action in the view, and tells whether it means something there.
    pub(in crate::app) fn act_in_agent_files(&mut self, action: Action, effects: &mut Vec<Effect>) -> Taken {
        let Some(view) = &mut self.agent_files else { return Taken::No };
        view.error = None;
        let body = self.agent_files_body();
        match action {
            Action::MoveUp | Action::ScrollUp => self.move_in_agent_files(-1),
            Action::MoveDown | Action::ScrollDown => self.move_in_agent_files(1),
            Action::PageUp => self.move_in_agent_files(-body),
            Action::PageDown => self.move_in_agent_files(body),
            Action::Top => self.move_in_agent_files(isize::MIN),
            Action::Bottom => self.move_in_agent_files(isize::MAX),
            Action::Search => self.search_agent_files(),
            Action::Accept => self.accept_in_agent_files(),
            Action::Leave => self.leave_agent_files(),
            Action::EditAgent | Action::DuplicateAgent | Action::DeleteAgent | Action::UseAgent => {
                self.with_chosen_agent(action, effects);
            }
            Action::ReloadAgents => {
                effects.push(Effect::AgentFiles(FileRequest::Reload));
                self.agent_files_await(PendingWork::Reload);
            }
            Action::AgentFiles => {}
            // Whoever goes elsewhere leaves the view.
            Action::FocusNext | Action::FocusPrevious | Action::FocusAgent(_) | Action::IntoAgents => {
                self.agent_files = None;
                return Taken::No;
            }
            _ => return Taken::No,
        }
        Taken::Yes
    }

    fn agent_files_await(&mut self, what: PendingWork) {
        if let Some(view) = &mut self.agent_files {
            view.awaited = what;
        }
    }

    /// Returns the rows of the list, or of the chosen agent.
    fn agent_files_body(&self) -> isize {
        let body = self.agent_files.as_ref().map(|view| self.agent_files_layout(view).body.height);
        isize::try_from(body.unwrap_or(0).max(1)).unwrap_or(1)
    }

    fn move_in_agent_files(&mut self, by: isize) {
        let (height, end) = (self.agent_files_body(), self.popup_end);
        let Some(view) = &mut self.agent_files else { return };
        match &mut view.page {
            AgentFilesPage::List => {
                view.step(by, &self.listing);
                view.settle(height.unsigned_abs());
            }
            AgentFilesPage::Detail { scroll } => *scroll = scroll.saturating_add_signed(by).min(end),
        }
    }

    fn search_agent_files(&mut self) {
        if let Some(view) = &mut self.agent_files {
            view.page = AgentFilesPage::List;
            view.typing = AgentFilesTyping::Query;
        }
    }

    fn accept_in_agent_files(&mut self) {
        let Some(view) = &mut self.agent_files else { return };
        if view.is_typing() {
            view.typing = AgentFilesTyping::No;
        } else if view.chosen(&self.listing).is_some() && view.page == AgentFilesPage::List {
            view.page = AgentFilesPage::Detail { scroll: 0 };
        }
    }

    /// Leaves the innermost part: the chosen agent, the search, the view.
    fn leave_agent_files(&mut self) {
        let Some(view) = &mut self.agent_files else { return };
        if view.page != AgentFilesPage::List {
            view.page = AgentFilesPage::List;
        } else if view.is_typing() || !view.query().text().is_empty() {
            view.clear_search(&self.listing);
        } else {
            self.agent_files = None;
        }
    }

    /// Takes a key that is bound to nothing.
    pub(in crate::app) fn type_in_agent_files(&mut self, key: Key) {
        if let Some(view) = self.agent_files.as_mut().filter(|view| view.is_typing()) {
            view.error = None;
            view.search(&self.listing, |query| {
                query.key(key);
            });
        }
    }

    /// Takes pasted text if a search is being typed.
    pub(in crate::app) fn paste_in_agent_files(&mut self, text: &str) -> Taken {
        let Some(view) = self.agent_files.as_mut().filter(|view| view.is_typing()) else { return Taken::No };
        view.search(&self.listing, |query| query.insert(text));
        Taken::Yes
    }

    /// Takes an act of the mouse: a click chooses, another one opens, the wheel scrolls.
    pub(in crate::app) fn mouse_in_agent_files(&mut self, mouse: Mouse) {
        let end = self.popup_end;
        let Some(layout) = self.agent_files.as_ref().map(|view| self.agent_files_layout(view)) else { return };
        let Some(view) = &mut self.agent_files else { return };
        let height = usize::from(layout.body.height);
        let lines = match mouse.kind {
            MouseKind::WheelUp => -WHEEL,
            MouseKind::WheelDown => WHEEL,
            MouseKind::Press => {
                let at = Position { x: mouse.column, y: mouse.row };
                if view.page == AgentFilesPage::List && layout.body.contains(at) {
                    let place = view.first_visible(height) + usize::from(at.y - layout.body.y);
                    view.settle(height);
                    if matches!(view.rows().get(place), Some(AgentFileRow::Agent { .. })) {
                        if place == view.chosen_row() {
                            view.page = AgentFilesPage::Detail { scroll: 0 };
                        }
                        view.choose(place, &self.listing);
                    }
                }
                return;
            }
            MouseKind::Drag | MouseKind::Release => return,
        };
        match &mut view.page {
            AgentFilesPage::List => view.wheel(lines, height, &self.listing),
            AgentFilesPage::Detail { scroll } => *scroll = scroll.saturating_add_signed(lines).min(end),
        }
    }

    /// Does something with the chosen agent, or says why not.
    fn with_chosen_agent(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some(listed) = self.agent_files.as_ref().and_then(|view| view.chosen(&self.listing)).cloned() else {
            self.inform("no agent is chosen");
            return;
        };
        if let Some(reason) = refusal(action, &listed, &self.keymap) {
            self.warn(reason);
            return;
        }
        let name = listed.name();
        match (action, listed.source.path.clone()) {
            (Action::EditAgent, Some(path)) => effects.push(Effect::AgentFiles(FileRequest::Edit(path))),
            (Action::DeleteAgent, Some(path)) => self.popup = Some(Popup::DeleteAgent { name, path }),
            (Action::DuplicateAgent, _) => {
                self.popup = Some(Popup::DuplicateAgent { source: listed.source, name, chosen: 0 });
            }
            (Action::UseAgent, _) => {
                self.agent_files = None;
                self.focus = Focus::Composer;
                let name = sanitize_line(&name).split_whitespace().collect::<Vec<_>>().join("-");
                // Only the main agent delegates at the user's word.
                self.set_target(None);
                self.composer.insert(&format!("@agent-{name} "));
                self.edited(effects);
            }
            _ => {}
        }
    }

    /// Answers the question whether to delete a file.
    pub(in crate::app) fn answer_delete(&mut self, key: Key, effects: &mut Vec<Effect>) {
        match key.typed() {
            Some('y') => {
                if let Some(Popup::DeleteAgent { path, .. }) = self.popup.take() {
                    effects.push(Effect::AgentFiles(FileRequest::Delete(path)));
                }
            }
            Some('n' | 'q') => self.popup = None,
            _ => {}
        }
    }
}

/// Returns why something cannot be done with an agent, and what can be done instead.
fn refusal(action: Action, listed: &Listed, keymap: &Keymap) -> Option<String> {
    let name = listed.name();
    let name = sanitize_line(&name);
    let key = |action| keymap.chord_of(Context::AgentFiles, action).unwrap_or_else(|| "the palette".to_owned());
    let reason = match (action, &listed.standing, listed.source.tier) {
        (Action::UseAgent | Action::DuplicateAgent, DefinitionState::Broken, _) => {
            format!("{name} is broken: mend its file first, with {}", key(Action::EditAgent))
        }
        (Action::UseAgent, DefinitionState::Shadowed { by }, _) => {
            format!("{name} is shadowed by {}: use that one", by.tier.label())
        }
        (Action::EditAgent, _, Tier::BuiltIn) => {
            format!("{name} is built in: duplicate it with {} and edit the copy", key(Action::DuplicateAgent))
        }
        (Action::DeleteAgent, _, Tier::BuiltIn) => {
            format!("{name} is built in and stays; a file of that name shadows it")
        }
        (Action::DuplicateAgent, _, Tier::CommandLine) => {
            format!(
                "{name} is from the command line, without a text to copy; {} makes a new one",
                key(Action::NewAgent)
            )
        }
        (Action::EditAgent | Action::DeleteAgent, _, Tier::CommandLine) => {
            format!("{name} is from the command line and has no file")
        }
        _ => return None,
    };
    Some(reason)
}
