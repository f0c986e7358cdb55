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

pub(crate) use definitions::Definitions;
use enumeration::Enumeration;
use history::GitHistory;
use tests::Tests;
use uses::Uses;

use super::evidence::{Evidence, PlannedCall};
use super::report::{AnswerPart, CitedPlace, Report, shorten};

/// How the answer of a search begins that is not sure of its first place.
const UNCERTAIN: &str = "I found nothing certain";

/// What a search found: a sentence, and the places that it rests on, the best first.
struct Found {
    summary: String,
    places: Vec<CitedPlace>,
    /// How many places are listed, and how many lines of the first are shown.
    listed: usize,
    excerpt: usize,
}

/// A search by one round of calls, whose best places are read.
trait Search {
    fn calls(&self) -> Vec<PlannedCall>;

    fn names(&self) -> String;

    fn found(&self, evidence: &Evidence) -> Option<Found>;
}

impl<S: Search> AnswerPart for S {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(self.calls()),
            1 => Some(self.found(evidence)?.places.iter().take(2).map(window).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let Some(Found { summary, places, listed, excerpt }) = self.found(evidence) else {
            let summary = format!("Nothing found for {}. Try the exact name used in the code.", self.names());
            return Report { summary, ..Report::default() };
        };
        let lines = |best: &CitedPlace| best.excerpt(&evidence.lines_of(&best.path), excerpt);
        let mut findings = places.first().filter(|_| excerpt > 0).map(lines).unwrap_or_default();
        findings.extend((!findings.is_empty()).then(String::new));
        let mut bullets: Vec<String> = places.iter().map(CitedPlace::bullet).collect();
        shorten(&mut bullets, listed);
        findings.extend(bullets);
        Report { summary, findings }
    }
}

/// Chooses what answers a question.
pub(crate) fn best(question: &str) -> Box<dyn AnswerPart> {
    if let Some(uses) = Uses::wanted(question) {
        return Box::new(uses);
    }
    if let Some(history) = GitHistory::wanted(question) {
        return Box::new(history);
    }
    if let Some(tests) = Tests::wanted(question) {
        return Box::new(tests);
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
