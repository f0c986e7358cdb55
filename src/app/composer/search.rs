//! The search through the messages sent before.
//!
//! Owns what is searched for and the match it is at. Invariant: the match, if any, holds the query.

use super::history::History;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistorySearch {
    query: String,
    at: Option<usize>,
}

impl HistorySearch {
    pub fn query(&self) -> &str {
        &self.query
    }

    pub fn found<'a>(&self, history: &'a History) -> Option<&'a str> {
        history.entries().get(self.at?).map(String::as_str)
    }

    pub(super) fn push(&mut self, c: char, history: &History) {
        self.query.push(c);
        self.at = self.find(history, (0..history.entries().len()).rev());
    }

    pub(super) fn pop(&mut self, history: &History) {
        self.query.pop();
        self.at = self.find(history, (0..history.entries().len()).rev());
    }

    pub(super) fn older(&mut self, history: &History) {
        let end = self.at.unwrap_or(history.entries().len());
        self.at = self.find(history, (0..end).rev()).or(self.at);
    }

    pub(super) fn newer(&mut self, history: &History) {
        let start = self.at.map_or(0, |at| at + 1);
        self.at = self.find(history, start..history.entries().len()).or(self.at);
    }

    /// Finds the first entry that holds the query; capitals count only if the query has any.
    fn find(&self, history: &History, mut order: impl Iterator<Item = usize>) -> Option<usize> {
        if self.query.is_empty() {
            return None;
        }
        let exact = self.query.chars().any(char::is_uppercase);
        order.find(|at| {
            let entry = &history.entries()[*at];
            if exact { entry.contains(&self.query) } else { entry.to_lowercase().contains(&self.query) }
        })
    }
}
