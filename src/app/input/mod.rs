//! The way of an input to what it is for: layers are offered it from the top, and the first that has a use for it
//! takes it.
//!
//! Owns who is asked first, and chords of several keys. Leaves what an action does to `actions`, the mouse to `mouse`, and
//! telling letters that are commands from the start of a sentence to `typing`. Invariant: what waits for a second press waits for no
//! other key.

mod actions;
pub mod key;
pub mod keymap;
pub(super) mod mouse;
mod second_press;
pub(super) mod typing;

use std::time::{Duration, Instant};

use self::key::{Key, KeyCode};
use self::keymap::{Context, Keymap, Lookup};
use self::typing::{BeforeTyping, LETTER_PAUSE, Subject, Typed, TypedLetter, Typing};
use super::status::{CONFIRM, Flash};
use super::{Action, App, Focus, Popup, overlay};

/// How long a digit waits for the next one of an agent's number.
const NUMBER_PAUSE: Duration = Duration::from_secs(1);

/// Whether what was offered an input had a use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handled {
    Consumed,
    /// It had none; the next one is asked, or the key means what it means without a binding.
    Ignored,
}

/// The keys: what they mean, and what was pressed of a longer chord.
#[derive(Debug)]
pub(super) struct Keyboard {
    keymap: Keymap,
    /// Keys that begin a longer chord, each with the time of its press.
    chord: Vec<Key>,
    chord_at: Instant,
    typing: Typing,
    /// The number of an agent that was typed last.
    number: Option<(u32, Instant)>,
}

/// The number of an agent, as far as it was typed.
pub(super) struct TypedNumber {
    pub(super) number: u32,
    /// Whether another digit would make it the number of another agent.
    pub(super) may_go_on: bool,
}

impl Keyboard {
    pub(super) fn new(keymap: Keymap, now: Instant) -> Self {
        Self { keymap, chord: Vec::new(), chord_at: now, typing: Typing::default(), number: None }
    }

    pub(super) fn keymap(&self) -> &Keymap {
        &self.keymap
    }

    /// Takes a digit of an agent's number. It goes on with those typed right before if there is such an agent.
    fn number(&mut self, digit: u8, in_agents: bool, now: Instant, known: impl Fn(u32) -> bool) -> TypedNumber {
        let before =
            self.number.take().filter(|(_, at)| in_agents && now.saturating_duration_since(*at) < NUMBER_PAUSE);
        let longer = |number: u32, digit: u8| number.saturating_mul(10).saturating_add(u32::from(digit));
        let number = before.map(|(number, _)| longer(number, digit)).filter(|number| known(*number));
        let number = number.unwrap_or(u32::from(digit));
        self.number = Some((number, now));
        TypedNumber { number, may_go_on: in_agents && number > 0 && (0..=9).any(|digit| known(longer(number, digit))) }
    }

    /// Returns when a chord is forgotten, or a letter acts.
    pub(super) fn due(&self) -> Option<Instant> {
        let chord = (!self.chord.is_empty()).then(|| self.chord_at + CONFIRM);
        [chord, self.typing.due()].into_iter().flatten().min()
    }

    /// Forgets a chord that was begun too long ago. Returns `true` if there was one.
    pub(super) fn forget_old_chord(&mut self, now: Instant) -> bool {
        let old = !self.chord.is_empty() && self.chord_at + CONFIRM <= now;
        if old {
            self.chord.clear();
        }
        old
    }

    /// Takes a key and returns what it means after those before it, and whether it went on with a chord.
    fn press(&mut self, key: Key, context: Context, now: Instant) -> (Lookup, bool) {
        if self.chord_at + CONFIRM < now {
            self.chord.clear();
        }
        let goes_on = !self.chord.is_empty();
        self.chord.push(key);
        let meaning = self.keymap.lookup(context, &self.chord);
        match meaning {
            Lookup::Pending(_) => self.chord_at = now,
            Lookup::Action(_) | Lookup::None => self.chord.clear(),
        }
        (meaning, goes_on)
    }
}

