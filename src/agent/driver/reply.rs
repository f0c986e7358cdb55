//! What follows from a reply, as the run stands, and the limit on the output of the next one.
//!
//! Leaves the decision to `step`. Invariant: the limit grows only where replies are cut off, and not past what is known of the
//! model.

use super::Driver;
use crate::agent::inbox::InboxMessage;
use crate::agent::step::{Step, StepFacts};
use crate::agent::turn::Turn;
use crate::provider::StopReason;

impl Driver<'_> {
    /// Decides what follows from a reply whose limit on output was this.
    pub(super) fn next_step(&mut self, turn: &Turn, output_tokens: u32) -> Step {
        let answer = self.answer.join("");
        let facts = StepFacts {
            has_tools: !self.agent.tools.is_empty(),
            answer: &answer,
            is_waiting: !self.agent.inbox.is_idle(self.agent.at_end),
            output_tokens,
        };
        self.tries.step(turn, &facts)
    }

    /// Lets the model go on, with these words if any.
    pub(super) async fn ask_on(&mut self, words: Option<String>) {
        if let Some(words) = words {
            self.receive(InboxMessage::of_program(&words)).await;
        }
    }

    /// Raises the limit on output after a reply was cut off by it, as far as the model may have room for more. Returns the
    /// limit that cut it off.
    pub(super) fn raise_output(&mut self, turn: &Turn) -> u32 {
        let limit = self.output_tokens;
        if turn.stop == Some(StopReason::MaxTokens) {
            let model = &self.agent.model;
            let window = model.context_window.map_or(u64::MAX, |window| window / 4);
            let most = model.most_output_tokens.min(u32::try_from(window).unwrap_or(u32::MAX));
            self.output_tokens = limit.saturating_mul(2).min(most).max(limit);
        }
        limit
    }
}
