//! Letters pressed where they are commands, and sentences that are typed there by mistake.
//!
//! Owns the rule that tells one from the other: a letter that does something is held for [`LETTER_PAUSE`] and done only if
//! no other letter follows; with the second letter, or with one that means nothing there, all of them go to the message.
//! A letter that only moves acts at once, and goes to the message with those that follow. Leaves what a key means to
//! `input`. Invariant: a sentence typed with pauses shorter than that does nothing but stand in the message, whole and
//! in its order.

use std::time::{Duration, Instant};

use crate::app::action::Action;
use crate::app::key::{Key, KeyCode};
use crate::app::keymap::{Context, Lookup};
use crate::app::scroll::Scroll;
use crate::app::status::{Armed, Flash};
use crate::app::{App, Effect, Focus, Popup};
use crate::message::AgentId;
use crate::permission::ApprovalId;

/// How long a letter that does something waits for another one, which would make both part of a sentence.
pub const LETTER_PAUSE: Duration = Duration::from_millis(300);
/// The most letters in a row that may turn out to begin a sentence; more of them only move something around.
const MAX_RUN: usize = 32;

/// Letters pressed one soon after the other, where they are commands.
#[derive(Debug, Default)]
pub(in crate::app) struct Typing {
    /// All of them, oldest first.
    run: String,
    /// When the last one was pressed.
    last: Option<Instant>,
    /// The last one, if it does something and waits.
    held: Option<Held>,
    /// What was shown before the first one.
    before: Option<Shown>,
}

/// A letter that does something unless another one follows.
#[derive(Debug)]
struct Held {
    key: Key,
    subject: Subject,
}

/// What a letter is about. It is about nothing else by the time it acts.
#[derive(Debug, PartialEq, Eq)]
struct Subject {
    context: Context,
    agent: Option<AgentId>,
    question: Option<ApprovalId>,
    popup: Option<Popup>,
    entry: Option<String>,
}

/// What letters that only move may change.
#[derive(Debug)]
struct Shown {
    chosen: Option<AgentId>,
    scrolled: AgentId,
    scroll: Scroll,
}

/// What a letter does where it is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypedLetter {
    /// Nothing.
    Unbound,
    /// It moves what is chosen or shown, or opens a line to type in.
    Moves,
    /// Anything else.
    Acts,
}

impl Typing {
    /// Returns when the held letter acts.
    pub(in crate::app) fn due(&self) -> Option<Instant> {
        self.held.as_ref().and(self.last).map(|last| last + LETTER_PAUSE)
    }

    /// Returns `true` if a letter pressed now belongs to those before it.
    fn goes_on(&self, now: Instant) -> bool {
        self.last.is_some_and(|last| now.saturating_duration_since(last) < LETTER_PAUSE)
    }
}

