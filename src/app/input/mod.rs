//! The way of an input to what it is for: layers are offered it from the top, and the first that has a use for it
//! takes it.
//!
//! Owns who is asked first, and chords of several keys. Leaves what an action does to `actions`, and telling letters
//! that are commands from the start of a sentence to `typing`. Invariant: what waits for a second press waits for no
//! other key.

mod actions;
pub mod key;
pub mod keymap;
pub(super) mod typing;

use std::time::{Duration, Instant};

use ratatui::layout::Position;

use self::key::{Key, KeyCode, Mouse, MouseKind};
use self::keymap::{Context, Keymap, Lookup};
use self::typing::{BeforeTyping, LETTER_PAUSE, Subject, Typed, TypedLetter, Typing};
use super::layout::Regions;
use super::status::{CONFIRM, Flash};
use super::view::pointer::{Dragging, HitTarget, PanePart, share_at};
use super::{Action, App, Focus, Motion, Popup, overlay};
use crate::message::AgentId;

/// Lines that one turn of the wheel moves.
const WHEEL: i32 = 3;

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
            Action::StopAll => format!("press again to stop {}", self.agents.running_words()),
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
        self.messages.composer_mut().paste(text);
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

    pub(super) fn on_mouse(&mut self, mouse: Mouse) {
        if mouse.kind == MouseKind::Press {
            self.before_other_input(false);
            self.out.offer();
        }
        let at = Position { x: mouse.column, y: mouse.row };
        let in_list = mouse.kind == MouseKind::Press && overlay::actions::press(self, at);
        if !in_list && !self.mouse_in_agent_files(mouse) {
            self.mouse_behind(mouse.kind, at);
        }
        self.out.withdraw_offer();
    }

    /// Gives an act of the mouse to the view of all agents, or to the popup before it. Returns `true` if one is open.
    fn mouse_in_agent_files(&mut self, mouse: Mouse) -> bool {
        let Some(layout) = self.agent_files().map(|view| self.agent_files_layout(view)) else { return false };
        if !self.overlay.is_open() {
            self.agent_files.on_mouse(mouse, &layout, self.overlay.end());
            return true;
        }
        mouse.kind == MouseKind::Press && self.overlay.close().is_some()
    }

    fn mouse_behind(&mut self, kind: MouseKind, at: Position) {
        let regions = self.regions();
        match kind {
            MouseKind::WheelUp => self.wheel(&regions, at, -WHEEL),
            MouseKind::WheelDown => self.wheel(&regions, at, WHEEL),
            MouseKind::Press => self.press(&regions, at),
            MouseKind::Drag => self.drag(&regions, at),
            MouseKind::Release => {
                if let Dragging::Text { agent, opens } = self.pointer.release() {
                    self.view.end_selection(agent, opens);
                }
            }
        }
    }

    fn wheel(&mut self, regions: &Regions, at: Position, lines: i32) {
        let (end, step) = (self.overlay.end(), isize::try_from(lines).unwrap_or(0));
        if self.overlay.wizard_is_open() {
            self.overlay.wizard_mut().wheel(lines, end);
            return;
        }
        if let Some(popup) = self.overlay.popup_mut() {
            if let Some(scroll) = popup.scroll() {
                *scroll = scroll.saturating_add_signed(step).min(end);
            }
            return;
        }
        let scrolled = match self.pointer.target(regions, at) {
            HitTarget::Timeline => {
                self.act(if lines < 0 { Action::ZoomIn } else { Action::ZoomOut });
                return;
            }
            HitTarget::Approvals(_) => return self.approvals.scroll_by(step, end),
            HitTarget::Pane(pane, _) => pane.agent,
            HitTarget::Conversation => AgentId::MAIN,
            HitTarget::Filed | HitTarget::Nothing | HitTarget::Border | HitTarget::Composer => return,
        };
        self.view.request_scroll(&self.agents, scrolled, Motion::Lines(lines), &mut self.out);
    }

    fn press(&mut self, regions: &Regions, at: Position) {
        if self.overlay.close().is_some() {
            // What lies behind was covered, and is not what was meant.
            return;
        }
        self.view.clear_selection();
        let clicked = self.view.take_clicked();
        let unit = self.pointer.click(at, self.out.now());
        match self.pointer.target(regions, at) {
            HitTarget::Nothing | HitTarget::Approvals(None) => {}
            HitTarget::Border => self.pointer.drag(Dragging::Border),
            HitTarget::Composer => self.view.set_focus(Focus::Composer),
            HitTarget::Approvals(Some(Action::FocusNext)) => self.view.set_focus(Focus::Approvals),
            HitTarget::Approvals(Some(action)) => {
                self.act(action);
            }
            HitTarget::Conversation => {
                self.view.set_focus(Focus::Composer);
                self.pointer.drag(Dragging::Text { agent: AgentId::MAIN, opens: true });
                self.view.begin_selection(AgentId::MAIN, at, unit);
            }
            HitTarget::Filed => self.view.toggle_filed(),
            HitTarget::Timeline => {
                if let Some(now) = self.timeline() {
                    self.seek_to(&now, at.x);
                    self.timeline.point_at(&now, at.x, at.y);
                }
            }
            HitTarget::Pane(pane, part) => {
                let agent = pane.agent;
                let was_chosen = self.view.focused_agent().or(clicked) == Some(agent);
                if self.view.focus() != Focus::Agents {
                    self.view.set_focus(Focus::Composer);
                    self.view.click(agent);
                }
                self.view.choose(Some(agent));
                let running = self.agents.get(agent).is_some_and(|agent| !agent.has_ended());
                match part {
                    PanePart::Body => {
                        // The first click only chooses the pane.
                        self.pointer.drag(Dragging::Text { agent, opens: was_chosen });
                        self.view.begin_selection(agent, at, unit);
                    }
                    // The sign stands on the chosen title only.
                    PanePart::Stop if running && was_chosen && self.playback.is_none() => {
                        self.requests.stop(agent, &self.agents, &mut self.out);
                    }
                    PanePart::Fold => self.view.toggle_fold(agent, pane.size, &self.agents),
                    PanePart::Stop | PanePart::Title if was_chosen && self.view.full().is_some() => {
                        self.view.set_full(None);
                        self.view.set_focus(Focus::Composer);
                    }
                    PanePart::Stop | PanePart::Title if was_chosen => self.view.open_full(agent),
                    PanePart::Stop | PanePart::Title => {}
                }
            }
        }
    }

    fn drag(&mut self, regions: &Regions, at: Position) {
        match self.pointer.dragging() {
            Dragging::Text { agent, .. } => {
                let area = regions.pane(agent).map_or(regions.conversation, |pane| pane.area);
                let edges = (area.y + u16::from(!agent.is_main()), area.bottom());
                self.view.grow_selection(agent, at, edges, &self.agents, &mut self.out);
            }
            Dragging::Border if !self.view.size().is_empty() => {
                self.view.drag_border(share_at(regions, self.view.size(), at));
            }
            Dragging::Border | Dragging::Nothing => {}
        }
    }
}
