//! Searching: what answers a question about definitions, values, uses, tests and commits.
//!
//! Owns the calls that several searches share. Leaves the searches to its modules, and finding to the tools. Invariant: a
//! place is cited only with a line that a tool showed.

pub(crate) mod definitions;
pub(crate) mod enumeration;
pub(crate) mod history;
pub(crate) mod symbols;
pub(crate) mod tests;
pub(crate) mod uses;
mod values;

use super::evidence::PlannedCall;
use super::report::CitedPlace;
use super::text::terms::{Terms, last_segment};

/// Lines read before a place, and in all.
const BEFORE: usize = 10;
const WINDOW: usize = 50;

/// Returns the call that reads around a place.
pub(crate) fn window(place: &CitedPlace) -> PlannedCall {
    PlannedCall::read_part(&place.path, place.line.saturating_sub(BEFORE).max(1), WINDOW)
}

/// Returns the calls that look for files named after the terms.
fn named_files(terms: &Terms) -> Vec<PlannedCall> {
    let exact = terms.exact.iter().map(|term| last_segment(term).to_owned());
    let words = terms.words.iter().map(|word| word.stem.clone()).filter(|stem| stem.len() > 2);
    let plain = exact.chain(words).filter(|word| word.chars().all(|c| c.is_alphanumeric() || c == '_'));
    plain
        .take(5)
        .map(|word| {
            // In any case: `XPath` is tested in `XpathTest.java`.
            let lower = word.to_lowercase();
            let mut letters = lower.chars();
            let upper: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
            let mut spellings = vec![word, lower, upper];
            spellings.sort();
            spellings.dedup();
            PlannedCall::glob(&format!("**/*{{{}}}*", spellings.join(",")))
        })
        .collect()
}
