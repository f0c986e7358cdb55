//! Searching: what answers a question about definitions, values, uses, tests and commits.
//!
//! Owns which search answers a question, and the calls that several share. Leaves the searches to its modules, and finding
//! to the tools. Invariant: a place is cited only with a line that a tool showed.

pub(crate) mod definitions;
mod enumeration;
pub(crate) mod history;
pub(crate) mod symbols;
mod tests;
mod uses;
mod values;

use definitions::Definitions;
use enumeration::Enumeration;
use history::GitHistory;
use tests::Tests;
use uses::Uses;

use super::evidence::PlannedCall;
use super::report::{AnswerPart, CitedPlace};

/// One way to answer a question.
pub(crate) struct Search {
    /// Names the search in the task of a subagent.
    pub(crate) title: &'static str,
    pub(crate) to_return: &'static str,
    pub(crate) part: Box<dyn AnswerPart>,
}

const TESTS: &str = "Search the tests";

impl Search {
    fn of(title: &'static str, to_return: &'static str, part: impl AnswerPart + 'static) -> Self {
        Self { title, to_return, part: Box::new(part) }
    }

    /// Chooses what answers a question.
    pub(crate) fn best(question: &str) -> Self {
        if let Some(uses) = Uses::wanted(question) {
            let to_return = "each use as path:line with the function around it, code before tests.";
            return Self::of("Search for uses", to_return, uses);
        }
        if let Some(history) = GitHistory::wanted(question) {
            let to_return = "the file or folder that is meant, and the latest commits that touched it.";
            return Self::of("Search the history of the place", to_return, history);
        }
        if Tests::wanted(question) {
            return Self::of_tests(question);
        }
        if let Some(listing) = Enumeration::wanted(question) {
            let to_return = "what holds them all, or each of them, as path:line.";
            return Self::of("Search for the list", to_return, listing);
        }
        let to_return = "the best places as path:line with what each is for, source before tests.";
        Self::of("Search for definitions", to_return, Definitions::new(question))
    }

    pub(crate) fn of_tests(question: &str) -> Self {
        let to_return = "the tests as path:line, those in files named after it first.";
        Self::of(TESTS, to_return, Tests::new(question))
    }

    /// Returns `true` if the answer is the best of several places, and not all of them.
    pub(crate) fn is_for_one_place(&self) -> bool {
        [TESTS, "Search for definitions"].contains(&self.title)
    }

    /// Returns the task of a subagent that is to answer a question so.
    pub(crate) fn task(&self, question: &str) -> String {
        // The quotes around the question stay the outermost.
        format!("{}{ANSWERING}{}”", self.title, question.replace(['“', '”'], "\"").trim())
    }

    /// Reads such a task back.
    pub(crate) fn of_task(task: &str) -> Option<Self> {
        let (title, question) = task.split_once(ANSWERING)?;
        let question = question.trim_end().strip_suffix('”')?;
        Some(if title == TESTS { Self::of_tests(question) } else { Self::best(question) })
    }
}

const ANSWERING: &str = " for what answers “";

/// Lines read before a place, and in all.
const BEFORE: usize = 10;
const WINDOW: usize = 50;

/// Returns the call that reads around a place.
pub(crate) fn window(place: &CitedPlace) -> PlannedCall {
    PlannedCall::read_part(&place.path, place.line.saturating_sub(BEFORE).max(1), WINDOW)
}
