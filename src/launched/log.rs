//! The last lines that a program has written to standard error, and what became of it.
//!
//! Invariant: bounded, whatever a program writes; nothing in it acts on a terminal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use crate::message::sanitize_line;

const MAX_LINES: usize = 200;
const MAX_LINE_CHARS: usize = 500;
/// Bytes of one line that are kept.
const MAX_LINE: u64 = 4_096;
/// What lines of our own begin with.
const OURS: &str = "· ";

/// The last lines of a program that is talked to. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ProgramLog(Arc<Mutex<VecDeque<String>>>);

impl ProgramLog {
    /// Adds a line that the program has written.
    pub fn add(&self, line: &str) {
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
    pub fn note(&self, line: &str) {
        self.add(&format!("{OURS}{line}"));
    }

    /// Returns the last line that the program has written.
    pub fn last_said(&self) -> Option<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().rev().find(|line| !line.starts_with(OURS)).cloned()
    }

    /// Returns the last lines, the oldest first.
    pub fn last(&self, count: usize) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().skip(lines.len().saturating_sub(count)).cloned().collect()
    }

    /// Reads what a program writes to its end, so that it never waits for us to read. Of a line that is too long, only the
    /// beginning is kept.
    pub async fn follow(self, log: Box<dyn AsyncRead + Send + Unpin>) {
        let mut reader = BufReader::new(log);
        loop {
            let mut line = Vec::new();
            match (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => self.add(&String::from_utf8_lossy(&line)),
            }
        }
    }
}
