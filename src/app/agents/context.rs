//! What an agent's context holds and what was left out of it, as the screen shows it.
//!
//! Owns the words for what happens to a conversation that outgrows its context, and the cells that mark it. Leaves the
//! states to `state`. Invariant: what was compacted stays above its mark.

use std::time::Instant;

use super::agent_view::AgentView;
use super::cells::CellKind;
use super::state::Phase;
use crate::agent::{ContextEvent, ContextUse, PartKind, Spent, summary_in};
use crate::message::format::{counted, tokens};
use crate::message::{sanitize, sanitize_line};

/// Says in a line what happened to a conversation; `None` if nothing did.
pub fn context_words(event: &ContextEvent) -> Option<String> {
    let sizes = |before: u64, after: u64| format!("{} → {} tokens", tokens(before), tokens(after));
    match event {
        ContextEvent::Measured { .. } => None,
        ContextEvent::Trimmed { calls, keep_chars: 0, before, after } => {
            let results = counted(calls.len(), "old tool result");
            Some(format!("dropped {results} to save context: {}", sizes(*before, *after)))
        }
        ContextEvent::Trimmed { calls, before, after, .. } => {
            let results = counted(calls.len(), "tool result");
            Some(format!("trimmed {results} to save context: {}", sizes(*before, *after)))
        }
        ContextEvent::Compacting { before, model } => {
            Some(format!("compacting {} tokens with {}", tokens(*before), sanitize_line(model)))
        }
        ContextEvent::Compacted { before, after, .. } => Some(format!("compacted: {}", sizes(*before, *after))),
        ContextEvent::NotCompacted { reason, .. } => Some(format!("not compacted: {}", sanitize_line(reason))),
    }
}

/// A part of a context as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRow {
    pub label: String,
    pub tokens: u64,
    /// `None` of what is not there: room.
    pub bytes: Option<u64>,
    /// Of the window, or of all that is there where the window is not known; in tenths of a percent.
    pub share: u64,
}

impl ContextRow {
    /// Returns its share in whole percent, such as `12%` or `<1%`.
    pub fn percent(&self) -> String {
        match self.share {
            1..10 => "<1%".to_owned(),
            share => format!("{}%", share / 10),
        }
    }

    /// Returns its size, such as `3.2k tokens` or `3.2k tokens, 12.8kB`.
    pub fn size(&self) -> String {
        let bytes = self.bytes.map(|bytes| format!(", {}B", tokens(bytes))).unwrap_or_default();
        format!("{} tokens{bytes}", tokens(self.tokens))
    }
}

/// Returns what fills a context, part by part, then the room that is left.
pub fn context_rows(filled: &ContextUse) -> Vec<ContextRow> {
    let whole = filled.window.unwrap_or(filled.tokens).max(1);
    let row = |label: String, tokens: u64, bytes: Option<u64>| ContextRow {
        label,
        tokens,
        bytes,
        share: tokens.saturating_mul(1_000) / whole,
    };
    let parts = filled.parts.iter().map(|part| {
        let label = match (part.agent.as_ref().or(part.file.as_ref()), part.kind) {
            (Some(path), PartKind::MemoryFile) => format!("memory {}", sanitize_line(file_in_folder(path))),
            (None, PartKind::MemoryFile) => "other memory files".to_owned(),
            (Some(agent), _) => format!("report from {}", sanitize_line(agent)),
            (None, PartKind::Report) => "other reports".to_owned(),
            (None, kind) => kind.label().to_owned(),
        };
        row(label, part.tokens, Some(part.bytes))
    });
    let mut rows: Vec<ContextRow> = parts.collect();
    if let Some(window) = filled.window {
        let reply = filled.reply.min(window.saturating_sub(filled.tokens));
        rows.push(row("reserved for the reply".to_owned(), reply, None));
        rows.push(row("free".to_owned(), window.saturating_sub(filled.tokens + reply), None));
    }
    rows
}

/// Returns the end of a path: the file, and the folder it lies in.
fn file_in_folder(path: &str) -> &str {
    path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
}

/// Says in a line how full a context is, such as `142k of 200k tokens (71%)`.
pub fn context_total(filled: &ContextUse) -> String {
    match filled.window {
        Some(window) => {
            let percent = filled.tokens.saturating_mul(100) / window.max(1);
            format!("{} of {} tokens ({percent}%)", tokens(filled.tokens), tokens(window))
        }
        None => format!("{} tokens; context size unknown", tokens(filled.tokens)),
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
