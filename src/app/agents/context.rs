//! What an agent's context holds and what was left out of it, as the screen shows it.
//!
//! Owns the words for what happens to a conversation that outgrows its context, and the cells that mark it. Leaves the
//! states to `state`. Invariant: what was compacted stays above its mark.

use std::time::Instant;

use super::agent_view::AgentView;
use super::cells::CellKind;
use super::state::Phase;
use crate::agent::{ContextEvent, Spent, summary_in};
use crate::message::format::{counted, tokens};
use crate::message::{sanitize, sanitize_line};

/// Says in a line what happened to a conversation; `None` if nothing did.
pub fn context_words(event: &ContextEvent) -> Option<String> {
    let sizes = |before: u64, after: u64| format!("{} → {} tokens", tokens(before), tokens(after));
    match event {
        ContextEvent::Measured { .. } => None,
        ContextEvent::Trimmed { calls, keep_chars: 0, before, after } => {
            let results = counted(calls.len(), "old tool result");
            Some(format!("left out {results} to save context: {}", sizes(*before, *after)))
        }
        ContextEvent::Trimmed { calls, before, after, .. } => {
            let results = counted(calls.len(), "tool result");
            Some(format!("cut down {results} to save context: {}", sizes(*before, *after)))
        }
        ContextEvent::Compacting { before, model } => {
            Some(format!("compacting {} tokens with {}", tokens(*before), sanitize_line(model)))
        }
        ContextEvent::Compacted { before, after, .. } => Some(format!("compacted: {}", sizes(*before, *after))),
        ContextEvent::NotCompacted { reason, .. } => Some(format!("not compacted: {}", sanitize_line(reason))),
    }
}

impl AgentView {
    /// Takes in what happens to its conversation.
    pub(super) fn context_event(&mut self, event: &ContextEvent, now: Instant) {
        match event {
            ContextEvent::Measured { filled } => self.filled = Some(filled.clone()),
            ContextEvent::Compacting { .. } => self.enter(Phase::Compacting, now),
            ContextEvent::Compacted { message, after, .. } => {
                self.forget_retries();
                let words = context_words(event).unwrap_or_default();
                let text = sanitize(summary_in(message)).trim().to_owned();
                self.cells.push(CellKind::Compacted { words, text });
                self.context = *after;
                self.enter(Phase::Thinking, now);
            }
            ContextEvent::Trimmed { after, .. } => {
                self.context = *after;
                self.note_context(event);
            }
            ContextEvent::NotCompacted { .. } => {
                self.forget_retries();
                self.note_context(event);
                self.enter(Phase::Thinking, now);
            }
        }
        if let Some((usage, cost_usd)) = event.spent() {
            self.spent.add(&Spent::new(usage, cost_usd));
        }
    }

    fn note_context(&mut self, event: &ContextEvent) {
        if let Some(text) = context_words(event) {
            self.cells.push(CellKind::Notice { text });
        }
    }
}
