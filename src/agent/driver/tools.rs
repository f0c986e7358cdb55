//! The calls of a turn: which are run, which were cut off, and whether they only repeat what was done before.
//!
//! Leaves running a call to `dispatch`. Invariant: every call gets one result.

use tokio::time::Instant;

use super::{Driver, End};
use crate::agent::dispatch::{answer_unrun, dispatch};
use crate::agent::inbox::InboxMessage;
use crate::agent::repetition::Repeated;
use crate::agent::step::cut_call_words;
use crate::agent::turn::Turn;
use crate::message::{ToolCall, ToolInput};
use crate::provider::StopReason;

impl Driver<'_> {
    /// Runs the calls of a turn. Returns the end of the run if they are the same again and again.
    pub(super) async fn run_tools(&mut self, turn: &Turn, calls: &[ToolCall], output_tokens: u32) -> Option<End> {
        self.answer.clear();
        let begun = Instant::now();
        let is_cut =
            |call: &ToolCall| turn.stop == Some(StopReason::MaxTokens) && matches!(call.input, ToolInput::Malformed(_));
        let (cut, whole): (Vec<ToolCall>, Vec<ToolCall>) = calls.iter().cloned().partition(is_cut);
        let mut done = dispatch(self.run, &whole, self.allowance()).await;
        for call in cut {
            let ToolInput::Malformed(text) = &call.input else { continue };
            let words = cut_call_words(text.len(), output_tokens);
            done.results.extend(answer_unrun(self.run, std::slice::from_ref(&call), &words).await);
        }
        self.tool_calls = self.tool_calls.saturating_add(done.begun);
        done.changes.iter().for_each(|change| self.files.add(change));
        self.count_asides();
        let repeated = self.repetition.note(calls, &done.results, begun.elapsed());
        self.transcript.push_results(done.results);
        match repeated {
            None => None,
            Some(Repeated::Tell(words)) => {
                self.receive(InboxMessage::of_program(&words)).await;
                None
            }
            Some(Repeated::End(reason)) => Some(End::Failed(reason)),
        }
    }

    /// Returns how many more tool calls may run.
    fn allowance(&self) -> usize {
        self.agent.limits.max_tool_calls.map_or(usize::MAX, |max| max.saturating_sub(self.tool_calls) as usize)
    }
}
