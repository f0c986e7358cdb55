//! The search through the messages sent before.
//!
//! Owns what is searched for, the messages that hold it and the one that is chosen. Invariant: the matches are those of
//! the query, newest first; without a query all messages are.

use super::Composer;
use super::history::History;
use crate::app::key::{Key, KeyCode, Mods};
use crate::app::line_edit::LineEdit;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistorySearch {
    query: LineEdit,
    /// Places in the history, newest first.
    matches: Vec<usize>,
    chosen: usize,
}

impl HistorySearch {
    pub(super) fn new(history: &History) -> Self {
        let mut search = Self::default();
        search.find(history);
        search
    }

    pub fn query(&self) -> &LineEdit {
        &self.query
    }

    /// Returns the messages that hold the query, newest first.
    pub fn matches<'a>(&self, history: &'a History) -> impl Iterator<Item = &'a str> {
        self.matches.iter().filter_map(|at| history.entries().get(*at)).map(String::as_str)
    }

    pub fn chosen(&self) -> usize {
        self.chosen
    }

    pub(super) fn found<'a>(&self, history: &'a History) -> Option<&'a str> {
        history.entries().get(*self.matches.get(self.chosen)?).map(String::as_str)
    }

    /// Edits the query. Returns `true` if the key means something there.
    pub(super) fn key(&mut self, key: Key, history: &History) -> bool {
        let before = self.query.text().to_owned();
        let taken = self.query.key(key);
        if self.query.text() != before {
            self.find(history);
        }
        taken
    }

    pub(super) fn choose(&mut self, entry: usize) {
        self.chosen = entry.min(self.matches.len().saturating_sub(1));
    }

    pub(super) fn older(&mut self) {
        self.choose(self.chosen + 1);
    }

    pub(super) fn newer(&mut self) {
        self.chosen = self.chosen.saturating_sub(1);
    }

    /// Finds the messages that hold the query; capitals count only if the query has any.
    fn find(&mut self, history: &History) {
        let query = self.query.text();
        let exact = query.chars().any(char::is_uppercase);
        let holds = |entry: &String| {
            query.is_empty() || if exact { entry.contains(query) } else { entry.to_lowercase().contains(query) }
        };
        let entries = history.entries().iter().enumerate().rev();
        self.matches = entries.filter(|(_, entry)| holds(entry)).map(|(at, _)| at).collect();
        self.chosen = 0;
    }
}

impl Composer {
    pub fn start_search(&mut self) {
        self.completion = None;
        self.search = Some(HistorySearch::new(&self.history));
    }

    pub fn search(&self) -> Option<&HistorySearch> {
        self.search.as_ref()
    }

    pub(super) fn search_key(&mut self, key: &Key) -> bool {
        let Some(search) = &mut self.search else { return false };
        match (key.mods, key.code) {
            (Mods::CTRL, KeyCode::Char('r')) | (Mods::NONE, KeyCode::Down) => search.older(),
            (Mods::CTRL, KeyCode::Char('s')) | (Mods::NONE, KeyCode::Up) => search.newer(),
            (Mods::NONE, KeyCode::Esc) | (Mods::CTRL, KeyCode::Char('c' | 'g')) => self.search = None,
            (Mods::NONE, KeyCode::Enter | KeyCode::Tab) => {
                let found = search.found(&self.history).map(str::to_owned);
                self.search = None;
                if let Some(text) = found {
                    self.recall(&text);
                }
            }
            _ => return search.key(*key, &self.history),
        }
        true
    }
}
