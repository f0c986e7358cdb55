//! The last lines that a server has written, and what became of it.
//!
//! Invariant: bounded, whatever a server writes; nothing in it acts on a terminal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::sanitize_line;

const MAX_LINES: usize = 200;
const MAX_LINE_CHARS: usize = 500;
/// What lines of our own begin with.
const OURS: &str = "· ";

#[derive(Debug, Clone, Default)]
pub(super) struct ServerLog(Arc<Mutex<VecDeque<String>>>);

impl ServerLog {
    pub(super) fn add(&self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        let start = line.char_indices().nth(MAX_LINE_CHARS).map_or(line, |(end, _)| &line[..end]);
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(sanitize_line(start).into_owned());
    }

    /// Adds a line of our own.
    pub(super) fn note(&self, line: &str) {
        self.add(&format!("{OURS}{line}"));
    }

    /// Returns the last line that the server has written.
    pub(super) fn last_said(&self) -> Option<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().rev().find(|line| !line.starts_with(OURS)).cloned()
    }

    /// Returns the last lines, the oldest first.
    pub(super) fn last(&self, count: usize) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().skip(lines.len().saturating_sub(count)).cloned().collect()
    }
}
