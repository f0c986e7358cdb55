//! Searching: what answers a question about definitions, values, uses, tests and commits.
//!
//! Owns which search answers a question, and the form of its answer. Leaves the searches to its modules, and finding to the
//! tools. Invariant: a place is cited only with a line that a tool showed.

pub(crate) mod definitions;
mod enumeration;
pub(crate) mod history;
pub(crate) mod symbols;
mod tests;
mod uses;

use super::evidence::{CitedPlace, Evidence, PlannedCall};
use super::report::{Report, Reported, shorten};

/// How the answer of a search begins that is not sure of its first place.
const UNCERTAIN: &str = "I found nothing certain";

/// Answers a question.
pub(crate) fn best(question: &str, evidence: &Evidence) -> Reported {
    let special = [uses::answer, history::answer_of_place, tests::answer, enumeration::answer];
    let special = special.iter().find_map(|answer| answer(question, evidence));
    special.unwrap_or_else(|| definitions::answer(question, evidence))
}

/// What a search found: a sentence, and the places that it rests on, the best first.
struct Found {
    summary: String,
    places: Vec<CitedPlace>,
    /// How many places are listed, and how many lines of the first are shown.
    listed: usize,
    excerpt: usize,
}

/// Lines read before a place, and in all.
const BEFORE: usize = 10;
const WINDOW: usize = 50;

impl Found {
    /// Reads the best places, and shows them.
    fn report(self, evidence: &Evidence) -> Reported {
        let window =
            |place: &CitedPlace| PlannedCall::read_part(&place.path, place.line.saturating_sub(BEFORE).max(1), WINDOW);
        evidence.ask(self.places.iter().take(2).map(window))?;
        let lines = |best: &CitedPlace| best.excerpt(&evidence.lines_of(&best.path), self.excerpt);
        let mut findings = self.places.first().filter(|_| self.excerpt > 0).map(lines).unwrap_or_default();
        findings.extend((!findings.is_empty()).then(String::new));
        let mut bullets: Vec<String> = self.places.iter().map(CitedPlace::bullet).collect();
        shorten(&mut bullets, self.listed);
        findings.extend(bullets);
        Ok(Report::new(self.summary, findings))
    }
}

/// Says that a search came to nothing.
fn nothing(names: &str) -> Report {
    Report::say(format!(
        "Nothing found for {names} in the files that were looked into. Try the exact name used in the code, or search for the word."
    ))
}
