//! Searching: what answers a question about names, uses and commits.
//!
//! Owns the calls that several searches share. Leaves the searches to its modules. Invariant: a place is cited only with
//! a line that a tool showed.

pub(crate) mod content;
pub(crate) mod history;
pub(crate) mod rank;
pub(crate) mod uses;

use super::evidence::{Evidence, PlannedCall};
use super::report::CitedPlace;
use super::text::source;

/// Lines read before a place, and in all.
const BEFORE: usize = 70;
const WINDOW: usize = 110;

/// Finds where the tests inside Rust sources begin.
pub(crate) fn inline_tests() -> PlannedCall {
    PlannedCall::grep_in("^mod tests? \\{|^#\\[(tokio::)?test\\b", "*.rs", 500)
}

/// Returns the call that reads around a place.
pub(crate) fn window(place: &CitedPlace) -> PlannedCall {
    PlannedCall::read_part(&place.path, place.line.saturating_sub(BEFORE).max(1), WINDOW)
}

/// Returns the call that reads the beginning of a doc comment that a window cut.
pub(crate) fn above(place: &CitedPlace, evidence: &Evidence) -> Option<PlannedCall> {
    let lines = evidence.lines_of(&place.path);
    let cut = source::doc_cut(&lines, place.line)?;
    Some(PlannedCall::read_part(&place.path, cut.saturating_sub(300).max(1), 300.min(cut - 1)))
}
