//! Answering "which tests cover it, where is it tested": files of tests named after it, and tests that speak of it.
//!
//! Owns telling such questions. Leaves the testing framework to `project`. Invariant: cites only what a tool showed.

use super::symbols::{self, SymbolEntry};
use super::{UNCERTAIN, window};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report};
use crate::offline::text::contains_any;
use crate::offline::text::paths;
use crate::offline::text::terms::Terms;

/// Tests asked for, and shown.
const ASKED: usize = 40;
const MOST: usize = 6;

#[derive(Debug)]
pub(crate) struct Tests {
    terms: Terms,
}

impl Tests {
    pub(crate) fn new(question: &str) -> Self {
        let mut terms = Terms::of(question);
        terms.words.retain(|word| !["test", "cover", "fuzz"].contains(&word.stem.as_str()) || word.raw == "fuzzed");
        Self { terms }
    }

    pub(crate) fn wanted(question: &str) -> bool {
        contains_any(&question.to_lowercase(), " tested|which tests|what tests|tests for|tests of|test covers|fuzzed")
    }

    fn search(&self) -> PlannedCall {
        // One word alone would be taken for the name of a test.
        symbols::definitions(&format!("of {}", self.terms.query()), Some("test"), ASKED)
    }

    /// Returns the files that are named after most of the terms, with how many of them.
    fn files(&self, entries: &[SymbolEntry]) -> Vec<(usize, String)> {
        let mut found: Vec<(usize, String)> = Vec::new();
        for path in entries.iter().map(|entry| &entry.path) {
            let told = self.terms.told(path.rsplit('/').next().unwrap_or(path));
            if told > 0 && !paths::is_fixture(path) && !found.iter().any(|(_, known)| known == path) {
                found.push((told, path.clone()));
            }
        }
        found.sort_by(|a, b| (b.0, a.1.len(), &a.1).cmp(&(a.0, b.1.len(), &b.1)));
        let most = found.first().map_or(0, |(told, _)| *told);
        found.retain(|(told, _)| *told == most);
        found
    }

    fn places(&self, evidence: &Evidence) -> (Vec<CitedPlace>, bool) {
        let mut entries = symbols::entries(&self.search(), evidence);
        let files = self.files(&entries);
        let most = files.first().map_or(0, |(told, _)| *told);
        let is_named = most * 2 > self.terms.count();
        let is_certain = is_named || symbols::is_exact(&self.search(), evidence);
        entries.retain(|entry| !entry.is_spare || is_named && files.iter().any(|(_, path)| *path == entry.path));
        // What stands in a file of that name comes before the rest.
        let mut places: Vec<CitedPlace> = Vec::new();
        if is_named {
            let first = |path: &String| entries.iter().find(|entry| entry.path == *path);
            places.extend(files.iter().take(2).filter_map(|(_, path)| first(path)).map(SymbolEntry::place));
        }
        places.extend(entries.iter().filter(|entry| !entry.is_spare).map(SymbolEntry::place));
        CitedPlace::keep_first(&mut places);
        (places, is_certain)
    }
}

impl AnswerPart for Tests {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 if self.terms.count() > 0 => Some(vec![self.search()]),
            1 => Some(self.places(evidence).0.iter().take(2).map(window).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let (places, is_certain) = self.places(evidence);
        let Some(best) = places.first() else {
            return Report { summary: format!("No test speaks of {}.", self.terms.names()), ..Report::default() };
        };
        let cite = format!("`{}:{}`", best.path, best.line);
        let summary = if is_certain {
            format!("The tests of {} begin with {cite}.", self.terms.names())
        } else {
            format!("{UNCERTAIN} on tests of {}; the nearest is {cite}.", self.terms.names())
        };
        Report { summary, findings: places.iter().take(MOST).map(CitedPlace::bullet).collect(), answer: String::new() }
    }
}
