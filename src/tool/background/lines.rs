//! Output on its way to those who look on: in pieces that end with a line where they can, and line by line for a pattern.
//!
//! Invariant: memory is bounded, however long a line is, and however long nobody takes anything.

use std::time::Duration;

use regex::Regex;
use tokio::time::Instant;

use crate::tool::process::output::plain;

/// Bytes that wait to be shown.
const MAX_PENDING: usize = 16 << 10;
/// Bytes of a line that are held against a pattern.
const MAX_LINE: usize = 4 << 10;
/// How long a line without an end waits to be shown.
const UNENDED: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct PendingOutput {
    bytes: Vec<u8>,
    left_out: usize,
    /// Since when something waits.
    since: Option<Instant>,
}

impl PendingOutput {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.since.get_or_insert_with(Instant::now);
        self.bytes.extend_from_slice(bytes);
        let surplus = self.bytes.len().saturating_sub(MAX_PENDING);
        if surplus > 0 {
            self.bytes.drain(..surplus);
            self.left_out += surplus;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes what can be shown: whole lines; what has no end yet once it has waited, or `at_end`.
    pub(super) fn take(&mut self, at_end: bool) -> Option<String> {
        let ended = memchr::memrchr(b'\n', &self.bytes).map(|end| end + 1);
        let is_old = self.since.is_some_and(|since| since.elapsed() >= UNENDED);
        let until = match ended {
            _ if at_end || is_old => self.bytes.len(),
            Some(end) => end,
            None => return None,
        };
        if until == 0 {
            return None;
        }
        let taken: Vec<u8> = self.bytes.drain(..until).collect();
        self.since = (!self.bytes.is_empty()).then(Instant::now);
        let text = String::from_utf8_lossy(&taken);
        let left_out = std::mem::take(&mut self.left_out);
        Some(if left_out > 0 { format!("[… {left_out} bytes left out …]\n{text}") } else { text.into_owned() })
    }
}

/// Looks for the first line that matches a pattern.
#[derive(Debug)]
pub(super) struct LineWatch {
    pattern: Regex,
    line: Vec<u8>,
}

impl LineWatch {
    pub(super) fn new(pattern: Regex) -> Self {
        Self { pattern, line: Vec::new() }
    }

    /// Takes in more output, and returns the first whole line that matches.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<String> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n")
                && let Some(line) = self.end()
            {
                return Some(line);
            }
        }
        None
    }

    /// Returns the line that has just ended, or that the end of the output ends, if it matches.
    pub(super) fn end(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let line = plain(&String::from_utf8_lossy(&line));
        let line = line.trim_end();
        self.pattern.is_match(line).then(|| line.to_owned())
    }
}
