//! Notices a model that repeats itself: the same calls, with the same results.
//!
//! Pure. Leaves telling the model, and ending the run, to `driver`. Invariant: calls that find out something new, or that
//! take their time, are no repetition.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use crate::message::{ToolCall, ToolInput, ToolResult};

/// After how many turns in a row that found out nothing new the model is told.
const TOLD_AFTER: u32 = 5;
/// After how many more the run ends.
const ENDS_AFTER: u32 = 5;
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
    /// Calls with their results.
    seen: HashSet<u64>,
    /// Turns in a row without anything new.
    stale: u32,
}

impl Repetition {
    /// Takes the calls of a turn with their results. Returns what follows if they have been repeated too often.
    pub(super) fn note(&mut self, calls: &[ToolCall], results: &[ToolResult], took: Duration) -> Option<Repeated> {
        let mut is_new = calls.is_empty();
        for call in calls {
            let result = results.iter().find(|result| result.call_id == call.id);
            is_new |= self.seen.insert(mark(call, result));
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
