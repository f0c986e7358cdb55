//! When the open question was written, and which lines may answer it.
//!
//! Invariant: a line answers only what had been written before the line was read. Someone at a keyboard had time to read
//! it, too, and typed nothing else meanwhile.

use std::time::Instant;

use crate::app::GUARD;
use crate::headless::input::TypedLine;
use crate::permission::ApprovalId;

/// Who types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typist {
    Person,
    Program,
}

#[derive(Debug)]
pub(super) struct Asked {
    typist: Typist,
    /// The question that was written, and since when it stands there.
    written: Option<(ApprovalId, Instant)>,
    /// When that was looked at last.
    looked: Instant,
    /// When the line before was read.
    last_line: Option<Instant>,
    /// Whether the present line may answer what is open.
    counts: bool,
    /// Whether a person has typed the present line by itself: it is none of several that were pasted.
    alone: bool,
    /// Whether that is so of each line of the present message.
    own: bool,
}

impl Asked {
    pub(super) fn new(typist: Typist) -> Self {
        Self { typist, written: None, looked: Instant::now(), last_line: None, counts: false, alone: false, own: false }
    }

    /// Notes which question is open, and whether anything is left to write. What is written now was so soon after the look
    /// before.
    pub(super) fn note(&mut self, open: Option<&ApprovalId>, is_written: bool, now: Instant) {
        if self.written.as_ref().map(|(id, _)| id) != open {
            self.written = open.filter(|_| is_written).map(|id| (id.clone(), self.looked));
        }
        self.looked = now;
    }

    /// Takes note of a line that was read, which may go on with the message of the one before.
    pub(super) fn read(&mut self, line: &TypedLine, goes_on: bool) {
        let at = line.at;
        let since = self.written.as_ref().map(|(_, since)| *since);
        let after = |than: Instant| at.saturating_duration_since(than) >= GUARD;
        let quiet = self.last_line.replace(at).is_none_or(after) && !line.is_followed;
        self.alone = quiet && self.typist == Typist::Person;
        self.own = self.alone && (self.own || !goes_on);
        self.counts = match self.typist {
            Typist::Program => since.is_some_and(|since| at >= since),
            Typist::Person => quiet && since.is_some_and(after),
        };
    }

    /// Returns `true` if a person has typed the line that was read last by itself.
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Returns `true` if the line that was read last is one of several that a person has pasted.
    pub(super) fn is_pasted(&self) -> bool {
        self.typist == Typist::Person && !self.alone
    }

    /// Returns `true` if a person has typed each line of the present message by itself.
    pub(super) fn is_own(&self) -> bool {
        self.own
    }

    /// Returns `true` if the line that was read last may answer this question.
    pub(super) fn counts_for(&self, open: &ApprovalId) -> bool {
        self.counts && self.written.as_ref().is_some_and(|(id, _)| id == open)
    }
}
