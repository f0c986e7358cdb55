//! What the main agent is at, for front ends that count what it still has to answer.
//!
//! Invariant: a message counts as answered at the end of the run that has read it. The main agent also works when only
//! reports have woken it.

use crate::agent::{Author, EventKind};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Lead {
    #[default]
    Rests,
    Answers,
    /// It looks at what others had to say.
    Woken,
}

impl Lead {
    /// Takes in an event of the main agent. Returns how many messages are answered with it.
    pub(super) fn apply(&mut self, kind: &EventKind) -> usize {
        match kind {
            EventKind::UserMessage { by: Author::User, .. } => *self = Self::Answers,
            EventKind::UserMessage { .. } | EventKind::Started if *self == Self::Rests => *self = Self::Woken,
            EventKind::Ended { .. } => return usize::from(std::mem::take(self) == Self::Answers),
            _ => {}
        }
        0
    }
}
