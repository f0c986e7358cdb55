//! Notices a model that repeats itself: the same calls, with the same results, turn by turn or after each summary.
//!
//! Pure. Leaves telling the model, and ending the run, to `driver`. Invariant: calls that find out something new, or that
//! take their time, are no repetition; nor is finding out again what a summary has left out, unless nothing else is done.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use crate::message::{ToolCall, ToolInput, ToolResult};

/// After how many turns in a row that found out nothing new the model is told.
const TOLD_AFTER: u32 = 5;
/// After how many more the run ends.
const ENDS_AFTER: u32 = 5;
/// After how many summaries in a row, with nothing but calls made before between them, the run ends.
const MAX_CIRCLES: u32 = 3;
/// Calls that take this long wait for something, and may do so again.
const WAITING: Duration = Duration::from_secs(2);

/// What follows from a repetition.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    Tell(String),
    End(String),
}

#[derive(Debug, Default)]
pub(super) struct Repetition {
    /// Calls with their results that the model sees.
    seen: HashSet<u64>,
    /// The same since the agent was last told something, also those that a summary has left out.
    known: HashSet<u64>,
    /// Turns in a row without anything new.
    stale: u32,
    /// What the turns since the last summary have found out.
    since: Finding,
    /// Summaries in a row between which nothing new was found out.
    circles: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Finding {
    #[default]
    NoCalls,
    KnownBefore,
    New,
}

impl Repetition {
    /// Takes the calls of a turn with their results. Returns what follows if they have been repeated too often.
    pub(super) fn note(&mut self, calls: &[ToolCall], results: &[ToolResult], took: Duration) -> Option<Repeated> {
        let mut is_new = calls.is_empty();
        for call in calls {
            let result = results.iter().find(|result| result.call_id == call.id);
            let mark = mark(call, result);
            is_new |= self.seen.insert(mark);
            if self.known.insert(mark) {
                self.since = Finding::New;
            } else if self.since == Finding::NoCalls {
                self.since = Finding::KnownBefore;
            }
        }
        if self.circles >= MAX_CIRCLES && self.since == Finding::KnownBefore {
            return Some(Repeated::End(format!(
                "The model goes in circles: after each of {} summaries it made calls that it had made before, and no other. \
                 The context is too small for this. Ask for less at once, or choose a model with a larger one.",
                self.circles
            )));
        }
        if is_new || took >= WAITING {
            self.stale = 0;
            return None;
        }
        self.stale += 1;
        let names: Vec<&str> = calls.iter().take(3).map(|call| call.name.as_str()).collect();
        let what = names.join(", ");
        match self.stale {
            TOLD_AFTER => Some(Repeated::Tell(format!(
                "You repeat yourself: the same calls have given the same results {TOLD_AFTER} times in a row, last {what}. \
                 Do not make them again. Try something else, or report what you have and what stands in the way."
            ))),
            stale if stale >= TOLD_AFTER + ENDS_AFTER => Some(Repeated::End(format!(
                "The model repeated itself: the same calls gave the same results {stale} times in a row, last {what}, also \
                 after it was told. Ask in other words, or choose another model."
            ))),
            _ => None,
        }
    }

    /// Counts no call that the model no longer sees: it may make it again.
    pub(super) fn forget(&mut self) {
        match std::mem::take(&mut self.since) {
            Finding::NoCalls => {}
            Finding::KnownBefore => self.circles += 1,
            Finding::New => self.circles = 0,
        }
        self.seen.clear();
        self.stale = 0;
    }

    /// Begins anew: the agent was told something.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

fn mark(call: &ToolCall, result: Option<&ToolResult>) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    match &call.input {
        ToolInput::Object(input) => serde_json::to_string(input).unwrap_or_default().hash(&mut hasher),
        ToolInput::Malformed(text) => text.hash(&mut hasher),
    }
    result.map(|result| (result.is_error, result.joined_text())).hash(&mut hasher);
    hasher.finish()
}
