//! The list of what the word at the cursor could become.
//!
//! Owns the word, the candidates and the choice among them. Leaves finding files to `FileIndex` and agents to
//! `mentions`. Invariant: an open list has at least one entry, and one of them is chosen.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

use super::mentions::{First, Mentions};
use crate::app::files::FileIndex;

const MAX_SHOWN: usize = 12;
/// The entries that are kept for what stands second, where there are files and agents.
const SECOND_SHOWN: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What is inserted, such as `/help` or `src/main.rs`.
    pub label: String,
    /// What it is, in a few words; empty for files.
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The word at the cursor, with its sign.
    pub(super) token: String,
    pub items: Vec<Candidate>,
    pub selected: usize,
}

/// Returns the word before the cursor if it can be completed: one that begins with `@`, or with `/` at the start of
/// the text. `before` is the part before the cursor of the line with number `line`.
pub(super) fn token(before: &str, line: usize) -> Option<&str> {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
    let command = word.starts_with('/') && word.len() == before.len() && line == 0;
    (word.starts_with('@') || command).then_some(word)
}

impl Completion {
    /// Returns the list for a word; an entry that was chosen before stays chosen only while the word is the same.
    pub(super) fn of(
        token: &str,
        files: &mut FileIndex,
        commands: &[Candidate],
        mentions: &mut Mentions,
        previous: Option<Self>,
    ) -> Option<Self> {
        let changing = files.is_changing() || mentions.is_changing();
        if let Some(previous) = previous.filter(|previous| previous.token == token && !changing) {
            return Some(previous);
        }
        let items = match token.strip_prefix('@') {
            Some(query) => files_and_agents(query, files, mentions),
            None => best_commands(token, commands),
        };
        (!items.is_empty()).then(|| Self { token: token.to_owned(), items, selected: 0 })
    }

    /// Returns the list with these entries before the others.
    pub(super) fn led_by(first: &[Candidate], token: &str, list: Option<Self>) -> Option<Self> {
        if first.is_empty() {
            return list;
        }
        match list {
            // It was open, with them at its head.
            Some(list) if list.items.starts_with(first) => Some(list),
            list => {
                let others = list.into_iter().flat_map(|list| list.items).filter(|item| !first.contains(item));
                let items = first.iter().cloned().chain(others).take(MAX_SHOWN).collect();
                Some(Self { token: token.to_owned(), items, selected: 0 })
            }
        }
    }

    pub(super) fn next(&mut self) {
        self.selected = (self.selected + 1) % self.items.len();
    }

    pub(super) fn previous(&mut self) {
        self.selected = (self.selected + self.items.len() - 1) % self.items.len();
    }

    pub(super) fn choose(&mut self, at: usize) {
        self.selected = at.min(self.items.len() - 1);
    }

    /// Returns what the word becomes: a folder is left open for more, anything else ends with a space.
    pub(super) fn accepted(&self) -> String {
        let label = self.items.get(self.selected).map_or("", |item| item.label.as_str());
        let sign = if self.token.starts_with('@') { "@" } else { "" };
        let end = if label.ends_with('/') { "" } else { " " };
        format!("{sign}{label}{end}")
    }
}

/// Returns the files and agents that a word could mean. Neither kind pushes the other out of the list.
fn files_and_agents(query: &str, files: &mut FileIndex, mentions: &mut Mentions) -> Vec<Candidate> {
    let resources = mentions.resources(query, MAX_SHOWN);
    let found = files.search(query, MAX_SHOWN).into_iter();
    let found = found.map(|label| Candidate { label, detail: String::new() });
    let found: Vec<Candidate> = resources.into_iter().chain(found).collect();
    let (first, agents) = mentions.search(query, MAX_SHOWN);
    let (mut items, mut second) = match first {
        First::Agents => (agents, found),
        First::Files => (found, agents),
    };
    items.truncate(MAX_SHOWN - second.len().min(SECOND_SHOWN));
    second.truncate(MAX_SHOWN - items.len());
    items.append(&mut second);
    items
}

/// Returns the commands that a word could mean: the one it is first, then those it begins, then those it resembles.
fn best_commands(token: &str, commands: &[Candidate]) -> Vec<Candidate> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(token.trim_start_matches('/'), CaseMatching::Ignore, Normalization::Smart);
    let labels = commands.iter().map(|command| command.label.as_str());
    let ranked = pattern.match_list(labels, &mut matcher);
    let mut items: Vec<Candidate> = ranked
        .into_iter()
        .filter_map(|(label, _)| commands.iter().find(|command| command.label == label).cloned())
        .collect();
    items.sort_by_key(|item| (item.label != token, !item.label.starts_with(token)));
    items.truncate(MAX_SHOWN);
    items
}
