//! What keys and mouse do in the view of all agents.
//!
//! Owns what may be done with which agent, and the words why not. Leaves doing it to `tui::effect_runner`. Invariants:
//! nothing is deleted without a question that names the file; what is part of the program is never changed.

use ratatui::layout::Position;

use super::view::{AgentFilesPage, AgentFilesTyping, PendingWork};
use super::{AgentFileRow, AgentFilesPanel, FileRequest, FilesLayout};
use crate::app::action::Action;
use crate::app::key::{Key, Mouse, MouseKind};
use crate::app::keymap::{Context, Keymap};
use crate::app::outbox::Outbox;
use crate::app::overlay::list::FOLDERS;
use crate::app::{Effect, Popup};
use crate::definition::{DefinitionState, Listed, Tier};
use crate::message::sanitize_line;

const WHEEL: isize = 3;

/// What an action meant to the view of all agents.
#[derive(Debug, PartialEq)]
pub(in crate::app) enum FilesAct {
    Consumed,
    Ignored,
    /// That this is asked first.
    Ask(Popup),
    /// That the message names this agent.
    Use(String),
}

impl AgentFilesPanel {
    /// Carries out an action while the view is open. `rows` are those of its body, `end` the last line it scrolls to.
    pub(in crate::app) fn act(
        &mut self,
        action: Action,
        (rows, end): (usize, usize),
        keymap: &Keymap,
        out: &mut Outbox,
    ) -> FilesAct {
        let Some(view) = &mut self.view else { return FilesAct::Ignored };
        view.error = None;
        let body = isize::try_from(rows.max(1)).unwrap_or(1);
        let step = match action {
            Action::MoveUp | Action::ScrollUp => -1,
            Action::MoveDown | Action::ScrollDown => 1,
            Action::PageUp => -body,
            Action::PageDown => body,
            Action::Top => isize::MIN,
            Action::Bottom => isize::MAX,
            Action::Search => {
                view.page = AgentFilesPage::List;
                view.typing = AgentFilesTyping::Query;
                return FilesAct::Consumed;
            }
            Action::Accept => {
                view.accept(&self.listing);
                return FilesAct::Consumed;
            }
            Action::Leave => {
                if !view.leave(&self.listing) {
                    self.view = None;
                }
                return FilesAct::Consumed;
            }
            Action::EditAgent | Action::DuplicateAgent | Action::DeleteAgent | Action::UseAgent => {
                return self.act_on_chosen(action, keymap, out);
            }
            Action::ReloadAgents => {
                out.push(Effect::AgentFiles(FileRequest::Reload));
                view.awaited = PendingWork::Reload;
                return FilesAct::Consumed;
            }
            Action::AgentFiles => return FilesAct::Consumed,
            // Whoever goes elsewhere leaves the view.
            Action::FocusNext | Action::FocusPrevious | Action::FocusAgent(_) | Action::IntoAgents => {
                self.view = None;
                return FilesAct::Ignored;
            }
            _ => return FilesAct::Ignored,
        };
        match &mut view.page {
            AgentFilesPage::List => {
                view.step(step, &self.listing);
                view.settle(rows.max(1));
            }
            AgentFilesPage::Detail { scroll } => *scroll = scroll.saturating_add_signed(step).min(end),
        }
        FilesAct::Consumed
    }

    /// Takes a key that is bound to nothing.
    pub(in crate::app) fn type_key(&mut self, key: Key) {
        if let Some(view) = self.view.as_mut().filter(|view| view.is_typing()) {
            view.error = None;
            view.search(&self.listing, |query| {
                query.key(key);
            });
        }
    }

    /// Takes pasted text if a search is being typed. Returns `true` if it is.
    pub(in crate::app) fn paste(&mut self, text: &str) -> bool {
        let Some(view) = self.view.as_mut().filter(|view| view.is_typing()) else { return false };
        view.search(&self.listing, |query| query.insert(text));
        true
    }

    /// Takes an act of the mouse: a click chooses, another one opens, the wheel scrolls.
    pub(in crate::app) fn on_mouse(&mut self, mouse: Mouse, layout: &FilesLayout, end: usize) {
        let Some(view) = &mut self.view else { return };
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
    fn act_on_chosen(&mut self, action: Action, keymap: &Keymap, out: &mut Outbox) -> FilesAct {
        let Some(listed) = self.chosen().cloned() else {
            out.inform("no agent selected");
            return FilesAct::Consumed;
        };
        if let Some(reason) = refusal(action, &listed, keymap) {
            out.warn(reason);
            return FilesAct::Consumed;
        }
        let name = listed.name();
        match (action, listed.source.path.clone()) {
            (Action::EditAgent, Some(path)) => out.push(Effect::AgentFiles(FileRequest::Edit(path))),
            (Action::DeleteAgent, Some(path)) => return FilesAct::Ask(Popup::DeleteAgent { name, path }),
            (Action::DuplicateAgent, _) => {
                self.copying = Some((listed.source, name));
                return FilesAct::Ask(Popup::list(&FOLDERS));
            }
            (Action::UseAgent, _) => {
                self.view = None;
                return FilesAct::Use(sanitize_line(&name).split_whitespace().collect::<Vec<_>>().join("-"));
            }
            _ => {}
        }
        FilesAct::Consumed
    }
}

/// Returns why something cannot be done with an agent, and what can be done instead.
fn refusal(action: Action, listed: &Listed, keymap: &Keymap) -> Option<String> {
    let name = listed.name();
    let name = sanitize_line(&name);
    let key = |action| keymap.chord_of(Context::AgentFiles, action).unwrap_or_else(|| "the palette".to_owned());
    let reason = match (action, &listed.standing, listed.source.tier) {
        (Action::UseAgent | Action::DuplicateAgent, DefinitionState::Broken, _) => {
            format!("{name} is broken: fix its file first, with {}", key(Action::EditAgent))
        }
        (Action::UseAgent, DefinitionState::Shadowed { by }, _) => {
            format!("{name} is shadowed by {}: use that one", by.tier.label())
        }
        (Action::EditAgent, _, Tier::BuiltIn) => {
            format!("{name} is built in: duplicate it with {} and edit the copy", key(Action::DuplicateAgent))
        }
        (Action::DeleteAgent, _, Tier::BuiltIn) => {
            format!("{name} is built in and cannot be deleted; a file of the same name shadows it")
        }
        (Action::DuplicateAgent, _, Tier::CommandLine) => {
            format!(
                "{name} is from the command line and has no file to copy; {} creates a new one",
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
