//! Answering "which tests cover it, where is it tested": files of tests named after it, and tests that speak of it.
//!
//! Owns telling such questions. Leaves the testing framework to `project`. Invariant: cites only what a tool showed.

use super::symbols::{self, SymbolEntry};
use super::{Found, Search, UNCERTAIN};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::CitedPlace;
use crate::offline::text::terms::Terms;
use crate::offline::text::{contains_any, paths};

/// Tests asked for, and listed.
const ASKED: usize = 40;
const LISTED: usize = 6;

#[derive(Debug)]
pub(crate) struct Tests {
    terms: Terms,
}

impl Tests {
    pub(crate) fn wanted(question: &str) -> Option<Self> {
        let asking = " tested|which tests|what tests|tests for|tests of|test covers|fuzzed";
        let mut terms = Terms::of(question);
        terms.words.retain(|word| !["test", "cover", "fuzz"].contains(&word.stem.as_str()) || word.raw == "fuzzed");
        (terms.count() > 0 && contains_any(&question.to_lowercase(), asking)).then_some(Self { terms })
    }

    fn search(&self) -> PlannedCall {
        // One word alone would be taken for the name of a test.
        symbols::definitions(&format!("of {}", self.terms.query()), Some("test"), ASKED)
    }

    /// Returns the places, and whether the first is certain.
    fn places(&self, evidence: &Evidence) -> (Vec<CitedPlace>, bool) {
        let entries = symbols::entries(&self.search(), evidence);
        let told = |entry: &SymbolEntry| {
            if paths::is_fixture(&entry.path) { 0 } else { self.terms.told(paths::file_name(&entry.path)) }
        };
        let most = entries.iter().map(told).max().unwrap_or(0);
        let is_named = most * 2 > self.terms.count();
        // What stands in a file that is named after most of the terms comes before the rest, the shortest name first.
        let mut named: Vec<&SymbolEntry> = entries.iter().filter(|entry| is_named && told(entry) == most).collect();
        named.sort_by_key(|entry| (entry.path.len(), entry.path.clone()));
        named.dedup_by(|a, b| a.path == b.path);
        let likely = entries.iter().filter(|entry| !entry.is_spare);
        let mut places: Vec<CitedPlace> = named.into_iter().take(2).chain(likely).map(SymbolEntry::place).collect();
        CitedPlace::keep_first(&mut places);
        (places, is_named || symbols::is_exact(&self.search(), evidence))
    }
}

impl Search for Tests {
    fn calls(&self) -> Vec<PlannedCall> {
        vec![self.search()]
    }

    fn names(&self) -> String {
        self.terms.names()
    }

    fn found(&self, evidence: &Evidence) -> Option<Found> {
        let (places, is_certain) = self.places(evidence);
        let (names, cite) = (self.names(), places.first()?.cite());
        let summary = if is_certain {
            format!("The tests of {names} begin with {cite}.")
        } else {
            format!("{UNCERTAIN} on tests of {names}; the nearest is {cite}.")
        };
        Some(Found { summary, places, listed: LISTED, excerpt: 0 })
    }
}