impl App {
    pub(super) fn on_key(&mut self, key: Key) {
        let Some(letter) = key.typed() else { return self.on_other_key(key) };
        // Nothing is typed in a replay but into a search.
        if self.playback.is_some() {
            return self.press_key(key);
        }
        if !self.reads_commands() {
            // The place may have become the message's while its first letters were typed.
            if self.context() == Context::Composer && self.keys.typing.has_run(self.out.now()) {
                self.type_run();
            }
            self.keys.typing = Typing::default();
            return self.press_key(key);
        }
        let (shown, means, now) = (self.shown(), self.means(key), self.out.now());
        match self.keys.typing.press(letter, means, now, || shown) {
            Typed::Sentence => self.type_run(),
            Typed::Press => self.press_key(key),
            Typed::Hold => self.hold(key),
        }
    }

    fn on_other_key(&mut self, key: Key) {
        let holds = self.keys.typing.holds();
        match key.code {
            KeyCode::Esc if holds => {
                self.keys.typing = Typing::default();
                self.out.clear_flash();
                return;
            }
            // The end of a short line that was typed: it is not sent unseen.
            KeyCode::Enter if holds => return self.type_run(),
            KeyCode::Backspace if holds => self.type_run(),
            _ => self.release(),
        }
        self.keys.typing = Typing::default();
        self.press_key(key);
    }

    /// Presses a key where keys go now. A first press that another one was to confirm is forgotten.
    fn press_key(&mut self, key: Key) {
        self.out.offer();
        if key.typed().is_some() {
            self.view.take_clicked();
            self.commands.unmark();
        }
        self.dispatch(key);
        self.out.withdraw_offer();
    }

    fn dispatch(&mut self, key: Key) {
        if self.context() == Context::Composer && self.edits_first(key) {
            return;
        }
        match self.keys.press(key, self.context(), self.out.now()) {
            (Lookup::Action(action), _) => {
                let types = match self.overlay.popup_mut() {
                    Some(popup) => popup.line().is_some(),
                    None => self.agent_files.is_typing(),
                };
                if types && key.typed().is_some() || self.act(action) == Handled::Ignored {
                    self.type_key(key);
                }
            }
            (Lookup::Pending(action), _) => self.announce(action),
            (Lookup::None, true) => {
                // The chord came to nothing; its last key stands for itself.
                self.out.clear_flash();
                self.dispatch(key);
            }
            (Lookup::None, false) => self.type_key(key),
        }
    }

    /// Gives a key to the composer where it comes before any binding. Returns `true` if it took it.
    fn edits_first(&mut self, key: Key) -> bool {
        let composer = self.messages.composer_mut();
        if !composer.is_choosing() && !composer.takes_first(&key) {
            return false;
        }
        // Enter carries a completed command out at once.
        let command = composer.completion().is_some() && composer.text().starts_with('/');
        let taken = composer.handle_key(&key);
        if taken {
            self.edited();
            if command && key.code == KeyCode::Enter {
                self.submit();
            }
        }
        taken
    }

    /// Gives a key to whatever text is being typed.
    fn type_key(&mut self, key: Key) {
        if self.overlay.wizard_is_open() {
            let width = self.view.size().width;
            self.overlay.wizard_mut().type_key(key, width);
        } else if let Some(popup) = self.overlay.popup_mut() {
            if let Some(line) = popup.line() {
                line.key(key);
            }
            overlay::actions::typed(self);
        } else if self.agent_files.view().is_some() {
            self.agent_files.type_key(key);
        } else if self.view.focus() == Focus::Composer && self.playback.is_none() {
            if key.typed() == Some('?') && self.messages.composer().is_empty() {
                self.overlay.open(Popup::help());
            } else if key.code != KeyCode::Up || self.queued().is_empty() || !self.messages.unsend(&mut self.out) {
                self.messages.composer_mut().handle_key(&key);
                self.edited();
            }
        }
    }

    /// Says what the rest of a chord would do.
    fn announce(&mut self, action: Action) {
        let text = match action {
            Action::StopAll => format!("press again to stop {}", self.running_words()),
            _ => format!("… {}", action.description()),
        };
        self.out.set_flash(Flash::confirm(text, self.out.now()));
    }

    pub(super) fn on_paste(&mut self, text: &str) {
        self.before_other_input(true);
        self.out.offer();
        self.out.withdraw_offer();
        if self.overlay.wizard_is_open() {
            self.overlay.wizard_mut().paste(text);
            return;
        }
        if let Some(line) = self.overlay.popup_mut().and_then(Popup::line) {
            line.insert(text);
            overlay::actions::typed(self);
            return;
        }
        if !self.overlay.is_open() && self.agent_files.paste(text) {
            return;
        }
        if self.overlay.is_open() || self.agent_files.view().is_some() || self.view.focus() != Focus::Composer {
            self.write();
        }
        self.messages.paste(text, &mut self.out);
        self.edited();
    }

