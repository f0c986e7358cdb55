//! What an update says to the user and asks of the world, and the present time it does so at.
//!
//! Owns the passing message, the second press that is waited for, the effects and whether a frame is due. Every part is
//! handed it, so that none needs another part to speak. Invariant: what waits for a second press waits for no other key.

use std::time::Instant;

use super::status::{Armed, CONFIRM, Flash, FlashSubject};
use super::{Effect, Event};
use crate::subagent::Command;

/// What an update says and asks for.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The time of the last event.
    now: Instant,
    effects: Vec<Effect>,
    flash: Option<Flash>,
    /// Whether it answers what the user did: then the next thing they do ends it.
    flash_answers: bool,
    /// What a second press would do, and until when.
    armed: Option<(Armed, Instant)>,
    /// What the key that is pressed now may confirm.
    offered: Option<(Armed, Instant)>,
    /// Whether a frame would look different from the last one.
    dirty: bool,
    /// Whether the user has just done something, or what they did before has come to its time.
    is_act: bool,
}

impl Outbox {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            now,
            effects: Vec::new(),
            flash: None,
            flash_answers: false,
            armed: None,
            offered: None,
            dirty: true,
            is_act: false,
        }
    }

    /// Begins an update: time never goes back, and most events are worth a frame.
    pub(super) fn begin(&mut self, now: Instant, event: &Event) {
        self.now = self.now.max(now);
        self.is_act = matches!(event, Event::Input(_) | Event::Wakeup);
        self.dirty |= !matches!(event, Event::Log(_) | Event::Drawn(_) | Event::Wakeup);
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn send(&mut self, command: Command) {
        self.effects.push(Effect::Command(command));
    }

    /// Returns what the update asks of the world.
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub(super) fn redraw(&mut self) {
        self.dirty = true;
    }

    pub(super) fn redraw_if(&mut self, changed: bool) {
        self.dirty |= changed;
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.dirty
    }

    pub(super) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    pub(super) fn flash(&self) -> Option<&Flash> {
        self.flash.as_ref()
    }

    pub(super) fn set_flash(&mut self, flash: Flash) {
        self.flash = Some(flash);
        self.flash_answers = self.is_act;
        self.dirty = true;
    }

    pub(super) fn clear_flash(&mut self) {
        self.flash = None;
        self.dirty = true;
    }

    /// Takes the passing message back if it is about this.
    pub(super) fn clear_flash_about(&mut self, about: &FlashSubject) {
        self.flash.take_if(|flash| flash.about == *about);
        self.dirty = true;
    }

    pub(super) fn inform(&mut self, text: impl Into<String>) {
        self.set_flash(Flash::info(text, self.now));
    }

    /// Shows a message that passes by itself, and which something else asks for by what it is about.
    pub(super) fn inform_about(&mut self, about: FlashSubject, text: impl Into<String>) {
        self.set_flash(Flash::info(text, self.now).about(about));
    }

    /// Says what came of something that the user did, though it came later: their next act ends it.
    pub(super) fn answer(&mut self, text: impl Into<String>) {
        self.inform(text);
        self.flash_answers = true;
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.set_flash(Flash::warning(text, self.now));
    }

    /// Waits for a second press.
    pub(super) fn arm(&mut self, what: Armed, text: &str) {
        self.armed = Some((what, self.now + CONFIRM));
        self.set_flash(Flash::confirm(text, self.now));
    }

    pub(super) fn armed(&self) -> Option<Armed> {
        self.armed.map(|(armed, _)| armed)
    }

    /// Waits for a second press at least until then, if one is waited for.
    pub(super) fn stay_armed(&mut self, at_least: Instant) {
        if let Some((_, until)) = &mut self.armed {
            *until = at_least.max(*until);
        }
    }

    pub(super) fn disarm(&mut self) {
        self.armed = None;
    }

    /// Waits no more for the press that would do this. Returns `true` if it was waited for.
    pub(super) fn disarm_if(&mut self, what: Armed) -> bool {
        self.armed.take_if(|(armed, _)| *armed == what).is_some()
    }

    /// Lets what the user does now confirm what waits, and nothing later. What answered the act before it is read.
    pub(super) fn offer(&mut self) {
        self.offered = self.armed.take();
        // News that came by itself stays its time: someone who writes has not read it with the next letter.
        self.dirty |= self.flash.take_if(|_| self.flash_answers).is_some();
    }

    /// Returns `true` if the key that is pressed now confirms this, which no other will.
    pub(super) fn take_armed(&mut self, what: Armed) -> bool {
        let offered = self.offered.take().or_else(|| self.armed.take());
        offered.is_some_and(|(armed, until)| armed == what && self.now <= until)
    }

    /// Forgets what the key that was pressed could have confirmed and did not, and takes the question back.
    pub(super) fn withdraw_offer(&mut self) {
        let Some((_, until)) = self.offered.take() else { return };
        self.flash.take_if(|flash| flash.until == until);
        self.dirty = true;
    }

    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        let flash = self.flash.as_ref().map(|flash| flash.until);
        let armed = self.armed.map(|(_, until)| until);
        [flash, armed].into_iter().flatten().min()
    }

    /// Lets pass what passes by itself.
    pub(super) fn on_wakeup(&mut self) {
        if self.flash.take_if(|flash| flash.until <= self.now).is_some() {
            self.dirty = true;
        }
        self.armed.take_if(|(_, until)| *until <= self.now);
    }
}
