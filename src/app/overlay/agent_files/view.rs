//! The view of all agents while it is open: what is sought, which row is chosen, what is scrolled.
//!
//! Owns moving about. Leaves what is done with an agent to `actions` and drawing to `tui`. Invariants: a heading is never
//! chosen; the chosen agent stays chosen, by its file or its name, whatever is read anew.

use std::path::{Path, PathBuf};

use super::find::{AgentFileRow, Index};
use crate::app::line_edit::LineEdit;
use crate::definition::{DefinitionState, Listed, Source};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentFilesPage {
    List,
    Detail {
        /// First visible line.
        scroll: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentFilesTyping {
    /// Nowhere: each key is an action.
    No,
    Query,
}

/// What was asked for, to report its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PendingWork {
    Nothing,
    Reload,
    /// This file was edited and is read anew.
    Edited(PathBuf),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standings {
    pub in_force: usize,
    pub shadowed: usize,
    pub broken: usize,
}

#[derive(Debug)]
pub struct AgentFilesView {
    index: Index,
    query: LineEdit,
    pub(super) typing: AgentFilesTyping,
    rows: Vec<AgentFileRow>,
    at: usize,
    chosen: Option<(Source, String)>,
    /// A file that shall be chosen once it is read.
    sought: Option<PathBuf>,
    /// First visible row, where the chosen one allows it.
    top: usize,
    pub(super) page: AgentFilesPage,
    standings: Standings,
    pub(super) awaited: PendingWork,
    /// What did not work, until the next key.
    pub(super) error: Option<String>,
}

impl AgentFilesView {
    pub(super) fn new(listing: &[Listed]) -> Self {
        let mut view = Self {
            index: Index::default(),
            query: LineEdit::default(),
            typing: AgentFilesTyping::No,
            rows: Vec::new(),
            at: 0,
            chosen: None,
            sought: None,
            top: 0,
            page: AgentFilesPage::List,
            standings: Standings::default(),
            awaited: PendingWork::Nothing,
            error: None,
        };
        view.refresh(listing);
        view
    }

    pub fn query(&self) -> &LineEdit {
        &self.query
    }

    pub fn is_typing(&self) -> bool {
        self.typing == AgentFilesTyping::Query
    }

    /// Returns what taking the chosen agent, or what was typed, means; `None` where there is nothing to take.
    pub fn accept_word(&self) -> Option<&'static str> {
        match (self.page, self.typing) {
            (AgentFilesPage::Detail { .. }, _) => None,
            (AgentFilesPage::List, AgentFilesTyping::Query) => Some("keep"),
            (AgentFilesPage::List, AgentFilesTyping::No) => Some("show"),
        }
    }

    pub fn rows(&self) -> &[AgentFileRow] {
        &self.rows
    }

    pub fn chosen_row(&self) -> usize {
        self.at
    }

    pub fn page(&self) -> AgentFilesPage {
        self.page
    }

    pub fn standings(&self) -> Standings {
        self.standings
    }

    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns the first row that is visible in a list of this height: the chosen row always is, and the heading
    /// right above it.
    pub fn first_visible(&self, height: usize) -> usize {
        let above = self.at.saturating_sub(1);
        let first = if matches!(self.rows.get(above), Some(AgentFileRow::Agent { .. })) { self.at } else { above };
        let least = (self.at + 1).saturating_sub(height.max(1));
        self.top.min(first).max(least).min(self.rows.len().saturating_sub(height).max(least))
    }

    pub fn chosen<'a>(&self, listing: &'a [Listed]) -> Option<&'a Listed> {
        match self.rows.get(self.at)? {
            AgentFileRow::Agent { index, .. } => listing.get(*index),
            _ => None,
        }
    }

    /// Takes in that the agents are others than before.
    pub(super) fn refresh(&mut self, listing: &[Listed]) {
        self.standings = Standings::default();
        for listed in listing {
            match listed.standing {
                DefinitionState::InForce => self.standings.in_force += 1,
                DefinitionState::Shadowed { .. } => self.standings.shadowed += 1,
                DefinitionState::Broken => self.standings.broken += 1,
            }
        }
        self.index = Index::new(listing);
        self.rows = self.index.find(self.query.text()).rows;
        if let Some(path) = self.sought.clone() {
            self.seek(&path, listing);
        } else {
            self.keep_chosen(listing);
        }
    }

    /// Chooses the agent of a file, now or once it is read.
    pub(super) fn seek(&mut self, path: &Path, listing: &[Listed]) {
        if listing.iter().any(|listed| listed.source.path.as_deref() == Some(path)) && !self.query.text().is_empty() {
            self.query = LineEdit::default();
            self.rows = self.index.find("").rows;
        }
        if let Some(at) = self.place(listing, |listed| listed.source.path.as_deref() == Some(path)) {
            self.sought = None;
            self.choose(at, listing);
        } else {
            self.sought = Some(path.to_path_buf());
            self.keep_chosen(listing);
        }
    }

    /// Finds the chosen agent again, or its nearest neighbour.
    fn keep_chosen(&mut self, listing: &[Listed]) {
        let known = self.chosen.clone();
        let known = known.and_then(|(source, name)| {
            self.place(listing, |listed| listed.source == source && (source.path.is_some() || listed.name() == name))
        });
        if known.is_none() {
            self.page = AgentFilesPage::List;
        }
        let at = known.or_else(|| self.nearest(self.at)).unwrap_or(0);
        self.choose(at, listing);
    }

    fn place(&self, listing: &[Listed], is_it: impl Fn(&Listed) -> bool) -> Option<usize> {
        self.rows.iter().position(|row| match row {
            AgentFileRow::Agent { index, .. } => listing.get(*index).is_some_and(&is_it),
            _ => false,
        })
    }

    /// Returns the row of an agent that is nearest to a row.
    fn nearest(&self, at: usize) -> Option<usize> {
        self.agents().min_by_key(|place| place.abs_diff(at))
    }

    /// Iterates over the places of the rows that are agents.
    fn agents(&self) -> impl Iterator<Item = usize> {
        self.rows
            .iter()
            .enumerate()
            .filter(|(_, row)| matches!(row, AgentFileRow::Agent { .. }))
            .map(|(place, _)| place)
    }

    pub(super) fn choose(&mut self, at: usize, listing: &[Listed]) {
        self.at = at;
        if let Some(listed) = self.chosen(listing) {
            self.chosen = Some((listed.source.clone(), listed.name()));
        }
    }

    /// Chooses the agent this many agents further down; the first or last one, if there are not so many.
    pub(super) fn step(&mut self, by: isize, listing: &[Listed]) {
        let agents: Vec<usize> = self.agents().collect();
        let now = agents.iter().position(|place| *place >= self.at).unwrap_or(0);
        let to = now.saturating_add_signed(by).min(agents.len().saturating_sub(1));
        if let Some(place) = agents.get(to) {
            self.choose(*place, listing);
        }
    }

    /// Moves the list under the chosen row, which is taken along at the edges.
    pub(super) fn wheel(&mut self, lines: isize, height: usize, listing: &[Listed]) {
        let end = self.rows.len().saturating_sub(height);
        self.top = self.first_visible(height).saturating_add_signed(lines).min(end);
        let last = (self.top + height).saturating_sub(1);
        let at = self.at.clamp(self.top, last.max(self.top));
        let inside =
            (self.top..=last).filter(|place| matches!(self.rows.get(*place), Some(AgentFileRow::Agent { .. })));
        if let Some(place) = inside.min_by_key(|place| place.abs_diff(at)) {
            self.choose(place, listing);
        }
    }

    /// Remembers what is visible, so that the list moves no more than it has to.
    pub(super) fn settle(&mut self, height: usize) {
        self.top = self.first_visible(height);
    }

    /// Changes what is sought and chooses what matches best.
    pub(super) fn search(&mut self, listing: &[Listed], edit: impl FnOnce(&mut LineEdit)) {
        let before = self.query.text().to_owned();
        edit(&mut self.query);
        if self.query.text() == before {
            return;
        }
        let found = self.index.find(self.query.text());
        self.rows = found.rows;
        match found.best.filter(|_| !self.query.text().is_empty()) {
            Some(best) => {
                self.top = 0;
                self.choose(best, listing);
            }
            None => self.keep_chosen(listing),
        }
    }

    /// Keeps what was typed, or shows the chosen agent whole.
    pub(super) fn accept(&mut self, listing: &[Listed]) {
        if self.is_typing() {
            self.typing = AgentFilesTyping::No;
        } else if self.chosen(listing).is_some() && self.page == AgentFilesPage::List {
            self.page = AgentFilesPage::Detail { scroll: 0 };
        }
    }

    /// Leaves the innermost part: the chosen agent, else the search. Returns `false` if there is none to leave.
    pub(super) fn leave(&mut self, listing: &[Listed]) -> bool {
        if self.page != AgentFilesPage::List {
            self.page = AgentFilesPage::List;
        } else if self.is_typing() || !self.query.text().is_empty() {
            self.clear_search(listing);
        } else {
            return false;
        }
        true
    }

    fn clear_search(&mut self, listing: &[Listed]) {
        self.typing = AgentFilesTyping::No;
        self.search(listing, |query| *query = LineEdit::default());
    }
}

impl Standings {
    /// Returns the numbers in words; those that are nought are left out.
    #[must_use]
    pub fn words(self) -> String {
        let parts = [(self.in_force, "active"), (self.shadowed, "shadowed"), (self.broken, "broken")];
        let words = parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        words.collect::<Vec<_>>().join(" · ")
    }
}