    /// Returns `true` if letters are commands where keys go, and not part of a text.
    fn reads_commands(&self) -> bool {
        let is_text = match self.overlay.popup() {
            Some(popup) => popup.takes_text(),
            None if self.agent_files.view().is_some() => self.agent_files.is_typing(),
            None => self.view.focus() == Focus::Composer,
        };
        // The rest of a chord belongs to what began it.
        !is_text && self.keys.chord.is_empty()
    }

    fn hold(&mut self, key: Key) {
        let subject = self.subject();
        self.keys.typing.hold(key, subject);
        if let Lookup::Action(action) = self.keys.keymap.lookup(self.context(), &[key]) {
            let (now, text) = (self.out.now(), format!("{key}: {} …", action.description_in(self.context())));
            let until = now + LETTER_PAUSE;
            self.out.set_flash(Flash { until, ..Flash::info(text, now) });
            // What waits for a second press still does.
            self.out.stay_armed(until);
        }
    }

    /// Lets the held letter act once its time has come.
    pub(super) fn act_on_held(&mut self) {
        if self.keys.typing.due().is_some_and(|due| due <= self.out.now()) {
            self.release();
        }
    }

    /// Lets the held letter act now.
    fn release(&mut self) {
        let Some((key, subject)) = self.keys.typing.take_held() else { return };
        if subject == self.subject() {
            self.keys.typing = Typing::default();
            self.press_key(key);
        } else {
            self.type_run();
        }
    }

    /// Lets what was pressed before act, or be typed, before the mouse or a pasted text does something.
    fn before_other_input(&mut self, is_text: bool) {
        if is_text && self.keys.typing.holds() {
            self.type_run();
        }
        self.release();
        self.keys.typing = Typing::default();
    }

    /// Gives the letters to the message, and the keyboard with them.
    fn type_run(&mut self) {
        let (run, before) = self.keys.typing.take_run();
        if let Some(before) = before {
            self.view.choose(before.chosen);
            self.view.pane_mut(before.scrolled).scroll = before.scroll;
        }
        self.write();
        self.messages.composer_mut().type_text(&run);
        self.edited();
        self.out.inform(match self.keys.keymap.chord_of(Context::Composer, Action::FocusNext) {
            Some(key) => format!("typing in the composer · {key} goes back"),
            None => "typing in the composer".to_owned(),
        });
    }

    /// Gives the keyboard to the message, whatever stands in front of it.
    fn write(&mut self) {
        self.out.disarm();
        self.overlay.close();
        self.agent_files.close();
        self.view.set_full(None);
        self.close_timeline();
        self.view.set_focus(Focus::Composer);
    }

    fn shown(&self) -> BeforeTyping {
        let scrolled = self.view.scrolled();
        BeforeTyping { chosen: self.view.chosen(), scrolled, scroll: self.view.pane(scrolled).scroll }
    }

    fn subject(&self) -> Subject {
        let entry = match self.overlay.popup() {
            Some(Popup::List(list)) => list.entries(self, u16::MAX).into_iter().nth(list.chosen).map(|entry| entry.id),
            // The others say themselves what they are about.
            Some(_) => None,
            None => self.agent_files.chosen().map(|one| format!("{one:?}")),
        };
        Subject {
            context: self.context(),
            agent: self.focused_agent(),
            question: self.approvals.shown().map(|request| request.id.clone()),
            popup: self.overlay.popup().cloned(),
            entry,
        }
    }

    fn means(&self, key: Key) -> TypedLetter {
        let list = self.overlay.list();
        match self.keys.keymap.lookup(self.context(), &[key]) {
            // What is bound in lists does nothing in those that do not offer it.
            Lookup::Action(action) if list.is_some_and(|list| !list.offers(action)) => TypedLetter::Unbound,
            Lookup::Action(action) if action.only_moves() => TypedLetter::Moves,
            Lookup::Action(_) => TypedLetter::Acts,
            Lookup::Pending(_) => TypedLetter::Moves,
            Lookup::None => TypedLetter::Unbound,
        }
    }
}
