//! Searching: what answers a question about definitions, values, uses, tests and commits.
//!
//! Owns which search answers a question, and the calls that several share. Leaves the searches to its modules, and finding
//! to the tools. Invariant: a place is cited only with a line that a tool showed.

mod definitions;
mod enumeration;
pub(crate) mod history;
pub(crate) mod symbols;
mod tests;
mod uses;
mod values;

pub(crate) use definitions::Definitions;
use enumeration::Enumeration;
use history::GitHistory;
use tests::Tests;
use uses::Uses;

use super::evidence::PlannedCall;
use super::report::{AnswerPart, CitedPlace};

/// How the answer of a search begins that is not sure of its first place.
const UNCERTAIN: &str = "I found nothing certain";

/// Chooses what answers a question.
pub(crate) fn best(question: &str) -> Box<dyn AnswerPart> {
    if let Some(uses) = Uses::wanted(question) {
        return Box::new(uses);
    }
    if let Some(history) = GitHistory::wanted(question) {
        return Box::new(history);
    }
    if Tests::wanted(question) {
        return Box::new(Tests::new(question));
    }
    if let Some(listing) = Enumeration::wanted(question) {
        return Box::new(listing);
    }
    Box::new(Definitions::new(question))
}

/// Lines read before a place, and in all.
const BEFORE: usize = 10;
const WINDOW: usize = 50;

/// Returns the call that reads around a place.
fn window(place: &CitedPlace) -> PlannedCall {
    PlannedCall::read_part(&place.path, place.line.saturating_sub(BEFORE).max(1), WINDOW)
}
