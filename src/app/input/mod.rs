//! The way of a key: to the popup, the composer's list, the keymap, or the text.
//!
//! Owns who is asked first, and chords of several keys. Leaves what an action does to `actions`, and letters that may be
//! the start of a sentence to `typing`. Invariant: what waits for a second press waits for no other key.

mod actions;
pub mod key;
pub mod keymap;
pub(super) mod mouse;
pub(super) mod typing;

use std::time::Duration;

use crate::app::action::Action;
use crate::app::agent_files::AgentFilesView;
use crate::app::key::{Key, KeyCode};
use crate::app::keymap::{Context, Lookup};
use crate::app::status::{CONFIRM, Flash};
use crate::app::{App, Effect, Focus, Popup};

/// How old the list of files may be when a file is named.
const RELIST: Duration = Duration::from_secs(20);

/// Whether an action took the key it was bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Taken {
    /// It did.
    Yes,
    /// It had nothing to do; the key means what it means without the binding.
    No,
}

impl App {
    /// Presses a key where keys go now. A first press that another one was to confirm is forgotten.
    pub(in crate::app) fn press_key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        self.offered = self.armed.take();
        if key.typed().is_some() {
            self.clicked = None;
        }
        self.dispatch(key, effects);
        self.withdraw_offer();
    }

    fn dispatch(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let writing = self.context() == Context::Composer;
        if writing && (self.composer.is_choosing() || self.composer.takes_first(&key)) {
            // Enter carries a completed command out at once.
            let command = self.composer.completion().is_some() && self.composer.text().starts_with('/');
            if self.composer.handle_key(&key) {
                self.edited(effects);
                if command && key.code == KeyCode::Enter {
                    self.submit(effects);
                }
                return;
            }
        }
        if self.chord_at + CONFIRM < self.now {
            self.chord.clear();
        }
        let waiting = !self.chord.is_empty();
        self.chord.push(key);
        let context = self.context();
        match self.keymap.lookup(context, &self.chord) {
            Lookup::Action(action) => {
                self.chord.clear();
                let acts = if self.popup == Some(Popup::Wizard) { Self::act_in_wizard } else { Self::act };
                if self.types_in_popup(key) || acts(self, action, effects) == Taken::No {
                    self.type_key(key, effects);
                }
            }
            Lookup::Pending(action) => {
                self.chord_at = self.now;
                self.announce(action);
            }
            Lookup::None if waiting => {
                // The chord came to nothing; its last key stands for itself.
                self.chord.clear();
                self.flash = None;
                self.dispatch(key, effects);
            }
            Lookup::None => {
                self.chord.clear();
                self.type_key(key, effects);
            }
        }
    }

    /// Returns `true` if a key types into a popup's line although an action of its own is bound to it.
    fn types_in_popup(&mut self, key: Key) -> bool {
        key.typed().is_some() && self.popup.as_mut().is_some_and(|popup| popup.line().is_some())
    }

    /// Gives a key to whatever text is being typed.
    fn type_key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        if self.popup.is_some() {
            self.type_in_popup(key, effects);
        } else if self.agent_files.is_some() {
            self.type_in_agent_files(key);
        } else if self.focus == Focus::Composer {
            if key.typed() == Some('?') && self.composer.is_empty() {
                self.popup = Some(Popup::Help { scroll: 0 });
            } else if key.code != KeyCode::Up || !self.unsend(effects) {
                self.composer.handle_key(&key);
                self.edited(effects);
            }
        }
    }

    fn type_in_popup(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let end = self.popup_end;
        if self.popup == Some(Popup::Wizard) {
            self.type_in_wizard(key, effects);
            return;
        }
        let Some(popup) = &mut self.popup else { return };
        if let Popup::Worktrees { chosen } = popup {
            let chosen = *chosen;
            self.type_in_worktrees(chosen, key, effects);
        } else if let Popup::DeleteAgent { .. } = popup {
            self.answer_delete(key, effects);
        } else if let Some(line) = popup.line() {
            line.key(key);
        } else if let (Some(scroll), Some(c)) = (popup.scroll(), key.typed()) {
            match c {
                'j' => *scroll = (*scroll + 1).min(end),
                'k' => *scroll = scroll.saturating_sub(1),
                'g' => *scroll = 0,
                'G' => *scroll = end,
                'q' | '?' => self.popup = None,
                _ => {}
            }
        }
    }

    /// Says what the rest of a chord would do.
    fn announce(&mut self, action: Action) {
        let text = match action {
            Action::StopAll => format!("again to stop everything: {}", self.running_words()),
            _ => format!("… {}", action.description()),
        };
        self.flash = Some(Flash::confirm(text, self.now));
    }

    /// Takes pasted text.
    pub(in crate::app) fn on_paste(&mut self, text: &str, effects: &mut Vec<Effect>) {
        self.before_other_input(true, effects);
        self.armed = None;
        if self.popup == Some(Popup::Wizard) {
            self.paste_in_wizard(text);
            return;
        }
        if let Some(line) = self.popup.as_mut().and_then(Popup::line) {
            line.insert(text);
            return;
        }
        if self.popup.is_none() && self.paste_in_agent_files(text) == Taken::Yes {
            return;
        }
        if self.popup.is_some() || self.agent_files.is_some() || self.focus != Focus::Composer {
            self.write();
        }
        self.composer.paste(text);
        self.edited(effects);
    }

    /// Brings what depends on the composer's text up to date.
    pub(in crate::app) fn edited(&mut self, effects: &mut Vec<Effect>) {
        self.composer.set_width(self.size.width);
        self.composer.set_addressees(self.addressees());
        self.composer.refresh_completion(&mut self.files, &crate::app::command::candidates());
        let stale = self.listed_at.is_none_or(|at| self.now.saturating_duration_since(at) >= RELIST);
        if stale && self.composer.text().contains('@') {
            self.listed_at = Some(self.now);
            effects.push(Effect::ListFiles);
        }
    }

    /// Returns the keys that matter most now: chord and a short word. None is named that would do nothing.
    #[must_use]
    pub fn hints(&self) -> Vec<(String, &'static str)> {
        let hints = self.keymap.hints(self.context());
        let files = self.agent_files.as_ref();
        let accept = self.popup.as_ref().map(Popup::accept_word);
        let accept = accept.or_else(|| files.map(AgentFilesView::accept_word));
        let typing = self.popup.is_none() && files.is_some_and(AgentFilesView::is_typing);
        let ended = self.focused_agent().and_then(|id| self.agents.get(id)).is_some_and(super::AgentView::has_ended);
        let word = |action: Action, word: &'static str| match action {
            Action::Accept => accept.unwrap_or(Some(word)),
            Action::Leave if typing => Some("show all"),
            Action::Stop if ended => None,
            Action::Resume if !ended => None,
            Action::Interrupt if self.target().is_none() => None,
            Action::IntoAgents if self.agents.is_empty() => None,
            _ => Some(word),
        };
        hints.into_iter().filter_map(|(chord, action, known)| Some((chord, word(action, known)?))).collect()
    }

    /// Returns where in the keymap a key is looked up.
    #[must_use]
    pub fn context(&self) -> Context {
        let typing = self.agent_files.as_ref().is_some_and(AgentFilesView::is_typing);
        match &self.popup {
            Some(Popup::Wizard) => Context::Wizard,
            Some(_) => Context::Popup,
            None if typing => Context::Popup,
            None => self.context_behind_popup(),
        }
    }

    /// Returns where keys would go if no popup were open.
    #[must_use]
    pub fn context_behind_popup(&self) -> Context {
        if self.agent_files.is_some() {
            return Context::AgentFiles;
        }
        match self.focus {
            Focus::Composer => Context::Composer,
            Focus::Approvals => Context::Approvals,
            Focus::Conversation => Context::Conversation,
            Focus::Timeline => Context::Timeline,
            Focus::Agents if self.full.is_some() => Context::AgentFull,
            Focus::Agents => Context::Agents,
        }
    }
}
