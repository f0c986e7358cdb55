//! What fills the context of a model, and what is done before it overflows.
//!
//! Owns the marks from which a conversation is shortened, and the events that say so. Leaves the choice of what goes to
//! `trim` and `summary`, and the requests to `driver`. Invariants: a conversation is changed by what an event says alone,
//! so that the log gives it back to the byte; whatever is left out, each tool call keeps its result.

pub(super) mod parts;
pub(super) mod summary;
pub(super) mod trim;

use serde::{Deserialize, Serialize};

pub use parts::{ContextPart, ContextUse, PartKind};

use super::Agent;
use crate::message::{Transcript, Usage};
use crate::provider::Model;

/// What happens to the conversation that a model is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ContextEvent {
    /// What fills the context of the coming request.
    #[serde(rename = "context_measured")]
    Measured {
        #[serde(flatten)]
        filled: ContextUse,
    },
    /// Results of earlier calls were left out, or cut down, to save context.
    #[serde(rename = "context_trimmed")]
    Trimmed {
        /// The calls whose results these are.
        calls: Vec<String>,
        /// Characters of each text that stay; 0 leaves it out.
        keep_chars: usize,
        /// Size of the request before and after it, in tokens.
        before: u64,
        after: u64,
    },
    /// A model is asked for a summary of the conversation, to go on with in its place.
    Compacting {
        /// Size of the request that would be sent otherwise, in tokens.
        before: u64,
        /// Who writes it, as shown.
        model: String,
    },
    /// The conversation is now this message and the last messages of what it was.
    Compacted {
        message: String,
        /// How many messages stay.
        kept: usize,
        before: u64,
        after: u64,
        /// What the summary took.
        usage: Usage,
        cost_usd: Option<f64>,
    },
    /// There is no summary: the conversation is as it was.
    NotCompacted {
        /// Why, in a sentence.
        reason: String,
        usage: Usage,
        cost_usd: Option<f64>,
    },
}

impl ContextEvent {
    /// Does to a conversation what the event says was done.
    pub fn apply(&self, transcript: &mut Transcript) {
        let after = match self {
            Self::Trimmed { calls, keep_chars, after, .. } => {
                trim::trim(transcript, calls, *keep_chars);
                after
            }
            Self::Compacted { message, kept, after, .. } => {
                transcript.compact(message.clone(), *kept);
                after
            }
            Self::Measured { .. } | Self::Compacting { .. } | Self::NotCompacted { .. } => return,
        };
        // Nearer to what the service will count than the bytes alone.
        transcript.set_counted(Some(*after));
    }

    /// Returns what a request for a summary took.
    pub fn spent(&self) -> Option<(Usage, Option<f64>)> {
        match self {
            Self::Compacted { usage, cost_usd, .. } | Self::NotCompacted { usage, cost_usd, .. } => {
                Some((*usage, *cost_usd))
            }
            Self::Measured { .. } | Self::Trimmed { .. } | Self::Compacting { .. } => None,
        }
    }
}

/// Room that is taken for granted where the size of a context is not known, in tokens.
const UNKNOWN_ROOM: u64 = 32_000;
/// The smallest window that an agent may work in, in tokens: a smaller one would hold little beside a summary.
const LEAST_WINDOW: u64 = 10_000;

/// How much of a conversation fits, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContextRoom {
    /// The most that a request may send.
    pub(super) room: u64,
    /// Percent of the room from which a conversation is shortened.
    percent: u64,
}

impl ContextRoom {
    /// Returns the window that an agent works in, in tokens; `None` if nobody knows it.
    pub(super) fn window(agent: &Agent) -> Option<u64> {
        let own = agent.limits.context_window.map(|window| window.max(LEAST_WINDOW));
        [own, agent.model.context_window].into_iter().flatten().min()
    }

    /// Returns the room of an agent, without what its reply may take; `None` if nobody knows it.
    pub(super) fn of(agent: &Agent) -> Option<Self> {
        let window = Self::window(agent)?;
        Some(Self { room: without_reply(window, &agent.model), percent: agent.limits.auto_compact_percent.into() })
    }

    /// Returns the room once a request of this size was found to be too long.
    pub(super) fn learned(known: Option<Self>, size: u64, agent: &Agent) -> Self {
        let room = known.map_or(size, |known| known.room.min(size)) / 10 * 9;
        Self { room: room.max(1), percent: agent.limits.auto_compact_percent.into() }
    }

    /// Returns the room for a summary where that of the agent is not known.
    pub(super) fn assumed(model: &Model) -> Self {
        let room = model.context_window.map_or(UNKNOWN_ROOM, |window| without_reply(window, model));
        Self { room, percent: 0 }
    }

    /// Returns the size from which a conversation is shortened; `None` if it never is before it has to be.
    pub(super) fn high(self) -> Option<u64> {
        (self.percent > 0).then(|| self.room * self.percent / 100)
    }

    /// Returns the size that a conversation is brought down to: far enough, so that the next requests find what they begin
    /// with in the service's cache.
    pub(super) fn low(self) -> u64 {
        self.high().unwrap_or(self.room) * 3 / 5
    }

    /// Returns the size at which leaving results out was enough.
    pub(super) fn enough(self) -> u64 {
        self.high().unwrap_or(self.room) * 4 / 5
    }

    /// Returns how much of the latest conversation stays beside a summary.
    pub(super) fn tail(self) -> u64 {
        self.high().unwrap_or(self.room) * 3 / 10
    }

    /// Returns what has to be old for a summary to be worth its request.
    pub(super) fn worthwhile(self) -> u64 {
        self.room / 10
    }
}

/// Returns what a window leaves for a request.
fn without_reply(window: u64, model: &Model) -> u64 {
    window - u64::from(model.max_output_tokens).min(window / 2)
}