impl App {
    /// Takes a key.
    pub(in crate::app) fn on_key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        match key.typed() {
            Some(letter) if self.reads_commands() => self.on_letter(letter, key, effects),
            Some(_) => {
                // The place may have become the message's while its first letters were typed.
                if self.context() == Context::Composer && self.typing.goes_on(self.now) && !self.typing.run.is_empty() {
                    self.type_run(effects);
                }
                self.typing = Typing::default();
                self.press_key(key, effects);
            }
            None => self.on_other_key(key, effects),
        }
    }

    /// Returns `true` if letters are commands where keys go, and not part of a text.
    fn reads_commands(&self) -> bool {
        let is_text = match &self.popup {
            Some(popup) => popup.takes_text(),
            None if self.agent_files.is_some() => self.context() == Context::Popup,
            None => self.focus == Focus::Composer,
        };
        // The rest of a chord belongs to what began it.
        !is_text && self.chord.is_empty()
    }

    fn on_letter(&mut self, letter: char, key: Key, effects: &mut Vec<Effect>) {
        if !self.typing.goes_on(self.now) || self.typing.run.chars().count() >= MAX_RUN {
            self.typing = Typing::default();
        }
        if self.typing.run.is_empty() {
            self.typing.before = Some(self.shown());
        }
        self.typing.run.push(letter);
        self.typing.last = Some(self.now);
        match self.means(key) {
            _ if self.typing.held.is_some() => self.type_run(effects),
            TypedLetter::Unbound => self.type_run(effects),
            TypedLetter::Moves => self.press_key(key, effects),
            TypedLetter::Acts => self.hold(key),
        }
    }

    fn hold(&mut self, key: Key) {
        self.typing.held = Some(Held { key, subject: self.subject() });
        if let Lookup::Action(action) = self.keymap.lookup(self.context(), &[key]) {
            let text = format!("{key}: {} …", action.description());
            let until = self.now + LETTER_PAUSE;
            self.flash = Some(Flash { until, ..Flash::info(text, self.now) });
            // What waits for a second press still does.
            if let Some((armed, until)) = self.armed.filter(|(armed, _)| *armed == Armed::Discard) {
                self.armed = Some((armed, until.max(self.now + LETTER_PAUSE)));
            }
        }
    }

    /// Lets the held letter act once its time has come.
    pub(in crate::app) fn act_on_held(&mut self, effects: &mut Vec<Effect>) {
        if self.typing.due().is_some_and(|due| due <= self.now) {
            self.release(effects);
        }
    }

    /// Lets the held letter act now.
    fn release(&mut self, effects: &mut Vec<Effect>) {
        let Some(held) = self.typing.held.take() else { return };
        if held.subject == self.subject() {
            self.typing = Typing::default();
            self.press_key(held.key, effects);
        } else {
            self.type_run(effects);
        }
    }

    /// Takes a key that is no letter.
    fn on_other_key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let holds = self.typing.held.is_some();
        match key.code {
            KeyCode::Esc if holds => {
                self.typing = Typing::default();
                self.flash = None;
                return;
            }
            // The end of a short line that was typed: it is not sent unseen.
            KeyCode::Enter if holds => {
                self.type_run(effects);
                return;
            }
            KeyCode::Backspace if holds => self.type_run(effects),
            _ => self.release(effects),
        }
        self.typing = Typing::default();
        self.press_key(key, effects);
    }

    /// Lets what was pressed before act, or be typed, before the mouse or a pasted text does something.
    pub(in crate::app) fn before_other_input(&mut self, is_text: bool, effects: &mut Vec<Effect>) {
        if is_text && self.typing.held.is_some() {
            self.type_run(effects);
        }
        self.release(effects);
        self.typing = Typing::default();
    }

    /// Gives the letters to the message, and the keyboard with them.
    fn type_run(&mut self, effects: &mut Vec<Effect>) {
        let Typing { run, before, .. } = std::mem::take(&mut self.typing);
        if let Some(before) = before {
            self.chosen = before.chosen;
            self.pane_mut(before.scrolled).scroll = before.scroll;
        }
        self.write();
        self.composer.type_text(&run);
        self.edited(effects);
        let text = match self.keymap.chord_of(Context::Composer, Action::FocusNext) {
            Some(key) => format!("typing goes to the message · {key} leads back"),
            None => "typing goes to the message".to_owned(),
        };
        self.inform(text);
    }

    /// Gives the keyboard to the message, whatever stands in front of it.
    pub(in crate::app) fn write(&mut self) {
        self.armed = None;
        self.popup = None;
        self.agent_files = None;
        self.full = None;
        self.close_timeline();
        self.focus = Focus::Composer;
    }

    fn shown(&self) -> Shown {
        let scrolled = self.scrolled();
        Shown { chosen: self.chosen, scrolled, scroll: self.pane(scrolled).scroll }
    }

    fn subject(&self) -> Subject {
        let entry = match &self.popup {
            Some(Popup::Permissions { chosen }) => self.grants.get(*chosen).map(|given| format!("{given:?}")),
            Some(Popup::Worktrees { chosen }) => self.kept_worktrees().get(*chosen).map(|one| one.branch.clone()),
            // The others say themselves what they are about.
            Some(_) => None,
            None => self.agent_files.as_ref().and_then(|view| view.chosen(&self.listing)).map(|one| format!("{one:?}")),
        };
        Subject {
            context: self.context(),
            agent: self.focused_agent(),
            question: self.approvals.shown().map(|request| request.id.clone()),
            popup: self.popup.clone(),
            entry,
        }
    }

    fn means(&self, key: Key) -> TypedLetter {
        let letter = key.typed().unwrap_or_default();
        match &self.popup {
            Some(Popup::Worktrees { .. }) if matches!(letter, 'm' | 'd') => return TypedLetter::Acts,
            Some(Popup::DeleteAgent { .. }) if letter == 'y' => return TypedLetter::Acts,
            Some(Popup::Worktrees { .. }) if letter == 'q' => return TypedLetter::Moves,
            Some(Popup::DeleteAgent { .. }) if matches!(letter, 'n' | 'q') => return TypedLetter::Moves,
            Some(popup) if popup.scrolls() && matches!(letter, 'j' | 'k' | 'g' | 'G' | 'q' | '?') => {
                return TypedLetter::Moves;
            }
            Some(Popup::Permissions { .. } | Popup::Worktrees { .. }) | None => {}
            // What is bound in lists does nothing in the others.
            Some(_) => return TypedLetter::Unbound,
        }
        match self.keymap.lookup(self.context(), &[key]) {
            Lookup::Action(action) if action.only_moves() => TypedLetter::Moves,
            Lookup::Action(_) => TypedLetter::Acts,
            Lookup::Pending(_) => TypedLetter::Moves,
            Lookup::None => TypedLetter::Unbound,
        }
    }
}
