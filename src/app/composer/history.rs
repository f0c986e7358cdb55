//! The messages sent before, of one project.
//!
//! Owns their order and the walk through them. Leaves the file to the front end: this only reads and writes its lines.
//! Invariant: at most 1,000 entries, none empty, none twice in a row.

use serde::{Deserialize, Serialize};

const MAX_ENTRIES: usize = 1_000;

/// The messages sent before, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    entries: Vec<String>,
    /// Where the user looks, and the draft that was being written before looking.
    walk: Option<(usize, String)>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    text: String,
}

impl History {
    /// Reads the lines of a history file; what is no record is passed over.
    #[must_use]
    pub fn parse(jsonl: &str) -> Self {
        let mut history = Self::default();
        for line in jsonl.lines() {
            if let Ok(record) = serde_json::from_str::<Record>(line) {
                history.push(&record.text);
            }
        }
        history
    }

    /// Returns the line, with its end, to append to the history file for a sent message.
    pub fn line(text: &str) -> String {
        let record = Record { text: text.to_owned() };
        // A struct of one string always has a JSON form.
        serde_json::to_string(&record).map(|json| json + "\n").unwrap_or_default()
    }

    /// Returns the whole file, for when it has grown far beyond what is kept.
    pub fn to_jsonl(&self) -> String {
        self.entries.iter().map(|entry| Self::line(entry)).collect()
    }

    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Remembers a sent message; an older entry of the same text moves to the end.
    pub fn push(&mut self, text: &str) {
        self.walk = None;
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        self.entries.retain(|entry| entry != text);
        self.entries.push(text.to_owned());
        let excess = self.entries.len().saturating_sub(MAX_ENTRIES);
        self.entries.drain(..excess);
    }

    /// Goes one entry back; the first step keeps `draft`.
    pub(super) fn older(&mut self, draft: &str) -> Option<String> {
        let (at, draft) = match self.walk.take() {
            Some((at, kept)) => (at, kept),
            None => (self.entries.len(), draft.to_owned()),
        };
        let older = at.checked_sub(1);
        if older.is_some() || at < self.entries.len() {
            self.walk = Some((older.unwrap_or(at), draft));
        }
        older.map(|at| self.entries[at].clone())
    }

    /// Goes one entry forward; the last step gives the draft back.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, draft) = self.walk.take()?;
        match self.entries.get(at + 1) {
            Some(entry) => {
                let entry = entry.clone();
                self.walk = Some((at + 1, draft));
                Some(entry)
            }
            None => Some(draft),
        }
    }

    /// Ends the walk; what is being written is the draft of the next one.
    pub(super) fn leave(&mut self) {
        self.walk = None;
    }
}
