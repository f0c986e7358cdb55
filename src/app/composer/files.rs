//! The project's files by name, for `@file`.
//!
//! Owns the list and the fuzzy search in it. Leaves the walk through the directories to `tui::files`. Invariant: a
//! search that goes on from the one before looks only at what that one found.

use std::fmt;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

#[derive(Default)]
pub struct FileIndex {
    paths: Vec<String>,
    /// Made at the first search: it takes some hundred kilobytes.
    matcher: Option<Box<Matcher>>,
    /// The last query and the indices of all paths it matched.
    last: Option<(String, Vec<u32>)>,
}

impl FileIndex {
    /// Replaces the list; the paths are relative to the project, with `/`.
    pub fn set(&mut self, paths: Vec<String>) {
        self.paths = paths;
        self.last = None;
    }

    pub fn len(&self) -> usize {
        self.paths.len()
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns `true` if the list was replaced since the last search.
    pub fn is_changing(&self) -> bool {
        self.last.is_none()
    }

    /// Returns the paths that match best, best first, at most `limit`.
    pub fn search(&mut self, query: &str, limit: usize) -> Vec<String> {
        let matcher = self.matcher.get_or_insert_with(|| Box::new(Matcher::new(Config::DEFAULT.match_paths())));
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let before = self.last.take().filter(|(last, _)| !last.is_empty() && narrows(query, last));
        let among: Box<dyn Iterator<Item = u32>> = match before {
            Some((_, found)) => Box::new(found.into_iter()),
            None => Box::new(0..u32::try_from(self.paths.len()).unwrap_or(u32::MAX)),
        };
        let mut buffer = Vec::new();
        let mut scored: Vec<(u32, u32)> = Vec::new();
        for index in among {
            let path = &self.paths[index as usize];
            if let Some(score) = pattern.score(Utf32Str::new(path, &mut buffer), matcher) {
                scored.push((index, score));
            }
        }
        self.last = Some((query.to_owned(), scored.iter().map(|(index, _)| *index).collect()));
        // Of equal matches the shorter path is the likelier one.
        scored.sort_by_key(|(index, score)| (std::cmp::Reverse(*score), self.paths[*index as usize].len(), *index));
        scored.into_iter().take(limit).map(|(index, _)| self.paths[index as usize].clone()).collect()
    }
}

/// Returns `true` if every path that matches `query` also matches `last`: it only adds plain characters to it.
fn narrows(query: &str, last: &str) -> bool {
    let plain = |text: &str| !text.contains(['!', '^', '$', '\'', '\\', ' ']);
    query.starts_with(last) && plain(query)
}

impl fmt::Debug for FileIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileIndex").field("paths", &self.paths.len()).finish_non_exhaustive()
    }
}
