//! Letters pressed where they are commands, and sentences that are typed there by mistake.
//!
//! Owns the rule that tells one from the other: a letter that does something is held for [`LETTER_PAUSE`] and done only if
//! no other letter follows; with the second letter, or with one that means nothing there, all of them go to the message.
//! A letter that only moves acts at once, and goes to the message with those that follow. Leaves what a key means to
//! `input`. Invariant: a sentence typed with pauses shorter than that does nothing but stand in the message, whole and
//! in its order.

use std::time::{Duration, Instant};

use super::key::Key;
use super::keymap::Context;
use crate::app::{Popup, Scroll};
use crate::message::AgentId;
use crate::permission::ApprovalId;

/// How long a letter that does something waits for another one, which would make both part of a sentence.
pub const LETTER_PAUSE: Duration = Duration::from_millis(300);
/// The most letters in a row that may turn out to begin a sentence; more of them only move something around.
const MAX_RUN: usize = 32;

/// Letters pressed one soon after the other, where they are commands.
#[derive(Debug, Default)]
pub(super) struct Typing {
    run: String,
    last: Option<Instant>,
    /// The last one, if it does something and waits.
    held: Option<Held>,
    /// What was shown before the first one.
    before: Option<BeforeTyping>,
}

#[derive(Debug)]
struct Held {
    key: Key,
    subject: Subject,
}

/// What a letter is about. It is about nothing else by the time it acts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) context: Context,
    pub(super) agent: Option<AgentId>,
    pub(super) question: Option<ApprovalId>,
    pub(super) popup: Option<Popup>,
    pub(super) entry: Option<String>,
}

/// What letters that only move may change.
#[derive(Debug)]
pub(super) struct BeforeTyping {
    pub(super) chosen: Option<AgentId>,
    pub(super) scrolled: AgentId,
    pub(super) scroll: Scroll,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypedLetter {
    Unbound,
    /// It moves what is chosen or shown, or opens a line to type in.
    Moves,
    Acts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typed {
    /// It and those before it are part of a sentence.
    Sentence,
    /// It does what it is bound to.
    Press,
    Hold,
}

impl Typing {
    /// Returns when the held letter acts.
    pub(super) fn due(&self) -> Option<Instant> {
        self.held.as_ref().and(self.last).map(|last| last + LETTER_PAUSE)
    }

    pub(super) fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Returns `true` if a letter pressed now belongs to those before it.
    fn goes_on(&self, now: Instant) -> bool {
        self.last.is_some_and(|last| now.saturating_duration_since(last) < LETTER_PAUSE)
    }

    /// Returns `true` if letters were pressed that one pressed now goes on with.
    pub(super) fn has_run(&self, now: Instant) -> bool {
        self.goes_on(now) && !self.run.is_empty()
    }

    /// Takes a letter where letters are commands.
    pub(super) fn press(
        &mut self,
        letter: char,
        means: TypedLetter,
        now: Instant,
        shown: impl FnOnce() -> BeforeTyping,
    ) -> Typed {
        if !self.goes_on(now) || self.run.chars().count() >= MAX_RUN {
            *self = Self::default();
        }
        if self.run.is_empty() {
            self.before = Some(shown());
        }
        self.run.push(letter);
        self.last = Some(now);
        match means {
            _ if self.held.is_some() => Typed::Sentence,
            TypedLetter::Unbound => Typed::Sentence,
            TypedLetter::Moves => Typed::Press,
            TypedLetter::Acts => Typed::Hold,
        }
    }

    pub(super) fn hold(&mut self, key: Key, subject: Subject) {
        self.held = Some(Held { key, subject });
    }

    pub(super) fn take_held(&mut self) -> Option<(Key, Subject)> {
        self.held.take().map(|held| (held.key, held.subject))
    }

    /// Returns the letters pressed so far, and what was shown before the first one.
    pub(super) fn take_run(&mut self) -> (String, Option<BeforeTyping>) {
        let Self { run, before, .. } = std::mem::take(self);
        (run, before)
    }
}
