//! The guard against answers that nobody meant: typed ahead, held down, or sent in one packet with other keys.
//!
//! Owns when the user pressed what, and the answer that waits for the end of a burst. Leaves the questions to
//! `approvals`. Invariant: an answer goes out only if its question has stood for [`GUARD`], nothing was pressed for as
//! long before its key, and nothing within [`HOLD`] after it.

use std::time::{Duration, Instant};

use crate::app::key::{Input, Key, MouseKind};
use crate::permission::{Answer, ApprovalId};

/// How long a question stands, and how long nothing is pressed, before a key can answer it.
pub const GUARD: Duration = Duration::from_millis(500);
/// How long an answer waits for another key, which would show both to be a burst. A held key repeats sooner.
pub const HOLD: Duration = Duration::from_millis(100);

/// An answer that waits.
#[derive(Debug, Clone)]
pub(in crate::app) struct Held {
    pub(in crate::app) id: ApprovalId,
    pub(in crate::app) answer: Answer,
    due: Instant,
}

#[derive(Debug, Clone, Default)]
pub(in crate::app) struct TypeAhead {
    last: Option<Instant>,
    /// Whether nothing was pressed before the present press for long enough.
    quiet: bool,
    /// The key that is being taken, if it is one.
    pub(in crate::app) key: Option<Key>,
    held: Option<Held>,
    /// The question of which it was said that a key came too early.
    announced: Option<ApprovalId>,
}

impl TypeAhead {
    /// Takes note of an input. Returns the answer that it shows to be part of a burst.
    pub(in crate::app) fn pressed(&mut self, input: &Input, now: Instant) -> Option<Held> {
        self.key = match input {
            Input::Key(key) => Some(*key),
            Input::Mouse(mouse) if !matches!(mouse.kind, MouseKind::Drag | MouseKind::Release) => None,
            Input::Paste(_) => None,
            _ => return None,
        };
        self.quiet = self.last.is_none_or(|last| now.saturating_duration_since(last) >= GUARD);
        self.last = Some(now);
        self.held.take()
    }

    /// Returns `true` if the last press may answer a question that stands since then. It may act later than it came.
    pub(in crate::app) fn lets_answer(&self, since: Option<Instant>) -> bool {
        let stood = since.zip(self.last).map(|(since, last)| last.saturating_duration_since(since));
        self.quiet && stood.is_some_and(|time| time >= GUARD)
    }

    /// Keeps an answer until it is known whether another key follows.
    pub(in crate::app) fn hold(&mut self, id: ApprovalId, answer: Answer, now: Instant) {
        self.held = Some(Held { id, answer, due: self.last.unwrap_or(now) + HOLD });
    }

    /// Takes the answer that no other key has followed.
    pub(in crate::app) fn take_due(&mut self, now: Instant) -> Option<Held> {
        self.held.take_if(|held| held.due <= now)
    }

    pub(in crate::app) fn due(&self) -> Option<Instant> {
        self.held.as_ref().map(|held| held.due)
    }

    /// Notes that a key was refused; returns `true` the first time for a question.
    pub(in crate::app) fn refuse(&mut self, id: &ApprovalId) -> bool {
        if self.announced.as_ref() == Some(id) {
            return false;
        }
        self.announced = Some(id.clone());
        true
    }
}
